"""Faults to plant in the workers of a run, each of which the judge must call by its name.

They are put into the product as a worker runs it: a decision that forgets fences, a store that
answers before it has committed, that forgets command ids, or that says "nothing was done" of what was.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import psycopg

from remit.core.decide import asking, delivery, leases
from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.stores.postgres.store import PostgresStore
from remit.stores.postgres.transaction import PostgresRead

EVERY: Final = 7
"""Every so many commits go wrong."""

_commit = PostgresStore._commit


def _stale_fence() -> None:
    """A worker that ignores its fence: whoever holds the item now, its writes count."""

    def lax(draft: Any, item: Any, *rest: Any, **more: Any) -> Any:
        found = asking.fenced(draft, item, *rest, **more)
        return item.lease if isinstance(found, Refused) and item.lease is not None else found

    for module in (leases, delivery):
        module.fenced = lax  # type: ignore[attr-defined]  # the planted fault


def _sometimes(instead: Callable[[PostgresStore, Any, bool], None]) -> None:
    count = 0

    def commit(store: PostgresStore, connection: Any, *, dirty: bool) -> None:
        nonlocal count
        count += dirty
        if dirty and count % EVERY == 0:
            instead(store, connection, dirty)
        else:
            _commit(store, connection, dirty=dirty)

    setattr(PostgresStore, "_commit", commit)  # noqa: B010  # the planted fault


def _early_answer() -> None:
    """A store that answers before the commit is there, and loses it in a crash soon after."""

    def roll_back(store: PostgresStore, connection: Any, _dirty: bool) -> None:
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        store.pause = lambda step: os.kill(os.getpid(), signal.SIGKILL) if step == "begin" else None

    _sometimes(roll_back)


def _forgetful() -> None:
    """A store that knows no command id, where the line is lost after the commit."""

    def lose(store: PostgresStore, connection: Any, dirty: bool) -> None:
        _commit(store, connection, dirty=dirty)
        raise OutcomeUnknown("the line was lost", "repeat")

    _sometimes(lose)
    setattr(PostgresRead, "commands", lambda _tx, _ids: {})  # noqa: B010  # the planted fault


def _false_away() -> None:
    """A store that says of a commit that nothing was done."""

    def lie(store: PostgresStore, connection: Any, dirty: bool) -> None:
        _commit(store, connection, dirty=dirty)
        raise StoreUnavailable("the server is away", "repeat")

    _sometimes(lie)


PLANTS: Final[dict[str, tuple[Callable[[], None], str]]] = {
    "stale-fence": (_stale_fence, "write-under-a-dead-lease"),
    "early-answer": (_early_answer, "acknowledged-and-lost"),
    "forgetful": (_forgetful, "command-done-twice"),
    "false-away": (_false_away, "said-that-nothing-was-done"),
}
"""By name: how to plant a fault, and what the judge must call it."""


def plant(name: str) -> None:
    """Plant a fault in this process; no name, no fault."""
    if name:
        PLANTS[name][0]()
