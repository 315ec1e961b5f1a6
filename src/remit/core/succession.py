"""Whether one item may stand for another without anybody waiting for itself from then on.

A successor takes over whoever waits for its predecessor, the open children beneath it, and those who
wait for all its children. Each of these may close a cycle that was none before: through an item that
the successor waits for, through a child that it passes its own waits down to, or through a child that
one who waits for all of them has not waited for so far. Nobody could refuse it afterwards, since the
news is carried on in other transactions, so all three are looked for while the succession can be refused.

It decides nothing and changes nothing.
"""

from __future__ import annotations

from remit.core.beneath import awaited_children, lineage
from remit.core.deadlock import BEGIN, CLEAR, Change, Node, Wait, cycle_of, cycle_through
from remit.core.facts import DependencyKind, Item
from remit.core.view import Draft
from remit.core.waiters import since, waiters_of


def waits_on_itself(draft: Draft, item: Item, successor: Item) -> tuple[str, ...]:
    """The shortest cycle that would come of it, from the item back to it; empty where there is none.

    Raises ``TooFar`` where too many items lie between to say.
    """
    old, new = item.id, successor.id
    ancestors = lineage(draft, new)
    if old in ancestors:
        return (old, new, old)
    within = frozenset(ancestors | {new})
    waits = _new_waits(draft, old, new, within)
    change = Change(old, within, old, new, waits)
    found = [
        cycle_of(draft, Wait(old, (new, BEGIN), inner=True), change),
        cycle_of(draft, Wait(old, (new, CLEAR)), change),
    ]
    for waiter, needs in waits.items():
        for kind in (True, False):
            some: list[Node] = [(child, BEGIN) for child, inner in needs if inner is kind]
            found.append(cycle_through(draft, waiter, some, change, inner=kind))
    return min(filter(None, found), key=len, default=())


def _new_waits(
    draft: Draft, old: str, new: str, within: frozenset[str]
) -> dict[str, tuple[tuple[str, bool], ...]]:
    """Children that who waits for all children of either has not waited for, and whether they are its own."""
    known = [parent for parent in (old, new) if _known(draft, parent)]
    found = {}
    for name in dict.fromkeys(w for parent in known for w in waiters_of(draft, parent)):
        waiter = draft.item(name)
        if waiter is None or name == old:
            continue
        has = {d.target for d in waiter.dependencies if d.kind is DependencyKind.WAITS_FOR_CHILD}
        needs = []
        for parent in (old, new):
            taken = within if parent == old else frozenset()
            for child, last in awaited_children(draft, name, parent).items():
                if child in has or old in (child, last) or (parent == old and _over(draft, child)):
                    continue
                needs.append((child, name in taken or name in lineage(draft, child)))
        if needs:
            found[name] = tuple(needs)
    return found


def _over(draft: Draft, child: str) -> bool:
    """Whether a child is finished, and stays with the parent that it had."""
    item = draft.item(child)
    return item is not None and item.terminal


def _known(draft: Draft, name: str) -> bool:
    """Whether anybody can wait for an item: nobody does for one that is new."""
    return draft.view.facts.get(("item", name)) is not None or bool(since(draft, name))
