"""The whole state of a ledger in one store, and what it must be: row for row, byte for byte.

``Mirror`` keeps the rows that the memory store's facts make. It looks at every fact after each step
and encodes again only those that became another object, so that knowing all rows costs little;
facts are frozen values, and a changed one is a new one. From SQLite every row of every table is read
and compared with these. PostgreSQL sends all rows of a ledger in its own binary form in one answer,
and the mirror keeps the same bytes, so that not even a row has to be made of them; only where they
differ are the rows read, to name the first that does. Blobs and events go the same way. Nothing is
hashed or sampled here: what is compared is what is stored.

``QUESTIONS`` are the other half: what the queries say. Their answers are functions of the rows, so they
are asked in turns at each step and all of them from time to time; the engine asks them at every step.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

from remit.core.facts import FACT_TYPES, Fact, Item
from remit.ports import Blob, ItemQuery, ReadTx, StoredEvent
from remit.stores.memory import MemoryStore
from remit.stores.memory.transaction import MemoryRead
from remit.stores.postgres import transaction as postgres
from remit.stores.postgres.arrays import scalar
from remit.stores.postgres.queries import Statement, q
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.sqlite import rebuild as sqlite
from remit.stores.sqlite.transaction import SqliteRead
from remit.stores.tables import TABLES, expected, row_of

Table = dict[tuple[Any, ...], tuple[Any, ...]]
"""Key columns -> the whole row, without the ledger's id."""

Tables = dict[str, Table]

WIDTHS = {table: width for table, (_, _, width) in TABLES.items()}
ALL = 1 << 30


TYPES: Final = {
    "item_rows": "TITTITTTIITIITBIIB", "edge_rows": "TTTTT", "child_rows": "TT", "link_rows": "TT", "alias_rows": "TT",
    "triage_rows": "TTTIIB", "lane_rows": "TIIB", "fact_rows": "TTIB",
    "events": "TITITTTIBBTBTT", "blobs": "BBB",
}  # fmt: skip
"""The types of each table's columns: text, integers and bytes."""

_OIDS: Final = {"T": 25, "I": 20, "B": 17}
_HEAD: Final = struct.Struct(">i")
_CELL: Final = struct.Struct(">Ii")
_INTEGER: Final = struct.Struct(">Iiq")
_OF_EVENT: Final = attrgetter(*StoredEvent.__slots__)


def sent(table: str, row: Sequence[Any]) -> bytes:
    """A row as PostgreSQL's ``record_send`` writes it."""
    cells = [_HEAD.pack(len(row))]
    for value, kind in zip(row, TYPES[table], strict=True):
        oid = _OIDS[kind]
        if value is None:
            cells.append(_CELL.pack(oid, -1))
        elif kind == "I":
            cells.append(_INTEGER.pack(oid, 8, value))
        else:
            data = value.encode() if kind == "T" else value
            cells += (_CELL.pack(oid, len(data)), data)
    return b"".join(cells)


def sent_events(events: Iterable[StoredEvent]) -> bytes:
    """Events as PostgreSQL would send them."""
    return b"".join([sent("events", _OF_EVENT(event)) for event in events])


def sent_blobs(blobs: Iterable[Blob | bytes]) -> bytes:
    """Blobs as PostgreSQL would send them."""
    return b"".join(
        sent("blobs", (b, None, None) if isinstance(b, bytes) else (b.digest, b.salt, b.data))
        for b in blobs
    )


