"""What becomes of effect work between its attempts: retry decisions, ends of leases, cancellation.

A lease that ends says nothing of what its worker sent. So an attempt that intended its effect leads
to held, owned by whoever owns the retry, until an authoritative look-up; one that sent nothing may go
back to ready. Each decision is an event that keeps apart what people like to merge: the attempt's
result, the lease, whether anybody saw the worker end, the effect, and the acknowledgement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remit.core import effect_events as v
from remit.core.asked import check
from remit.core.authorizing import demand
from remit.core.checks import Check, Result
from remit.core.claims import (
    EPOCH_CHANGED,
    claim,
    destination_named,
    effect_named,
    intent_of,
    note_epoch,
    note_uncertain,
    policy_of,
    retry_owner,
    state_of,
)
from remit.core.effect_facts import OPEN_EFFECT, Effect, EffectState, Intent
from remit.core.effect_states import own_effect, suspect
from remit.core.events import Event
from remit.core.facts import Item
from remit.core.ids import attempt_id, fence_of
from remit.core.intents import back_in_line, in_force
from remit.core.item_events import ItemHeld
from remit.core.reconcile import NO_LOOKUP, hopeless
from remit.core.refusals import Code, Refused
from remit.core.retrying import JITTER, Bounds, Next, Retry, bounds_of, retry
from remit.core.status import Kind, Status
from remit.core.triage import put_aside
from remit.core.triage_records import cancelled_in_flight, effect_uncertain, poison
from remit.core.view import Draft

PRIOR: Final = "PRIOR_EFFECT_UNRECONCILED"
AWAITS: Final = "AWAITS_RECONCILIATION"
BACKOFF: Final = "RETRY_BACKOFF"
HUMAN_NEEDED: Final = "HUMAN_DECISION_MISSING"
UNRECONCILED: Final = (PRIOR, AWAITS, EPOCH_CHANGED)
"""Reasons of holds that a look-up ends."""


def awaits_retry(draft: Draft, item: Item) -> bool:
    """Whether admission has nothing to say of a held item: its retry owner does."""
    hold = item.hold
    if item.kind is not Kind.EFFECT or hold is None or hold.owner != "retry":
        return False
    if hold.reason == AWAITS:
        return True
    effect = own_effect(draft.get, item)
    mine = effect is not None and effect.item == item.id
    return mine and effect is not None and state_of(draft, effect) in OPEN_EFFECT


def most_attempts(draft: Draft, item: Item) -> int:
    """How many attempts an item has: by its admission policy, else by the ledger's."""
    intent = intent_of(draft, item.id) if item.kind is Kind.EFFECT else None
    policy = policy_of(draft, intent) if intent is not None else None
    return policy.attempts if policy is not None else draft.policy.attempts


def bounds_for(draft: Draft, item: Item, intent: Intent, jitter: int) -> Bounds:
    """What is left of an item's retries."""
    return bounds_of(
        policy_of(draft, intent),
        draft.policy.attempts,
        item.counted,
        intent.retries,
        intent.retry_started_at,
        jitter,
    )


def decide_retry(
    draft: Draft,
    item: Item,
    effect: Effect,
    following: Next,
    *,
    hold: str = PRIOR,
    lease: str = "",
    replacement: str = "",
    observation: str = "",
    by: str = "",
) -> None:
    """Write a retry decision, with the hold that follows from it where the item is held."""
    intent = intent_of(draft, item.id)
    assert intent is not None, "effect work has an intent"
    state = state_of(draft, effect)
    epoch = draft.ledger.epoch
    event = v.RetryDecided(
        following.decision,
        following.reason,
        _hold_of(following, hold),
        retry_owner(draft, intent),
        following.trigger or f"reconcile:{effect.id}",
        following.at,
        effect.id,
        state,
        effect.attempt,
        attempt_id(epoch, item.id, item.attempt + 1),
        fence_of(epoch, draft.counter("fence") + 1),
        replacement,
        "NOT_STARTED",
        _RESULTS[state],
        lease or (effect.ended if item.lease is None else "LIVE"),
        "PASS" if effect.terminated_at is not None else "BLOCKED",
        "RECORDED" if effect.response_seq else "NOT_RECORDED",
        observation,
        (_prior(effect, state), _ended(effect)),
    )
    draft.emit("item", item.id, event, by)


