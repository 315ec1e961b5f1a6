"""Verification rows as they were registered, read back from their events.

A row's fact keeps its digest; what it asks for stands in the event that registered it and nowhere
else, so that no later write can change what is run. Whoever runs a row reads it here.
"""

from __future__ import annotations

from remit.core import commands as c
from remit.core.checks import Check
from remit.core.events import RowRegistered
from remit.core.facts import Item, Row
from remit.core.registration import row_event
from remit.core.rows import Control, RowKind, RowSpec
from remit.core.stated import misstated
from remit.ports import LedgerCorrupt, ReadTx
from remit.ports.outside import RowFound


def rows_of(tx: ReadTx, item: Item) -> list[tuple[Row, RowSpec]]:
    """The rows of an item, each with what it asks for, in the order of its plan."""
    facts = tx.load([("row", name) for name in item.plan.rows])
    rows = [fact for fact in facts.values() if isinstance(fact, Row)]
    events = tx.at_seq([row.seq for row in rows])
    found = []
    for row in rows:
        event = row_event(events[row.seq].event)
        if (wrong := misstated(events[row.seq])) is not None:
            raise LedgerCorrupt(
                f"cannot read {row.id}: event {row.seq} is not what its {wrong.name} says",
                "run 'remit ledger verify': somebody rewrote what was registered",
                {"row": row.id, "seq": row.seq},
            )
        if event is not None:
            found.append((row, spec_of(event)))
    return found


def spec_of(event: RowRegistered) -> RowSpec:
    """The row as it was registered."""
    return RowSpec(
        RowKind(event.kind),
        event.argv,
        event.rubric or None,
        event.expected_exit,
        event.junit or None,
        event.scope,
        event.artifacts,
        Control(event.control),
        event.red_reason or None,
        event.timeout_ms,
        event.output_limit_bytes,
        event.origin,
        event.patch or None,
        event.patch_path or None,
        event.patch_digest or None,
    )


def finding_of(row: RowFound, digest: str, log: str) -> c.RowFinding:
    """What the verifier found for a row, bound to the row as registered and to its log."""
    checks = tuple(
        Check(k.name, k.result, k.observed, k.required, log, k.reason or "")
        for k in row.result.checks
    )
    return c.RowFinding(
        row.row,
        digest,
        row.result.result.value,
        row.result.reason.value,
        row.executed,
        row.skipped,
        log,
        checks,
        row.answered,
    )
