"""Typed triage: what cannot be settled by a rule goes to a named record, never silently on.

``put_aside`` is the one way into triage. It takes evidence that a typed constructor made
(``triage_records``), so that no record is without what it has to show, and writes down which
resolutions it allows (``triage_rules``). ``T11`` then moves the item, never later than where triage came
from, and never to leased (CONTRACT 12, INV-19).
"""

from __future__ import annotations

from typing import Final

from remit.core.claims import note_uncertain, shipped_by
from remit.core.effect_facts import EffectState
from remit.core.effect_states import own_effect
from remit.core.facts import Item
from remit.core.item_events import ItemTriaged
from remit.core.status import Status
from remit.core.triage_kinds import Resolution, TriageKind
from remit.core.triage_records import Evidence
from remit.core.triage_rules import ways_of
from remit.core.triage_shapes import faults
from remit.core.view import Draft

__all__ = ["CLOSING", "RECONCILED", "Resolution", "TriageKind", "allowed", "put_aside"]

RECONCILED: Final = "reconciled"
"""How a look-up settles a record that only waited for it; nobody can ask for this."""

CLOSING: Final = {
    Resolution.CANCEL: "cancelled",
    Resolution.FAIL: "failed",
    Resolution.SUPERSEDE: "superseded",
}
"""The outcome of each resolution that closes the item."""


def origin_of(item: Item) -> Status | None:
    """The status from which an item is, or would be, put aside."""
    return item.triaged_from if item.status is Status.TRIAGED else item.status


def allowed(draft: Draft, item: Item, kind: TriageKind) -> tuple[Resolution, ...]:
    """The resolutions that a record of this kind has on this item as things stand."""
    return ways_of(kind, origin_of(item), shipped_by(draft, item))


def put_aside(
    draft: Draft,
    item: Item,
    evidence: Evidence,
    *,
    reason: str = "",
    text_ref: str = "",
    by: str = "",
) -> str:
    """T10, or one more record where the item is triaged already; returns the record's id."""
    wrong = faults(evidence.kind, evidence.entries, foreign=False)
    assert not wrong, f"{evidence.kind}: {wrong}"
    record = f"T-{draft.counter('triage') + 1}"
    draft.new("triage", record)
    moved = item.status is not Status.TRIAGED
    _note_open(draft, item, by)
    event = ItemTriaged(
        "T10" if moved else "",
        item.status,
        Status.TRIAGED,
        record,
        evidence.kind,
        evidence.entries,
        tuple(allowed(draft, item, evidence.kind)),
        item.lease.id if item.lease else "",
        reason,
        text_ref,
    )
    draft.emit("item", item.id, event, by)
    return record


def _note_open(draft: Draft, item: Item, by: str) -> None:
    """A lease that ends here may leave an effect of which nobody knows (INV-13)."""
    effect = own_effect(draft.get, item) if item.lease is not None else None
    if effect is None or item.lease is None or effect.lease != item.lease.id or effect.ended:
        return
    if effect.state in (EffectState.INTENDED, EffectState.UNCERTAIN):
        note_uncertain(draft, effect, "LEASE_FAILED", by)
