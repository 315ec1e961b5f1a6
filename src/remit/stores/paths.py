"""The shortest path between two items, for every store: one search, breadth first and bounded.

It answers whether a new dependency would close a cycle, and names the shortest one. Stores only say
where an item's unmet edges lead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable


def shortest_path(
    start: str,
    goal: str,
    limit: int,
    onward: Callable[[str], Iterable[str]],
    ahead: Callable[[list[str]], None] | None = None,
) -> tuple[str, ...] | None:
    """Items from ``start`` to ``goal``, both named; None where no path leads there.

    Looks at no more than ``limit`` items; past that it answers with an empty path, which proves
    nothing. ``ahead`` is told each level before its items are asked for, so that a store may fetch
    all of them at once.
    """
    came: dict[str, str] = {start: ""}
    level = [start]
    while level:
        following: list[str] = []
        if ahead is not None:
            ahead(level)
        for item in level:
            if item == goal:
                return _back(came, goal)
            for via in onward(item):
                if via in came:
                    continue
                if len(came) >= limit:
                    return ()
                came[via] = item
                following.append(via)
        level = following
    return None


def _back(came: dict[str, str], goal: str) -> tuple[str, ...]:
    path = [goal]
    while came[path[-1]]:
        path.append(came[path[-1]])
    return tuple(reversed(path))
