"""The contents of a memory store: dictionaries, some of them indexes that queries need.

One method changes a fact, and keeps the indexes with it; the fact that was there before comes back,
so that the caller can undo. Nothing here checks anything: the transaction does.
"""

from __future__ import annotations

from remit.core.facts import FACT_TYPES, DependencyKind, Fact, Item, Key
from remit.core.lifetimes import wakes_at
from remit.core.status import Outcome, Status
from remit.ports import Head, StoredEvent
from remit.stores.tables import links_of


class State:
    """The ledger's contents, by kind where queries go by kind."""

    def __init__(self) -> None:
        self.events: list[StoredEvent] = []
        self.streams: dict[str, list[int]] = {}
        self.by_command: dict[str, list[int]] = {}
        self.facts: dict[str, dict[str, Fact]] = {kind: {} for kind in FACT_TYPES}
        self.by_status: dict[Status, dict[str, Item]] = {status: {} for status in Status}
        self.edges: dict[str, dict[tuple[str, str, str, str], None]] = {}
        self.children: dict[str, dict[str, None]] = {}
        self.links: dict[str, dict[str, None]] = {}
        self.held: dict[str, dict[str, Item]] = {}
        self.timed: dict[str, Item] = {}
        self.followers: dict[str, dict[str, Item]] = {}
        self.blobs: dict[bytes, tuple[bytes, bytes] | None] = {}
        self.base = Head(0, 0)
        self.epoch = 0

    def copy(self) -> State:
        """The same contents, independent of later changes."""
        other = State()
        other.events = list(self.events)
        for name in ("streams", "by_command"):
            setattr(other, name, {k: list(v) for k, v in getattr(self, name).items()})
        for name in ("facts", "by_status", "edges", "children", "links", "held", "followers"):
            setattr(other, name, {k: dict(v) for k, v in getattr(self, name).items()})
        other.timed = dict(self.timed)
        other.blobs = dict(self.blobs)
        other.base, other.epoch = self.base, self.epoch
        return other

    @property
    def head(self) -> Head:
        """The newest event, or what ``seed`` said."""
        if not self.events:
            return self.base
        return Head(self.events[-1].seq, self.events[-1].created_at)

    def put(self, key: Key, new: Fact | None) -> Fact | None:
        """Put a fact or take it away, with what queries need of it; gives the one before."""
        kind, name = key
        table = self.facts[kind]
        old = table.get(name)
        for upper, lower in links_of(old):
            self.links[upper].pop(lower, None)
        if isinstance(old, Item):
            self._unlist(old)
        if new is None:
            table.pop(name, None)
        else:
            table[name] = new
            for upper, lower in links_of(new):
                self.links.setdefault(upper, {})[lower] = None
            if isinstance(new, Item):
                self._list(new)
        return old

    def _list(self, item: Item) -> None:
        self.by_status[item.status][item.id] = item
        if item.hold is not None:
            self.held.setdefault(item.hold.trigger, {})[item.id] = item
        if wakes_at(item):
            self.timed[item.id] = item
        if item.outcome is Outcome.COALESCED:
            self.followers.setdefault(item.successor, {})[item.id] = item
        for edge in item.dependencies:
            if edge.kind is DependencyKind.PARENT:
                self.children.setdefault(edge.via, {})[item.id] = None
            if not item.terminal:
                cell = (str(edge.kind), str(edge.state), item.id, edge.target)
                self.edges.setdefault(edge.via, {})[cell] = None

    def _unlist(self, item: Item) -> None:
        del self.by_status[item.status][item.id]
        if item.hold is not None:
            self.held[item.hold.trigger].pop(item.id, None)
        self.timed.pop(item.id, None)
        if item.outcome is Outcome.COALESCED:
            self.followers[item.successor].pop(item.id, None)
        for edge in item.dependencies:
            self.children.get(edge.via, {}).pop(item.id, None)
            cell = (str(edge.kind), str(edge.state), item.id, edge.target)
            self.edges.get(edge.via, {}).pop(cell, None)
