"""The chain as a pure function of facts: what is ready has all of it, and without a link a gate shuts.

Suspect links too: what makes one, what does not, and who may say that it is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.plans import COMMAND, item, node, requirement, row, sound
from tests.core.test_plans import apply, interrupted, of, one
from tests.core.world import HUMAN, OTHER, World
from tests.stateful.plan_asking import made

from remit.core.change import changed
from remit.core.commands import Ask, Text
from remit.core.evolve.plans import entry_of
from remit.core.facts import ClearedLink, Fact, Item, Key, Planned
from remit.core.planned_gates import ask_gates
from remit.core.planning.bundle import Ambiguity, Bundle
from remit.core.planning.chain import chain, whole
from remit.core.planning.difference import name_of
from remit.core.planning.suspicion import suspects
from remit.core.refusals import Code, Refused
from remit.core.trace_commands import ClearLink
from remit.core.trace_events import LinkCleared
from remit.core.view import Draft, View

Facts = Mapping[Key, Fact | None]
Get = Callable[[str, str], Fact | None]


def getter(facts: Facts) -> Get:
    return lambda kind, name: facts.get((kind, name))


class Known(dict[Key, Fact | None]):
    """Facts of which all are known: what is not here is absent."""

    def get(self, key: Key, default: Any = None) -> Any:
        """The fact, or None, so that no decision asks for more."""
        return super().get(key)


def shut(facts: Facts, each: Item) -> list[str]:
    """The gates of an item that are not open on these facts."""
    view = View({}, 1)
    view.facts = Known(facts)
    governed = each.plan.governed
    assert governed is not None
    asked = ask_gates(Draft(view, Ask(1, HUMAN)), each, governed)
    return [str(gate) for gate, opened, *_ in asked if not opened]


def ready(world: World) -> list[Item]:
    return [each for each in world.items() if each.status == "ready"]


def broken(facts: dict[Key, Fact], each: Item) -> Iterator[tuple[str, Facts, Item]]:
    """The same ledger with one link of an item's chain taken out, in every way there is."""
    governed = each.plan.governed
    assert governed is not None
    plan: Any = facts["plan", governed.plan]
    keys = [("plan", plan.id), ("goal", plan.goal), ("node", governed.node)]
    keys += [("requirement", name) for name in each.plan.requirements]
    for key in keys:
        yield f"no {key}", {**facts, key: None}, each
    retiring = [k for k in keys if k[0] != "plan"]
    retiring += [("row", name) for name in each.plan.rows]
    for key in retiring:
        fact: Any = facts[key]
        yield f"{key} retired", {**facts, key: changed(fact, retired=True)}, each
        yield f"{key} of another plan", {**facts, key: changed(fact, plan="P-9")}, each
    yield "no goal named", {**facts, ("plan", plan.id): changed(plan, goal="")}, each
    a_node: Any = facts["node", governed.node]
    key = ("node", governed.node)
    yield "covers nothing", {**facts, key: changed(a_node, covers=())}, each
    for name in each.plan.rows:
        yield f"no row {name}", {**facts, ("row", name): None}, each
        fact = facts["row", name]
        for how in ({"requirement": "R-99"}, {"item": "W-99"}, {"direct": False}):
            yield f"row {name} {how}", {**facts, ("row", name): changed(fact, **how)}, each
    for part in ("requirements", "rows"):
        yield f"item without {part}", facts, changed(each, plan=changed(each.plan, **{part: ()}))
    for how in ({"node": ""}, {"left": True}, {"plan": "P-9"}):
        cut = changed(each.plan, governed=changed(governed, **how))
        yield f"item {how}", facts, changed(each, plan=cut)


