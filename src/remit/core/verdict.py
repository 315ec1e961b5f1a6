"""THE decision on effect work: (envelope, policy, evidence, now) -> one verdict with every check.

One pure function asks the rows of CONTRACT 4 in their order. The first that matches decides; all
others are evaluated and recorded all the same, as far as there is evidence. What depends on
evidence that is missing or stale is BLOCKED, what was not asked is NOT_TESTED, and neither is ever
taken for PASS or FAIL (INV-1). A HOLD names an owner and a trigger that a machine can act on, and
where a lifetime runs also the time from which it ends otherwise (INV-3). ADMIT is permission to
join eligible demand, nothing more.

Figures of checks are milliseconds: what is left is rounded down, and an age up, so that no figure
looks better than what it stands for. Comparisons are made in microseconds.
"""

from __future__ import annotations

from remit.core.asked import Asked, left, passed, pattern
from remit.core.checks import Result
from remit.core.effect_facts import (
    OPEN_EFFECT,
    AdmissionPolicy,
    EffectState,
    Envelope,
    ReplayClass,
)
from remit.core.evidence import (
    ALL_CLASSES,
    DECISION,
    OUTCOMES,
    RETRY_BACKOFF,
    Evidence,
    Finding,
    Rival,
    Verdict,
)
from remit.core.in_time import ask_capacity, asks_capacity

__all__ = [
    "ALL_CLASSES",
    "DECISION",
    "RETRY_BACKOFF",
    "Evidence",
    "Finding",
    "Rival",
    "Verdict",
    "assess",
]

PASS, FAIL, BLOCKED, NOT_TESTED = Result.PASS, Result.FAIL, Result.BLOCKED, Result.NOT_TESTED


def assess(envelope: Envelope, policy: AdmissionPolicy, at: Evidence, now: int) -> Finding:
    """Decide on effect work as things stand."""
    asked = Asked(envelope, policy, at, now)
    for row in (_prior, _valid, _cancelled, _permitted, _stored, _same, _alive, _early, _needed):
        row(asked)
    ask_capacity(asked)
    verdict, reason, trigger, owner, row_number = asked.decided or (
        Verdict.ADMIT,
        "ELIGIBLE",
        "",
        "admission",
        9,
    )
    outcome = OUTCOMES.get(verdict, "")
    if reason == "CANCELLED":
        outcome = "cancelled"
    return Finding(
        verdict,
        reason,
        owner,
        trigger,
        _wake(asked, trigger, row_number) if verdict is Verdict.HOLD else 0,
        outcome,
        asked.survivor if verdict is Verdict.COALESCE else "",
        at.seen.id if at.seen is not None and row_number >= 7 and asks_capacity(asked) else "",
        tuple(asked.checks),
    )


def _wake(asked: Asked, trigger: str, row: int) -> int:
    """The time trigger of a hold: where row 4 decides, or a time that it waits for before that."""
    if row < 5:
        return 0  # an earlier row would decide again, whatever the time
    times = [int(trigger[5:])] if trigger.startswith("time:") else []
    if asked.lifetime is not None:
        times.append(max(0, asked.lifetime - max(0, asked.margin_us or 0)))
    return min(times, default=0)


# Row 0: nothing is admitted while its own effect may have come about, or has (INV-14).


def _prior(asked: Asked) -> None:
    state, effect = asked.at.own, asked.envelope.effect_id
    settled = f"{EffectState.NOT_STARTED} or {EffectState.ABSENT}"
    evidence = f"seq:{asked.at.own_seq}" if asked.at.own_seq else ""
    if state in (EffectState.NOT_STARTED, EffectState.ABSENT):
        asked.note("prior-effect", PASS, state, settled, evidence)
        return
    known = state in (EffectState.PRESENT, EffectState.CONTRADICTED)
    reason = "PRIOR_EFFECT_UNRECONCILED" if state in OPEN_EFFECT else "PRIOR_EFFECT_PRESENT"
    asked.note("prior-effect", FAIL if known else BLOCKED, state, settled, evidence, reason)
    asked.decide(0, Verdict.HOLD, reason, f"reconcile:{effect}", "retry")


# Row 1.


def _valid(asked: Asked) -> None:
    at = asked.at
    evidence = f"seq:{at.validated_seq}" if at.validated_seq else ""
    reason = "INVALID_ENVELOPE" if at.faults else ""
    asked.note("envelope", FAIL if at.faults else PASS, str(at.faults), "0", evidence, reason)
    if at.faults:
        asked.decide(1, Verdict.REJECT, "INVALID_ENVELOPE")


