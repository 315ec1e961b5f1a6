"""From the graph of a plan to the waits of its items, and an order in which each comes after its own.

An item waits for every item on each node that its own node waits for. Nodes without items pass nothing
on: a wait on one is met by whoever stands there, and nobody does.
"""

from __future__ import annotations

from collections import deque

from remit.core.planning.bundle import Bundle, EdgeType, PlanItem


def waits(plan: Bundle) -> dict[str, tuple[str, ...]]:
    """For each item the labels of the items that it waits for, in the order of the plan."""
    there: dict[str, list[str]] = {}
    for item in plan.items:
        there.setdefault(item.node, []).append(item.label)
    targets = {
        node.label: [e.target for e in node.edges if e.type is EdgeType.BLOCKS]
        for node in plan.nodes
    }
    return {
        item.label: tuple(
            dict.fromkeys(
                label for target in targets.get(item.node, ()) for label in there.get(target, ())
            )
        )
        for item in plan.items
    }


def in_order(plan: Bundle) -> list[PlanItem]:
    """The items of a plan so that what an item waits for comes first; cycles come last."""
    place: dict[str, int] = {}
    left = {n.label: 0 for n in plan.nodes}
    behind: dict[str, list[str]] = {}
    for node in plan.nodes:
        for edge in node.edges:
            if edge.type is EdgeType.BLOCKS and edge.target in left:
                left[node.label] += 1
                behind.setdefault(edge.target, []).append(node.label)
    queue = deque(label for label, count in left.items() if not count)
    while queue:
        label = queue.popleft()
        place[label] = len(place)
        for waiting in behind.get(label, ()):
            left[waiting] -= 1
            if not left[waiting]:
                queue.append(waiting)
    last = len(left)
    return sorted(plan.items, key=lambda item: place.get(item.node, last))
