"""What the explorer has found, each as the shortest steps that showed it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.core.triaging import put

from remit.core import commands as c
from remit.core.facts import Item
from remit.core.refusals import Code
from remit.core.status import Status
from remit.proofs import worlds
from remit.proofs.search import Search, scaled
from remit.proofs.world import BASE, HEADS, HUMAN, ROW, State, Step, World, creation


class Walk:
    """Steps in a world, each judged by every property."""

    def __init__(self, world: World) -> None:
        self.search = Search(world, probing=False)
        self.state: State = self.search.stage.first

    def ok(self, command: c.Command, actor: str = HUMAN) -> None:
        step = Step(actor, command)
        taken = self.search.stage.take(self.state, step)
        assert taken.refused is None, taken.refused
        self.state = self.search.follow(self.state, step)
        self.search._reach(self.search.root, 0, self.state)

    def no(self, command: c.Command, actor: str = HUMAN) -> Code:
        taken = self.search.stage.take(self.state, Step(actor, command))
        assert taken.refused is not None
        return taken.refused.code

    def item(self, name: str) -> Item:
        return self.search.stage.items(self.state)[name]


@pytest.fixture
def family() -> Walk:
    return Walk(worlds.FAMILY)


@pytest.fixture
def many() -> Iterator[Walk]:
    """A world in which one dependent is all that a transaction tells."""
    with scaled(worlds.MANY):
        yield Walk(worlds.MANY)


@pytest.fixture
def whole() -> Walk:
    return Walk(worlds.WHOLE)


def superseded(item: str, by: str) -> c.CloseItem:
    return c.CloseItem(item, "superseded", c.Text("replaced"), by)


def test_an_item_does_not_wait_for_a_child_that_it_took_the_place_of(family: Walk) -> None:
    family.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    family.ok(superseded("W-1", by="W-2"))
    assert family.no(c.AddDependency("W-2", "W-1", "waits-for")) is Code.DEPENDENCY_CYCLE


def test_a_waiter_that_takes_the_place_of_a_child_waits_for_the_other_children(
    family: Walk,
) -> None:
    family.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    family.ok(c.AddDependency("W-2", "W-1", "waits-for"))
    family.ok(c.AddDependency("W-3", "W-1", "parent-child"))
    family.ok(superseded("W-1", by="W-2"))
    waits = {d.target for d in family.item("W-2").dependencies if d.kind == "waits-for-child"}
    assert waits == {"W-3"}
    family.ok(c.CloseItem("W-3", "failed", c.Text("x")))


def test_nobody_waits_for_a_child_that_its_parent_took_the_place_of(family: Walk) -> None:
    family.ok(c.AddDependency("W-1", "W-2", "blocks"))
    family.ok(c.AddDependency("W-2", "W-3", "waits-for"))
    family.ok(c.AddDependency("W-2", "W-3", "parent-child"))
    family.ok(c.AddDependency("W-3", "W-1", "parent-child"))
    family.ok(superseded("W-3", by="W-1"))
    assert all(d.state == "met" for d in family.item("W-2").dependencies)


def test_telling_one_edge_of_an_item_may_end_another(family: Walk) -> None:
    family.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    family.ok(c.AddDependency("W-1", "W-3", "waits-for"))
    family.ok(c.AddDependency("W-2", "W-3", "parent-child"))
    family.ok(superseded("W-2", by="W-3"))
    assert {d.via for d in family.item("W-1").dependencies} == {"W-3"}


def test_an_item_does_not_take_the_place_of_an_ancestor_of_which_news_is_still_to_come(
    many: Walk,
) -> None:
    many.ok(c.AddDependency("W-1", "W-2", "blocks"))
    many.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    many.ok(superseded("W-2", by="W-3"))
    many.ok(c.RemoveDependency("W-1", "W-2", "blocks"))
    assert many.no(superseded("W-3", by="W-1")) is Code.DEPENDENCY_CYCLE


def test_a_child_that_left_lies_no_longer_beneath_the_successor_of_its_parent(many: Walk) -> None:
    many.ok(c.AddDependency("W-1", "W-2", "blocks"))
    many.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    many.ok(superseded("W-2", by="W-3"))
    many.ok(c.RemoveDependency("W-1", "W-2", "blocks"))
    many.ok(c.AddDependency("W-3", "W-1", "blocks"))
    assert many.item("W-3").dependencies[0].inner
    many.ok(c.RemoveDependency("W-1", "W-2", "parent-child"))
    assert not many.item("W-3").dependencies[0].inner


def test_a_cycle_is_seen_through_a_successor_of_which_news_is_still_to_come(many: Walk) -> None:
    many.ok(c.AddDependency("W-1", "W-2", "blocks"))
    many.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    many.ok(superseded("W-2", by="W-3"))
    assert many.item("W-1").dependencies[0].via == "W-2", "its news is deferred"
    assert many.no(c.AddDependency("W-3", "W-1", "parent-child")) is Code.DEPENDENCY_CYCLE


def test_no_lease_is_given_while_news_that_a_parent_waits_is_deferred(many: Walk) -> None:
    many.ok(c.AddDependency("W-1", "W-2", "blocks"))
    many.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    many.ok(c.AddDependency("W-2", "W-3", "blocks"))
    many.ok(c.RemoveDependency("W-1", "W-2", "blocks"))
    assert many.item("W-1").status is Status.READY, "admission has not heard of it yet"
    assert many.no(c.GrantLease("W-1"), "ann") is Code.ITEM_NOT_READY
    many.ok(c.Settle("W-2"), "remit-admission")
    assert many.item("W-1").status is Status.HELD


def test_taking_a_child_away_may_not_turn_its_parents_wait_into_a_cycle(many: Walk) -> None:
    many.ok(c.AddDependency("W-1", "W-2", "blocks"))
    many.ok(c.AddDependency("W-1", "W-2", "parent-child"))
    many.ok(c.AddDependency("W-2", "W-3", "parent-child"))
    many.ok(c.AddDependency("W-3", "W-1", "blocks"))
    gone = c.RemoveDependency("W-1", "W-2", "parent-child")
    assert many.no(gone) is Code.DEPENDENCY_CYCLE
    many.ok(c.RemoveDependency("W-3", "W-1", "blocks"))
    many.ok(gone)


def test_work_put_aside_from_review_gets_no_dependency_that_may_have_ended(whole: Walk) -> None:
    why = c.Text("because")
    whole.ok(c.GrantLease("W-1"), "ann")
    whole.ok(c.ReportCompletion("W-1", 1, HEADS[0], BASE), "ann")
    whole.ok(put("W-1", "ship-unverifiable"))
    whole.ok(creation(2, (ROW,)))
    whole.ok(c.CloseItem("W-2", "cancelled", why))
    assert whole.no(c.AddDependency("W-1", "W-2")) is Code.BRIEF_IS_LIVE
    whole.ok(c.ResolveTriage("T-1", "return", "so"))
    whole.ok(c.ReviewWork("W-1", approve=False, reason=why))
    assert whole.item("W-1").status is Status.READY
