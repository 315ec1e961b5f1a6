"""Effects from intent to observation: INV-4, INV-7, INV-9, INV-10, INV-13 and INV-14, by named cases."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.core.effect_world import DIGEST, EXACT, MINUTE, RECONCILER, EffectWorld
from tests.core.triaging import put
from tests.core.world import HUMAN, SECOND

from remit.core import commands as c
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.commands import Command, Text
from remit.core.effect_events import EffectIntended, ResponseReported, RetryDecided
from remit.core.effect_facts import Comparison, EffectState
from remit.core.facts import Lease
from remit.core.refusals import Code
from remit.core.retrying import JITTER
from remit.core.triage import TriageKind

BOUND = 30 * SECOND
UNDER: dict[str, Callable[[Lease], Command]] = {
    "intend": lambda x: c.IntendEffect(x.item, x.fence),
    "sent": lambda x: c.NoteSent(x.item, x.fence),
    "report": lambda x: c.ReportEffect(x.item, x.fence, "200", text=Text("done")),
    "uncertain": lambda x: c.NoteUncertain(x.item, x.fence, "TIMEOUT"),
    "renew": lambda x: c.RenewLease(x.item, x.fence),
    "release": lambda x: c.ReleaseLease(x.item, x.fence),
    "fail": lambda x: c.FailWork(x.item, x.fence),
}
"""Every write under a lease on effect work."""


def absent(world: EffectWorld, item: str, **more: Any) -> None:
    """The worker is seen to have ended, the bound passes, and nothing is there."""
    world.ended()
    world.pass_us(BOUND + 1)
    world.look("NONE", **more)
    assert world.effect().state is EffectState.ABSENT, item


# INV-13: an intent comes first, and silence says nothing.


def test_inv_13_nothing_is_reported_of_what_was_not_intended() -> None:
    world = EffectWorld()
    lease = world.lease(world.submit())
    for name in ("sent", "report", "uncertain"):
        world.no("bob", UNDER[name](lease), Code.EFFECT_NOT_INTENDED)


def test_an_intent_names_everything_before_anything_is_sent() -> None:
    world = EffectWorld()
    item, lease = world.started(blast_radius="one object", compensation="DELETE")
    event = world.last(EffectIntended)
    assert (event.item, event.lease, event.fence) == (item, lease.id, lease.fence)
    assert event.payload_digest == DIGEST
    assert event.key == world.effect().key
    assert (event.blast_radius, event.reversal) == ("one object", "DELETE")
    assert "digest equals" in event.confirmation
    assert world.effect().state is EffectState.INTENDED


def test_what_a_destination_does_not_enforce_is_a_narrowed_claim() -> None:
    world = EffectWorld(in_flight_ms=None)
    world.started()
    checks = {x.check: x.result for x in world.last(EffectIntended).checks}
    for name in (
        "external-fencing",
        "external-duplicate-prevention",
        "request-expiry",
        "in-flight-bound",
    ):
        assert checks[name] is Result.BLOCKED
    assert checks["local-fencing"] is Result.PASS
    assert checks["look-up"] is Result.PASS
    world = EffectWorld(fence=True, idempotency_key=True)
    world.started()
    checks = {x.check: x.result for x in world.last(EffectIntended).checks}
    assert checks["external-fencing"] is Result.PASS
    assert checks["external-duplicate-prevention"] is Result.PASS


def test_inv_13_the_end_of_a_lease_is_neither_failure_nor_the_end_of_its_worker() -> None:
    world = EffectWorld()
    item, lease = world.lost()
    assert world.status(item) == "held"
    hold = world.item(item).hold
    assert hold is not None
    assert (hold.reason, hold.owner, hold.identity) == (
        "PRIOR_EFFECT_UNRECONCILED",
        "retry",
        "RETRY-3",
    )
    assert hold.trigger == "reconcile:E-1"
    decided = world.retry()
    assert (decided.decision, decided.lease_state) == ("HOLD", "EXPIRED")
    assert (decided.attempt_result, decided.effect_state) == ("UNCERTAIN", "UNCERTAIN")
    assert (decided.worker_termination, decided.acknowledgement) == ("BLOCKED", "NOT_RECORDED")
    assert (decided.prior_attempt, decided.candidate_attempt) == ("A-1.1", "A-1.2")
    assert decided.candidate_fence == lease.fence + 1
    assert decided.execution == "NOT_STARTED"


def test_a_candidate_fence_is_the_one_that_the_next_lease_has() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    fence = world.retry().candidate_fence
    absent(world, item)
    assert world.lease(item).fence == fence


def test_work_that_sent_nothing_goes_back_to_ready_when_its_lease_ends() -> None:
    world = EffectWorld()
    item = world.submit()
    world.until_over(world.lease(item))
    assert world.status(item) == "ready"
    lease = world.lease(item)
    world.ok("bob", c.ReleaseLease(item, lease.fence))
    assert world.status(item) == "ready"
    assert world.counted("RetryDecided") == 0


def test_a_hand_back_returns_its_count_only_before_a_report_or_an_intent() -> None:
    world = EffectWorld()
    item = world.submit()
    lease = world.lease(item)
    world.ok("bob", c.ReleaseLease(item, lease.fence))
    assert world.item(item).counted == 0
    lease = world.lease(item)
    world.intend(lease)
    world.ok("bob", c.ReleaseLease(item, lease.fence))
    assert (world.item(item).counted, world.status(item)) == (1, "held")
    assert world.retry().lease_state == "RELEASED"


def test_no_answer_under_a_live_lease_is_uncertain_and_ends_no_lease() -> None:
    world = EffectWorld()
    item, lease = world.started()
    world.ok("bob", UNDER["uncertain"](lease))
    assert (world.effect().state, world.status(item)) == (EffectState.UNCERTAIN, "leased")
    world.ok("bob", UNDER["report"](lease))
    assert world.effect().state is EffectState.UNCERTAIN, "a late answer is evidence, no more"
    assert world.status(item) == "held"


def test_a_report_is_evidence_and_ships_nothing() -> None:
    world = EffectWorld()
    item, lease = world.started()
    world.ok("bob", UNDER["report"](lease))
    assert (world.status(item), world.effect().state) == ("held", EffectState.INTENDED)
    assert world.last(ResponseReported).trigger == "reconcile:E-1"
    world.look("FOUND")
    assert world.status(item) == "verified"
    assert world.counted("EffectShipped") == world.counted("EffectVerified") == 1


def test_only_an_enrolled_service_that_never_held_the_work_observes_it() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    for actor in (HUMAN, "bob", "cat"):
        world.no(actor, world.seeing("FOUND"), Code.ACTOR_KIND_REFUSED)
    world.ok(HUMAN, c.EnrolActor("robot", "service"))
    world.look("NONE")
    absent(world, item)
    lease = world.lease(item, actor="robot")
    world.intend(lease)
    world.until_over(lease)
    world.no("robot", world.seeing("FOUND"), Code.RECONCILER_IS_HOLDER)
    world.look("FOUND")
    assert world.status(item) == "verified"


def test_what_only_remit_can_have_seen_is_taken_from_no_caller() -> None:
    world = EffectWorld()
    item, lease = world.started()
    effect = world.effect()
    for command in (
        world.seeing("FOUND"),
        c.NoteTermination("E-1", effect.attempt, "gone", world.now),
        c.ReportEffect(item, lease.fence, "200", authoritative=True),
    ):
        answer = world.ops("bob").run(command)
        assert getattr(answer, "code", None) is Code.BAD_INPUT, command


# INV-7: fences and time.


@pytest.mark.parametrize("write", UNDER)
@pytest.mark.parametrize("later", [0, 1, 100 * MINUTE])
def test_inv_7_after_its_end_a_paused_worker_changes_nothing(write: str, later: int) -> None:
    world = EffectWorld()
    item = world.submit()
    lease = world.lease(item)
    if write != "intend":
        world.intend(lease)
    intents = world.effect().intents
    world.pass_us(lease.expires_at - world.now + later)
    answer = world.do("bob", UNDER[write](lease))
    assert getattr(answer, "code", None) in (Code.LEASE_EXPIRED, Code.STALE_FENCE)
    assert world.effect().intents == intents
    assert world.status(item) == ("ready" if write == "intend" else "held")
    kept = write in ("sent", "report", "uncertain", "release", "fail")
    assert world.counted("LateReportRecorded") == kept


@pytest.mark.parametrize("write", UNDER)
@pytest.mark.parametrize("off", [-1, 1])
def test_inv_7_another_fence_is_refused(write: str, off: int) -> None:
    world = EffectWorld()
    _, lease = world.started()
    before = world.effect()
    wrong = changed(lease, fence=lease.fence + off)
    world.no("bob", UNDER[write](wrong), Code.STALE_FENCE)
    assert world.effect() == before


def test_after_the_deadline_no_effect_is_intended_and_a_live_lease_may_still_complete() -> None:
    world = EffectWorld()
    item = world.submit(deadline=world.now + MINUTE)
    lease = world.lease(item)
    world.pass_us(MINUTE)
    world.no("bob", UNDER["intend"](lease), Code.DEADLINE_PASSED)
    world.ok("bob", UNDER["renew"](lease))
    world.ok("bob", c.ReleaseLease(item, lease.fence))
    assert world.item(item).outcome == "expired"
    world = EffectWorld()
    item, lease = world.started(deadline=world.now + MINUTE)
    world.pass_us(MINUTE)
    world.ok("bob", UNDER["report"](lease))
    [check] = world.last(ResponseReported).checks
    assert (check.check, check.result) == ("deadline", Result.FAIL)


def test_the_kill_switch_stops_intents_and_lets_reports_in() -> None:
    world = EffectWorld()
    item = world.submit()
    lease = world.lease(item)
    world.ok("cat", c.EngageKillSwitch("stop"))
    world.no("bob", UNDER["intend"](lease), Code.KILL_SWITCH_ON)
    world.ok(HUMAN, c.ReleaseKillSwitch())
    world.intend(lease)
    world.ok("cat", c.EngageKillSwitch("stop"))
    world.ok("bob", UNDER["report"](lease))
    assert world.status(item) == "held"


# Acquisition.


@pytest.mark.parametrize(
    ("left", "margin", "code"),
    [(0, None, "expired"), (1, None, ""), (2_000, 2, ""), (1_999, 2, "expired")],
)
def test_a_lease_asks_deadline_and_margin_again(left: int, margin: int | None, code: str) -> None:
    world = EffectWorld()
    deadline = world.now + MINUTE
    item = world.submit(deadline=deadline, minimum_completion_margin_ms=margin)
    world.pass_us(MINUTE - left)
    if code:
        world.no("bob", c.GrantLease(), Code.NOTHING_READY)
        world.no("bob", c.GrantLease(item), Code.ITEM_NOT_READY)
        assert str(world.item(item).outcome) == "expired", "whoever asks first has it closed"
    else:
        event: Any = world.ok("bob", c.GrantLease(item)).events[-1].event
        checks = {x.check: x.result for x in event.checks}
        assert checks["deadline"] is Result.PASS
        wanted = Result.NOT_TESTED if margin is None else Result.PASS
        assert checks["margin-zero-delay"] is wanted


def test_a_lease_records_the_checks_of_effect_work() -> None:
    world = EffectWorld()
    event: Any = world.ok("bob", c.GrantLease(world.submit())).events[-1].event
    checks = {x.check: x.result for x in event.checks}
    assert checks["prior-effect"] is checks["cancellation"] is Result.PASS
    assert checks["not-before"] is checks["deadline"] is Result.NOT_TESTED


def test_work_that_must_not_start_is_passed_over_for_what_may() -> None:
    world = EffectWorld()
    world.submit(deadline=world.now + MINUTE)
    second = world.submit(effect_id="E-2")
    world.pass_us(2 * MINUTE)
    assert world.lease().item == second


# INV-14 and INV-4.


def test_inv_14_nothing_starts_while_the_outcome_is_unknown() -> None:
    world = EffectWorld()
    item, lease = world.lost()
    for command in (
        c.GrantLease(item),
        c.Recheck(item),
        c.RecheckHolds("reconcile:E-1"),
        c.RecheckHolds(),
    ):
        world.do("cat", command)
        assert world.status(item) == "held", command
    world.no("bob", UNDER["intend"](lease), Code.STALE_FENCE)
    assert world.effect().intents == 1


def test_inv_14_one_attempt_intends_once() -> None:
    world = EffectWorld()
    _, lease = world.started()
    world.no("bob", UNDER["intend"](lease), Code.EFFECT_UNRECONCILED)
    world.ok("bob", UNDER["uncertain"](lease))
    world.no("bob", UNDER["intend"](lease), Code.EFFECT_UNRECONCILED)


def test_inv_14_what_is_present_is_never_sent_again() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    world.look("FOUND")
    assert world.retry().decision == "SUPPRESS"
    follower = world.submit()
    assert world.item(follower).outcome == "coalesced"
    world.no("bob", c.GrantLease(item), Code.ITEM_NOT_READY)


def test_inv_14_a_second_work_with_the_same_effect_waits_for_the_first_ones_look_up() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    second = world.submit()
    assert world.waits(second) == "EFFECT_UNCERTAIN"
    world.look("FOUND")
    world.engine.settle()
    assert world.status(item) == "verified"
    assert world.item(second).outcome == "coalesced"


def test_inv_4_nothing_moves_on_while_the_effect_is_open() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    for outcome in ("cancelled", "failed", "rejected", "expired"):
        world.no(HUMAN, c.CloseItem(item, outcome), Code.EFFECT_UNRECONCILED)
    world.ok(HUMAN, put(item, "ambiguity"))
    record = world.item(item).triage[0]
    for how in ("cancel", "fail"):
        world.no(HUMAN, c.ResolveTriage(record, how, "because"), Code.EFFECT_UNRECONCILED)
    world.ok(HUMAN, c.ResolveTriage(record, "requeue", "because"))
    assert world.status(item) == "held", "never ready while the effect is open"
    assert world.waits(item) == "PRIOR_EFFECT_UNRECONCILED"


def test_inv_4_the_refusal_writes_nothing() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    before = world.state()
    world.no(HUMAN, c.CloseItem(item, "failed"), Code.EFFECT_UNRECONCILED)
    assert world.state() == before


def test_inv_9_a_look_up_that_was_overtaken_is_worth_nothing() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    early = world.seeing("NONE")
    absent(world, item)
    lease = world.lease(item)
    world.intend(lease)
    world.pass_us(2 * BOUND)
    world.no(RECONCILER, early, Code.OBSERVATION_STALE)
    assert world.effect().state is EffectState.INTENDED


def test_inv_9_the_same_look_up_under_one_command_id_is_recorded_once() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    seen = world.seeing("FOUND")
    first = world.ok(RECONCILER, seen, "look-1")
    assert world.ok(RECONCILER, seen, "look-1").events == first.events
    assert world.counted("EffectObserved") == 1
    assert world.status(item) == "verified"


def test_a_report_asked_again_under_its_command_id_answers_as_before() -> None:
    world = EffectWorld()
    _, lease = world.started()
    first = world.ok("bob", UNDER["report"](lease), "r-1")
    assert world.ok("bob", UNDER["report"](lease), "r-1").events == first.events


# INV-10 and retries.


def test_inv_10_a_worker_that_dies_each_time_is_quarantined_after_its_attempts() -> None:
    world = EffectWorld()
    item = world.submit()
    for attempt in range(3):
        world.until_over(world.lease(item))
        assert world.status(item) == ("ready" if attempt < 2 else "triaged")
    assert world.triage_of(item) == ("poison",)


def test_inv_10_attempts_that_sent_end_in_quarantine_once_they_are_absent() -> None:
    world = EffectWorld()
    item = world.submit()
    for attempt in range(3):
        lease = world.lease(item)
        world.intend(lease)
        world.until_over(lease)
        assert world.status(item) == "held", "an open effect is looked up before all else"
        absent(world, item)
        assert world.status(item) == ("ready" if attempt < 2 else "triaged")
    assert world.retry().decision == "QUARANTINE"
    assert world.triage_of(item) == ("poison",)
    record = world.item(item).triage[0]
    world.ok(HUMAN, c.ResolveTriage(record, "requeue", "repaired"))
    assert world.status(item) == "ready"
    assert (world.intent(item).retries, world.item(item).counted) == (0, 0)


def test_a_retry_waits_for_its_back_off_and_then_goes_through_all_of_admission() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    absent(world, item, jitter=JITTER - 1)
    decided = world.retry()
    assert (decided.decision, decided.recheck_at - world.now) == ("RETRY", 999_999)
    assert world.waits(item) == "RETRY_BACKOFF"
    world.pass_us(999_998)
    world.ok(HUMAN, c.Recheck(item))
    assert world.status(item) == "held"
    world.pass_us(1)
    world.ok(HUMAN, c.Recheck(item))
    assert world.status(item) == "ready"
    assert world.intent(item).retries == 1


def test_a_back_off_outlives_what_the_work_is_held_for_meanwhile() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    absent(world, item, jitter=JITTER - 1)
    due = world.retry().recheck_at
    world.ok(HUMAN, c.CancelWork(item, "UNOBSERVABLE"))
    assert world.waits(item) == "CANCELLATION_UNOBSERVABLE"
    world.ok(HUMAN, c.CancelWork(item, "NOT_REQUESTED"))
    assert world.waits(item) == "RETRY_BACKOFF"
    world.pass_us(due - world.now)
    world.ok(HUMAN, c.Recheck(item))
    assert world.status(item) == "ready"


def test_a_retry_past_its_deadline_expires_with_the_effect_absent() -> None:
    world = EffectWorld()
    item, _ = world.lost(deadline=world.now + 20 * MINUTE)
    world.pass_us(20 * MINUTE)
    absent(world, item)
    assert world.item(item).outcome == "expired"


def test_irreversible_work_stays_held_for_a_human_after_absence() -> None:
    world = EffectWorld()
    item, _ = world.lost(replay_class="IRREVERSIBLE", decision="D-1")
    absent(world, item)
    assert world.retry().decision == "HOLD"
    world.ok(HUMAN, c.Recheck(item))
    hold = world.item(item).hold
    assert hold is not None
    assert (hold.reason, hold.owner) == ("HUMAN_DECISION_MISSING", "retry")
    world.ok(HUMAN, c.CloseItem(item, "failed"))


# What a look-up leads to.


def test_a_contradiction_goes_to_triage_and_a_human_may_have_it_looked_up_again() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    world.look("FOUND", objects=2)
    assert world.triage_of(item) == ("effect-mismatch",)
    assert world.effect().state is EffectState.CONTRADICTED
    record = world.item(item).triage[0]
    world.look("FOUND")
    assert world.status(item) == "triaged", "a mismatch is for somebody to settle"
    world.ok(HUMAN, c.ResolveTriage(record, "reverify", "one was removed"))
    assert world.status(item) == "shipped"
    world.look("FOUND")
    assert world.status(item) == "verified"


def test_present_after_absent_with_no_intent_between_is_a_contradiction() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    absent(world, item)
    world.look("FOUND")
    assert world.triage_of(item) == ("effect-mismatch",)


def test_present_after_absent_with_an_intent_between_is_present() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    absent(world, item)
    world.intend(world.lease(item))
    world.look("FOUND")
    assert world.status(item) == "verified"


def test_none_after_present_is_a_contradiction_and_the_verified_work_stays() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    world.look("FOUND")
    world.look("NONE")
    assert world.effect().state is EffectState.CONTRADICTED
    assert world.status(item) == "verified"


def test_present_while_the_lease_is_live_ships_and_ends_the_lease() -> None:
    world = EffectWorld()
    item, lease = world.started()
    world.look("FOUND")
    assert world.status(item) == "verified"
    world.no("bob", UNDER["report"](lease), Code.STALE_FENCE)


def test_without_a_look_up_a_key_or_a_receipt_it_goes_to_triage_when_the_lease_ends() -> None:
    world = EffectWorld(lookup=False)
    item, _ = world.lost()
    assert world.triage_of(item) == ("effect-uncertain",)
    assert world.retry().decision == "HOLD"


def test_looks_without_a_bound_end_in_triage_and_a_late_find_still_ships() -> None:
    world = EffectWorld(in_flight_ms=None)
    item, _ = world.lost()
    for _ in range(3):
        world.look("NONE")
        assert world.status(item) == "held"
    world.look("NONE")
    assert world.triage_of(item) == ("effect-uncertain",)
    world.look("FOUND")
    assert world.status(item) == "verified"
    assert world.item(item).triage == ()


def test_a_record_that_only_waited_goes_back_to_held_once_it_is_absent() -> None:
    world = EffectWorld(in_flight_ms=None, fence=True)
    item, _ = world.lost()
    for _ in range(4):
        world.look("NONE")
    assert world.triage_of(item) == ("effect-uncertain",)
    world.look("NONE", confirmed_fence=99, jitter=JITTER - 1)
    assert world.status(item) == "held"
    assert world.item(item).counted == 1, "a look-up forgives no attempt"
    assert world.retry().decision == "RETRY"


def test_a_request_expiry_that_is_enforced_bounds_what_may_arrive() -> None:
    world = EffectWorld(request_expiry=True)
    item = world.submit()
    lease = world.lease(item)
    expires = world.now + MINUTE
    world.intend(lease, request_expires_at=expires)
    world.until_over(lease)
    assert world.effect().arrives_until == expires + BOUND
    world.look("NONE")
    assert world.effect().state is EffectState.ABSENT


def test_a_request_expiry_that_nobody_enforces_bounds_nothing() -> None:
    world = EffectWorld(request_expiry=False)
    item = world.submit()
    lease = world.lease(item)
    world.intend(lease, request_expires_at=world.now + MINUTE)
    assert world.effect().arrives_until is None


def test_a_workers_end_is_believed_of_its_own_attempt_only() -> None:
    world = EffectWorld()
    world.lost()
    effect = world.effect()
    at = world.now
    for attempt, when in (("A-1.2", at), (effect.attempt, at + 1), (effect.attempt, 1)):
        world.no(RECONCILER, c.NoteTermination("E-1", attempt, "gone", when), Code.BAD_INPUT)
    world.ended(ago=5)
    assert world.effect().arrives_until == world.now - 5 + BOUND
    assert world.effect().terminated_at == world.now - 5


# PURE work.


def test_pure_work_ships_on_the_digest_of_its_stored_result() -> None:
    world = EffectWorld()
    item = world.pure()
    lease = world.lease(item)
    world.no("bob", UNDER["intend"](lease), Code.BAD_INPUT)
    world.no("bob", c.ReportEffect(item, lease.fence, text=Text("42")), Code.BAD_INPUT)
    digest = hashlib.sha256(b"42").hexdigest()
    world.ok("bob", c.ReportEffect(item, lease.fence, text=Text("42"), result_digest=digest))
    assert world.status(item) == "held"
    shown = (("effect_id", "P-1"), ("digest", digest))
    world.look("FOUND", "P-1", record="remit:result", values=shown)
    assert world.status(item) == "verified"
    assert world.counted("RetryDecided") == 0


def test_pure_work_whose_lease_ends_goes_back_to_ready() -> None:
    world = EffectWorld()
    item = world.pure()
    world.until_over(world.lease(item))
    assert world.status(item) == "ready"


def test_pure_work_whose_result_is_not_the_one_reported_goes_to_triage() -> None:
    world = EffectWorld()
    item = world.pure()
    lease = world.lease(item)
    world.ok("bob", c.ReportEffect(item, lease.fence, result_digest="d" * 64))
    shown = (("effect_id", "P-1"), ("digest", "e" * 64))
    world.look("FOUND", "P-1", record="remit:result", values=shown)
    assert world.triage_of(item) == ("effect-mismatch",)


def test_pure_work_that_lost_its_result_is_made_again() -> None:
    world = EffectWorld()
    item = world.pure()
    lease = world.lease(item)
    world.ok("bob", c.ReportEffect(item, lease.fence, result_digest="d" * 64))
    world.look("UNAVAILABLE", "P-1", record="remit:result")
    assert world.retry().reason == "RESULT_LOST"
    assert world.status(item) == "ready"


@pytest.mark.parametrize("result", ["FOUND", "UNAVAILABLE"])
def test_pure_work_may_carry_on_an_effect_that_was_looked_for_in_vain(result: str) -> None:
    """Nothing of the work before, its answer and its absence included, says anything of this one."""
    world = EffectWorld()
    first, lease = world.started()
    world.ok("bob", c.ReportEffect(first, lease.fence, "200", "f" * 64))
    absent(world, first)
    world.ok(HUMAN, c.CancelWork(first, "REQUESTED"))
    assert world.status(first) == "closed"
    item = world.pure("E-1", payload_digest="B", manifest_id="")
    effect = world.effect()
    assert (effect.item, effect.state) == (item, EffectState.NOT_STARTED)
    assert (effect.response, effect.response_seq, effect.result_digest) == ("", 0, "")
    early = world.seeing(result, record="remit:result", values=(("effect_id", "E-1"),))
    world.no(RECONCILER, early, Code.EFFECT_NOT_INTENDED)
    lease = world.lease(item)
    digest = hashlib.sha256(b"42").hexdigest()
    world.ok("bob", c.ReportEffect(item, lease.fence, text=Text("42"), result_digest=digest))
    shown = (("effect_id", "E-1"), ("digest", digest)) if result == "FOUND" else ()
    world.look(result, record="remit:result", values=shown)
    assert world.status(item) == ("verified" if result == "FOUND" else "ready")


# Cancellation.


@pytest.mark.parametrize("leased", [True, False])
def test_cancelled_with_an_intent_it_is_put_aside_and_looked_up(leased: bool) -> None:
    for result, status in (("FOUND", "verified"), ("NONE", "closed"), ("UNAVAILABLE", "triaged")):
        world = EffectWorld()
        item, lease = world.started()
        if not leased:
            world.until_over(lease)
        world.ok(HUMAN, c.CancelWork(item))
        assert world.triage_of(item) == ("cancelled-in-flight",)
        if result == "NONE":
            world.ended()
            world.pass_us(BOUND + 1)
        world.look(result)
        assert world.status(item) == status, result
        if status == "closed":
            assert world.item(item).outcome == "cancelled"


def test_cancelled_before_anything_is_intended_it_is_closed() -> None:
    world = EffectWorld()
    for leased in (False, True):
        item = world.submit(effect_id=f"E-{leased}")
        if leased:
            world.lease(item)
        world.ok(HUMAN, c.CancelWork(item))
        assert world.item(item).outcome == "cancelled"


def test_work_that_is_cancelled_under_a_lease_intends_nothing_any_more() -> None:
    world = EffectWorld()
    item = world.submit()
    lease = world.lease(item)
    world.ok(HUMAN, c.CancelWork(item, "UNOBSERVABLE"))
    world.no("bob", UNDER["intend"](lease), Code.WORK_CANCELLED)


def test_after_the_observation_a_cancellation_is_too_late() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    world.look("FOUND")
    world.no(HUMAN, c.CancelWork(item), Code.TRANSITION_REFUSED)


# Giving up, and compensation.


def test_work_that_is_given_up_after_an_intent_stays_uncertain() -> None:
    world = EffectWorld()
    item, lease = world.started()
    world.ok("bob", c.FailWork(item, lease.fence, TriageKind.REFUSAL.value, Text("no")))
    effect = world.effect()
    assert (effect.state, effect.ended) == (EffectState.UNCERTAIN, "FAILED")
    record = world.item(item).triage[0]
    world.no(HUMAN, c.ResolveTriage(record, "fail", "because"), Code.EFFECT_UNRECONCILED)


def inverse(world: EffectWorld, item: str, **more: Any) -> c.CompensateEffect:
    test = (Comparison("gone", "effect_id", "equals", "E-1-UNDONE"),)
    envelope = world.envelope(
        **{
            "effect_id": "E-1-UNDONE",
            "operation_id": "DELETE-PACKAGE",
            "completion_test": test,
            **more,
        }
    )
    return c.CompensateEffect(item, envelope, f"{world.made:064x}", reason=Text("wrong package"))


def test_a_compensation_is_a_linked_effect_of_its_own() -> None:
    world = EffectWorld()
    item, _ = world.lost(replay_class="COMPENSATABLE", compensation="DELETE-PACKAGE")
    world.no(HUMAN, inverse(world, item), Code.EFFECT_UNRECONCILED)
    world.look("FOUND")
    world.no(HUMAN, inverse(world, item, operation_id="OTHER"), Code.BAD_INPUT)
    world.no(HUMAN, inverse(world, item, effect_id="E-1"), Code.BAD_INPUT)
    world.ok(HUMAN, inverse(world, item))
    undone = world.effect("E-1-UNDONE")
    assert (undone.compensates, world.status(undone.item)) == ("E-1", "ready")
    assert world.retry().decision == "COMPENSATE"
    assert world.effect().state is EffectState.PRESENT, "what came about stays a fact"
    world.no(HUMAN, inverse(world, item, effect_id="E-9"), Code.EFFECT_CONFLICT)
    lease = world.lease(undone.item)
    world.intend(lease)
    world.look("FOUND", "E-1-UNDONE", values=(("effect_id", "E-1-UNDONE"),))
    assert world.status(undone.item) == "verified"


def test_only_what_declares_its_inverse_is_compensated() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    world.look("FOUND")
    world.no(HUMAN, inverse(world, item), Code.BAD_INPUT)


# Adoption.


def test_after_adoption_every_effect_is_uncertain_and_work_is_held() -> None:
    world = EffectWorld()
    ready = world.submit(effect_id="E-ready")
    pure = world.pure()
    leased, lease = world.started(effect_id="E-leased")
    idle = world.submit(effect_id="E-idle")
    world.lease(idle)
    done = world.submit(effect_id="E-done")
    world.intend(world.lease(done))
    shown = (("effect_id", "E-done"), *EXACT[1:])
    world.look("FOUND", "E-done", values=shown)
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    world.no("bob", c.GrantLease(ready), Code.EFFECT_UNRECONCILED)
    world.no("bob", UNDER["report"](lease), Code.STALE_FENCE)
    for item in (ready, pure, leased, idle, done):
        world.ok("remit-queue", c.CarryEpoch(item))
    for item in (ready, leased, idle):
        hold = world.item(item).hold
        assert hold is not None, item
        assert (hold.reason, hold.owner) == ("EPOCH_CHANGED", "retry")
    assert world.status(pure) == "ready"
    assert world.status(done) == "verified"
    assert world.lease().item == pure


def test_after_adoption_bounds_count_from_it_and_absence_lets_work_begin() -> None:
    world = EffectWorld()
    item = world.submit()
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    world.ok("remit-queue", c.CarryEpoch(item))
    world.pass_us(BOUND)
    world.look("NONE")
    assert world.effect().state is EffectState.UNCERTAIN
    world.pass_us(1)
    world.look("NONE")
    assert world.effect().state is EffectState.ABSENT
    assert (world.status(item), world.intent(item).retries) == ("ready", 0)


def test_after_adoption_what_was_sent_in_lost_history_is_found_and_not_sent_again() -> None:
    world = EffectWorld()
    item = world.submit()
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    world.ok("remit-queue", c.CarryEpoch(item))
    world.look("FOUND")
    assert world.status(item) == "verified"


def test_work_submitted_again_after_adoption_waits_for_a_look_up() -> None:
    world = EffectWorld()
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    item = world.submit()
    hold = world.item(item).hold
    assert hold is not None
    assert (hold.reason, hold.trigger) == ("PRIOR_EFFECT_UNRECONCILED", "reconcile:E-1")
    world.look("FOUND")
    assert world.status(item) == "verified"
    assert world.pure() == "W-2"
    assert world.status("W-2") == "ready"


def test_after_adoption_a_find_after_absence_is_no_contradiction() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    absent(world, item)
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    world.ok("remit-queue", c.CarryEpoch(item))
    world.look("FOUND")
    assert world.status(item) == "verified", "the intent between may be what was lost"


def test_after_adoption_an_effect_of_closed_work_is_looked_up_for_those_who_wait_for_it() -> None:
    world = EffectWorld()
    first = world.submit()
    world.ok(HUMAN, c.CancelWork(first))
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    second = world.submit()
    assert world.waits(second) == "EFFECT_UNCERTAIN"
    world.pass_us(BOUND + 1)
    world.look("NONE")
    world.engine.settle()
    assert world.status(second) == "ready"
    assert world.effect().item == second


def test_after_adoption_an_effect_that_was_pure_work_s_is_unknown_to_work_that_sends() -> None:
    world = EffectWorld()
    first = world.pure("E-1")
    world.ok(HUMAN, c.CancelWork(first))
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    second = world.submit()
    assert world.waits(second) == "PRIOR_EFFECT_UNRECONCILED"
    assert world.effect().state is EffectState.UNCERTAIN


def test_after_adoption_present_that_is_gone_is_a_contradiction_and_never_absent() -> None:
    world = EffectWorld()
    world.lost()
    world.look("FOUND")
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    world.pass_us(10 * MINUTE)
    world.look("NONE")
    assert world.effect().state is EffectState.CONTRADICTED


def test_every_retry_decision_of_these_is_an_event_with_all_its_parts() -> None:
    world = EffectWorld()
    item, _ = world.lost()
    world.look("UNAVAILABLE", replacement="cat")
    decided = world.retry()
    assert isinstance(decided, RetryDecided)
    assert decided.replacement == "cat"
    assert decided.observation == world.seen().observation
    assert {x.check: x.result for x in decided.checks} == {
        "prior-effect": Result.BLOCKED,
        "worker-termination": Result.BLOCKED,
    }
    assert world.status(item) == "held"
