"""Decisions on dependencies: adding one that makes no cycle, removing one, carrying news on.

Only an item that nobody works on may get another dependency, because what is leased was checked
when it was leased. An edge that would close a cycle is refused with the shortest cycle named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.beneath import awaited_children, chain, is_inner, upward
from remit.core.deadlock import BEGIN, CLEAR, Change, TooFar, Wait, cycle_of, own_cycle
from remit.core.decide.asking import at_rest, bad, find, planned
from remit.core.deferred import settle_more
from remit.core.dependencies import MAX_DEPENDENCIES
from remit.core.facts import DependencyKind, Item
from remit.core.planned_gates import by_plan
from remit.core.refusals import Code, Refused
from remit.core.settlement import (
    enclose,
    judge,
    regroup,
    regroup_waiters,
    review,
    tell,
)
from remit.core.view import Draft
from remit.core.waiters import since, waiters_of

USABLE: Final = tuple(k.value for k in DependencyKind if k is not DependencyKind.WAITS_FOR_CHILD)
"""The kinds that people may name."""


def add_edge(draft: Draft, item: str, target: str, kind: str) -> Refused | None:
    """Let an item that nobody works on wait on another; admission has still to look."""
    if kind not in USABLE:
        return bad("dependency kind", kind, "one of " + ", ".join(USABLE))
    edge = DependencyKind(kind)
    dependent = find(draft, item)
    found = find(draft, target)
    if isinstance(dependent, Refused):
        return dependent
    if isinstance(found, Refused):
        return found
    _, state, via = judge(draft, edge, found.id)
    refused = _fits(dependent, found.id, edge) or closes(
        draft, _new_waits(draft, item, found.id, via, edge), item, found.id, edge
    )
    if refused is not None:
        return refused
    inner = is_inner(draft, item, edge, found.id)
    draft.emit("item", item, e.DependencyAdded(found.id, edge, state, via, inner))
    if edge is DependencyKind.PARENT:
        adopt(draft, item, found.id, via)
    elif edge is DependencyKind.WAITS_FOR:
        waiters_of(draft, via)  # bounded, or the next child could not be told to all of them
        regroup(draft, item)
    else:
        regroup(draft, item)
    return None


def adopt(draft: Draft, child: str, target: str, parent: str, *, left: bool = False) -> None:
    """Bring up to date what a child that came, or ``left``, changes around its parent.

    ``target`` is whom its edge names, ``parent`` by whom that is judged.
    """
    enclose(draft, target, child, left=left)
    regroup_waiters(draft, parent)
    tell(draft, child, parent)


def _fits(item: Item, target: str, kind: DependencyKind) -> Refused | None:
    if len(item.dependencies) >= MAX_DEPENDENCIES:
        return bad(
            "dependencies", len(item.dependencies) + 1, f"at most {MAX_DEPENDENCIES} of one item"
        )
    if any(d.target == target and d.kind is kind for d in item.dependencies):
        return Refused(
            Code.DEPENDENCY_EXISTS,
            f"{item.id} waits on {target} ({kind}) already",
            f"see 'remit dep tree {item.id}'",
            {"item": item.id, "target": target, "kind": str(kind)},
        )
    return None


def _new_waits(draft: Draft, item: str, target: str, via: str, kind: DependencyKind) -> list[Wait]:
    """Every wait that the new edge brings, its own and those of others on the item."""
    if kind is DependencyKind.PARENT:
        above = set(upward(draft, chain(draft, target)))
        return [
            Wait(item, (via, CLEAR)),
            *(
                Wait(w, (item, BEGIN), inner=w in above)
                for w in waiters_of(draft, via)
                if w != item
            ),
        ]
    needed = {target: via}
    if kind is DependencyKind.WAITS_FOR:
        needed = awaited_children(draft, item, via) or needed
    return [
        Wait(item, (last, BEGIN), is_inner(draft, item, kind, name))
        for name, last in needed.items()
    ]


def closes(
    draft: Draft, waits: list[Wait], item: str, target: str, kind: DependencyKind
) -> Refused | None:
    """Refuse an edge with the shortest cycle that one of its waits would close.

    Nothing leads to a new item that nobody waits for, so its own waits are not looked into.
    """
    if draft.view.facts.get(("item", item)) is None and not since(draft, item):
        waits = [wait for wait in waits if wait.item != item or wait.needs[0] == item]
    change = Change()
    if kind is DependencyKind.PARENT:
        others = {w.item: ((item, w.inner),) for w in waits if w.item != item}
        change = Change(item, frozenset(upward(draft, chain(draft, target))), waits=others)
    try:
        cycles = [found for wait in waits if (found := cycle_of(draft, wait, change))]
    except TooFar:
        return Refused(
            Code.TOO_MANY,
            f"cannot prove that {item} -> {target} makes no cycle: too many items lie between",
            "remove dependencies that are met already and repeat",
        )
    return _cycle(min(cycles, key=len)) if cycles else None


def _cycle(path: tuple[str, ...]) -> Refused:
    return Refused(
        Code.DEPENDENCY_CYCLE,
        f"{path[0]} cannot wait on {path[1]}: that closes the cycle {' -> '.join(path)}",
        "remove one of these dependencies first",
        {"cycle": list(path)},
    )


def _add(draft: Draft, cmd: c.AddDependency) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if not at_rest(item):
        return Refused(
            Code.BRIEF_IS_LIVE,
            f"cannot let {item.id} wait on {cmd.target}: it is {item.status}",
            "only an item that nobody works on can get a dependency",
            {"item": item.id, "status": str(item.status)},
        )
    refused = add_edge(draft, cmd.item, cmd.target, cmd.kind)
    if refused is None:
        review(draft, cmd.item)
    return refused


def _remove(draft: Draft, cmd: c.RemoveDependency) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    named = (cmd.target, f"?{cmd.target}")
    edges = [
        d
        for d in item.dependencies
        if d.target in named and cmd.kind in ("", d.kind) and d.kind in USABLE
    ]
    if not edges:
        return Refused(
            Code.DEPENDENCY_ABSENT,
            f"{item.id} does not wait on {cmd.target}",
            f"see 'remit dep tree {item.id}'",
            {"item": item.id, "target": cmd.target},
        )
    if item.terminal:
        return Refused(Code.ITEM_FINISHED, f"{item.id} is {item.status}", "nothing waits any more")
    governed = item.plan.governed
    if governed is not None and any(by_plan(draft, governed, edge) for edge in edges):
        return planned(item, "end a wait of")
    for edge in edges:
        draft.emit("item", item.id, e.DependencyRemoved(edge.target, edge.kind, cmd.reason))
    for edge in edges:
        if edge.kind is DependencyKind.PARENT:
            adopt(draft, item.id, edge.target, edge.via, left=True)
            refused = _orphaned(draft, edge.target)
            if refused is not None:
                return refused
    regroup(draft, item.id)
    review(draft, item.id)
    return None


def _orphaned(draft: Draft, parent: str) -> Refused | None:
    """Refuse to take a child away whose ancestors would then wait for it and hold it back at once."""
    for name in upward(draft, chain(draft, parent)):
        path = () if name.startswith("?") else own_cycle(draft, name)
        if path:
            return _cycle(path)
    return None


def _settle(draft: Draft, cmd: c.Settle) -> Refused | None:
    if cmd.item in draft.ledger.unsettled:
        settle_more(draft, cmd.item)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.AddDependency: _add,
    c.RemoveDependency: _remove,
    c.Settle: _settle,
}
