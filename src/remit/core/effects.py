"""What becomes of an effect once it was intended.

Cancelling work whose effect was intended takes nothing back: the request may be under way. The work
is put aside, and what is observed outside decides how it ends.
"""

from __future__ import annotations

from remit.core.facts import Item
from remit.core.triage import TriageKind, put_aside
from remit.core.view import Draft


def cancel_in_flight(draft: Draft, item: Item) -> None:
    """T10 ``cancelled-in-flight`` of work whose effect was intended; reconciliation goes on."""
    intent = draft.get("intent", item.id)
    effect = intent.envelope.effect_id  # type: ignore[union-attr]  # effect work has an intent
    put_aside(
        draft,
        item,
        TriageKind.CANCELLED_IN_FLIGHT,
        evidence=(f"effect:{effect}",),
        reason="it was cancelled while its effect may be under way",
    )
