"""What is wrong with a plan: every rule once, every lost link, every cycle, and at full size."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
import rustworkx
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.plans import BUNDLES, goal, item, large, node, requirement, row, sound

from remit.core.decisions import DecisionKind
from remit.core.planning.authority import NO_DECISIONS, Need, needed
from remit.core.planning.bundle import (
    Ambiguity,
    Bundle,
    Clause,
    EdgeType,
    Exclusion,
    PlanEdge,
    PlanNode,
    Reversal,
    ReversalKind,
    Risk,
)
from remit.core.planning.check import Gate, Problem, blocking, check
from remit.core.planning.cycles import cycles
from remit.core.rows import Control, RowKind, RowSpec


class Accepts:
    """Decisions that cover what they are told to."""

    def __init__(self, **kinds: DecisionKind) -> None:
        self.kinds = kinds

    def fault(self, ref: str, need: Need | None) -> str:
        known = self.kinds.get(ref)
        if known is None:
            return f"no decision {ref!r}"
        return "" if need is None or need.kind is known else f"{ref} is of another kind"

    def conflicts(self) -> tuple[tuple[str, ...], ...]:
        return ()


def codes(plan: Bundle, decisions: Any = NO_DECISIONS, old: Bundle | None = None) -> set[Problem]:
    return {each.code for each in blocking(check(plan, decisions, old))}


def test_a_sound_plan_has_no_findings() -> None:
    assert check(sound()) == ()
    assert check(sound(), previous=sound()) == ()


_G = goal(3)
RUBRIC = RowSpec(RowKind.RUBRIC, rubric="is it good", control=Control.NONE)
BROKEN: list[tuple[Problem, Gate, Callable[[Bundle], Bundle]]] = [
    (p, g, change)
    for p, g, change in [
        (Problem.OBJECTIVE_MISSING, Gate.GOAL, lambda b: replace(b, goal=replace(_G, objective=" "))),
        (Problem.AUTHORITY_MISSING, Gate.GOAL, lambda b: replace(b, goal=replace(_G, authority=""))),
        (Problem.PROVENANCE_MISSING, Gate.GOAL, lambda b: replace(b, goal=replace(_G, provenance=()))),
        (
            Problem.AMBIGUITY_OPEN,
            Gate.GOAL,
            lambda b: replace(b, goal=replace(_G, ambiguities=(Ambiguity("a", "which?"),))),
        ),
        (
            Problem.CLAUSE_UNCOVERED,
            Gate.GOAL,
            lambda b: replace(b, goal=replace(_G, clauses=(*_G.clauses, Clause("more", "x")))),
        ),
        (
            Problem.DECISION_MISSING,
            Gate.DECISION,
            lambda b: replace(
                b,
                goal=replace(
                    _G,
                    clauses=(*_G.clauses, Clause("more", "x")),
                    exclusions=(Exclusion("more", ""),),
                ),
            ),
        ),
        (
            Problem.CLAUSE_BOTH,
            Gate.GOAL,
            lambda b: replace(b, goal=replace(_G, exclusions=(Exclusion("c0", "D-1"),))),
        ),
        (
            Problem.CLAUSE_UNKNOWN,
            Gate.REQUIREMENTS,
            lambda b: replace(b, requirements=(*b.requirements[:2], requirement(2, clauses=("c9",)))),
        ),
        (
            Problem.ACCEPTANCE_MISSING,
            Gate.REQUIREMENTS,
            lambda b: replace(b, requirements=(*b.requirements[:2], requirement(2, acceptance=()))),
        ),
        (
            Problem.DECISION_UNFIT,
            Gate.DECISION,
            lambda b: replace(
                b, requirements=(*b.requirements[:2], requirement(2, decisions=("D-9",)))
            ),
        ),
        (
            Problem.REQUIREMENT_WITHOUT_ITEM,
            Gate.REQUIREMENTS,
            lambda b: replace(b, items=b.items[:2], rows=b.rows[:2]),
        ),
        (Problem.REQUIREMENT_UNCOVERED, Gate.GRAPH, lambda b: replace(b, nodes=b.nodes[:2])),
        (
            Problem.NODE_UNKNOWN,
            Gate.GRAPH,
            lambda b: replace(b, nodes=(*b.nodes[:2], node(2, 7))),
        ),
        (Problem.CYCLE, Gate.GRAPH, lambda b: replace(b, nodes=(node(0, 2), *b.nodes[1:]))),
        (
            Problem.NO_DIRECT_ROW,
            Gate.VERIFICATION_PLAN,
            lambda b: replace(b, rows=(*b.rows[:2], row(2, direct=False))),
        ),
        (
            Problem.BOUNDARY_MISSING,
            Gate.VERIFICATION_PLAN,
            lambda b: replace(b, rows=(*b.rows[:2], row(2, boundary=""))),
        ),
        (
            Problem.ROW_MALFORMED,
            Gate.VERIFICATION_PLAN,
            lambda b: replace(b, rows=(*b.rows[:2], row(2, spec=RowSpec(RowKind.COMMAND)))),
        ),
        (
            Problem.NO_RED_CONTROL,
            Gate.RED_CONTROL,
            lambda b: replace(
                b,
                requirements=(*b.requirements[:2], requirement(2, risk=Risk.HIGH)),
                rows=(*b.rows[:2], row(2, spec=RUBRIC)),
            ),
        ),
        (
            Problem.SCOPE_MISSING,
            Gate.SCOPE,
            lambda b: replace(b, items=(*b.items[:2], item(2, scope=()))),
        ),
        (
            Problem.PATTERN_MALFORMED,
            Gate.SCOPE,
            lambda b: replace(b, items=(*b.items[:2], item(2, scope=("/etc",)))),
        ),
        (
            Problem.REVERSAL_UNCLASSIFIED,
            Gate.REVERSAL,
            lambda b: replace(
                b, items=(*b.items[:2], item(2, reversal=Reversal(ReversalKind.UNCLASSIFIED)))
            ),
        ),
        (
            Problem.REVERSAL_INCOMPLETE,
            Gate.REVERSAL,
            lambda b: replace(
                b, items=(*b.items[:2], item(2, reversal=Reversal(ReversalKind.COMPENSATION)))
            ),
        ),
        (
            Problem.DECISION_MISSING,
            Gate.DECISION,
            lambda b: replace(
                b, items=(*b.items[:2], item(2, reversal=Reversal(ReversalKind.IRREVERSIBLE)))
            ),
        ),
        (Problem.LABEL_TWICE, Gate.REQUIREMENTS, lambda b: replace(b, items=(*b.items, b.items[0]))),
        (Problem.LABEL_MALFORMED, Gate.PLAN_OPEN, lambda b: replace(b, name="a plan")),
        (Problem.ITEM_MALFORMED, Gate.REQUIREMENTS, lambda b: replace(b, items=(*b.items[:2], item(2, title="a\nb")))),
    ]
]  # fmt: skip


@pytest.mark.parametrize(("code", "gate", "change"), BROKEN, ids=[str(b[0]) for b in BROKEN])
def test_a_fault_is_found_and_keeps_its_gate_shut(
    code: Problem, gate: Gate, change: Callable[[Bundle], Bundle]
) -> None:
    found = [each for each in check(change(sound())) if each.code is code and each.gate is gate]
    assert found
    assert all(each.blocking and each.message for each in found)


def test_an_immaterial_ambiguity_is_advice() -> None:
    unclear = replace(_G, ambiguities=(Ambiguity("a", "which?", material=False),))
    (found,) = check(replace(sound(), goal=unclear))
    assert (found.code, found.blocking) == (Problem.AMBIGUITY_OPEN, False)


def test_all_faults_are_named_at_once() -> None:
    plan = sound()
    for _, _, change in BROKEN[:2] + BROKEN[13:14]:
        plan = replace(change(plan), goal=replace(_G, objective="", authority=""))
    assert {Problem.OBJECTIVE_MISSING, Problem.AUTHORITY_MISSING, Problem.CYCLE} <= codes(plan)


def _without_one(value: Any) -> Iterator[Any]:
    """The value with one reference less: an entry left out, or a name emptied."""
    if isinstance(value, tuple):
        for n in range(len(value)):
            yield value[:n] + value[n + 1 :]
    elif value:
        yield ""


def _with(plan: Bundle, kind: str, records: tuple[Any, ...]) -> Bundle:
    parts: dict[str, Any] = {kind: records}
    return replace(plan, **parts)


LINKS = {
    "requirements": ("clauses",),
    "nodes": ("requirements", "edges"),
    "rows": ("requirement", "item"),
    "items": ("node", "requirements", "rows"),
}


@given(st.integers(1, 6))
@settings(max_examples=6, deadline=None)
def test_a_plan_that_lost_any_one_link_is_found_out(count: int) -> None:
    plan = sound(count)
    tried = 0
    for kind, names in LINKS.items():
        records: tuple[Any, ...] = getattr(plan, kind)
        for n, record in enumerate(records):
            assert codes(_with(plan, kind, records[:n] + records[n + 1 :]), old=plan)
            for name in names:
                for less in _without_one(getattr(record, name)):
                    cut = replace(record, **{name: less})
                    broken = _with(plan, kind, (*records[:n], cut, *records[n + 1 :]))
                    assert codes(broken, old=plan), (kind, record.label, name)
                    tried += 1
    for n in range(count):
        clauses = plan.goal.clauses[:n] + plan.goal.clauses[n + 1 :]
        assert codes(replace(plan, goal=replace(plan.goal, clauses=clauses)), old=plan)
    assert tried >= 7 * count


@given(BUNDLES, BUNDLES)
@settings(deadline=None)
def test_any_plan_can_be_checked(old: Bundle, new: Bundle) -> None:
    for each in check(new, previous=old):
        assert each.message
        if each.kind != "plan" and each.field:
            records = [r for r in new.records() if r.label == each.label]
            head = each.field.partition("[")[0].partition(".")[0]
            assert any(head in {f.name for f in fields(r)} for r in records)


@given(BUNDLES)
@settings(deadline=None)
def test_a_plan_that_does_not_change_needs_no_decision_for_a_change(plan: Bundle) -> None:
    found = needed(plan, plan)
    assert tuple(replace(need, kept=False) for need in found) == needed(None, plan)
    assert all(need.kept for need in found)


GRAPHS = st.integers(1, 6).flatmap(
    lambda n: st.dictionaries(
        st.integers(0, n).map(str), st.lists(st.integers(0, n).map(str), max_size=4), max_size=n + 1
    )
)


@given(GRAPHS)
@settings(max_examples=300, deadline=None)
def test_every_cycle_is_reported_and_the_smallest_come_first(graph: dict[str, list[str]]) -> None:
    found = cycles(graph)
    names = sorted({*graph, *(b for targets in graph.values() for b in targets)})
    oracle = rustworkx.PyDiGraph(multigraph=False)
    at = dict(zip(names, oracle.add_nodes_from(names), strict=True))
    oracle.add_edges_from([(at[a], at[b], None) for a, targets in graph.items() for b in targets])
    expected = {_turned([names[n] for n in path]) for path in rustworkx.simple_cycles(oracle)}
    assert set(found.found) == expected
    assert found.complete
    assert [len(path) for path in found.found] == sorted(len(path) for path in found.found)


def _turned(path: list[str]) -> tuple[str, ...]:
    least = path.index(min(path))
    return (*path[least:], *path[:least])


def test_a_graph_with_too_many_cycles_still_names_the_smallest_and_each_edge_on_one() -> None:
    names = [f"n{n:02}" for n in range(30)]
    graph = {a: [b for b in names if b != a] for a in names}
    found = cycles(graph)
    assert not found.complete
    assert len(found.found[0]) == 2
    named = {(p[i], p[(i + 1) % len(p)]) for p in found.found for i in range(len(p))}
    assert len(named) == 30 * 29


def test_the_shortest_of_a_large_knot_is_found() -> None:
    """One ring of 400 nodes with chords that skip ahead, and one short way back."""
    graph = {f"n{n}": [f"n{(n + k) % 400}" for k in (1, 2, 3)] for n in range(400)}
    graph["n300"].append("n296")
    found = cycles(graph)
    assert len(found.found[0]) == 3
    assert {"n296", "n300"} <= set(found.found[0])


def test_a_cycle_is_told_with_its_way_and_its_edge() -> None:
    plan = replace(sound(), nodes=(node(0, 2), *sound().nodes[1:]))
    (found,) = [each for each in check(plan, previous=plan) if each.code is Problem.CYCLE]
    assert found.path == ("n0", "n2", "n1")
    assert (found.label, found.field) == ("n0", "edges[0].target")
    assert "n0 -> n2 -> n1 -> n0" in found.message


def test_edges_that_do_not_block_close_no_cycle() -> None:
    loose = PlanNode("n0", ("r0",), (PlanEdge("n2", EdgeType.RELATES, "the same file"),))
    assert check(replace(sound(), nodes=(loose, *sound().nodes[1:]))) == ()


def test_a_full_size_plan_is_checked_in_seconds() -> None:
    plan = large(10_000)
    assert sum(len(n.edges) for n in plan.nodes) > 49_000
    assert len(plan.rows) == 20_000
    started = time.perf_counter()
    assert check(plan, previous=plan) == ()
    assert time.perf_counter() - started < 30
