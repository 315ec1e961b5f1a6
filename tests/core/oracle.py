"""What dependencies are worth, worked out from nothing each time, by plain recursion over all items.

It shares no code with the core and keeps no counter. ``Oracle`` reads of an item only what people
said (which edges they named) and how it ended; every state, chain and child is worked out here.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.core.facts import Item

Edge = tuple[str, str, str, bool]
"""Kind, the item that it is judged by, state, and whether it is inner (of a wait that is met nobody
asks)."""


class Oracle:
    """All items of one moment; ``aliases`` maps known aliases to ids."""

    def __init__(
        self, items: Iterable[Item], aliases: dict[str, str], *, imported_satisfies: bool = True
    ) -> None:
        self.items = {item.id: item for item in items}
        self.aliases = aliases
        self.imported_satisfies = imported_satisfies

    def last(self, target: str) -> str:
        """The end of the chain of successors; an alias that nobody has stays as it is."""
        if target.startswith("?"):
            target = self.aliases.get(target[1:], target)
        found = self.items.get(target)
        return self.last(found.successor) if found is not None and found.successor else target

    def open(self, name: str) -> bool:
        """Whether the item can still change."""
        return self.items[name].status.value not in ("verified", "closed")

    def line(self, target: str, until: str = "") -> list[str]:
        """What was named and who took its place, one after another; ``until`` is the last of them."""
        target = self.aliases.get(target[1:], target) if target.startswith("?") else target
        found = self.items.get(target)
        if found is None or not found.successor or target == until:
            return [target]
        return [target, *self.line(found.successor, until)]

    def named(self, item: Item) -> list[tuple[str, list[str]]]:
        """Kind of what people named, and who it was and stands for it now, the last one last.

        A finished item hears no more news, so what it was judged by when it ended is taken; only a
        name that nobody had then may be somebody's by now.
        """
        edges = [d for d in item.dependencies if d.kind.value != "waits-for-child"]
        if self.open(item.id):
            return [(d.kind.value, self.line(d.target)) for d in edges]
        return [
            (d.kind.value, self.line(d.target, self.aliases.get(d.via[1:], d.via))) for d in edges
        ]

    def above(self, name: str) -> list[list[str]]:
        """What the item names as its parents, each with who took its place."""
        item = self.items.get(name)
        if item is None:
            return []
        return [line for kind, line in self.named(item) if kind == "parent-child"]

    def parents(self, name: str) -> list[str]:
        """Who its parents are."""
        return [line[-1] for line in self.above(name)]

    def children(self, parent: str) -> list[str]:
        """Everything that names this one as its parent."""
        return [name for name in self.items if parent in self.parents(name)]

    def beneath(self, name: str, ancestor: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether ``name`` descends from ``ancestor``: who took a parent's place is one beside it."""
        if name in seen:
            return False
        ups = [up for line in self.above(name) for up in line]
        return ancestor in ups or any(self.beneath(up, ancestor, seen | {name}) for up in ups)

    def satisfied(self, name: str) -> bool:
        """Whether work that needs this one may begin."""
        item = self.items[name]
        if item.status.value == "verified":
            return True
        imported = item.outcome is not None and item.outcome.value == "imported"
        satisfies = item.source is not None and item.source.satisfies
        return imported and satisfies and self.imported_satisfies

    def failed(self, name: str) -> bool:
        """Whether it ended in a failure."""
        item = self.items[name]
        if item.outcome is None:
            return False
        if item.outcome.value == "imported":
            return item.source is not None and item.source.failed
        return item.outcome.value == "failed"

    def clear(self, name: str) -> bool:
        """Whether nothing from outside of its own parts keeps it waiting."""
        if name not in self.items:
            return False
        if not self.open(name):
            return True
        return all(state == "met" or inner for _, _, state, inner in self.edges(name))

    def state(self, kind: str, via: str) -> str:
        """met, unmet or dead."""
        if via not in self.items:
            return "unmet"
        if kind == "parent-child":
            return "met" if self.clear(via) else "unmet"
        if kind == "conditional-blocks":
            good = self.failed(via)
        elif kind == "waits-for":
            good = bool(self.children(via)) or self.satisfied(via)
        else:
            good = self.satisfied(via)
        return "met" if good else "unmet" if self.open(via) else "dead"

    def edges(self, name: str) -> list[Edge]:
        """Every edge that the item should have, as it should be.

        Nobody waits for itself among the children, nor for a child that its parent took the place of,
        nor for those of a name that is nobody's yet.
        """
        wanted = self.named(self.items[name])
        groups = [line[-1] for kind, line in wanted if kind == "waits-for" and line[-1][0] != "?"]
        parts = {
            child: self.line(child)
            for via in groups
            for child in self.children(via)
            if not {name, via} & {child, self.last(child)}
        }
        found = []
        for kind, line in [*wanted, *(("waits-for-child", line) for line in parts.values())]:
            via = line[-1]
            state = self.state(kind, via)
            own = via != name and any(self.beneath(each, name) for each in line)
            inner = state != "met" and kind != "parent-child" and own
            found.append((kind, via, state, inner))
        return sorted(found)

    def differences(self, skip: Iterable[str] = ()) -> list[str]:
        """Open items whose edges or counter are not as they should be; ``skip`` is being told."""
        later = set(skip)
        wrong = []
        for item in self.items.values():
            if not self.open(item.id) or later & {d.via for d in item.dependencies}:
                continue
            has = sorted(
                (d.kind.value, d.via, d.state.value, d.inner and d.state.value != "met")
                for d in item.dependencies
            )
            expected = self.edges(item.id)
            if has != expected:
                wrong.append(f"{item.id} has {has}, expected {expected}")
            unmet = sum(state != "met" for _, _, state, _ in expected)
            if item.unmet != unmet:
                wrong.append(f"{item.id} counts {item.unmet} unmet, expected {unmet}")
        return wrong