_RESULTS: Final = {
    EffectState.NOT_STARTED: "NOT_STARTED",
    EffectState.INTENDED: "UNCERTAIN",
    EffectState.UNCERTAIN: "UNCERTAIN",
    EffectState.PRESENT: "COMPLETED",
    EffectState.ABSENT: "NO_EFFECT",
    EffectState.CONTRADICTED: "CONTRADICTED",
}
"""What the attempt came to, as far as its effect shows."""


def _hold_of(following: Next, hold: str) -> str:
    if following.decision is Retry.RETRY:
        return BACKOFF
    if following.decision is not Retry.HOLD:
        return ""
    return HUMAN_NEEDED if following.reason == "IRREVERSIBLE_ABSENT" else hold


def _prior(effect: Effect, state: EffectState) -> Check:
    known = state not in (EffectState.INTENDED, EffectState.UNCERTAIN)
    seq = max(effect.observed_seq, effect.intended_seq)
    result = Result.PASS if known else Result.BLOCKED
    reason = "" if known else PRIOR
    return Check("prior-effect", result, state, "observed", f"seq:{seq}" if seq else "", reason)


def _ended(effect: Effect) -> Check:
    """Whether anybody saw the worker end; the end of its lease says nothing of that."""
    at = effect.terminated_at
    result, reason = (Result.BLOCKED, "NOT_OBSERVED") if at is None else (Result.PASS, "")
    return Check("worker-termination", result, str(at or ""), "observed", "", reason)


MakeEvent = Callable[[Status, str, str], Event]
"""Makes the event that ends a lease, from where the item goes, hold reason and trigger."""


