"""Differences of plans, and which of them no agent may make alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from tests.core.plans import BUNDLES, goal, item, node, requirement, row, sound
from tests.core.test_plan_check import Accepts, codes

from remit.core.decisions import DecisionKind
from remit.core.planning.authority import needed
from remit.core.planning.bundle import (
    Bundle,
    Clause,
    PlanItem,
    PlanNode,
    Reversal,
    ReversalKind,
    Risk,
    proposal_digest,
)
from remit.core.planning.check import Problem, check
from remit.core.planning.difference import applied, by_name, difference


@given(BUNDLES, BUNDLES)
@settings(deadline=None)
def test_a_difference_applied_to_the_old_plan_is_the_new_one(old: Bundle, new: Bundle) -> None:
    change = difference(old, new)
    assert applied(old, change) == new
    assert change.empty == (old.name == new.name and by_name(old) == by_name(new))
    assert applied(None, difference(None, new)) == new
    assert difference(new, new).empty


def test_a_difference_says_each_field() -> None:
    new = replace(sound(), items=(item(0, title="Other"), *sound().items[1:]))
    (changed,) = difference(sound(), new).changed
    assert (changed.kind, changed.label) == ("item", "i0")
    assert [(f.field, f.old, f.new) for f in changed.fields] == [
        ("title", "Export part 0", "Other")
    ]


def test_a_difference_of_another_plan_is_refused() -> None:
    change = difference(sound(), replace(sound(), items=(item(0, title="Other"),)))
    with pytest.raises(ValueError, match="is not what it was"):
        applied(replace(sound(), items=(item(0, title="Third"), *sound().items[1:])), change)
    with pytest.raises(ValueError, match="cannot remove"):
        applied(replace(sound(), items=()), change)


def test_a_label_that_stands_twice_has_no_difference() -> None:
    with pytest.raises(ValueError, match="stands twice"):
        difference(None, replace(sound(), items=(item(0), item(0))))


GOAL = DecisionKind.GOAL
REDUCED = DecisionKind.REQUIREMENT
BYPASS = DecisionKind.BYPASS
WAIVER = DecisionKind.WAIVER
_S = sound()


def _only(**kinds: tuple[object, ...]) -> Bundle:
    return replace(_S, **kinds)  # type: ignore[arg-type]  # records by kind


def _goal(**more: object) -> Bundle:
    return replace(_S, goal=replace(goal(3), **more))  # type: ignore[arg-type]  # by field name


NEEDS: list[tuple[Callable[[], Bundle], DecisionKind, str]] = [
    (lambda: _goal(objective="Other"), GOAL, "goal/export"),
    (lambda: _goal(non_goals=()), GOAL, "goal/export"),
    (lambda: _goal(authority="anybody"), GOAL, "goal/export"),
    (lambda: _goal(clauses=(*goal(3).clauses, Clause("new", "more"))), GOAL, "clause/new"),
    (lambda: _goal(clauses=goal(2).clauses), GOAL, "clause/c2"),
    (lambda: _only(requirements=_S.requirements[:2]), REDUCED, "requirement/r2"),
    (
        lambda: _only(requirements=(*_S.requirements[:2], requirement(2, statement="less"))),
        REDUCED,
        "requirement/r2",
    ),
    (
        lambda: _only(requirements=(*_S.requirements[:2], requirement(2, acceptance=("easy",)))),
        REDUCED,
        "requirement/r2",
    ),
    (
        lambda: _only(requirements=(*_S.requirements[:2], requirement(2, non_goals=("zip",)))),
        REDUCED,
        "requirement/r2",
    ),
    (lambda: _only(nodes=(*_S.nodes[:2], node(2))), BYPASS, "node/n1"),
    (lambda: _only(nodes=(_S.nodes[0], node(2, 0))), BYPASS, "node/n1"),
    (lambda: _only(items=(*_S.items[:2], item(2, node="n0"))), BYPASS, "node/n1"),
    (lambda: _only(rows=(*_S.rows[:2], row(2, direct=False))), WAIVER, "row/v2"),
    (lambda: _only(rows=_S.rows[:2]), WAIVER, "row/v2"),
    (lambda: _only(rows=(*_S.rows[:2], row(2, waived="D-1"))), WAIVER, "row/v2"),
    (
        lambda: _only(items=(*_S.items[:2], item(2, reversal=Reversal(ReversalKind.IRREVERSIBLE)))),
        DecisionKind.IRREVERSIBLE,
        "item/i2",
    ),
]


@pytest.mark.parametrize(("made", "kind", "about"), NEEDS)
def test_what_only_a_human_may_decide(
    made: Callable[[], Bundle], kind: DecisionKind, about: str
) -> None:
    assert any(n.kind is kind and about in n.scope for n in needed(_S, made()))
    found = {each.code for each in check(made(), previous=_S)}
    assert found & {Problem.DECISION_MISSING, Problem.DECISION_UNFIT}


def test_what_only_adds_needs_nobody() -> None:
    more = sound(4)
    new = replace(_S, requirements=(*_S.requirements, requirement(3, clauses=("c0",))))
    new = replace(new, nodes=more.nodes, rows=more.rows, items=more.items)
    assert needed(_S, new) == ()
    assert codes(new, old=_S) == set()
    riskier = replace(new, requirements=(requirement(0, risk=Risk.HIGH), *new.requirements[1:]))
    assert needed(new, riskier) == ()


def test_a_decision_of_the_right_kind_opens_the_way_and_another_does_not() -> None:
    free = PlanNode("n2", ("r2",), bypass=(("n1", "D-1"),))
    new = _only(nodes=(*_S.nodes[:2], free))
    assert codes(new, Accepts(**{"D-1": BYPASS}), _S) == set()
    assert codes(new, Accepts(**{"D-1": WAIVER}), _S) == {Problem.DECISION_UNFIT}
    assert codes(new, old=_S) == {Problem.DECISION_UNFIT}


def test_moving_an_item_past_its_waits_is_a_bypass() -> None:
    """The item moves to a node that waits for nothing; its old node stays as it was."""
    idle = PlanNode("idle", ("r2",))
    moved: PlanItem = item(2, node="idle")
    new = _only(nodes=(*_S.nodes, idle), items=(*_S.items[:2], moved))
    assert [n.kind for n in needed(_S, new)] == [BYPASS]


def test_conflicting_decisions_stop_planning_and_are_both_named() -> None:
    class Conflict(Accepts):
        def conflicts(self) -> tuple[tuple[str, ...], ...]:
            return (("D-1", "D-2"),)

    (found,) = check(_S, Conflict())
    assert found.code is Problem.DECISIONS_CONFLICT
    assert found.path == ("D-1", "D-2")
    assert found.blocking


def test_what_is_signed_is_the_plan_without_its_decisions() -> None:
    """So that a decision can be about the plan that names it."""
    free = PlanNode("n2", ("r2",), bypass=(("n1", ""),))
    proposed = _only(nodes=(*_S.nodes[:2], free))
    decided = _only(nodes=(*_S.nodes[:2], replace(free, bypass=(("n1", "D-1"),))))
    assert proposal_digest(proposed) == proposal_digest(decided) != proposal_digest(_S)
