"""Folds of an effect's stream, and of what an item's stream says of its effect.

Which event may follow which is asked of ``effect_states.after`` and nowhere else (INV-13, INV-14);
what may not follow stops the fold. An effect outlives items, leases and attempts, so nothing of them
is read here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import effect_events as v
from remit.core.change import changed
from remit.core.effect_facts import Effect, EffectState, Intent, ReplayClass
from remit.core.effect_states import after
from remit.core.events import Event, Recorded
from remit.core.evolve import limits
from remit.core.evolve.moves import Get, Out, account, add, check_move, first, item_of, load
from remit.core.facts import Hold, Item
from remit.core.fold import FoldError
from remit.core.ids import effect_key
from remit.core.status import Status

Handler = Callable[[Get, Recorded, Any, Out], None]

ENDS: Final = {
    "LEASE_EXPIRED": "EXPIRED",
    "LEASE_RELEASED": "RELEASED",
    "LEASE_FAILED": "FAILED",
    "CANCELLED": "CANCELLED",
}
"""What the reason of an uncertainty says of how a lease ended."""


def _effect(get: Get, rec: Recorded) -> Effect:
    effect = get("effect", rec.entity)
    if not isinstance(effect, Effect):
        raise FoldError(rec, f"there is no effect {rec.entity}")
    if effect.version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} does not follow {effect.version}")
    return effect


def _keep(rec: Recorded, out: Out, effect: Effect, event: Event, **new: Any) -> None:
    state = after(effect, event)
    if state is None:
        name = type(event).__name__
        raise FoldError(rec, f"{name} may not follow on {effect.state} (INV-13, INV-14)")
    out["effect", rec.entity] = changed(effect, version=rec.version, state=state, **new)


_UNANSWERED: Final[dict[str, Any]] = {
    "response": "",
    "response_seq": 0,
    "result_digest": "",
    "receipt": False,
    "ended": "",
}


def _claimed(get: Get, rec: Recorded, ev: v.EffectClaimed, out: Out) -> None:
    if ev.key != effect_key(rec.entity):
        raise FoldError(rec, "an idempotency key derives from the effect id alone")
    claim = {
        "item": ev.item,
        "operation": ev.operation,
        "payload_digest": ev.payload_digest,
        "destination": ev.destination,
        "replay_class": ev.replay_class,
    }
    if rec.version != 1:
        effect = _effect(get, rec)
        # What another work handed in says nothing of this one's.
        new = {} if effect.item == ev.item else _UNANSWERED
        _keep(rec, out, effect, ev, **claim, **new)
        return
    first(get, rec, "effect")
    out["effect", rec.entity] = Effect(
        rec.entity, 1, ev.item, ev.operation, ev.payload_digest, ev.destination, ev.replay_class,
        EffectState.NOT_STARTED, ev.key, "", "", 0, 0, 0, 0, 0, "", 0, None, None, None, 0, 0, "",
        0, 0, ev.compensates,
    )  # fmt: skip


def _intended(get: Get, rec: Recorded, ev: v.EffectIntended, out: Out) -> None:
    effect = _effect(get, rec)
    if ev.key != effect.key or ev.item != effect.item:
        raise FoldError(rec, f"{rec.entity} is intended under another key or by another item")
    if ev.fence <= effect.fence:
        raise FoldError(rec, f"fence {ev.fence} is not above {effect.fence} (INV-7)")
    _keep(
        rec,
        out,
        effect,
        ev,
        payload_digest=ev.payload_digest,
        destination=ev.destination,
        attempt=ev.attempt,
        lease=ev.lease,
        fence=ev.fence,
        intents=effect.intents + 1,
        intended_at=rec.at,
        intended_seq=rec.seq,
        sent_seq=0,
        response="",
        response_seq=0,
        terminated_at=None,
        request_expires_at=ev.request_expires_at,
        arrives_until=ev.arrives_until,
        looks=0,
        look_at=0,
        ended="",
        receipt=False,
        repeating=0,
        repeat_until=0,
    )


def _sent(get: Get, rec: Recorded, ev: v.EffectSent, out: Out) -> None:
    effect = _effect(get, rec)
    _same_attempt(rec, effect, ev.attempt)
    _keep(rec, out, effect, ev, sent_seq=rec.seq)


def _same_attempt(rec: Recorded, effect: Effect, attempt: str) -> None:
    outside = effect.replay_class != ReplayClass.PURE
    if outside and effect.intents and effect.attempt != attempt:
        raise FoldError(rec, f"{effect.id} was intended by {effect.attempt}, not by {attempt}")


def _answered(get: Get, rec: Recorded, ev: v.EffectAnswered, out: Out) -> None:
    effect = _effect(get, rec)
    _same_attempt(rec, effect, ev.attempt)
    _keep(
        rec,
        out,
        effect,
        ev,
        attempt=ev.attempt,
        response=ev.response,
        response_seq=rec.seq,
        result_digest=ev.result_digest,
        receipt=ev.authoritative,
        ended="REPORTED",
    )


def _uncertain(get: Get, rec: Recorded, ev: v.EffectUncertain, out: Out) -> None:
    effect = _effect(get, rec)
    new: dict[str, Any] = {"ended": ENDS.get(ev.reason, effect.ended)}
    if ev.epoch > effect.epoch:
        # What happened in what was lost nobody can say: that nothing was there proves nothing now.
        new |= {"epoch": ev.epoch, "arrives_until": ev.arrives_until, "absent_seq": 0, "looks": 0}
        new |= {"look_at": 0, "repeating": 0, "repeat_until": 0}
    _keep(rec, out, effect, ev, **new)


def _terminated(get: Get, rec: Recorded, ev: v.WorkerTerminated, out: Out) -> None:
    effect = _effect(get, rec)
    _same_attempt(rec, effect, ev.attempt)
    if not effect.intended_at <= ev.terminated_at <= rec.at:
        raise FoldError(rec, "a worker ends after it intended and before that is recorded")
    _keep(rec, out, effect, ev, terminated_at=ev.terminated_at, arrives_until=ev.arrives_until)


def _repeated(get: Get, rec: Recorded, ev: v.RequestRepeated, out: Out) -> None:
    effect = _effect(get, rec)
    _same_attempt(rec, effect, ev.attempt)
    if ev.key != effect.key:
        raise FoldError(rec, f"{rec.entity} is repeated under another key")
    _keep(rec, out, effect, ev, repeating=effect.repeating + 1)


def _observed(get: Get, rec: Recorded, ev: v.EffectObserved, out: Out) -> None:
    effect = _effect(get, rec)
    add(get, out, "counter", "observation", 1)
    new: dict[str, Any] = {
        "observed_seq": rec.seq,
        "observation": ev.observation,
        "looks": effect.looks + 1,
        "look_at": ev.look_at,
    }
    if ev.replayed:
        new["repeating"] = max(0, effect.repeating - 1)
        new["repeat_until"] = max(effect.repeat_until, ev.repeat_until)
    if ev.confirmed_fence > effect.confirmed_fence:
        new |= {"confirmed_fence": ev.confirmed_fence, "confirmed_at": rec.at}
    if ev.state == EffectState.PRESENT:
        new["present_seq"] = rec.seq
    if ev.state == EffectState.ABSENT:
        new["absent_seq"] = rec.seq
    _keep(rec, out, effect, ev, **new)


# What an item's stream says of it.


def _reported(get: Get, rec: Recorded, ev: v.ResponseReported, out: Out) -> None:
    item = item_of(get, rec)
    if item.lease is None or item.lease.id != ev.lease.id:
        raise FoldError(rec, f"{item.id} is not under lease {ev.lease.id}")
    hold = Hold(ev.hold_reason, "retry", ev.trigger, ev.owner)
    _moved(get, rec, ev, out, item, hold=hold, rank=0, reported=True)


def _moved(get: Get, rec: Recorded, ev: Any, out: Out, item: Item, **new: Any) -> None:
    to = check_move(rec, item, ev.transition_id, ev.from_, ev.to)
    account(get, out, item, to)
    if item.lease is not None:
        load(get, out, item, item.lease.actor, -1)
        new["lease"] = None
        late = rec.at >= item.lease.expires_at
        limits.ended(get, out, item, item.lease, clean=False, expired=late)
    out["item", rec.stream] = changed(
        item, version=rec.version, changed_at=rec.at, status=to, **new
    )


def _intent(get: Get, rec: Recorded) -> Intent:
    intent = get("intent", rec.stream)
    if not isinstance(intent, Intent):
        raise FoldError(rec, f"{rec.stream} has no intent")
    return intent


def _retry(get: Get, rec: Recorded, ev: v.RetryDecided, out: Out) -> None:
    item, intent = item_of(get, rec), _intent(get, rec)
    hold = item.hold
    if item.status is Status.HELD and ev.hold_reason:
        if not ev.owner or not ev.trigger:
            raise FoldError(rec, "a hold needs a reason, an owner and a trigger (INV-3)")
        at = ev.recheck_at if ev.decision == "RETRY" else 0
        hold = Hold(ev.hold_reason, "retry", ev.trigger, ev.owner, at, hold.rank if hold else 0)
    links = item.links
    if ev.decision == "COMPENSATE":
        links = (*links, ("compensated-by", ev.trigger.partition(":")[2]))
    out["item", rec.stream] = changed(
        item, version=rec.version, changed_at=rec.at, hold=hold, links=links
    )
    if ev.decision == "SUPPRESS":
        out["intent", rec.stream] = changed(intent, shipped=ev.observation)
    elif ev.decision == "RETRY":
        tried = bool(ev.prior_attempt)
        out["intent", rec.stream] = changed(
            intent,
            retries=intent.retries + tried,
            retry_started_at=intent.retry_started_at or (rec.at if tried else 0),
            retry_at=ev.recheck_at,
        )


def _shipped(get: Get, rec: Recorded, ev: v.EffectShipped, out: Out) -> None:
    item, intent = item_of(get, rec), _intent(get, rec)
    out["intent", rec.stream] = changed(intent, shipped=ev.observation)
    _moved(get, rec, ev, out, item, hold=None, rank=0)


def _verified(get: Get, rec: Recorded, ev: v.EffectVerified, out: Out) -> None:
    item = item_of(get, rec)
    if rec.actor in item.holders:
        raise FoldError(rec, f"{rec.actor} held a lease on {item.id} and verified it (INV-16)")
    if not ev.checks or any(check.result != "PASS" for check in ev.checks):
        raise FoldError(rec, "verified without every comparison passed (INV-1)")
    _moved(get, rec, ev, out, item)


HANDLERS: Final[dict[type[Event], Handler]] = {
    v.EffectClaimed: _claimed,
    v.EffectIntended: _intended,
    v.EffectSent: _sent,
    v.EffectAnswered: _answered,
    v.EffectUncertain: _uncertain,
    v.WorkerTerminated: _terminated,
    v.RequestRepeated: _repeated,
    v.EffectObserved: _observed,
    v.ResponseReported: _reported,
    v.RetryDecided: _retry,
    v.EffectShipped: _shipped,
    v.EffectVerified: _verified,
}
