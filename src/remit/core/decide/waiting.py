"""Decisions on dependencies: adding one that makes no cycle, removing one, carrying news on.

Only an item that nobody works on may get another dependency, because what is leased was checked
when it was leased. An edge that would close a cycle is refused with the shortest cycle named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.decide.asking import bad, find
from remit.core.dependencies import MAX_DEPENDENCIES, unmet_edges
from remit.core.facts import Dependency, DependencyKind, EdgeState
from remit.core.refusals import Code, Refused
from remit.core.settlement import (
    MAX_LINEAGE,
    QUEUED,
    is_inner,
    judge,
    review,
    settle_more,
    tell,
)
from remit.core.status import Status
from remit.core.view import Draft

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
    refused = _fits(draft, dependent.id, dependent.dependencies, found.id, edge)
    if refused is not None:
        return refused
    _, state, via = judge(draft, edge, found.id)
    inner = is_inner(draft, item, edge, via)
    draft.emit("item", item, e.DependencyAdded(found.id, edge, state, via, inner))
    if edge is DependencyKind.WAITS_FOR:
        for child in children_of(draft, via):
            add_child(draft, item, child)
    if edge is DependencyKind.PARENT:
        announce_child(draft, via, item)
        enclose(draft, via)
        tell(draft, item, via)
    return None


def enclose(draft: Draft, parent: str) -> None:
    """A new child may make waits of its ancestors inner ones; bring those up to date."""
    seen: set[str] = set()
    queue = [parent]
    while queue and len(seen) < MAX_LINEAGE:
        name = queue.pop()
        item = draft.item(name)
        if item is None or name in seen:
            continue
        seen.add(name)
        for via in dict.fromkeys(d.via for d in unmet_edges(item) if not d.inner):
            tell(draft, name, via)
        queue += [d.via for d in item.dependencies if d.kind is DependencyKind.PARENT]


def _fits(
    draft: Draft, item: str, has: tuple[Dependency, ...], target: str, kind: DependencyKind
) -> Refused | None:
    if len(has) >= MAX_DEPENDENCIES:
        return bad("dependencies", len(has) + 1, f"at most {MAX_DEPENDENCIES} of one item")
    if any(d.target == target and d.kind is kind for d in has):
        return Refused(
            Code.DEPENDENCY_EXISTS,
            f"{item} waits on {target} ({kind}) already",
            f"see 'remit dep tree {item}'",
            {"item": item, "target": target, "kind": str(kind)},
        )
    if item == target:
        return _cycle((item, item))
    fresh = draft.view.facts.get(("item", item)) is None
    if fresh:
        return None
    path = draft.query("reaches?", f"{target}>{item}")
    if path is None:
        return None
    if not path:
        return Refused(
            Code.TOO_MANY,
            f"cannot prove that {item} -> {target} makes no cycle: too many items lie between",
            "remove dependencies that are met already and repeat",
        )
    return _cycle((item, *path))


def _cycle(path: tuple[str, ...]) -> Refused:
    return Refused(
        Code.DEPENDENCY_CYCLE,
        f"{path[0]} cannot wait on {path[1]}: that closes the cycle {' -> '.join(path)}",
        "remove one of these dependencies first",
        {"cycle": list(path)},
    )


def children_of(draft: Draft, parent: str) -> list[str]:
    """Items that name this one as their parent, finished ones too."""
    names = dict.fromkeys(draft.query("children?", parent))
    for name in draft.view.edges.get(parent, ()):
        names[name] = None
    return [n for n in names if _is_child(draft, n, parent)]


def _is_child(draft: Draft, name: str, parent: str) -> bool:
    item = draft.item(name)
    return item is not None and any(
        d.kind is DependencyKind.PARENT and d.via == parent for d in item.dependencies
    )


def add_child(draft: Draft, waiter: str, child: str) -> None:
    """One child of what ``waiter`` waits for becomes an edge of its own."""
    item = draft.item(waiter)
    if item is None or item.status not in QUEUED or waiter == child:
        return
    kind = DependencyKind.WAITS_FOR_CHILD
    if any(d.target == child and d.kind is kind for d in item.dependencies):
        return
    _, state, via = judge(draft, kind, child)
    inner = is_inner(draft, waiter, kind, via)
    draft.emit("item", waiter, e.DependencyAdded(child, kind, state, via, inner))


def announce_child(draft: Draft, parent: str, child: str) -> None:
    """A new child: whoever waits for all children of the parent waits for this one too."""
    for edge in draft.query("dependents?", parent):
        if edge.kind == DependencyKind.WAITS_FOR:
            add_child(draft, edge.dependent, child)
            _refresh_group(draft, edge.dependent, parent)
            review(draft, edge.dependent)


def _refresh_group(draft: Draft, waiter: str, parent: str) -> None:
    item = draft.item(waiter)
    for d in item.dependencies if item else ():
        if d.kind is DependencyKind.WAITS_FOR and d.via == parent and d.state is EdgeState.UNMET:
            settled = e.DependencySettled(d.target, d.kind, EdgeState.MET, d.via, d.inner, d.target)
            draft.emit("item", waiter, settled)


def _add(draft: Draft, cmd: c.AddDependency) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if item.status not in (*QUEUED, Status.TRIAGED):
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
        d for d in item.dependencies if d.target in named and (not cmd.kind or d.kind == cmd.kind)
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
    for edge in edges:
        draft.emit("item", item.id, e.DependencyRemoved(edge.target, edge.kind, cmd.reason))
    review(draft, item.id)
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
