"""Plans on a ledger: what an apply writes, what it keeps shut, what it changes, and what it never does.

Everything goes through the one operation ``apply_plan``, on a ledger in memory.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.plans import COMMAND, goal, item, node, requirement, row, sound
from tests.core.pushing import about, say
from tests.core.world import HUMAN, LOG, World
from tests.stateful.plan_asking import made

from remit.core import commands as c
from remit.core import plan_commands as pc
from remit.core.decision_events import DecisionConsumed
from remit.core.decisions import Decision, DecisionKind, Option
from remit.core.evolve import evolve
from remit.core.facts import Item, PlanRevision, Requirement, Row
from remit.core.plan_events import ItemSucceeded, ItemUnplanned, PlanClosed
from remit.core.planning.authority import Need
from remit.core.planning.bundle import (
    Ambiguity,
    Bundle,
    PlanItem,
    PlanNode,
    Reversal,
    ReversalKind,
    Risk,
    bundle_digest,
    proposal_digest,
    record_digest,
)
from remit.core.planning.check import Gate
from remit.core.planning.deciding import LedgerDecisions
from remit.core.planning.difference import bundle_of, name_of
from remit.core.refusals import Code, Refused
from remit.core.rows import Control, RowKind, RowSpec
from remit.service.engine import Done
from remit.service.integrity import verify
from remit.service.planned import read_plan
from remit.service.planning import Applied, Apply
from remit.service.proposing import Proposed, propose
from remit.service.reading.brief import build, markdown
from remit.service.reading.items import show
from remit.service.reading.waiting import blocked, explain
from remit.service.reading.waiting import how_to_open as opens


def apply(world: World, plan: Bundle, actor: str = HUMAN) -> Applied:
    """Apply a plan that must be accepted."""
    found = world.ops(actor).apply_plan(plan)
    assert isinstance(found, Applied), found
    return found


def refuse(world: World, plan: Bundle, code: Code) -> Refused:
    """Apply a plan that must be refused, with nothing written."""
    before = world.state()
    found = world.ops(HUMAN).apply_plan(plan)
    assert isinstance(found, Refused), found
    assert found.code is code, found
    assert world.state() == before
    return found


def of(world: World, label: str, plan: str = "P-1") -> Item:
    """The item that a label stands for now."""
    entry = world.fact("planned", f"{plan}/item/{label}")
    return world.item(entry.id)  # type: ignore[union-attr]  # a planned one


def plan_of(world: World, name: str = "P-1") -> PlanRevision:
    found = world.fact("plan", name)
    assert isinstance(found, PlanRevision)
    return found


def one(plan: Bundle, record: Any) -> Bundle:
    """The plan with one record in the place of that with its label."""
    name = name_of(record)
    return bundle_of(plan.name, [record if name_of(r) == name else r for r in plan.records()])


def reread(world: World, plan: Bundle) -> bool:
    """Whether the ledger gives back this plan."""
    with world.store.read() as tx:
        found = read_plan(tx, plan.name)
    assert isinstance(found, Bundle), found
    return bundle_of(plan.name, sorted(plan.records(), key=name_of)) == found


class All(LedgerDecisions):
    """A ledger on which every decision that is named covers everything."""

    def fault(self, ref: str, need: Need | None) -> str:
        return "" if ref else "none"


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let decisions cover what names them, until they are kept on the ledger."""
    for module in ("service.proposing", "core.decide.planning", "core.planned_gates"):
        monkeypatch.setattr(f"remit.{module}.LedgerDecisions", All)


# One apply.


def test_an_apply_puts_every_record_on_a_stream_of_its_own() -> None:
    world = World()
    plan = sound(3)
    done = apply(world, plan, "bob")
    assert (done.revision_id, done.changed, len(done.added)) == ("P-1@1", True, 13)
    assert done.digest == bundle_digest({name_of(r): record_digest(r) for r in plan.records()})
    assert done.proposal_digest == proposal_digest(plan)
    assert reread(world, plan)
    first, second, third = (of(world, f"i{n}") for n in range(3))
    assert [i.status for i in (first, second, third)] == ["ready", "held", "held"]
    assert [d.via for d in third.dependencies] == [second.id]
    governed = second.plan.governed
    assert governed is not None
    assert (governed.plan_revision, governed.goal_revision) == ("P-1@1", "G-1@1")
    assert governed.requirement_refs == ("R-2@1",)
    assert governed.graph_refs == ("N-2", "N-1")
    assert (governed.graph_version, governed.orphaned_refs) == (1, ())
    row_fact = world.fact("row", second.plan.rows[0])
    assert isinstance(row_fact, Row)
    assert (row_fact.requirement, row_fact.item) == ("R-2", second.id)


def test_an_apply_is_repeated_without_an_event() -> None:
    world = World()
    plan = sound(3)
    apply(world, plan)
    before = world.state()
    again = apply(world, plan)
    assert (again.changed, again.revision, again.added) == (False, 1, ())
    assert world.state() == before
    shuffled = bundle_of(plan.name, reversed(plan.records()))
    assert apply(world, shuffled).changed is False
    assert world.state() == before


