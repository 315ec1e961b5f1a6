"""The SQLite store: one ledger in one file, with no server and no set-up.

One connection writes, behind the writer's lock; readers have connections of their own, opened
read-only, and never wait for it. The store checks at every write that the file is still the one that
was opened and that the ledger has been adopted, commits, and keeps the write-ahead log short.

``pause``, where set, is called with the name of each step of a write (``begin``, ``begun``,
``before events``, ``after rows``, ``before commit``, ``after commit``): crash tests stop there. The
store never looks into events, but for the two that its own state depends on: a recorded clock jump
and an adopted epoch.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from remit.core.facts import Fact, Key
from remit.core.refusals import Code
from remit.ports import Codec, Difference, ReadTx, RemitError, StoreUnavailable
from remit.stores.clock import Clock, Machine, Readings
from remit.stores.sqlite import place
from remit.stores.sqlite.connect import connect, create, demand_schema, inspect
from remit.stores.sqlite.failures import failure, named, unknown
from remit.stores.sqlite.folder import Folder
from remit.stores.sqlite.lock import WAIT_MS, WriterLock
from remit.stores.sqlite.queries import q
from remit.stores.sqlite.rebuild import expected
from remit.stores.sqlite.transaction import SqliteRead
from remit.stores.sqlite.writing import SqliteWrite

CHECKPOINT_PAGES: Final = 1000
"""The log is checkpointed once it is this long, after a commit and behind the lock."""

TRUNCATE_PAGES: Final = 16_000
"""Past this length, readers have kept it from starting anew: it is cut where they let it be."""

IDLE_READERS: Final = 4
"""How many idle reading connections are kept open."""

MOUNTS: Final = "/proc/self/mountinfo"


class SqliteStore:
    """A ledger in a SQLite file; see ``remit.ports.Store``.

    Use ``open_store`` or ``create_store``. Safe to use from several threads; not across a fork.
    """

    def __init__(self, path: Path, ledger_id: str, clock: Clock, lock: WriterLock) -> None:
        self.ledger_id = ledger_id
        self.url = f"sqlite://{quote(os.fsencode(path))}"
        self.path = path
        self.pause: Callable[[str], None] | None = None
        self._clock = clock
        self._lock = lock
        self._pid = os.getpid()
        self._name = str(path)
        self._file = self._identity()
        self._folder = Folder(path.parent)
        self._epoch_file = str(place.epoch_file(path))
        self._epoch_name = place.epoch_file(path).name
        self._epoch_note: tuple[tuple[int, ...], int, bool] = ((), 0, False)
        self._connection: apsw.Connection | None = None
        self._log: tuple[int, int] | None = None
        self._idle: deque[apsw.Connection] = deque()
        self._log_pages = 0
        self._closed = False

    @property
    def codec(self) -> Codec:
        """What verification needs of the event format."""
        from remit.stores import codec

        return codec

    @contextmanager
    def read(self) -> Iterator[SqliteRead]:
        """A short snapshot that never blocks the writer."""
        self._demand_usable("read")
        self._demand_same_file("read")
        with named("read", str(self.path)):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = connect(self.path, readonly=True)
            try:
                connection.execute("BEGIN")
                yield SqliteRead(connection, self.ledger_id, self._clock)
            except BaseException:
                connection.close()
                raise
            connection.execute("COMMIT")
            if self._closed or len(self._idle) >= IDLE_READERS:
                connection.close()
            else:
                self._idle.append(connection)

    @contextmanager
    def write(
        self, *, urgent: bool = False, adopting: bool = False, importing: bool = False
    ) -> Iterator[SqliteWrite]:
        """The writer's transaction; commits when left without an exception."""
        self._demand_usable("write")
        with self._lock.held(urgent=urgent) as lock:
            self._demand_own_files()
            self._step("begin")
            connection = self._begin()
            try:
                noted = self._noted_epoch()
                tx = SqliteWrite(connection, self.ledger_id, self._clock, noted, self._step)
                newest = place.noted_head(lock, self.ledger_id)
                if importing:
                    tx.import_into(self.url)
                else:
                    self._demand_adopted(tx, newest, noted, adopting=adopting)
                self._step("begun")
                yield tx
                dirty = tx.finish()
                if adopting and tx.adopted is None and dirty:
                    self._demand_adopted(tx, newest, noted, adopting=False)
                if tx.adopted is not None:
                    place.write_epoch(self.path, self.ledger_id, tx.adopted)
                self._step("before commit")
            except apsw.Error as error:
                self._rollback(connection)
                raise failure("write", str(self.path), error) from error
            except BaseException:
                self._rollback(connection)
                raise
            self._commit(connection)
            self._step("after commit")
            if tx.head().seq != newest:
                place.note_head(lock, self.ledger_id, tx.head().seq)
            self._keep_log_short(connection, erased=tx.erased)

    def epoch_known(self) -> int:
        """The highest epoch that the ledger or the file beside it knows."""
        with self.read() as tx:
            return max(tx.epoch, self._noted_epoch())

    def rebuild(
        self, fold: Callable[[ReadTx], Iterable[tuple[Key, Fact]]], *, swap: bool
    ) -> list[Difference]:
        """Compare the rows with freshly folded facts, and with ``swap`` put theirs in place.

        Without ``swap`` the database below them is looked over as well: see ``sound``.
        """
        if not swap:
            with self.read() as tx:
                return [*tx.compare_rows(expected(fold(tx))), *tx.unsound()]
        with self.write() as writer:
            rows = expected(fold(writer))
            found = writer.compare_rows(rows)
            if found:
                writer.replace_rows(rows)
            return found

    def close(self) -> None:
        """Release the connections; safe to call twice."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _step(self, name: str) -> None:
        if self.pause is not None:
            self.pause(name)

    def _begin(self) -> apsw.Connection:
        try:
            if self._connection is None:
                place.sync_log(self.path)
                self._connection = connect(self.path)
                self._connection.set_wal_hook(self._committed)
                self._log = None
            if self._connection.in_transaction:  # an interrupt came before the write could begin
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN IMMEDIATE")
            self._log = self._log or self._identity("-wal")
        except apsw.Error as error:
            raise failure("write", str(self.path), error) from error
        return self._connection

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return 0  # SQLITE_OK: the commit stands whatever the log needs

    def _commit(self, connection: apsw.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except apsw.Error as error:
            self._drop(connection)
            if isinstance(error, (apsw.FullError, apsw.BusyError, apsw.ReadOnlyError)):
                raise failure("commit to", str(self.path), error) from error
            raise unknown(str(self.path), error) from error

    def _rollback(self, connection: apsw.Connection) -> None:
        """Undo; a connection that cannot even do that is dropped, which undoes as well."""
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("PRAGMA secure_delete = OFF")
        except apsw.Error:
            self._drop(connection)

    def _drop(self, connection: apsw.Connection) -> None:
        self._connection = None
        with suppress(apsw.Error):
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        with suppress(apsw.Error):
            connection.close()

    def _keep_log_short(self, connection: apsw.Connection, *, erased: bool) -> None:
        """Checkpoint; a failure is no failure of the commit, and the next commit tries again."""
        if not erased and self._log_pages < CHECKPOINT_PAGES:
            return
        cut = erased or self._log_pages >= TRUNCATE_PAGES
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if cut else apsw.SQLITE_CHECKPOINT_PASSIVE
        with suppress(apsw.Error):
            if erased:
                connection.execute("PRAGMA secure_delete = OFF")
            connection.wal_checkpoint(mode=mode)

    def _identity(self, ending: str = "") -> tuple[int, int]:
        found = os.stat(self._name + ending)  # noqa: PTH116  # each write asks: a path costs more
        return (found.st_dev, found.st_ino)

    def _demand_usable(self, operation: str) -> None:
        if self._closed or os.getpid() != self._pid:
            found = "the store is closed" if self._closed else "it was opened before a fork"
            raise StoreUnavailable(
                f"cannot {operation} {self.path}: {found}",
                "open the ledger again in this process",
                {"path": str(self.path)},
            )

    def _demand_same_file(self, operation: str) -> None:
        try:
            same = self._identity() == self._file
        except OSError:
            same = False
        if not same:
            raise StoreUnavailable(
                f"cannot {operation} {self.path}: the file was moved or replaced since it was opened",
                "open the ledger again; what is there now may be another one",
                {"path": str(self.path)},
            )

    def _demand_own_files(self) -> None:
        """See that ledger and log are those that were opened, where their names may have changed."""
        with suppress(OSError):  # a folder that is not there any more has no file either
            if not self._folder.changed():
                return
        self._demand_same_file("write")
        self._leave_lost_log()
        self._folder.looked()

    def _leave_lost_log(self) -> None:
        """Begin anew where the log was removed from under the connection.

        SQLite would go on in the removed one, and nobody else would ever see what is written there. A
        log goes when another copy of SQLite in this process closes the file, and where an older file
        is written over this one, which the newest seq that was noted then shows. What is in the lost
        log must not reach a file that is another one by now.
        """
        if self._connection is None or self._log is None:
            return
        try:
            if self._identity("-wal") == self._log:
                return
        except OSError:
            pass  # it is not there at all
        lost, self._connection = self._connection, None
        lost.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        lost.close()
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _noted_epoch(self) -> int:
        """The epoch in the file beside the ledger, read again only when that file changed."""
        try:
            found = os.stat(self._epoch_file)  # noqa: PTH116  # twice a write: a path costs more
        except OSError:
            return 0
        mark = (found.st_ino, found.st_mtime_ns, found.st_size)
        if self._epoch_note[0] != mark:
            self._epoch_note = (
                mark,
                place.read_epoch(self.path, self.ledger_id),
                place.knows_others_only(self.path, self.ledger_id),
            )
        return self._epoch_note[1]

    def _demand_adopted(self, tx: SqliteWrite, newest: int, noted: int, *, adopting: bool) -> None:
        if adopting:
            return
        head = tx.head().seq
        note = self._epoch_name
        if noted > tx.epoch:
            found = f"its epoch is {tx.epoch} and {note} knows {noted}"
        elif tx.adoption_required:
            found = "it was restored or copied"
        elif self._epoch_note[2]:
            found = f"{note} knows another ledger, not {self.ledger_id}, which was put in its place"
        elif newest > head:
            found = f"it ends at seq {head} and had {newest}: an older copy was put in its place"
        else:
            return
        raise RemitError(
            f"cannot write {self.path}: {found}, expected a ledger that was adopted",
            "make sure that no other copy is in use, then run 'remit ledger adopt'",
            {"path": str(self.path), "epoch": tx.epoch, "epoch_known": max(noted, tx.epoch)},
            code=Code.LEDGER_NOT_ADOPTED,
        )


def open_store(
    path: Path | str,
    *,
    readings: Readings | None = None,
    mounts: str = MOUNTS,
    wait_ms: int = WAIT_MS,
) -> SqliteStore:
    """Open the ledger in this file.

    ``readings`` and ``mounts`` stand in for the machine's clocks and its table of mounts in tests;
    ``wait_ms`` bounds the wait for the writer's lock. Raises a typed error for whatever is not a
    ledger: ``LEDGER_MISSING``, ``STORE_REFUSED``, ``LEDGER_TOO_NEW``, ``LEDGER_CORRUPT``.
    """
    path = Path(path).absolute()
    inspect(path)
    place.demand_local(path, mounts)
    lock = WriterLock(path, wait_ms)
    demand_schema(path, lock)
    with named("open", str(path)):
        connection = connect(path, readonly=True)
        try:
            row = next(iter(connection.execute(q("state"))), None)
        finally:
            connection.close()
    if row is None:
        raise StoreUnavailable(
            f"cannot open {path}: it names no ledger",
            "restore a backup with 'remit ledger restore'",
            {"path": str(path)},
            code=Code.LEDGER_CORRUPT,
        )
    place.read_epoch(path, row[0])
    return SqliteStore(path, row[0], Clock(readings), lock)


def create_store(
    path: Path | str,
    ledger_id: str,
    *,
    readings: Readings | None = None,
    mounts: str = MOUNTS,
    wait_ms: int = WAIT_MS,
) -> SqliteStore:
    """Make an empty ledger under a free name, and open it; never replaces what is there.

    Raises ``LEDGER_EXISTS`` where the name is taken and ``STORE_REFUSED`` where its place will not
    do.
    """
    path = Path(path).absolute()
    create(path, ledger_id, readings or Machine(), mounts)
    return open_store(path, readings=readings, mounts=mounts, wait_ms=wait_ms)
