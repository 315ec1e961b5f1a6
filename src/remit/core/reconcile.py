"""Reconciliation as one pure function: what a look-up makes of an effect, and what happens next.

The table of CONTRACT 7. Exactly one current object in the named record, matching in every comparison
and without an unresolved difference, is PRESENT. Nothing there is ABSENT only if the look-up shows
all that has arrived and nothing can still arrive; otherwise it is UNCERTAIN, as is a record that
cannot be read (INV-13). All else is CONTRADICTED. Each comparison becomes one check.

Nothing can still arrive when the destination confirmed a higher fence, or when the in-flight bound
has passed since the worker's observed end or since a request expiry that the destination enforces,
and since the end of each repetition of the request by a reconciler, which is a sender too. That is judged by the moment at which the look-up began: what arrives while one looks was not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from remit.core.change import quick
from remit.core.checks import Check, Result
from remit.core.effect_facts import (
    Comparator,
    Comparison,
    Destination,
    Effect,
    EffectState,
    ReplayClass,
)
from remit.core.ids import EPOCH_SHIFT
from remit.core.retrying import Bounds, Next, Retry, look_again, retry

FOUND: Final = "FOUND"
NONE: Final = "NONE"
UNAVAILABLE: Final = "UNAVAILABLE"
RESULTS: Final = (FOUND, NONE, UNAVAILABLE)

RECORD_UNAVAILABLE: Final = "RECORD_UNAVAILABLE"
OTHER_RECORD: Final = "OTHER_RECORD"
EVIDENCE_MISSING: Final = "EVIDENCE_MISSING"
LOOKUP_INCONSISTENT: Final = "LOOKUP_INCONSISTENT"
REQUEST_MAY_ARRIVE: Final = "REQUEST_MAY_ARRIVE"
NO_BOUND: Final = "NO_BOUND"
NO_LOOKUP: Final = "NO_LOOKUP"
MISMATCH: Final = "EFFECT_MISMATCH"
MORE_THAN_ONE: Final = "MORE_THAN_ONE_OBJECT"
PRESENT_AFTER_ABSENT: Final = "PRESENT_AFTER_ABSENT"
NONE_AFTER_PRESENT: Final = "NONE_AFTER_PRESENT"
NO_OBJECT: Final = "NO_OBJECT"


@quick
@dataclass(frozen=True, slots=True)
class Seen:
    """What one look-up showed; ``looked_at`` is the ledger's time when it began."""

    id: str
    record: str
    result: str
    looked_at: int
    objects: int | None = None
    values: tuple[tuple[str, str], ...] = ()
    differences: tuple[str, ...] = ()
    consistent: bool = True
    confirmed_fence: int = 0
    replayed: bool = False


