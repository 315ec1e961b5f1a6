"""Who got an edge in this transaction, and who waits for all the children of an item.

An edge on all children of an item stands for one edge on each of them. So whoever waits that way is
told of every child that comes or goes, all of them in the transaction in which it does: one that was
left out would begin too early. That bounds how many may wait so.
"""

from __future__ import annotations

from typing import Final

from remit.core.facts import DependencyKind
from remit.core.refusals import Code, Refused
from remit.core.view import Draft, Missing, MoveRefused

MAX_WAITERS: Final = 1_000
"""Items that may wait for all children of one: each of them is told of every child that comes."""


def since(draft: Draft, via: str, kind: str = "") -> dict[str, None]:
    """Items that got an edge on this one in this transaction, in this very decision too.

    With ``kind`` all that got one of this kind, and perhaps others.
    """
    names = dict(draft.view.edges.get(f"{via}|{kind}" if kind else via, {}))
    names.update(draft.edged.get(via, {}))
    return names


def load_all(draft: Draft, names: dict[str, None]) -> None:
    """Ask for all items that are not loaded at once, instead of one a round."""
    facts = draft.view.facts
    lacking = [
        ("item", n) for n in names if ("item", n) not in facts and ("item", n) not in draft.delta
    ]
    if lacking:
        raise Missing(*lacking)


def waiters_of(draft: Draft, parent: str) -> list[str]:
    """Items that wait for all children of this one, all of them: who is left out waits for none.

    Raises ``MoveRefused`` where there are more than are told of a child in one transaction.
    """
    names = dict.fromkeys(edge.dependent for edge in draft.query("waiters?", parent))
    names.update(since(draft, parent, DependencyKind.WAITS_FOR))
    load_all(draft, names)
    found = [name for name in names if _awaits_children(draft, name, parent)]
    if len(found) > MAX_WAITERS:
        raise MoveRefused(too_many_waiters(parent))
    return found


def _awaits_children(draft: Draft, name: str, parent: str) -> bool:
    item = draft.item(name)
    edges = item.dependencies if item is not None else ()
    return any(d.kind is DependencyKind.WAITS_FOR and d.via == parent for d in edges)


def too_many_waiters(parent: str) -> Refused:
    """Why nothing more may wait for all children of an item."""
    return Refused(
        Code.TOO_MANY,
        f"more than {MAX_WAITERS} items would wait for all children of {parent}",
        "let them wait for one item that waits for the children",
        {"item": parent, "limit": MAX_WAITERS},
    )
