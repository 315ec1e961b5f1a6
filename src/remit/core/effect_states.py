"""The state machine of an effect, in one place for every caller and for the fold alike.

``after`` says what state an event of an effect's stream leads to, or that it may not follow at all.
Silence leads to UNCERTAIN and no further; only an observation leads to PRESENT, ABSENT or
CONTRADICTED (INV-13). An intent needs an effect that was never intended or is known to be absent, so
no path sends twice while the first outcome is unknown, and none ever sends what is there (INV-14).

``shut`` is the other half: which moves of an item are refused because of where its effect stands
(INV-4). It is asked when an event is made, whoever makes it, so that no handler can forget it. A new
epoch makes every effect uncertain at once, without a write: ``standing`` reads it that way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import effect_events as v
from remit.core.effect_facts import OPEN_EFFECT, Effect, EffectState, Intent, ReplayClass
from remit.core.events import Event
from remit.core.facts import LEDGER, Item, Ledger
from remit.core.status import Kind, Status

Get = Callable[[str, str], Any]
"""Reads a fact by kind and id."""

_S = EffectState

INTENDABLE: Final = frozenset((_S.NOT_STARTED, _S.ABSENT))
"""Only from these may an effect be intended."""

OBSERVED: Final[dict[EffectState, frozenset[EffectState]]] = {
    _S.NOT_STARTED: frozenset((_S.NOT_STARTED, _S.PRESENT, _S.CONTRADICTED)),
    _S.INTENDED: frozenset((_S.UNCERTAIN, _S.PRESENT, _S.ABSENT, _S.CONTRADICTED)),
    _S.UNCERTAIN: frozenset((_S.UNCERTAIN, _S.PRESENT, _S.ABSENT, _S.CONTRADICTED)),
    _S.ABSENT: frozenset((_S.ABSENT, _S.CONTRADICTED)),
    _S.PRESENT: frozenset((_S.PRESENT, _S.CONTRADICTED)),
    _S.CONTRADICTED: frozenset((_S.CONTRADICTED, _S.PRESENT, _S.ABSENT)),
}
"""Where one observation may lead. From NOT_STARTED it is that of a stored result of PURE work."""


def suspect(effect: Effect, epoch: int) -> bool:
    """Whether the ledger was adopted since anything was known of a consequence outside."""
    return effect.epoch < epoch and effect.replay_class != ReplayClass.PURE


def standing(effect: Effect, epoch: int) -> EffectState:
    """What is known of an effect in this epoch."""
    return _S.UNCERTAIN if suspect(effect, epoch) else effect.state


def after(effect: Effect | None, event: Event) -> EffectState | None:
    """The state that this event leads to; None where it may not follow."""
    if effect is None:
        return _S.NOT_STARTED if isinstance(event, v.EffectClaimed) else None
    state = effect.state
    match event:
        case v.EffectClaimed():
            pure = event.replay_class == ReplayClass.PURE
            anew = _S.NOT_STARTED if pure and not _gone(effect) else state
            return anew if state in INTENDABLE else None
        case v.EffectIntended():
            return _S.INTENDED if state in INTENDABLE and not _gone(effect) else None
        case v.EffectUncertain():
            known = state not in (_S.INTENDED, _S.UNCERTAIN) and event.epoch <= effect.epoch
            return None if known else _S.UNCERTAIN
        case v.EffectSent() | v.WorkerTerminated():
            return state if state in (_S.INTENDED, _S.UNCERTAIN) else None
        case v.RequestRepeated():
            return state if state is _S.UNCERTAIN and effect.intents else None
        case v.EffectAnswered():
            pure = effect.replay_class == ReplayClass.PURE and state is _S.NOT_STARTED
            return state if pure or state in (_S.INTENDED, _S.UNCERTAIN) else None
        case v.EffectObserved():
            to = EffectState(event.state)
            if effect.present_seq and to in (_S.ABSENT, _S.NOT_STARTED):
                return None
            return to if to in OBSERVED[state] else None
        case _:
            return None


def _gone(effect: Effect) -> bool:
    """Whether it was seen to be there once: then nothing sends it again, whatever is seen since."""
    return effect.present_seq > 0


def _own_push(get: Get, item: Item) -> Effect | None:
    """The push of delivery work; a pull request counts only while nobody knows what became of it.

    Nothing has landed by a request that is there, so it keeps nobody from reviewing anew.
    """
    work = item.work
    named = (work.request, work.push) if work is not None else ()
    found = [get("effect", push.effect) for push in named if push is not None]
    own = [e for e in found if isinstance(e, Effect) and e.item == item.id]
    unsettled = [e for e in own if e.state in OPEN_EFFECT]
    if unsettled:
        return unsettled[0]
    pushed = work.push.effect if work is not None and work.push is not None else ""
    return next((e for e in own if e.id == pushed), None)


def own_effect(get: Get, item: Item) -> Effect | None:
    """The effect that an item names, if it was claimed: its intent's, or the push of what was done."""
    if item.kind is not Kind.EFFECT:
        return _own_push(get, item)
    intent = get("intent", item.id)
    if not isinstance(intent, Intent) or not intent.envelope.effect_id:
        return None
    effect = get("effect", intent.envelope.effect_id)
    return effect if isinstance(effect, Effect) else None


def epoch_of(get: Get) -> int:
    """The ledger's epoch."""
    ledger = get(*LEDGER)
    return ledger.epoch if isinstance(ledger, Ledger) else 0


STARTING: Final = frozenset(("T01", "T03", "T07"))
"""Moves by which work begins, or begins again."""


def shut(get: Get, item: Item, tid: str, to: str) -> Effect | None:
    """The effect that forbids this move of an item, if one does (INV-4, INV-14)."""
    starts = tid in STARTING or (tid == "T04" and to == Status.READY)
    starts = starts or (tid == "T11" and to == Status.READY)
    if not starts and tid != "T12":
        return None
    effect = own_effect(get, item)
    if effect is None:
        return None
    state = standing(effect, epoch_of(get))
    if tid == "T12":
        return effect if state in OPEN_EFFECT and effect.item == item.id else None
    barred = state in OPEN_EFFECT or state is _S.PRESENT or _gone(effect)
    return effect if barred else None
