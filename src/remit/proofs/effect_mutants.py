"""Seeded faults of effect work: what other queues do, and what one slip in the code would do.

Each is planted in the product's own functions, and names the property that must catch it and the
world in which it is sought. ``mutants`` adds them to its own.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
from remit.proofs import worlds
from remit.proofs.admission_mutants import ADMISSION_MUTANTS
from remit.proofs.effect_cast import EffectCast
from remit.proofs.faults import Mutant

_EFFECT: Final = worlds.EFFECT
_PLAIN: Final = changed(worlds.EFFECT, groups=frozenset(("lease", "intend", "look", "recheck")))
_BARE: Final = frozenset(("lease", "intend", "look"))
_LATE: Final = changed(worlds.EFFECT, groups=_BARE, effects=EffectCast(expiry=True))
_BEHIND: Final = changed(worlds.EFFECT, groups=_BARE, effects=EffectCast(modes=("behind",)))
_SEEN: Final = changed(
    worlds.EFFECT,
    groups=_BARE | {"triage"},
    effects=EffectCast(in_flight=0, modes=("", "away")),
)
_ONCE: Final = changed(worlds.EFFECT, groups=_BARE, effects=EffectCast(attempts=1))
_FINAL: Final = changed(worlds.FINAL, groups=_PLAIN.groups)
_RESTORED: Final = changed(
    worlds.RESTORED, groups=frozenset(("lease", "intend", "look", "restore"))
)
_RECONCILE: Final = "remit.core.reconcile"
_STATES: Final = "remit.core.effect_states"
_EFFECTS: Final = "remit.core.effects"
_INTENTS: Final = "remit.core.intents"
_FOLD: Final = "remit.core.evolve.effects"

EFFECT_MUTANTS: Final = (
    *ADMISSION_MUTANTS,
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
                "if effect.arrives_until is None or effect.repeating:\n",
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
        "outage-taken-for-sight",
        _SEEN,
        "fold-equals-decision",
        (("remit.core.decide.observing:_act", "if not finding.why:", "if True:"),),
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
        "back-off-forgotten-while-held-for-another-reason",
        worlds.AGAIN,
        "verdict-by-table",
        ((f"{_INTENTS}:gather", "retry_at=intent.retry_at", "retry_at=0"),),
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
)
"""All seeded faults of effect work."""
