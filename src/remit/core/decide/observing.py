"""Decisions on what a reconciler saw of an effect: the only way to shipped, verified, or another try.

A look-up is made outside any transaction, so it comes with the effect's version and the ledger's time
from before it began: if anything was intended or settled since, it proves nothing and is made again
(INV-14).
One look-up writes the observation, the retry decision, and the moves that follow from it (T08 and
T09, T10, T11 out of a record that only waited for it, or T12 of work that was cancelled in flight).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core import effect_events as v
from remit.core import item_events as e
from remit.core.checks import Result
from remit.core.claims import (
    destination_named,
    effect_named,
    intent_of,
    is_pure,
    note_epoch,
    policy_of,
    state_of,
)
from remit.core.decide.asking import bad, find
from remit.core.decide.closing import finish
from remit.core.decide.pushing import carry_push, observed
from remit.core.decide.repeating import may_observe, repeat_until, stale
from remit.core.effect_facts import Destination, Effect, EffectState, Intent
from remit.core.effect_states import suspect
from remit.core.effects import (
    PRIOR,
    bounds_for,
    carry_epoch,
    decide_retry,
    put_poison,
    retry_absent,
)
from remit.core.facts import Item, Triage
from remit.core.rechecking import make_due
from remit.core.reconcile import FOUND, NONE, RESULTS, Finding, Seen, reconcile
from remit.core.refusals import Code, Refused
from remit.core.retrying import JITTER
from remit.core.settlement import review
from remit.core.status import Kind, Outcome, Status
from remit.core.triage import RECONCILED, TriageKind, put_aside
from remit.core.triage_records import Evidence, effect_mismatch, effect_uncertain
from remit.core.view import Draft

MOST_VALUES: Final = 100
MAX_VALUE: Final = 1_000
"""Most values and differences of one look-up, and how long each may be."""

MOST_HOLDS: Final = 1_000
"""How many holds one look-up frees where no policy says it."""

WAITING: Final = frozenset((TriageKind.CANCELLED_IN_FLIGHT, TriageKind.EFFECT_UNCERTAIN))
"""Records that only wait for an observation; all others want somebody's decision."""

STORED: Final = "remit:result"
"""The record of PURE work: the result that this ledger keeps."""


def _observe(draft: Draft, cmd: k.ObserveEffect) -> Refused | None:
    effect = effect_named(draft, cmd.effect)
    if effect is None:
        return Refused(
            Code.NOT_FOUND,
            f"there is no effect {cmd.effect!r}",
            "see what there is with 'remit reconcile'",
            {"effect": cmd.effect},
        )
    item = draft.item(effect.item)
    if item is None:
        return bad("effect", effect.id, "one that belongs to work")
    refused = may_observe(draft, item) or _fresh(draft, effect, cmd) or _sound(cmd)
    if refused is not None:
        return refused
    if item.kind is Kind.DELIVERY:
        return observed(draft, item, effect, cmd)
    intent = intent_of(draft, item.id)
    if intent is None:
        return bad("effect", effect.id, "one that belongs to work with an intent")
    again = suspect(effect, draft.ledger.epoch)
    if again:
        carry_epoch(draft, item)
        note_epoch(draft, effect.id)
        effect = effect_named(draft, effect.id) or effect
        item = draft.item(item.id) or item
    before = effect.state
    destination = destination_named(draft, effect.destination)
    if destination is None and not is_pure(effect):
        return bad("destination", effect.destination, "a registered destination")
    if cmd.replayed and not effect.repeating:
        return bad("repetition", effect.id, "one that was written down before it was sent")
    finding, seen = _found(draft, item, intent, effect, destination, cmd)
    until = repeat_until(draft, destination) if seen.replayed else 0
    draft.emit("effect", effect.id, _observation(seen, finding, until))
    effect = effect_named(draft, effect.id) or effect
    _act(draft, item, effect, before, finding, seen, cmd)
    if finding.state in (EffectState.PRESENT, EffectState.ABSENT):
        _free_others(draft, effect, intent)
    return None


def _free_others(draft: Draft, effect: Effect, intent: Intent) -> None:
    """Let holds of other work that wait for this look-up be looked at again."""
    trigger = f"reconcile:{effect.id}"
    others = {*draft.query("held?", f"{trigger}#"), *draft.view.held.get(trigger, {})}
    if others <= {effect.item}:
        return
    policy = policy_of(draft, intent)
    make_due(draft, trigger, policy.recheck_horizon if policy else MOST_HOLDS)