def _cancelled(asked: Asked) -> None:
    state = asked.envelope.cancellation_state
    evidence = f"seq:{asked.at.cancellation_seq}" if asked.at.cancellation_seq else asked.source
    wanted = "NOT_REQUESTED"
    if state == "REQUESTED":
        asked.note("cancellation", FAIL, state, wanted, evidence, "CANCELLED")
        asked.decide(1, Verdict.REJECT, "CANCELLED")
    elif state == wanted:
        asked.note("cancellation", PASS, state, wanted, evidence)
    elif state or asked.applies("cancellation"):
        reason = "CANCELLATION_UNOBSERVABLE"
        asked.note("cancellation", BLOCKED, state, wanted, evidence if state else "", reason)
        name = asked.envelope.cancellation_id or asked.envelope.work_id
        asked.decide(1, Verdict.HOLD, reason, f"cancellation:{name}")
    else:
        asked.note("cancellation", NOT_TESTED)


# Row 2.


def _permitted(asked: Asked) -> None:
    envelope, policy = asked.envelope, asked.policy
    rule = f"policy:{policy.label}"
    operation = envelope.operation_id
    allowed = any(pattern(p).fullmatch(operation) for p in policy.operations)
    _forbids(asked, "operation", operation, allowed, policy.operations, "OPERATION_FORBIDDEN")
    name, classes = asked.at.work_class, policy.classes
    allowed = ALL_CLASSES in classes or name in classes
    _forbids(asked, "work-class", name, allowed, classes, "CLASS_FORBIDDEN")
    replay = envelope.replay_class
    allowed = replay in policy.replay_classes and replay != ReplayClass.UNCLASSIFIED
    known = tuple(r for r in policy.replay_classes if r != ReplayClass.UNCLASSIFIED)
    _forbids(asked, "replay-class", replay, allowed, known, "REPLAY_CLASS_FORBIDDEN")
    size, most = envelope.payload_bytes, policy.max_payload_bytes
    if not most or size is None:
        asked.note("payload-size", NOT_TESTED)
        return
    reason = "" if size <= most else "PAYLOAD_TOO_LARGE"
    asked.note("payload-size", FAIL if reason else PASS, str(size), f"<={most}", rule, reason)
    if reason:
        asked.decide(2, Verdict.REJECT, reason)


def _forbids(
    asked: Asked, check: str, found: str, allowed: bool, wanted: tuple[str, ...], reason: str
) -> None:
    """One thing that policy allows or not; ``found`` is written only where it could be of use."""
    result, reason = (PASS, "") if allowed else (FAIL, reason)
    rule = f"policy:{asked.policy.label}"
    asked.note(check, result, found[:200], ",".join(wanted)[:500], rule, reason)
    if reason:
        asked.decide(2, Verdict.REJECT, reason)


def _stored(asked: Asked) -> None:
    most = asked.policy.storage_limit
    if not most:
        asked.note("storage-limit", NOT_TESTED)
        return
    stored = asked.at.stored
    result, reason = (PASS, "") if stored <= most else (FAIL, "STORAGE_FULL")
    asked.note("storage-limit", result, str(stored), f"<={most}", asked.source, reason)


# Row 3.


def _same(asked: Asked) -> None:
    rival, envelope = asked.at.rival, asked.envelope
    effect = envelope.effect_id
    gone = (EffectState.NOT_STARTED, EffectState.ABSENT)
    if rival is None or (rival.standing == "closed" and rival.state in gone):
        asked.note("same-effect", PASS, "none", "none")
        return
    evidence = f"effect:{effect}"[:200]
    same = (rival.operation, rival.payload_digest) == (
        envelope.operation_id,
        envelope.payload_digest,
    )
    if not same or rival.waits:
        reason = "EFFECT_CONFLICT"
        asked.note("same-effect", FAIL, rival.item, "none", evidence, reason)
        asked.decide(3, Verdict.REJECT, reason)
    elif _unknown(rival):
        reason = "EFFECT_UNCERTAIN"
        asked.note("same-effect", BLOCKED, rival.item, "none", evidence, reason)
        asked.decide(3, Verdict.HOLD, reason, f"reconcile:{effect}")
    else:
        reason = "SAME_EFFECT"
        asked.note("same-effect", FAIL, rival.item, "none", evidence, reason)
        asked.survivor = rival.item
        asked.decide(3, Verdict.COALESCE, reason)


