"""Decisions of a holder on its effect: intend, sent, answered, no answer; and that a worker ended.

Everything here is under a live lease with the current fence, also when nobody took over yet (INV-7):
a paused worker that wakes up later changes nothing, and what it reports is kept as late evidence. An
intent is written before anything leaves, names what the destination does not enforce as a narrowed
claim, and is refused while the outcome of an earlier one is unknown (INV-13, INV-14).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core import effect_events as v
from remit.core.authorizing import demand
from remit.core.change import changed
from remit.core.checks import Check, Result
from remit.core.claims import (
    claim,
    destination_named,
    effect_named,
    intent_of,
    is_pure,
    retry_owner,
    state_of,
)
from remit.core.decide.asking import bad, fenced, find, late_report
from remit.core.decide.reports import attempt_of
from remit.core.decision_events import DecisionConsumed
from remit.core.decisions import Decision
from remit.core.effect_facts import (
    OPEN_EFFECT,
    Destination,
    Effect,
    EffectState,
    Intent,
    ReplayClass,
)
from remit.core.effects import AWAITS, acquire
from remit.core.facts import Item, Lease
from remit.core.ids import EPOCH_SHIFT
from remit.core.intents import in_force
from remit.core.limits import misspent, put_over_budget, settle_spend
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.core.view import Draft

MAX_CODE: Final = 500
"""Longest code of a response, an evidence or a reason, in characters."""


def _working(draft: Draft, name: str) -> tuple[Item, Intent] | Refused:
    item = find(draft, name)
    if isinstance(item, Refused):
        return item
    intent = intent_of(draft, name)
    if intent is None:
        return bad("item", name, "effect work, which has an intent")
    return item, intent


def _intend(draft: Draft, cmd: k.IntendEffect) -> Refused | None:
    found = _working(draft, cmd.item)
    if isinstance(found, Refused):
        return found
    item, intent = found
    lease = fenced(draft, item, cmd.fence, "intend the effect of")
    if isinstance(lease, Refused):
        return lease
    if draft.ledger.kill_switch:
        return Refused(
            Code.KILL_SWITCH_ON,
            f"cannot intend the effect of {item.id}: the kill switch is engaged",
            "hand the item back",
        )
    if intent.envelope.replay_class == ReplayClass.PURE:
        return bad("replay class", "PURE", "work with an effect outside; report PURE work's result")
    checks = acquire(draft, item)
    if isinstance(checks, Refused):
        return checks
    destination = destination_named(draft, intent.destination or intent.envelope.destination)
    if destination is None:
        return bad("destination", intent.envelope.destination, "a registered destination")
    wrong = _unfit(draft, intent, destination, cmd)
    if wrong is not None:
        return wrong
    effect = claim(draft, item.id, intent.envelope, destination.label)
    if effect.lease == lease.id or state_of(draft, effect) in OPEN_EFFECT:
        return _tried(item, effect)
    decision = demand(draft, intent, in_force(draft, item))
    event = _intent_event(draft, item, intent, effect, destination, lease, cmd, checks)
    if isinstance(decision, Decision):
        event = changed(event, decision=decision.id)
    draft.emit("effect", effect.id, event)
    if isinstance(decision, Decision):
        use = f"{effect.id}#{effect.intents + 1}"
        draft.emit("decision", decision.id, DecisionConsumed(use, decision.proposal))
    return None


def _tried(item: Item, effect: Effect) -> Refused:
    return Refused(
        Code.EFFECT_UNRECONCILED,
        f"cannot intend {effect.id} again under the same lease of {item.id}: it is {effect.state}",
        "hand the item back; another attempt is decided on once the effect was looked up",
        {"item": item.id, "effect": effect.id, "state": str(effect.state)},
    )


def _unfit(
    draft: Draft, intent: Intent, destination: Destination, cmd: k.IntendEffect
) -> Refused | None:
    accepted = intent.envelope.payload_digest
    if cmd.payload_digest and accepted and cmd.payload_digest != accepted:
        return Refused(
            Code.EFFECT_CONFLICT,
            f"cannot intend {intent.envelope.effect_id} with payload {cmd.payload_digest}:"
            f" {accepted} was accepted",
            "send what was accepted, or submit the other as an effect of its own",
            {"accepted": accepted, "found": cmd.payload_digest},
        )
    if cmd.request_expires_at is not None and cmd.request_expires_at <= draft.now:
        return bad("request expiry", cmd.request_expires_at, f"a time after {draft.now}")
    return None


def _intent_event(
    draft: Draft,
    item: Item,
    intent: Intent,
    effect: Effect,
    destination: Destination,
    lease: Lease,
    cmd: k.IntendEffect,
    checks: tuple[Check, ...],
) -> v.EffectIntended:
    envelope = intent.envelope
    expires = cmd.request_expires_at if destination.request_expiry else None
    until = None
    if expires is not None and destination.in_flight_ms is not None:
        until = expires + destination.in_flight_ms * 1_000
    test = ";".join(f"{t.field} {t.comparator} {t.required}" for t in envelope.completion_test)
    return v.EffectIntended(
        item.id,
        attempt_of(draft, lease),
        lease.id,
        lease.fence,
        envelope.candidate_revision,
        cmd.payload_digest or envelope.payload_digest,
        effect.key,
        destination.label,
        expires,
        until,
        envelope.blast_radius,
        test,
        envelope.compensation or envelope.replay_class,
        envelope.decision,
        (*checks, *narrowed(destination, lease, expires)),
    )


def narrowed(destination: Destination, lease: Lease, expires: int | None) -> tuple[Check, ...]:
    """What holds of an effect because its destination enforces it; BLOCKED where it does not."""

    def claimed(name: str, enforced: bool, figure: str) -> Check:
        result = Result.PASS if enforced else Result.BLOCKED
        reason = "" if enforced else "NOT_ENFORCED"
        shown = figure if enforced else ""
        return Check(name, result, shown, "enforced", f"destination:{destination.label}", reason)

    kept = destination.key_retention_ms
    bound = destination.in_flight_ms
    return (
        Check("local-fencing", Result.PASS, str(lease.fence), "current"),
        claimed("external-fencing", destination.fence, str(lease.fence)),
        claimed(
            "external-duplicate-prevention",
            destination.idempotency_key,
            "for ever" if kept is None else f"{kept} ms",
        ),
        claimed("request-expiry", expires is not None, str(expires)),
        claimed("in-flight-bound", bound is not None, f"{bound} ms"),
        claimed("look-up", destination.lookup, destination.record),
    )


def _sent(draft: Draft, cmd: k.NoteSent) -> Refused | None:
    late = late_report(cmd.item, cmd.fence, "effect:sent", c.NO_TEXT, reason=cmd.payload_digest)
    found = _under_intent(draft, cmd.item, cmd.fence, "note as sent the effect of", late)
    if isinstance(found, Refused):
        return found
    _, effect, _ = found
    if cmd.payload_digest and cmd.payload_digest != effect.payload_digest:
        return bad(
            "payload digest", cmd.payload_digest, f"what was intended: {effect.payload_digest}"
        )
    draft.emit(
        "effect", effect.id, v.EffectSent(effect.attempt, effect.fence, effect.payload_digest)
    )
    return None


def _under_intent(
    draft: Draft, name: str, fence: int, doing: str, late: Callable[[], c.RecordLateReport]
) -> tuple[Item, Effect, Lease] | Refused:
    """The effect that the live lease of this fence has intended."""
    found = _working(draft, name)
    if isinstance(found, Refused):
        return found
    item, intent = found
    lease = fenced(draft, item, fence, doing, late)
    if isinstance(lease, Refused):
        return lease
    effect = effect_named(draft, intent.envelope.effect_id)
    if effect is None or effect.lease != lease.id or not effect.intents:
        return _not_intended(item)
    if effect.state not in (EffectState.INTENDED, EffectState.UNCERTAIN):
        return Refused(
            Code.EFFECT_NOT_INTENDED,
            f"cannot {doing} {item.id}: its effect {effect.id} was observed as {effect.state}",
            f"see 'remit explain {item.id}'",
            {"item": item.id, "effect": effect.id, "state": str(effect.state)},
        )
    return item, effect, lease


def _not_intended(item: Item) -> Refused:
    return Refused(
        Code.EFFECT_NOT_INTENDED,
        f"cannot report on the effect of {item.id}: this attempt has intended none",
        "intend it first, under this lease; nothing may be sent before that is on record",
        {"item": item.id},
    )


def _report(draft: Draft, cmd: k.ReportEffect) -> Refused | None:
    found = _working(draft, cmd.item)
    if isinstance(found, Refused):
        return found
    item, intent = found
    late = late_report(
        cmd.item, cmd.fence, "report:completion", cmd.text, cmd.spent_micros, reason=cmd.response
    )
    refused = misspent(cmd.spent_micros)
    if refused is not None:
        return refused
    if max(len(cmd.response), len(cmd.result_digest)) > MAX_CODE:
        return bad("response", cmd.response, f"at most {MAX_CODE} characters; the rest is text")
    pure = intent.envelope.replay_class == ReplayClass.PURE
    if pure:
        lease = fenced(draft, item, cmd.fence, "report on", late)
        if isinstance(lease, Refused):
            return lease
        if not cmd.result_digest:
            return bad("result digest", "", "the SHA-256 of the result: PURE work ships on it")
        destination = intent.destination or intent.envelope.destination
        effect = claim(draft, item.id, intent.envelope, destination)
        states = (EffectState.NOT_STARTED, EffectState.INTENDED, EffectState.UNCERTAIN)
        fresh = effect.state in states
        if effect.item != item.id or effect.present_seq or not fresh:
            return _not_intended(item)
    else:
        under = _under_intent(draft, cmd.item, cmd.fence, "report on", late)
        if isinstance(under, Refused):
            return under
        _, effect, lease = under
    _answered(draft, item, intent, effect, lease, cmd)
    return None


def _answered(
    draft: Draft, item: Item, intent: Intent, effect: Effect, lease: Lease, cmd: k.ReportEffect
) -> None:
    """T04 to held: the response is kept, and what it is worth is for a look-up to say."""
    stops = settle_spend(draft, item, lease.fence, lease.spend_micros, cmd.spent_micros)
    destination = destination_named(draft, effect.destination)
    final = cmd.authoritative and destination is not None and destination.receipt_authoritative
    answered = v.EffectAnswered(
        attempt_of(draft, lease),
        lease.fence,
        cmd.response,
        cmd.text.inline,
        cmd.text.ref,
        cmd.result_digest,
        authoritative=final,
    )
    draft.emit("effect", effect.id, answered)
    reported = v.ResponseReported(
        "T04",
        item.status,
        Status.HELD,
        lease,
        effect.id,
        cmd.response,
        cmd.text.ref,
        cmd.result_digest,
        AWAITS,
        retry_owner(draft, intent),
        f"reconcile:{effect.id}",
        _on_time(draft, intent),
    )
    draft.emit("item", item.id, reported)
    put_over_budget(draft, item.id, lease.fence, stops)


def _on_time(draft: Draft, intent: Intent) -> tuple[Check, ...]:
    """After the deadline a live lease may still complete; the check says that it was late."""
    late = intent.envelope.deadline
    if late is None:
        return (Check("deadline", Result.NOT_TESTED),)
    result = Result.PASS if draft.now < late else Result.FAIL
    reason = "" if draft.now < late else "DEADLINE_PASSED"
    return (Check("deadline", result, str(draft.now), f"<{late}", "", reason),)


def _uncertain(draft: Draft, cmd: k.NoteUncertain) -> Refused | None:
    late = late_report(cmd.item, cmd.fence, "effect:uncertain", c.NO_TEXT, reason=cmd.reason)
    if len(cmd.reason) > MAX_CODE:
        return bad("reason", cmd.reason, f"at most {MAX_CODE} characters")
    found = _under_intent(draft, cmd.item, cmd.fence, "note as uncertain the effect of", late)
    if isinstance(found, Refused):
        return found
    _, effect, _ = found
    event = v.EffectUncertain(cmd.reason or "NO_RESPONSE", draft.ledger.epoch, effect.arrives_until)
    draft.emit("effect", effect.id, event)
    return None


def _terminated(draft: Draft, cmd: k.NoteTermination) -> Refused | None:
    effect = effect_named(draft, cmd.effect)
    if effect is None:
        return Refused(
            Code.NOT_FOUND, f"there is no effect {cmd.effect!r}", "see 'remit reconcile'"
        )
    if effect.attempt != cmd.attempt or effect.state not in (
        EffectState.INTENDED,
        EffectState.UNCERTAIN,
    ):
        return bad("attempt", cmd.attempt, f"the one that intended {effect.id} and is not settled")
    if not effect.intended_at <= cmd.terminated_at <= draft.now:
        return bad("end of the worker", cmd.terminated_at, f"{effect.intended_at} to {draft.now}")
    if not cmd.evidence or len(cmd.evidence) > MAX_CODE:
        return bad("evidence", cmd.evidence, f"what shows that it ended, to {MAX_CODE} characters")
    if effect.terminated_at is not None or is_pure(effect):
        return None
    destination = destination_named(draft, effect.destination)
    until = effect.arrives_until
    mine = effect.fence >> EPOCH_SHIFT == draft.ledger.epoch
    if mine and destination is not None and destination.in_flight_ms is not None:
        last = cmd.terminated_at + destination.in_flight_ms * 1_000
        until = last if until is None else min(until, last)
    event = v.WorkerTerminated(cmd.attempt, cmd.evidence, cmd.terminated_at, until)
    draft.emit("effect", effect.id, event)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    k.IntendEffect: _intend,
    k.NoteSent: _sent,
    k.ReportEffect: _report,
    k.NoteUncertain: _uncertain,
    k.NoteTermination: _terminated,
}
