"""The whole state of a ledger in one store, and what it must be: row for row, byte for byte.

``Mirror`` keeps the rows that the memory store's facts make. It looks at every fact after each step
and encodes again only those that became another object, so that knowing all rows costs little;
facts are frozen values, and a changed one is a new one. ``sqlite_rows`` and ``postgres_rows`` read
every row of every table of a ledger, and ``kept`` says what lies beside the rows: head, ledger time,
clock and epoch, the blobs, and the events after a seq. Nothing is hashed or sampled here: what is
compared is what is stored.

``picture`` is the other half: what the queries say. Their answers are functions of the rows, so they
are asked in turns at each step (``question``) and all of them from time to time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from remit.core.facts import FACT_TYPES, Fact, Item
from remit.ports import ItemQuery, ReadTx
from remit.stores.memory import MemoryStore
from remit.stores.memory.transaction import MemoryRead
from remit.stores.postgres import transaction as postgres
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.sqlite import rebuild as sqlite
from remit.stores.sqlite.transaction import SqliteRead
from remit.stores.tables import TABLES, expected, row_of

Table = dict[tuple[Any, ...], tuple[Any, ...]]
"""Key columns -> the whole row, without the ledger's id."""

Tables = dict[str, Table]

WIDTHS = {table: width for table, (_, _, width) in TABLES.items()}
ALL = 1 << 30


class Mirror:
    """The rows that a memory store's facts make, kept up as the facts change.

    ``touched`` are the facts that the last step changed; ``before`` all facts as of then, by kind.
    """

    def __init__(self) -> None:
        self.rows: Tables = {table: {} for table in TABLES}
        self.before: dict[str, dict[str, Fact]] = {kind: {} for kind in FACT_TYPES}
        self.touched: list[tuple[str, str]] = []

    def follow(self, store: MemoryStore) -> None:
        """Take over every fact that became another one."""
        self.touched = []
        now: dict[str, dict[str, Fact]] = {}
        for kind, facts in store._state.facts.items():
            was = self.before[kind]
            for name in was.keys() - facts.keys():
                self._replace(kind, name, was[name], None)
            for name, fact in facts.items():
                old = was.get(name)
                if old is not fact:
                    self._replace(kind, name, old, fact)
            now[kind] = dict(facts)
        self.before = now

    def _replace(self, kind: str, name: str, old: Fact | None, new: Fact | None) -> None:
        self.touched.append((kind, name))
        for table, rows in self._made(kind, name, old).items():
            for key in rows:
                del self.rows[table][key]
        for table, rows in self._made(kind, name, new).items():
            for key, fact in rows.items():
                self.rows[table][key] = row_of(table, key, fact)

    @staticmethod
    def _made(kind: str, name: str, fact: Fact | None) -> dict[str, Any]:
        return {} if fact is None else expected([((kind, name), fact)])


def sqlite_rows(tx: SqliteRead, ledger_id: str) -> Tables:
    """Every row of a SQLite ledger."""
    return {
        table: _by_key(table, tx._connection.execute(sqlite._ALL[table], (ledger_id,)))
        for table in TABLES
    }


def postgres_rows(tx: PostgresRead, ledger_id: str) -> Tables:
    """Every row of one ledger in PostgreSQL, asked for in one trip."""
    connection = tx._connection
    with connection.pipeline():
        cursors = {table: connection.cursor(binary=True) for table in TABLES}
        for table, cursor in cursors.items():
            cursor.execute(postgres._ALL[table], (ledger_id,))
    return {table: _by_key(table, cursor.fetchall()) for table, cursor in cursors.items()}


def _by_key(table: str, rows: Iterable[tuple[Any, ...]]) -> Table:
    width = WIDTHS[table]
    return {row[:width]: row for row in rows}


def kept(tx: Any, after: int, anchor: Any) -> dict[str, Any]:
    """What lies beside the rows; events only after a seq that was compared before."""
    epoch = tx._state.epoch if isinstance(tx, MemoryRead) else tx.epoch
    return {
        "head": tx.head(), "now": tx.now(), "clock": anchor, "epoch": epoch,
        "events": tx.stored(after, ALL), "blobs": tx.stored_blobs(b"", ALL),
    }  # fmt: skip


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
    "awaited": lambda tx, items: tx.awaited([*(i.id for i in items), "?a", "?b", "?c", "?x"]),
    "listed": lambda tx, _: tx.items(ItemQuery(limit=0)),
    "open": lambda tx, _: tx.items(
        ItemQuery(statuses=("ready", "held", "leased"), newest_first=True, after=20, limit=5)
    ),
    "searched": lambda tx, _: tx.items(ItemQuery(text="ong", limit=0)),
    "held": lambda tx, items: [
        tx.items(ItemQuery(hold=i.hold.reason, limit=0)) for i in items if i.hold is not None
    ],
    "gated": lambda tx, items: [tx.gated(i.gate, 1, 9) for i in items if i.gate],
    "found": lambda tx, _: (tx.find("W", 100), tx.find("", 500)),
    "names": lambda tx, _: [tx.names(kind, "A-2", 50) for kind in FACT_TYPES],
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


def first_difference(wanted: Tables, found: Tables) -> str:
    """The first row that is not as it should be, in words for a failed test."""
    for table, rows in wanted.items():
        for key in sorted(rows.keys() | found[table].keys()):
            a, b = rows.get(key), found[table].get(key)
            if a != b:
                return f"{table} {'/'.join(map(str, key))}: found {b}, expected {a}"
    return ""
