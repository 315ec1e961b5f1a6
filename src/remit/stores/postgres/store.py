"""The PostgreSQL store: one of the ledgers in a database, for many machines at once.

A write holds the ledger's advisory lock from its first step to its commit; whoever dies, hangs or
is cut off loses the lock with the connection. Reads are snapshots in a read-only role and wait for
nobody. What went wrong before the commit surely did nothing; only a line lost in the commit itself
leaves the outcome unknown.

``pause``, where set, is called with the name of each step of a write, as in the SQLite store:
``begin``, ``begun``, ``before events``, ``after rows``, ``before commit``, ``after commit``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any, Final

import psycopg
from psycopg import errors, sql

from remit.core.facts import Fact, Key
from remit.core.refusals import Code
from remit.ports import Codec, Difference, LedgerCorrupt, ReadTx, RemitError, StoreUnavailable
from remit.stores import codec
from remit.stores.postgres.address import Address
from remit.stores.postgres.clock import ServerClock
from remit.stores.postgres.connections import Connections
from remit.stores.postgres.failures import failure, is_certain, unknown
from remit.stores.postgres.line import Session
from remit.stores.postgres.memory import Memory
from remit.stores.postgres.queries import q
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.postgres.writing import PostgresWrite
from remit.stores.tables import expected

WAIT_MS: Final = 10_000
"""How long a writer waits for each of its locks, and anybody for a connection."""

HANG_MS: Final = 120_000
"""How long a transaction may stand idle before the server ends it, and with it its lock."""


PLANS: Final = (
    "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;"
    " SET enable_mergejoin = off;"
)
"""One plan a statement, made once: the look-ups that it is written as, however small a table was then."""

STATE: Final = "remit_state"
"""What the statement is called that a transaction begins with, where it can be prepared."""


def lock_key(ledger_id: str, purpose: str) -> int:
    """The advisory lock's key of a ledger: 63 bits, so that two ledgers practically never share."""
    return int.from_bytes(sha256(f"remit/{purpose}/{ledger_id}".encode()).digest()[:8]) >> 1


