"""Whether and when there is another attempt: bounded in count and in time, with full jitter.

RETRY is permission to be decided on again by all of admission, not to send. An attempt counts when
its lease is given, so a worker that dies each time uses them up as well (INV-10). The core draws
nothing: the figure that spreads retries out comes in with the command.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.change import quick
from remit.core.effect_facts import AdmissionPolicy, Effect, ReplayClass

JITTER: Final = 1 << 32
"""A jitter figure lies below this."""

LOOKS: Final = 20
BASE_MS: Final = 1_000
CAP_MS: Final = 5 * 60 * 1_000
WITHIN_MS: Final = 24 * 60 * 60 * 1_000
"""Bounds where no policy is registered."""

HUMAN: Final = "decision:irreversible-action-authorization"
"""What may free irreversible work that was sent once."""


class Retry(StrEnum):
    """What happens after an attempt."""

    RETRY = "RETRY"
    HOLD = "HOLD"
    SUPPRESS = "SUPPRESS"
    QUARANTINE = "QUARANTINE"
    COMPENSATE = "COMPENSATE"


@quick
@dataclass(frozen=True, slots=True)
class Next:
    """A retry decision: with what reason, until which trigger, and not before when."""

    decision: Retry
    reason: str
    trigger: str = ""
    at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Bounds:
    """How often and how long, and what was used of it so far."""

    attempts: int
    counted: int
    looks: int = LOOKS
    base_ms: int = BASE_MS
    cap_ms: int = CAP_MS
    within_ms: int = WITHIN_MS
    retries: int = 0
    started_at: int = 0
    jitter: int = 0


def bounds_of(
    policy: AdmissionPolicy | None,
    attempts: int,
    counted: int,
    retries: int,
    started_at: int,
    jitter: int,
) -> Bounds:
    """The bounds of a policy; ``attempts`` is the ledger's own where there is none."""
    if policy is None:
        return Bounds(attempts, counted, retries=retries, started_at=started_at, jitter=jitter)
    return Bounds(
        policy.attempts,
        counted,
        policy.looks,
        policy.backoff_base_ms,
        policy.backoff_cap_ms,
        policy.retry_within_ms,
        retries,
        started_at,
        jitter,
    )


def window_ms(base_ms: int, cap_ms: int, times: int) -> int:
    """The longest wait after so many retries: doubled each time, up to the cap."""
    return min(cap_ms, base_ms << min(times, 40))


def wait_us(bounds: Bounds) -> int:
    """Full jitter: anything from nothing to the whole window, as the figure has it."""
    jitter = min(max(bounds.jitter, 0), JITTER - 1)
    return window_ms(bounds.base_ms, bounds.cap_ms, bounds.retries) * 1_000 * jitter // JITTER


def look_again(looks: int, bounds: Bounds, now: int) -> int:
    """When to look again at what no bound says anything of."""
    return now + window_ms(max(bounds.base_ms, 1), bounds.cap_ms, looks) * 1_000


def retry(effect: Effect, bounds: Bounds, now: int, reason: str) -> Next:
    """RETRY within bounds, QUARANTINE past them, HOLD for a human where it cannot be taken back."""
    if effect.replay_class == ReplayClass.IRREVERSIBLE and effect.intents:
        return Next(Retry.HOLD, "IRREVERSIBLE_ABSENT", HUMAN)
    if bounds.counted >= bounds.attempts:
        return Next(Retry.QUARANTINE, "ATTEMPTS_SPENT")
    if not bounds.counted and not effect.intents:
        return Next(Retry.RETRY, reason, f"time:{now}", now)
    at = now + wait_us(bounds)
    if bounds.started_at and at - bounds.started_at > bounds.within_ms * 1_000:
        return Next(Retry.QUARANTINE, "RETRY_TIME_SPENT")
    return Next(Retry.RETRY, reason, f"time:{at}", at)
