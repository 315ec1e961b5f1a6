"""Where the nodes of a graph lie: layers from left to right, arrows bent round what is in between.

fast-sugiyama finds the layers and orders them. It takes graphs without cycles only, and ends the
whole process where it is given one; so an arrow that would close a cycle is left out here, whatever
the caller says of its graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remit.drawing.graph import Graph, reached

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
    """Part by part, each below the one before."""
    places: dict[str, Point] = {}
    bends: dict[Ends, list[Point]] = {}
    below = 0.0
    for part in _parts(names, arrows):
        members = set(part)
        within = [arrow for arrow in arrows if arrow[0] in members]
        below = _part(part, within, below, places, bends)
    return places, bends, below


def _parts(names: list[str], arrows: list[Ends]) -> list[list[str]]:
    """The names by what hangs together, in their order."""
    beside: dict[str, list[str]] = {name: [] for name in names}
    for first, later in arrows:
        beside[first].append(later)
        beside[later].append(first)
    part_of: dict[str, int] = {}
    for name in names:
        if name not in part_of:
            part_of |= dict.fromkeys(reached(name, beside), len(part_of))
    parts: dict[int, list[str]] = {}
    for name in names:
        parts.setdefault(part_of[name], []).append(name)
    return list(parts.values())


def _part(
    names: list[str],
    arrows: list[Ends],
    below: float,
    places: dict[str, Point],
    bends: dict[Ends, list[Point]],
) -> float:
    """Lay out what hangs together, from a line on; the first line that is free after it.

    The library numbers the bends of each part from the number of its nodes on, whatever their numbers
    are. So each part is given to it by itself, numbered without a gap.
    """
    from fast_sugiyama import from_edges

    numbers = {name: n for n, name in enumerate(names)}
    edges = [(numbers[first], numbers[later]) for first, later in arrows]
    [(positions, _, _, steps)] = from_edges(
        edges, vertex_spacing=1, dummy_vertices=True, transpose=False
    )
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
    return max(y for _, y in points.values()) + 1