def test_only_what_changed_is_written() -> None:
    world = World()
    apply(world, sound(3))
    head = world.events()[-1].seq
    done = apply(world, one(sound(3), item(2, title="Other")))
    assert (done.revision, done.added, done.revised, done.removed) == (2, (), (("item", "i2"),), ())
    kinds = [type(r.event).__name__ for r in world.events(head)]
    assert kinds.count("ItemReplanned") == 1
    assert not {"GoalRevised", "RequirementRevised", "NodeRevised", "RowPlanned"} & set(kinds)


def test_a_plan_that_is_not_sound_writes_nothing() -> None:
    world = World()
    refused = refuse(world, one(sound(3), node(0, 2)), Code.PLAN_INADMISSIBLE)
    assert refused.details["problems"][0]["code"] == "CYCLE"
    assert refused.details["problems"][0]["path"] == ["n0", "n2", "n1"]
    refuse(world, replace(sound(3), rows=sound(2).rows), Code.PLAN_INADMISSIBLE)
    refuse(world, replace(sound(2), items=(item(0), item(0))), Code.PLAN_INADMISSIBLE)
    refuse(world, one(sound(2), item(0, title=3)), Code.BAD_INPUT)
    refuse(world, one(sound(2), requirement(0, decisions=("D-1",))), Code.PLAN_INADMISSIBLE)
    refuse(world, one(sound(2), row(0, waived="D-1")), Code.PLAN_INADMISSIBLE)
    refuse(world, "a plan", Code.BAD_INPUT)  # type: ignore[arg-type]  # on purpose


def test_labels_are_unique_on_a_ledger() -> None:
    world = World()
    apply(world, sound(2))
    found = world.ops(HUMAN).apply_plan(replace(sound(2), name="other"))
    assert isinstance(found, Refused)
    assert found.code is Code.LABEL_TAKEN


def test_long_texts_are_blobs_and_come_back() -> None:
    world = World()
    long = "é" * 3_000
    plan = one(sound(2), requirement(0, statement=long, acceptance=("short", long)))
    plan = one(one(plan, row(1, limitations=long)), item(1, body=long))
    apply(world, plan)
    assert reread(world, plan)
    assert all(long not in repr(r.event) for r in world.events())
    with world.store.read() as tx:
        shown = show(tx, of(world, "i1").id)
        assert not isinstance(shown, Refused)
        assert shown["body"] == long
        other = show(tx, of(world, "i0").id)
        assert not isinstance(other, Refused)
        assert other["expectation"][0]["statement"] == long
        assert other["rows"][0]["argv"] == ["true"]


def test_the_brief_says_what_the_plan_says() -> None:
    world = World()
    asked = requirement(0, acceptance=("a file exists", "x" * 2_000), non_goals=("zip files",))
    how = Reversal(ReversalKind.COMPENSATION, "delete it", "a file", "ls", "one folder")
    apply(world, one(one(sound(1), asked), item(0, non_goals=("no tuning",), reversal=how)))
    with world.store.read() as tx:
        brief = build(tx, of(world, "i0").id)
    assert not isinstance(brief, Refused)
    assert brief["requirements"][0]["acceptance"] == ["a file exists", "x" * 2_000]
    assert brief["non_goals"] == ["no tuning"]
    told = markdown(brief)
    for words in ("a file exists", "zip files", "no tuning", "blast_radius: one folder"):
        assert words in told


def test_steps_of_an_apply_are_not_taken_from_a_caller() -> None:
    world = World()
    steps: list[c.Command] = [
        pc.OpenPlan("p", 0, "d", "d"),
        pc.ApplyPlanRecord("P-1", "d", goal(1)),
        pc.ApplyPlanItem("P-1", "d", item(0), "export"),
        pc.RetirePlanRecord("P-1", "d", "goal", "export"),
        pc.SealPlanPart("P-1", "d", ""),
        pc.ClosePlan("P-1", "d", "d", "export", (1,), (), (), ()),
    ]
    for step in steps:
        answer = world.ops(HUMAN).run(step)
        assert isinstance(answer, Refused)
        assert answer.code is Code.BAD_INPUT


# Gates.

_G = goal(2)
SHUT = [
    (Gate.GOAL, replace(_G, ambiguities=(Ambiguity("which", "which part?"),)), "i0"),
    (Gate.GOAL, replace(_G, authority=""), "i0"),
    (Gate.REQUIREMENTS, requirement(0, acceptance=()), "i0"),
    (Gate.REQUIREMENTS, requirement(0, ambiguities=(Ambiguity("a", "how?"),)), "i0"),
    (Gate.VERIFICATION_PLAN, row(0, direct=False), "i0"),
    (Gate.SCOPE, item(0, scope=()), "i0"),
    (Gate.REVERSAL, item(0, reversal=Reversal(ReversalKind.UNCLASSIFIED)), "i0"),
    (Gate.REVERSAL, item(0, reversal=Reversal(ReversalKind.COMPENSATION, "undo it")), "i0"),
]


