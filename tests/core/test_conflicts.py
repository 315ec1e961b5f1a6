"""Decisions that contradict one another stop planning wherever they are, named by the plan or not.

One register of the ledger lists the pairs; it follows from acceptances and successions alone.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.plans import item, sound
from tests.core.test_plans import apply, decide, of, one, refuse
from tests.core.world import HUMAN, World

from remit.core import commands as c
from remit.core.decisions import CONTESTED, MOST_CONTESTED, Decided, DecisionKind, Option
from remit.core.item_events import ItemHeld
from remit.core.refusals import Code, Refused
from remit.service.reading.waiting import how_to_open as opens

OTHER = (Option("go", "do something else"),)


def contradict(world: World, about: str = "requirement/r0", **more: Any) -> tuple[str, str]:
    """Two accepted decisions about one thing that say different things, which no plan names."""
    kind, plan = DecisionKind.REQUIREMENT, sound(2)
    return decide(world, plan, kind, about, **more), decide(
        world, plan, kind, about, options=OTHER, **more
    )


def propose(world: World, about: str, *options: Option, plan: str = "", **more: Any) -> str:
    """A decision that waits for a human, about something of no certain plan."""
    asked = c.ProposeDecision(
        DecisionKind.REQUIREMENT, "May it?", options=options or OTHER, recommended="go",
        scope=(about,), plan=plan, proposal="a" * 64, **more,
    )  # fmt: skip
    return str(world.ok("bob", asked).events[-1].stream)


def contested(world: World) -> tuple[str, ...]:
    register = world.fact("decided", CONTESTED)
    return register.decisions if isinstance(register, Decided) else ()


def test_a_conflict_that_no_plan_names_stops_the_first_apply_and_is_named() -> None:
    world = World()
    first, second = contradict(world)
    refused = refuse(world, sound(2), Code.PLAN_INADMISSIBLE)
    (problem,) = refused.details["problems"]
    assert (problem["code"], problem["path"]) == ("DECISIONS_CONFLICT", [first, second])


def test_a_conflict_after_the_apply_gives_no_lease_and_is_said_by_name() -> None:
    world = World()
    apply(world, sound(2))
    work = of(world, "i0").id
    assert world.status(work) == "ready"
    first, second = contradict(world)
    world.no("bob", c.GrantLease(work), Code.ITEM_NOT_READY)
    world.ok(HUMAN, c.Recheck(work))
    held = world.item(work)
    assert (held.status, held.hold and held.hold.trigger) == ("held", "gate:goal/P-1")
    assert "goal" in opens(held)
    checks = next(r.event.checks for r in reversed(world.events()) if isinstance(r.event, ItemHeld))
    observed = {check.check: check.observed for check in checks}
    assert observed["goal"] == f"DECISIONS_CONFLICT {first} {second}"


def test_who_supersedes_one_of_the_two_ends_it_and_work_goes_on() -> None:
    world = World()
    apply(world, sound(2))
    work = of(world, "i0").id
    first, second = contradict(world)
    world.ok(HUMAN, c.Recheck(work))
    assert world.status(work) == "held"
    third = decide(world, sound(2), DecisionKind.REQUIREMENT, "requirement/r0", supersedes=second)
    assert contested(world) == ()
    assert world.fact("decided", CONTESTED) is None, "what is over leaves no row"
    assert world.status(work) == "ready", (first, third)


def test_a_change_of_the_plan_is_refused_while_others_contradict_one_another() -> None:
    world = World()
    apply(world, sound(2))
    contradict(world, "row/v1")
    refuse(world, one(sound(2), item(0, title="Other")), Code.PLAN_INADMISSIBLE)


def test_the_end_of_an_apply_asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was accepted while the apply was under way is found by its end, not only before it."""
    from remit.core.planning.deciding import LedgerDecisions
    from remit.service import proposing

    class Before(LedgerDecisions):
        def conflicts(self) -> Any:
            return ()

    world = World()
    contradict(world)
    monkeypatch.setattr(proposing, "LedgerDecisions", Before)
    found = world.ops(HUMAN).apply_plan(sound(2))
    assert isinstance(found, Refused)
    assert found.code is Code.DECISIONS_CONFLICT
    assert of(world, "i0").status == "draft"


@pytest.mark.parametrize(
    ("plan", "about"),
    [("another", "requirement/r0"), ("", "effect/PAY-1"), ("", "unresolved/PAY-1")],
)
def test_what_another_plan_or_an_effect_is_torn_about_stops_no_plan(plan: str, about: str) -> None:
    world = World()
    for options in ((Option("go", "do it"),), OTHER):
        world.ok(HUMAN, c.AcceptDecision(propose(world, about, *options, plan=plan)))
    assert contested(world) == ("D-1 D-2",)
    apply(world, sound(2))
    assert of(world, "i0").status == "ready"


def test_nobodys_conflict_about_what_a_plan_may_have_stops_every_plan() -> None:
    world = World()
    for options in ((Option("go", "do it"),), OTHER):
        world.ok(HUMAN, c.AcceptDecision(propose(world, "requirement/r0", *options)))
    refuse(world, sound(2), Code.PLAN_INADMISSIBLE)


def test_what_ran_out_is_no_conflict_and_leaves_the_list_at_the_next_acceptance() -> None:
    world = World()
    for options in ((Option("go", "do it"),), OTHER):
        until = world.now + 5_000_000
        name = propose(world, "requirement/r0", *options, plan="exports", expires_at=until)
        world.ok(HUMAN, c.AcceptDecision(name))
    refuse(world, sound(2), Code.PLAN_INADMISSIBLE)
    world.pass_us(5_000_000)
    apply(world, sound(2))
    assert contested(world) == ("D-1 D-2",), "time alone is no event"
    world.ok(HUMAN, c.AcceptDecision(propose(world, "requirement/r7")))
    assert contested(world) == ()


def test_no_more_contradict_one_another_than_somebody_can_look_through() -> None:
    world = World()
    names: list[str] = []
    refused = ""
    for n in range(40):
        name = propose(world, "requirement/r0", Option("go", f"way {n}"))
        if len(names) * (len(names) + 1) // 2 > MOST_CONTESTED:
            world.no(HUMAN, c.AcceptDecision(name), Code.DECISIONS_CONFLICT)
            refused = name
            break
        world.ok(HUMAN, c.AcceptDecision(name))
        names.append(name)
    assert refused
    assert len(contested(world)) <= MOST_CONTESTED
    world.ok(HUMAN, c.AcceptDecision(propose(world, "requirement/r9"))), "what meets none is free"
    for old in names[:]:
        settled = propose(world, "requirement/r8", supersedes=old)
        world.ok(HUMAN, c.AcceptDecision(settled))
    assert contested(world) == ()
    world.ok(HUMAN, c.AcceptDecision(refused))
