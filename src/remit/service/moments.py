"""Keeping a moment where the events of a transaction pass the place for one.

The writer does it, in the same transaction, from rows that an index finds: what stands in each status, open
records, live runs. Where the transaction went on past that place, its last events are taken back from what
was found, so that a moment holds the same whoever made it and however commits were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remit.core.events import Recorded
from remit.core.facts import LEDGER, Ledger, Run
from remit.core.moments import (
    FOLLOWED,
    Standing,
    due,
    follow,
    follow_ledger,
    key_of,
    record_number,
)
from remit.core.run_facts import RunStatus
from remit.core.view import View
from remit.ports import Change, ItemQuery, ReadTx, WriteTx

ALL: Final = 1 << 40


def changes_of(view: View) -> list[Change]:
    """The rows that a transaction's decisions changed."""
    facts = view.facts
    return [
        Change(key, old, facts[key]) for key, old in view.original.items() if facts[key] is not old
    ]


def keep_moments(tx: WriteTx, view: View, events: Sequence[Recorded]) -> None:
    """Write the moments that these events have come past; nearly always there is none."""
    seqs = due(events[0].seq, events[-1].seq)
    if not seqs:
        return
    standing = found(tx)
    made = []
    after = list(events)
    for seq in reversed(seqs):
        while after and after[-1].seq > seq:
            standing.back(after.pop())
        standing.runs = _runs_at(view, standing, events, seq)
        standing.ledger = _ledger_at(view, events, seq)
        standing.seq = seq
        made.append(standing.moment())
    tx.write([Change(key_of(moment.seq), None, moment) for moment in made])


def found(tx: ReadTx) -> Standing:
    """Who stands where now, from the rows."""
    standing = Standing()
    standing.seq = tx.head().seq
    small = tx.small()
    for (kind, name), value in small.items():
        if kind == "count" and isinstance(value, int):
            standing.counts[name] = value
    for status in FOLLOWED:
        ids = tx.items(ItemQuery(statuses=(str(status),), limit=0))
        standing.numbers[status] = {int(name[2:]) for name in ids}
    standing.triage = {record_number(name) for name in tx.triage(open_only=True, limit=ALL)}
    ledger = small.get(LEDGER)
    standing.ledger = ledger if isinstance(ledger, Ledger) else None
    number = small.get(("counter", "run"), 0)
    standing.run_count = number if isinstance(number, int) else 0
    names = tx.names("run", "", ALL) if standing.run_count else []
    for fact in tx.load([("run", name) for name in names]).values():
        if isinstance(fact, Run) and fact.status is not RunStatus.STOPPED:
            standing.runs[fact.id] = fact
    return standing


def _ledger_at(view: View, events: Sequence[Recorded], seq: int) -> Ledger | None:
    """The ledger's own fact just after an event of this transaction."""
    before = view.original.get(LEDGER, view.facts.get(LEDGER))
    ledger = before if isinstance(before, Ledger) else None
    for rec in events:
        if rec.seq <= seq and rec.event.ENTITY == "ledger":
            ledger = follow_ledger(ledger, rec)
    return ledger


def _runs_at(
    view: View, standing: Standing, events: Sequence[Recorded], seq: int
) -> dict[str, Run]:
    """Live runs just after an event of this transaction: as they were before it, taken on."""
    runs = dict(standing.runs)
    touched = dict.fromkeys(e.entity for e in events if e.event.ENTITY == "run")
    for name in touched:
        before = view.original.get(("run", name))
        run = before if isinstance(before, Run) else None
        for rec in events:
            if rec.seq <= seq and rec.entity == name and rec.event.ENTITY == "run":
                run = follow(run, rec)
        if run is not None and run.status is not RunStatus.STOPPED:
            runs[name] = run
        else:
            runs.pop(name, None)
    return runs
