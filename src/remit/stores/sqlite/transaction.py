"""Transactions: one snapshot to read, or the one writer's.

Each begins by reading the head, the clock's anchor and the epoch in one row, which also fixes the
snapshot. A query inside a writer's transaction sees what that transaction wrote. Nothing here
computes state: facts come and go as they are, events are encoded by the codec.

A transaction is used by one thread, for a short time, and is of no use once it has ended.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import apsw
import msgspec

from remit.core.facts import FACT_TYPES, EdgeState, Fact, Key
from remit.ports import (
    Blob,
    Difference,
    Edge,
    Head,
    ItemQuery,
    LedgerCorrupt,
    StoredEvent,
)
from remit.stores.clock import Anchor, Clock, Moment
from remit.stores.fact_codec import decode_fact
from remit.stores.paths import shortest_path
from remit.stores.sqlite.listing import list_items
from remit.stores.sqlite.queries import q
from remit.stores.sqlite.rebuild import Rows, compare

if TYPE_CHECKING:  # what decodes events is loaded by the first transaction that meets one
    from remit.core.events import Recorded

_BEYOND: Final = "\U0010ffff"
_FOUND: Final = tuple(k for k in FACT_TYPES if k not in (
    "item", "alias", "triage", "lane", "counter", "count", "load", "ledger"))  # fmt: skip
_MANY_OF: Final = {"item": "items", "alias": "aliases", "triage": "triages", "lane": "lanes"}
_ONE: Final = {kind: q(f"load_{kind}") for kind in _MANY_OF}
_MANY: Final = {kind: q(f"load_{many}") for kind, many in _MANY_OF.items()}
_NAMES: Final = {"item": q("name_items"), "alias": q("name_aliases"), "triage": q("name_triage"),
                 "lane": q("name_lanes")}  # fmt: skip
_SQL: Final = {
    name: q(name)
    for name in (
        "state", "small", "load_fact", "load_facts", "ready", "dependents", "awaited", "waiting",
        "unmet_of", "children", "linked", "find_links", "lanes", "due", "next_expiry", "held", "waking", "next_wake",
        "followers", "leased_before", "gated", "find_items", "find_aliases", "find_triage",
        "find_facts", "name_facts", "triage", "triage_open", "open_records", "stream", "events", "event", "command",
        "blob", "stored_blobs",
    )
}  # fmt: skip


def _list(values: Iterable[Any]) -> str:
    return msgspec.json.encode(list(values)).decode()


def _fact(kind: str, body: Any) -> Any:
    return body if kind == "alias" else decode_fact(kind, body)


class SqliteRead:
    """One snapshot of one ledger; see ``remit.ports.ReadTx`` for what each query answers."""

    def __init__(self, connection: apsw.Connection, ledger_id: str, clock: Clock) -> None:
        self._connection = connection
        self._run = connection.execute
        self._ledger_id = ledger_id
        row = next(iter(self._run(_SQL["state"])), None)
        if row is None or row[0] != ledger_id:
            raise LedgerCorrupt(
                f"cannot read {connection.filename}: found the state of"
                f" {row[0] if row else 'no ledger'}, expected that of {ledger_id}",
                "restore a backup with 'remit ledger restore'",
            )
        _, epoch, required, *anchor, seq, at = row
        self.epoch: int = epoch
        self.adoption_required = bool(required)
        self.anchor = Anchor(*anchor)
        self._clock = clock
        self._head = Head(seq, at)
        self._moment: Moment | None = None

    @property
    def moment(self) -> Moment:
        """When this transaction happens: one reading of the clock for all of it."""
        if self._moment is None:
            self._moment = self._clock.moment(self.anchor, self._head.time)
        return self._moment

    def head(self) -> Head:
        """The newest event."""
        return self._head

    def now(self) -> int:
        """Ledger time of this transaction."""
        return max(self.moment.ledger_us, self._head.time)

    def load(self, keys: Iterable[Key]) -> dict[Key, Fact | None]:
        """Facts by key."""
        found: dict[Key, Fact | None] = dict.fromkeys(keys)
        by_kind: dict[str, list[str]] = {}
        for kind, name in found:
            by_kind.setdefault(kind, []).append(name)
        for kind, names in by_kind.items():
            where = (self._ledger_id,) if kind in _ONE else (self._ledger_id, kind)
            if len(names) <= 4:
                one = _ONE.get(kind) or _SQL["load_fact"]
                for name in names:
                    for (body,) in self._run(one, (*where, name)):
                        found[kind, name] = _fact(kind, body)
            else:
                many = _MANY.get(kind) or _SQL["load_facts"]
                for name, body in self._run(many, (*where, _list(names))):
                    found[kind, name] = _fact(kind, body)
        return found

    def small(self) -> dict[Key, Fact]:
        """All counters and counts, and the ledger fact."""
        return {
            (kind, name): decode_fact(kind, body)
            for kind, name, body in self._run(_SQL["small"], (self._ledger_id,))
        }

    def ready(self, lane: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Ids of ready items of a lane in lease order."""
        start = after or (-(1 << 62), 0)
        return self._ids("ready", lane, *start, limit)

    def dependents(self, via: str, limit: int) -> list[Edge]:
        """Edges of unfinished items that are judged by this item."""
        rows = self._run(_SQL["dependents"], (self._ledger_id, via, limit))
        return [Edge(*row) for row in rows]

    def awaited(self, vias: Iterable[str]) -> set[str]:
        """Which of these any unfinished item waits on."""
        rows = self._run(_SQL["awaited"], (_list(vias), self._ledger_id))
        return {row[0] for row in rows}

    def waiting(self, via: str, kind: str, state: str, limit: int) -> list[Edge]:
        """Like ``dependents``, only edges of this kind whose state is another one."""
        others = _list(str(other) for other in EdgeState if other != state)
        rows = self._run(_SQL["waiting"], (self._ledger_id, via, str(kind), others, limit))
        return [Edge(*row) for row in rows]

    def children(self, parent: str, limit: int) -> list[str]:
        """Items, finished ones too, with a parent-child edge that is judged by ``parent``."""
        return self._ids("children", parent, limit)

    def linked(self, upper: str, after: str, limit: int) -> list[str]:
        """What hangs on the upper end of links, by name."""
        return self._ids("linked", upper, after, limit)

    def find_links(self, text: str, limit: int) -> list[tuple[str, str]]:
        """Links whose upper end starts with this text."""
        rows = self._run(_SQL["find_links"], (self._ledger_id, text, text + _BEYOND, limit))
        return [(upper, lower) for upper, lower in rows]

    def lanes(self, limit: int) -> list[str]:
        """Ids of lanes that have something ready, the next in turn first."""
        return self._ids("lanes", limit)

    def reaches(self, start: str, goal: str, limit: int) -> tuple[str, ...] | None:
        """Shortest path along unmet edges, breadth first; empty past ``limit`` items."""
        return shortest_path(start, goal, limit, lambda item: self._ids("unmet_of", item))

    def due(self, now: int, limit: int) -> list[str]:
        """Leased items whose lease has run out."""
        return self._ids("due", now, limit)

    def next_expiry(self) -> int | None:
        """When the first of all leases runs out, None where nothing is leased."""
        return self._first("next_expiry")

    def held(self, trigger: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Held items that wait for a trigger, by their place in line."""
        return self._ids("held", trigger, *(after or (-(1 << 62), 0)), limit)

    def waking(self, now: int, limit: int) -> list[str]:
        """Held items whose time has come, the longest overdue first."""
        return self._ids("waking", now, limit)

    def next_wake(self) -> int | None:
        """When the first time trigger comes, None where nothing is held for a time."""
        return self._first("next_wake")

    def followers(self, survivor: str, limit: int) -> list[str]:
        """Items that were coalesced onto one, by number."""
        return self._ids("followers", survivor, limit)

    def leased_before(self, fence: int, limit: int) -> list[str]:
        """Leased items whose fence is below this one."""
        return self._ids("leased_before", fence, limit)

    def gated(self, gate: str, after: int, limit: int) -> list[str]:
        """Draft items behind a gate."""
        return self._ids("gated", gate, after, limit)

    def items(self, query: ItemQuery) -> list[str]:
        """Item ids that a listing wants."""
        return list_items(self._connection, self._ledger_id, query)

    def find(self, text: str, limit: int) -> list[Key]:
        """Facts and aliases whose id starts with this text."""
        bounds = (text, text + _BEYOND)
        found: list[Key] = [("item", i) for i in self._ids("find_items", *bounds, limit)]
        found += [("alias", i) for i in self._ids("find_aliases", *bounds, limit)]
        found += [("triage", i) for i in self._ids("find_triage", *bounds, limit)]
        for kind in _FOUND:
            found += [(kind, i) for i in self._ids("find_facts", kind, *bounds, limit)]
        return found[:limit]

    def names(self, kind: str, after: str, limit: int) -> list[str]:
        """Ids of facts of one kind, in order."""
        if kind in _NAMES:
            return [i for (i,) in self._run(_NAMES[kind], (self._ledger_id, after, limit))]
        return self._ids("name_facts", kind, after, limit)

    def triage(self, *, open_only: bool, limit: int) -> list[str]:
        """Triage record ids, oldest first."""
        return self._ids("triage_open" if open_only else "triage", limit)

    def open_records(self) -> int:
        """How many triage records are open."""
        return int(next(many for (many,) in self._run(_SQL["open_records"], (self._ledger_id,))))

    def stream(self, stream: str, after: int, limit: int) -> list[Recorded]:
        """Events of one stream by version."""
        return self._events("stream", (self._ledger_id, stream, after, limit))

    def events(self, after: int, limit: int) -> list[Recorded]:
        """Events by seq."""
        return self._events("events", (after, limit))

    def at_seq(self, seqs: Iterable[int]) -> dict[int, Recorded]:
        """Single events by seq."""
        return {r.seq: r for seq in seqs for r in self._events("event", (seq,))}

    def commands(self, ids: Iterable[str]) -> dict[str, list[Recorded]]:
        """Events by the command id that they were written under."""
        found = {i: self._events("command", (self._ledger_id, i)) for i in dict.fromkeys(ids)}
        return {i: events for i, events in found.items() if events}

    def blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Bytes of blobs by hexadecimal digest."""
        return {
            digest: data
            for digest in digests
            for (data,) in self._run(_SQL["blob"], (self._ledger_id, bytes.fromhex(digest)))
        }

    def stored(self, after: int, limit: int) -> list[StoredEvent]:
        """Events as stored."""
        return [StoredEvent(*row) for row in self._run(_SQL["events"], (after, limit))]

    def stored_blobs(self, after: bytes, limit: int) -> list[Blob | bytes]:
        """Blobs as stored, by digest; an erased one is its digest alone."""
        rows = self._run(_SQL["stored_blobs"], (self._ledger_id, after, limit))
        return [d if data is None else Blob(d, salt, data) for d, salt, data in rows]

    def compare_rows(self, rows: Rows) -> list[Difference]:
        """Where the stored rows are not these."""
        return compare(self._connection, self._ledger_id, rows)

    def unsound(self) -> list[Difference]:
        """What is wrong with the database below the rows; reads all of it."""
        from remit.stores.sqlite.sound import unsound

        return list(unsound(self._connection))

    def _first(self, name: str) -> int | None:
        return next((value for (value,) in self._run(_SQL[name], (self._ledger_id,))), None)

    def _ids(self, name: str, *parameters: Any) -> list[str]:
        return [i for (i,) in self._run(_SQL[name], (self._ledger_id, *parameters))]

    def _events(self, name: str, parameters: tuple[Any, ...]) -> list[Recorded]:
        from remit.stores.codec import recorded_of

        return [recorded_of(row) for row in self._run(_SQL[name], parameters)]
