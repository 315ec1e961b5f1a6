"""Cycles of a directed graph, smallest first.

A graph without cycles costs one pass over its edges (strongly connected parts, found without
recursion, since a chain of ten thousand nodes is an ordinary plan). Inside a part that has cycles
every simple one is listed as long as the search stays within ``STEPS``. Where there are more than
that, the shortest cycle through each edge is listed instead, so that each edge that lies on a cycle
is named by at least one as far as ``STEPS`` reach, and the shortest of all is always looked for;
``complete`` says whether these are all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

STEPS: Final = 200_000
"""Most edges that a search inside one part follows."""

SEARCHED: Final = 4_000_000
"""Most edges that a search for the shortest cycle of a part follows, once it has found one."""

LISTED: Final = 1_000
"""Most cycles that are listed of one part."""

Graph = Mapping[str, Sequence[str]]
"""Each node with the nodes that its edges lead to; a target that is no key has no edges."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles as nodes in the order of their edges; ``complete`` says that there is no other one."""

    found: tuple[tuple[str, ...], ...]
    complete: bool


def cycles(graph: Graph) -> Cycles:
    """The cycles of a graph, by length and then by their nodes.

    Each begins at its smallest node; an edge from a node to itself is a cycle of one node.
    """
    found: set[tuple[str, ...]] = set()
    complete = True
    for part in parts(graph):
        inside = {node: [t for t in dict.fromkeys(graph[node]) if t in part] for node in part}
        listed = _all(inside)
        if listed is None:
            complete = False
            listed = _shortest(inside)
        found |= listed
    return Cycles(tuple(sorted(found, key=lambda path: (len(path), path))), complete)


def parts(graph: Graph) -> list[frozenset[str]]:
    """The strongly connected parts that hold a cycle; Tarjan's search with a stack of its own."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    there: set[str] = set()
    found: list[frozenset[str]] = []
    for start in graph:
        if start in order:
            continue
        work = [(start, iter(graph[start]))]
        order[start] = low[start] = len(order)
        waiting.append(start)
        there.add(start)
        while work:
            node, ahead = work[-1]
            for target in ahead:
                if target not in order:
                    order[target] = low[target] = len(order)
                    waiting.append(target)
                    there.add(target)
                    work.append((target, iter(graph.get(target, ()))))
                    break
                if target in there:
                    low[node] = min(low[node], order[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == order[node]:
                    part = _taken(waiting, there, node)
                    if len(part) > 1 or node in graph.get(node, ()):
                        found.append(part)
    return found


def _taken(waiting: list[str], there: set[str], last: str) -> frozenset[str]:
    part = set()
    while True:
        node = waiting.pop()
        there.discard(node)
        part.add(node)
        if node == last:
            return frozenset(part)


def _all(inside: Graph) -> set[tuple[str, ...]] | None:
    """Every simple cycle, each from its smallest node; None where that takes too many steps."""
    found: set[tuple[str, ...]] = set()
    steps = 0
    for start in sorted(inside):
        path, on_path = [start], {start}
        ahead = [iter(inside[start])]
        while ahead:
            target = next(ahead[-1], None)
            steps += 1
            if steps > STEPS or len(found) > LISTED:
                return None
            if target is None:
                ahead.pop()
                on_path.discard(path.pop())
            elif target == start:
                found.add(tuple(path))
            elif target > start and target not in on_path:
                path.append(target)
                on_path.add(target)
                ahead.append(iter(inside[target]))
    return found


def _shortest(inside: Graph) -> set[tuple[str, ...]]:
    """The shortest cycle of all, and the shortest through each edge while ``STEPS`` last."""
    found: set[tuple[str, ...]] = {_least(inside)}
    named: set[tuple[str, str]] = set()
    steps = 0
    for node in sorted(inside):
        for target in sorted(inside[node]):
            if (node, target) in named:
                continue
            if steps > STEPS or len(found) >= LISTED:
                return found
            path, used = _way(inside, target, node)
            steps += used
            named |= set(zip(path, (*path[1:], path[0]), strict=True))
            found.add(_turned(path))
    return found


def _least(inside: Graph) -> tuple[str, ...]:
    """The shortest cycle of a part; of what ``SEARCHED`` edges show, in a part beyond reach.

    A search from each node that goes no deeper than the shortest cycle known so far.
    """
    best: tuple[str, ...] = ()
    steps = 0
    for node in sorted(inside):
        path, used = _way(inside, node, node, len(best) - 1 if best else len(inside))
        steps += used
        best = path or best
        if steps > SEARCHED and best:
            break
    return _turned(best)


def _turned(path: tuple[str, ...]) -> tuple[str, ...]:
    least = path.index(min(path))
    return (*path[least:], *path[:least])


def _way(inside: Graph, start: str, goal: str, most: int = 1 << 60) -> tuple[tuple[str, ...], int]:
    """The shortest way of at most so many edges, and how many edges were followed to find it.

    From a node to itself it is the shortest cycle through it, named once; empty where there is none.
    """
    came: dict[str, str] = {}
    level: Iterable[str] = (start,)
    steps = depth = 0
    while level and goal not in came and depth < most:
        following: list[str] = []
        for node in level:
            for target in inside[node]:
                steps += 1
                if target not in came:
                    came[target] = node
                    following.append(target)
        level = following
        depth += 1
    if goal not in came:
        return (), steps
    path = [came[goal]] if start == goal else [goal]
    while path[-1] != start:
        path.append(came[path[-1]])
    return tuple(reversed(path)), steps
