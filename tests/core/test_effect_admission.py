"""Effect work through the real doors: taken in, decided, held, freed, coalesced, cancelled."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.effects import MINUTE, MINUTE_US, Effects, envelope
from tests.core.triaging import put
from tests.core.world import HUMAN, World, folded

from remit.core import commands as c
from remit.core import followers as following
from remit.core import rechecking
from remit.core.effect_events import HoldsRechecked, IntentReceived, IntentValidated, RechecksDue
from remit.core.effect_facts import EffectState, Fault
from remit.core.item_events import ItemTriaged
from remit.core.refusals import Code, Refused
from remit.service.engine import Done
from remit.service.submitting import intent_of, recheck_holds, submit

LIFE = 20 * MINUTE_US
MARGIN = 6 * MINUTE


@pytest.fixture
def world() -> Effects:
    return Effects()


def kinds(world: World, item: str) -> list[str]:
    return [type(r.event).__name__ for r in world.events() if r.stream == item]


# Receipt, validation, verdict.


def test_receipt_validation_and_verdict_are_three_events(world: Effects) -> None:
    """INV-2."""
    item = world.submit(1)
    assert kinds(world, item) == ["IntentReceived", "IntentValidated", "AdmissionDecided"]
    received, validated = [
        r.event for r in world.events() if isinstance(r.event, IntentReceived | IntentValidated)
    ]
    assert isinstance(received, IntentReceived)
    assert received.receipt == "RECEIPT-1"
    assert received.boundary == "ledger:world"
    assert isinstance(validated, IntentValidated)
    assert (validated.result, validated.validation) == ("PASS", "VALIDATION-3")
    assert world.verdict(item).policy == "POLICY-1"
    assert world.verdict(item).validation == "VALIDATION-3"


def test_a_message_that_was_only_stored_has_no_verdict(world: Effects) -> None:
    """INV-2: nothing of VALID or ELIGIBLE follows from STORED."""
    stored = c.SubmitIntent(envelope(1), "c" * 64, decide=False)
    world.ok("bob", stored)
    assert (world.status("W-1"), kinds(world, "W-1")) == ("draft", ["IntentReceived"])
    intent = world.intent("W-1")
    assert (intent.valid, intent.validated_seq, intent.verdict) == (False, 0, "")
    world.ok("bob", c.Recheck("W-1"))
    assert kinds(world, "W-1") == ["IntentReceived"], "nothing is decided before it is validated"
    world.no("bob", c.DecideIntent("W-1", validate=False), Code.BAD_INPUT)
    world.ok("bob", c.DecideIntent("W-1"))
    assert world.verdicts("W-1") == [("HOLD", "CAPACITY_EVIDENCE_MISSING")]
    before = world.state()
    world.ok("bob", c.DecideIntent("W-1"))
    assert world.state() == before


def test_faults_that_parsing_found_are_kept_until_validation(world: Effects) -> None:
    fault = Fault("$.deadline", "WRONG_TYPE", "soon", "a time")
    world.ok("bob", c.SubmitIntent(envelope(1), "c" * 64, faults=(fault,), decide=False))
    world.ok("bob", c.DecideIntent("W-1"))
    assert world.verdicts("W-1") == [("REJECT", "INVALID_ENVELOPE")]
    assert world.intent("W-1").faults == (fault,)


def test_an_invalid_envelope_is_stored_and_rejected_with_every_fault(world: Effects) -> None:
    item = world.submit(1, work_id="", completion_test=(), deadline=-1)
    assert world.verdicts(item) == [("REJECT", "INVALID_ENVELOPE")]
    assert (world.status(item), world.item(item).outcome) == ("closed", "rejected")
    paths = [f.path for f in world.intent(item).faults]
    assert paths == ["$.work_id", "$.completion_test", "$.deadline"]
    assert world.check(item, "envelope").observed == "3"
    assert world.effect(1) is None, "rejected work claims nothing"


def test_without_a_policy_nothing_can_be_taken_in() -> None:
    world = World()
    refused = world.no("bob", intent_of(envelope(1)), Code.POLICY_UNKNOWN)
    assert "policy apply" in refused.hint
    assert world.items() == []


def test_a_class_that_the_newest_policy_does_not_know_is_forbidden() -> None:
    world = Effects(classes=("OTHER",))
    item = world.submit(1)
    assert world.verdicts(item) == [("REJECT", "CLASS_FORBIDDEN")]
    world.govern(classes=("STANDARD",))
    assert world.verdicts(world.submit(2))[0][0] == "HOLD"


# Redelivery.


def test_a_redelivered_message_returns_its_receipt_and_writes_nothing(world: Effects) -> None:
    message = world.message(1)
    [first] = submit(world.ops("bob"), [message])
    before = world.state()
    [again] = submit(world.ops("cat"), [message])
    assert world.state() == before
    assert not isinstance(first, Refused)
    assert not isinstance(again, Refused)
    assert (again.receipt, again.item, again.repeated) == (first.receipt, "W-1", True)
    assert (again.verdict, again.reason, again.seq) == (first.verdict, first.reason, first.seq)
    assert again.checks == first.checks


def test_a_message_with_other_content_is_refused(world: Effects) -> None:
    world.submit(1)
    before = world.state()
    changed = world.message(1, deadline=world.now + LIFE)
    refused = world.no("bob", changed, Code.MESSAGE_CHANGED)
    assert refused.details["receipt"] == "RECEIPT-1"
    assert world.state() == before


def test_a_work_id_is_one_work_s_own(world: Effects) -> None:
    world.submit(1)
    world.no("bob", world.message(2, work_id="WORK-1"), Code.ALIAS_TAKEN)


# Storage.


def test_over_the_storage_limit_a_message_is_refused_before_it_is_stored() -> None:
    world = Effects(storage_limit=2, storage_retry_ms=5_000)
    first = world.submit(1)
    world.submit(2)
    before = world.state()
    refused = world.no("bob", world.message(3), Code.STORAGE_FULL)
    assert refused.details["retry_after_ms"] == 5_000
    assert world.state() == before
    stored = world.check(first, "storage-limit")
    assert (stored.result, stored.observed, stored.required) == ("PASS", "1", "<=2")
    world.ok("bob", c.CancelWork(first))
    item = world.submit(3)
    assert world.check(item, "storage-limit").observed == "2", "what is finished makes room"


def test_room_in_storage_never_repairs_staleness() -> None:
    """The wrong turn of worked example 1: admission from item count."""
    world = Effects(storage_limit=10)
    world.pass_us(30 * MINUTE_US)
    world.observe(12 * MINUTE_US)
    item = world.submit(1)
    assert world.check(item, "storage-limit").result == "PASS"
    assert world.verdicts(item) == [("HOLD", "STALE_CAPACITY_EVIDENCE")]


# The worked example.


def test_the_stale_observation_holds_at_t1_and_the_fresh_one_expires_at_t2(world: Effects) -> None:
    world.pass_us(30 * MINUTE_US)
    world.observe(12 * MINUTE_US, id="CAPACITY-STANDARD-17", start_delay_ms=None, duration_ms=None)
    item = world.submit(
        104,
        deadline=world.now + LIFE,
        minimum_completion_margin_ms=MARGIN,
        cancellation_state="NOT_REQUESTED",
        cancellation_id="CANCEL-WORK-104",
        admission_owner="ADMISSION-2",
    )
    held = world.verdict(item)
    assert (held.verdict, held.reason) == ("HOLD", "STALE_CAPACITY_EVIDENCE")
    assert (held.owner_id, held.trigger) == ("ADMISSION-2", "capacity:STANDARD")
    owner = world.item(item).owner
    assert owner is not None
    assert (owner.kind, owner.identity) == ("admission", "ADMISSION-2")
    world.observe(id="CAPACITY-STANDARD-18", start_delay_ms=16 * MINUTE, duration_ms=5 * MINUTE)
    assert world.verdicts(item) == [
        ("HOLD", "STALE_CAPACITY_EVIDENCE"),
        ("EXPIRE", "MARGIN_NOT_PRESERVED"),
    ], "T1 stays a HOLD"
    margin = world.check(item, "margin")
    assert (margin.result, margin.observed, margin.required) == ("FAIL", "240000", ">=360000")
    assert world.verdict(item).observation == "CAPACITY-STANDARD-18"
    assert (world.status(item), world.item(item).outcome) == ("closed", "expired")


# Capacity: debit, rechecks.


def test_one_observation_never_admits_a_herd(world: Effects) -> None:
    """Two workers, one minute a work, ten minutes of life less a margin of six: nine start in time."""
    for n in range(1, 21):
        world.submit(n, deadline=world.now + 10 * MINUTE_US, minimum_completion_margin_ms=MARGIN)
    world.observe()
    verdicts = [world.verdicts(f"W-{n}")[-1][0] for n in range(1, 21)]
    assert verdicts == ["ADMIT"] * 9 + ["EXPIRE"] * 11
    assert world.fact("debit", "CAP-1") == 9
    delays = [world.check(f"W-{n}", "start-delay").observed for n in (1, 2, 9, 10)]
    assert delays == ["0", "30000", "240000", "270000"]
    required = world.check("W-10", "start-delay").required
    assert required == "0+9x60000/2", "the debit is recorded as evidence"


def test_a_fresh_observation_frees_what_waits_in_lease_order(world: Effects) -> None:
    late = world.submit(1, priority=4)
    early = world.submit(2, priority=0)
    world.observe()
    decided = [r for r in world.events() if getattr(r.event, "verdict", "") == "ADMIT"]
    assert [r.stream for r in decided] == [early, late]
    assert world.status(early) == world.status(late) == "ready"


def test_rechecks_write_a_verdict_only_where_something_changed(world: Effects) -> None:
    item = world.submit(1)
    world.observe(start_delay_ms=None)
    assert world.verdicts(item)[-1] == ("HOLD", "INCOMPLETE_CAPACITY_EVIDENCE")
    before = len(world.verdicts(item))
    world.observe(start_delay_ms=None)
    assert len(world.verdicts(item)) == before
    batch = [r.event for r in world.events() if isinstance(r.event, HoldsRechecked)]
    assert [(b.looked_at, b.changed, b.finished) for b in batch] == [(1, 1, True), (1, 0, True)]


def test_an_observation_of_another_class_frees_nothing(world: Effects) -> None:
    item = world.submit(1)
    answer = world.observe(work_class="OTHER")
    assert not [r for r in answer.events if isinstance(r.event, RechecksDue)]
    assert world.status(item) == "held"


def test_an_older_observation_does_not_take_the_newest_one_s_place(world: Effects) -> None:
    world.pass_us(MINUTE_US)
    world.observe(id="NEW")
    world.observe(MINUTE_US, id="OLD")
    assert world.fact("current", "capacity/STANDARD") == "NEW"
    world.observe(-10 * MINUTE_US, id="AHEAD")
    assert world.fact("current", "capacity/STANDARD") == "AHEAD"
    held = world.submit(1)
    assert world.verdicts(held) == [("HOLD", "CAPACITY_EVIDENCE_FROM_FUTURE")]
    world.observe(id="NOW")
    assert world.fact("current", "capacity/STANDARD") == "NOW", "a wrong clock blocks nobody"
    assert world.status(held) == "ready"


def test_batches_carry_on_where_the_one_before_ended(
    world: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch, 3)
    for n in range(1, 11):
        world.submit(n)
    world.observe()
    batches = [r.event for r in world.events() if isinstance(r.event, HoldsRechecked)]
    assert [b.looked_at for b in batches] == [3, 3, 3, 1]
    assert [b.finished for b in batches] == [False, False, False, True]
    assert {world.status(f"W-{n}") for n in range(1, 11)} == {"ready"}
    assert world.fact("ledger", "ledger").rechecks == ()  # type: ignore[union-attr]  # always there


def small(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Batches of so many holds."""
    from remit.core.decide import rechecks
    from remit.service import loading

    for module in (rechecking, rechecks, loading):
        monkeypatch.setattr(module, "BATCH", size)