def end_attempt(
    draft: Draft, item: Item, how: str, make: MakeEvent, by: str = "", *, returned: bool = False
) -> None:
    """A lease on effect work ends before a result: T04, or T10 where nothing can ever be learnt.

    ``how`` is ``LEASE_EXPIRED`` or ``LEASE_RELEASED``. What was intended is held until it is looked
    up; what was not may go back to ready, within its attempts, of which one was ``returned`` or not.
    """
    effect = own_effect(draft.get, item)
    if effect is not None and effect.item == item.id:
        tried = item.lease is not None and effect.lease == item.lease.id
        if state_of(draft, effect) in OPEN_EFFECT:
            _end_open(draft, item, effect, how, make, by)
            return
        if tried and effect.state is EffectState.ABSENT:
            draft.emit("item", item.id, make(Status.HELD, PRIOR, f"reconcile:{effect.id}"), by)
            retry_absent(draft, item.id, effect, JITTER // 2, by=by)
            return
    if item.counted >= most_attempts(draft, item) and not returned:
        put_poison(draft, item, by)
        return
    status, reason, trigger, _ = back_in_line(draft, item)
    draft.emit("item", item.id, make(status, reason, trigger), by)


def _end_open(draft: Draft, item: Item, effect: Effect, how: str, make: MakeEvent, by: str) -> None:
    epoch = suspect(effect, draft.ledger.epoch)
    note_uncertain(draft, effect, how, by)
    effect = effect_named(draft, effect.id) or effect
    lease = how.removeprefix("LEASE_")
    destination = destination_named(draft, effect.destination)
    if destination is not None and hopeless(effect, destination):
        _uncertain_for_good(draft, item, effect, lease, by)
        return
    reason, trigger = EPOCH_CHANGED if epoch else PRIOR, f"reconcile:{effect.id}"
    draft.emit("item", item.id, make(Status.HELD, reason, trigger), by)
    held = draft.item(item.id) or item
    hold = Next(Retry.HOLD, reason, trigger, draft.now)
    decide_retry(draft, held, effect, hold, hold=reason, lease=lease, by=by)


def _uncertain_for_good(draft: Draft, item: Item, effect: Effect, lease: str, by: str) -> None:
    seq = effect.intended_seq or None
    found = effect_uncertain(effect=effect.id, state=effect.state, why=NO_LOOKUP, seq=seq)
    put_aside(draft, item, found, reason="nothing that it can be looked up in", by=by)
    hold = Next(Retry.HOLD, NO_LOOKUP, "decision:effect-uncertain")
    decide_retry(draft, draft.item(item.id) or item, effect, hold, lease=lease, by=by)


def put_poison(draft: Draft, item: Item, by: str = "", effect: str = "", seen: str = "") -> None:
    """T10 ``poison``: the attempts are used up (INV-10); ``seen`` is the look-up that found nothing."""
    used, lease = item.counted, item.lease.id if item.lease else ""
    bound = most_attempts(draft, item)
    found = poison(attempts=used, bound=bound, lease=lease, effect=effect, observation=seen)
    put_aside(draft, item, found, reason=f"{used} attempts ended without a result", by=by)


def wait_on(draft: Draft, name: str) -> None:
    """Say who owns the wait of work that came back with its effect still open (INV-5)."""
    item = draft.item(name)
    if item is None or item.hold is None or not awaits_retry(draft, item):
        return
    effect = own_effect(draft.get, item)
    if effect is not None:
        hold = Next(Retry.HOLD, item.hold.reason, item.hold.trigger, draft.now)
        decide_retry(draft, item, effect, hold, hold=item.hold.reason)


def retry_absent(
    draft: Draft,
    name: str,
    effect: Effect,
    jitter: int,
    *,
    replacement: str = "",
    observation: str = "",
    by: str = "",
) -> None:
    """Decide on a held item whose effect is known to be absent: RETRY, HOLD or QUARANTINE."""
    item, intent = draft.item(name), intent_of(draft, name)
    assert item is not None, "the caller has it"
    assert intent is not None, "effect work has an intent"
    following = retry(effect, bounds_for(draft, item, intent, jitter), draft.now, "EFFECT_ABSENT")
    decide_retry(
        draft,
        item,
        effect,
        following,
        replacement=replacement,
        observation=observation,
        by=by,
    )
    if following.decision is Retry.QUARANTINE:
        put_poison(draft, draft.item(name) or item, by, effect.id, observation)


# What must hold when a lease is given, and again when an effect is intended.


def acquire(draft: Draft, item: Item) -> tuple[Check, ...] | Refused:
    """The checks of effect work at a lease (CONTRACT 6), or why there is none now; kept until an event."""
    known = draft.acquired
    if known is None or known[0] is not item or known[1] != len(draft.events):
        known = draft.acquired = (item, len(draft.events), _acquire(draft, item))
    return known[2]


def _acquire(draft: Draft, item: Item) -> tuple[Check, ...] | Refused:
    intent = intent_of(draft, item.id)
    if intent is None:
        return Refused(Code.ITEM_NOT_READY, f"cannot lease {item.id}: it has no intent")
    effect = effect_named(draft, intent.envelope.effect_id)
    return (
        _unreconciled(item, intent, draft, effect)
        or _undecided(draft, item, intent)
        or timely(draft, item, intent)
    )


def _undecided(draft: Draft, item: Item, intent: Intent) -> Refused | None:
    """Why no human decision lets an attempt begin, where one is needed."""
    found = demand(draft, intent, in_force(draft, item))
    return found if isinstance(found, Refused) else None


def _unreconciled(
    item: Item, intent: Intent, draft: Draft, effect: Effect | None
) -> Refused | None:
    """Why the effect forbids an attempt, if it does (INV-14)."""
    if effect is None:
        return None
    state = state_of(draft, effect)
    if effect.item != item.id:
        return Refused(
            Code.EFFECT_CONFLICT,
            f"cannot lease {item.id}: its effect {effect.id} belongs to {effect.item}",
            f"see 'remit show {effect.item}'",
            {"item": item.id, "effect": effect.id, "holder": effect.item},
        )
    spent = effect.replay_class == "IRREVERSIBLE" and effect.intents > 0
    if state in OPEN_EFFECT or state is EffectState.PRESENT or spent:
        return Refused(
            Code.EFFECT_PRESENT if state is EffectState.PRESENT else Code.EFFECT_UNRECONCILED,
            f"cannot start {item.id} again: its effect {effect.id} is {state}",
            f"'remit reconcile {effect.id}' looks it up; irreversible work is never sent twice",
            {"item": item.id, "effect": effect.id, "state": str(state), "intents": effect.intents},
        )
    return None


def timely(draft: Draft, item: Item, intent: Intent) -> tuple[Check, ...] | Refused:
    """Cancellation, not-before, deadline and zero-delay margin, at this moment."""
    envelope = intent.envelope
    cancelled = envelope.cancellation_state
    if cancelled in ("REQUESTED", "UNOBSERVABLE"):
        return Refused(
            Code.WORK_CANCELLED,
            f"cannot start {item.id}: its cancellation {envelope.cancellation_id} is {cancelled}",
            f"see 'remit explain {item.id}'",
            {"item": item.id, "cancellation": cancelled},
        )
    now, early, late = draft.now, envelope.not_before, envelope.deadline
    if early is not None and now < early:
        return Refused(
            Code.TOO_EARLY,
            f"cannot start {item.id} at {now}: it must not start before {early}",
            "wait until then",
            {"item": item.id, "not_before": early},
        )
    margin = envelope.minimum_completion_margin_ms
    if late is not None and (now >= late or late - now < (margin or 0) * 1_000):
        return Refused(
            Code.DEADLINE_PASSED,
            f"cannot start {item.id} at {now}: its deadline is {late}, less a margin of"
            f" {margin or 0} ms",
            f"'remit recheck {item.id}' lets admission decide what becomes of it",
            {"item": item.id, "deadline": late, "margin_ms": margin},
        )
    left = "" if late is None else str((late - now) // 1_000)
    zero = _asked(bool(left) and margin is not None)
    return (
        check("prior-effect", Result.PASS, "none open", "none open", "", ""),
        check("cancellation", _asked(bool(cancelled)), cancelled, "NOT_REQUESTED", "", ""),
        check("not-before", _asked(early is not None), str(now), str(early or ""), "", ""),
        check("deadline", _asked(late is not None), left, ">0" if left else "", "", ""),
        check("margin-zero-delay", zero, left, str(margin or ""), "", ""),
    )


def _asked(asked: bool) -> Result:
    return Result.PASS if asked else Result.NOT_TESTED


# Cancellation and epochs.


def cancel_in_flight(draft: Draft, item: Item, reason: str = "") -> bool:
    """T10 ``cancelled-in-flight`` where the effect is intended, leased or not; then it is looked up.

    Returns whether that was so. What was not intended may be closed by the caller.
    """
    effect = own_effect(draft.get, item)
    if effect is None or effect.item != item.id or state_of(draft, effect) not in OPEN_EFFECT:
        return False
    note_uncertain(draft, effect, "CANCELLED")
    effect = effect_named(draft, effect.id) or effect
    state, seq = state_of(draft, effect), effect.intended_seq or None
    found = cancelled_in_flight(state=state, effect=effect.id, seq=seq, was=item.status)
    put_aside(draft, item, found, reason=reason)
    return True


def carry_epoch(draft: Draft, item: Item, by: str = "") -> None:
    """Hold an item that a new epoch caught with an effect of which nobody knows (CONTRACT 14)."""
    intent = intent_of(draft, item.id) if item.kind is Kind.EFFECT else None
    if intent is None or not intent.envelope.effect_id or item.terminal:
        return
    effect = effect_named(draft, intent.envelope.effect_id)
    if effect is None:
        effect = claim(draft, item.id, intent.envelope, intent.envelope.destination)
    elif effect.item != item.id or not suspect(effect, draft.ledger.epoch):
        return
    if state_of(draft, effect) is not EffectState.UNCERTAIN:
        return
    note_epoch(draft, effect.id, by)
    effect = effect_named(draft, effect.id) or effect
    trigger = f"reconcile:{effect.id}"
    if item.status in (Status.DRAFT, Status.READY):
        held = ItemHeld(
            "T02", item.status, Status.HELD, "HOLD", EPOCH_CHANGED, "retry", trigger, ()
        )
        draft.emit("item", item.id, held, by)
        item = draft.item(item.id) or item
    if item.status is Status.HELD:
        hold = Next(Retry.HOLD, EPOCH_CHANGED, trigger, draft.now)
        decide_retry(draft, item, effect, hold, hold=EPOCH_CHANGED, by=by)
