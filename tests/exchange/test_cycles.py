"""Cycles: small cases with names, and random graphs against two oracles of another make.

One oracle simulates the work itself: it finishes rows that may start until nothing moves, and
whatever is left must hang on a reported deadlock. The other measures every closed walk.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.exchange.backlog import EdgeKind
from remit.exchange.cycles import Cycle, CycleKind, EdgeTable, find_cycles

NAMES = "abcdef"
KINDS = {"B": EdgeKind.BLOCKS, "P": EdgeKind.PARENT, "C": EdgeKind.CONDITIONAL}
KINDS |= {"W": EdgeKind.WAITS_FOR, "L": EdgeKind.LINK}
Edge = tuple[str, EdgeKind, str]


def edges_of(text: str) -> list[Edge]:
    """`aBb bPc` reads: a has a BLOCKS edge to b, and c is the parent of b."""
    return [(word[0], KINDS[word[1]], word[2]) for word in text.split()]


def find(edges: list[Edge], closed: str = "") -> tuple[Cycle, ...]:
    return found(edges, closed)[0]


def found(
    edges: list[Edge], closed: str = "", order: str = NAMES
) -> tuple[tuple[Cycle, ...], dict[str, int]]:
    ids = {name: number for number, name in enumerate(order)}
    table = EdgeTable()
    for source, kind, target in edges:
        table.add(ids[source], kind, ids[target])
    findings = find_cycles(ids, bytes(name not in closed for name in order), table)
    return findings.cycles, {order[number]: at for number, at in findings.marks.items()}


CASES: list[tuple[str, str, str, list[tuple[str, str]]]] = [
    ("nothing", "", "", []),
    ("a chain", "aBb bBc cPd", "", []),
    ("links", "aLb bLa", "", []),
    ("two block each other", "bBa aBb", "", [("DEADLOCK", "ab")]),
    ("a row blocks itself", "cBc", "", [("DEADLOCK", "c")]),
    ("conditional and blocks", "aCb bBa", "", [("DEADLOCK", "ab")]),
    ("the shortest of several", "aBb bBc cBd dBa cBb", "", [("DEADLOCK", "bc")]),
    ("two components", "aBb bBa cBd dBc", "", [("DEADLOCK", "ab"), ("DEADLOCK", "cd")]),
    ("one of two has closed", "aBb bBa", "b", [("SETTLED", "ab")]),
    ("all have closed", "aBb bBc cBa", "abc", [("SETTLED", "abc")]),
    ("a shorter settled way", "aBb bBa aBc cBd dBa", "b", [("DEADLOCK", "acd")]),
    ("an epic blocked by its task", "eBa aPe", "", [("ROLL_UP", "ae")]),
    ("an epic blocked by a grandchild", "eBa aPb bPe", "", [("ROLL_UP", "abe")]),
    ("an epic blocked by two tasks in order", "eBa eBb aPe bPe bBa", "", [("ROLL_UP", "ae")]),
    ("such an epic, closed", "eBa aPe", "e", []),
    ("such an epic waits for all children", "eWe aPe bPe", "", [("ROLL_UP", "ae")]),
    ("a task blocked by its epic", "aBe aPe", "", []),
    ("task and epic block each other", "aBe eBa aPe", "", [("DEADLOCK", "ae")]),
    ("an epic blocked by what needs its task", "eBd dBa aPe", "", [("DEADLOCK", "aed")]),
    ("the same, two levels up", "eBd dBa aPb bPe", "", [("DEADLOCK", "abed")]),
    ("the same, through a closed parent", "eBd dBa aPb bPe", "b", [("SETTLED", "abed")]),
    ("the same, but the epic has closed", "eBd dBa aPe", "e", [("SETTLED", "aed")]),
    ("parents in a loop", "aPb bPc cPa", "", [("PARENT_LOOP", "abc")]),
    ("its own parent", "aPa", "", [("PARENT_LOOP", "a")]),
    ("waits for a sibling's children", "aWb cPb", "", []),
    ("waits for children that need it", "aWb cPb cBa", "", [("DEADLOCK", "ac")]),
    ("waits for the children of its parent", "aWb aPb", "", [("DEADLOCK", "a")]),
    ("waits for a row without children", "aWb bBa", "", []),
    ("waits for children that have closed", "aWb cPb cBa", "c", [("SETTLED", "ac")]),
]


@pytest.mark.parametrize(
    ("text", "closed", "expected"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_named_cases(text: str, closed: str, expected: list[tuple[str, str]]) -> None:
    cycles = find(edges_of(text), closed)
    assert [(one.kind.value, "".join(one.members)) for one in cycles] == expected
    assert all(one.exact for one in cycles)


def test_a_cycle_names_each_step_and_the_children_awaited() -> None:
    (cycle,) = find(edges_of("eWf bPf bBd dPe"))
    assert [(s.source, s.kind, s.target, s.via) for s in cycle.links] == [
        ("b", EdgeKind.BLOCKS, "d", None),
        ("d", EdgeKind.PARENT, "e", None),
        ("e", EdgeKind.WAITS_FOR, "b", "f"),
    ]
    assert str(cycle) == "b -> d -> e -> b"
    assert cycle.holds_work
    assert cycle.rows == 3


def needs(edges: list[Edge], open_rows: set[str]) -> dict[str, set[str]]:
    """What each open row waits for, straight from the definition."""
    parents = {n: {t for s, k, t in edges if s == n and k is EdgeKind.PARENT} for n in NAMES}

    def above(row: str, among: set[str]) -> set[str]:
        seen: set[str] = set()
        stack = [row]
        while stack:
            fresh = (parents[stack.pop()] & among) - seen
            seen |= fresh
            stack.extend(fresh)
        return seen

    def awaited(kind: EdgeKind, target: str) -> set[str]:
        if kind is EdgeKind.WAITS_FOR:
            return {n for n in NAMES if target in parents[n]} & open_rows
        return {target} & open_rows if kind in (EdgeKind.BLOCKS, EdgeKind.CONDITIONAL) else set()

    waits: dict[str, set[str]] = {}
    for row in open_rows:
        own = [(kind, target) for source, kind, target in edges if source == row]
        passed = [
            (kind, target)
            for source, kind, target in edges
            if source in above(row, open_rows)  # a closed parent hands nothing down
            and target != source
            and source
            not in above(target, set(NAMES))  # a wait for its own subtree is not passed down
        ]
        waits[row] = set().union(*(awaited(kind, target) for kind, target in own + passed))
    return waits


def stuck(waits: dict[str, set[str]]) -> set[str]:
    """The rows that stay when everything that may start is finished, again and again."""
    left = set(waits)
    while movable := {row for row in left if not waits[row] & left}:
        left -= movable
    return left


GRAPHS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(list(EdgeKind)), st.sampled_from(NAMES)),
    max_size=9,
    unique=True,
)


@settings(max_examples=500, deadline=None)
@given(GRAPHS, st.sets(st.sampled_from(NAMES), max_size=3))
def test_rows_are_stuck_only_by_reported_deadlocks(edges: list[Edge], closed: set[str]) -> None:
    open_rows = set(NAMES) - closed
    waits = needs(edges, open_rows)
    left = stuck(waits)
    cycles, marks = found(edges, "".join(closed))
    deadlocked = {row for row, at in marks.items() if cycles[at].kind is CycleKind.DEADLOCK}
    assert deadlocked & open_rows <= left
    reach = set(deadlocked)
    while fresh := {row for row in left if waits[row] & reach} - reach:
        reach |= fresh
    assert left <= reach, "a row is stuck and no deadlock says why"
    assert bool(left) == any(cycle.holds_work for cycle in cycles)


def steps(edges: list[Edge], closed: set[str]) -> Iterator[tuple[str, str, int]]:
    """Every step that a live walk may take, between states such as "a" and "a^" (hands down)."""
    parents: dict[str, set[str]] = {name: set() for name in NAMES}
    for source, kind, target in edges:
        if kind is EdgeKind.PARENT:
            parents[source].add(target)
    below = {name: {name} for name in NAMES}
    for _ in NAMES:
        for child, ups in parents.items():
            for up in ups:
                below[up] |= below[child]
    for row in set(NAMES) - closed:
        yield row, row + "^", 0
    for source, kind, target in edges:
        if kind is EdgeKind.PARENT and target not in closed:
            yield source + "^", target + "^", 1
        elif kind is EdgeKind.PARENT:
            continue
        elif source not in closed and kind is not EdgeKind.LINK:
            tail = source if target in below[source] else source + "^"
            heads = (
                {n for n in NAMES if target in parents[n]}
                if kind is EdgeKind.WAITS_FOR
                else {target}
            )
            yield from ((tail, head, 1) for head in heads - closed)


@settings(max_examples=300, deadline=None)
@given(GRAPHS, st.sets(st.sampled_from(NAMES), max_size=2))
def test_each_deadlock_is_shown_by_its_shortest_cycle(edges: list[Edge], closed: set[str]) -> None:
    states = [name + mark for name in NAMES for mark in ("", "^")]
    far = dict.fromkeys(itertools.product(states, states), 99)
    for tail, head, size in steps(edges, closed):
        far[tail, head] = min(far[tail, head], size)
    for middle, tail, head in itertools.product(states, states, states):
        far[tail, head] = min(far[tail, head], far[tail, middle] + far[middle, head])
    shortest: dict[frozenset[str], int] = {}
    for name in NAMES:
        if far[name, name] < 99:
            component = frozenset(
                one for one in states if far[name, one] < 99 and far[one, name] < 99
            )
            shortest[component] = min(shortest.get(component, 99), far[name, name])
    cycles = [one for one in find(edges, "".join(closed)) if one.holds_work]
    assert sorted(len(one.links) for one in cycles) == sorted(shortest.values())
    for cycle in cycles:
        assert cycle.members[0] == min(cycle.members)
        assert len(set(cycle.members)) == len(cycle.members)
        for link, after in zip(cycle.links, cycle.links[1:] + cycle.links[:1], strict=True):
            assert link.target == after.source
            assert (link.source, link.kind, link.via or link.target) in edges
            assert not link.via or (link.target, EdgeKind.PARENT, link.via) in edges


@settings(max_examples=100, deadline=None)
@given(GRAPHS, st.randoms(use_true_random=False), st.sets(st.sampled_from(NAMES), max_size=2))
def test_order_of_rows_and_edges_does_not_count(
    edges: list[Edge], chance: random.Random, closed: set[str]
) -> None:
    order = "".join(chance.sample(NAMES, len(NAMES)))
    shuffled = chance.sample(edges, len(edges))
    assert found(shuffled, "".join(closed), order) == found(edges, "".join(closed))


def test_of_two_shortest_cycles_the_one_with_smaller_ids_is_shown() -> None:
    edges = edges_of("aBb bBa aBc cBa")
    for order in ("abc", "cba"):
        assert [str(one) for one in found(edges, order=order)[0]] == ["a -> b -> a"]


def test_steps_inside_a_row_do_not_make_a_cycle_longer() -> None:
    """Two waits for children, each beside a longer way up through parents."""
    edges = edges_of("eWr qPr ePp pPq qBu uWx wPx uPv vPw wBe")
    (cycle,) = found(edges, order="epqruvwx")[0]
    assert str(cycle) == "e -> q -> u -> w -> e"


def ring(count: int) -> tuple[dict[str, int], EdgeTable]:
    """A ring of rows with a chord back from each: one large component."""
    ids = {f"r-{number:06d}": number for number in range(count)}
    table = EdgeTable()
    for row in range(count):
        table.add(row, EdgeKind.BLOCKS, (row + 1) % count)
        table.add(row, EdgeKind.BLOCKS, (row + count - 3) % count)
    return ids, table


def test_a_large_component_is_exact_within_the_budget_and_says_so_beyond() -> None:
    ids, table = ring(400)
    (exact,) = find_cycles(ids, b"\1" * 400, table).cycles
    assert (len(exact.links), exact.exact, exact.rows) == (4, True, 400)
    (hurried,) = find_cycles(ids, b"\1" * 400, table, budget=0).cycles
    assert not hurried.exact
    assert hurried.kind is CycleKind.DEADLOCK
    assert hurried.rows == 400


def test_work_is_bounded_however_large_the_component() -> None:
    ids, table = ring(20_000)
    (cycle,) = find_cycles(ids, b"\1" * 20_000, table, budget=100_000).cycles
    assert cycle.rows == 20_000
    assert len(cycle.links) == 4


def test_a_deep_chain_is_no_cycle_and_needs_no_recursion() -> None:
    count = 50_000
    ids = {str(number): number for number in range(count)}
    table = EdgeTable()
    for row in range(1, count):
        table.add(row, EdgeKind.PARENT, row - 1)
        table.add(row, EdgeKind.BLOCKS, row - 1)
    assert find_cycles(ids, b"\1" * count, table).cycles == ()
    table.add(0, EdgeKind.BLOCKS, count - 1)
    kinds = {one.kind for one in find_cycles(ids, b"\1" * count, table, budget=10_000).cycles}
    assert kinds == {CycleKind.DEADLOCK}
