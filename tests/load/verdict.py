"""The judgement of a run under load: the workers' own logs against what the ledger holds.

The history checker says whether what is there could have come about by the rules, and whether all that
was acknowledged is in it. Beside that: every question has an answer, "nothing was done" was never
said of something that was, each late write was refused and kept as evidence, nobody but remit's own
services wrote anything without a command id, and each item was completed once at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.load.sidelog import ANSWERED, AWAY, STALE, UNKNOWN, Asked, event_of, read

from remit.core import item_events as e
from remit.core.decide.ledger import SERVICES
from remit.core.events import ClockJumped, Recorded
from remit.core.evolve import evolve
from remit.core.facts import Item
from remit.proofs.history import Acknowledged, Problem, judge, read_rows
from remit.service.integrity import verify
from remit.wiring import Ledger

LATE: Final = frozenset(("progress", "complete", "release", "fail", "turn"))
"""Operations whose late calls are recorded as evidence."""


@dataclass
class Verdict:
    """What a run came to: figures to print, and everything that is wrong, by name."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[str, str]] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)

    @property
    def kinds(self) -> set[str]:
        """The names of what is wrong."""
        return {kind for kind, _ in self.problems}

    def told(self) -> str:
        """All figures, and the first of what is wrong."""
        figures = ", ".join(f"{count:,} {name}" for name, count in self.counts.items())
        refused = ", ".join(f"{count:,} {code}" for code, count in sorted(self.refusals.items()))
        kinds = Counter(kind for kind, _ in self.problems)
        wrong = [f"{count} {kind}" for kind, count in sorted(kinds.items())] or ["no violations"]
        wrong += [f"{kind}: {found}" for kind, found in self.problems[:8]]
        return "\n".join((figures, f"refused: {refused or 'none'}", *wrong))


def asked_of(folder: Path) -> list[Asked]:
    """Everything that the workers of a run asked."""
    found: list[Asked] = []
    for path in sorted(folder.glob("*.log")):
        found += read(path)[1]
    return found


def judged(
    ledger: Ledger, asked: Sequence[Asked], setup: int, *, without: Collection[int] = ()
) -> Verdict:
    """Judge a run. Events up to ``setup`` were there before it; ``without`` drops events by seq."""
    verdict = Verdict()
    with ledger.store.read() as tx:
        events, rows = read_rows(tx)
    if without:
        events = [r for r in events if r.seq not in without]
    _count(verdict, asked)
    told = list(_acknowledged(asked, {r.seq: r for r in events}))
    verdict.counts["acknowledged elements"] = len(told)
    sent = {name for one in asked for name in one.ids}
    sent |= {r.command_id for r in events[:setup]}
    refused = {
        name
        for one in asked
        for name, part in zip(one.ids, one.parts, strict=False)
        if part.refused
    }
    found = judge(events, acknowledged=told, refused=refused, sent=sent, rows=rows)
    verdict.problems += [(p.kind.value, _said(p)) for p in found]
    verdict.problems += _outside(asked)
    verdict.problems += _late(verdict, asked, events)
    verdict.problems += _inside(verdict, events, setup)
    verdict.counts["items"] = sum(isinstance(fact, Item) for fact in rows.values())
    verdict.counts["events"] = len(events)
    report = verify(ledger.store, fold=evolve)
    verdict.problems += [("ledger-verify", str(problem)) for problem in report.problems]
    if not report.rows_compared:
        verdict.problems.append(("ledger-verify", "rows were not compared"))
    return verdict


def _said(problem: Problem) -> str:
    return f"seq {problem.seq}, {problem.subject}: {problem.found}"[:200]


