"""Transactions of the memory store: one moment to read, or the one writer's.

A writer changes the contents in place and keeps how to undo each step; the store undoes them when
the transaction fails, and on a reader's copy when somebody reads meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from remit.core.events import EpochAdopted, Recorded
from remit.core.facts import FACT_TYPES, EdgeState, Fact, Item, Key, Lane, Triage
from remit.core.lifetimes import wakes_at
from remit.core.status import Status
from remit.ports import Blob, Change, ClockJump, Edge, Head, ItemQuery, StoredEvent
from remit.stores import codec, misuse
from remit.stores.clock import Anchor, Moment, jump
from remit.stores.memory.state import State
from remit.stores.paths import shortest_path

_APART: Final = ("item", "alias", "triage", "lane")
_UNLISTED: Final = ("counter", "count", "load", "ledger")
_FOUND: Final = (*_APART[:3], *(kind for kind in FACT_TYPES if kind not in (*_UNLISTED, *_APART)))
_SMALL: Final = ("counter", "count", "ledger")


class MemoryRead:
    """One moment of the ledger; see ``remit.ports.ReadTx`` for what each query answers."""

    def __init__(self, state: State, moment: Moment) -> None:
        self._state = state
        self.moment = moment

    def head(self) -> Head:
        """The newest event."""
        return self._state.head

    def now(self) -> int:
        """Ledger time of this transaction."""
        return max(self.moment.ledger_us, self._state.head.time)

    def load(self, keys: Iterable[Key]) -> dict[Key, Fact | None]:
        """Facts by key."""
        return {key: self._state.facts[key[0]].get(key[1]) for key in keys}

    def small(self) -> dict[Key, Fact]:
        """All counters and counts, and the ledger fact."""
        facts = self._state.facts
        return {(kind, name): fact for kind in _SMALL for name, fact in facts[kind].items()}

    def ready(self, lane: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Ids of ready items of a lane in lease order."""
        wanted = [item for item in self._of(Status.READY) if item.lane == lane]
        wanted.sort(key=lambda item: (item.rank, item.number))
        return [i.id for i in wanted if after is None or (i.rank, i.number) > after][:limit]

    def dependents(self, via: str, limit: int) -> list[Edge]:
        """Edges of unfinished items that are judged by this item."""
        return [_edge(cell) for cell in sorted(self._state.edges.get(via, ()))][:limit]

    def awaited(self, vias: Iterable[str]) -> set[str]:
        """Which of these any unfinished item waits on."""
        return {via for via in vias if self._state.edges.get(via)}

    def waiting(self, via: str, kind: str, state: str, limit: int) -> list[Edge]:
        """Like ``dependents``, only edges of this kind whose state is another one."""
        cells = sorted(self._state.edges.get(via, ()))
        return [_edge(cell) for cell in cells if cell[0] == kind and cell[1] != state][:limit]

    def children(self, parent: str, limit: int) -> list[str]:
        """Items, finished ones too, with a parent-child edge that is judged by ``parent``."""
        return sorted(self._state.children.get(parent, ()))[:limit]

    def linked(self, upper: str, after: str, limit: int) -> list[str]:
        """What hangs on the upper end of links, by name."""
        return [x for x in sorted(self._state.links.get(upper, ())) if x > after][:limit]

    def find_links(self, text: str, limit: int) -> list[tuple[str, str]]:
        """Links whose upper end starts with this text."""
        uppers = sorted(upper for upper in self._state.links if upper.startswith(text))
        return [(u, lower) for u in uppers for lower in sorted(self._state.links[u])][:limit]

    def lanes(self, limit: int) -> list[str]:
        """Ids of lanes that have something ready, the next in turn first."""
        lanes = [f for f in self._state.facts["lane"].values() if isinstance(f, Lane) and f.ready]
        return [str(lane.id) for lane in sorted(lanes, key=lambda x: (x.passed, x.id))][:limit]

    def reaches(self, start: str, goal: str, limit: int) -> tuple[str, ...] | None:
        """Shortest path along unmet edges, breadth first; empty past ``limit`` items."""
        return shortest_path(start, goal, limit, self._onward)

    def _onward(self, item: str) -> list[str]:
        found = self._state.facts["item"].get(item)
        if not isinstance(found, Item) or found.terminal:
            return []
        return sorted({e.via for e in found.dependencies if e.state is EdgeState.UNMET})

    def next_expiry(self) -> int | None:
        """When the first of all leases runs out, None where nothing is leased."""
        leased = self._leased(lambda lease: (lease.expires_at, lease.item), 1 << 62, 1)
        item = self._state.facts.get("item", {}).get(leased[0]) if leased else None
        return item.lease.expires_at if isinstance(item, Item) and item.lease else None

    def due(self, now: int, limit: int) -> list[str]:
        """Leased items whose lease has run out."""
        return self._leased(lambda lease: (lease.expires_at, lease.item), now + 1, limit)

    def held(self, trigger: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Held items that wait for a trigger, by their place in line."""
        found = self._state.held.get(trigger, {}).values()
        placed = sorted((i.hold.rank, i.number, i.id) for i in found if i.hold is not None)
        return [name for *place, name in placed if after is None or tuple(place) > after][:limit]

    def waking(self, now: int, limit: int) -> list[str]:
        """Held and ready items whose time has come, the longest overdue first."""
        timed = ((wakes_at(i), i.number, i.id) for i in self._state.timed.values())
        return [name for at, _, name in sorted(timed) if at <= now][:limit]

    def next_wake(self) -> int | None:
        """When the first of these times comes."""
        return min((wakes_at(i) for i in self._state.timed.values()), default=None)

    def followers(self, survivor: str, limit: int) -> list[str]:
        """Items that were coalesced onto one, by number."""
        found = sorted(self._state.followers.get(survivor, {}).values(), key=lambda i: i.number)
        return [item.id for item in found][:limit]

    def leased_before(self, fence: int, limit: int) -> list[str]:
        """Leased items whose fence is below this one."""
        return self._leased(lambda lease: (lease.fence, lease.item), fence, limit)

    def _leased(self, order: Callable[[Any], tuple[int, str]], below: int, limit: int) -> list[str]:
        keyed = sorted((order(item.lease), item.id) for item in self._of(Status.LEASED))
        return [item for key, item in keyed if key[0] < below][:limit]

    def gated(self, gate: str, after: int, limit: int) -> list[str]:
        """Draft items behind a gate."""
        return self.items(ItemQuery(gate=gate, after=after, limit=limit)) if limit else []

    def items(self, query: ItemQuery) -> list[str]:
        """Item ids that a listing wants."""
        statuses = tuple(Status(s) for s in query.statuses) or tuple(Status)
        if query.gate:
            found = [i for i in self._of(Status.DRAFT) if i.gate == query.gate]
        elif query.hold:
            held = self._of(Status.HELD)
            found = [i for i in held if i.hold is not None and i.hold.reason == query.hold]
        else:
            found = [i for status in dict.fromkeys(statuses) for i in self._of(status)]
        found.sort(key=lambda item: item.number, reverse=query.newest_first)
        if query.after:
            sign = -1 if query.newest_first else 1
            found = [i for i in found if i.number * sign > query.after * sign]
        if query.text:
            needle = query.text.casefold()
            found = [item for item in found if self._matches(item, needle)]
        return [item.id for item in found][: query.limit or None]

    def _matches(self, item: Item, needle: str) -> bool:
        blob = self._state.blobs.get(bytes.fromhex(item.text)) if item.text else None
        text = blob[1].decode("utf-8", "replace") if blob else ""
        return any(needle in p.casefold() for p in (item.id, item.alias, item.title, text))

    def find(self, text: str, limit: int) -> list[Key]:
        """Facts and aliases whose id starts with this text."""
        found = [
            (kind, name)
            for kind in _FOUND
            for name in sorted(self._state.facts[kind])
            if name.startswith(text)
        ]
        return found[:limit]

    def names(self, kind: str, after: str, limit: int) -> list[str]:
        """Ids of facts of one kind, in order."""
        return [name for name in sorted(self._state.facts[kind]) if name > after][:limit]

    def triage(self, *, open_only: bool, limit: int) -> list[str]:
        """Triage record ids, oldest first."""
        records = [f for f in self._state.facts["triage"].values() if isinstance(f, Triage)]
        records.sort(key=lambda record: (record.opened_seq, record.id))
        return [r.id for r in records if r.open or not open_only][:limit]

    def open_records(self) -> int:
        """How many triage records are open."""
        records = self._state.facts["triage"].values()
        return sum(isinstance(record, Triage) and record.open for record in records)

    def stream(self, stream: str, after: int, limit: int) -> list[Recorded]:
        """Events of one stream by version."""
        return self._recorded(self._state.streams.get(stream, [])[after : after + limit])

    def events(self, after: int, limit: int) -> list[Recorded]:
        """Events by seq."""
        return [codec.recorded(event) for event in self.stored(after, limit)]

    def at_seq(self, seqs: Iterable[int]) -> dict[int, Recorded]:
        """Single events by seq."""
        first = self._state.base.seq + 1
        wanted = [seq for seq in seqs if first <= seq <= self._state.head.seq]
        return {seq: self._recorded([seq])[0] for seq in wanted}

    def commands(self, ids: Iterable[str]) -> dict[str, list[Recorded]]:
        """Events by the command id that they were written under."""
        found = {i: self._state.by_command.get(i, []) for i in ids}
        return {i: self._recorded(seqs) for i, seqs in found.items() if seqs}

    def blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Bytes of blobs by hexadecimal digest."""
        found = {digest: self._state.blobs.get(bytes.fromhex(digest)) for digest in digests}
        return {digest: blob[1] for digest, blob in found.items() if blob is not None}

    def stored(self, after: int, limit: int) -> list[StoredEvent]:
        """Events as stored."""
        start = max(0, after - self._state.base.seq)
        return self._state.events[start : start + limit]

    def stored_blobs(self, after: bytes, limit: int) -> list[Blob | bytes]:
        """Blobs as stored, by digest; an erased one is its digest alone."""
        digests = [digest for digest in sorted(self._state.blobs) if digest > after][:limit]
        found = [(digest, self._state.blobs[digest]) for digest in digests]
        return [digest if blob is None else Blob(digest, *blob) for digest, blob in found]

    def _of(self, status: Status) -> Iterable[Item]:
        return self._state.by_status[status].values()

    def _recorded(self, seqs: Sequence[int]) -> list[Recorded]:
        base = self._state.base.seq + 1
        return [codec.recorded(self._state.events[seq - base]) for seq in seqs]


def _edge(cell: tuple[str, str, str, str]) -> Edge:
    kind, state, dependent, target = cell
    return Edge(dependent, target, kind, state)


class MemoryWrite(MemoryRead):
    """The one writer's transaction; see ``remit.ports.WriteTx``."""

    def __init__(self, state: State, moment: Moment, ledger_id: str, anchor: Anchor) -> None:
        super().__init__(state, moment)
        self.undo: list[Callable[[State], object]] = []
        self.adopted = False
        self._ledger_id = ledger_id
        self._anchor = anchor
        self._jumped = False

    def clock_jump(self) -> ClockJump | None:
        """What a ``ClockJumped`` event has to record now."""
        return None if self._jumped else jump(self._anchor, self.moment)

    def put_blobs(self, blobs: Sequence[Blob]) -> None:
        """Keep blobs; one that is there already is left as it is."""
        for blob in blobs:
            if blob.digest not in self._state.blobs:
                self._state.blobs[blob.digest] = (blob.salt, blob.data)
                self.undo.append(lambda state, d=blob.digest: state.blobs.pop(d))  # type: ignore[misc]  # bound now

    def erase_blobs(self, digests: Sequence[str]) -> None:
        """Erase salt and bytes, leaving the digest."""
        for digest in map(bytes.fromhex, digests):
            old = self._state.blobs.get(digest)
            if old is not None:
                self._state.blobs[digest] = None
                self.undo.append(lambda state, d=digest, o=old: state.blobs.update({d: o}))  # type: ignore[misc]  # bound now

    def append(self, events: Sequence[Recorded]) -> None:
        """Append events whose seq continues the head without a gap."""
        state = self._state
        for event in events:
            head = state.head
            if event.seq != head.seq + 1:
                raise misuse.gap(event.seq, head.seq + 1)
            if event.at < head.time:
                raise misuse.backwards(event.seq, event.at, head.time)
            version = len(state.streams.get(event.stream, ())) + 1
            if event.version != version and state.base.seq == 0:
                raise misuse.stream_gap(event.stream, event.version, version)
            stored = StoredEvent(*codec.columns_of(self._ledger_id, event))
            _demand_epoch(self._ledger_id, event, state.epoch)
            self._keep(state, event, stored)

    def _keep(self, state: State, event: Recorded, stored: StoredEvent) -> None:
        epoch, command_id = state.epoch, stored.command_id
        state.events.append(stored)
        state.streams.setdefault(event.stream, []).append(event.seq)
        if command_id is not None:
            state.by_command.setdefault(command_id, []).append(event.seq)
        if isinstance(event.event, EpochAdopted):
            state.epoch, self.adopted = event.event.epoch, True
        self._jumped = self._jumped or type(event.event).__name__ == "ClockJumped"

        def undo(target: State) -> None:
            target.events.pop()
            target.streams[event.stream].pop()
            if command_id is not None:
                target.by_command[command_id].pop()
            target.epoch = epoch

        self.undo.append(undo)

    def write(self, changes: Sequence[Change]) -> None:
        """Write rows, compare-and-set on what was loaded."""
        seen: set[Key] = set()
        for change in changes:
            if change.key in seen:
                raise misuse.twice(change.key)
            seen.add(change.key)
            found = self._state.facts[change.key[0]].get(change.key[1])
            if not _same(change.old, found):
                raise misuse.mismatch(change.key, _said(found), _said(change.old))
            self._put(change.key, change.new)

    def replace_facts(self, facts: dict[Key, Fact]) -> None:
        """Put freshly folded facts in the place of all that are there."""
        present = [(kind, name) for kind, table in self._state.facts.items() for name in table]
        for key in present:
            self._put(key, None)
        for key, fact in facts.items():
            self._put(key, fact)

    def _put(self, key: Key, new: Fact | None) -> None:
        old = self._state.put(key, new)
        self.undo.append(lambda state: state.put(key, old))

    def offset_us(self) -> int:
        """How far the wall clock was away when that was last recorded."""
        return self.moment.wall_us - self.now() if self._jumped else self._anchor.offset_us


def _same(loaded: Fact | None, found: Fact | None) -> bool:
    if isinstance(loaded, Item) and isinstance(found, Item):
        return loaded.version == found.version
    return loaded == found


def _said(fact: Fact | None) -> str:
    version = getattr(fact, "version", None)
    return "nothing" if fact is None else f"version {version}" if version else repr(fact)


def _demand_epoch(ledger_id: str, event: Recorded, known: int) -> None:
    if isinstance(event.event, EpochAdopted) and event.event.epoch <= known:
        raise misuse.epoch_too_low(ledger_id, event.event.epoch, known)
