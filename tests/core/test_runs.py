"""Runs: what begins one, each refusal, how entries go on, and that nothing else changes an item."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.drained import BOUNDS, CODE, Drained, propose, start
from tests.core.world import HUMAN, OTHER, SECOND, VERIFIER

from remit.core import commands as c
from remit.core.change import changed
from remit.core.commands import Text
from remit.core.refusals import Code, Refused
from remit.core.run_decisions import (
    WITHOUT_SANDBOX,
    allowance,
    bounds_scope,
    run_proposal,
    run_scope,
)
from remit.core.run_facts import RunEntry, RunStatus, RunStep, RunUse
from remit.service.engine import Done
from remit.service.running import note_attempt, record_proof

RUN, HOLDER = "RUN-1", "h1"


@pytest.fixture
def world() -> Drained:
    return Drained()


@pytest.fixture
def going(world: Drained) -> Drained:
    """A world whose run has begun, with three items."""
    for _ in range(3):
        world.create()
    world.ok(HUMAN, start())
    return world


def choose(item: str = "W-1", reserve: int = 0, holder: str = HOLDER) -> c.ChooseItem:
    return c.ChooseItem(RUN, holder, item, reserve)


def step(to: str, item: str = "W-1", **figures: Any) -> c.CheckpointRun:
    return c.CheckpointRun(RUN, HOLDER, item, to, c.RunFigures(**figures))


def settle(outcome: str = "verified", item: str = "W-1", spent: int = 0) -> c.SettleRunItem:
    return c.SettleRunItem(RUN, HOLDER, item, outcome, spent)


def test_a_run_begins_under_a_decision_and_a_proof(going: Drained) -> None:
    run = going.run()
    assert (run.id, run.actor, run.reviewer, run.driver) == (RUN, "bob", "cat", HUMAN)
    assert run.status is RunStatus.RUNNING
    assert run.ends_at == run.started_at + BOUNDS.minutes_ms * 1_000
    decision = going.fact("decision", "D-1")
    assert decision.consumed_by == (RUN,)  # type: ignore[union-attr]  # a decision
    assert going.fact("run-use", "D-1") == RunUse("D-1", 1, RUN, 0)


def test_bounds_are_read_from_the_scope_that_was_signed() -> None:
    scope = run_scope(BOUNDS, ("scripted", "codex"), ("bob",), each=True)
    assert scope[0] == "run-bounds/items=5,parallel=2,minutes=10,spend-micros=1000,failures=2"
    world = Drained()
    name = world.decide(scope=scope)
    allowed = allowance(world.fact("decision", name))  # type: ignore[arg-type]  # a decision
    assert allowed is not None
    assert (allowed.bounds, allowed.each) == (BOUNDS, True)
    assert (allowed.agents, allowed.actors) == (("scripted", "codex"), ("bob",))
    assert bounds_scope(changed(BOUNDS, minutes_ms=1)).count("minutes=1,") == 1


@pytest.mark.parametrize("bound", ["items", "parallel", "minutes_ms", "spend_micros", "failures"])
def test_a_decision_covers_no_wider_bound(world: Drained, bound: str) -> None:
    wider = changed(BOUNDS, **{bound: getattr(BOUNDS, bound) + 1})
    refused = world.no(HUMAN, start(bounds=wider), Code.DECISION_SCOPE)
    assert refused.details["bound"] == bound
    assert f"it allows {bound.removesuffix('_ms').replace('_', '-')}=" in refused.message
    assert world.fact("run", RUN) is None


def test_each_way_in_which_no_decision_covers_a_run(world: Drained) -> None:
    world.no(HUMAN, start(""), Code.DECISION_MISSING)
    world.no(HUMAN, start("D-9"), Code.DECISION_MISSING)
    world.ok("bob", propose())
    world.no(HUMAN, start("D-2"), Code.DECISION_NOT_ACCEPTED)
    other = world.decide(kind="dependency-bypass")
    world.no(HUMAN, start(other), Code.DECISION_OF_ANOTHER_KIND)
    world.no(HUMAN, start(agent="codex"), Code.DECISION_SCOPE)
    mine = world.decide(scope=run_scope(BOUNDS, ("scripted",), ("cat",)))
    world.no(HUMAN, start(mine), Code.DECISION_SCOPE)
    vague = world.decide(scope=("goal/much", "run-agent/scripted"))
    world.no(HUMAN, start(vague), Code.DECISION_SCOPE)
    doubled = (*run_scope(BOUNDS, ("scripted",)), bounds_scope(changed(BOUNDS, items=9)))
    world.no(HUMAN, start(world.decide(scope=doubled)), Code.DECISION_SCOPE)
    later = changed(propose(), proposal="e" * 64)
    answer = world.ok(HUMAN, later)
    world.ok(HUMAN, c.AcceptDecision(answer.events[0].entity))
    world.no(HUMAN, start(answer.events[0].entity), Code.DECISION_STALE)
    soon = world.decide(expires_at=world.now + SECOND)
    world.pass_us(SECOND)
    world.no(HUMAN, start(soon), Code.DECISION_EXPIRED)
    world.ok(HUMAN, start())


def test_an_unproved_decision_covers_nothing_where_proof_is_wanted(world: Drained) -> None:
    world.keyed()
    world.no(HUMAN, start(), Code.DECISION_UNPROVED)
    answer = world.ok(HUMAN, propose())
    name = answer.events[0].entity
    world.signed(HUMAN, c.AcceptDecision(name))
    world.ok(HUMAN, start(name))


def test_a_decision_against_the_same_bounds_stops_runs(world: Drained) -> None:
    answer = world.ok(HUMAN, propose())
    against = answer.events[0].entity
    command = c.AcceptDecision(against, chosen="leave", rejected=(("allow", "not now"),))
    world.ok(OTHER, command)
    refused = world.no(HUMAN, start(), Code.DECISIONS_CONFLICT)
    assert refused.details["decisions"] == ["D-1", against]
    world.no(HUMAN, start(against), Code.DECISION_AGAINST)


def test_a_run_needs_a_proof_of_this_version(world: Drained) -> None:
    world.no(HUMAN, start(proof=""), Code.PARITY_UNPROVED)
    world.no(HUMAN, start(proof="d" * 64), Code.PARITY_UNPROVED)
    world.ok(VERIFIER, c.RecordParityProof("1.0", CODE, 12, 4, "FAIL"))
    assert world.no(HUMAN, start(), Code.PARITY_UNPROVED).details["found"] == "FAIL"
    world.ok(VERIFIER, c.RecordParityProof("1.0", CODE, 12, 5, "PASS"))
    world.ok(HUMAN, start())


def test_only_the_verifier_records_a_proof(world: Drained) -> None:
    proof = c.RecordParityProof("1.0", "d" * 64, 1, 1, "PASS")
    for actor in (HUMAN, "bob"):
        world.no(actor, proof, Code.ACTOR_KIND_REFUSED)
        assert world.ops(actor).run(proof).code is Code.BAD_INPUT  # type: ignore[union-attr]  # refused
    for wrong in ({"code": "d"}, {"result": "MAYBE"}, {"release": ""}, {"mutants": -1}):
        world.no(VERIFIER, changed(proof, **wrong), Code.BAD_INPUT)


def test_who_may_work_and_review(world: Drained) -> None:
    world.no(HUMAN, start(actor="nobody"), Code.ACTOR_UNKNOWN)
    world.no(HUMAN, start(actor=OTHER), Code.ACTOR_KIND_REFUSED)
    world.no(HUMAN, start(actor=""), Code.ACTOR_KIND_REFUSED)
    world.no(HUMAN, start(reviewer="nobody"), Code.ACTOR_UNKNOWN)
    world.no(HUMAN, start(reviewer="bob"), Code.REVIEWER_IS_IMPLEMENTER)
    world.ok(HUMAN, c.RevokeActor("dan"))
    world.no(HUMAN, start(reviewer="dan"), Code.ACTOR_UNKNOWN)


@pytest.mark.parametrize("egress", [(), (("egress", "listed"),), (("egress", "all"),)])
def test_live_autonomy_is_refused(world: Drained, egress: tuple[tuple[str, str], ...]) -> None:
    for reviewer in ("", "cat"):
        world.no(HUMAN, start(reviewer=reviewer, options=egress), Code.AUTONOMY_REFUSED)
    world.ok(HUMAN, start(reviewer=OTHER, options=egress))


def test_no_sandbox_needs_a_decision_of_its_own(world: Drained) -> None:
    bare = (("egress", "none"), ("sandbox", "none"))
    world.no(HUMAN, start(options=bare), Code.DECISION_MISSING)
    world.no(HUMAN, start(options=(*bare, ("sandbox-decision", "D-1"))), Code.DECISION_SCOPE)
    own = world.decide(scope=(WITHOUT_SANDBOX,))
    world.ok(HUMAN, start(options=(*bare, ("sandbox-decision", own))))
    decision = world.fact("decision", own)
    assert decision.consumed_by == (RUN,)  # type: ignore[union-attr]  # a decision


def test_bad_bounds_and_names_begin_nothing(world: Drained) -> None:
    for bound in BOUNDS.__slots__:
        for wrong in (-1, 1 << 53):
            bounds = changed(BOUNDS, **{bound: wrong})
            assert bound in world.no(HUMAN, start(bounds=bounds), Code.BAD_INPUT).message
    world.no(HUMAN, start(bounds=changed(BOUNDS, items=0)), Code.BAD_INPUT)
    for more in ({"agent": ""}, {"holder": "two words"}, {"options": (("a", "x\n"),)}):
        world.no(HUMAN, start(**more), Code.BAD_INPUT)
    world.no(HUMAN, start(options=(("a", ""), ("a", ""))), Code.BAD_INPUT)


def test_the_kill_switch_begins_and_chooses_nothing(going: Drained) -> None:
    going.ok("bob", c.EngageKillSwitch("stop"))
    going.no(HUMAN, choose(), Code.KILL_SWITCH_ON)
    going.no(HUMAN, start(going.decide()), Code.KILL_SWITCH_ON)


def test_each_bound_refuses_the_next_item(going: Drained) -> None:
    def broken(item: str = "W-3", reserve: int = 0) -> str:
        return str(going.no(HUMAN, choose(item, reserve), Code.RUN_BOUND).details["bound"])

    assert broken(reserve=1_001) == "spend"
    going.ok(HUMAN, choose("W-1", 1_000))
    assert broken(reserve=1) == "spend"
    going.ok(HUMAN, choose("W-2"))
    assert broken() == "parallel"
    going.ok(HUMAN, settle("triaged", "W-1", 10))
    going.ok(HUMAN, settle("lost", "W-2", 0))
    assert broken() == "failures"
    going.pass_us(BOUNDS.minutes_ms * 1_000)
    assert broken() == "minutes"


def test_items_are_counted_by_choice_and_time_to_the_microsecond(going: Drained) -> None:
    end = going.run().ends_at
    for _ in range(BOUNDS.items):
        going.ok(HUMAN, choose())
        going.ok(HUMAN, settle("released"))
    assert going.no(HUMAN, choose(), Code.RUN_BOUND).details["bound"] == "items"
    other = Drained()
    other.create()
    other.ok(HUMAN, start())
    other.pass_us(other.run().ends_at - other.now - 1)
    other.ok(HUMAN, choose())
    assert going.run().ends_at == end


def test_what_was_overspent_is_a_fact_that_ends_the_choosing(going: Drained) -> None:
    going.ok(HUMAN, choose("W-1", 600))
    going.ok(HUMAN, step("started", spent_micros=900))
    assert going.run().reserved_micros == 900
    assert going.no(HUMAN, choose("W-2", 101), Code.RUN_BOUND).details["bound"] == "spend"
    going.ok(HUMAN, choose("W-2", 100))
    going.ok(HUMAN, settle("verified", "W-1", 1_500))
    run = going.run()
    assert (run.settled_micros, run.reserved_micros) == (1_500, 100)
    assert going.no(HUMAN, choose("W-3", 0), Code.RUN_BOUND).details["bound"] == "spend"


def test_steps_go_forward_and_figures_stay(going: Drained) -> None:
    going.ok(HUMAN, choose())
    going.ok(HUMAN, step("leased", lease="L-1.1", attempt="A-1.1", fence=7))
    going.ok(HUMAN, step("started", spent_micros=5))
    going.ok(HUMAN, step("started", spent_micros=3, detail="at it"))
    going.no(HUMAN, step("cloned"), Code.RUN_STEP_BACK)
    going.no(HUMAN, step("settled"), Code.BAD_INPUT)
    going.no(HUMAN, step("leased", "W-2"), Code.NOT_FOUND)
    entry = going.run().entry_of("W-1")
    assert isinstance(entry, RunEntry)
    assert (entry.step, entry.lease, entry.fence) == (RunStep.STARTED, "L-1.1", 7)
    assert (entry.spent_micros, entry.detail, entry.number) == (5, "at it", 1)
    going.no(HUMAN, choose(), Code.RUN_ITEM_LIVE)
    going.ok(HUMAN, settle("released", spent=2))
    done = going.fact("run-entry", "RUN-1/1")
    assert isinstance(done, RunEntry)
    assert (done.step, done.outcome, done.spent_micros) == (RunStep.SETTLED, "released", 5)
    going.ok(HUMAN, choose())
    again = going.run().entry_of("W-1")
    assert again is not None
    assert (again.number, again.step, again.lease) == (2, RunStep.CHOSEN, "")


def test_no_value_out_of_bounds_is_taken(going: Drained) -> None:
    going.ok(HUMAN, choose())
    for command in (
        choose("W-2", -1),
        step("nowhere"),
        step("leased", spent_micros=-1),
        step("leased", fence=-1),
        step("leased", detail="two\nlines"),
        step("leased", head="x" * 201),
        settle("sold"),
        settle(spent=-1),
        c.SettleRunItem(RUN, HOLDER, "W-1", "lost", 0, "x" * 501),
        c.NoteRefusal(RUN, HOLDER, "W-1", "no code", ""),
        c.NoteRefusal(RUN, HOLDER, "W-1", "CODE", "two\nlines"),
        c.AskRunStop(RUN, "sideways"),
        c.StopRun(RUN, HOLDER, "boredom"),
        c.ResumeRun(RUN, HOLDER),
        c.ResumeRun(RUN, ""),
    ):
        going.no(HUMAN, command, Code.BAD_INPUT)
    going.no(HUMAN, choose("W-99"), Code.NOT_FOUND)


def test_a_resumed_run_overtakes_the_process_before(going: Drained) -> None:
    going.ok(HUMAN, choose())
    going.no("cat", c.ResumeRun(RUN, "h2"), Code.RUN_OF_ANOTHER)
    going.ok("bob", c.ResumeRun(RUN, "h2"))
    for command in (
        choose("W-2"),
        step("leased"),
        settle(),
        c.NoteRefusal(RUN, HOLDER, "W-2", "NOTHING_READY", ""),
        c.StopRun(RUN, HOLDER, "done"),
    ):
        going.no(HUMAN, command, Code.RUN_OVERTAKEN)
    going.no("cat", choose("W-2", holder="h2"), Code.RUN_OF_ANOTHER)
    going.no(HUMAN, choose("W-2", holder="h2"), Code.RUN_OF_ANOTHER)
    going.ok("bob", choose("W-2", holder="h2"))
    run = going.run()
    assert (run.driver, run.holder, run.resumes, len(run.live)) == ("bob", "h2", 1, 2)
    going.ok(OTHER, c.ResumeRun(RUN, "h3"))


def test_a_run_that_was_asked_to_stop_only_finishes(going: Drained) -> None:
    going.ok(HUMAN, choose())
    assert going.ok("cat", c.AskRunStop(RUN)).events
    assert not going.ok("dan", c.AskRunStop(RUN)).events
    going.no(HUMAN, choose("W-2"), Code.RUN_STOPPING)
    going.ok(HUMAN, step("leased"))
    going.ok("dan", c.AskRunStop(RUN, "now"))
    assert not going.ok("cat", c.AskRunStop(RUN, "finish")).events
    assert (going.run().stop_asked, going.run().stop_asked_by) == ("now", "dan")
    refused = going.no(HUMAN, c.StopRun(RUN, HOLDER, "asked"), Code.RUN_ITEM_LIVE)
    assert refused.details["items"] == ["W-1"]
    going.ok(HUMAN, settle("released"))
    going.ok(HUMAN, c.StopRun(RUN, HOLDER, "asked"))
    run = going.run()
    assert (run.status, run.stopped_by) == (RunStatus.STOPPED, "asked")
    for command in (choose(), c.ResumeRun(RUN, "h2"), c.AskRunStop(RUN), step("leased")):
        going.no(HUMAN, command, Code.RUN_STOPPED)


def test_one_run_at_a_time_and_one_sum_under_a_decision(going: Drained) -> None:
    refused = going.no(HUMAN, start(), Code.RUN_LIVE)
    assert refused.details["run"] == RUN
    going.ok(HUMAN, choose("W-1", 400))
    going.ok(HUMAN, settle(spent=400))
    going.ok(HUMAN, c.StopRun(RUN, HOLDER, "done"))
    refused = going.no(HUMAN, start(), Code.DECISION_SPENT)
    assert refused.details["left"] == 600
    going.ok(HUMAN, start(bounds=changed(BOUNDS, spend_micros=600)))
    assert going.fact("run-use", "D-1") == RunUse("D-1", 2, "RUN-2", 400)


def test_a_decision_may_say_that_each_run_has_the_whole_sum(world: Drained) -> None:
    world.create()
    name = world.decide(each=True)
    world.ok(HUMAN, start(name))
    world.ok(HUMAN, choose("W-1", 1_000))
    world.ok(HUMAN, settle(spent=1_000))
    world.ok(HUMAN, c.StopRun(RUN, HOLDER, "spend"))
    world.ok(HUMAN, start(name))


def test_a_decision_that_is_superseded_ends_the_choosing(going: Drained) -> None:
    going.ok(HUMAN, choose())
    going.decide(supersedes="D-1")
    going.no(HUMAN, choose("W-2"), Code.DECISION_SUPERSEDED)
    going.ok(HUMAN, settle())
    going.ok(HUMAN, c.StopRun(RUN, HOLDER, "decision"))


def test_a_run_changes_no_item(going: Drained) -> None:
    before = going.items()
    going.ok(HUMAN, choose("W-1", 5))
    going.ok(HUMAN, step("verified", head="a" * 40))
    going.ok(HUMAN, settle(spent=5))
    going.ok(HUMAN, c.NoteRefusal(RUN, HOLDER, "W-2", "CONCURRENCY_LIMIT", "too many"))
    assert going.items() == before
    run = going.run()
    assert (run.refusals, run.refused) == (1, (("W-2", "CONCURRENCY_LIMIT"),))
    for number in range(12):
        going.ok(HUMAN, c.NoteRefusal(RUN, HOLDER, f"W-{number}", "RATE_LIMIT", ""))
    run = going.run()
    assert (run.refusals, len(run.refused), run.refused[-1]) == (13, 10, ("W-11", "RATE_LIMIT"))


def test_attempt_evidence_lies_on_the_attempts_stream(world: Drained) -> None:
    item = world.create()
    lease = world.lease(item)
    before = world.item(item)
    note = c.RecordAttempt(item, lease.fence, "probe", figures=(("probes", "12"),), text=Text("ok"))
    [seen] = world.ok("bob", note).events
    assert (seen.stream, seen.event.live) == ("A-1.1", True)  # type: ignore[attr-defined]  # noted
    assert (seen.event.text, len(seen.event.text_ref)) == ("", 64)  # type: ignore[attr-defined]  # noted
    assert world.item(item) == before
    world.no("cat", note, Code.LEASE_OF_ANOTHER)
    world.ok("bob", c.ReleaseLease(item, lease.fence))
    world.no("bob", note, Code.STALE_FENCE)
    late = changed(note, phase="agent:end", attempt="A-1.1")
    assert world.ok("bob", late).events[0].event.live is False  # type: ignore[attr-defined]  # noted
    world.no("cat", late, Code.STALE_FENCE)
    world.no("bob", changed(late, attempt="A-1.2"), Code.STALE_FENCE)
    world.no("bob", changed(late, attempt="A-2.1"), Code.STALE_FENCE)
    for wrong in ({"phase": "Two Words"}, {"figures": (("a", "x\n"),)}, {"figures": (("A", ""),)}):
        world.no("bob", changed(late, **wrong), Code.BAD_INPUT)


def test_nobody_hands_attempt_evidence_in(world: Drained) -> None:
    item = world.create()
    lease = world.lease(item)
    answer = world.ops("bob").run(c.RecordAttempt(item, lease.fence, "probe"))
    assert answer.code is Code.BAD_INPUT  # type: ignore[union-attr]  # refused


def test_the_service_records_a_proof_and_notes_for_who_asks(world: Drained) -> None:
    """A proof is the verifier's whoever asks, and a note with an id is written once."""
    proof = c.RecordParityProof("1.1", "d" * 64, 3, 5, "PASS")
    done = record_proof(world.ops(HUMAN), proof)
    assert isinstance(done, Done)
    assert (done.events[0].actor, done.events[0].stream) == (VERIFIER, f"proof/{'d' * 64}")
    lease = world.lease(world.create())
    note = c.RecordAttempt(lease.item, lease.fence, "clone", text=Text("cloned"))
    first, again = (note_attempt(world.ops("bob"), [note], "n") for _ in range(2))
    assert isinstance(first[0], Done)
    assert isinstance(again[0], Done)
    assert again[0].events == first[0].events
    assert again[0].repeated
    refused = note_attempt(world.ops(VERIFIER), note)[0]
    assert isinstance(refused, Refused)


def test_the_proposal_is_the_digest_of_the_scope() -> None:
    scope = run_scope(BOUNDS, ("scripted",))
    assert run_proposal(scope) == run_proposal(tuple(reversed(scope)))
    assert run_proposal(scope) != run_proposal((*scope, "run-spend/each"))
