"""Wiring: the one place that chooses adapters and puts everything together.

``open_ledger`` turns a URL into a ledger ready for use, ``create_ledger`` makes one. Adapters are
imported where they are needed, so that reading a list loads neither git nor an importer. Nothing but
this module knows which store stands behind a URL.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from remit.core.refusals import Code, Refused
from remit.ports import RemitError, Store

if TYPE_CHECKING:
    from types import ModuleType

    from remit.core.actor_commands import KeySpec
    from remit.ports import ReadTx
    from remit.ports.destination import Destination, Enforced
    from remit.ports.outside import Backlog
    from remit.service.delivery import Delivery
    from remit.service.engine import Engine
    from remit.service.feed import Entry, Position
    from remit.service.integrating import Integration
    from remit.service.operations import Operations
    from remit.service.transfer import Moved
    from remit.stores.clock import Readings
    from remit.stores.sqlite.copies import Copied
    from remit.stores.sqlite.examine import Examined

SQLITE: Final = "sqlite"
POSTGRES: Final = ("postgresql", "postgres")
_PASSWORD: Final = re.compile(r"(://[^/@:]*):.*@")
"""The password of a URL, which no message repeats."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the configuration beside a ledger says; see ``docs/reference/configuration.md``.

    ``group_wait_ms`` is how long one thread's write may wait for others to share its commit.
    """

    remote: str = "origin"
    main: str = "main"
    group_wait_ms: int = 0
    markers: bool = True  # whether the remote takes refs of remit's
    host: tuple[tuple[str, ...], ...] = ()  # how its command line opens and finds pull requests


def path_of(url: str) -> Path:
    """The file that a ``sqlite:///path`` URL names. Raises ``BAD_INPUT`` for any other URL.

    The path is absolute, with ``%``, ``?`` and ``#`` written as %25, %3F and %23.
    """
    parts = urlsplit(url)
    extra = parts.netloc or parts.query or parts.fragment
    if parts.scheme == SQLITE and parts.path.strip("/") and not extra:
        return Path("/" + unquote(parts.path, errors="surrogateescape").lstrip("/"))
    url = _PASSWORD.sub(r"\1@", url)
    raise RemitError(
        f"cannot open the ledger {url!r}: expected sqlite:///path",
        "name a ledger like sqlite:///home/me/work/.remit/ledger.db with --ledger or REMIT_LEDGER;"
        " write % ? # in a path as %25 %3F %23",
        {"url": url},
        code=Code.BAD_INPUT,
    )


def url_of(path: Path) -> str:
    """The URL that names a ledger file, whatever characters are in its path."""
    return f"sqlite://{quote(os.fsencode(path.absolute()))}"


def shown(url: str) -> str:
    """The URL of a ledger as it may be written down: a file's in its one form, no password."""
    if not on_server(url):
        return url_of(path_of(url))
    options = [(k, v) for k, v in parse_qsl(urlsplit(url).query) if "password" not in k]
    query = urlencode(options, quote_via=quote, safe="/")
    return _PASSWORD.sub(r"\1@", url.partition("?")[0]) + ("?" if query else "") + query


def on_server(url: str) -> bool:
    """Whether a URL names a ledger in a PostgreSQL database, not in a file."""
    return urlsplit(url).scheme in POSTGRES


def open_store(url: str) -> Store:
    """The store behind a URL: ``sqlite:///path`` or ``postgresql://host/database?ledger=ID``."""
    if on_server(url):
        opened: Store = _postgres().open_store(url)
        return opened
    from remit.stores.sqlite.store import open_store as open_sqlite

    return open_sqlite(path_of(url))


def create_store(url: str, ledger_id: str) -> Store:
    """An empty ledger's store; the ``ledger`` of a PostgreSQL URL goes before ``ledger_id``.

    Raises ``LEDGER_EXISTS`` where the name is taken.
    """
    if on_server(url):
        made: Store = _postgres().create_store(url, ledger_id)
        return made
    from remit.stores.sqlite.store import create_store as create_sqlite

    return create_sqlite(path_of(url), ledger_id)


def _postgres() -> ModuleType:
    """The PostgreSQL store, which needs a driver that not everybody installs."""
    try:
        from remit.stores.postgres import opening
    except ImportError as error:
        raise RemitError(
            f"cannot use a ledger in PostgreSQL: {error}",
            "install the driver with pip install 'remit[postgres]'",
            code=Code.STORE_REFUSED,
        ) from error
    return opening