def _fresh(draft: Draft, effect: Effect, cmd: k.ObserveEffect) -> Refused | None:
    state = state_of(draft, effect)
    if state is EffectState.NOT_STARTED and not (is_pure(effect) and effect.response_seq):
        return Refused(
            Code.EFFECT_NOT_INTENDED,
            f"there is nothing to look up of {effect.id}: nothing was intended",
            f"see 'remit show {effect.item}'",
            {"effect": effect.id},
        )
    if effect.version != cmd.version:
        return stale(effect.id, cmd.version, effect.version)
    if not effect.intended_at <= cmd.looked_at <= draft.now:
        return bad("time of the look-up", cmd.looked_at, f"{effect.intended_at} to {draft.now}")
    return None


def _sound(cmd: k.ObserveEffect) -> Refused | None:
    if cmd.result not in RESULTS:
        return bad("result", cmd.result, "one of " + ", ".join(RESULTS))
    if cmd.result == FOUND and cmd.objects is not None and cmd.objects < 1:
        return bad("objects", cmd.objects, "1 or more where something was found")
    if cmd.result == NONE and cmd.objects:
        return bad("objects", cmd.objects, "none where nothing was found")
    texts = [*(t for pair in cmd.values for t in pair), *cmd.differences, cmd.record]
    if len(texts) > 2 * MOST_VALUES or any(len(t) > MAX_VALUE for t in texts):
        return bad("values", len(texts), f"at most {MOST_VALUES} of {MAX_VALUE} characters")
    if len({name for name, _ in cmd.values}) != len(cmd.values):
        return bad("values", cmd.values, "each name once")
    if not 0 <= cmd.jitter < JITTER:
        return bad("jitter", cmd.jitter, f"0 to {JITTER - 1}")
    return None


def _found(
    draft: Draft,
    item: Item,
    intent: Intent,
    effect: Effect,
    destination: Destination | None,
    cmd: k.ObserveEffect,
) -> tuple[Finding, Seen]:
    seen = Seen(
        f"OBS-{draft.counter('observation') + 1}",
        cmd.record,
        cmd.result,
        cmd.looked_at,
        cmd.objects,
        cmd.values,
        cmd.differences,
        cmd.consistent,
        cmd.confirmed_fence,
        cmd.replayed,
    )
    record = record_of(intent, effect, destination)
    bounds = bounds_for(draft, item, intent, cmd.jitter)
    test = intent.envelope.completion_test
    return reconcile(effect, destination, record, test, seen, bounds, draft.now), seen


def record_of(intent: Intent, effect: Effect, destination: Destination | None) -> str:
    """The authoritative record of an effect: the one that its intent names, else its destination's.

    Of PURE work it is the stored result, and where a receipt is authoritative that receipt.
    """
    if is_pure(effect):
        return STORED
    if effect.receipt and destination is not None and not destination.lookup:
        return f"receipt:{effect.response_seq}"
    named = intent.envelope.authoritative_effect_record
    return named or (destination.record if destination is not None else "")


def _observation(seen: Seen, finding: Finding, until: int) -> v.EffectObserved:
    return v.EffectObserved(
        seen.id,
        seen.record,
        seen.result,
        seen.objects,
        seen.values,
        seen.differences,
        finding.state,
        finding.basis,
        seen.confirmed_fence,
        seen.looked_at,
        seen.replayed,
        finding.next.at if finding.next.decision == "HOLD" else 0,
        finding.checks,
        until,
    )


# What follows for the item.


def _act(
    draft: Draft,
    item: Item,
    effect: Effect,
    before: EffectState,
    finding: Finding,
    seen: Seen,
    cmd: k.ObserveEffect,
) -> None:
    if item.terminal:
        return
    if finding.state is EffectState.PRESENT:
        if not finding.why:  # else it was found before, and nobody could look this time
            _present(draft, item, effect, finding, seen, cmd)
    elif item.status is Status.TRIAGED:
        _triaged(draft, item, effect, finding, seen, cmd)
    elif finding.state is EffectState.CONTRADICTED or finding.triage == "effect-mismatch":
        _decided(draft, item, effect, finding, seen, cmd)
        aside = draft.item(item.id) or item
        put_aside(draft, aside, _mismatch(effect, finding, seen))
    elif item.status is Status.HELD and before is not EffectState.ABSENT:
        _held(draft, item, effect, finding, seen, cmd)


def _decided(
    draft: Draft, item: Item, effect: Effect, finding: Finding, seen: Seen, cmd: k.ObserveEffect
) -> None:
    decide_retry(
        draft,
        item,
        effect,
        finding.next,
        hold=PRIOR,
        replacement=cmd.replacement,
        observation=seen.id,
    )


