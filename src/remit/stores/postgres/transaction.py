"""Transactions: one snapshot to read, or the one writer's.

Each begins with one message that opens it, and whose last answer is the row of the ledger: clock,
epoch and head. A reader's snapshot is fixed there (REPEATABLE READ, read only). A writer runs in READ
COMMITTED: a snapshot that is fixed before the lock is had would not hold what the writer before
committed, and behind the lock nothing changes but by its own hand.

Nothing here computes state: facts come and go as they are, events are encoded by the codec. A
transaction is used by one thread, for a short time, and is of no use once it has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from remit.core.events import Recorded
from remit.core.facts import FACT_TYPES, EdgeState, Fact, Key
from remit.ports import Blob, Difference, Edge, Head, ItemQuery, StoredEvent
from remit.stores.clock import Anchor, Moment
from remit.stores.codec import recorded_of
from remit.stores.fact_codec import decode_fact
from remit.stores.paths import shortest_path
from remit.stores.postgres.clock import ServerClock
from remit.stores.postgres.line import Session
from remit.stores.postgres.listing import list_items
from remit.stores.postgres.queries import Statement, q, statement
from remit.stores.tables import TABLES, Rows, differences

_BEYOND: Final = "\U0010ffff"
_APART: Final = ("item", "alias", "triage", "lane")
_FOUND: Final = tuple(
    k for k in FACT_TYPES if k not in (*_APART, "counter", "count", "load", "ledger")
)
_NAMES: Final = {
    "item": statement("name_items"), "alias": statement("name_aliases"),
    "triage": statement("name_triage"), "lane": statement("name_lanes"),
}  # fmt: skip
_SQL: Final = {
    name: statement(name)
    for name in (
        "wall", "small", "load", "ready", "dependents", "awaited", "waiting", "unmet_of", "children",
        "linked", "find_links",
        "lanes", "due", "next_expiry", "held", "waking", "next_wake", "followers", "leased_before", "gated_forward", "find_items", "find_aliases",
        "find_triage", "find_facts", "name_facts", "triage", "triage_open", "open_records", "stream", "events",
        "at_seq", "commands", "blobs", "stored_blobs",
    )
}  # fmt: skip
_ALL: Final = {table: q(f"all_{many}") for table, (many, _, _) in TABLES.items()}


def _fact(kind: str, body: bytes) -> Any:
    return body.decode() if kind == "alias" else decode_fact(kind, body)


class PostgresRead:
    """One snapshot of one ledger; see ``remit.ports.ReadTx`` for what each query answers.

    ``row`` is what the statement ``state`` of ``queries.sql`` gave.
    """

    def __init__(self, connection: Session, row: tuple[Any, ...], clock: ServerClock) -> None:
        self._connection = connection
        self._line = connection.line
        (self._ledger_id, self.epoch, required, self.place, boot_id, boot_us, ledger_us, offset_us,
         seq, at, server_us) = row  # fmt: skip
        self.adoption_required: bool = required
        self.anchor = Anchor(boot_id, boot_us, ledger_us, offset_us)
        self._head = Head(seq, at)
        self.moment: Moment = clock.moment(self.anchor, server_us, self._ask)

    def _ask(self) -> int:
        return int(self._run(_SQL["wall"], ())[0][0])

    def head(self) -> Head:
        """The newest event."""
        return self._head

    def now(self) -> int:
        """Ledger time of this transaction."""
        return max(self.moment.ledger_us, self._head.time)

    def load(self, keys: Iterable[Key]) -> dict[Key, Fact | None]:
        """Facts by key, in one trip."""
        found: dict[Key, Fact | None] = dict.fromkeys(keys)
        if found:
            kinds, ids = [key[0] for key in found], [key[1] for key in found]
            rows = self._run(_SQL["load"], (kinds, ids, *(self._ledger_id,) * 5))
            for kind, name, body in rows:
                found[kind, name] = _fact(kind, body)
        return found

    def small(self) -> dict[Key, Fact]:
        """All counters and counts, and the ledger fact."""
        rows = self._run(_SQL["small"], (self._ledger_id,) * 3)
        return {(kind, name): decode_fact(kind, body) for kind, name, body in rows}

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
        rows = self._run(_SQL["awaited"], (list(dict.fromkeys(vias)), self._ledger_id))
        return {row[0] for row in rows}

    def waiting(self, via: str, kind: str, state: str, limit: int) -> list[Edge]:
        """Like ``dependents``, only edges of this kind whose state is another one."""
        others = [str(other) for other in EdgeState if other != state]
        where = (others, self._ledger_id, via, str(kind), limit, limit)
        return [Edge(*row) for row in self._run(_SQL["waiting"], where)]

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
        """Shortest path along unmet edges, breadth first; empty past ``limit`` items.

        One trip for each level of the search.
        """
        onward: dict[str, list[str]] = {}

        def ahead(level: list[str]) -> None:
            onward.clear()
            for item, via in self._run(_SQL["unmet_of"], (level, self._ledger_id)):
                onward.setdefault(item, []).append(via)

        return shortest_path(start, goal, limit, lambda item: onward.get(item, ()), ahead)

    def due(self, now: int, limit: int) -> list[str]:
        """Leased items whose lease has run out."""
        return self._ids("due", now, limit)

    def next_expiry(self) -> int | None:
        """When the first of all leases runs out, None where nothing is leased."""
        rows = self._run(_SQL["next_expiry"], (self._ledger_id,))
        return rows[0][0] if rows else None

    def held(self, trigger: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Held items that wait for a trigger, by their place in line."""
        return self._ids("held", trigger, *(after or (-(1 << 62), 0)), limit)

    def waking(self, now: int, limit: int) -> list[str]:
        """Held items whose time has come, the longest overdue first."""
        return self._ids("waking", now, limit)

    def next_wake(self) -> int | None:
        """When the first time trigger comes, None where nothing is held for a time."""
        rows = self._run(_SQL["next_wake"], (self._ledger_id,))
        return rows[0][0] if rows else None

    def followers(self, survivor: str, limit: int) -> list[str]:
        """Items that were coalesced onto one, by number."""
        return self._ids("followers", survivor, limit)

    def leased_before(self, fence: int, limit: int) -> list[str]:
        """Leased items whose fence is below this one."""
        return self._ids("leased_before", fence, limit)

    def gated(self, gate: str, after: int, limit: int) -> list[str]:
        """Draft items behind a gate."""
        return self._ids("gated_forward", gate, after, limit)

    def items(self, query: ItemQuery) -> list[str]:
        """Item ids that a listing wants."""
        return list_items(self._run, self._ledger_id, query)

    def find(self, text: str, limit: int) -> list[Key]:
        """Facts and aliases whose id starts with this text."""
        bounds = (text, text + _BEYOND)
        found: list[Key] = [("item", i) for i in self._ids("find_items", *bounds, limit)]
        found += [("alias", i) for i in self._ids("find_aliases", *bounds, limit)]
        found += [("triage", i) for i in self._ids("find_triage", *bounds, limit)]
        for kind in _FOUND:
            if len(found) >= limit:
                break
            found += [(kind, i) for i in self._ids("find_facts", kind, *bounds, limit)]
        return found[:limit]

    def names(self, kind: str, after: str, limit: int) -> list[str]:
        """Ids of facts of one kind, in order."""
        if kind in _NAMES:
            return [row[0] for row in self._run(_NAMES[kind], (self._ledger_id, after, limit))]
        return self._ids("name_facts", kind, after, limit)

    def triage(self, *, open_only: bool, limit: int) -> list[str]:
        """Triage record ids, oldest first."""
        return self._ids("triage_open" if open_only else "triage", limit)

    def open_records(self) -> int:
        """How many triage records are open."""
        return int(self._run(_SQL["open_records"], (self._ledger_id,))[0][0])

    def stream(self, stream: str, after: int, limit: int) -> list[Recorded]:
        """Events of one stream by version."""
        return self._events("stream", (self._ledger_id, stream, after, limit))

    def events(self, after: int, limit: int) -> list[Recorded]:
        """Events by seq."""
        return self._events("events", (self._ledger_id, after, limit))

    def at_seq(self, seqs: Iterable[int]) -> dict[int, Recorded]:
        """Single events by seq."""
        return {r.seq: r for r in self._events("at_seq", (self._ledger_id, list(seqs)))}

    def commands(self, ids: Iterable[str]) -> dict[str, list[Recorded]]:
        """Events by the command id that they were written under."""
        asked = (list(dict.fromkeys(ids)), self._ledger_id)
        found: dict[str, list[Recorded]] = {}
        for recorded in self._events("commands", asked):
            found.setdefault(recorded.command_id, []).append(recorded)
        return found

    def blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """Bytes of blobs by hexadecimal digest."""
        asked = [bytes.fromhex(digest) for digest in digests]
        rows = self._run(_SQL["blobs"], (self._ledger_id, asked))
        return {digest.hex(): data for digest, data in rows}

    def stored(self, after: int, limit: int) -> list[StoredEvent]:
        """Events as stored."""
        rows = self._run(_SQL["events"], (self._ledger_id, after, limit))
        return [StoredEvent(*row) for row in rows]

    def stored_blobs(self, after: bytes, limit: int) -> list[Blob | bytes]:
        """Blobs as stored, by digest; an erased one is its digest alone."""
        rows = self._run(_SQL["stored_blobs"], (self._ledger_id, after, limit))
        return [d if data is None else Blob(d, salt, data) for d, salt, data in rows]

    def compare_rows(self, rows: Rows) -> list[Difference]:
        """Where the stored rows are not these; they come through a cursor, not all at once."""

        def fetch(table: str) -> Iterator[tuple[Any, ...]]:
            with self._connection.cursor("remit_rows", binary=True) as cursor:
                cursor.itersize = 2_000
                yield from cursor.execute(_ALL[table], (self._ledger_id,), binary=True)

        return differences(rows, fetch)

    def _run(self, asked: Statement, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._line.rows(asked, parameters)

    def _ids(self, name: str, *parameters: Any) -> list[str]:
        return [row[0] for row in self._run(_SQL[name], (self._ledger_id, *parameters))]

    def _events(self, name: str, parameters: tuple[Any, ...]) -> list[Recorded]:
        return [recorded_of(row) for row in self._run(_SQL[name], parameters)]
