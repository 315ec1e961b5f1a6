"""Faults planted in how effects are decided on, to show that the traffic can fail.

Each mutant names the properties that may catch it. One that nobody catches means that a check looks
at nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.core.outside_traffic import WAYS

from remit.core import claims, effect_states, effects, intents, reconcile, view
from remit.core import effect_events as v
from remit.core.decide import effects as deciding
from remit.core.decide import observing
from remit.core.effect_facts import EffectState
from remit.core.evolve import effects as folding
from remit.core.retrying import Next, Retry
from remit.service import reconciling

TWICE = ("INV-14-one-object", "INV-14-one-under-way", "INV-14-present-never-sent")
"""What shows that an effect came about twice, or was about to."""

EARLY = ("absent-is-absent", *TWICE)
"""What shows that absence was believed though something could still come."""

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mutant:
    """A fault, the properties that may catch it, and the destinations at which it can show."""

    name: str
    plant: Plant
    caught_by: tuple[str, ...]
    ways: Sequence[dict[str, Any]] = WAYS


def absence_believed_too_early(patch: pytest.MonkeyPatch) -> None:
    """Nothing there is taken for nothing to come."""
    patch.setattr(reconcile, "arrival", lambda *_: ("in-flight-bound-passed", None))


def judged_by_when_it_was_written(patch: pytest.MonkeyPatch) -> None:
    """What could still arrive is judged by the end of the look-up instead of its beginning."""
    found = observing._found

    def late(draft: Any, item: Any, intent: Any, effect: Any, there: Any, cmd: Any) -> Any:
        return found(draft, item, intent, effect, there, replace(cmd, looked_at=draft.now))

    patch.setattr(observing, "_found", late)


def guard_taken_out(patch: pytest.MonkeyPatch) -> None:
    """What was intended is sent again when its lease ends: what queues without effects do."""
    patch.setattr(view, "shut", lambda *_: None)
    patch.setattr(effects, "OPEN_EFFECT", frozenset())
    patch.setattr(deciding, "OPEN_EFFECT", frozenset())
    patch.setattr(effects, "_unreconciled", lambda *_: None)
    patch.setattr(intents, "_own_state", lambda *_: EffectState.NOT_STARTED)
    patch.setattr(effect_states, "INTENDABLE", frozenset(EffectState))


def present_sent_again(patch: pytest.MonkeyPatch) -> None:
    """What is there is taken for absent, and decided on once more."""
    state = reconcile._state

    def blind(*args: Any) -> Any:
        seen, why = state(*args)
        return (EffectState.ABSENT, why) if seen is EffectState.PRESENT else (seen, why)

    patch.setattr(reconcile, "_state", blind)


def fence_not_compared(patch: pytest.MonkeyPatch) -> None:
    """Any fence that a destination confirms is taken for a higher one."""
    arrival = reconcile.arrival

    def eager(effect: Any, destination: Any, seen: Any) -> Any:
        if destination.fence:
            return "higher-fence-confirmed", None
        return arrival(effect, destination, seen)

    patch.setattr(reconcile, "arrival", eager)

    tasks = reconciling._tasks

    def unfenced(tx: Any, names: Any, now: int) -> Any:
        return [replace(task, fence=0) for task in tasks(tx, names, now)]

    patch.setattr(reconciling, "_tasks", unfenced)


def fence_not_passed_on(patch: pytest.MonkeyPatch) -> None:
    """A destination that enforces fences is never told of a higher one."""
    tasks = reconciling._tasks

    def unfenced(tx: Any, names: Any, now: int) -> Any:
        return [replace(task, fence=0) for task in tasks(tx, names, now)]

    patch.setattr(reconciling, "_tasks", unfenced)


def trigger_lost(patch: pytest.MonkeyPatch) -> None:
    """Work that waits for a look-up is never looked up."""
    patch.setattr(reconciling, "UNRECONCILED", ())


def hold_without_its_trigger(patch: pytest.MonkeyPatch) -> None:
    """A retry decision forgets what ends its hold."""
    decide = Next

    def bare(decision: Retry, reason: str, trigger: str = "", at: int = 0) -> Next:
        return decide(decision, reason, " " if decision is Retry.HOLD else trigger, at)

    patch.setattr(effects, "Next", bare)
    shown = v.RetryDecided

    def emptied(*args: Any) -> Any:
        event = shown(*args)
        return replace(event, trigger=event.trigger.strip())

    patch.setattr(v, "RetryDecided", emptied)


def epoch_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A restored ledger believes what it knew before."""

    def known(effect: Any, epoch: int) -> bool:
        return False

    for module in (effect_states, claims, observing, effects):
        patch.setattr(module, "suspect", known)
    patch.setattr(
        intents, "_own_state", lambda d, i, e, own, r: own.state if own else EffectState.NOT_STARTED
    )


