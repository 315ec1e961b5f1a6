"""Seeded faults of admission and of limits: verdicts on evidence that does not count, and forgotten figures.

Each is planted in the product's own functions, and names the property that must catch it and the
world in which it is sought. ``effect_mutants`` adds them to its own.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
from remit.proofs import worlds
from remit.proofs.effect_cast import EffectCast, Wanted
from remit.proofs.faults import Mutant

_ADMIT: Final = worlds.ADMIT
_SAME: Final = worlds.SAME
_ONE: Final = changed(
    _ADMIT,
    items=1,
    made=1,
    groups=frozenset(("lease", "recheck")),
    effects=EffectCast(
        works=(Wanted(deadline=3, margin=2),), rows=worlds.ADMIT_ROWS, capacity=("fresh",)
    ),
)
_VERDICT: Final = "remit.core.verdict"
_TIME: Final = "remit.core.in_time"
_EFFECTS: Final = "remit.core.effects"
_FOLD: Final = "remit.core.evolve.effects"

ADMISSION_MUTANTS: Final = (
    Mutant(
        "hold-turned-expire",
        _ADMIT,
        "end-by-lifetime",
        ((f"{_TIME}:_wait", "Verdict.HOLD, reason,", "Verdict.EXPIRE, reason,"),),
    ),
    Mutant(
        "stale-taken-as-fresh",
        _ADMIT,
        "stale-is-no-capacity",
        (
            (
                "remit.core.capacity:is_fresh",
                "return age_us(seen, now) <= policy.freshness_limit_ms * 1_000",
                "return True",
            ),
        ),
    ),
    Mutant(
        "fresh-at-the-limit-taken-as-stale",
        _ADMIT,
        "verdict-by-table",
        (("remit.core.capacity:is_fresh", "<= policy", "< policy"),),
    ),
    Mutant(
        "future-taken-as-fresh",
        _ADMIT,
        "stale-is-no-capacity",
        (
            (
                "remit.core.capacity:from_future",
                "return seen.observed_at > now + policy.clock_skew_ms * 1_000",
                "return False",
            ),
        ),
    ),
    Mutant(
        "no-worker-taken-as-one",
        _ADMIT,
        "stale-is-no-capacity",
        (("remit.core.capacity:free_workers", "return 0", "return 1"),),
    ),
    Mutant(
        "debit-forgotten",
        _ADMIT,
        "one-observation-no-herd",
        (
            (
                "remit.core.evolve.intents:_decided",
                'add(get, out, "debit", ev.observation, 1)',
                "pass",
            ),
        ),
    ),
    Mutant(
        "herd-on-one-observation",
        _ADMIT,
        "one-observation-no-herd",
        (
            (
                "remit.core.capacity:start_of",
                "-(-admitted * seen.duration_ms * 1_000 // shared)",
                "0",
            ),
        ),
    ),
    Mutant(
        "trigger-of-time-lost",
        _ADMIT,
        "hold-wakes",
        ((f"{_VERDICT}:_wake", "return min(times, default=0)", "return 0"),),
    ),
    Mutant(
        "deadline-compared-the-wrong-way",
        _ADMIT,
        "end-by-lifetime",
        ((f"{_VERDICT}:_alive", "rest > 0 else", "rest < 0 else"),),
    ),
    Mutant(
        "margin-named-after-deadline",
        _ADMIT,
        "verdict-by-table",
        ((f"{_TIME}:_starting", 'else "MARGIN_NOT_PRESERVED"', 'else "DEADLINE_UNREACHABLE"'),),
    ),
    Mutant(
        "started-without-its-margin",
        _ONE,
        "started-in-time",
        ((f"{_EFFECTS}:timely", " or late - now < (margin or 0) * 1_000", ""),),
    ),
    Mutant(
        "cancelled-work-started",
        _ADMIT,
        "cancelled-not-started",
        ((f"{_EFFECTS}:timely", 'if cancelled in ("REQUESTED", "UNOBSERVABLE"):', "if False:"),),
    ),
    Mutant(
        "message-overwritten",
        _SAME,
        "message-stands",
        (
            (
                "remit.core.evolve.intents:_cancellation",
                "cancellation_state=ev.state)",
                'cancellation_state=ev.state, payload_digest="")',
            ),
        ),
    ),
    Mutant(
        "coalesced-onto-a-closed-one",
        _SAME,
        "coalesced-onto-live",
        (
            (
                f"{_VERDICT}:_same",
                'rival is None or (rival.standing == "closed" and rival.state in gone)',
                "rival is None",
            ),
        ),
    ),
    Mutant(
        "followers-forgotten",
        _SAME,
        "followers-go-on",
        (
            (
                "remit.core.followers:ended_without",
                "return not (isinstance(effect, Effect) and effect.state is EffectState.PRESENT)",
                "return False",
            ),
        ),
    ),
    Mutant(
        "rate-off-by-one",
        worlds.BUDGET,
        "rate-kept",
        (("remit.core.limits:over_rate", "given >= limit.rate", "given > limit.rate"),),
    ),
    Mutant(
        "budget-not-asked",
        worlds.BUDGET,
        "within-limits",
        (
            (
                "remit.core.limits:over_spend",
                "used.settled + used.reserved + asked > limit.spend_micros",
                "used.settled + asked > limit.spend_micros",
            ),
        ),
    ),
    Mutant(
        "reservation-kept-after-a-report",
        worlds.BUDGET,
        "spend-as-recounted",
        (
            (
                f"{_FOLD}:_moved",
                "limits.ended(get, out, item, item.lease, clean=False, expired=late)",
                "pass",
            ),
        ),
    ),
)
"""All seeded faults of admission and of limits."""
