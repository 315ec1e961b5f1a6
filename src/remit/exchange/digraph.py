"""Directed graphs as the cycle finder needs them: strip, find components, find shortest cycles.

Plain numbers in, plain numbers out; what a node or an arc stands for is the caller's business.
Nodes are integers from 0. An arc carries a label and a length of 0 or 1, so that steps which are
no edge of the caller's data cost nothing. Heads are kept in order, and searches follow that order,
so the same graph always gives the same answer.

Components come from rustworkx. Shortest cycles are found here, by breadth-first search from one
root after another, because the answer must be exact, repeatable, and bounded in steps.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Sequence

import rustworkx

Arc = tuple[int, int, int, int]  # tail node, head node, label, length (0 or 1)
Graph = dict[int, list[tuple[int, int, int]]]  # tail -> (head, label, length), sorted


def shortest_cycle(
    graph: Graph, inside: set[int], roots: Sequence[int], budget: int
) -> tuple[list[tuple[int, int]], bool, int]:
    """The shortest closed walk through any root, within `inside`.

    Searches from each root in turn and then leaves it out, since every walk through it has been
    weighed. Returns (walk as (node, kind of the step out), whether proved shortest, edges looked
    at). The first search always runs to its end, so there is always an answer.
    """
    best: list[tuple[int, int]] = []
    length = steps = 0
    for root in roots:
        if best and (length == 1 or steps > budget):
            return best, length == 1, steps
        walk, size, looked = _around(graph, inside, root, length if best else None)
        steps += looked
        if walk:
            best, length = walk, size
        inside.discard(root)
    return best, True, steps


def _around(
    graph: Graph, inside: set[int], root: int, bound: int | None
) -> tuple[list[tuple[int, int]], int, int]:
    """The shortest closed walk through `root` under `bound` edges: (walk, length, edges seen)."""
    reached = {root: 0}
    came: dict[int, tuple[int, int]] = {}
    queue = deque([root])
    done: set[int] = set()
    end: tuple[int, int] | None = None
    steps = 0
    while queue:
        node = queue.popleft()
        if node in done:
            continue
        done.add(node)
        at = reached[node]
        if bound is not None and at >= bound:
            break
        for head, kind, size in graph.get(node, ()):
            steps += 1
            far = at + size
            if head == root:
                if bound is None or far < bound:
                    bound, end = far, (node, kind)
            elif head in inside and far < reached.get(head, far + 1):
                reached[head] = far
                came[head] = (node, kind)
                (queue.append if size else queue.appendleft)(head)
    if end is None or bound is None:
        return [], 0, steps
    walk = [end]
    while walk[-1][0] != root:
        walk.append(came[walk[-1][0]])
    return walk[::-1], bound, steps


def adjacency(arcs: Iterable[Arc]) -> Graph:
    """The graph of some arcs, with heads in a fixed order."""
    graph: Graph = {}
    for tail, head, kind, size in arcs:
        graph.setdefault(tail, []).append((head, kind, size))
    for heads in graph.values():
        heads.sort()
    return graph


def components(graph: Graph, nodes: int) -> list[set[int]]:
    """Strongly connected components that hold a cycle, by their smallest node."""
    directed: rustworkx.PyDiGraph[None, None] = rustworkx.PyDiGraph(multigraph=True)
    directed.add_nodes_from([None] * nodes)
    directed.add_edges_from_no_data(
        [(tail, head) for tail, heads in graph.items() for head, _, _ in heads]
    )
    found = [set(part) for part in rustworkx.strongly_connected_components(directed)]
    loops = {tail for tail, heads in graph.items() for head, _, _ in heads if head == tail}
    return sorted((part for part in found if len(part) > 1 or part & loops), key=min)


def strip_sources(tails: array[int], heads: array[int], alive: bytearray) -> None:
    """Clear, again and again, the rows into which no edge from a live row leads."""
    count = len(alive)
    start = array("I", bytes(4 * (count + 1)))
    entering = array("I", bytes(4 * count))
    for tail, head in zip(tails, heads, strict=True):
        if alive[tail] and alive[head]:
            start[tail + 1] += 1
            entering[head] += 1
    for row in range(count):
        start[row + 1] += start[row]
    place = start[:]
    follow = array("I", bytes(4 * start[count]))
    for tail, head in zip(tails, heads, strict=True):
        if alive[tail] and alive[head]:
            follow[place[tail]] = head
            place[tail] += 1
    for seed in range(count):
        stack = [seed] if alive[seed] and not entering[seed] else []
        while stack:
            row = stack.pop()
            alive[row] = 0
            for head in follow[start[row] : start[row + 1]]:
                entering[head] -= 1
                if not entering[head]:
                    stack.append(head)
