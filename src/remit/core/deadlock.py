"""Whether a new wait would let items wait for each other for ever, and through which others.

An item waits in two ways. To *begin* it needs every one of its edges. To be *clear*, which is what
its children need of it, it needs all but its inner ones, or an epic that waits for its own parts
would close a cycle with each of them. Waits that are met count no more, save those on a parent,
which come and go with what the parent waits for. A new edge closes a cycle exactly where what it
leads to leads back, and the search, breadth first, finds the shortest such way.

It sees the batch and the decision that it is part of, since it reads items and not the store's
edges. It changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core.facts import Dependency, DependencyKind, EdgeState, Item
from remit.core.view import Draft, Missing

LIMIT: Final = 50_000
"""Most items that one search looks at; past it nothing is proved and the edge is refused."""

BEGIN: Final = "begin"
CLEAR: Final = "clear"

Node = tuple[str, str]
"""An item and what is needed of it: that it can begin, or that it is clear."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait that is about to be: ``inner`` ones are not passed down by ``item``."""

    item: str
    needs: Node
    inner: bool = False


class TooFar(Exception):  # noqa: N818  # not an error: the search proves nothing
    """More items lie between than a search looks at."""


def ongoing(edge: Dependency) -> bool:
    """Whether an edge keeps its item waiting, or may do so again."""
    return edge.state is EdgeState.UNMET or edge.kind is DependencyKind.PARENT


def cycle_of(
    draft: Draft, wait: Wait, child: str = "", within: frozenset[str] = frozenset()
) -> tuple[str, ...]:
    """The shortest cycle that this wait would close, as ids from the waiting item back to it.

    Empty where there is none. ``child`` is an item that is about to lie beneath the items in
    ``within``, whose waits on it will then be inner ones. Raises ``TooFar``.
    """
    goals = {(wait.item, BEGIN)}
    if not wait.inner:
        goals.add((wait.item, CLEAR))
    came: dict[Node, Node | None] = {wait.needs: None}
    level = [wait.needs]
    while level:
        _load(draft, level)
        following: list[Node] = []
        for node in level:
            if node in goals:
                return (wait.item, *_back(came, node))
            for after in _onward(draft, node, child, within):
                if after not in came:
                    came[after] = node
                    following.append(after)
        if len(came) > LIMIT:
            raise TooFar
        level = following
    return ()


def own_cycle(draft: Draft, name: str) -> tuple[str, ...]:
    """A cycle that an item's edges, as they stand, are part of; empty where there is none."""
    item = draft.item(name)
    for edge in item.dependencies if item is not None else ():
        if ongoing(edge) and edge.via[0] != "?":
            need = CLEAR if edge.kind is DependencyKind.PARENT else BEGIN
            path = cycle_of(draft, Wait(name, (edge.via, need), edge.inner))
            if path:
                return path
    return ()


def _back(came: dict[Node, Node | None], node: Node) -> tuple[str, ...]:
    names: list[str] = []
    at: Node | None = node
    while at is not None:
        if not names or names[-1] != at[0]:
            names.append(at[0])
        at = came[at]
    return tuple(reversed(names))


def _load(draft: Draft, nodes: list[Node]) -> None:
    """Ask for what lies beyond in one go: a chain of a thousand items is one round, not as many."""
    facts, delta = draft.view.facts, draft.delta
    lacking = {n for n, _ in nodes if ("item", n) not in facts and ("item", n) not in delta}
    if lacking:
        raise Missing(*(("onward+", name) for name in sorted(lacking)))


def _onward(draft: Draft, node: Node, child: str, within: frozenset[str]) -> list[Node]:
    name, need = node
    item = draft.item(name)
    if item is None or item.terminal:
        # News of a successor may not have reached every waiter yet, where many wait.
        return [(item.successor, need)] if item is not None and item.successor else []
    found = []
    for edge in item.dependencies:
        if not ongoing(edge) or edge.via.startswith("?"):
            continue
        if edge.kind is DependencyKind.PARENT:
            found.append((edge.via, CLEAR))
        elif need == BEGIN or not (edge.inner or _beneath(draft, name, edge, child, within)):
            found.append((edge.via, BEGIN))
    return found


def _beneath(draft: Draft, name: str, edge: Dependency, child: str, within: frozenset[str]) -> bool:
    if name not in within:
        return False
    return edge.via == child or child in lineage(draft, edge.via)


def lineage(draft: Draft, name: str, most: int = 256) -> set[str]:
    """The ancestors of an item by parent edges, at most so many.

    Where news of a parent's successor has not come yet, both are among them; to a finished child it
    never comes, so there they stay.
    """
    seen: set[str] = set()
    queue = [name]
    while queue and len(seen) < most:
        at = queue.pop()
        item: Item | None = draft.item_along("lineage+", at)
        if item is None:
            continue
        above = [d.via for d in item.dependencies if d.kind is DependencyKind.PARENT]
        if item.successor and at in seen:
            above.append(item.successor)
        for via in above:
            if via not in seen:
                seen.add(via)
                if not via.startswith("?"):
                    queue.append(via)
    return seen