class PostgresStore:
    """A ledger in a PostgreSQL database; see ``remit.ports.Store``.

    Use ``open_store`` or ``create_store`` of ``opening``. Safe to use from several threads; not
    across a fork.
    """

    def __init__(
        self,
        address: Address,
        ledger_id: str,
        place: str,
        clock: ServerClock,
        wait_ms: int,
    ) -> None:
        self.ledger_id = ledger_id
        self.url = address.of(ledger_id)
        self.pause: Callable[[str], None] | None = None
        self.codec: Codec = codec
        self._address = address
        self._place = place
        self._clock = clock
        self._wait_ms = wait_ms
        self._pid = os.getpid()
        self._closed = False
        self._memory = Memory()
        self._keys = {name: lock_key(ledger_id, name) for name in ("queue", "writer")}
        state = q("state").format(ledger_id=sql.Literal(ledger_id).as_string())
        bounds = {"idle_in_transaction_session_timeout": HANG_MS, "lock_timeout": wait_ms}
        opening, begun, asked = "", "", f"EXECUTE {STATE}"
        if address.pooled:
            begun = "".join(f" SET LOCAL {name} = {value};" for name, value in bounds.items())
            asked = state
        else:
            opening = "".join(f"SET {name} = {value}; " for name, value in bounds.items())
            opening += f"{PLANS} BEGIN; SET LOCAL ROLE remit_reader;"
            opening += f" PREPARE {STATE} AS {state}; COMMIT"
        self._connections = Connections(address, wait_ms, opening.encode())
        begin = f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL ROLE remit_writer;{begun}"
        self._begin_write = f"{begin} {q('lock').format(**self._keys)}; {asked}".encode()
        self._begin_urgent = f"{begin} {q('lock_urgent').format(**self._keys)}; {asked}".encode()
        self._begin_read = (
            "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL ROLE remit_reader;"
            f"{begun} {asked}"
        ).encode()

    @contextmanager
    def read(self) -> Iterator[PostgresRead]:
        """A short snapshot that never blocks the writer."""
        self._demand_usable("read")
        connection, row, _ = self._enter("read", self._begin_read)
        try:
            tx = PostgresRead(connection, row, self._clock)
            self._memory.saw(tx.epoch, tx.head().seq, tx.head().time)
            yield tx
        except psycopg.Error as error:
            raise failure("read", self._address, error) from error
        finally:
            self._leave(connection)

    @contextmanager
    def write(
        self, *, urgent: bool = False, adopting: bool = False, importing: bool = False
    ) -> Iterator[PostgresWrite]:
        """The writer's transaction; commits when left without an exception."""
        self._demand_usable("write")
        self._step("begin")
        begin = self._begin_urgent if urgent else self._begin_write
        connection, row, fresh = self._enter("write", begin)
        try:
            try:
                tx = PostgresWrite(connection, row, self._clock, self._place, self._step)
                if not adopting:
                    self._demand_remembered(connection, tx, fresh=fresh)
                if importing:
                    tx.import_into(self.url)
                else:
                    self._demand_adopted(tx, adopting=adopting)
                self._step("begun")
                yield tx
                dirty = tx.finish()
                if adopting and tx.adopted is None and dirty:
                    self._demand_adopted(tx, adopting=False)
                self._step("before commit")
            except psycopg.Error as error:
                raise failure("write", self._address, error) from error
            self._commit(connection, dirty=dirty)
            head = tx.head()
            self._memory.saw(tx.epoch if tx.adopted is None else tx.adopted, head.seq, head.time)
        finally:
            self._leave(connection)
        self._step("after commit")

    def epoch_known(self) -> int:
        """The highest epoch that the ledger knows; nothing outside the database keeps another."""
        with self.read() as tx:
            return int(tx.epoch)

    def rebuild(
        self, fold: Callable[[ReadTx], Iterable[tuple[Key, Fact]]], *, swap: bool
    ) -> list[Difference]:
        """Compare the rows with freshly folded facts, and with ``swap`` put theirs in place."""
        if not swap:
            with self.read() as tx:
                return tx.compare_rows(expected(fold(tx)))
        with self.write() as writer:
            rows = expected(fold(writer))
            found = writer.compare_rows(rows)
            if found:
                writer.replace_rows(rows)
            return found

    def close(self) -> None:
        """Release the connections; safe to call twice."""
        self._closed = True
        self._connections.close()

    def _step(self, name: str) -> None:
        if self.pause is not None:
            self.pause(name)

    def _enter(self, operation: str, begin: bytes) -> tuple[Session, tuple[Any, ...], bool]:
        """Begin a transaction, and say whether its connection is new.

        Nothing was done yet, so a stale connection is replaced unseen.
        """
        while True:
            connection, fresh = self._connections.take(operation)
            try:
                return connection, self._begun(connection, begin), fresh
            except psycopg.Error as error:
                lost = connection.closed
                self._leave(connection)
                if lost and not fresh:
                    self._connections.drop_idle()
                    continue
                if isinstance(error, errors.LockNotAvailable):
                    raise self._too_long(operation) from error
                raise failure(operation, self._address, error) from error
            except BaseException:
                self._leave(connection)
                raise

    def _begun(self, connection: Session, begin: bytes) -> tuple[Any, ...]:
        _, rows = connection.line.simple(begin)
        if not rows:
            raise LedgerCorrupt(
                f"cannot use {self.url}: the database no longer holds this ledger",
                "restore a backup",
                {"url": self.url},
            )
        return rows[0]

    def _leave(self, connection: Session) -> None:
        """End what is still open and hand the connection back; a broken one is dropped."""
        with suppress(psycopg.Error):
            connection.line.abandon()
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.line.simple(b"ROLLBACK")
        self._connections.give(connection)

    def _commit(self, connection: Session, *, dirty: bool) -> None:
        try:
            status, _ = connection.line.simple(b"COMMIT")
        except psycopg.Error as error:
            if not dirty or is_certain(error):
                raise failure("commit to", self._address, error) from error
            raise unknown(self._address, error) from error
        if status != b"COMMIT":
            raise RemitError(
                f"cannot commit to {self.url}: found {status.decode()}, expected COMMIT",
                "this is a bug in remit; nothing was written",
                {"url": self.url},
            )

    def _too_long(self, operation: str) -> StoreUnavailable:
        """Say who holds the lock, where the server tells."""
        holder: tuple[Any, ...] | None = None
        connection, _ = self._connections.take(operation)
        with suppress(psycopg.Error):
            key = self._keys["writer"]
            holder = connection.execute(q("holder"), (key, key)).fetchone()
        self._leave(connection)
        who = f"server process {holder[0]} ({holder[1]})" if holder else "another writer"
        return StoreUnavailable(
            f"cannot {operation} {self.url}: waited {self._wait_ms} ms for the writer's lock,"
            f" held by {who}",
            "see what that process does, and end it if it hangs; nothing was written",
            {"url": self.url, "holder": holder[0] if holder else 0, "waited_ms": self._wait_ms},
        )

    def _demand_usable(self, operation: str) -> None:
        if self._closed or os.getpid() != self._pid:
            found = "the store is closed" if self._closed else "it was opened before a fork"
            raise StoreUnavailable(
                f"cannot {operation} {self.url}: {found}",
                "open the ledger again in this process",
                {"url": self.url},
            )

    def _demand_remembered(self, connection: Session, tx: PostgresWrite, *, fresh: bool) -> None:
        """Refuse, now and for everybody, a server that has forgotten what was committed."""
        head = tx.head()

        def time_of(seq: int) -> int:
            found = tx.at_seq([seq])
            return found[seq].at if seq in found else -1

        # A pooler hides that the server behind it is another one.
        unsure = fresh or self._address.pooled
        gone = self._memory.forgotten(tx.epoch, head.seq, head.time, time_of, fresh=unsure)
        if not gone or tx.adoption_required:
            return
        mark = q("mark_copied").replace("%s", sql.Literal(self.ledger_id).as_string())
        connection.line.simple(f"{mark}; COMMIT".encode())
        raise RemitError(
            f"cannot write {self.url}: event {gone} was committed and is no longer there;"
            " found an older state, as after a failover that lost commits or a restore",
            "stop all writers, see which server has the newest events, then run"
            " 'remit ledger adopt' with --epoch-above",
            {"url": self.url, "lost_from": gone, "head": head.seq, "epoch": tx.epoch},
            code=Code.LEDGER_NOT_ADOPTED,
        )

    def _demand_adopted(self, tx: PostgresWrite, *, adopting: bool) -> None:
        moved = tx.place != self._place
        if adopting or not (tx.adoption_required or moved):
            return
        found = "it was restored into another database" if moved else "it was restored or copied"
        raise RemitError(
            f"cannot write {self.url}: {found}, expected a ledger that was adopted",
            "make sure that no other copy is in use, then run 'remit ledger adopt'",
            {"url": self.url, "epoch": tx.epoch, "epoch_known": tx.epoch},
            code=Code.LEDGER_NOT_ADOPTED,
        )
