"""Typed triage: what cannot be settled by a rule goes to a named record, never silently on.

Each kind has the evidence that it must carry and the resolutions that it allows (CONTRACT 12,
INV-19). A resolution names what happens next; ``T11`` then moves the item, never later than where
triage came from, and never to leased.
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
from remit.core.view import Draft

__all__ = [
    "CLOSING",
    "RECONCILED",
    "RESOLUTIONS",
    "Resolution",
    "TriageKind",
    "allowed",
    "put_aside",
]

_BACK: Final = (Resolution.REQUEUE, Resolution.CANCEL, Resolution.FAIL, Resolution.SUPERSEDE)
_SHIPPED: Final = (Resolution.REVERIFY, Resolution.SUPERSEDE)

RESOLUTIONS: Final[dict[TriageKind, tuple[Resolution, ...]]] = dict.fromkeys(TriageKind, _BACK) | {
    TriageKind.VERIFIER_GAP: _SHIPPED,
    TriageKind.CONTRADICTED: _SHIPPED,
    TriageKind.SHIP_UNVERIFIABLE: (Resolution.RETURN, *_BACK),
    TriageKind.IMPORT_INCONSISTENT: (Resolution.RETURN, *_BACK),
    TriageKind.TRIGGER_IMPOSSIBLE: (Resolution.RETURN, *_BACK),
    TriageKind.BUDGET_EXHAUSTED: (Resolution.RETURN, *_BACK),
}
"""Allowed resolutions by kind. ``requeue`` runs admission; ``return`` goes where triage came from;
``reverify`` goes back to shipped; the others close the item."""

RECONCILED: Final = "reconciled"
"""How a look-up settles a record that only waited for it; nobody can ask for this."""

CLOSING: Final = {
    Resolution.CANCEL: "cancelled",
    Resolution.FAIL: "failed",
    Resolution.SUPERSEDE: "superseded",
}
"""The outcome of each resolution that closes the item."""


def allowed(kind: TriageKind, shipped: str) -> tuple[Resolution, ...]:
    """The resolutions of this kind that the item's history leaves open.

    Once its commit or its effect was observed, an item can only be verified again or superseded.
    """
    return _SHIPPED if shipped else RESOLUTIONS[kind]


def put_aside(
    draft: Draft,
    item: Item,
    kind: TriageKind,
    *,
    evidence: tuple[str, ...] = (),
    reason: str = "",
    text_ref: str = "",
    by: str = "",
) -> str:
    """T10, or one more record where the item is triaged already; returns the record's id."""
    record = f"T-{draft.counter('triage') + 1}"
    draft.new("triage", record)
    moved = item.status is not Status.TRIAGED
    _note_open(draft, item, by)
    event = ItemTriaged(
        "T10" if moved else "",
        item.status,
        Status.TRIAGED,
        record,
        kind,
        evidence,
        tuple(allowed(kind, shipped_by(draft, item))),
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