class Ledger:
    """An open ledger: operations for any actor, reads now or at any past seq."""

    def __init__(self, store: Store, settings: Settings | None = None) -> None:
        self.store = store
        self.settings = settings or Settings()
        self._engine: Engine | None = None

    def acting(self, actor: str, **shown: Any) -> Operations:
        """The canonical operations for one actor: a label, unless ``shown`` proves more.

        ``shown`` is ``token``, ``signer`` or ``signed``; see ``service.operations.Caller``. ``files`` are
        key files that are tried beside those in the usual places.
        """
        from remit.service.operations import Caller, Operations
        from remit.wiring.signing import signatures

        files = tuple(shown.pop("files", ()))
        return Operations(self.store, Caller(actor, **shown), self.engine, signatures(files))

    @property
    def engine(self) -> Engine:
        """The one engine of this ledger in this process: calls of many threads share commits."""
        if self._engine is None:
            from remit.service.group import GroupEngine

            self._engine = GroupEngine(self.store, self.settings.group_wait_ms / 1_000)
        return self._engine

    @contextmanager
    def reading(self, at: int | None = None) -> Iterator[ReadTx]:
        """A snapshot to read from, as it is now or as it was after event ``at``."""
        if at is None:
            with self.store.read() as tx:
                yield tx
            return
        from remit.service.past import as_of
        from remit.stores.memory import MemoryStore

        with self.store.read() as tx, as_of(tx, at, MemoryStore) as past:
            yield past

    def events(self, after: int | Position = 0) -> Iterator[Entry]:
        """All events after a seq or a kept position, each with its own; see ``service.feed``.

        Raises ``CURSOR_OF_ANOTHER``, ``CURSOR_AHEAD`` or ``CURSOR_DIVERGED`` where it fits no more.
        """
        from remit.service import feed

        if isinstance(after, int):
            return feed.entries(self.store, feed.position_at(self.store, after))
        feed.demand(self.store, after)
        return feed.entries(self.store, after)

    def delivery(self, actor: str, repository: Path, acting: Operations | None = None) -> Delivery:
        """The operations that look at a git repository, for one actor."""
        from remit.repository.repository import GitRepository
        from remit.service.delivery import Delivery
        from remit.verify.builtin import BuiltInVerifier

        git = GitRepository(repository, self.settings.remote, self.settings.main)
        return Delivery(acting or self.acting(actor), git, BuiltInVerifier(git))

    def integration(self, actor: str, repository: Path, **how: Any) -> Integration:
        """What integrates approved work; ``how`` is that of ``wiring.integrating.integration``."""
        from remit.wiring.integrating import integration

        return integration(self, actor, repository, **how)

    def close(self) -> None:
        """Release the store."""
        self.store.close()


def open_ledger(url: str, settings: Settings | None = None) -> Ledger:
    """Open the ledger that a URL names. Raises ``LEDGER_MISSING`` and the store's other errors."""
    return Ledger(open_store(url), settings)


def create_ledger(
    url: str, human: str, ledger_id: str = "", key: KeySpec | None = None, *, served: bool = False
) -> Ledger:
    """Make a ledger, enrol its built-in services and its first human, and open it.

    With a ``key`` of that human's, nothing unproved is accepted from the beginning.

    Raises ``LEDGER_EXISTS`` where the name is taken; a ledger that was made but not yet opened for
    its first human is completed.
    """
    import uuid

    from remit.core.commands import CreateLedger
    from remit.service.operations import Caller, Operations
    from remit.wiring.signing import signatures

    name = ledger_id or str(uuid.UUID(bytes=os.urandom(16), version=4))
    try:
        store: Store = create_store(url, name)
    except RemitError as taken:
        there = on_server(url) or path_of(url).exists()
        if taken.code is not Code.LEDGER_EXISTS or not there:
            raise
        try:
            store = open_store(url)
        except RemitError:  # there are several, or what has the name is no ledger
            raise taken from None
        with store.read() as tx:
            if tx.head().seq:
                store.close()
                raise
    operations = Operations(store, Caller(human), signatures=signatures())
    answer = operations.run(CreateLedger(store.ledger_id, human, key, served))
    if isinstance(answer, Refused):
        store.close()
        raise RemitError(answer.message, answer.hint, answer.details, answer.code)
    return Ledger(store)


def in_memory(ledger_id: str, human: str, readings: Readings) -> Ledger:
    """A ledger that lives in this process alone, under a clock of the caller's: for simulations."""
    from remit.core.commands import CreateLedger
    from remit.service.operations import Caller, Operations
    from remit.stores.memory import MemoryStore

    ledger = Ledger(MemoryStore(ledger_id, readings=readings))
    answer = Operations(ledger.store, Caller(human), ledger.engine).run(
        CreateLedger(ledger_id, human)
    )
    if isinstance(answer, Refused):
        raise RemitError(answer.message, answer.hint, answer.details, answer.code)
    return ledger