@pytest.mark.parametrize(("gate", "record", "label"), SHUT)
def test_what_is_open_in_a_plan_keeps_its_gate_shut_until_it_is_settled(
    gate: Gate, record: Any, label: str
) -> None:
    world = World()
    apply(world, one(sound(2), record))
    found = of(world, label)
    assert (found.status, found.gate) == ("draft", f"{gate}/P-1")
    assert opens(found)
    with world.store.read() as tx:
        told = explain(tx, found.id)
        listed = blocked(tx, 10)["items"]
    assert not isinstance(told, Refused)
    assert told["gate"] == f"{gate}/P-1"
    assert any(entry["blocked_by"] == f"gate {gate}/P-1" for entry in listed)
    apply(world, sound(2))
    assert of(world, label).status == "ready"


def test_a_clause_that_nobody_covers_keeps_the_goal_shut_for_all() -> None:
    world = World()
    apply(world, one(sound(2), goal(3)))
    assert [i.gate for i in world.items()] == ["goal/P-1", "goal/P-1"]
    assert plan_of(world).shut == ("CLAUSE_UNCOVERED",)
    covered = requirement(0, clauses=("c0", "c2"))
    apply(world, one(one(sound(2), goal(3)), covered))
    assert of(world, "i0").status == "ready"


def test_an_irreversible_action_waits_for_its_decision(decided: None) -> None:
    world = World()
    how = Reversal(ReversalKind.IRREVERSIBLE, "", "mail", "the log", "all customers", "D-1")
    apply(world, one(sound(1), item(0, reversal=how)))
    assert of(world, "i0").status == "ready"


def test_without_decisions_on_the_ledger_nothing_irreversible_is_applied() -> None:
    how = Reversal(ReversalKind.IRREVERSIBLE, "", "mail", "the log", "all customers", "D-1")
    refuse(World(), one(sound(1), item(0, reversal=how)), Code.PLAN_INADMISSIBLE)


def test_what_is_ready_is_not_leased_once_its_gate_shut() -> None:
    """The goal of the plan became unclear; the item was ready before."""
    world = World()
    apply(world, sound(1))
    assert of(world, "i0").status == "ready"
    unclear = replace(goal(1), ambiguities=(Ambiguity("a", "which?"),))
    apply(world, one(sound(1), unclear))
    name = of(world, "i0").id
    world.no("bob", c.GrantLease(name), Code.ITEM_NOT_READY)
    world.no("bob", c.GrantLease(), Code.NOTHING_READY)
    world.ok(HUMAN, c.Recheck(name))
    held = world.item(name)
    assert (held.status, held.hold and held.hold.trigger) == ("held", "gate:goal/P-1")
    assert "ambiguity" in opens(held)
    clear = replace(goal(1), ambiguities=(Ambiguity("a", "which?", clarification="this"),))
    apply(world, one(sound(1), clear))
    assert world.status(name) == "ready"


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_whatever_gets_ready_has_the_whole_chain(data: st.DataObject) -> None:
    """Any of a sound plan's parts may be open; what is ready then rests on none of them."""
    count = data.draw(st.integers(1, 4))
    plan = sound(count)
    for n in range(count):
        hurt = data.draw(st.sampled_from([None, None, *range(6)]))
        changes: list[Any] = [
            requirement(n, acceptance=()),
            requirement(n, risk=Risk.HIGH),
            row(n, direct=False),
            row(n, spec=RowSpec(RowKind.RUBRIC, rubric="good?", control=Control.NONE)),
            item(n, scope=()),
            item(n, reversal=Reversal(ReversalKind.UNCLASSIFIED)),
        ]
        if hurt is not None:
            plan = one(plan, changes[hurt])
    world = World()
    found = world.ops(HUMAN).apply_plan(plan)
    if isinstance(found, Refused):
        assert found.code is Code.PLAN_INADMISSIBLE
        assert world.items() == []
        return
    by_label = {i.label: i for i in plan.items}
    for each in world.items():
        if each.status != "ready":
            continue
        assert each.plan.governed is not None
        record = by_label[each.plan.governed.label]
        _demand_chain(world, plan, each, record)


def _demand_chain(world: World, plan: Bundle, each: Item, record: PlanItem) -> None:
    assert record.scope
    assert record.reversal.kind is not ReversalKind.UNCLASSIFIED
    assert each.plan.requirements
    for name, label in zip(each.plan.requirements, record.requirements, strict=True):
        fact = world.fact("requirement", name)
        assert isinstance(fact, Requirement)
        wanted = next(r for r in plan.requirements if r.label == label)
        assert fact.digest == record_digest(wanted)
        assert wanted.acceptance
        assert set(wanted.clauses) <= {clause.label for clause in plan.goal.clauses}
        assert any(label in n.requirements for n in plan.nodes if n.label == record.node)
        rows = [r for r in plan.rows if r.label in record.rows and r.requirement == label]
        assert any(r.direct for r in rows)
        if Risk.HIGH in (wanted.risk, record.risk):
            assert any(r.direct and r.spec.control is not Control.NONE for r in rows)


