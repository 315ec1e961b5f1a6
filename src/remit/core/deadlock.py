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

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from remit.core.beneath import chain, over
from remit.core.facts import Dependency, DependencyKind, EdgeState
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


@dataclass(frozen=True, slots=True)
class Change:
    """What is about to be besides the wait itself.

    ``child`` lies beneath the items ``within``, ``new`` stands for ``old``, and items wait for others:
    ``waits`` names whom each will need to begin, and whether by an inner wait.
    """

    child: str = ""
    within: frozenset[str] = frozenset()
    old: str = ""
    new: str = ""
    waits: Mapping[str, tuple[tuple[str, bool], ...]] = field(default_factory=dict)


class TooFar(Exception):  # noqa: N818  # not an error: the search proves nothing
    """More items lie between than a search looks at."""


def ongoing(edge: Dependency) -> bool:
    """Whether an edge keeps its item waiting, or may do so again."""
    return edge.state is EdgeState.UNMET or edge.kind is DependencyKind.PARENT


def cycle_of(draft: Draft, wait: Wait, change: Change = Change()) -> tuple[str, ...]:  # frozen
    """The shortest cycle that this wait would close, as ids from the waiting item back to it.

    Empty where there is none. Raises ``TooFar``.
    """
    return cycle_through(draft, wait.item, [wait.needs], change, inner=wait.inner)


def cycle_through(
    draft: Draft, item: str, needs: list[Node], change: Change, *, inner: bool
) -> tuple[str, ...]:
    """The same for waits of one item on any of these, all ``inner`` or none of them."""
    goals = {(item, BEGIN)} if inner else {(item, BEGIN), (item, CLEAR)}
    came: dict[Node, Node | None] = dict.fromkeys(needs)
    level = list(came)
    while level:
        _load(draft, level)
        following: list[Node] = []
        for node in level:
            if node in goals:
                return (item, *_back(came, node))
            for after in _onward(draft, node, change):
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


def _onward(draft: Draft, node: Node, change: Change) -> list[Node]:
    name, need = node
    if name == change.old:
        return [(change.new, need)]
    item = draft.item(name)
    if item is None or item.terminal:
        # News of a successor may not have reached every waiter yet, where many wait.
        return [(item.successor, need)] if item is not None and item.successor else []
    more = change.waits.get(name, ())
    found = [(other, BEGIN) for other, inner in more if need == BEGIN or not inner]
    for edge in item.dependencies:
        if not ongoing(edge) or edge.via.startswith("?"):
            continue
        if edge.kind is DependencyKind.PARENT:
            found.append((edge.via, CLEAR))
        elif need == BEGIN or not (edge.inner or _beneath(draft, name, edge, change)):
            found.append((edge.via, BEGIN))
    return found


def _beneath(draft: Draft, name: str, edge: Dependency, change: Change) -> bool:
    if name not in change.within:
        return False
    return change.child in chain(draft, edge.target) or change.child in over(draft, edge.target)