def _unknown(rival: Rival) -> bool:
    """Whether it cannot be said what became of the other's effect.

    An effect that live work has just intended is under way, and will be told of.
    """
    if rival.state in (EffectState.UNCERTAIN, EffectState.CONTRADICTED):
        return True
    return rival.state is EffectState.INTENDED and rival.standing != "live"


# Rows 4 and 5.


def _alive(asked: Asked) -> None:
    end = asked.lifetime
    if end is None:
        asked.note("deadline", NOT_TESTED)
        asked.note("margin-zero-delay", NOT_TESTED)
        return
    rest = end - asked.begin
    reason = "" if rest > 0 else "DEADLINE_PASSED"
    asked.note("deadline", FAIL if reason else PASS, left(rest), ">0", asked.source, reason)
    if reason:
        asked.decide(4, Verdict.EXPIRE, reason)
    margin = asked.margin_us
    if margin is None:
        asked.note("margin-zero-delay", NOT_TESTED)
        return
    reason = "" if rest >= margin else "MARGIN_IMPOSSIBLE"
    wanted = f">={margin // 1_000}"
    asked.note(
        "margin-zero-delay", FAIL if reason else PASS, left(rest), wanted, asked.source, reason
    )
    if reason:
        asked.decide(4, Verdict.EXPIRE, reason)


def _early(asked: Asked) -> None:
    begin, retry_at, now = asked.envelope.not_before, asked.at.retry_at, asked.now
    if begin is None and not retry_at:
        asked.note("not-before", NOT_TESTED)
        return
    until = max(begin or 0, retry_at)
    if until <= now:
        asked.note("not-before", PASS, "0", "0", asked.source)
        return
    backing_off = retry_at >= until
    reason = RETRY_BACKOFF if backing_off else "NOT_BEFORE"
    asked.note("not-before", FAIL, passed(until - now), "0", asked.source, reason)
    owner = "retry" if backing_off else "admission"
    asked.decide(5, Verdict.HOLD, reason, f"time:{until}", owner)


# Row 6.


def _needed(asked: Asked) -> None:
    unmet = asked.at.unmet
    reason = "UNMET_DEPENDENCY" if unmet else ""
    evidence = unmet[0] if unmet else ""
    result = FAIL if unmet else PASS
    asked.note("dependencies", result, str(len(unmet)), "0", evidence, reason)
    if unmet:
        asked.decide(6, Verdict.HOLD, reason, f"dependency:{unmet[0]}")
    _destination(asked)
    _human(asked)


def _destination(asked: Asked) -> None:
    name, label = asked.envelope.destination, asked.at.destination
    outside = asked.envelope.replay_class != ReplayClass.PURE
    if label:
        evidence = f"destination:{label}"
        asked.note("destination-revision", PASS, label, "registered", evidence)
    elif asked.applies("destination") and (name or outside):
        reason = "DESTINATION_UNKNOWN"
        asked.note("destination-revision", BLOCKED, name, "registered", "", reason)
        trigger = f"destination:{name}" if name else "policy:*"
        asked.decide(6, Verdict.HOLD, reason, trigger)
    else:
        asked.note("destination-revision", NOT_TESTED)


def _human(asked: Asked) -> None:
    envelope, at = asked.envelope, asked.at
    final = envelope.replay_class == ReplayClass.IRREVERSIBLE
    if not final and envelope.replay_class not in asked.policy.human_decision:
        asked.note("human-decision", NOT_TESTED)
        return
    again = final and at.intents > 0
    if at.decision and not again:
        asked.note("human-decision", PASS, at.decision, DECISION, at.decision.rpartition(":")[2])
        return
    if envelope.decision and at.authorized_by and not again:
        by = f"unproved:{at.authorized_by}"
        asked.note("human-decision", PASS, by, DECISION, asked.source)
        return
    reason = "HUMAN_DECISION_MISSING"
    found = f"used:{envelope.decision}" if again and envelope.decision else envelope.decision
    found = at.undecided or found
    asked.note("human-decision", BLOCKED, found, DECISION, "", reason)
    asked.decide(6, Verdict.HOLD, reason, f"decision:{DECISION}", "retry" if again else "admission")
