"""What should hold, said a second time and in another way than the core says it.

A check that asked the core would agree with the core's mistakes. So the table of transitions, the
owners, the worth of an edge and the recounts are written out here from the contract, by searching
and counting instead of by carrying figures along. Nothing of ``remit.core`` is called from here but
the shapes of its values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from remit.core.events import Recorded
from remit.core.facts import Dependency, Item, Policy
from remit.core.item_events import DependencySettled

Items = Mapping[str, Item]

OPEN: Final = ("draft", "held", "ready", "leased", "in-review", "approved", "shipped")
"""Statuses from which an item may be put aside, in the order of its life."""

QUEUED: Final = ("draft", "held", "ready")
TERMINAL: Final = ("verified", "closed")

TABLE: Final = frozenset(
    (tid, source, target)
    for tid, sources, targets in (
        ("T01", ("draft", "held"), ("ready",)),
        ("T02", ("draft", "ready"), ("held",)),
        ("T03", ("ready",), ("leased",)),
        ("T04", ("leased",), ("ready", "held")),
        ("T05", ("leased",), ("in-review",)),
        ("T06", ("in-review",), ("approved",)),
        ("T07", ("in-review", "approved"), ("ready", "held")),
        ("T08", ("approved",), ("shipped",)),
        ("T09", ("shipped",), ("verified",)),
        ("T10", OPEN, ("triaged",)),
        ("T11", ("triaged",), ("draft", "held", "ready", "in-review", "approved", "shipped")),
        ("T12", ("draft", "held", "ready", "triaged"), ("closed",)),
    )
    for source in sources
    for target in targets
)
"""CONTRACT 5 for delivery work, move by move."""

EFFECT_TABLE: Final = frozenset(
    (tid, source, target)
    for tid, source, target in TABLE
    if tid not in ("T05", "T06", "T07", "T08") and not {"in-review", "approved"} & {source, target}
) | {("T08", "leased", "shipped"), ("T08", "held", "shipped")}
"""The same for effect work: nobody reviews it, and an observation ships it."""

OWNERS: Final = {
    "draft": ("admission",),
    "held": ("admission", "retry"),
    "ready": ("queue",),
    "leased": ("execution",),
    "in-review": ("review",),
    "approved": ("ship",),
    "shipped": ("verify",),
    "triaged": ("triage",),
}


def last_of(items: Items, name: str) -> Item | None:
    """The end of a chain of successors."""
    item = items.get(name)
    while item is not None and item.successor in items:
        item = items[item.successor]
    return item


def line_of(items: Items, name: str, until: str = "") -> list[str]:
    """An item and who took its place, one after another; ``until`` is the last that counts."""
    found = [name]
    while found[-1] in items and found[-1] != until and items[found[-1]].successor:
        found.append(items[found[-1]].successor)
    return found


def ancestors(items: Items, name: str) -> set[str]:
    """Everything above an item by parent edges, with who took the place of an ancestor.

    Who takes the place of a parent takes over the children that are open, so of one that is finished
    only what it was judged by when it ended counts.
    """
    found: set[str] = set()
    queue = [name]
    while queue:
        item = items.get(queue.pop())
        for d in item.dependencies if item is not None else ():
            if item is None or d.kind != "parent-child":
                continue
            until = d.via if str(item.status) in TERMINAL else ""
            above = set(line_of(items, d.target, until)) - found
            found |= above
            queue += above
    return found


def worth(items: Items, edge: Dependency, policy: Policy, below: tuple[str, ...] = ()) -> str:
    """The state that an edge should have: met, unmet or dead.

    ``below`` are the items whose parents are being looked at, so that a ring of parents ends.
    """
    last = last_of(items, edge.target)
    if last is None:
        return "unmet"
    over = str(last.status) in TERMINAL
    source = last.source
    imported = last.outcome == "imported" and source is not None
    good = last.status == "verified" or (
        imported and source is not None and source.satisfies and policy.imported_closed_satisfies
    )
    bad = last.outcome == "failed" or (imported and source is not None and source.failed)
    if edge.kind == "parent-child":
        clear = over or last.id in below or not _passes_down(items, last, policy, below)
        return "met" if clear else "unmet"
    if edge.kind == "conditional-blocks":
        good = bad
    if edge.kind == "waits-for" and _children(items, last.id):
        good = True
    return "met" if good else "dead" if over else "unmet"


def _passes_down(items: Items, parent: Item, policy: Policy, below: tuple[str, ...]) -> bool:
    """Whether a parent waits for something that is not beneath it."""
    return any(
        worth(items, d, policy, (*below, parent.id)) != "met" and not inner(items, parent.id, d)
        for d in parent.dependencies
    )


def last_news(events: Sequence[Recorded], rec: Recorded) -> bool:
    """Whether this tells an item that ended in the same decision who took its parent's place.

    No news comes to it later, and whose child it was counts for whoever waits for all children.
    """
    event = rec.event
    return (
        isinstance(event, DependencySettled)
        and event.kind == "parent-child"
        and any(
            before.stream == rec.stream
            and before.seq < rec.seq
            and str(getattr(before.event, "to", "")) in TERMINAL
            for before in events
        )
    )


def inner(items: Items, name: str, edge: Dependency) -> bool:
    """Whether an edge leads to the item's own descendants, or to who took the place of one."""
    last = last_of(items, edge.target)
    if edge.kind == "parent-child" or last is None or last.id == name:
        return False
    return any(name in ancestors(items, each) for each in line_of(items, edge.target))


