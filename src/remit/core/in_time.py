"""Rows 7 and 8 of admission: is there fresh evidence of capacity, and would the work be in time.

A stale observation is a HOLD, never an EXPIRE and never an ADMIT from what it counts. What depends on
evidence that is not there is BLOCKED. The margin and the deadline are compared independently, and
the reason names the margin first.
"""

from __future__ import annotations

from typing import Final

from remit.core import capacity
from remit.core.asked import Asked, left, passed
from remit.core.checks import Result
from remit.core.effect_facts import Capacity
from remit.core.evidence import Verdict

PASS, FAIL, BLOCKED, NOT_TESTED = Result.PASS, Result.FAIL, Result.BLOCKED, Result.NOT_TESTED

_STARTING: Final = ("start-delay", "expected-start")
_FITTING: Final = ("margin", "expected-completion")
_COUNTED: Final = ("capacity-completeness", "capacity-workers")


def asks_capacity(asked: Asked) -> bool:
    """Whether capacity is asked: where policy says so, and not of work that was admitted before."""
    return asked.applies("capacity") and not asked.at.eligible


def ask_capacity(asked: Asked) -> None:
    """Rows 7 and 8."""
    if not asks_capacity(asked):
        for name in ("capacity-freshness", *_COUNTED, *_STARTING, *_FITTING):
            asked.note(name, NOT_TESTED)
        return
    seen = asked.at.seen
    reason = _stale(asked, seen)
    if seen is None or reason:
        for name in (*_COUNTED, *_STARTING):
            asked.note(name, BLOCKED, reason=reason)
        _wait(asked, reason)
        return
    reason = _figures(asked, seen)
    if reason:
        for name in _STARTING:
            asked.note(name, BLOCKED, reason=reason)
        _wait(asked, reason)
        return
    _starting(asked, seen)


def _wait(asked: Asked, reason: str) -> None:
    """Row 7: what capacity there is cannot be said, nor what depends on it."""
    for name in _FITTING:
        _unless_absent(asked, name, reason)
    asked.decide(7, Verdict.HOLD, reason, f"capacity:{asked.at.work_class}")


def _unless_absent(asked: Asked, name: str, reason: str) -> None:
    """BLOCKED, but NOT_TESTED where nobody asked for the margin or set a deadline."""
    if asked.lifetime is None or (name == "margin" and asked.margin_us is None):
        asked.note(name, NOT_TESTED)
    else:
        asked.note(name, BLOCKED, reason=reason)


def _stale(asked: Asked, seen: Capacity | None) -> str:
    """Why an observation does not count at all; empty where it does."""
    limit = asked.policy.freshness_limit_ms
    if seen is None:
        reason = "CAPACITY_EVIDENCE_MISSING"
        asked.note("capacity-freshness", BLOCKED, "", f"<={limit}", "", reason)
        return reason
    reason = ""
    if capacity.from_future(seen, asked.policy, asked.now):
        reason = "CAPACITY_EVIDENCE_FROM_FUTURE"
    elif not capacity.is_fresh(seen, asked.policy, asked.now):
        reason = "STALE_CAPACITY_EVIDENCE"
    age = passed(capacity.age_us(seen, asked.now))
    result = FAIL if reason else PASS
    evidence = f"capacity:{seen.id}"
    asked.note("capacity-freshness", result, age, f"<={limit}", evidence, reason)
    return reason


def _figures(asked: Asked, seen: Capacity) -> str:
    """Why a fresh observation supports no start; empty where it does."""
    evidence = f"capacity:{seen.id}"
    absent = capacity.lacking(seen, asked.policy)
    reason = "INCOMPLETE_CAPACITY_EVIDENCE" if absent else ""
    found = ",".join(absent) or "none"
    asked.note("capacity-completeness", FAIL if absent else PASS, found, "none", evidence, reason)
    workers = capacity.free_workers(seen)
    if workers is None:
        asked.note("capacity-workers", NOT_TESTED)
    else:
        idle = "" if workers else "NO_FREE_WORKER"
        result = PASS if workers else FAIL
        asked.note("capacity-workers", result, str(workers), ">0", evidence, idle)
        reason = reason or idle
    return reason


def _starting(asked: Asked, seen: Capacity) -> None:
    """Row 8: would it be in time."""
    start = capacity.start_of(seen, asked.at.admitted)
    assert start is not None  # what is lacking was asked before
    assert seen.duration_ms is not None
    evidence, now = f"capacity:{seen.id}", asked.now
    sum_of = f"{seen.start_delay_ms}+{start.admitted}x{seen.duration_ms}/{start.workers}"
    asked.note("start-delay", PASS, str(start.delay_ms), sum_of, evidence)
    at = capacity.expected_start(start, now, asked.begin)
    asked.note("expected-start", PASS, passed(at - now), "", evidence)
    end, margin = asked.lifetime, asked.margin_us
    if end is None or margin is None:
        asked.note("margin", NOT_TESTED)
    else:
        rest = end - at
        reason = "" if rest >= margin else "MARGIN_NOT_PRESERVED"
        wanted = f">={margin // 1_000}"
        asked.note("margin", FAIL if reason else PASS, left(rest), wanted, evidence, reason)
        if reason:
            asked.decide(8, Verdict.EXPIRE, reason)
    if end is None:
        asked.note("expected-completion", NOT_TESTED)
        return
    done = at + seen.duration_ms * 1_000
    reason = "" if done <= end else "DEADLINE_UNREACHABLE"
    result = FAIL if reason else PASS
    wanted = f"<={left(end - now)}"
    asked.note("expected-completion", result, passed(done - now), wanted, evidence, reason)
    if reason:
        asked.decide(8, Verdict.EXPIRE, reason)