def export_lines(ledger: Ledger) -> Iterator[bytes]:
    """All of a ledger as lines that ``import_lines`` takes; see ``service.transfer``."""
    from remit.service.transfer import export

    return export(ledger.store)


def import_lines(url: str, lines: Iterable[bytes]) -> tuple[Ledger, Moved]:
    """Make a ledger from exported lines, with the id that they name, or go on making it.

    It takes no writes until it is adopted: stop using the one that it came from, then adopt it.
    Raises ``INPUT_PROBLEM`` for lines that are not a whole, unchanged export, and ``LEDGER_EXISTS``
    where the URL names a ledger that is in use.
    """
    from remit.service.transfer import import_into, ledger_of

    first, rest = ledger_of(lines)
    try:
        store: Store = create_store(url, first)
    except RemitError as taken:
        if taken.code is not Code.LEDGER_EXISTS:
            raise
        store = open_store(url)
    try:
        return Ledger(store), import_into(store, rest)
    except BaseException:
        store.close()
        raise


def held_lines(lines: Iterable[bytes]) -> Ledger:
    """A ledger in memory of exported lines, to look at. Raises as ``import_lines`` does."""
    from remit.service.transfer import import_into, ledger_of
    from remit.stores.memory import MemoryStore

    first, rest = ledger_of(lines)
    store = MemoryStore(first)
    import_into(store, rest)
    return Ledger(store)


def backup(ledger: Ledger, target: Path) -> Copied:
    """Copy an open ledger into a new file while it is in use; see ``stores.sqlite.copies``."""
    from remit.stores.sqlite.copies import backup as copy
    from remit.stores.sqlite.store import SqliteStore

    if not isinstance(ledger.store, SqliteStore):
        raise _sqlite_only("back up", ledger.store.url)
    return copy(ledger.store, target)


def restore(source: Path, url: str) -> Ledger:
    """Copy a backup to a free name and open it; it takes no writes until it is adopted."""
    from remit.stores.sqlite.copies import restore as copy

    return Ledger(copy(source, path_of(url)))


def examine(url: str) -> Examined:
    """Look the store behind a URL over without using it."""
    from remit.stores.sqlite.examine import examine as look

    return look(path_of(url))


def destination(
    document: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> Destination:
    """The adapter of a registered destination's document; see ``docs/reference/destinations.md``.

    Credentials come from ``environment`` (the process's own unless given), under the names that the
    document gives. Raises ``BAD_INPUT`` with every fault of the document.
    """
    from remit.destinations.documents import build

    return build(document, os.environ if environment is None else environment)


def enforced(document: Mapping[str, Any]) -> Enforced:
    """What a destination's document says that it enforces, for registering; reads no credential."""
    from remit.destinations.documents import build

    return build(document, None).enforced


def _sqlite_only(operation: str, url: str) -> RemitError:
    return RemitError(
        f"cannot {operation} {url}: expected a ledger in a SQLite file",
        "use the tools of its database",
        {"url": url},
        code=Code.BAD_INPUT,
    )


@contextmanager
def input_file(path: Path) -> Iterator[Path]:
    """The file to import; ``-`` is standard input, kept in a temporary file for the time."""
    if str(path) != "-":
        yield path
        return
    import sys

    from remit.exchange.lines import InputProblem, spooled

    try:
        with spooled(sys.stdin.buffer) as file:
            yield file
    except InputProblem as problem:
        raise input_error(problem) from problem


def backlog(fmt: str, path: Path) -> Backlog:
    """A foreign backlog to import. Raises ``INPUT_PROBLEM`` where it cannot be read as a whole."""
    from remit.exchange.beads_backlog import BeadsBacklog
    from remit.exchange.lines import InputProblem

    if fmt != "beads":
        raise RemitError(
            f"cannot import the format {fmt!r}: expected beads",
            "convert it to Beads JSONL",
            {"format": fmt},
            code=Code.BAD_INPUT,
        )
    try:
        return BeadsBacklog(path)
    except InputProblem as problem:
        raise input_error(problem) from problem


def input_error(problem: Exception) -> RemitError:
    """An input that cannot be read, in the terms of all other errors."""
    code = getattr(problem, "code", "")
    hint = getattr(problem, "hint", "")
    said = str(problem).removesuffix(f"; {hint}") if hint else str(problem)
    return RemitError(said, hint, {"input_code": str(code)}, code=Code.INPUT_PROBLEM)