PARTS = (
    lambda n: requirement(n, acceptance=()),
    lambda n: requirement(n, ambiguities=(Ambiguity("a", "how?"),)),
    lambda n: row(n, direct=False),
    lambda n: item(n, scope=()),
    lambda n: item(n, requirements=()),
    lambda n: node(n + 1),
)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_what_is_ready_has_the_whole_chain_and_without_any_link_a_gate_shuts(
    data: st.DataObject,
) -> None:
    if data.draw(st.booleans()):
        plan = made(data.draw(st.randoms(use_true_random=False)))
    else:
        count = data.draw(st.integers(1, 3))
        plan = sound(count)
        for n in range(count):
            hurt = data.draw(st.sampled_from([None, None, None, *PARTS]))
            named = {name_of(r) for r in plan.records()}
            if hurt is not None and name_of(hurt(n)) in named:
                plan = one(plan, hurt(n))
    world = World()
    world.ops(HUMAN).apply_plan(plan)
    facts = world.facts()
    for each in ready(world):
        assert whole(getter(facts), each), chain(getter(facts), each)
        assert shut(facts, each) == []
        for why, cut, seen in broken(facts, each):
            assert not whole(getter(cut), seen), why
            assert shut(cut, seen), why


def test_the_chain_says_which_link_is_missing() -> None:
    world = World()
    apply(world, sound(1))
    facts = world.facts()
    [each] = ready(world)
    links = chain(getter(facts), each)
    assert [(x.kind, x.upper, x.lower) for x in links] == [
        ("plan-item", "P-1@1", "W-1"),
        ("plan-goal", "P-1", "G-1"),
        ("node-item", "N-1", "W-1"),
        ("goal-requirement", "G-1", "R-1"),
        ("requirement-node", "R-1", "N-1"),
        ("requirement-row", "R-1", "V-1"),
        ("row-item", "V-1", "W-1"),
    ]
    gone: Any = {**facts, ("row", "V-1"): None}
    faults = {x.kind: x.fault for x in chain(getter(gone), each) if not x.present}
    assert faults == {
        "requirement-row": "no direct row of this item proves it",
        "row-item": "the plan has no such row",
    }
    drafted = world.item(world.create())
    assert chain(getter(world.facts()), drafted) == ()
    assert not whole(getter(world.facts()), drafted)


# Suspect links.


def found(world: World, label: str) -> list[str]:
    facts = world.facts()
    return [each.id for each in suspects(getter(facts), of(world, label))]


def restated(plan: Bundle, *more: str) -> Bundle:
    """The plan with more asked of its first requirement, which needs no decision."""
    return one(plan, requirement(0, acceptance=("a file with part 0 exists", "soon", *more)))


def test_a_changed_requirement_makes_what_hangs_on_it_suspect_until_it_is_restated() -> None:
    world = World()
    plan = sound(2)
    apply(world, plan)
    assert found(world, "i0") == found(world, "i1") == []
    plan = restated(plan)
    apply(world, plan)
    assert found(world, "i0") == ["R-1>N-1", "R-1>V-1"]
    assert found(world, "i1") == []
    plan = one(plan, row(0, spec=replace(COMMAND, argv=("check", "twice"))))
    apply(world, plan)
    assert found(world, "i0") == ["R-1>N-1"]


@pytest.mark.parametrize("steps", range(2, 4))
def test_a_row_that_only_a_given_up_apply_changed_was_not_restated(steps: int) -> None:
    """Put back as it was, it is as old as before, and nobody has looked at it since."""
    world = World()
    plan = sound(1)
    apply(world, plan)
    otherwise = one(plan, row(0, spec=replace(COMMAND, argv=("check", "twice"))))
    assert not interrupted(world, otherwise, steps)
    apply(world, restated(plan))
    assert found(world, "i0") == ["R-1>N-1", "R-1>V-3"]


@pytest.mark.parametrize("steps", range(2, 4))
def test_a_requirement_that_a_given_up_apply_changed_makes_nothing_suspect(steps: int) -> None:
    world = World()
    plan = sound(1)
    apply(world, plan)
    assert not interrupted(world, restated(plan), steps)
    apply(world, one(plan, item(0, title="Export part 0 again")))
    assert found(world, "i0") == []


