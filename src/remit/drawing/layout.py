"""Where the nodes of a graph lie: layers from left to right, arrows bent round what is in between.

fast-sugiyama finds the layers and orders them. It takes graphs without cycles only, and ends the
whole process where it is given one; so an arrow that would close a cycle is left out here, whatever
the caller says of its graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remit.drawing.graph import Graph

Point = tuple[float, float]
"""Layer from the left, and place in it from the top, in steps of one node."""

Ends = tuple[str, str]

LONE: Final = 6
"""Nodes without arrows in one line below the rest."""


def forward(nodes: Iterable[str], arrows: Iterable[Ends]) -> list[Ends]:
    """The arrows without those that close a cycle, each once, in the order of the nodes."""
    steps: dict[str, dict[str, None]] = {name: {} for name in nodes}
    for first, later in arrows:
        steps[first][later] = None
    kept: list[Ends] = []
    open_, done = set[str](), set[str]()
    for root in steps:
        if root in done:
            continue
        open_.add(root)
        stack = [(root, iter(steps[root]))]
        while stack:
            name, ahead = stack[-1]
            later = next(ahead, "")
            if not later:
                stack.pop()
                open_.discard(name)
                done.add(name)
            elif later not in open_:
                kept.append((name, later))
                if later not in done:
                    open_.add(later)
                    stack.append((later, iter(steps[later])))
    return kept


def layout(graph: Graph) -> tuple[dict[str, Point], dict[Ends, list[Point]]]:
    """A place for each node, and for each arrow the points through which it is drawn."""
    arrows = forward((n.name for n in graph.nodes), ((a.first, a.later) for a in graph.arrows))
    joined = {name for arrow in arrows for name in arrow}
    names = [node.name for node in graph.nodes if node.name in joined]
    places, bends, below = _joined(names, arrows)
    lone = [node.name for node in graph.nodes if node.name not in joined]
    for n, name in enumerate(lone):
        places[name] = (float(n % LONE), below + n // LONE)
    return places, bends


def _joined(
    names: list[str], arrows: list[Ends]
) -> tuple[dict[str, Point], dict[Ends, list[Point]], float]:
    places: dict[str, Point] = {}
    bends: dict[Ends, list[Point]] = {}
    if not arrows:
        return places, bends, 0.0
    from fast_sugiyama import from_edges

    numbers = {name: n for n, name in enumerate(names)}
    edges = [(numbers[first], numbers[later]) for first, later in arrows]
    found = from_edges(edges, vertex_spacing=1, dummy_vertices=True, transpose=False)
    below = 0.0
    for positions, _, _, steps in found:
        at = {int(n): (float(x), float(y)) for n, (x, y) in positions}
        top = max(y for _, y in at.values())
        left = min(x for x, _ in at.values())
        points = {n: (top - y, below + x - left) for n, (x, y) in at.items()}
        places |= {names[n]: point for n, point in points.items() if n < len(names)}
        onward = {int(a): int(b) for a, b in steps or () if int(a) >= len(names)}
        for a, b in steps or ():
            if int(a) < len(names) <= int(b):
                way, end = [int(b)], onward.get(int(b), -1)
                while end >= len(names):
                    way.append(end)
                    end = onward.get(end, -1)
                if end >= 0:
                    bends[names[int(a)], names[end]] = [points[n] for n in way]
        below = max(y for _, y in points.values()) + 1
    return places, bends, below