@quick
@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of the effect from here on, why, and what is to be done about it.

    ``why`` is a reason code, ``basis`` says why nothing can arrive any more, and ``triage`` is the
    kind of record that the item goes to, empty where it needs none.
    """

    state: EffectState
    why: str
    basis: str
    checks: tuple[Check, ...]
    next: Next
    triage: str = ""


def reconcile(
    effect: Effect,
    destination: Destination | None,
    record: str,
    test: Sequence[Comparison],
    seen: Seen,
    bounds: Bounds,
    now: int,
) -> Finding:
    """What a look-up makes of an effect; ``record`` is the authoritative record that it names."""
    checks = compare(effect, record, test, seen)
    if effect.replay_class == ReplayClass.PURE:
        return _pure(effect, checks, seen, bounds, now)
    assert destination is not None, "only PURE work has no destination"
    basis, until = arrival(effect, destination, seen)
    state, why = known(effect, destination, checks, seen, basis, until)
    following, triage = _next(effect, destination, state, why, until, record, bounds, now)
    return Finding(state, why, basis, checks, following, triage)


def known(
    effect: Effect,
    destination: Destination,
    checks: tuple[Check, ...],
    seen: Seen,
    basis: str,
    until: int | None,
) -> tuple[EffectState, str]:
    """What is known of an effect after this look-up, and why: the table of CONTRACT 7.

    ``basis`` says why nothing can arrive any more, ``until`` when that will be so; see ``arrival``.
    """
    return _state(effect, destination, checks, seen, basis, until)


def arrival(effect: Effect, destination: Destination, seen: Seen) -> tuple[str, int | None]:
    """Why nothing can arrive any more, or empty and when that will be so, if that can be said."""
    lag = destination.lookup_lag_ms * 1_000
    if destination.fence:
        floor = max(effect.fence, (effect.epoch << EPOCH_SHIFT) - 1)
        settled = effect.confirmed_fence > floor and seen.looked_at > effect.confirmed_at + lag
        if settled or (not lag and seen.confirmed_fence > floor):
            return "higher-fence-confirmed", None
    if effect.arrives_until is None or effect.repeating:
        return "", None
    last = max(effect.arrives_until, effect.repeat_until) + lag
    return ("in-flight-bound-passed", None) if seen.looked_at > last else ("", last)


# Comparisons.


def compare(
    effect: Effect, record: str, test: Sequence[Comparison], seen: Seen
) -> tuple[Check, ...]:
    """One check for each comparison; those that every effect needs are added where they lack."""
    wanted = list(test)
    fields = {comparison.field for comparison in test}
    if "object_count" not in fields:
        wanted.insert(0, Comparison("object-count", "object_count", Comparator.COUNT, "1"))
    shown = dict(seen.values)
    if "effect_id" not in fields and (seen.result != FOUND or "effect_id" in shown):
        same = Comparison("effect-identity", "effect_id", Comparator.EQUALS, effect.id)
        wanted.insert(0, same)
    if effect.result_digest:
        wanted.append(
            Comparison("stored-result", "digest", Comparator.EQUALS, effect.result_digest)
        )
    if seen.objects is not None:
        shown["object_count"] = str(seen.objects)
    elif seen.result == NONE:
        shown["object_count"] = "0"
    evidence = f"observation:{seen.id}"
    unread = seen.result == UNAVAILABLE or seen.record != record
    checks = [_one(c, {} if unread else shown, seen, evidence) for c in wanted]
    same_record = Result.PASS if seen.record == record else Result.FAIL
    reason = "" if seen.record == record else OTHER_RECORD
    checks.append(Check("record", same_record, seen.record, record, evidence, reason))
    if unread:
        reason = RECORD_UNAVAILABLE
        checks.append(Check("differences", Result.BLOCKED, "", "none", evidence, reason))
    else:
        found = Result.FAIL if seen.differences else Result.PASS
        text = ",".join(seen.differences)[:500] or "none"
        checks.append(Check("differences", found, text, "none", evidence))
    return tuple(checks)


def _one(wanted: Comparison, shown: dict[str, str], seen: Seen, evidence: str) -> Check:
    observed = shown.get(wanted.field)
    required = wanted.required or wanted.comparator
    if observed is None:
        reason = RECORD_UNAVAILABLE if not shown else EVIDENCE_MISSING
        if seen.result == NONE and shown:
            reason = NO_OBJECT
        return Check(wanted.name, Result.BLOCKED, "", required, evidence, reason)
    match wanted.comparator:
        case Comparator.EQUALS | Comparator.COUNT:
            ok = observed == wanted.required
        case Comparator.PRESENT:
            ok = bool(observed)
        case _:
            return Check(wanted.name, Result.BLOCKED, observed, required, evidence, "COMPARATOR")
    result = Result.PASS if ok else Result.FAIL
    reason = NO_OBJECT if seen.result == NONE else MISMATCH
    return Check(wanted.name, result, observed, required, evidence, "" if ok else reason)


# The table.


def _state(
    effect: Effect,
    destination: Destination,
    checks: tuple[Check, ...],
    seen: Seen,
    basis: str,
    until: int | None,
) -> tuple[EffectState, str]:
    results = {check.result for check in checks}
    other = any(c.check == "record" and c.result is Result.FAIL for c in checks)
    if other or seen.result == UNAVAILABLE:
        return _unseen(effect), OTHER_RECORD if other else RECORD_UNAVAILABLE
    if seen.result == FOUND:
        if seen.objects is not None and seen.objects > 1:
            return EffectState.CONTRADICTED, MORE_THAN_ONE
        if Result.FAIL in results:
            return EffectState.CONTRADICTED, MISMATCH
        if seen.objects is None or Result.BLOCKED in results:
            return _unseen(effect), EVIDENCE_MISSING
        if effect.state is EffectState.ABSENT:
            return EffectState.CONTRADICTED, PRESENT_AFTER_ABSENT
        return EffectState.PRESENT, ""
    return _none(effect, destination, seen, basis, until)


def _none(
    effect: Effect, destination: Destination, seen: Seen, basis: str, until: int | None
) -> tuple[EffectState, str]:
    if not (seen.consistent and destination.lookup_consistent) or seen.replayed:
        return _unseen(effect), LOOKUP_INCONSISTENT
    if effect.present_seq:
        return EffectState.CONTRADICTED, NONE_AFTER_PRESENT
    if basis or effect.state is EffectState.ABSENT:
        return EffectState.ABSENT, ""
    return _unseen(effect), NO_BOUND if until is None else REQUEST_MAY_ARRIVE


def _unseen(effect: Effect) -> EffectState:
    """What stays known where nothing was seen: an earlier observation, or nothing."""
    open_ = effect.state in (EffectState.INTENDED, EffectState.UNCERTAIN)
    return EffectState.UNCERTAIN if open_ else effect.state


def _pure(
    effect: Effect, checks: tuple[Check, ...], seen: Seen, bounds: Bounds, now: int
) -> Finding:
    """PURE work has nothing outside: its stored result is read again, and may be made again."""
    results = {check.result for check in checks}
    if seen.result == FOUND and results == {Result.PASS}:
        done = Next(Retry.SUPPRESS, "EFFECT_PRESENT")
        return Finding(EffectState.PRESENT, "", "", checks, done)
    if effect.present_seq:
        kept = Next(Retry.SUPPRESS, "EFFECT_PRESENT")
        return Finding(effect.state, EVIDENCE_MISSING, "", checks, kept)
    if Result.FAIL in results:
        hold = Next(Retry.HOLD, MISMATCH, "decision:effect-mismatch")
        return Finding(EffectState.NOT_STARTED, MISMATCH, "", checks, hold, "effect-mismatch")
    again = retry(effect, bounds, now, "RESULT_LOST")
    triage = "poison" if again.decision is Retry.QUARANTINE else ""
    return Finding(EffectState.NOT_STARTED, "RESULT_LOST", "", checks, again, triage)


def _next(
    effect: Effect,
    destination: Destination,
    state: EffectState,
    why: str,
    until: int | None,
    record: str,
    bounds: Bounds,
    now: int,
) -> tuple[Next, str]:
    match state:
        case EffectState.PRESENT:
            return Next(Retry.SUPPRESS, "EFFECT_PRESENT"), ""
        case EffectState.CONTRADICTED:
            return Next(Retry.HOLD, why or MISMATCH, "decision:effect-mismatch"), "effect-mismatch"
        case EffectState.ABSENT:
            again = retry(effect, bounds, now, "EFFECT_ABSENT")
            return again, "poison" if again.decision is Retry.QUARANTINE else ""
        case _:
            return _wait(effect, destination, why, until, record, bounds, now)


def _wait(
    effect: Effect,
    destination: Destination,
    why: str,
    until: int | None,
    record: str,
    bounds: Bounds,
    now: int,
) -> tuple[Next, str]:
    """HOLD: until the bound, until the record is back, or until somebody decides."""
    if hopeless(effect, destination):
        return Next(Retry.HOLD, NO_LOOKUP, "decision:effect-uncertain"), "effect-uncertain"
    if why == RECORD_UNAVAILABLE and destination.lookup:
        at = look_again(effect.looks, bounds, now)
        return Next(Retry.HOLD, why, f"recovery:{record}", at), ""
    if until is not None and why == REQUEST_MAY_ARRIVE:
        return Next(Retry.HOLD, why, f"reconcile:{effect.id}", max(now, until) + 1), ""
    if effect.looks + 1 >= bounds.looks:
        return Next(Retry.HOLD, why, "decision:effect-uncertain"), "effect-uncertain"
    at = look_again(effect.looks, bounds, now)
    return Next(Retry.HOLD, why, f"reconcile:{effect.id}", at), ""


def hopeless(effect: Effect, destination: Destination) -> bool:
    """Whether nothing can ever say what became of it: no look-up, no enforced key, no receipt."""
    return not (destination.lookup or destination.idempotency_key or effect.receipt)


def may_replay(effect: Effect, destination: Destination, now: int) -> bool:
    """Whether the identical request may be repeated, which then counts as a look-up.

    Only under a key that the destination enforces, and only so early that the repetition arrives
    while the key is still kept. A retention that is not stated lasts as long as the object.
    """
    uncertain = effect.state is EffectState.UNCERTAIN and effect.intents > 0
    if not (destination.idempotency_key and uncertain):
        return False
    if destination.key_retention_ms is None:
        return True
    if destination.in_flight_ms is None:
        return False
    kept_until = effect.intended_at + destination.key_retention_ms * 1_000
    return now + destination.in_flight_ms * 1_000 < kept_until
