"""Seeded faults of effect work: what other queues do, and what one slip in the code would do.

Each is planted in the product's own functions, and names the property that must catch it and the
world in which it is sought. ``mutants`` adds them to its own.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
from remit.proofs import worlds
from remit.proofs.effect_cast import EffectCast, Wanted
from remit.proofs.faults import Mutant

_ADMIT: Final = worlds.ADMIT
_SAME: Final = worlds.SAME
_EFFECT: Final = worlds.EFFECT
_PLAIN: Final = changed(worlds.EFFECT, groups=frozenset(("lease", "intend", "look", "recheck")))
_ONE: Final = changed(
    _ADMIT,
    items=1,
    made=1,
    groups=frozenset(("lease", "recheck")),
    effects=EffectCast(
        works=(Wanted(deadline=3, margin=2),), rows=worlds.ADMIT_ROWS, capacity=("fresh",)
    ),
)
_BARE: Final = frozenset(("lease", "intend", "look"))
_LATE: Final = changed(worlds.EFFECT, groups=_BARE, effects=EffectCast(expiry=True))
_BEHIND: Final = changed(worlds.EFFECT, groups=_BARE, effects=EffectCast(modes=("behind",)))
_ONCE: Final = changed(worlds.EFFECT, groups=_BARE, effects=EffectCast(attempts=1))
_FINAL: Final = changed(worlds.FINAL, groups=_PLAIN.groups)
_RESTORED: Final = changed(
    worlds.RESTORED, groups=frozenset(("lease", "intend", "look", "restore"))
)
_VERDICT: Final = "remit.core.verdict"
_TIME: Final = "remit.core.in_time"
_RECONCILE: Final = "remit.core.reconcile"
_STATES: Final = "remit.core.effect_states"
_EFFECTS: Final = "remit.core.effects"
_INTENTS: Final = "remit.core.intents"
_FOLD: Final = "remit.core.evolve.effects"

EFFECT_MUTANTS: Final = (
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
        "verdict-by-table",
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
        "cancelled-in-flight-and-closed",
        _EFFECT,
        "open-effect-waits",
        (
            (
                f"{_EFFECTS}:cancel_in_flight",
                " or state_of(draft, effect) not in OPEN_EFFECT",
                " or True",
            ),
            (
                f"{_STATES}:shut",
                "return effect if state in OPEN_EFFECT and effect.item == item.id else None",
                "return None",
            ),
        ),
    ),
    Mutant(
        "absence-believed-at-once",
        _PLAIN,
        "absence-is-certain",
        (
            (
                f"{_RECONCILE}:arrival",
                "if effect.arrives_until is None:\n",
                'if effect.arrives_until is None:\n        return "guessed", None\n    if False:\n',
            ),
        ),
    ),
    Mutant(
        "absence-believed-at-the-bound",
        _PLAIN,
        "absence-is-certain",
        ((f"{_RECONCILE}:arrival", "seen.looked_at > last", "seen.looked_at >= last"),),
    ),
    Mutant(
        "look-up-judged-by-when-it-was-written",
        _LATE,
        "absence-is-certain",
        (("remit.core.decide.observing:_found", "cmd.looked_at,", "draft.now,"),),
    ),
    Mutant(
        "resent-while-uncertain",
        _PLAIN,
        "open-effect-waits",
        (
            (
                f"{_EFFECTS}:_end_open",
                'draft.emit("item", item.id, make(Status.HELD, reason, trigger), by)',
                'draft.emit("item", item.id, make(Status.READY, "", ""), by)\n    return',
            ),
            (f"{_STATES}:shut", "barred = state in OPEN_EFFECT or", "barred = False and"),
            (
                f"{_INTENTS}:_own_state",
                "return effect_standing(own, epoch)",
                "return EffectState.NOT_STARTED",
            ),
        ),
    ),
    Mutant(
        "present-sent-again",
        _PLAIN,
        "seen-not-said",
        (
            (
                f"{_RECONCILE}:_state",
                'return EffectState.PRESENT, ""',
                'return EffectState.ABSENT, ""',
            ),
        ),
    ),
    Mutant(
        "report-believed",
        _PLAIN,
        "effect-by-machine",
        (
            (
                f"{_STATES}:after",
                "return state if pure or state in (_S.INTENDED, _S.UNCERTAIN) else None",
                "return _S.PRESENT",
            ),
        ),
    ),
    Mutant(
        "silence-taken-for-absence",
        _EFFECT,
        "effect-by-machine",
        ((f"{_STATES}:after", "return None if known else _S.UNCERTAIN", "return _S.ABSENT"),),
    ),
    Mutant(
        "inconsistent-look-up-believed",
        _BEHIND,
        "absence-is-certain",
        (
            (
                f"{_RECONCILE}:_none",
                "if not (seen.consistent and destination.lookup_consistent) or seen.replayed:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "strange-object-taken-for-ours",
        worlds.FENCED,
        "seen-not-said",
        (
            (f"{_RECONCILE}:_state", "if Result.FAIL in results:", "if False:"),
            (f"{_FOLD}:_verified", "if not ev.checks or", "if False and"),
        ),
    ),
    Mutant(
        "fence-not-asked-for",
        worlds.UNBOUND,
        "fence-passed-on",
        (
            (
                "remit.service.reconciling:Reconciler._shown",
                "task.fence if destination.fence else 0",
                "0",
            ),
        ),
    ),
    Mutant(
        "confirmed-fence-not-compared",
        worlds.UNBOUND,
        "absence-is-certain",
        ((f"{_RECONCILE}:arrival", "seen.confirmed_fence > floor", "True"),),
    ),
    Mutant(
        "fence-not-handed-on",
        _PLAIN,
        "fence-passed-on",
        (("remit.core.decide.effects:_intent_event", "lease.fence,\n", "lease.fence + 1,\n"),),
    ),
    Mutant(
        "epoch-ignored-by-effects",
        _RESTORED,
        "epoch-is-doubt",
        (
            (
                f"{_STATES}:suspect",
                "return effect.epoch < epoch and effect.replay_class != ReplayClass.PURE",
                "return False",
            ),
        ),
    ),
    Mutant(
        "jitter-without-end",
        _PLAIN,
        "retry-bounded",
        (
            ("remit.core.retrying:wait_us", " // JITTER", ""),
            ("remit.core.retrying:retry", "if bounds.started_at and", "if False and"),
        ),
    ),
    Mutant(
        "attempts-of-effects-not-bounded",
        _ONCE,
        "retry-bounded",
        (
            (
                "remit.core.retrying:retry",
                "if bounds.counted >= bounds.attempts:",
                "if False:",
            ),
        ),
    ),
    Mutant(
        "irreversible-tried-again",
        _FINAL,
        "irreversible-once",
        (
            (
                "remit.core.retrying:retry",
                "effect.replay_class == ReplayClass.IRREVERSIBLE and",
                "False and",
            ),
        ),
    ),
    Mutant(
        "late-report-takes-the-effect",
        _PLAIN,
        "late-report-moves-nothing",
        (
            (
                "remit.core.evolve.items:_noted",
                "_keep(get, rec, out, item_of(get, rec))",
                '_keep(get, rec, out, item_of(get, rec)); out["intent", rec.stream] = get("intent", rec.stream)',
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
"""All seeded faults of effect work."""
