"""Decisions on repeating a request, which counts as a look-up and is a send all the same.

Under a key that the destination enforces, the identical request makes no second object. But it may
bring about the first one, later than anybody looks: a reconciler can be slow, or paused between its
decision and its request, and the end of the worker says nothing of that. So a repetition is written
down before it leaves (INV-13), by whoever may observe, and until an observation says that it is over
nothing counts as absent by the passing of a bound. For the same reason it is refused where nobody may
want the effect any more: after a cancellation, behind the kill switch, and of irreversible work, which
is never sent twice by the system.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core import effect_events as v
from remit.core.claims import destination_named, effect_named, intent_of, note_epoch
from remit.core.decide.asking import bad, kind_of
from remit.core.effect_facts import Destination, Effect, ReplayClass
from remit.core.facts import ActorKind, Item
from remit.core.pushes import push_destination
from remit.core.reconcile import may_replay
from remit.core.refusals import Code, Refused
from remit.core.status import Kind
from remit.core.view import Draft


def may_observe(draft: Draft, item: Item) -> Refused | None:
    """Only an enrolled service that never held a lease on the work says what is there."""
    kind = kind_of(draft)
    if kind is not ActorKind.SERVICE:
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot observe the effect of {item.id} as {draft.ask.actor}: it is enrolled as"
            f" {kind}, only a service may",
            "let the reconciler look: 'remit reconcile'",
            {"actor": draft.ask.actor, "kind": str(kind)},
        )
    if draft.ask.actor in item.holders:
        return Refused(
            Code.RECONCILER_IS_HOLDER,
            f"cannot observe the effect of {item.id} as {draft.ask.actor}: it held a lease on it",
            "let a reconciler look that never held one",
            {"item": item.id, "holders": list(item.holders)},
        )
    return None


def stale(effect: str, found: int, now: int) -> Refused:
    """An effect that has changed since somebody looked at it."""
    return Refused(
        Code.OBSERVATION_STALE,
        f"{effect} has changed since it was looked up (version {found}, now {now})",
        "look it up again",
        {"effect": effect, "version": now},
    )


def repeat_until(draft: Draft, destination: Destination | None) -> int:
    """The last moment at which a repetition that is over by now may still arrive."""
    bound = destination.in_flight_ms if destination is not None else None
    return draft.now + (bound or 0) * 1_000


def _repeat(draft: Draft, cmd: k.RepeatRequest) -> Refused | None:
    effect = effect_named(draft, cmd.effect)
    item = draft.item(effect.item) if effect is not None else None
    if effect is None or item is None:
        return Refused(
            Code.NOT_FOUND, f"there is no effect {cmd.effect!r}", "see 'remit reconcile'"
        )
    refused = may_observe(draft, item)
    if refused is not None:
        return refused
    if effect.version != cmd.version:
        return stale(effect.id, cmd.version, effect.version)
    note_epoch(draft, effect.id)
    effect = effect_named(draft, effect.id) or effect
    refused = _unwanted(draft, item, effect)
    if refused is not None:
        return refused
    destination = _destination(draft, item, effect)
    if destination is None or not may_replay(effect, destination, draft.now):
        return bad("repetition", effect.id, "one under an enforced key that is surely kept still")
    draft.emit("effect", effect.id, v.RequestRepeated(effect.attempt, effect.key))
    return None


def _destination(draft: Draft, item: Item, effect: Effect) -> Destination | None:
    """What enforces the key; of delivery work only a pull request is ever repeated."""
    if item.kind is Kind.EFFECT:
        return destination_named(draft, effect.destination)
    request = item.work.request if item.work is not None else None
    asked = request is not None and request.effect == effect.id
    return push_destination(request) if request is not None and asked else None


def _unwanted(draft: Draft, item: Item, effect: Effect) -> Refused | None:
    """Why a request that may be the first to arrive must not leave."""
    intent = intent_of(draft, item.id)
    cancelled = intent.envelope.cancellation_state if intent is not None else ""
    if draft.ledger.kill_switch:
        code, found = Code.KILL_SWITCH_ON, "the kill switch is engaged"
    elif cancelled in ("REQUESTED", "UNOBSERVABLE"):
        code, found = Code.WORK_CANCELLED, f"the cancellation of {item.id} is {cancelled}"
    elif effect.replay_class == ReplayClass.IRREVERSIBLE:
        code, found = Code.EFFECT_UNRECONCILED, "it is irreversible"
    else:
        return None
    return Refused(
        code,
        f"cannot repeat the request of {effect.id}: {found}",
        "look it up in its record, or let a human decide",
        {"item": item.id, "effect": effect.id},
    )


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    k.RepeatRequest: _repeat,
}
