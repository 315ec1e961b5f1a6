"""Eight processes at one ledger: one of them gets the item, and none of them waits for long."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contention.racers import Tally
from tests.ground.children import Child
from tests.ground.ledgers import each_event, faults_of, made, ready_item, rows_of

from remit.core.commands import AddNote, CreateItem, GrantLease, Text
from remit.core.events import Recorded
from remit.core.item_events import CompletionReported, LeaseGranted
from remit.stores.sqlite.lock import WAIT_MS
from remit.wiring import Ledger

PROCESSES = 8
RACES = 100
ACTORS = tuple(f"agent-{i}" for i in range(PROCESSES))
LONGEST_S = 1.0
"""Longest that any call may take while eight processes write for long, where little else runs."""

MAY_CHANGE = {
    ("fact_rows", ("counter", "fence")),
    ("fact_rows", ("counter", "vtime")),
    ("fact_rows", ("lane-turn", "delivery")),
    ("fact_rows", ("active", "delivery")),
    ("fact_rows", ("count", "ready")),
    ("fact_rows", ("count", "leased")),
    ("fact_rows", ("load", "class/delivery")),
    ("fact_rows", ("load", "tenant/default")),
    ("lane_rows", ("delivery|default",)),
}
"""Rows that a granted lease changes beside its item and its actor's load."""

Rows = dict[tuple[str, tuple[Any, ...]], tuple[Any, ...]]


class Field:
    """Processes that wait at the start."""

    def __init__(self, racers: Sequence[Child]) -> None:
        self.racers = racers
        for racer in racers:
            assert racer.line() == "ready"

    def go(self, word: str = "") -> None:
        """Let all of them begin at one moment, with a word of the round before it."""
        moment = time.monotonic() + 0.01
        for racer in self.racers:
            racer.send(f"{word}\n{moment}\n" if word else f"{moment}\n")

    def lines(self) -> list[Any]:
        """What each of them says next."""
        return [racer.line() for racer in self.racers]


@contextmanager
def together(what: str, url: str, *more: str, wait_s: float = 60) -> Iterator[Field]:
    """One process for each actor, all at the start."""
    module = "tests.contention.racers"
    racers = [Child(module, what, url, actor, *more, wait_s=wait_s) for actor in ACTORS]
    try:
        yield Field(racers)
        for racer in racers:
            assert racer.ended() == 0
    finally:
        for racer in racers:
            racer.kill()


def wrong_with_race(
    item: str,
    answers: list[tuple[str, str, int]],
    events: list[Recorded],
    before: Rows,
    after: Rows,
    code: str,
) -> list[str]:
    """What one race for one item got wrong: one lease, seven refusals, nothing else changed."""
    found = []
    winners = [(actor, fence) for actor, refusal, fence in answers if not refusal]
    if len(winners) != 1:
        found.append(f"{len(winners)} of {len(answers)} got {item}")
    losers = Counter(refusal for _, refusal, _ in answers if refusal)
    if losers != Counter({code: len(answers) - 1}):
        found.append(f"refusals were {dict(losers)}, expected {code}")
    granted = [(r.actor, r.event.lease.fence) for r in events if isinstance(r.event, LeaseGranted)]
    if granted != winners or len(events) != 1 or events[0].stream != item:
        found.append(f"events were {[type(r.event).__name__ for r in events]} for {granted}")
    allowed = MAY_CHANGE | {("item_rows", (item,))}
    allowed |= {("fact_rows", ("load", f"actor/{actor}")) for actor, _ in winners}
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    others = {(table, key[1:]) for table, key in changed} - allowed
    if others:
        found.append(f"other rows changed: {sorted(others)}")
    return found


def _since(ledger: Ledger, seq: int) -> list[Recorded]:
    found: list[Recorded] = []
    each_event(ledger, found.append, seq)
    return found


@pytest.mark.parametrize("named", [True, False], ids=["by-name", "next"])
def test_of_eight_processes_one_gets_the_item(tmp_path: Path, named: bool) -> None:
    ledger = made(tmp_path, agents=ACTORS)
    path = tmp_path / "ledger.db"
    races = RACES // 2
    names = [f"W-{i + 1}" for i in range(races)]
    code = "ITEM_LEASED" if named else "NOTHING_READY"
    fences = [0]
    with together("race", ledger.store.url) as field:
        for item in names:
            assert ready_item(ledger) == item
            before = rows_of(path)
            with ledger.store.read() as tx:
                seq = tx.head().seq
            field.go(item if named else "-")
            seen = [(actor, refusal, fence) for actor, refusal, fence in field.lines()]
            events = _since(ledger, seq)
            assert wrong_with_race(item, seen, events, before, rows_of(path), code) == []
            fences.append(max(fence for _, _, fence in seen))
    assert fences == sorted(set(fences))
    assert faults_of(ledger) == []
    ledger.close()


