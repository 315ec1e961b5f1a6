"""Questions that a whole history answers, such as whether one thing was taken for another on the way.

Each is answered from the events alone with one of the four results. NOT_TESTED says that the history
never came to where the question arises, which is neither a yes nor a no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from remit.core.checks import Result
from remit.core.effect_events import (
    AdmissionDecided,
    EffectAnswered,
    EffectClaimed,
    EffectIntended,
    EffectObserved,
    EffectUncertain,
    RetryDecided,
)
from remit.core.effect_facts import EffectState
from remit.core.item_events import LeaseGranted
from remit.service.reading.sheets import outside
from remit.service.reading.sheets.states import separate, states
from remit.service.reading.sheets.story import Story

PASS, FAIL, BLOCKED, NOT_TESTED = Result.PASS, Result.FAIL, Result.BLOCKED, Result.NOT_TESTED


def _all(found: Iterable[bool]) -> Result:
    """PASS where all are so, NOT_TESTED where there is none."""
    every = list(found)
    if not every:
        return NOT_TESTED
    return PASS if all(every) else FAIL


def execution_attempted(story: Story) -> Result:
    """Whether a lease was ever given."""
    return PASS if story.first(LeaseGranted) is not None else NOT_TESTED


def result_kept(story: Story) -> Result:
    """Whether a result or response is kept here."""
    return PASS if story.first(EffectAnswered) is not None else NOT_TESTED


def effect_observed(story: Story) -> Result:
    """Whether the effect was looked up outside, and what that came to."""
    seen = story.last(EffectObserved)
    if seen is None:
        return NOT_TESTED
    if story.state is EffectState.PRESENT:
        return PASS
    return FAIL if story.state is EffectState.ABSENT else BLOCKED


def second_send(story: Story) -> Result:
    """Whether the effect was intended more than once."""
    return PASS if len(list(story.all(EffectIntended))) > 1 else NOT_TESTED


def duplicate_effect(story: Story) -> Result:
    """Whether more than one object was seen; one look-up after a second send may deny it."""
    seen = list(story.all(EffectObserved))
    if any((told.event.objects or 0) > 1 for told in seen):
        return PASS
    intents = list(story.all(EffectIntended))
    if len(intents) < 2:
        return NOT_TESTED
    after = [t for t in seen if t.seq > intents[-1].seq and t.event.objects is not None]
    return FAIL if after else BLOCKED


def compensation_attempted(story: Story) -> Result:
    """Whether the inverse of the effect was ever handed in, or this work is one."""
    inverse = any(told.event.compensates for told in story.all(EffectClaimed))
    undone = any(told.event.decision == "COMPENSATE" for told in story.all(RetryDecided))
    return PASS if inverse or undone else NOT_TESTED


def states_separate(story: Story) -> Result:
    """Whether each of the five states rests on an event of its own, or says NOT_TESTED."""
    return separate(states(story))


def stale_stays_stale(story: Story) -> Result:
    """Whether evidence that was too old never led to ADMIT or EXPIRE, and blocked what rests on it."""
    found = []
    for told in story.all(AdmissionDecided):
        checks = {c.check: c for c in told.event.checks}
        fresh = checks.get("capacity-freshness")
        if fresh is None or fresh.reason != "STALE_CAPACITY_EVIDENCE":
            continue
        rests = [checks[n].result for n in ("start-delay", "expected-start") if n in checks]
        by_it = told.event.reason == "STALE_CAPACITY_EVIDENCE"
        right = told.event.verdict == "HOLD" if by_it else told.event.verdict != "ADMIT"
        found.append(fresh.result is FAIL and right and set(rests) == {BLOCKED})
    return _all(found)


def margin_apart_from_deadline(story: Story) -> Result:
    """Whether margin and completion were compared each for itself, wherever a start was expected."""
    found = []
    for told in story.all(AdmissionDecided):
        checks = {c.check: c for c in told.event.checks}
        start = checks.get("expected-start")
        if start is None or start.result is not PASS:
            continue
        both = [checks[n] for n in ("margin", "expected-completion") if n in checks]
        if any(c.result is NOT_TESTED for c in both):
            continue
        found.append(len(both) == 2 and both[0].required != both[1].required)
    return _all(found)


def holds_are_owned(story: Story) -> Result:
    """Whether every HOLD names an owner and a trigger (INV-3)."""
    found = [
        bool(told.event.owner_id and told.event.trigger)
        for told in story.all(AdmissionDecided)
        if told.event.verdict == "HOLD"
    ]
    found += [
        bool(told.event.owner and told.event.trigger)
        for told in story.all(RetryDecided)
        if told.event.decision == "HOLD"
    ]
    return _all(found)


def identities_separate(story: Story) -> Result:
    """Whether work, message, operation, effect, attempt and lease have each an identity of its own."""
    given, granted = story.envelope, story.last(LeaseGranted)
    if granted is None or story.own is None:
        return NOT_TESTED
    names = (
        story.item.id,
        given.message_id,
        given.operation_id,
        given.effect_id,
        outside.attempt(story),
        granted.event.lease.id,
    )
    return PASS if all(names) and len(set(names)) == len(names) else FAIL


def expiry_is_no_termination(story: Story) -> Result:
    """Whether the end of a lease was never written down as the end of its worker."""
    return _all(
        told.event.worker_termination == "BLOCKED" or _seen_ended(story, told.seq)
        for told in story.all(RetryDecided)
        if told.event.lease_state == "EXPIRED"
    )


def _seen_ended(story: Story, seq: int) -> bool:
    from remit.core.effect_events import WorkerTerminated

    return any(told.seq < seq for told in story.all(WorkerTerminated))


def fencing_is_local(story: Story) -> Result:
    """Whether what the destination does not enforce is BLOCKED beside a local fence that holds."""
    found = []
    for told in story.all(EffectIntended):
        checks = {c.check: c.result for c in told.event.checks}
        outer = [checks.get(name) for name in outside.EXTERNAL]
        found.append(checks.get("local-fencing") is PASS and set(outer) <= {PASS, BLOCKED})
    return _all(found)


def silence_is_not_absence(story: Story) -> Result:
    """Whether a missing answer left the effect UNCERTAIN until a look-up said otherwise (INV-13)."""
    asked, uncertain = False, False
    for told in story.all(EffectUncertain, EffectObserved, RetryDecided):
        event = told.event
        if isinstance(event, EffectUncertain):
            asked = uncertain = True
        elif isinstance(event, EffectObserved):
            uncertain = event.state == EffectState.UNCERTAIN
        elif uncertain and event.effect_state != EffectState.UNCERTAIN:
            return FAIL
    return PASS if asked else NOT_TESTED


def looked_up_before_retry(story: Story) -> Result:
    """Whether nothing was decided but HOLD, and nothing sent, while an effect was open (INV-14)."""
    asked, known = False, True
    for told in story.all(EffectIntended, EffectUncertain, EffectObserved, RetryDecided):
        event = told.event
        match event:
            case EffectIntended():
                if not known:
                    return FAIL
                known = False
            case EffectUncertain():
                known = False
            case EffectObserved():
                known = event.state in (EffectState.PRESENT, EffectState.ABSENT)
            case _:
                asked = True
                if not known and event.decision not in ("HOLD", "COMPENSATE"):
                    return FAIL
    return PASS if asked else NOT_TESTED


def results_retained(story: Story) -> Result:
    """Whether every verdict says what its deciding check says, and none took back an earlier one.

    A hold on missing evidence is BLOCKED and an expiry FAIL; work that expired was never begun.
    """
    found = []
    for told in story.all(AdmissionDecided):
        event = told.event
        reasons = {c.reason: c.result for c in event.checks if c.reason}
        deciding = reasons.get(event.reason)
        if event.verdict == "EXPIRE":
            found.append(deciding is FAIL and event.to != "leased")
        elif event.verdict == "HOLD":
            found.append(deciding in (FAIL, BLOCKED))
    for told in story.all(RetryDecided):
        if told.event.effect_state == EffectState.UNCERTAIN:
            found.append(told.event.decision == "HOLD" and told.event.execution == "NOT_STARTED")
    return _all(found)


QUESTIONS: Final[dict[str, Callable[[Story], Result]]] = {
    "execution-attempted": execution_attempted,
    "result-kept": result_kept,
    "effect-observed": effect_observed,
    "second-send": second_send,
    "duplicate-effect": duplicate_effect,
    "compensation-attempted": compensation_attempted,
    "states-separate": states_separate,
    "stale-stays-stale": stale_stays_stale,
    "margin-apart-from-deadline": margin_apart_from_deadline,
    "holds-are-owned": holds_are_owned,
    "identities-separate": identities_separate,
    "expiry-is-no-termination": expiry_is_no_termination,
    "fencing-is-local": fencing_is_local,
    "silence-is-not-absence": silence_is_not_absence,
    "looked-up-before-retry": looked_up_before_retry,
    "results-retained": results_retained,
}
"""By the name under which scenarios ask as well."""


def asked(story: Story) -> dict[str, Result]:
    """All questions with their answers."""
    return {name: answer(story) for name, answer in QUESTIONS.items()}
