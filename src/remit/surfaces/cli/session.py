"""A session: what one call of the command line works with, opened when it is first needed.

It holds the global options, finds the ledger and the repository, and hands out a snapshot to read
from or the canonical operations of the acting person. A command that mutates always has a command
id: the one that was given, or a fresh one, so that an answer that got lost can be asked for again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from remit.core.refusals import Code, Refused
from remit.surfaces.cli import finding
from remit.surfaces.cli.answers import Stop, stop

if TYPE_CHECKING:
    from remit.ports import ReadTx
    from remit.service.delivery import Delivery
    from remit.service.engine import Answer, Done
    from remit.service.integrating import Integration
    from remit.service.operations import Operations
    from remit.surfaces.cli.config import Config
    from remit.wiring import Ledger


@dataclass(frozen=True, slots=True)
class Options:
    """The global options; empty text and None mean that an option was not given."""

    ledger: str = ""
    actor: str = ""
    json: bool = False
    quiet: bool = False
    no_color: bool = False
    at: int | None = None
    command_id: str = ""
    key: str = ""
    statement: str = ""

    def over(self, other: Options) -> Options:
        """These options, and those of ``other`` where these are silent."""
        return replace(
            self,
            ledger=self.ledger or other.ledger,
            actor=self.actor or other.actor,
            json=self.json or other.json,
            quiet=self.quiet or other.quiet,
            no_color=self.no_color or other.no_color,
            at=other.at if self.at is None else self.at,
            command_id=self.command_id or other.command_id,
            key=self.key or other.key,
            statement=self.statement or other.statement,
        )


class Session:
    """One call: options, and what was opened for it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._ledger: Ledger | None = None
        self._config: Config | None = None
        self._command_id = options.command_id
        self._url = ""

    @property
    def url(self) -> str:
        """The URL of the ledger that is meant."""
        if not self._url:
            self._url = finding.ledger_url(self.options.ledger)
        return self._url

    @property
    def config(self) -> Config:
        """The configuration that holds here."""
        if self._config is None:
            from remit.surfaces.cli.config import load

            self._config = load(finding.working_directory())
        return self._config

    @property
    def ledger(self) -> Ledger:
        """The open ledger."""
        if self._ledger is None:
            from remit.wiring import open_ledger

            self._ledger = open_ledger(self.url)
        return self._ledger

    @property
    def actor(self) -> str:
        """Who acts: ``--as``, ``REMIT_ACTOR``, or the name of the user."""
        return self.options.actor or os.environ.get("REMIT_ACTOR", "") or user_name()

    @property
    def command_id(self) -> str:
        """The command id that was given, or one made for this call."""
        if not self._command_id:
            self._command_id = os.urandom(12).hex()
        return self._command_id

    @property
    def used_command_id(self) -> str:
        """The command id, if any command of this call has used one."""
        return self._command_id

    @contextmanager
    def reading(self) -> Iterator[ReadTx]:
        """A snapshot, now or as of ``--at``."""
        with self.ledger.reading(self.options.at) as tx:
            yield tx

    @contextmanager
    def glimpse(self) -> Iterator[ReadTx]:
        """A snapshot for the operator's views, now or as of ``--at`` without a whole fold."""
        from remit.service.glimpsing import glimpse

        with glimpse(self.ledger.store, self.options.at) as tx:
            yield tx

    @property
    def operations(self) -> Operations:
        """The canonical operations of the acting person, with what this call shows of it."""
        from remit.surfaces.cli.signing import what_is_shown

        return self.ledger.acting(self.actor, **what_is_shown(self.options))

    def delivery(self, repository: Path | None = None) -> Delivery:
        """The operations that look at the git repository.

        Its own configuration says which main is observed, not that of the folder one stands in: a
        worker may write what it likes in its clone.
        """
        return self.ledger.delivery(self.actor, self.observed(repository), self.operations)

    def integration(self, repository: Path | None = None) -> Integration:
        """What integrates approved work of the git repository, configured as for ``delivery``."""
        observed = self.observed(repository)
        return self.ledger.integration(self.actor, observed, acting=self.operations)

    def observed(self, repository: Path | None = None) -> Path:
        """The repository whose main is observed; the ledger works by its configuration from now on."""
        from remit.surfaces.cli.config import load
        from remit.wiring import Settings

        observed = finding.repository(self.url, repository)
        config = load(observed.absolute())
        self.ledger.settings = Settings(
            config.remote, config.main, markers=config.markers, host=config.host
        )
        return observed

    def exact(self, name: str) -> str:
        """The item that a write names: an id or a whole work id, never an abbreviation."""
        with self.ledger.reading() as tx:
            return exact_item(tx, name)

    def close(self) -> None:
        """Release what was opened."""
        if self._ledger is not None:
            self._ledger.close()
            self._ledger = None


def user_name() -> str:
    """The operating system's name of this user. Raises ``BAD_INPUT`` where it has none."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        raise stop(
            Code.BAD_INPUT,
            f"cannot tell who acts: user {os.getuid()} has no name on this machine",
            "say it with --as NAME or REMIT_ACTOR",
        ) from None


def exact_item(tx: ReadTx, name: str) -> str:
    """The item id of an exact name. Raises ``NOT_FOUND``; says what an abbreviation may mean."""
    if name and tx.load([("item", name)])["item", name] is not None:
        return name
    alias = tx.load([("alias", name)])["alias", name] if name else None
    if isinstance(alias, str):
        return alias
    from remit.service.reading.items import find

    near = find(tx, name)
    if isinstance(near, str):
        raise stop(
            Code.NOT_FOUND,
            f"there is no work item {name!r}; it would abbreviate {near}",
            f"what changes an item takes its whole id: {near}",
            item=name,
            candidates=[near],
        )
    if near.code is Code.NOT_FOUND:
        raise Stop(near)
    raise Stop(
        Refused(
            Code.NOT_FOUND,
            f"there is no work item {name!r}: it {near.message.partition(' ')[2]}",
            "what changes an item takes its whole id",
            near.details,
        )
    )


def accepted(answer: Answer) -> Done:
    """The events of an accepted call. Raises ``Stop`` with a refusal."""
    if isinstance(answer, Refused):
        raise Stop(answer)
    return answer


def required(found: Any) -> Any:
    """A reading's answer. Raises ``Stop`` with a refusal."""
    if isinstance(found, Refused):
        raise Stop(found)
    return found