def test_a_race_with_two_winners_or_a_stray_change_is_noticed(tmp_path: Path) -> None:
    ledger = made(tmp_path, agents=ACTORS)
    path = tmp_path / "ledger.db"
    item = ready_item(ledger)
    before = rows_of(path)
    seq = len(_since(ledger, 0))
    ledger.acting("agent-0").lease(GrantLease(item))
    events, after = _since(ledger, seq), rows_of(path)
    fence = events[0].event.lease.fence  # type: ignore[attr-defined]  # of LeaseGranted
    answers = [("agent-0", "", fence), ("agent-1", "ITEM_LEASED", 0)]
    assert wrong_with_race(item, answers, events, before, after, "ITEM_LEASED") == []
    twice = [*answers, ("agent-2", "", fence + 1)]
    assert wrong_with_race(item, twice, events, before, after, "ITEM_LEASED")
    wrong = [answers[0], ("agent-1", "UNEXPECTED", 0)]
    assert wrong_with_race(item, wrong, events, before, after, "ITEM_LEASED")
    other = {**after, ("item_rows", ("x", "W-9")): ("x", "W-9")}
    assert wrong_with_race(item, answers, events, before, other, "ITEM_LEASED")
    ledger.acting("agent-1").note(AddNote(item, Text("a stray event")))
    stray = _since(ledger, seq)
    assert wrong_with_race(item, answers, stray, before, after, "ITEM_LEASED")
    ledger.close()


def wrong_with_writing(
    tallies: list[Tally], events: list[Recorded], longest_s: float = LONGEST_S
) -> list[str]:
    """What several writers got wrong: a write lost, one made up, or one that waited too long."""
    found = []
    said = {name: what for tally in tallies for name, what in tally.acknowledged.items()}
    there: dict[str, tuple[str, str]] = {}
    for recorded in events:
        event = recorded.event
        kind = {LeaseGranted: "lease", CompletionReported: "complete"}.get(type(event), "create")
        if recorded.command_id and recorded.stream.startswith("W-"):
            there.setdefault(recorded.command_id, (kind, recorded.stream))
    lost = said.items() - there.items()
    if lost:
        found.append(f"{len(lost)} acknowledged writes are not there: {sorted(lost)[:3]}")
    more = there.items() - said.items()
    if more:
        found.append(f"{len(more)} writes are there that nobody was told of: {sorted(more)[:3]}")
    longest = max(max(tally.waits_s) for tally in tallies)
    if longest > longest_s:
        found.append(f"somebody waited {longest:.3f} s")
    if min(len(tally.acknowledged) for tally in tallies) == 0:
        found.append("somebody wrote nothing")
    return found


def _writing(tmp_path: Path, seconds: float, longest_s: float) -> None:
    ledger = made(tmp_path, agents=ACTORS)
    with together("write", ledger.store.url, str(seconds), wait_s=seconds + 60) as field:
        field.go()
        tallies = [Tally(**line) for line in field.lines()]
    for tally in tallies:
        tally.acknowledged = {name: (kind, of) for name, (kind, of) in tally.acknowledged.items()}
    for tally in tallies:
        waits = sorted(tally.waits_s)
        print(
            f"{tally.actor}: {len(waits)} calls, {len(tally.acknowledged)} acknowledged,"
            f" median {waits[len(waits) // 2] * 1000:.1f} ms, longest {waits[-1] * 1000:.0f} ms,"
            f" refused {tally.refused}"
        )
    assert wrong_with_writing(tallies, _since(ledger, 0), longest_s) == []
    assert faults_of(ledger) == []
    ledger.close()


def test_eight_writers_for_some_seconds(tmp_path: Path) -> None:
    """How long anybody waits is judged by the long form; here it is what the lock itself allows."""
    _writing(tmp_path, 6, WAIT_MS / 1_000 + 1)


@pytest.mark.torture
@pytest.mark.timeout(400)
def test_eight_writers_for_a_minute(tmp_path: Path) -> None:
    _writing(tmp_path, 60, LONGEST_S)


def test_a_lost_write_or_a_long_wait_is_noticed(tmp_path: Path) -> None:
    ledger = made(tmp_path)
    ledger.acting("ada").create(CreateItem("one"), command_id="x-1")
    events = _since(ledger, 0)
    good = Tally("x", {"x-1": ("create", "W-1")}, {}, [0.1])
    assert wrong_with_writing([good], events) == []
    lost = Tally("x", {"x-1": ("create", "W-1"), "x-2": ("create", "W-2")}, {}, [0.1])
    assert wrong_with_writing([lost], events)
    assert wrong_with_writing([Tally("x", {}, {}, [0.1])], events)
    slow = Tally("x", {"x-1": ("create", "W-1")}, {}, [0.1, 1.2])
    assert wrong_with_writing([slow], events)
    ledger.close()