class Mirror:
    """The rows that a memory store's facts make, kept up as the facts change.

    ``touched`` are the facts that the last step changed; ``before`` all facts as of then, by kind.
    ``sent`` are the tables as PostgreSQL would send them.
    """

    def __init__(self) -> None:
        self.rows: Tables = {table: {} for table in TABLES}
        self.before: dict[str, dict[str, Fact]] = {kind: {} for kind in FACT_TYPES}
        self.touched: list[tuple[str, str]] = []
        self.sent = dict.fromkeys(TABLES, b"")
        self._sent: dict[str, dict[tuple[Any, ...], bytes]] = {table: {} for table in TABLES}

    def follow(self, store: MemoryStore) -> None:
        """Take over every fact that became another one."""
        self.touched = []
        now: dict[str, dict[str, Fact]] = {}
        stale: set[str] = set()
        for kind, facts in store._state.facts.items():
            was = self.before[kind]
            for name in was.keys() - facts.keys():
                stale |= self._replace(kind, name, was[name], None)
            for name, fact in facts.items():
                old = was.get(name)
                if old is not fact:
                    stale |= self._replace(kind, name, old, fact)
            now[kind] = dict(facts)
        self.before = now
        for table in stale:
            rows = self._sent[table]
            self.sent[table] = b"".join([rows[key] for key in sorted(rows)])

    def _replace(self, kind: str, name: str, old: Fact | None, new: Fact | None) -> set[str]:
        """Other rows of one fact; gives the tables that they are in."""
        self.touched.append((kind, name))
        gone, come = self._made(kind, name, old), self._made(kind, name, new)
        for table, key in gone.keys() - come.keys():
            del self.rows[table][key], self._sent[table][key]
        for (table, key), fact in come.items():
            row = self.rows[table][key] = row_of(table, key, fact)
            self._sent[table][key] = sent(table, row)
        return {table for table, _ in (*gone, *come)}

    @staticmethod
    def _made(kind: str, name: str, fact: Fact | None) -> dict[tuple[str, tuple[Any, ...]], Any]:
        if fact is None:
            return {}
        made = expected([((kind, name), fact)])
        return {(table, key): value for table, rows in made.items() for key, value in rows.items()}


def sqlite_rows(tx: SqliteRead, ledger_id: str) -> Tables:
    """Every row of a SQLite ledger."""
    return {
        table: _by_key(table, tx._connection.execute(sqlite._ALL[table], (ledger_id,)))
        for table in TABLES
    }


def postgres_rows(tx: PostgresRead, ledger_id: str) -> Tables:
    """Every row of one ledger in PostgreSQL."""
    cursor = tx._connection.cursor(binary=True)
    return {
        table: _by_key(table, cursor.execute(postgres._ALL[table], (ledger_id,)).fetchall())
        for table in TABLES
    }


def _by_key(table: str, rows: Iterable[tuple[Any, ...]]) -> Table:
    width = WIDTHS[table]
    return {row[:width]: row for row in rows}


def _everything() -> Statement:
    """The store's own statements, each with its rows in the server's binary form, as one."""
    inner = (*postgres._ALL.values(), q("events"), q("stored_blobs"))
    each = [f"(SELECT coalesce(string_agg(record_send(t), ''), '') FROM ({i}) AS t)" for i in inner]
    parts = f"SELECT {', '.join(each)}".split("%s")
    text = parts[0] + "".join(f"${n}{part}" for n, part in enumerate(parts[1:], 1))
    return Statement(b"tests_everything", text.encode(), (scalar,) * (len(parts) - 1))


_EVERYTHING: Final = _everything()
"""All rows of a ledger, its events after a seq and its blobs, by the store's own statements."""


def postgres_sent(tx: PostgresRead, ledger_id: str, after: int) -> list[bytes]:
    """All tables, the events after a seq, and the blobs, as PostgreSQL sends them: one answer."""
    tables = (ledger_id,) * len(TABLES)
    asked = (*tables, ledger_id, after, ALL, ledger_id, b"", ALL)
    return list(tx._run(_EVERYTHING, asked)[0])


def beside(tx: Any, anchor: Any) -> dict[str, Any]:
    """What lies beside rows, events and blobs."""
    epoch = tx._state.epoch if isinstance(tx, MemoryRead) else tx.epoch
    return {"head": tx.head(), "now": tx.now(), "clock": anchor, "epoch": epoch}


def histories(tx: ReadTx, after: int) -> dict[str, Any]:
    """Events after a seq as they are stored, and all blobs, as the store gives them."""
    return {"events": tx.stored(after, ALL), "blobs": tx.stored_blobs(b"", ALL)}


KINDS: Final = tuple(FACT_TYPES)
PREFIXES: Final = ("W-1", "W", "", "TR-", "R-", "a", "b")

Question = Callable[[ReadTx, Sequence[Item]], Any]

