"""Faults planted in admission on evidence, one at a time, with the property that must catch each.

``oracle`` is the comparison of the pure function with the table that was written apart from it; every
other name is a property of the watch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.core.mutants import Mutant

from remit.core import asked as sheets
from remit.core import capacity, followers, in_time, intents, rechecking, verdict
from remit.core.change import changed
from remit.core.decide import documents
from remit.core.decide import intents as doors
from remit.core.effect_events import AdmissionDecided
from remit.core.effect_facts import EffectState
from remit.core.evidence import Finding, Verdict
from remit.core.evolve import intents as folds
from remit.core.status import Status
from remit.core.view import Draft
from remit.stores.memory.transaction import MemoryRead

Patch = pytest.MonkeyPatch

MUTANTS: list[Mutant] = []


def mutant(*caught_by: str) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Register a fault under its function's name."""

    def enter(plant: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS.append(Mutant(plant.__name__, plant, caught_by))
        return plant

    return enter


def _finding(patch: Patch, change: Callable[[Finding], Finding]) -> None:
    true = verdict.assess

    def assess(*args: Any) -> Finding:
        return change(true(*args))

    for module in (verdict, intents):
        patch.setattr(module, "assess", assess)


# The evidence.


@mutant("oracle")
def stale_is_taken_as_fresh(patch: Patch) -> None:
    patch.setattr(capacity, "is_fresh", lambda seen, policy, now: True)


@mutant("oracle")
def an_age_equal_to_the_limit_is_stale(patch: Patch) -> None:
    def is_fresh(seen: Any, policy: Any, now: int) -> bool:
        return bool(now - seen.observed_at < policy.freshness_limit_ms * 1_000)

    patch.setattr(capacity, "is_fresh", is_fresh)


@mutant("oracle")
def the_future_is_fresh(patch: Patch) -> None:
    patch.setattr(capacity, "from_future", lambda seen, policy, now: False)


@mutant("oracle")
def what_is_lacking_counts_as_nought(patch: Patch) -> None:
    patch.setattr(capacity, "lacking", lambda seen, policy: ())
    true = capacity.start_of

    def start_of(seen: Any, admitted: int) -> Any:
        delay, duration = seen.start_delay_ms or 0, seen.duration_ms or 0
        return true(changed(seen, start_delay_ms=delay, duration_ms=duration), admitted)

    patch.setattr(capacity, "start_of", start_of)


@mutant("oracle")
def no_worker_is_one_worker(patch: Patch) -> None:
    true = capacity.free_workers
    patch.setattr(capacity, "free_workers", lambda seen: true(seen) or None)


@mutant("oracle")
def reserved_workers_are_counted(patch: Patch) -> None:
    patch.setattr(capacity, "free_workers", lambda seen: seen.worker_limit)


@mutant("oracle")
def the_debit_is_not_added(patch: Patch) -> None:
    true = capacity.start_of
    patch.setattr(capacity, "start_of", lambda seen, admitted: true(seen, 0))


@mutant("debits-recounted", "verdict-equals-oracle")
def the_debit_is_forgotten(patch: Patch) -> None:
    from remit.core import evolve

    def decided(get: Any, rec: Any, ev: AdmissionDecided, out: Any) -> None:
        folds._decided(get, rec, replace(ev, observation=""), out)

    patch.setitem(evolve._HANDLERS, AdmissionDecided, decided)


# The rows.


@mutant("oracle")
def a_hold_is_turned_into_an_expiry(patch: Patch) -> None:
    def change(found: Finding) -> Finding:
        if found.reason == "STALE_CAPACITY_EVIDENCE":
            return replace(found, verdict=Verdict.EXPIRE, outcome="expired")
        return found

    _finding(patch, change)


@mutant("oracle")
def a_full_store_admits(patch: Patch) -> None:
    """Admission from item count."""

    def change(found: Finding) -> Finding:
        if found.reason == "CAPACITY_EVIDENCE_MISSING":
            return replace(found, verdict=Verdict.ADMIT, reason="ELIGIBLE")
        return found

    _finding(patch, change)


def _without(patch: Patch, row: str) -> None:
    patch.setattr(verdict, row, lambda asked: None)


@mutant("oracle")
def the_prior_effect_is_not_asked(patch: Patch) -> None:
    _without(patch, "_prior")


@mutant("oracle")
def an_effect_that_is_there_is_sent_again(patch: Patch) -> None:
    true = verdict._prior

    def prior(asked: sheets.Asked) -> None:
        if asked.at.own is not EffectState.PRESENT:
            true(asked)

    patch.setattr(verdict, "_prior", prior)


@mutant("oracle")
def an_invalid_envelope_is_admitted(patch: Patch) -> None:
    _without(patch, "_valid")


@mutant("oracle")
def a_cancellation_is_not_seen(patch: Patch) -> None:
    _without(patch, "_cancelled")


@mutant("oracle")
def policy_forbids_nothing(patch: Patch) -> None:
    _without(patch, "_permitted")


@mutant("oracle")
def two_works_have_one_effect(patch: Patch) -> None:
    _without(patch, "_same")


@mutant("oracle")
def what_is_uncertain_is_followed(patch: Patch) -> None:
    patch.setattr(verdict, "_unknown", lambda rival: False)


@mutant("oracle")
def a_deadline_is_compared_the_wrong_way(patch: Patch) -> None:
    """``>=`` for ``>``: a deadline that is now has not passed."""
    true = verdict._alive

    def alive(asked: sheets.Asked) -> None:
        end = asked.envelope.deadline
        if end is not None and end == asked.begin:
            asked.envelope = changed(asked.envelope, deadline=end + 1)
        true(asked)
        asked.envelope = changed(asked.envelope, deadline=end)

    patch.setattr(verdict, "_alive", alive)


@mutant("oracle")
def lifetimes_are_not_measured_from_not_before(patch: Patch) -> None:
    true = sheets.Asked.__init__

    def init(self: sheets.Asked, *args: Any) -> None:
        true(self, *args)
        self.begin = self.now

    patch.setattr(sheets.Asked, "__init__", init)


@mutant("oracle")
def an_absent_margin_is_nought(patch: Patch) -> None:
    """It would decide before the deadline does, and say another reason."""
    patch.setattr(
        sheets.Asked,
        "margin_us",
        property(lambda self: (self.envelope.minimum_completion_margin_ms or 600_000) * 1_000),
    )


@mutant("oracle")
def work_may_begin_early(patch: Patch) -> None:
    _without(patch, "_early")


@mutant("oracle")
def the_margin_is_not_asked_at_the_expected_start(patch: Patch) -> None:
    true = in_time._starting

    def starting(asked: sheets.Asked, seen: Any) -> None:
        envelope = asked.envelope
        asked.envelope = changed(envelope, minimum_completion_margin_ms=None)
        true(asked, seen)
        asked.envelope = envelope

    patch.setattr(in_time, "_starting", starting)


@mutant("oracle")
def dependencies_are_not_asked(patch: Patch) -> None:
    _without(patch, "_needed")


@mutant("oracle")
def a_name_is_a_human_decision(patch: Patch) -> None:
    true = verdict._human

    def human(asked: sheets.Asked) -> None:
        asked.at = replace(asked.at, authorized_by=asked.at.authorized_by or "anybody")
        true(asked)

    patch.setattr(verdict, "_human", human)


# Holds, and what frees them.


@mutant("oracle", "INV-3-hold", "decisions-fold")
def a_hold_names_no_trigger(patch: Patch) -> None:
    _finding(patch, lambda found: replace(found, trigger=""))


@mutant("INV-3-wakes")
def a_hold_with_a_lifetime_never_wakes(patch: Patch) -> None:
    _finding(patch, lambda found: replace(found, recheck_at=0))


@mutant("held-only-for-cause")
def a_trigger_is_lost(patch: Patch) -> None:
    patch.setattr(documents, "make_due", lambda draft, trigger, horizon: None)


@mutant("held-only-for-cause")
def a_batch_is_the_last_one(patch: Patch) -> None:
    from remit.core.decide import rechecks

    patch.setattr(rechecking, "BATCH", 1)
    patch.setattr(rechecks, "BATCH", 1)
    patch.setattr(rechecks, "_reached", lambda due, looked: True)


@mutant("due-by-time")
def time_frees_nothing(patch: Patch) -> None:
    patch.setattr(MemoryRead, "waking", lambda self, now, limit: [])


@mutant("held-only-for-cause", "due-by-time")
def a_recheck_admits_nobody(patch: Patch) -> None:
    patch.setattr(rechecking, "review", lambda draft, name: None)


@mutant("evidence-alone-takes-nothing-back", "verdict-equals-oracle")
def ready_work_is_held_when_its_evidence_grows_old(patch: Patch) -> None:
    true = intents.gather

    def gather(draft: Draft, item: Any, intent: Any, *, eligible: bool) -> Any:
        return true(draft, item, intent, eligible=False)

    held = intents._hold

    def hold(draft: Draft, item: Any, found: Finding) -> bool:
        if item.status is not Status.READY:
            return held(draft, item, found)
        intents._write(draft, item, found, "T02", Status.HELD)
        return True

    patch.setattr(intents, "gather", gather)
    patch.setattr(intents, "_hold", hold)


# Messages, effects and who follows whom.


@mutant("one-receipt-a-message", "decisions-fold")
def a_redelivered_message_is_stored_again(patch: Patch) -> None:
    patch.setattr(doors, "_known", lambda draft, name: None)
    patch.setattr(doors, "_taken", lambda draft, envelope: None)


@mutant("stored-within-limit")
def storage_has_no_limit(patch: Patch) -> None:
    patch.setattr(doors, "_room", lambda draft, envelope, policy: None)


@mutant("stored-recounted")
def finished_work_is_stored_for_ever(patch: Patch) -> None:
    from remit.core.evolve import moves

    patch.setattr(moves, "TERMINAL", frozenset())


@mutant("INV-14-admit", "works-on-its-own-effect")
def an_effect_is_not_claimed(patch: Patch) -> None:
    patch.setattr(intents, "_claim", lambda draft, item: None)


@mutant("followers-go-on")
def followers_end_with_the_survivor(patch: Patch) -> None:
    from remit.core import settlement

    patch.setattr(settlement, "ended_without", lambda draft, item: False)


@mutant("each-follower-its-own-deadline")
def a_successor_gets_the_survivor_s_deadline(patch: Patch) -> None:
    true = followers._go_on

    def go_on(draft: Draft, follower: Any, survivor: Any, depend: Any) -> str:
        mine, its = intents.intent_of(draft, follower), intents.intent_of(draft, survivor)
        envelope = changed(mine.envelope, deadline=its.envelope.deadline)
        other = changed(mine, envelope=envelope)
        draft.delta["intent", follower.id] = other
        name = true(draft, follower, survivor, depend)
        draft.delta["intent", follower.id] = mine
        return name

    patch.setattr(followers, "_go_on", go_on)


@mutant("INV-2-separate", "decisions-fold")
def a_verdict_comes_before_validation(patch: Patch) -> None:
    patch.setattr(doors, "validate", lambda draft, item, size=0: None)
    true = intents.intent_of

    def intent_of(draft: Draft, item: Any) -> Any:
        return changed(true(draft, item), validated_seq=1)

    patch.setattr(intents, "intent_of", intent_of)
