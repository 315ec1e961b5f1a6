"""The judge of a load is shown to be no yes-man: each planted fault is called by its name (INV-7, INV-9).

Faults are planted in running workers, and in the record of a run that was good: an acknowledged write
that is missing, an answer that was never given, a question that nobody wrote down.

What three workers do to each other is chance. So they work until there was an occasion, however many
rounds that takes; only a fault that is never called is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.load.field import Field, field
from tests.load.plants import PLANTS
from tests.load.sidelog import ANSWERED, AWAY, STALE, UNKNOWN, Asked, Part
from tests.load.verdict import LATE, judged
from tests.load.worker import Load
from tests.stores.postgres.server import Server

from remit.core import item_events as e
from remit.core.facts import Policy
from remit.wiring import Ledger, open_ledger

POLICY = Policy(ttl_ms=1_000, longest_lease_ms=3_000, attempts=100)
WEIGHTS = {"complete": 2.0, "turn": 2.0, "progress": 2.0, "release": 4.0}
EVENTS = 700
"""How many events the workers write in a round before they are told to stop."""

ROUNDS = 12
"""How often they may begin again for an occasion that did not come."""


@contextmanager
def workers(server: Server, database: str, plant: str = "") -> Iterator[Field]:
    """Three workers that work for a moment."""
    load = Load("", "", 3, 600, 4, WEIGHTS, past=0.5, dwell_ms=30, plant=plant)
    with field(server, database, load, 3, POLICY) as at:
        at.start_all()
        yield at


def rounds(at: Field) -> Iterator[list[Asked]]:
    """What the workers asked, after each round of work."""
    for n in range(ROUNDS):
        if n:
            at.resume()
        at.wait(EVENTS)
        yield at.end()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_called_by_its_name(postgres: Server, database: str, plant: str) -> None:
    kind = PLANTS[plant][1]
    with workers(postgres, database, plant) as at:
        assert any(kind in at.verdict(asked).kinds for asked in rounds(at))


Change = Callable[[list[Asked]], list[Asked]]


def last(asked: list[Asked], op: str, *, done: bool = True) -> int:
    """Where the last call of a kind stands of which all parts were accepted, or refused."""
    return every(asked, op, done=done)[-1]


def every(asked: list[Asked], op: str, *, done: bool = True) -> list[int]:
    """Where the calls of a kind stand of which all parts were accepted, or refused."""
    fit = [all(bool(part.refused) != done for part in one.parts) for one in asked]
    return [n for n, one in enumerate(asked) if one.op == op and fit[n]]


def with_(asked: list[Asked], n: int, **changes: Any) -> list[Asked]:
    """The record with one call changed."""
    return [*asked[:n], replace(asked[n], **changes), *asked[n + 1 :]]


def silent(asked: list[Asked]) -> list[Asked]:
    """A call that never had an answer."""
    return with_(asked, last(asked, "create"), came=[UNKNOWN], parts=[])


def unasked(asked: list[Asked]) -> list[Asked]:
    """A call that nobody wrote down."""
    n = last(asked, "create")
    return [*asked[:n], *asked[n + 1 :]]


def denied(asked: list[Asked]) -> list[Asked]:
    """A call that was done, and whose caller was told that it was not."""
    n = last(asked, "create")
    return with_(asked, n, parts=[Part(refused="BAD_INPUT") for _ in asked[n].parts])


def belied(asked: list[Asked]) -> list[Asked]:
    """A call that was done while the store said that nothing was."""
    n = last(asked, "create")
    parts = [Part(part.events, repeated=True) for part in asked[n].parts]
    return with_(asked, n, came=[AWAY, ANSWERED], parts=parts)


def repeated(asked: list[Asked]) -> list[Asked]:
    """A call whose only answer was that of an earlier one."""
    n = last(asked, "create")
    parts = [Part(part.events, repeated=True) for part in asked[n].parts]
    return with_(asked, n, parts=parts)


def short(asked: list[Asked]) -> list[Asked]:
    """An answer that lacks an element."""
    n = last(asked, "turn")
    return with_(asked, n, parts=asked[n].parts[:-1])


def late(asked: list[Asked]) -> list[int]:
    """Where the calls stand that came too late."""
    stale = [any(part.refused in STALE for part in one.parts) for one in asked]
    return [n for n, one in enumerate(asked) if one.op in LATE and stale[n]]


def punctual(asked: list[Asked]) -> list[Asked]:
    """A late write that was recorded, and whose caller was told another reason."""
    n = late(asked)[-1]
    return with_(asked, n, parts=[Part(refused="NOT_FOUND")] * len(asked[n].parts))


CHANGES: dict[str, tuple[Change, str]] = {
    "silent": (silent, "never-settled"),
    "unasked": (unasked, "nobody-asked-for-it"),
    "denied": (denied, "refused-and-done"),
    "belied": (belied, "said-that-nothing-was-done"),
    "repeated": (repeated, "answered-before-it-was-asked"),
    "short": (short, "answers-missing"),
    "punctual": (punctual, "recorded-late-and-not-refused"),
}
"""Ways to falsify the record of a good run, and what each must be called."""


def falsifiable(asked: list[Asked]) -> bool:
    """Whether all is in the record that a change needs."""
    return all((every(asked, "create"), every(asked, "turn"), late(asked)))


@pytest.mark.timeout(300)
def test_a_good_run_falsified_is_called_by_its_name(postgres: Server, database: str) -> None:
    with workers(postgres, database) as at:
        asked = next(asked for asked in rounds(at) if falsifiable(asked))
        ledger = open_ledger(at.load.url)
        try:
            assert judged(ledger, asked, at.setup).problems == []
            for name, (change, kind) in CHANGES.items():
                found = judged(ledger, change(asked), at.setup).kinds
                assert kind in found, (name, found)
            dropped(ledger, asked, at.setup)
        finally:
            ledger.close()


def dropped(ledger: Ledger, asked: list[Asked], setup: int) -> None:
    """An acknowledged write, or the record of a late one, that is missing from the history."""
    with ledger.reading() as tx:
        events = tx.events(setup, 1 << 20)
    told = {plain[1] for one in asked for part in one.parts for plain in part.events}
    completed = [r.seq for r in events if isinstance(r.event, e.CompletionReported)]
    late = [r.seq for r in events if isinstance(r.event, e.LateReportRecorded)]
    assert completed[-1] in told
    lost = judged(ledger, asked, setup, without={completed[-1]}).kinds
    assert "acknowledged-and-lost" in lost
    assert "late-and-not-recorded" in judged(ledger, asked, setup, without={late[-1]}).kinds
