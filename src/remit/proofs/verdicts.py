"""The table of admission, written once more and otherwise: as a list of questions with their answers.

It shares no code with the decision and is made from the words of the contract: all times are exact
fractions of a second, every row is one expression, and the first row that holds decides.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

OPEN = ("INTENDED", "UNCERTAIN", "CONTRADICTED")
SETTLED = ("NOT_STARTED", "ABSENT")


Row = tuple[bool, str, str]
"""Whether it holds, and the verdict and reason where it is the first that does."""


def seconds(us: int) -> Fraction:
    """Microseconds as seconds."""
    return Fraction(us, 1_000_000)


def milli(ms: int) -> Fraction:
    """Milliseconds as seconds."""
    return Fraction(ms, 1_000)


def expected(envelope: Any, policy: Any, at: Any, now_us: int) -> tuple[str, str]:
    """Verdict and reason."""
    now = seconds(now_us)
    late = "deadline" in policy.rows and envelope.deadline is not None
    end = seconds(envelope.deadline) if late else None
    margin = envelope.minimum_completion_margin_ms
    begin = max([now, seconds(at.retry_at)] + [seconds(t) for t in (envelope.not_before,) if t])
    gap = None if end is None else end - begin
    rival = at.rival
    taken = rival is not None and not (rival.standing == "closed" and rival.state in SETTLED)
    alike = taken and rival.operation == envelope.operation_id
    alike = alike and rival.payload_digest == envelope.payload_digest and not rival.waits
    dark = taken and (
        rival.state in ("UNCERTAIN", "CONTRADICTED")
        or (rival.state == "INTENDED" and rival.standing != "live")
    )
    asks = "cancellation" in policy.rows
    rows: list[Row] = [
        (at.own in OPEN, "HOLD", "PRIOR_EFFECT_UNRECONCILED"),
        (at.own == "PRESENT", "HOLD", "PRIOR_EFFECT_PRESENT"),
        (at.faults > 0, "REJECT", "INVALID_ENVELOPE"),
        (envelope.cancellation_state == "REQUESTED", "REJECT", "CANCELLED"),
        (envelope.cancellation_state == "UNOBSERVABLE", "HOLD", "CANCELLATION_UNOBSERVABLE"),
        (asks and not envelope.cancellation_state, "HOLD", "CANCELLATION_UNOBSERVABLE"),
        (not _matches(envelope.operation_id, policy.operations), "REJECT", "OPERATION_FORBIDDEN"),
        (not {"*", at.work_class} & set(policy.classes), "REJECT", "CLASS_FORBIDDEN"),
        (_barred(envelope.replay_class, policy), "REJECT", "REPLAY_CLASS_FORBIDDEN"),
        (_too_large(envelope, policy), "REJECT", "PAYLOAD_TOO_LARGE"),
        (taken and not alike, "REJECT", "EFFECT_CONFLICT"),
        (taken and dark, "HOLD", "EFFECT_UNCERTAIN"),
        (taken, "COALESCE", "SAME_EFFECT"),
        (gap is not None and gap <= 0, "EXPIRE", "DEADLINE_PASSED"),
        (
            gap is not None and margin is not None and gap < milli(margin),
            "EXPIRE",
            "MARGIN_IMPOSSIBLE",
        ),
        *_waits(envelope, policy, at, now_us),
    ]
    for holds, verdict, reason in rows:
        if holds:
            return verdict, reason
    if "capacity" not in policy.rows or at.eligible:
        return "ADMIT", "ELIGIBLE"
    return _by_capacity(policy, at, now, begin, end, margin)


def _waits(envelope: Any, policy: Any, at: Any, now_us: int) -> list[Row]:
    """Rows 5 and 6: what has not come yet."""
    final = envelope.replay_class == "IRREVERSIBLE"
    signed = bool(envelope.decision and at.authorized_by) and not (final and at.intents)
    outside = envelope.replay_class != "PURE"
    return [
        (
            at.retry_at > now_us and at.retry_at >= (envelope.not_before or 0),
            "HOLD",
            "RETRY_BACKOFF",
        ),
        ((envelope.not_before or 0) > now_us, "HOLD", "NOT_BEFORE"),
        (bool(at.unmet), "HOLD", "UNMET_DEPENDENCY"),
        (
            "destination" in policy.rows
            and (outside or bool(envelope.destination))
            and not at.destination,
            "HOLD",
            "DESTINATION_UNKNOWN",
        ),
        (
            (final or envelope.replay_class in policy.human_decision) and not signed,
            "HOLD",
            "HUMAN_DECISION_MISSING",
        ),
    ]


def _too_large(envelope: Any, policy: Any) -> bool:
    return (
        bool(policy.max_payload_bytes) and (envelope.payload_bytes or 0) > policy.max_payload_bytes
    )


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