@pytest.mark.parametrize("steps", range(2, 4))
def test_an_item_that_only_a_given_up_apply_changed_was_not_restated(steps: int) -> None:
    world = World()
    plan = sound(2)
    apply(world, plan)
    again = requirement(1, acceptance=("a file with part 1 exists", "soon"))
    assert not interrupted(world, one(plan, again), steps)
    edges = tuple(replace(edge, rationale="for another reason") for edge in node(1, 0).edges)
    apply(world, one(plan, replace(node(1, 0), edges=edges)))
    assert found(world, "i1") == ["N-2>W-2"]


def test_a_changed_goal_makes_its_requirements_suspect() -> None:
    world = World()
    plan = sound(1)
    apply(world, plan)
    apply(world, one(plan, replace(plan.goal, provenance=("interview 12", "interview 13"))))
    assert found(world, "i0") == ["G-1>R-1"]


def test_a_changed_node_makes_its_items_suspect_and_a_new_brief_does_not() -> None:
    world = World()
    plan = sound(2)
    apply(world, plan)
    edges = tuple(replace(edge, rationale="for another reason") for edge in node(1, 0).edges)
    plan = one(plan, replace(node(1, 0), edges=edges))
    apply(world, plan)
    assert found(world, "i1") == ["N-2>W-2"]
    apply(world, one(plan, item(1, scope=("src/1", "docs"))))
    assert found(world, "i1") == []


def test_a_decision_alone_makes_nothing_suspect() -> None:
    world = World()
    apply(world, sound(1))
    entry: Any = world.fact("planned", entry_of("P-1", "requirement", "r0"))
    assert isinstance(entry, Planned)
    assert entry.meant == 1
    apply(world, one(sound(1), item(0, priority=4)))
    assert found(world, "i0") == []


def clear(upper: str = "R-1", lower: str = "V-1", **more: Any) -> ClearLink:
    return ClearLink(upper, lower, **({"reason": Text("it still proves it")} | more))


@pytest.fixture
def doubted() -> World:
    world = World()
    apply(world, sound(1))
    apply(world, restated(sound(1)))
    assert found(world, "i0") == ["R-1>N-1", "R-1>V-1"]
    return world


def test_clearing_is_an_attributed_event_for_exactly_what_was_looked_at(doubted: World) -> None:
    done = doubted.ok(OTHER, clear())
    [recorded] = done.events
    assert isinstance(recorded.event, LinkCleared)
    assert (recorded.stream, recorded.actor) == ("link/R-1>V-1", OTHER)
    assert recorded.event.plan_revision_id == "P-1@2"
    fact = doubted.fact("link", "R-1>V-1")
    assert isinstance(fact, ClearedLink)
    assert (fact.by, fact.seq) == (OTHER, recorded.seq)
    assert found(doubted, "i0") == ["R-1>N-1"]
    apply(doubted, restated(sound(1), "and again"))
    assert found(doubted, "i0") == ["R-1>N-1", "R-1>V-1"]
    doubted.ok(OTHER, clear())
    assert found(doubted, "i0") == ["R-1>N-1"]


def test_what_is_not_suspect_is_not_cleared(doubted: World) -> None:
    doubted.no(OTHER, clear(reason=Text(" ")), Code.BAD_INPUT)
    doubted.no(OTHER, clear("x"), Code.BAD_INPUT)
    doubted.no(OTHER, clear("R-9"), Code.NOT_FOUND)
    doubted.no(OTHER, clear("V-1", "R-1"), Code.NOT_FOUND)
    doubted.no(OTHER, clear("G-1", "R-1"), Code.UNCHANGED)
    doubted.no(OTHER, clear(upper_digest="d" * 64), Code.PLAN_MOVED)
    refused = doubted.no(OTHER, clear(lower_digest="d" * 64), Code.PLAN_MOVED)
    both = {name: str(refused.details[name]) for name in ("upper_digest", "lower_digest")}
    doubted.ok(OTHER, clear(**both))
    doubted.no(OTHER, clear(), Code.UNCHANGED)


def test_who_did_the_work_does_not_clear_its_links(doubted: World) -> None:
    doubted.lease(of(doubted, "i0").id, "bob")
    found = doubted.no("bob", clear(), Code.REVIEWER_IS_IMPLEMENTER)
    assert isinstance(found, Refused)
    doubted.ok(OTHER, clear())