def _count(verdict: Verdict, asked: Sequence[Asked]) -> None:
    counts = verdict.counts
    counts["calls"] = len(asked)
    counts["elements"] = sum(len(one.ids) for one in asked)
    counts["attempts that found the store away"] = sum(one.came.count(AWAY) for one in asked)
    unknown = [one for one in asked if one.was_unknown]
    counts["unknown outcomes"] = len(unknown)
    counts["of them told by the store"] = sum(UNKNOWN in one.came for one in unknown)
    counts["settled as done"] = sum(one.happened for one in unknown)
    counts["settled as never happened"] = sum(
        ANSWERED in one.came and not one.happened for one in unknown
    )
    counts["not settled"] = sum(ANSWERED not in one.came for one in asked)
    waits = [one.answered_us - one.asked_us for one in asked if one.answered_us]
    counts["ms longest wait for an answer"] = max(waits, default=0) // 1_000
    for one in asked:
        verdict.refusals.update(part.refused for part in one.parts if part.refused)


def _acknowledged(asked: Sequence[Asked], kept: dict[int, Recorded]) -> Iterator[Acknowledged]:
    """Every accepted element; an event that is as told is not held twice."""
    for one in asked:
        for name, part in zip(one.ids, one.parts, strict=False):
            if part.refused:
                continue
            events = [event_of(plain) for plain in part.events]
            same = [kept[r.seq] if kept.get(r.seq) == r else r for r in events]
            yield Acknowledged(name, tuple(same), one.asked_us, one.answered_us)


def _outside(asked: Sequence[Asked]) -> Iterator[tuple[str, str]]:
    """What the answers alone show to be wrong."""
    for one in asked:
        if ANSWERED not in one.came:
            yield "never-settled", f"{one.id} {one.op}: {one.came}"
        elif len(one.parts) != len(one.ids):
            yield "answers-missing", f"{one.id} {one.op}: {len(one.parts)} for {len(one.ids)}"
        elif one.happened and not one.was_unknown and AWAY in one.came:
            yield "said-that-nothing-was-done", f"{one.id} {one.op}: {one.came}"
        elif one.happened and not one.was_unknown:
            yield "answered-before-it-was-asked", f"{one.id} {one.op}: {one.came}"


def _late(
    verdict: Verdict, asked: Sequence[Asked], events: Sequence[Recorded]
) -> Iterator[tuple[str, str]]:
    """Each write that came too late is evidence, and nothing else is."""
    recorded = Counter(r.command_id for r in events if isinstance(r.event, e.LateReportRecorded))
    expected: set[str] = set()
    for one in asked:
        if one.op not in LATE:
            continue
        for name, part in zip(one.ids, one.parts, strict=False):
            if part.refused in STALE:
                expected.add(f"{name}/late")
    verdict.counts["late writes refused and recorded"] = len(expected & recorded.keys())
    for name in sorted(expected - recorded.keys()):
        yield "late-and-not-recorded", name
    for name in sorted(recorded.keys() - expected):
        yield "recorded-late-and-not-refused", name
    for name, times in recorded.items():
        if times > 1:
            yield "late-recorded-twice", f"{name}: {times}"


def _inside(verdict: Verdict, events: Sequence[Recorded], setup: int) -> Iterator[tuple[str, str]]:
    """What the events alone show to be wrong, beyond what the history checker looks at."""
    completed: Counter[str] = Counter()
    for r in events:
        completed[r.stream] += isinstance(r.event, e.CompletionReported)
        if r.seq > setup and not r.command_id and r.actor not in SERVICES:
            yield "without-a-command-id", f"seq {r.seq}: {type(r.event).__name__} of {r.actor}"
        if isinstance(r.event, ClockJumped):
            yield "clock-jump", f"seq {r.seq}: {r.event}"
    granted = sum(isinstance(r.event, e.LeaseGranted) for r in events)
    verdict.counts["leases"] = granted
    verdict.counts["expired leases"] = sum(isinstance(r.event, e.LeaseExpired) for r in events)
    verdict.counts["completed items"] = sum(count > 0 for count in completed.values())
    for item, times in completed.items():
        if times > 1:
            yield "completed-twice", f"{item}: {times} times"
