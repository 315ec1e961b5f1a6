"""The shortest closed walk of random graphs, against all distances measured plainly."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from remit.exchange.digraph import adjacency, components, shortest_cycle

NODES = 8
# An arc of length 0 leads to a greater node, as a step inside a row does: no walk of length 0.
ARCS = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.booleans()),
    max_size=24,
    unique_by=lambda arc: arc[:2],
).map(lambda arcs: [(t, h, 7, 0 if free and h > t else 1) for t, h, free in arcs])


@settings(max_examples=400, deadline=None)
@given(ARCS)
def test_a_walk_is_closed_and_none_is_shorter(arcs: list[tuple[int, int, int, int]]) -> None:
    far = {(tail, head): 99 for tail in range(NODES) for head in range(NODES)}
    sizes = {(tail, head): size for tail, head, _, size in arcs}
    far.update(sizes)
    for middle, tail, head in itertools.product(range(NODES), repeat=3):
        far[tail, head] = min(far[tail, head], far[tail, middle] + far[middle, head])
    graph = adjacency(arcs)
    parts = components(graph, NODES)
    assert set().union(*parts) == {node for node in range(NODES) if far[node, node] < 99}
    for part in parts:
        walk, exact, steps = shortest_cycle(graph, set(part), sorted(part), 10_000)
        nodes = [node for node, _ in walk]
        around = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
        assert sum(sizes[step] for step in around) == min(far[node, node] for node in part)
        assert exact
        assert steps <= 10_000


def test_a_walk_of_many_free_steps_beats_one_of_fewer_and_longer_steps() -> None:
    """Free steps go first, or a node is left by the longer way before the shorter one arrives.

    Nodes 0 to 4 form a ring of length 5. From 5 round to 5 it takes 4, but only by the long rows
    of free steps 5-7-8-9 and 11-13-14-15, beside which 5-6-10 and 11-12-16 look quicker.
    """
    free = {(5, 7), (7, 8), (8, 9), (11, 13), (13, 14), (14, 15)}
    paid = {(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5), (16, 0)}
    paid |= {(5, 6), (6, 10), (9, 10), (10, 11), (11, 12), (12, 16), (15, 16), (16, 5)}
    graph = adjacency([(*step, 0, 0) for step in free] + [(*step, 0, 1) for step in paid])
    walk, exact, _ = shortest_cycle(graph, set(range(17)), range(17), 10_000)
    assert exact
    assert [node for node, _ in walk] == [5, 7, 8, 9, 10, 11, 13, 14, 15, 16]