# Successors.


def test_a_row_that_asks_for_something_else_is_a_new_row() -> None:
    world = World()
    apply(world, sound(2))
    old = of(world, "i0").plan.rows
    apply(world, one(sound(2), row(0, spec=replace(COMMAND, argv=("other",)))))
    found = of(world, "i0")
    assert found.plan.rows != old
    assert (found.plan.brief_revision, found.plan.governed.plan_revision) == (2, "P-1@2")  # type: ignore[union-attr]  # planned
    gone = world.fact("row", old[0])
    assert isinstance(gone, Row)
    assert (gone.retired, gone.successor) == (True, found.plan.rows[0])


CHANGES: list[Any] = [
    item(0, scope=("elsewhere",)),
    item(0, title="Something else"),
    row(0, spec=replace(COMMAND, argv=("other",))),
    requirement(0, acceptance=("a file with part 0 exists", "and a checksum")),
]


@pytest.mark.parametrize("change", CHANGES, ids=["scope", "title", "row", "requirement"])
@pytest.mark.parametrize("stage", ["leased", "in-review", "approved", "shipped"])
def test_a_live_brief_never_changes_and_a_linked_successor_goes_on(stage: str, change: Any) -> None:
    world = World()
    apply(world, sound(2))
    name = of(world, "i0").id
    bring(world, name, stage)
    before = world.item(name)
    apply(world, one(sound(2), change))
    old, new = world.item(name), of(world, "i0")
    assert (old.status, old.outcome, old.successor) == ("closed", "superseded", new.id)
    assert old.plan.scope == before.plan.scope
    assert old.plan.rows == before.plan.rows
    assert old.plan.governed is not None
    assert old.plan.governed.plan_revision == "P-1@1"
    assert "N-1" in old.plan.governed.orphaned_refs
    assert new.plan.governed is not None
    assert (new.plan.governed.plan_revision, new.plan.governed.predecessor) == ("P-1@2", name)
    assert new.status == "ready"
    kinds = [r.event.triage_kind for r in world.events() if hasattr(r.event, "triage_kind")]
    assert kinds[-1] == "scope-changed"
    assert [d.via for d in of(world, "i1").dependencies] == [new.id]
    assert reread(world, one(sound(2), change))


def bring(world: World, name: str, stage: str) -> None:
    """Bring an item to a status by the ordinary way."""
    lease = world.lease(name)
    if stage == "leased":
        return
    world.complete(lease)
    if stage == "in-review":
        return
    world.ok("eve", c.ReviewWork(name, approve=True, reason=c.Text("good")))
    if stage == "approved":
        return
    world.ok("bob", world.ship_of(name))
    if stage == "verified":
        world.ok("remit-verifier", world.findings(name))


def test_results_of_verified_work_get_stale_and_dependents_wait_again() -> None:
    world = World()
    apply(world, sound(2))
    name = of(world, "i0").id
    bring(world, name, "verified")
    assert of(world, "i1").status == "ready"
    apply(world, one(sound(2), row(0, spec=replace(COMMAND, argv=("other",)))))
    old, new = world.item(name), of(world, "i0")
    assert (old.status, old.successor) == ("verified", new.id)
    succeeded = [r.event for r in world.events() if isinstance(r.event, ItemSucceeded)]
    assert [event.stale_rows for event in succeeded] == [old.plan.rows]
    waiting = of(world, "i1")
    assert (waiting.status, [d.via for d in waiting.dependencies]) == ("held", [new.id])


def test_priority_is_no_part_of_a_brief() -> None:
    world = World()
    apply(world, sound(1))
    name = of(world, "i0").id
    world.lease(name)
    apply(world, one(sound(1), item(0, priority=0)))
    assert (world.status(name), world.item(name).priority) == ("leased", 0)
    assert of(world, "i0").id == name


def test_removing_a_requirement_needs_a_decision() -> None:
    world = World()
    apply(world, sound(3))
    less = replace(sound(2), goal=goal(2))
    refused = refuse(world, less, Code.PLAN_INADMISSIBLE)
    found = {problem["code"] for problem in refused.details["problems"]}
    assert found == {"DECISION_MISSING"}


