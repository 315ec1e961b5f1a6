"""What is said of an effect on the way: that it belongs to an item, and that nobody knows.

Small steps that several decisions share. None of them looks at an item's status.
"""

from __future__ import annotations

from typing import Final

from remit.core import effect_events as v
from remit.core.effect_facts import (
    AdmissionPolicy,
    Destination,
    Effect,
    EffectState,
    Envelope,
    Intent,
    ReplayClass,
)
from remit.core.effect_states import standing, suspect
from remit.core.facts import Item
from remit.core.ids import effect_key
from remit.core.status import Kind
from remit.core.view import Draft

EPOCH_CHANGED: Final = "EPOCH_CHANGED"


def intent_of(draft: Draft, item: str) -> Intent | None:
    """The intent of an item of effect work."""
    found = draft.get("intent", item)
    return found if isinstance(found, Intent) else None


def effect_named(draft: Draft, name: str) -> Effect | None:
    """An effect that was claimed."""
    found = draft.get("effect", name) if name else None
    return found if isinstance(found, Effect) else None


def destination_named(draft: Draft, name: str) -> Destination | None:
    """A destination by the label of one revision, or by its name: then the one in force."""
    if not name:
        return None
    found = draft.get("destination", name)
    if isinstance(found, Destination):
        return found
    label = draft.get("current", f"destination/{name}")
    found = draft.get("destination", label) if isinstance(label, str) else None
    return found if isinstance(found, Destination) else None


def policy_of(draft: Draft, intent: Intent) -> AdmissionPolicy | None:
    """The policy revision that the newest verdict on an intent used."""
    found = draft.get("policy", intent.policy) if intent.policy else None
    return found if isinstance(found, AdmissionPolicy) else None


def retry_owner(draft: Draft, intent: Intent) -> str:
    """Who owns the wait of work that is retried (INV-5)."""
    policy = policy_of(draft, intent)
    named = intent.envelope.retry_owner or (policy.retry_owner if policy else "")
    return named or "remit-retry"


def claim(
    draft: Draft,
    item: str,
    envelope: Envelope,
    destination: str,
    compensates: str = "",
    by: str = "",
) -> Effect:
    """Let a logical effect belong to an item.

    On an adopted ledger it is uncertain from the start: what was lost may have sent it before.
    """
    known = effect_named(draft, envelope.effect_id)
    if known is None or known.item != item:
        event = v.EffectClaimed(
            item,
            envelope.operation_id,
            envelope.payload_digest,
            destination,
            envelope.replay_class,
            effect_key(envelope.effect_id),
            compensates,
        )
        draft.emit("effect", envelope.effect_id, event, by)
    note_epoch(draft, envelope.effect_id, by)
    found = effect_named(draft, envelope.effect_id)
    assert found is not None, "it was claimed just now"
    return found


def note_epoch(draft: Draft, name: str, by: str = "") -> None:
    """Write down that a new epoch made an effect uncertain; its bounds count from the adoption."""
    effect = effect_named(draft, name)
    if effect is not None and suspect(effect, draft.ledger.epoch):
        event = v.EffectUncertain(EPOCH_CHANGED, draft.ledger.epoch, _from_adoption(draft, effect))
        draft.emit("effect", name, event, by)


def _from_adoption(draft: Draft, effect: Effect) -> int | None:
    destination = destination_named(draft, effect.destination)
    if destination is None or destination.in_flight_ms is None:
        return None
    last = draft.ledger.adopted_at + destination.in_flight_ms * 1_000
    return max(last, effect.arrives_until or 0)


def note_uncertain(draft: Draft, effect: Effect, reason: str, by: str = "") -> None:
    """Write down that nobody knows what became of an effect that was intended (INV-13)."""
    note_epoch(draft, effect.id, by)
    present = effect_named(draft, effect.id) or effect
    if present.state in (EffectState.INTENDED, EffectState.UNCERTAIN):
        event = v.EffectUncertain(reason, draft.ledger.epoch, present.arrives_until)
        draft.emit("effect", effect.id, event, by)


def state_of(draft: Draft, effect: Effect) -> EffectState:
    """What is known of an effect now."""
    return standing(effect, draft.ledger.epoch)


def shipped_by(draft: Draft, item: Item) -> str:
    """The observation that made it shipped for good: a commit on main, or its effect; or empty."""
    if item.work is not None and item.work.shipped:
        return item.work.shipped
    if item.work is not None and item.work.push is not None:
        pushed = effect_named(draft, item.work.push.effect)
        return pushed.observation if pushed is not None and pushed.present_seq else ""
    intent = intent_of(draft, item.id) if item.kind is Kind.EFFECT else None
    return intent.shipped if intent is not None else ""


def is_pure(effect: Effect) -> bool:
    """Whether it has no consequence outside."""
    return effect.replay_class == ReplayClass.PURE