def test_a_trigger_that_came_is_not_lost_when_the_process_dies(
    world: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is due stands on the ledger; whoever writes next carries on."""
    item = world.submit(1)
    monkeypatch.setattr(type(world.engine), "settle", lambda self: None)
    world.observe()
    assert world.status(item) == "held", "the batch after the observation was never run"
    monkeypatch.undo()
    world.ok(HUMAN, c.EngageKillSwitch("x"))
    assert world.status(item) == "ready"


def test_a_round_ends_at_the_policy_s_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch, 2)
    world = Effects(recheck_horizon=3)
    for n in range(1, 6):
        world.submit(n)
    world.observe()
    assert [world.status(f"W-{n}") for n in range(1, 6)] == ["ready"] * 3 + ["held"] * 2
    changed = recheck_holds(world.ops("bob"), "capacity:STANDARD")
    assert [r.stream for r in changed] == ["W-4", "W-5"]


# Time.


def test_a_hold_expires_when_its_margin_cannot_be_kept_any_more(world: Effects) -> None:
    item = world.submit(1, deadline=world.now + LIFE, minimum_completion_margin_ms=MARGIN)
    hold = world.item(item).hold
    assert hold is not None
    assert hold.at == world.now + 14 * MINUTE_US
    world.pass_us(14 * MINUTE_US)
    world.ok(HUMAN, c.EngageKillSwitch("somebody writes"))
    assert world.status(item) == "held", "a margin equal to what is left is preserved"
    world.pass_us(1)
    world.ok(HUMAN, c.ReleaseKillSwitch("somebody writes"))
    assert world.verdicts(item)[-1] == ("EXPIRE", "MARGIN_IMPOSSIBLE")
    assert world.item(item).outcome == "expired"


def test_time_frees_what_was_early(world: Effects) -> None:
    world.observe(start_delay_ms=0)
    item = world.submit(1, not_before=world.now + MINUTE_US)
    assert world.verdict(item).trigger == f"time:{world.now + MINUTE_US}"
    world.pass_us(MINUTE_US)
    world.ok("bob", c.RecheckHolds())
    assert world.status(item) == "ready"


def test_a_recheck_by_time_looks_at_nothing_before_its_time(world: Effects) -> None:
    world.submit(1, not_before=world.now + MINUTE_US)
    before = world.state()
    world.ok("bob", c.RecheckHolds())
    world.ok("bob", c.RecheckHolds("capacity:STANDARD"))
    assert world.state() == before


# Dependencies.


def test_a_dependency_is_waited_for_and_its_news_admits(world: Effects) -> None:
    world.observe()
    first = world.create()
    item = world.submit(1, depends_on=(first,))
    assert world.verdict(item).trigger == f"dependency:{first}"
    for step in ("leased", "in-review", "approved", "shipped", "verified"):
        world.step(first, step)
    assert world.status(item) == "ready"
    assert world.verdicts(item)[-1] == ("ADMIT", "ELIGIBLE")


def test_a_work_that_is_still_to_come_can_be_waited_for(world: Effects) -> None:
    world.observe()
    item = world.submit(1, depends_on=("WORK-2",))
    assert world.verdict(item).trigger == "dependency:?WORK-2"
    other = world.submit(2)
    assert world.verdict(item).trigger == f"dependency:{other}"
    world.no("bob", world.message(3, depends_on=("W-99",)), Code.NOT_FOUND)


def test_works_that_wait_for_each_other_are_refused(world: Effects) -> None:
    world.submit(1, depends_on=("WORK-2",))
    world.no("bob", world.message(2, depends_on=("WORK-1",)), Code.DEPENDENCY_CYCLE)


def test_a_trigger_that_can_never_come_goes_to_triage(world: Effects) -> None:
    first = world.create()
    item = world.submit(1, depends_on=(first,))
    world.ok(HUMAN, c.CloseItem(first, "rejected"))
    assert (world.status(item), world.triage_of(item)) == ("triaged", ("trigger-impossible",))


def test_a_dependency_that_is_unmet_again_puts_ready_work_back(world: Effects) -> None:
    world.observe()
    item = world.submit(1)
    assert world.status(item) == "ready"
    first = world.create()
    world.ok(HUMAN, c.AddDependency(item, first))
    assert world.status(item) == "held"
    assert world.verdicts(item)[-1] == ("HOLD", "UNMET_DEPENDENCY")


def test_ready_work_stays_ready_when_its_evidence_grows_old(world: Effects) -> None:
    world.observe()
    item = world.submit(1)
    world.pass_us(10 * MINUTE_US)
    before = len(world.verdicts(item))
    world.ok("bob", c.Recheck(item))
    assert (world.status(item), len(world.verdicts(item))) == ("ready", before)


def test_ready_work_whose_time_is_over_expires_when_it_is_looked_at(world: Effects) -> None:
    world.observe()
    item = world.submit(1, deadline=world.now + MINUTE_US)
    assert world.status(item) == "ready"
    world.pass_us(MINUTE_US)
    world.ok("bob", c.Recheck(item))
    assert world.verdicts(item)[-1] == ("EXPIRE", "DEADLINE_PASSED")


# Destinations, decisions, cancellation evidence.


def test_an_unknown_destination_holds_until_it_is_registered() -> None:
    world = Effects(rows=("destination",))
    item = world.submit(1, destination="INDEX")
    assert world.verdict(item).trigger == "destination:INDEX"
    world.destination("INDEX-1")
    assert world.status(item) == "ready"
    assert world.verdict(item).destination == "INDEX-1"
    assert world.check(item, "destination-revision").observed == "INDEX-1"


def test_work_for_outside_names_its_destination_where_policy_asks() -> None:
    world = Effects(rows=("destination",))
    item = world.submit(1)
    assert [f.path for f in world.intent(item).faults] == ["$.destination"]
    assert world.status(world.submit(2, replay_class="PURE")) == "ready"


def test_an_irreversible_action_needs_a_human_who_decided(world: Effects) -> None:
    world.observe()
    parts = {"replay_class": "IRREVERSIBLE", "decision": "D-1"}
    held = world.submit(1, **parts)
    assert world.verdicts(held) == [("HOLD", "HUMAN_DECISION_MISSING")], "an agent's word is none"
    item = world.submit(2, HUMAN, **parts)
    assert world.verdicts(item) == [("ADMIT", "ELIGIBLE")]
    assert world.check(item, "human-decision").observed == f"unproved:{HUMAN}"
    world.keyed()
    assert world.verdicts(world.submit(3, HUMAN, **parts))[0][0] == "HOLD"


def test_cancellation_that_cannot_be_observed_holds(world: Effects) -> None:
    world.observe()
    item = world.submit(1, cancellation_id="CANCEL-1", cancellation_state="UNOBSERVABLE")
    assert world.verdict(item).trigger == "cancellation:CANCEL-1"
    world.ok("bob", c.CancelWork(item, "NOT_REQUESTED"))
    assert world.status(item) == "ready"
    seen = world.check(item, "cancellation")
    assert (seen.result, seen.evidence) == ("PASS", f"seq:{world.intent(item).cancellation_seq}")


# Cancelling.


@pytest.mark.parametrize("stage", ["draft", "held", "ready"])
def test_cancelling_what_nobody_works_on_closes_it(world: Effects, stage: str) -> None:
    if stage == "ready":
        world.observe()
    if stage == "draft":
        world.ok("bob", c.SubmitIntent(envelope(1), "c" * 64, decide=False))
        item = "W-1"
    else:
        item = world.submit(1)
    assert world.status(item) == stage
    world.ok("cat", c.CancelWork(item))
    assert (world.status(item), world.item(item).outcome) == ("closed", "cancelled")
    world.no("cat", c.CancelWork(item), Code.TRANSITION_REFUSED)


def test_cancelling_leased_work_with_nothing_intended_ends_its_lease(world: Effects) -> None:
    world.observe()
    item = world.submit(1)
    world.lease(item)
    world.ok("cat", c.CancelWork(item))
    assert (world.status(item), world.item(item).outcome) == ("closed", "cancelled")
    assert kinds(world, item)[-3:] == [
        "CancellationObserved",
        "ItemTriaged",
        "ItemClosed",
    ]


@pytest.mark.parametrize("state", ["INTENDED", "UNCERTAIN", "CONTRADICTED"])
def test_cancelling_what_may_be_under_way_takes_nothing_back(world: Effects, state: str) -> None:
    item = world.submit(1)
    world.put_effect(1, state=EffectState(state))
    world.ok("cat", c.CancelWork(item))
    assert (world.status(item), world.triage_of(item)) == ("triaged", ("cancelled-in-flight",))


def test_what_came_about_cannot_be_cancelled(world: Effects) -> None:
    item = world.submit(1)
    world.put_effect(1, state=EffectState.PRESENT)
    world.no("cat", c.CancelWork(item), Code.TRANSITION_REFUSED)


def test_work_cancelled_before_it_came_is_rejected(world: Effects) -> None:
    item = world.submit(1, cancellation_id="C-1", cancellation_state="REQUESTED")
    assert world.verdicts(item) == [("REJECT", "CANCELLED")]
    assert world.item(item).outcome == "cancelled"


def test_delivery_work_has_no_intent_to_cancel(world: Effects) -> None:
    world.no("cat", c.CancelWork(world.create()), Code.BAD_INPUT)


# INV-14: the gate of admission.


@pytest.mark.parametrize("state", ["INTENDED", "UNCERTAIN", "CONTRADICTED", "PRESENT"])
def test_nothing_is_admitted_while_its_own_effect_is_not_known_to_be_absent(
    world: Effects, state: str
) -> None:
    """INV-14: whatever else is true, and whatever comes."""
    item = world.submit(1, deadline=world.now + LIFE)
    world.put_effect(1, state=EffectState(state))
    world.observe()
    hold = world.item(item).hold
    assert hold is not None
    assert (world.status(item), hold.owner, hold.at) == ("held", "retry", 0)
    assert hold.trigger == "reconcile:PACKAGE-1"
    for _ in range(3):
        world.pass_us(LIFE)
        world.observe()
        world.ok("bob", c.Recheck(item))
        world.ok("bob", c.RecheckHolds())
        world.ok("bob", c.RecheckHolds("reconcile:PACKAGE-1"))
    assert world.status(item) == "held"
    assert "ADMIT" not in {v for v, _ in world.verdicts(item)}


def test_a_redelivered_message_admits_no_second_work_while_the_first_is_uncertain(
    world: Effects,
) -> None:
    """INV-14: redelivery is not permission, nor is another work of the same effect."""
    world.observe()
    item = world.submit(1)
    world.put_effect(1, state=EffectState.UNCERTAIN)
    world.ok("bob", world.message(1))
    other = world.submit(2, effect_id="PACKAGE-1")
    assert world.verdicts(other) == [("HOLD", "EFFECT_UNCERTAIN")]
    assert world.item(other).hold is not None
    assert world.effect(1).item == item  # type: ignore[union-attr]  # it is there


# Coalescing.


def test_a_second_work_of_the_same_effect_is_coalesced_onto_the_first(world: Effects) -> None:
    first = world.submit(1)
    second = world.submit(2, effect_id="PACKAGE-1")
    assert world.verdicts(second) == [("COALESCE", "SAME_EFFECT")]
    follower = world.item(second)
    assert (follower.status, follower.outcome, follower.successor) == (
        "closed",
        "coalesced",
        first,
    )
    conflict = world.submit(3, effect_id="PACKAGE-1", payload_digest="OTHER")
    assert world.verdicts(conflict) == [("REJECT", "EFFECT_CONFLICT")]


def test_coalescing_onto_what_waits_for_oneself_is_a_conflict(world: Effects) -> None:
    world.submit(1, depends_on=("WORK-2",))
    second = world.submit(2, effect_id="PACKAGE-1")
    assert world.verdicts(second) == [("REJECT", "EFFECT_CONFLICT")]


def test_an_effect_is_free_again_when_its_work_closed_without_it(world: Effects) -> None:
    first = world.submit(1)
    world.ok("bob", c.CancelWork(first))
    second = world.submit(2, effect_id="PACKAGE-1", payload_digest="OTHER")
    assert world.status(second) == "held"
    assert world.effect(1).item == second  # type: ignore[union-attr]  # it is there
    key = world.effect(1).key  # type: ignore[union-attr]  # it is there
    assert len(key) == 64


def test_followers_go_on_by_themselves_when_the_survivor_closes_without_its_effect(
    world: Effects,
) -> None:
    survivor = world.submit(1, deadline=world.now + MINUTE_US)
    lives = [world.now + LIFE + n * MINUTE_US for n in range(3)]
    followers = [world.submit(2 + n, effect_id="PACKAGE-1", deadline=lives[n]) for n in range(3)]
    waiting = world.create(depends_on=((followers[2], "blocks"),))
    world.pass_us(2 * MINUTE_US)
    world.ok("bob", c.RecheckHolds())
    assert world.item(survivor).outcome == "expired"
    successors = [world.item(f).successor for f in followers]
    assert successors == ["W-6", "W-7", "W-8"]
    assert [world.intent(s).follows for s in successors] == followers
    assert [world.intent(s).envelope.deadline for s in successors] == lives, "its own deadline"
    assert [world.intent(s).receipt for s in successors] == ["RECEIPT-2", "RECEIPT-3", "RECEIPT-4"]
    assert world.effect(1).item == "W-6"  # type: ignore[union-attr]  # it is there
    assert [world.status(s) for s in successors] == ["held", "closed", "closed"]
    assert [world.item(s).successor for s in successors[1:]] == ["W-6", "W-6"]
    assert world.status(waiting) == "held", "who waits for a follower waits for its successor"
    assert world.item(waiting).dependencies[0].via == "W-6"
    assert folded(world.events()) == world.facts()


@pytest.mark.parametrize("between", [0, 2])
def test_inv_3_what_a_follower_waits_for_and_waits_for_it_is_put_aside_when_it_goes_on(
    world: Effects, between: int
) -> None:
    """While it was coalesced its own waits did not count, so nobody could refuse the circle."""
    survivor = world.submit(1)
    last = world.create()
    follower = world.submit(2, effect_id="PACKAGE-1", depends_on=(last,))
    waits = [follower]
    for _ in range(between):
        waits.append(world.create(depends_on=((waits[-1], "blocks"),)))
    world.ok("bob", c.AddDependency(last, waits[-1], "blocks"))
    bystander = world.create(depends_on=((follower, "blocks"),))
    world.ok("bob", c.CancelWork(survivor))
    successor = world.item(follower).successor
    tied = waits[1] if between else last
    assert (world.status(tied), world.triage_of(tied)) == ("triaged", ("trigger-impossible",))
    said = [r.event for r in world.events() if isinstance(r.event, ItemTriaged)]
    assert "waits for itself" in said[-1].reason
    assert world.status(successor) == "held"
    assert world.triage_of(bystander) == (), "who is no part of the circle only waits"
    assert folded(world.events()) == world.facts()


def test_a_follower_that_goes_on_leaves_those_who_only_wait_for_it(world: Effects) -> None:
    survivor = world.submit(1)
    other = world.create()
    follower = world.submit(2, effect_id="PACKAGE-1", depends_on=(other,))
    waiting = world.create(depends_on=((follower, "blocks"), (other, "blocks")))
    world.ok("bob", c.CancelWork(survivor))
    assert (world.status(waiting), world.triage_of(waiting)) == ("held", ())


def test_a_follower_that_went_on_goes_on_once(world: Effects) -> None:
    """Its successor closing is the end of it: nothing starts over for ever."""
    survivor = world.submit(1, deadline=world.now + MINUTE_US)
    follower = world.submit(2, effect_id="PACKAGE-1", deadline=world.now + 2 * MINUTE_US)
    world.pass_us(MINUTE_US)
    world.ok("bob", c.RecheckHolds())
    successor = world.item(follower).successor
    assert (world.status(survivor), world.status(successor)) == ("closed", "held")
    world.pass_us(MINUTE_US)
    world.ok("bob", c.RecheckHolds())
    assert world.item(successor).outcome == "expired"
    assert len(world.items()) == 3


def test_a_redelivered_message_of_a_follower_leads_to_its_successor(world: Effects) -> None:
    survivor = world.submit(1)
    follower = world.submit(2, effect_id="PACKAGE-1")
    world.ok("bob", c.CancelWork(survivor))
    [again] = submit(world.ops("bob"), [world.message(2, effect_id="PACKAGE-1")])
    assert not isinstance(again, Refused)
    assert (again.receipt, again.item, again.repeated) == ("RECEIPT-2", follower, True)


def test_a_follower_that_was_cancelled_does_not_go_on(world: Effects) -> None:
    survivor = world.submit(1)
    follower = world.submit(2, effect_id="PACKAGE-1")
    world.ok("bob", c.CancelWork(follower))
    world.ok("bob", c.CancelWork(survivor))
    successor = world.item(follower).successor
    assert world.verdicts(successor) == [("REJECT", "CANCELLED")]


def test_followers_stay_when_the_effect_came_about(world: Effects) -> None:
    survivor = world.submit(1)
    follower = world.submit(2, effect_id="PACKAGE-1")
    world.put_effect(1, state=EffectState.PRESENT)
    world.ok(HUMAN, put(survivor, "ambiguity"))
    record = world.item(survivor).triage[0]
    world.ok(HUMAN, c.ResolveTriage(record, "fail", "x"))
    assert world.status(survivor) == "closed"
    assert world.item(follower).successor == survivor


def test_many_followers_go_on_in_bounded_chunks(
    world: Effects, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "FOLLOWERS", 3)
    from remit.service import loading

    monkeypatch.setattr(loading, "FOLLOWERS", 3)
    survivor = world.submit(1)
    followers = [world.submit(2 + n, effect_id="PACKAGE-1") for n in range(8)]
    waiting = world.create(depends_on=((followers[7], "blocks"),))
    world.ok("bob", c.CancelWork(survivor))
    released: dict[int, int] = {}
    for recorded in world.events():
        if type(recorded.event).__name__ == "FollowerReleased":
            released[recorded.at] = released.get(recorded.at, 0) + 1
    assert all(world.item(f).successor != survivor for f in followers)
    assert sum(released.values()) >= 8
    assert world.status(waiting) == "held"
    assert world.fact("ledger", "ledger").unsettled == ()  # type: ignore[union-attr]  # always there
    assert folded(world.events()) == world.facts()


# One transaction for many.


def test_a_batch_sees_itself_and_refuses_only_what_is_wrong(world: Effects) -> None:
    """Submits, an observation and their followers in one transaction."""
    seen = c.ObserveCapacity(_capacity(world))
    answers = world.many(
        ("bob", world.message(1)),
        ("bob", world.message(2, effect_id="PACKAGE-1")),
        ("bob", world.message(1, deadline=5)),
        ("bob", seen),
        ("bob", world.message(3)),
        ("bob", c.RecheckHolds("capacity:STANDARD")),
        ("bob", c.CancelWork("W-1")),
    )
    codes = [a.code if isinstance(a, Refused) else "" for a in answers]
    assert codes == ["", "", "MESSAGE_CHANGED", "", "", "", ""]
    assert [world.status(f"W-{n}") for n in (1, 2, 3)] == ["closed", "closed", "ready"]
    assert world.item("W-2").successor == "W-4"
    assert folded(world.events()) == world.facts()


def _capacity(world: Effects) -> Any:
    from tests.core.effects import capacity

    return capacity(observed_at=world.now)


def test_an_atomic_list_takes_all_or_nothing(world: Effects) -> None:
    before = world.state()
    answers = submit(
        world.ops("bob"), [world.message(1), world.message(2, work_id="WORK-1")], atomic=True
    )
    assert all(isinstance(a, Refused) for a in answers)
    assert world.state() == before


# Documents.


def test_a_label_stands_for_one_content(world: Effects) -> None:
    from tests.core.effects import POLICY, RULES

    from remit.core.change import changed

    before = world.state()
    world.ok(HUMAN, c.RegisterValidation(RULES))
    assert world.state() == before, "the same again changes nothing"
    world.no(HUMAN, c.RegisterValidation(changed(RULES, digest="d" * 64)), Code.LABEL_TAKEN)
    world.no("bob", c.RegisterValidation(RULES), Code.ACTOR_KIND_REFUSED)
    lost = changed(POLICY, label="P", validation="NONE")
    world.no(HUMAN, c.RegisterPolicy(lost), Code.NOT_FOUND)
    wrong = changed(POLICY, label="P", rows=("moon",), replay_classes=("UNCLASSIFIED",), attempts=0)
    refused = world.no(HUMAN, c.RegisterPolicy(wrong), Code.BAD_INPUT)
    assert len(refused.details["problems"]) == 3, "every fault at once"


def test_an_observation_s_id_stands_for_one_observation(world: Effects) -> None:
    first = world.observe(id="CAPACITY-1")
    event = first.events[0].event
    before = world.state()
    world.ok("bob", c.ObserveCapacity(_seen("CAPACITY-1", event)))
    assert world.state() == before
    other = _seen("CAPACITY-1", event, start_delay_ms=7)
    world.no("bob", c.ObserveCapacity(other), Code.LABEL_TAKEN)
    for wrong in ({"id": "CAP-1"}, {"start_delay_ms": -1}, {"work_class": "a|b"}):
        found = _seen("X", event, **wrong)
        world.no("bob", c.ObserveCapacity(found), Code.BAD_INPUT)


def _seen(name: str, event: Any, **parts: Any) -> Any:
    from dataclasses import fields

    from remit.core.effect_facts import Capacity

    known = {f.name: getattr(event, f.name, 0) for f in fields(Capacity)}
    return Capacity(**{**known, "id": name, **parts})


def test_what_was_handed_in_is_kept_as_a_blob_and_known_by_its_content(world: Effects) -> None:
    text = "work_id: WORK-1\n" * 3
    answer = world.ok("bob", intent_of(envelope(1), text), "call-1")
    received = next(r.event for r in answer.events if isinstance(r.event, IntentReceived))
    with world.store.read() as tx:
        assert tx.blobs([received.document]) == {received.document: text.encode()}
    again = world.do("bob", intent_of(envelope(1), text), "call-1")
    assert isinstance(again, Done)
    assert again.repeated


@pytest.mark.parametrize(
    ("trigger", "after"),
    [
        (" ", ""),
        ("nonsense", ""),
        ("capacity:", ""),
        (":STANDARD", ""),
        ("capacity:STANDARD ", ""),
        ("capacity:\n", ""),
        ("capacity:STANDARD", "x"),
        ("capacity:STANDARD", "-:1"),
        ("capacity:STANDARD", "--1:2"),
        ("capacity:STANDARD", "1:99999999999999999999"),
    ],
)
def test_what_is_no_trigger_or_no_place_in_line_is_refused(trigger: str, after: str) -> None:
    world = Effects()
    world.no("bob", c.RecheckHolds(trigger, 0, after), Code.BAD_INPUT)
    world.ok("bob", c.RecheckHolds("capacity:STANDARD", 0, "-3:4"))


def test_pure_work_reports_nothing_of_an_effect_that_others_sent_and_nobody_found(
    world: Effects,
) -> None:
    """It took over an effect of work with a consequence outside: that is refused, and no fault."""
    world.observe()
    item = world.submit(1, replay_class="PURE")
    lease = world.lease(item)
    world.put_effect(1, state="ABSENT", intents=1)
    report = c.ReportEffect(item, lease.fence, "done", result_digest="a" * 64)
    world.no("bob", report, Code.EFFECT_NOT_INTENDED)