def test_what_a_plan_has_no_longer_is_closed_and_orphaned(decided: None) -> None:
    world = World()
    apply(world, sound(3))
    name = of(world, "i2").id
    less = replace(sound(2), goal=replace(goal(2), decisions=("D-1",)))
    done = apply(world, less)
    assert set(done.removed) == {
        ("requirement", "r2"),
        ("node", "n2"),
        ("row", "v2"),
        ("item", "i2"),
    }
    gone = world.item(name)
    assert (gone.status, gone.outcome) == ("closed", "cancelled")
    assert gone.plan.governed is not None
    assert gone.plan.governed.orphaned_refs == ("N-3", "N-2", "R-3@1", "V-3")
    assert gone.plan.governed.graph_version == 2
    with world.store.read() as tx:
        shown = show(tx, name)
    assert not isinstance(shown, Refused)
    assert shown["orphaned_refs"] == ["N-3", "N-2", "R-3@1", "V-3"]
    fact = world.fact("requirement", "R-3")
    assert isinstance(fact, Requirement)
    assert fact.retired
    assert plan_of(world).decisions == ("D-1",)
    assert reread(world, less)
    more = replace(sound(3), goal=replace(goal(3), decisions=("D-1",)))
    apply(world, more)
    back = world.fact("requirement", "R-3")
    assert isinstance(back, Requirement)
    assert (back.retired, back.revision) == (False, 3)
    assert of(world, "i2").id != name
    assert reread(world, more)


def test_shipped_work_that_a_plan_has_no_longer_goes_on_to_be_verified(decided: None) -> None:
    world = World()
    apply(world, sound(2))
    name = of(world, "i0").id
    bring(world, name, "shipped")
    alone = replace(
        sound(2),
        goal=replace(goal(2), decisions=("D-1",)),
        requirements=(requirement(1, clauses=("c0", "c1")),),
        nodes=(PlanNode("n1", ("r1",), bypass=(("n0", "D-2"),)),),
        rows=sound(2).rows[1:],
        items=sound(2).items[1:],
    )
    apply(world, alone)
    assert world.status(name) == "shipped"
    assert [r.stream for r in world.events() if isinstance(r.event, ItemUnplanned)] == [name]
    world.ok("remit-verifier", world.findings(name))
    assert world.status(name) == "verified"


def test_what_a_plan_says_of_an_item_only_the_plan_changes() -> None:
    world = World()
    apply(world, sound(2))
    name = of(world, "i1").id
    world.no(HUMAN, c.ReviseItem(name, scope=("all",)), Code.PLANNED_ITEM)
    world.no(HUMAN, c.ReviseItem(name, rows=(COMMAND,)), Code.PLANNED_ITEM)
    world.no(HUMAN, c.RemoveDependency(name, of(world, "i0").id), Code.PLANNED_ITEM)


def test_waits_from_elsewhere_stay_when_the_plan_changes() -> None:
    world = World()
    apply(world, sound(2))
    other = world.create()
    name = of(world, "i1").id
    world.ok(HUMAN, c.AddDependency(name, other))
    apply(world, one(sound(2), item(1, title="Other")))
    assert {d.via for d in world.item(name).dependencies} == {other, of(world, "i0").id}
    world.ok(HUMAN, c.RemoveDependency(name, other))


def test_a_cycle_through_work_of_others_is_refused_and_keeps_the_gate_shut() -> None:
    world = World()
    loose = replace(sound(2), nodes=(node(0), node(1)))
    apply(world, loose)
    first, second = of(world, "i0").id, of(world, "i1").id
    other = world.create()
    world.ok(HUMAN, c.AddDependency(other, second))
    world.ok(HUMAN, c.AddDependency(first, other))
    found = world.ops(HUMAN).apply_plan(sound(2))
    assert isinstance(found, Refused)
    assert found.code is Code.DEPENDENCY_CYCLE
    assert plan_of(world).open is not None
    apply(world, loose)
    assert plan_of(world).open is None


def test_a_plan_takes_over_drafts_of_the_same_label() -> None:
    world = World()
    name = world.create(alias="i0")
    apply(world, sound(1))
    assert of(world, "i0").id == name
    assert world.item(name).plan.governed is not None
    assert world.status(name) == "ready"
    busy = World()
    busy.lease(busy.create(alias="i0"))
    found = busy.ops(HUMAN).apply_plan(sound(1))
    assert isinstance(found, Refused)
    assert found.code is Code.LABEL_TAKEN


@pytest.mark.parametrize("seed", range(25))
def test_any_plan_follows_on_any_other_and_is_what_is_read_back(seed: int, decided: None) -> None:
    """Six plans after one another, with work going on in between; the rows stay the fold."""
    rnd, world = Random(seed), World()
    applied = 0
    for _ in range(6):
        plan = made(rnd)
        found = world.ops(HUMAN).apply_plan(plan)
        if isinstance(found, Refused):
            assert found.code is Code.PLAN_INADMISSIBLE
            continue
        applied += 1
        assert reread(world, plan)
        assert apply(world, plan).changed is False
        ready = [i.id for i in world.items() if i.status == "ready"]
        if ready:
            bring(world, rnd.choice(ready), rnd.choice(["leased", "in-review", "verified"]))
    assert applied
    found_wrong = verify(world.store, fold=evolve).problems
    assert [p for p in found_wrong if p.where != f"blobs {LOG}"] == []


# Interrupted.


class Killed(Exception):  # noqa: N818  # not an error: the process is gone
    """The process ended here."""


