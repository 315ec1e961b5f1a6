"""What a ledger looked like after every 8,192nd event: figures and who stood where, kept for reads of the past.

Folding a whole ledger to look at one seq of it takes as long as it has events. A moment is the part that a
fleet's view is made of, as it was just after one event: how many items stood in each status, which of
them were at work or waiting, open records, live runs, the kill switch. A read of the past starts from the
last moment before it and takes the events since. Moments are rows like any others: the events alone say
what they hold, so ``ledger verify`` and ``ledger replay`` make them again (INV-21, INV-25).

``Standing`` is that part while it is followed, one event at a time, forward or back. It knows no rule: it
reads the status that each event names, and asks ``evolve`` for runs alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from remit.core.change import quick
from remit.core.events import Recorded
from remit.core.evolve import evolve
from remit.core.facts import LEDGER, Fact, Item, Key, Ledger, Moment, Policy, Run, Triage
from remit.core.ids import item_number
from remit.core.item_events import ItemClosed, ItemImported, ItemTriaged, TriageResolved
from remit.core.run_events import RunStarted, RunStopped
from remit.core.run_facts import RunStatus, RunUse
from remit.core.status import Status

EVERY: Final = 8_192
"""Events between two moments: a tenth of a second to fold, and one row for them all."""

FOLLOWED: Final = (
    Status.LEASED,
    Status.HELD,
    Status.IN_REVIEW,
    Status.APPROVED,
    Status.SHIPPED,
    Status.TRIAGED,
)
"""Statuses whose items a moment names; of the others it has the number alone."""

_NAMES: Final = frozenset(str(status) for status in FOLLOWED)


@quick
@dataclass(frozen=True, slots=True)
class Move:
    """An item that came from one status (empty: it is new) to another."""

    number: int
    source: str
    target: str


def key_of(seq: int) -> Key:
    """The key of the moment just after an event; ids are in the order of their seqs."""
    return ("moment", f"{seq:016d}")


WATCHED: Final = frozenset(("item", "triage", "run", "ledger"))
"""Kinds of facts that a moment is made of; ``Standing.put`` need not be told of others."""


def due(first: int, last: int) -> range:
    """The seqs from ``first`` to ``last`` after which a moment is kept."""
    return range(first + -first % EVERY, last + 1, EVERY)


def move_of(rec: Recorded) -> Move | None:
    """The change of status that an event is, if it is one."""
    event: Any = rec.event
    if event.ENTITY != "item":
        return None
    if rec.version == 1:
        closed = event.__class__ is ItemImported and event.closed
        return Move(item_number(rec.stream), "", str(Status.CLOSED if closed else Status.DRAFT))
    if not getattr(event, "transition_id", ""):
        return None
    return Move(item_number(rec.stream), str(event.from_), str(event.to))


class Standing:
    """Who stands where, just after event ``seq``."""

    def __init__(self, moment: Moment | None = None) -> None:
        self.seq = moment.seq if moment else 0
        self.counts: dict[str, int] = dict(moment.counts) if moment else {}
        self.numbers: dict[str, set[int]] = {name: set() for name in _NAMES}
        for name, text in moment.standing if moment else ():
            self.numbers[name] = set(unspan(text))
        self.triage: set[int] = set(unspan(moment.triage)) if moment else set()
        self.ledger = moment.ledger if moment else None
        self.runs: dict[str, Run] = {run.id: run for run in moment.runs} if moment else {}
        self.run_count = moment.run_count if moment else 0

    def moment(self) -> Moment:
        """What is kept of it."""
        return Moment(
            f"{self.seq:016d}",
            self.seq,
            tuple(sorted((name, many) for name, many in self.counts.items() if many)),
            tuple((name, span(self.numbers[name])) for name in sorted(_NAMES)),
            span(self.triage),
            self.ledger,
            self.run_count,
            tuple(sorted(self.runs.values(), key=lambda run: run.number)),
        )

    def forward(self, rec: Recorded) -> None:
        """Take one event more."""
        self._move(move_of(rec), 1)
        self._records(rec.event, opened=self.triage.add, settled=self.triage.discard)
        if rec.event.ENTITY == "ledger":
            self.ledger = follow_ledger(self.ledger, rec)
        elif rec.event.ENTITY == "run":
            self._run(rec)
        self.seq = rec.seq

    def back(self, rec: Recorded) -> None:
        """Take the last event back; ledger and runs are facts that the caller puts in place."""
        self._move(move_of(rec), -1)
        self._records(rec.event, opened=self.triage.discard, settled=self.triage.add)
        self.run_count -= isinstance(rec.event, RunStarted)
        self.seq = rec.seq - 1

    def put(self, key: Key, old: Fact | None, new: Fact | None) -> None:
        """Take one changed fact over: for who folds everything anyway, and so has the facts."""
        if new.__class__ is Item:
            before = old.status if old.__class__ is Item else ""
            if before is not new.status:
                self._move(Move(new.number, str(before), str(new.status)), 1)
        elif new.__class__ is Triage:
            (self.triage.add if new.open else self.triage.discard)(record_number(new.id))
        elif new.__class__ is Run:
            self.run_count += old is None
            if new.status is RunStatus.STOPPED:
                self.runs.pop(new.id, None)
            else:
                self.runs[new.id] = new
        elif key == LEDGER and isinstance(new, Ledger):
            self.ledger = new

    def _move(self, move: Move | None, way: int) -> None:
        if move is None:
            return
        left, came = (move.source, move.target) if way > 0 else (move.target, move.source)
        for name, by in ((left, -1), (came, 1)):
            if name:
                self.counts[name] = self.counts.get(name, 0) + by
            if name in self.numbers:
                (self.numbers[name].add if by > 0 else self.numbers[name].discard)(move.number)

    def _records(self, event: Any, *, opened: Any, settled: Any) -> None:
        if event.__class__ is ItemTriaged:
            opened(record_number(event.record))
        elif event.__class__ is TriageResolved:
            settled(record_number(event.record))
        elif event.__class__ is ItemClosed:
            for record in event.resolved:
                settled(record_number(record))
        elif getattr(event, "record", "") and getattr(event, "to", "") == Status.TRIAGED:
            opened(record_number(event.record))

    def _run(self, rec: Recorded) -> None:
        name, event = rec.entity, rec.event
        run = follow(self.runs.get(name), rec)
        self.run_count += isinstance(event, RunStarted)
        if isinstance(event, RunStopped):
            self.runs.pop(name, None)
        else:
            self.runs[name] = run


def apply(
    facts: dict[Key, Any], delta: Mapping[Key, Fact | None], standing: Standing, seq: int
) -> None:
    """Take the changed facts of event ``seq`` over; None takes a fact away.

    After some events a moment is kept beside them, as the writer kept it.
    """
    for key, fact in delta.items():
        if key[0] in WATCHED:
            standing.put(key, facts.get(key), fact)
        if fact is None:
            facts.pop(key, None)
        else:
            facts[key] = fact
    if seq % EVERY == 0:
        standing.seq = seq
        facts[key_of(seq)] = standing.moment()


def follow(run: Run | None, rec: Recorded) -> Run:
    """A run after one more event of its stream."""
    facts = alone_facts({} if run is None else {("run", run.id): run}, rec)
    after = facts["run", rec.entity]
    assert isinstance(after, Run), "events of a run make a run"
    return after


def follow_ledger(ledger: Ledger | None, rec: Recorded) -> Ledger:
    """The ledger's own fact after one more event of its stream."""
    after = alone_facts({LEDGER: ledger}, rec).get(LEDGER, ledger)
    assert isinstance(after, Ledger), "events of a ledger make one"
    return after