def _children(items: Items, parent: str) -> bool:
    return any(
        d.kind == "parent-child" and d.via == parent for i in items.values() for d in i.dependencies
    )


def wait_cycle(items: Items) -> tuple[str, ...]:
    """Items that wait for each other for ever, or none.

    To begin, an item needs all its edges; to be clear, which is what its children need of it, all
    but those that lead to its own descendants. Edges on a parent count also while they are met: a
    parent may come to wait again. A ``waits-for`` counts by the edges on the children that it has:
    where there are none, one may still come.
    """
    waits: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for name, item in items.items():
        if str(item.status) in TERMINAL:
            continue
        for need in ("begin", "clear"):
            waits[name, need] = [
                (d.via, "clear" if d.kind == "parent-child" else "begin")
                for d in item.dependencies
                if (d.state == "unmet" or d.kind == "parent-child")
                and d.via in items
                and d.kind != "waits-for"
                and (need == "begin" or not inner(items, name, d))
            ]
    for start in waits:
        queue, seen = list(waits[start]), set(waits[start])
        while queue:
            at = queue.pop()
            if at == start:
                return (start[0], *sorted({name for name, _ in seen} - {start[0]}))
            for after in waits.get(at, ()):
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
    return ()


def counts(items: Items) -> Counter[str]:
    """How many items stand in each status."""
    return Counter(str(item.status) for item in items.values())


def loads(items: Items) -> Counter[str]:
    """Live leases by ``actor/NAME``, ``class/NAME`` and ``tenant/NAME``."""
    found: Counter[str] = Counter()
    for item in items.values():
        if item.lease is not None:
            found[f"actor/{item.lease.actor}"] += 1
            found[f"class/{item.work_class}"] += 1
            found[f"tenant/{item.tenant}"] += 1
    return found


def over_limit(items: Items, policy: Policy) -> str:
    """A limit that is exceeded, or nothing."""
    limits = {
        "actor": policy.actor_leases,
        "class": policy.class_leases,
        "tenant": policy.tenant_leases,
    }
    for name, live in loads(items).items():
        if live > limits[name.partition("/")[0]]:
            return f"{live} leases for {name}, at most {limits[name.partition('/')[0]]}"
    live = sum(item.lease is not None for item in items.values())
    return f"{live} leases, at most {policy.ledger_leases}" if live > policy.ledger_leases else ""