def interrupted(world: World, plan: Bundle, steps: int) -> bool:
    """Apply a plan one step a transaction and end after so many; whether it ended before that."""
    found = propose(world.ops(HUMAN), plan)
    assert isinstance(found, Proposed)
    left = [steps]
    run = world.engine.run

    def counted(calls: Any, **how: Any) -> Any:
        answers = []
        for call in calls:
            if not left[0]:
                raise Killed
            left[0] -= 1
            answers += run([call], **how)
        return answers

    world.engine.run = counted  # type: ignore[method-assign]  # the one thing that writes
    try:
        Apply(world.ops(HUMAN), found, lambda *_: None).run()
    except Killed:
        return False
    finally:
        world.engine.run = run  # type: ignore[method-assign]  # as it was
    return True


def sides(world: World) -> Any:
    """What a plan's reader sees: the records, and how each item stands."""
    with world.store.read() as tx:
        found = read_plan(tx, "exports")
    items = {
        label: (i.status, i.gate, i.title, i.plan.scope, len(i.plan.rows), [*i.dependencies])
        for label in ("i0", "i1", "i2")
        if (entry := world.fact("planned", f"P-1/item/{label}")) is not None
        for i in [world.item(entry.id)]  # type: ignore[union-attr]  # a planned one
    }
    return found, items, plan_of(world).digest, plan_of(world).revision


SECOND = one(
    one(one(sound(3), item(1, title="Other")), row(0, spec=replace(COMMAND, argv=("x",)))),
    requirement(2, sources=("spec.md", "interview")),
)


def test_an_apply_that_was_killed_anywhere_ends_the_same() -> None:
    whole = World()
    apply(whole, sound(3))
    apply(whole, SECOND)
    expected = sides(whole)
    for steps in range(60):
        world = World()
        first_done = interrupted(world, sound(3), steps)
        opened = world.fact("plan", "P-1")
        if isinstance(opened, PlanRevision) and opened.open is not None:
            assert not [i for i in world.items() if i.status == "ready"]
        apply(world, sound(3))
        second_done = interrupted(world, SECOND, steps)
        apply(world, SECOND)
        assert sides(world) == expected, steps
        head = world.events()[-1].seq
        assert apply(world, SECOND).changed is False
        assert world.events()[-1].seq == head
        if first_done and second_done:
            break
    else:
        raise AssertionError("no apply ended within 60 steps")


@pytest.mark.parametrize("steps", range(0, 24, 3))
def test_another_plan_may_follow_on_one_that_was_killed(steps: int) -> None:
    world = World()
    apply(world, sound(3))
    interrupted(world, SECOND, steps)
    third = one(sound(3), item(0, title="Third"))
    apply(world, third)
    assert reread(world, third)
    assert plan_of(world).digest == bundle_digest(
        {name_of(r): record_digest(r) for r in third.records()}
    )