def _held(
    draft: Draft, item: Item, effect: Effect, finding: Finding, seen: Seen, cmd: k.ObserveEffect
) -> None:
    """UNCERTAIN waits on, ABSENT is decided on; PURE work that lost its result is made again."""
    _decided(draft, item, effect, finding, seen, cmd)
    item = draft.item(item.id) or item
    if finding.triage == TriageKind.POISON:
        put_poison(draft, item, effect=effect.id, seen=seen.id)
    elif finding.triage:
        put_aside(draft, item, _uncertain(effect, finding, seen), reason=finding.next.reason)
    else:
        review(draft, item.id)


def _mismatch(effect: Effect, finding: Finding, seen: Seen) -> Evidence:
    """What was found against what was required, each failed comparison in one line."""
    failed = [check for check in finding.checks if check.result is Result.FAIL]
    return effect_mismatch(
        effect=effect.id,
        observation=seen.id,
        why=finding.why,
        record=seen.record,
        difference=[f"{x.check}: found {x.observed}, required {x.required}" for x in failed],
    )


def _uncertain(effect: Effect, finding: Finding, seen: Seen) -> Evidence:
    return effect_uncertain(
        effect=effect.id,
        state=finding.state,
        why=finding.why,
        record=seen.record,
        observation=seen.id,
        looks=effect.looks,
        seq=effect.intended_seq or None,
    )


def _present(
    draft: Draft, item: Item, effect: Effect, finding: Finding, seen: Seen, cmd: k.ObserveEffect
) -> None:
    """T08 and T09; out of triage by T11 where its records only waited for this."""
    if item.status is Status.SHIPPED:
        _verify(draft, item, effect, finding, seen)
        return
    if item.status is Status.TRIAGED or not is_pure(effect):
        _decided(draft, item, effect, finding, seen, cmd)
    if item.status is Status.TRIAGED:
        if _only_waiting(draft, item):
            _settle_records(draft, item, Status.SHIPPED)
            _verify(draft, item, effect, finding, seen)
        return
    shipped = v.EffectShipped(
        "T08", item.status, Status.SHIPPED, effect.id, seen.id, effect.observed_seq
    )
    draft.emit("item", item.id, shipped)
    _verify(draft, item, effect, finding, seen)


def _verify(draft: Draft, item: Item, effect: Effect, finding: Finding, seen: Seen) -> None:
    verified = v.EffectVerified(
        "T09",
        Status.SHIPPED,
        Status.VERIFIED,
        effect.id,
        seen.id,
        draft.ask.actor,
        finding.checks,
    )
    draft.emit("item", item.id, verified)


def _kinds(draft: Draft, item: Item) -> set[str]:
    records = [draft.get("triage", name) for name in item.triage]
    return {record.kind for record in records if isinstance(record, Triage)}


def _only_waiting(draft: Draft, item: Item) -> bool:
    return _kinds(draft, item) <= WAITING


def _triaged(
    draft: Draft, item: Item, effect: Effect, finding: Finding, seen: Seen, cmd: k.ObserveEffect
) -> None:
    """ABSENT ends what only waited for it: cancelled work closes, the rest may be tried again."""
    kinds = _kinds(draft, item)
    if finding.state is EffectState.CONTRADICTED:
        if TriageKind.EFFECT_MISMATCH not in kinds:
            put_aside(draft, item, _mismatch(effect, finding, seen))
        return
    if finding.state is not EffectState.ABSENT or not kinds <= WAITING:
        return
    if TriageKind.CANCELLED_IN_FLIGHT in kinds:
        finish(draft, item, Outcome.CANCELLED, c.Text(f"absent by {seen.id}"))
        return
    if item.triaged_from is Status.DRAFT:
        _settle_records(draft, item, Status.DRAFT)
        review(draft, item.id)
        return
    _settle_records(draft, item, Status.HELD, PRIOR, f"reconcile:{effect.id}")
    retry_absent(
        draft,
        item.id,
        effect,
        cmd.jitter,
        replacement=cmd.replacement,
        observation=seen.id,
    )
    review(draft, item.id)


def _settle_records(
    draft: Draft, item: Item, to: Status, hold: str = "", trigger: str = ""
) -> None:
    """Settle records that only waited for an observation; the last one moves the item (T11)."""
    for record in item.triage:
        last = record == item.triage[-1]
        event = e.TriageResolved(
            "T11" if last else "",
            Status.TRIAGED,
            to if last else Status.TRIAGED,
            record,
            RECONCILED,
            "an authoritative look-up settled it",
            hold if last else "",
            trigger if last else "",
            0,
        )
        draft.emit("item", item.id, event)


def _carry(draft: Draft, cmd: k.CarryEpoch) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if item.kind is Kind.DELIVERY:
        carry_push(draft, item)
    else:
        carry_epoch(draft, item)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    k.ObserveEffect: _observe,
    k.CarryEpoch: _carry,
}

__all__ = ["HANDLERS", "STORED", "record_of"]