def alone_facts(known: Mapping[Key, Fact | None], rec: Recorded) -> Mapping[Key, Fact | None]:
    """What an event of one stream makes of the facts of that stream alone.

    What other streams would have said is what this event itself takes for granted: the ledger's
    counters as it numbers by them, the epoch that its fence is of, a signature where it claims one.
    Nothing else of a stream's own facts depends on another stream.
    """

    def get(kind: str, name: str) -> Fact | None:
        if kind == "counter":
            return _counter(name, rec)
        found = known.get((kind, name))
        if found is None and kind == "ledger" and rec.event.ENTITY != "ledger":
            return _ledger(rec)
        if found is None and kind == "run-use" and not isinstance(rec.event, RunStarted):
            return RunUse(name, 1, rec.entity, 0)
        return found

    return evolve(get, rec)


def _counter(name: str, rec: Recorded) -> int:
    """The counter just before an event that numbers something by it."""
    event: Any = rec.event
    match name:
        case "fence":
            return _fence(event) % (1 << 32) - 1
        case "signed-through":
            return rec.seq
        case "triage":
            return record_number(getattr(event, "record", "T-1")) - 1
        case "receipt":
            return int(getattr(event, "receipt", "RECEIPT-1").rpartition("-")[2]) - 1
        case "work-item" | "run" | "decision" | "goal":
            number = rec.entity.rpartition("-")[2]
            return int(number) - 1 if number.isdigit() else 0
        case _:
            return 0


def _fence(event: Any) -> int:
    lease = getattr(event, "lease", None)
    return getattr(lease, "fence", 1)


def _ledger(rec: Recorded) -> Ledger:
    return Ledger(1, "", _fence(rec.event) >> 32, False, Policy(), ())


def record_number(record: str) -> int:
    """4 for ``T-4``."""
    return int(record.rpartition("-")[2])


def span(numbers: Iterable[int]) -> str:
    """Numbers as text, runs of them as ranges: ``1-500,502``. Backlogs are mostly ranges."""
    parts: list[str] = []
    first = last = -2
    for number in sorted(numbers):
        if number != last + 1:
            if first >= 0:
                parts.append(_range(first, last))
            first = number
        last = number
    if first >= 0:
        parts.append(_range(first, last))
    return ",".join(parts)


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def unspan(text: str) -> Iterable[int]:
    """The numbers of a text that ``span`` made."""
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
