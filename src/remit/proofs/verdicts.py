"""The table of admission, written once more and otherwise: as a list of questions with their answers.

It shares no code with the decision and is made from the words of the contract: all times are exact
fractions of a second, every row is one expression, and the first row that holds decides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

OPEN = ("INTENDED", "UNCERTAIN", "CONTRADICTED")
SETTLED = ("NOT_STARTED", "ABSENT")


def seconds(us: int) -> Fraction:
    """Microseconds as seconds."""
    return Fraction(us, 1_000_000)


def milli(ms: int) -> Fraction:
    """Milliseconds as seconds."""
    return Fraction(ms, 1_000)


Rows = list[tuple[bool, str, str]]
"""Whether a row holds, its verdict and its reason."""


def expected(envelope: Any, policy: Any, at: Any, now_us: int) -> tuple[str, str]:
    """Verdict and reason."""
    now = seconds(now_us)
    late = "deadline" in policy.rows and envelope.deadline is not None
    end = seconds(envelope.deadline) if late else None
    margin = envelope.minimum_completion_margin_ms
    begin = max([now, seconds(at.retry_at)] + [seconds(t) for t in (envelope.not_before,) if t])
    rows = _of_envelope(envelope, policy, at) + _of_rivals(envelope, at)
    rows += _of_lifetime(envelope, at, now_us, None if end is None else end - begin)
    rows += _of_needs(envelope, policy, at)
    for holds, verdict, reason in rows:
        if holds:
            return verdict, reason
    if "capacity" not in policy.rows or at.eligible:
        return "ADMIT", "ELIGIBLE"
    return _by_capacity(policy, at, now, begin, end, margin)


def _of_envelope(envelope: Any, policy: Any, at: Any) -> Rows:
    asks = "cancellation" in policy.rows
    size, most = envelope.payload_bytes or 0, policy.max_payload_bytes
    return [
        (at.own in OPEN, "HOLD", "PRIOR_EFFECT_UNRECONCILED"),
        (at.own == "PRESENT", "HOLD", "PRIOR_EFFECT_PRESENT"),
        (at.faults > 0, "REJECT", "INVALID_ENVELOPE"),
        (envelope.cancellation_state == "REQUESTED", "REJECT", "CANCELLED"),
        (envelope.cancellation_state == "UNOBSERVABLE", "HOLD", "CANCELLATION_UNOBSERVABLE"),
        (asks and not envelope.cancellation_state, "HOLD", "CANCELLATION_UNOBSERVABLE"),
        (not _matches(envelope.operation_id, policy.operations), "REJECT", "OPERATION_FORBIDDEN"),
        (not {"*", at.work_class} & set(policy.classes), "REJECT", "CLASS_FORBIDDEN"),
        (_barred(envelope.replay_class, policy), "REJECT", "REPLAY_CLASS_FORBIDDEN"),
        (bool(most) and size > most, "REJECT", "PAYLOAD_TOO_LARGE"),
    ]


def _of_rivals(envelope: Any, at: Any) -> Rows:
    rival = at.rival
    taken = rival is not None and not (rival.standing == "closed" and rival.state in SETTLED)
    alike = taken and rival.operation == envelope.operation_id
    alike = alike and rival.payload_digest == envelope.payload_digest and not rival.waits
    dark = taken and (
        rival.state in ("UNCERTAIN", "CONTRADICTED")
        or (rival.state == "INTENDED" and rival.standing != "live")
    )
    return [
        (taken and not alike, "REJECT", "EFFECT_CONFLICT"),
        (dark, "HOLD", "EFFECT_UNCERTAIN"),
        (taken, "COALESCE", "SAME_EFFECT"),
    ]


def _of_lifetime(envelope: Any, at: Any, now_us: int, gap: Fraction | None) -> Rows:
    margin, start = envelope.minimum_completion_margin_ms, envelope.not_before or 0
    tight = gap is not None and margin is not None and gap < milli(margin)
    return [
        (gap is not None and gap <= 0, "EXPIRE", "DEADLINE_PASSED"),
        (tight, "EXPIRE", "MARGIN_IMPOSSIBLE"),
        (at.retry_at > now_us and at.retry_at >= start, "HOLD", "RETRY_BACKOFF"),
        (start > now_us, "HOLD", "NOT_BEFORE"),
    ]


def _of_needs(envelope: Any, policy: Any, at: Any) -> Rows:
    final = envelope.replay_class == "IRREVERSIBLE"
    signed = bool(envelope.decision and at.authorized_by) and not (final and at.intents)
    wanted = final or envelope.replay_class in policy.human_decision
    outside = envelope.replay_class != "PURE" or bool(envelope.destination)
    lost = "destination" in policy.rows and outside and not at.destination
    return [
        (bool(at.unmet), "HOLD", "UNMET_DEPENDENCY"),
        (lost, "HOLD", "DESTINATION_UNKNOWN"),
        (wanted and not signed, "HOLD", "HUMAN_DECISION_MISSING"),
    ]


def _matches(operation: str, patterns: tuple[str, ...]) -> bool:
    return any(
        operation == p or p == "*" or (p.endswith("*") and operation.startswith(p[:-1]))
        for p in patterns
    )


def _barred(replay: str, policy: Any) -> bool:
    return replay == "UNCLASSIFIED" or replay not in policy.replay_classes


def _by_capacity(
    policy: Any, at: Any, now: Fraction, begin: Fraction, end: Fraction | None, margin: int | None
) -> tuple[str, str]:
    seen = at.seen
    if seen is None:
        return "HOLD", "CAPACITY_EVIDENCE_MISSING"
    age = now - seconds(seen.observed_at)
    if -age > milli(policy.clock_skew_ms):
        return "HOLD", "CAPACITY_EVIDENCE_FROM_FUTURE"
    if age > milli(policy.freshness_limit_ms):
        return "HOLD", "STALE_CAPACITY_EVIDENCE"
    named = [getattr(seen, name) for name in policy.capacity_fields]
    if None in (seen.start_delay_ms, seen.duration_ms) or None in named or "" in named:
        return "HOLD", "INCOMPLETE_CAPACITY_EVIDENCE"
    limit, reserved = seen.worker_limit, seen.reserved
    workers = 1
    if limit is not None and (limit == 0 or (reserved is not None and limit <= reserved)):
        return "HOLD", "NO_FREE_WORKER"
    if limit is not None and reserved is not None:
        workers = limit - reserved
    delay = milli(seen.start_delay_ms) + at.admitted * milli(seen.duration_ms) / workers
    start = max(now, begin, seconds(seen.observed_at) + delay)
    if end is not None and margin is not None and end - start < milli(margin):
        return "EXPIRE", "MARGIN_NOT_PRESERVED"
    if end is not None and start + milli(seen.duration_ms) > end:
        return "EXPIRE", "DEADLINE_UNREACHABLE"
    return "ADMIT", "ELIGIBLE"
