"""The decision to undo an effect: its declared inverse is brought about as work of its own.

What came about outside is a fact and stays one. A compensation is a new linked effect with identities,
an intent and evidence of its own, decided on and reconciled like every other; the first one keeps
its state, and no effect is compensated twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.claims import claim, destination_named, effect_named, intent_of, state_of
from remit.core.decide.asking import bad, find
from remit.core.decide.intents import submit
from remit.core.effect_facts import EffectState, Intent, ReplayClass
from remit.core.effects import decide_retry
from remit.core.facts import Item
from remit.core.intents import validate
from remit.core.refusals import Code, Refused
from remit.core.retrying import Next, Retry
from remit.core.settlement import review
from remit.core.view import Draft


def _compensate(draft: Draft, cmd: k.CompensateEffect) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    intent = intent_of(draft, item.id)
    effect = effect_named(draft, intent.envelope.effect_id) if intent is not None else None
    if intent is None or effect is None or effect.item != item.id:
        return bad("item", item.id, "work that an effect belongs to")
    refused = _declared(draft, item, intent, cmd)
    if refused is not None:
        return refused
    if state_of(draft, effect) not in (EffectState.PRESENT, EffectState.CONTRADICTED):
        return Refused(
            Code.EFFECT_UNRECONCILED,
            f"cannot undo {effect.id}: it is {state_of(draft, effect)}, nothing is known to be there",
            f"'remit reconcile {effect.id}' looks it up",
            {"effect": effect.id, "state": str(state_of(draft, effect))},
        )
    if any(kind == "compensated-by" for kind, _ in item.links):
        return Refused(
            Code.EFFECT_CONFLICT,
            f"cannot undo {effect.id} again: a compensation of it was submitted before",
            f"see 'remit show {item.id}'",
            {"effect": effect.id},
        )
    envelope = cmd.envelope
    before = draft.counter("work-item")
    stored = c.SubmitIntent(envelope, cmd.digest, cmd.document, decide=False)
    refused = submit(draft, stored)
    if refused is not None:
        return refused
    if draft.counter("work-item") == before:
        return bad("message id", envelope.message_id, "a new one: this message was stored before")
    name = f"W-{before + 1}"
    there = destination_named(draft, envelope.destination)
    claim(draft, name, envelope, there.label if there is not None else "", effect.id)
    undone = Next(Retry.COMPENSATE, "COMPENSATION_SUBMITTED", f"effect:{envelope.effect_id}")
    decide_retry(draft, item, effect, undone)
    validate(draft, draft.item(name) or item)
    review(draft, name)
    return None


def _declared(draft: Draft, item: Item, intent: Intent, cmd: k.CompensateEffect) -> Refused | None:
    """Only a declared inverse may be used, under an effect id of its own."""
    own = intent.envelope
    there = destination_named(draft, intent.destination)
    declared = own.compensation or (there.compensation if there is not None else "")
    if own.replay_class != ReplayClass.COMPENSATABLE or not declared:
        return bad("replay class", own.replay_class, "COMPENSATABLE work that declares its inverse")
    if cmd.envelope.operation_id != declared:
        return bad("operation", cmd.envelope.operation_id, f"the declared inverse {declared}")
    known = effect_named(draft, cmd.envelope.effect_id)
    if known is not None or cmd.envelope.effect_id in ("", own.effect_id):
        return bad(
            "effect id", cmd.envelope.effect_id, "a new one: an inverse is an effect of its own"
        )
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    k.CompensateEffect: _compensate,
}
