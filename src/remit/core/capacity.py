"""What an observation of capacity is worth: is it fresh, is it complete, when could work start.

A stale number is never capacity, and neither is one from the future or one that leaves out what a
decision needs (CONTRACT 3). An observation that is exactly as old as the limit is fresh. Each ADMIT
debits the observation that it used, so that one observation never admits a herd: whoever comes next
starts later by the duration of those before, spread over the workers that are free to take them.
Where nobody said how many those are, the debit counts one, which is never too few to promise.

Durations are milliseconds, points in time microseconds. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core.change import quick
from remit.core.effect_facts import AdmissionPolicy, Capacity

ALWAYS: Final = ("start_delay_ms", "duration_ms")
"""Figures without which nothing can be said of a start."""

OPTIONAL: Final = (
    "queued_items",
    "queued_bytes",
    "oldest_eligible_age_ms",
    "arrival_window_ms",
    "arrivals",
    "completion_window_ms",
    "completions",
    "in_flight",
    "worker_limit",
    "reserved",
    "dependency_state",
    "destination_revision",
    "observer",
)
"""Parts that a policy may ask for beside them."""


@quick
@dataclass(frozen=True, slots=True)
class Start:
    """When work could start by an observation, with the figures behind it."""

    at: int
    delay_ms: int
    workers: int
    admitted: int


def age_us(seen: Capacity, now: int) -> int:
    """How old an observation is, in microseconds; negative where it lies ahead."""
    return now - seen.observed_at


def from_future(seen: Capacity, policy: AdmissionPolicy, now: int) -> bool:
    """Whether it lies further ahead than clocks may differ."""
    return seen.observed_at > now + policy.clock_skew_ms * 1_000


def is_fresh(seen: Capacity, policy: AdmissionPolicy, now: int) -> bool:
    """Whether it may count at all: not older than the limit, and not from the future."""
    if from_future(seen, policy, now):
        return False
    return age_us(seen, now) <= policy.freshness_limit_ms * 1_000


def lacking(seen: Capacity, policy: AdmissionPolicy) -> tuple[str, ...]:
    """What a decision under this policy needs and the observation does not say."""
    names = dict.fromkeys((*ALWAYS, *policy.capacity_fields))
    return tuple(name for name in names if getattr(seen, name) in (None, ""))


def free_workers(seen: Capacity) -> int | None:
    """How many workers there ever are for this class, None where that was not said.

    A limit of nought is none, whatever is reserved.
    """
    if seen.worker_limit is None:
        return None
    if seen.worker_limit <= 0:
        return 0
    if seen.reserved is None:
        return None
    return max(0, seen.worker_limit - seen.reserved)


def start_of(seen: Capacity, admitted: int) -> Start | None:
    """When work could start after those that were admitted on this observation already.

    None where the figures are not there or no worker is ever free. The debit is rounded up.
    """
    workers = free_workers(seen)
    if seen.start_delay_ms is None or seen.duration_ms is None or workers == 0:
        return None
    shared = 1 if workers is None else workers
    delay = seen.start_delay_ms * 1_000 + -(-admitted * seen.duration_ms * 1_000 // shared)
    return Start(seen.observed_at + delay, -(-delay // 1_000), shared, admitted)


def expected_start(start: Start, now: int, not_before: int) -> int:
    """The moment from which work would run: never before now, nor before it may."""
    return max(now, not_before, start.at)