def expiry_taken_for_the_workers_end(patch: pytest.MonkeyPatch) -> None:
    """The end of a lease is believed to be the end of its worker."""
    note = claims.note_uncertain

    def certain(draft: Any, effect: Any, reason: str, by: str = "") -> None:
        note(draft, effect, reason, by)
        known = claims.effect_named(draft, effect.id)
        if known is not None and known.state is EffectState.UNCERTAIN:
            there = claims.destination_named(draft, known.destination)
            bound = there.in_flight_ms if there is not None else None
            until = draft.now + (bound or 0) * 1_000
            ended = v.WorkerTerminated(known.attempt, "its lease ended", draft.now, until)
            draft.emit("effect", known.id, ended, by)

    patch.setattr(effects, "note_uncertain", certain)


def overtaken_look_up_accepted(patch: pytest.MonkeyPatch) -> None:
    """A look-up from before another intent is believed."""
    fresh = observing._fresh

    def careless(draft: Any, effect: Any, cmd: Any) -> Any:
        at = max(cmd.looked_at, effect.intended_at)
        return fresh(draft, effect, replace(cmd, version=effect.version, looked_at=at))

    patch.setattr(observing, "_fresh", careless)
    judged_by_when_it_was_written(patch)


def report_believed(patch: pytest.MonkeyPatch) -> None:
    """What a worker answers is taken for an observation: no look-up, and the effect is there."""
    answered = folding._answered

    def believed(get: Any, rec: Any, ev: Any, out: Any) -> None:
        answered(get, rec, ev, out)
        key = ("effect", rec.entity)
        out[key] = replace(out[key], state=EffectState.PRESENT)

    patch.setitem(folding.HANDLERS, v.EffectAnswered, believed)
    from remit.core.evolve import _HANDLERS

    patch.setitem(_HANDLERS, v.EffectAnswered, believed)

    uncertain = folding._uncertain

    def certain(get: Any, rec: Any, ev: Any, out: Any) -> None:
        uncertain(get, rec, ev, out)
        key = ("effect", rec.entity)
        if ev.reason == "TIMEOUT":
            out[key] = replace(out[key], state=EffectState.PRESENT)

    patch.setitem(_HANDLERS, v.EffectUncertain, certain)


def timeout_taken_for_failure(patch: pytest.MonkeyPatch) -> None:
    """No answer is taken for no effect."""
    uncertain = folding._uncertain

    def failed(get: Any, rec: Any, ev: Any, out: Any) -> None:
        uncertain(get, rec, ev, out)
        key = ("effect", rec.entity)
        if ev.reason == "TIMEOUT":
            out[key] = replace(out[key], state=EffectState.ABSENT)

    from remit.core.evolve import _HANDLERS

    patch.setitem(_HANDLERS, v.EffectUncertain, failed)


def repetition_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A repeated request that nobody answered is taken for one that cannot arrive."""
    arrival = reconcile.arrival

    def forgetful(effect: Any, destination: Any, seen: Any) -> Any:
        return arrival(replace(effect, repeating=0, repeat_until=0), destination, seen)

    patch.setattr(reconcile, "arrival", forgetful)


MUTANTS = (
    Mutant("absence_believed_too_early", absence_believed_too_early, TWICE),
    Mutant("judged_by_when_it_was_written", judged_by_when_it_was_written, EARLY),
    Mutant("guard_taken_out", guard_taken_out, TWICE),
    Mutant("present_sent_again", present_sent_again, TWICE),
    Mutant("fence_not_compared", fence_not_compared, EARLY),
    Mutant("fence_not_passed_on", fence_not_passed_on, ("absence-is-found",)),
    Mutant("trigger_lost", trigger_lost, ("bounded-comes-to-rest", "what-is-there-is-found")),
    Mutant("hold_without_its_trigger", hold_without_its_trigger, ("decisions-fold",)),
    Mutant("epoch_forgotten", epoch_forgotten, (*TWICE, "closed-without-effect")),
    Mutant("expiry_taken_for_the_workers_end", expiry_taken_for_the_workers_end, TWICE),
    Mutant("overtaken_look_up_accepted", overtaken_look_up_accepted, EARLY),
    Mutant("report_believed", report_believed, ("present-is-there",)),
    Mutant("timeout_taken_for_failure", timeout_taken_for_failure, TWICE),
    Mutant("repetition_forgotten", repetition_forgotten, EARLY, WAYS[-1:]),
)
"""All planted faults."""
