"""What the explorer has found in planning, each as the shortest steps that showed it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.plans import sound
from tests.core.test_plans import apply, decide, interrupted
from tests.core.world import World

from remit.core import commands as c
from remit.core.decisions import DecisionKind
from remit.core.facts import Requirement
from remit.core.planning.bundle import Ambiguity, Bundle, proposal_digest
from remit.core.refusals import Code


def rewritten(world: World, plan: Bundle) -> Bundle:
    """The plan with another first requirement, which a human has allowed."""
    first = plan.requirements[0]
    other = replace(first, statement="something else")
    wanted = replace(plan, requirements=(other, *plan.requirements[1:]))
    name = decide(world, wanted, DecisionKind.REQUIREMENT, f"requirement/{first.label}")
    return replace(wanted, requirements=(replace(other, decisions=(name,)), *plan.requirements[1:]))


def rests_on(world: World, item: str) -> tuple[str, ...]:
    """The revisions that an item was made for, and those that are meant now."""
    governed = world.item(item).plan.governed
    assert governed is not None
    now = []
    for ref in governed.requirement_refs:
        fact = world.fact("requirement", ref.partition("@")[0])
        assert isinstance(fact, Requirement)
        now.append(f"{fact.id}@{fact.meaning}")
    assert tuple(now) == governed.requirement_refs
    return governed.requirement_refs


@pytest.mark.parametrize("steps", range(2, 5))
def test_what_a_given_up_apply_made_of_an_item_is_undone_with_its_requirement(steps: int) -> None:
    """The old plan was applied again, its requirement was as before, and the item was not."""
    world = World()
    plan = sound(1)
    apply(world, plan)
    interrupted(world, rewritten(world, plan), steps)
    apply(world, plan)
    [item] = world.items()
    assert rests_on(world, item.id)
    assert item.status == "ready"


@pytest.mark.parametrize("steps", range(2, 5))
def test_work_goes_on_where_only_a_given_up_apply_changed_its_requirement(steps: int) -> None:
    """What the plan in force says again means what it meant: nobody's work is taken from them."""
    world = World()
    plan = sound(1)
    apply(world, plan)
    [item] = world.items()
    world.lease(item.id)
    other = rewritten(world, plan)
    interrupted(world, other, steps)
    before = world.items()
    apply(world, plan)
    if len(before) == 1:
        assert world.status(item.id) == "leased"
        assert len(world.items()) == 1
    rests_on(world, world.items()[-1].id)


def test_what_a_decision_made_clear_is_unclear_when_that_is_superseded() -> None:
    """The gate of the goal looked at the reference alone, and let the work be leased."""
    world = World()
    plain = sound(1)
    unclear = replace(plain.goal, ambiguities=(Ambiguity("a", "which one"),))
    plan = replace(plain, goal=unclear)
    about = f"goal/{plan.goal.label}"
    first = decide(world, plan, DecisionKind.GOAL, about)
    clear = replace(plan.goal, ambiguities=(Ambiguity("a", "which one", decision=first),))
    apply(world, replace(plan, goal=clear))
    [item] = world.items()
    assert item.status == "ready"
    assert proposal_digest(replace(plan, goal=clear)) == proposal_digest(plan)
    decide(world, plan, DecisionKind.GOAL, about, supersedes=first, choose="stay")
    world.no("bob", c.GrantLease(item.id), Code.ITEM_NOT_READY)
    world.ok("bob", c.Recheck(item.id))
    assert world.status(item.id) == "held"


def test_a_requirement_that_a_decision_made_clear_is_held_to_it_too() -> None:
    world = World()
    plain = sound(1)
    first = plain.requirements[0]

    def asking(ref: str) -> Bundle:
        doubt = Ambiguity("a", "which one", decision=ref)
        return replace(plain, requirements=(replace(first, ambiguities=(doubt,)),))

    about = f"requirement/{first.label}"
    name = decide(world, asking(""), DecisionKind.GOAL, about, expires_at=world.now + 5_000_000)
    apply(world, asking(name))
    [item] = world.items()
    assert item.status == "ready"
    world.pass_us(5_000_000)
    world.no("bob", c.GrantLease(item.id), Code.ITEM_NOT_READY)