def test_a_crash_forgets_no_decision_that_the_change_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A requirement goes by a decision; the apply is killed, and the decision is gone afterwards."""
    less = replace(sound(2), goal=replace(goal(2), decisions=("D-1",)))
    for steps in range(60):
        world = World()
        apply(world, sound(3))
        with monkeypatch.context() as accepted:
            for module in ("service.proposing", "core.decide.planning", "core.planned_gates"):
                accepted.setattr(f"remit.{module}.LedgerDecisions", All)
            if interrupted(world, less, steps):
                break
        ended = plan_of(world).revision == 2
        found = world.ops(HUMAN).apply_plan(less)
        assert ended or (isinstance(found, Refused) and found.code is Code.PLAN_INADMISSIBLE)
        found = world.ops(HUMAN).apply_plan(replace(sound(2), goal=goal(2)))
        if ended:
            continue
        assert isinstance(found, Refused)
        needs = [p for p in found.details["problems"] if p["code"] == "DECISION_MISSING"]
        assert any("r2" in p["message"] for p in needs), steps
    assert steps > 5


def test_the_end_is_refused_unless_the_records_are_those_that_were_checked() -> None:
    world = World()
    plan = sound(2)
    interrupted(world, plan, 6)
    digest = plan_of(world).open.digest  # type: ignore[union-attr]  # an apply is open
    proposal = proposal_digest(plan)
    close = pc.ClosePlan("P-1", digest, proposal, "export", (1, 2, 2, 2, 2), (), (), ())
    world.no(HUMAN, close, Code.PLAN_DIFFERS)
    world.ok(HUMAN, pc.SealPlanPart("P-1", digest, ""))
    world.no(HUMAN, close, Code.PLAN_DIFFERS)
    world.no(HUMAN, pc.ApplyPlanRecord("P-1", digest, goal(2)), Code.PLAN_NOT_OPEN)
    world.no(HUMAN, replace(close, plan="P-9"), Code.PLAN_NOT_OPEN)
    apply(world, plan)
    events = [r.event for r in world.events() if isinstance(r.event, PlanClosed)]
    assert [event.digest for event in events] == [digest]


def test_an_apply_that_another_overtook_is_refused() -> None:
    world = World()
    apply(world, sound(2))
    found = propose(world.ops(HUMAN), one(sound(2), item(0, title="Mine")))
    assert isinstance(found, Proposed)
    apply(world, one(sound(2), item(0, title="Theirs")))
    answer = Apply(world.ops(HUMAN), found, lambda *_: None).run()
    assert isinstance(answer, Refused)
    assert answer.code is Code.PLAN_MOVED


def test_a_missing_decision_is_refused_at_the_end_too(decided: None) -> None:
    """It was there when the plan was proposed, and is not when it ends."""
    world = World()
    plan = one(sound(1), requirement(0, decisions=("D-1",)))
    found = propose(world.ops(HUMAN), plan)
    assert isinstance(found, Proposed)
    with pytest.MonkeyPatch.context() as gone:
        gone.setattr("remit.core.decide.planning.LedgerDecisions", LedgerDecisions)
        answer = Apply(world.ops(HUMAN), found, lambda *_: None).run()
    assert isinstance(answer, Refused)
    assert answer.code is Code.DECISION_NEEDED
    assert of(world, "i0").gate == "plan-open/P-1"


def test_nothing_opens_while_a_later_apply_is_under_way() -> None:
    """What it has brought so far waits, and what was ready is held once admission looks."""
    world = World()
    apply(world, sound(1))
    ready = of(world, "i0").id
    more = replace(
        sound(1),
        requirements=(*sound(1).requirements, requirement(1, clauses=("c0",))),
        nodes=(*sound(1).nodes, node(1)),
        rows=(*sound(1).rows, row(1)),
        items=(*sound(1).items, item(1)),
    )
    interrupted(world, more, 4)
    new = of(world, "i1").id
    for name in (ready, new):
        world.ok(HUMAN, c.Recheck(name))
        world.no("bob", c.GrantLease(name), Code.ITEM_NOT_READY)
    assert (world.status(new), world.item(new).gate) == ("draft", "plan-open/P-1")
    held = world.item(ready)
    assert (held.status, held.hold and held.hold.trigger) == ("held", "gate:plan-open/P-1")
    apply(world, more)
    assert [world.status(name) for name in (ready, new)] == ["ready", "ready"]


def test_nobody_applies_under_a_name_of_remits_own() -> None:
    world = World()
    found = world.ops("remit-verifier").apply_plan(sound(1))
    assert isinstance(found, Refused)
    assert found.code is Code.ACTOR_KIND_REFUSED


def test_no_gate_opens_while_an_apply_is_under_way() -> None:
    world = World()
    interrupted(world, sound(2), 9)
    names = [i.id for i in world.items()]
    assert names
    for name in names:
        assert isinstance(world.do(HUMAN, c.Recheck(name)), Done)
        assert world.status(name) == "draft"
        world.no("bob", c.GrantLease(name), Code.ITEM_NOT_READY)


# Decisions.


def decide(world: World, plan: Bundle, kind: DecisionKind, *scope: str, **more: Any) -> str:
    """Let a human accept a decision about a proposed plan; returns its id."""
    options = more.pop("options", (Option("go", "do it"), Option("stay", "do not", permits=False)))
    asked = c.ProposeDecision(
        kind, "May it?", options=options, recommended=more.pop("choose", "go"), scope=scope,
        plan=plan.name, proposal=proposal_digest(plan), **more,
    )  # fmt: skip
    proposed = world.ok("bob", asked)
    name = proposed.events[-1].stream
    labels = [option.label for option in options]
    against = tuple((label, "no") for label in labels if label != asked.recommended)
    world.ok(HUMAN, c.AcceptDecision(name, rejected=against))
    return name


FREE = PlanNode("n1", ("r1",), bypass=(("n0", ""),))


def bypassed(name: str) -> Bundle:
    """Two requirements, the second of which no longer waits for the first, by a decision."""
    return one(sound(2), replace(FREE, bypass=(("n0", name),)))


def test_a_decision_about_this_proposal_lets_it_be_applied_and_is_consumed_by_the_revision() -> (
    None
):
    world = World()
    apply(world, sound(2))
    refuse(world, bypassed("D-1"), Code.PLAN_INADMISSIBLE)
    name = decide(world, bypassed(""), DecisionKind.BYPASS, "node/n1", "node/n0")
    refuse(world, sound(2) if name != "D-1" else bypassed(""), Code.PLAN_INADMISSIBLE)
    done = apply(world, bypassed(name))
    assert done.revision_id == "P-1@2"
    assert plan_of(world).decisions == (name,)
    decision = world.fact("decision", name)
    assert isinstance(decision, Decision)
    assert decision.consumed_by == ("P-1@2",)
    consumed = [r.event for r in world.events() if isinstance(r.event, DecisionConsumed)]
    assert [(event.revision, event.digest) for event in consumed] == [("P-1@2", done.digest)]
    assert of(world, "i1").status == "ready"


def test_what_a_revision_rests_on_need_not_be_decided_again_while_it_stays() -> None:
    world = World()
    apply(world, sound(2))
    name = decide(world, bypassed(""), DecisionKind.BYPASS, "node/n1", "node/n0")
    apply(world, bypassed(name))
    later = one(bypassed(name), item(0, title="Other"))
    assert apply(world, later).revision == 3
    decision = world.fact("decision", name)
    assert isinstance(decision, Decision)
    assert decision.consumed_by == ("P-1@2", "P-1@3")
    changed_too = one(later, replace(FREE, bypass=(("n0", name),), requirements=("r1", "r0")))
    refuse(world, changed_too, Code.PLAN_INADMISSIBLE)


SHORT: list[tuple[DecisionKind, tuple[str, ...], dict[str, Any]]] = [
    (DecisionKind.WAIVER, ("node/n1", "node/n0"), {}),
    (DecisionKind.BYPASS, ("node/n1",), {}),
    (DecisionKind.BYPASS, ("node/n1", "node/n0"), {"choose": "stay"}),
]


@pytest.mark.parametrize(("kind", "scope", "more"), SHORT)
def test_another_kind_scope_or_choice_covers_nothing(
    kind: DecisionKind, scope: tuple[str, ...], more: dict[str, Any]
) -> None:
    world = World()
    apply(world, sound(2))
    name = decide(world, bypassed(""), kind, *scope, **more)
    refuse(world, bypassed(name), Code.PLAN_INADMISSIBLE)


def test_a_decision_about_another_proposal_covers_nothing() -> None:
    world = World()
    apply(world, sound(2))
    other = one(bypassed(""), item(0, title="What was not looked at"))
    name = decide(world, other, DecisionKind.BYPASS, "node/n1", "node/n0")
    refuse(world, bypassed(name), Code.PLAN_INADMISSIBLE)


def test_a_decision_that_ends_shuts_the_gate_of_what_rests_on_it() -> None:
    how = Reversal(ReversalKind.IRREVERSIBLE, "", "mail", "the log", "all customers")
    world = World()
    plan = one(sound(1), item(0, reversal=how))
    kind, until = DecisionKind.IRREVERSIBLE, world.now + 10_000_000
    name = decide(world, plan, kind, "item/i0", expires_at=until)
    apply(world, one(sound(1), item(0, reversal=replace(how, decision=name))))
    work = of(world, "i0").id
    assert world.status(work) == "ready"
    world.pass_us(10_000_000)
    world.no("bob", c.GrantLease(work), Code.ITEM_NOT_READY)
    world.ok(HUMAN, c.Recheck(work))
    held = world.item(work)
    assert (held.status, held.hold and held.hold.trigger) == ("held", "gate:decision/P-1")
    assert "decision" in opens(held)


def test_what_cannot_be_taken_back_lands_only_while_its_decision_holds() -> None:
    """It could begin when it was leased; before it is pushed, its gates are asked once more."""
    how = Reversal(ReversalKind.IRREVERSIBLE, "", "mail", "the log", "all customers")
    world = World()
    plan = one(sound(1), item(0, reversal=how))
    until = world.now + 10_000_000
    name = decide(world, plan, DecisionKind.IRREVERSIBLE, "item/i0", expires_at=until)
    apply(world, one(sound(1), item(0, reversal=replace(how, decision=name))))
    work = of(world, "i0").id
    for step in ("leased", "in-review", "approved"):
        world.step(work, step)
    push = about(world, work)
    world.pass_us(10_000_000)
    refused = say(world, push)
    assert isinstance(refused, Refused)
    assert refused.code is Code.DECISION_NEEDED
    assert refused.details["gates"] == ["decision"]
    assert world.fact("effect", f"push/{work}") is None


def test_decisions_that_conflict_stop_planning_and_are_both_named() -> None:
    world = World()
    apply(world, sound(2))
    wanted = one(sound(2), item(0, title="Other"))
    scope = ("goal/export",)
    first = decide(world, wanted, DecisionKind.GOAL, *scope)
    second = decide(
        world, wanted, DecisionKind.GOAL, *scope, options=(Option("go", "do something else"),)
    )
    refused = refuse(world, wanted, Code.PLAN_INADMISSIBLE)
    (problem,) = refused.details["problems"]
    assert (problem["code"], problem["path"]) == ("DECISIONS_CONFLICT", [first, second])


def test_an_ambiguity_is_settled_by_a_decision_about_what_it_stands_in() -> None:
    world = World()
    unclear = replace(goal(1), ambiguities=(Ambiguity("a", "which?"),))
    apply(world, one(sound(1), unclear))
    assert of(world, "i0").gate == "goal/P-1"
    name = decide(world, one(sound(1), unclear), DecisionKind.GOAL, "goal/export")
    settled = replace(unclear, ambiguities=(Ambiguity("a", "which?", decision=name),))
    apply(world, one(sound(1), settled))
    assert of(world, "i0").status == "ready"