QUESTIONS: dict[str, Question] = {
    "small": lambda tx, _: tx.small(),
    "lanes": lambda tx, _: tx.lanes(100),
    "ready": lambda tx, _: [tx.ready(lane, None, 100) for lane in tx.lanes(100)],
    "ready after": lambda tx, items: [tx.ready(i.lane, (i.rank, i.number), 3) for i in items],
    "due": lambda tx, _: (tx.due(tx.now(), 100), tx.due(tx.now() + 60_000_000, 2)),
    "next expiry": lambda tx, _: tx.next_expiry(),
    "leased before": lambda tx, _: (tx.leased_before(ALL, 100), tx.leased_before(1 << 33, 2)),
    "dependents": lambda tx, items: [tx.dependents(i.id, 100) for i in items],
    "waiting": lambda tx, items: [tx.waiting(i.id, "blocks", "met", 3) for i in items],
    "children": lambda tx, items: [tx.children(i.id, 100) for i in items],
    "linked": lambda tx, items: [
        tx.linked(upper, "", 100)
        for i in items
        if i.plan.governed is not None
        for upper in (*i.plan.requirements, i.plan.governed.node)
    ],
    "linked after": lambda tx, _: (tx.linked("R-1", "N-1", 2), tx.find_links("commit/", 100)),
    "awaited": lambda tx, items: tx.awaited([*(i.id for i in items), "?a", "?b", "?c", "?x"]),
    "listed": lambda tx, _: tx.items(ItemQuery(limit=0)),
    "open": lambda tx, _: tx.items(
        ItemQuery(statuses=("ready", "held", "leased"), newest_first=True, after=20, limit=5)
    ),
    "searched": lambda tx, _: tx.items(ItemQuery(text="ong", limit=0)),
    "holds": lambda tx, items: [
        tx.held(i.hold.trigger, None, 9) for i in items if i.hold is not None
    ],
    "holds after": lambda tx, items: [
        tx.held(i.hold.trigger, (i.hold.rank, i.number), 9) for i in items if i.hold is not None
    ],
    "waking": lambda tx, _: (tx.waking(tx.now() + 60_000_000, 9), tx.next_wake()),
    "followers": lambda tx, items: [tx.followers(i.id, 9) for i in items],
    "held": lambda tx, items: [
        tx.items(ItemQuery(hold=i.hold.reason, limit=0)) for i in items if i.hold is not None
    ],
    "gated": lambda tx, items: [tx.gated(i.gate, 1, 9) for i in items if i.gate],
    "found": lambda tx, _: tx.find(PREFIXES[tx.head().seq % len(PREFIXES)], 40),
    "names": lambda tx, _: tx.names(KINDS[tx.head().seq % len(KINDS)], "A-2", 50),
    "open records": lambda tx, _: tx.open_records(),
    "triage": lambda tx, _: (tx.triage(open_only=True, limit=9), tx.triage(open_only=False, limit=99)),
    "paths": lambda tx, items: [tx.reaches(a.id, b.id, 50) for a in items[:3] for b in items[-3:]],
    "stream": lambda tx, items: [tx.stream(i.id, 1, 99) for i in items[-2:]],
    "at": lambda tx, _: tx.at_seq([0, 1, 7, tx.head().seq, tx.head().seq + 1]),
    "blobs": lambda tx, items: tx.blobs([*(i.text for i in items if i.text), "0" * 64]),
}  # fmt: skip
"""What can be asked of a snapshot, each about all items or about those that a step touched."""


def asked(tx: ReadTx, names: Iterable[str], items: Sequence[Item]) -> dict[str, Any]:
    """The answers to some of the questions."""
    return {name: QUESTIONS[name](tx, items) for name in names}


def loaded(tx: ReadTx) -> dict[str, Any]:
    """Every fact, decoded by the store itself."""
    return {kind: tx.load([(kind, n) for n in tx.names(kind, "", ALL)]) for kind in FACT_TYPES}


def picture(tx: ReadTx, after: int) -> dict[str, Any]:
    """All that can be asked of a snapshot; events only after a seq that was compared before."""
    facts = loaded(tx)
    items = [fact for fact in facts["item"].values() if isinstance(fact, Item)]
    return {
        "head": tx.head(), "now": tx.now(), "facts": facts,
        **histories(tx, after), **asked(tx, QUESTIONS, items),
    }  # fmt: skip


def first_difference(wanted: Tables, found: Tables) -> tuple[object, object]:
    """The first row that is not as it should be, and what it should be; the same where none."""
    for table, rows in wanted.items():
        for key in sorted(rows.keys() | found[table].keys()):
            a, b = rows.get(key), found[table].get(key)
            if a != b:
                where = f"{table} {'/'.join(map(str, key))}"
                return f"{where}: {b}", f"{where}: {a}"
    return None, None
