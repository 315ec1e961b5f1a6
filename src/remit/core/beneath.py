"""Who lies beneath whom: one rule, for children and for ancestors, and for waits that are inner.

An item lies beneath whatever its parent edges name, and beneath all that lies above that. A successor
stands for its predecessor. So the parents of an *open* item are whom it names and everybody who took
that one's place since, and news of it need not have come: it lies beneath the successor from then on,
and stays a part of what its old parent was part of. A *finished* item is settled: its parents are those
that it had when it ended, and who takes their place later takes over their open children only. One
thing may still come to it, a name that was nobody's: whoever gets it is its parent.

An edge is *inner* where what it names, or who took that one's place, lies beneath the item that waits.
It is so of dead edges and unmet ones alike; of met ones nobody asks. A successor therefore makes edges
inner and never turns an inner one outward, which would close cycles that nobody could refuse any more.

It reads items and the index of children, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from remit.core.dependencies import MAX_CHAIN, unresolved
from remit.core.facts import Dependency, DependencyKind, Item
from remit.core.view import Draft
from remit.core.waiters import load_all, since

MAX_LINEAGE: Final = 256
"""Most ancestors that are looked at for one edge; past it a wait is passed down."""

MAX_CHILDREN: Final = 1_000
"""Children of one item that are followed; who waits for all of more than that waits on."""


def last_of_chain(draft: Draft, item: Item) -> Item:
    """The item at the end of the chain of successors."""
    for _ in range(MAX_CHAIN):
        if not item.successor:
            return item
        following = draft.item_along("chain+", item.successor)
        if following is None:
            return item
        item = following
    return item


# Upwards.


def chain(draft: Draft, target: str, until: str = "") -> list[str]:
    """What an edge names and who took its place, in order; ``until`` ends it earlier.

    ``target`` is an id or ``?alias``; whoever has that name by now follows on it.
    """
    found = [target]
    while found[-1] != until and len(found) <= MAX_CHAIN:
        at = found[-1]
        if at.startswith("?"):
            known = draft.get("alias", at[1:])
            following = known if isinstance(known, str) else ""
        else:
            item = draft.item_along("lineage+", at)
            following = item.successor if item is not None else ""
        if not following:
            break
        found.append(following)
    return found


def parents_of(draft: Draft, item: Item) -> Iterator[str]:
    """Whom an item lies directly beneath."""
    for edge in item.dependencies:
        if edge.kind is DependencyKind.PARENT:
            yield from _above(draft, edge, over=item.terminal)


def _above(draft: Draft, edge: Dependency, *, over: bool) -> list[str]:
    if not over:
        return chain(draft, edge.target)
    if not edge.via.startswith("?"):
        return chain(draft, edge.target, edge.via)
    return chain(draft, edge.via)[:2]


def upward(draft: Draft, names: Iterable[str]) -> Iterator[str]:
    """These and all that lies above them, at most ``MAX_LINEAGE``, each as the draft has it then."""
    seen: set[str] = set()
    queue = list(names)
    while queue and len(seen) < MAX_LINEAGE:
        at = queue.pop()
        if at in seen:
            continue
        seen.add(at)
        yield at
        item = None if at.startswith("?") else draft.item_along("lineage+", at)
        if item is not None:
            queue += parents_of(draft, item)


def lineage(draft: Draft, name: str) -> set[str]:
    """The ancestors of an item."""
    item = draft.item_along("lineage+", name)
    return set(upward(draft, parents_of(draft, item))) if item is not None else set()


def over(draft: Draft, target: str) -> set[str]:
    """All that has what an edge names, or who took its place, somewhere beneath it."""
    names = [name for name in chain(draft, target) if not name.startswith("?")]
    return set().union(*(lineage(draft, name) for name in names))


def is_inner(
    draft: Draft, item: str, kind: DependencyKind, target: str, *, alias: str = ""
) -> bool:
    """Whether an edge stays within the item's own descendants.

    ``alias`` is the item's, where the ledger does not know it yet.
    """
    if kind is DependencyKind.PARENT or target.startswith("?"):
        return False
    if item == chain(draft, target)[-1]:
        return False
    known_as = {item, unresolved(alias)} if alias else {item}
    return not known_as.isdisjoint(over(draft, target))


# Downwards.


def children_of(draft: Draft, parent: str) -> list[str]:
    """Items that name this one as their parent, finished ones too; at most ``MAX_CHILDREN``."""
    item = draft.item(parent)
    known_as = (parent, unresolved(item.alias)) if item is not None and item.alias else (parent,)
    names: dict[str, None] = {}
    for via in known_as:
        names.update(dict.fromkeys(draft.query("children?", via)))
        names.update(since(draft, via))
    load_all(draft, names)
    return [n for n in names if _is_child(draft, n, known_as)]


def awaited_children(draft: Draft, waiter: str, parent: str) -> dict[str, str]:
    """Children that an item which waits for all of them waits for, each with who stands for it.

    It does not wait for itself, nor for a child that it or the parent took the place of.
    """
    found = {}
    for name in children_of(draft, parent):
        child = draft.item(name)
        last = last_of_chain(draft, child).id if child is not None else name
        if not {waiter, parent} & {name, last}:
            found[name] = last
    return found


def _is_child(draft: Draft, name: str, parent: tuple[str, ...]) -> bool:
    """Whether one of these names is its parent; a finished row keeps the name that it came with."""
    item = draft.item(name)
    return item is not None and any(
        d.kind is DependencyKind.PARENT and d.via in parent for d in item.dependencies
    )


def has_children(draft: Draft, item: str) -> bool:
    """Whether there are children, and no more than can be waited for one by one."""
    return 0 < len(children_of(draft, item)) < MAX_CHILDREN


def any_child(draft: Draft, name: str) -> bool:
    """Whether anything lies beneath an item.

    Of one that is new only this transaction can tell, and what ended before it came to its name.
    """
    new = draft.view.facts.get(("item", name)) is None
    if new and since(draft, name):
        return True
    item = draft.item(name)
    return not (new and (item is None or not item.alias)) and bool(children_of(draft, name))
