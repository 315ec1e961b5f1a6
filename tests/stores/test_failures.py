"""Failures of the disk: nothing was done, or it cannot be known, and the next write works again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.contract.builders import blob, item, note, put
from tests.stores.disks import Disk, mounted

from remit.core.refusals import Code
from remit.core.status import Status
from remit.ports import LedgerCorrupt, OutcomeUnknown, RemitError, StoreUnavailable
from remit.stores.sqlite.failures import failure
from remit.stores.sqlite.store import SqliteStore, open_store


@pytest.fixture
def disk(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    store.close()
    with mounted(monkeypatch) as made:
        yield made


def head(path: Path) -> int:
    with closing(sqlite3.connect(path)) as raw:
        return int(raw.execute("SELECT max(seq) FROM events").fetchone()[0])


def test_a_full_disk_before_the_commit(store: SqliteStore) -> None:
    connection = store._begin()
    connection.execute("ROLLBACK")
    limit = "PRAGMA max_page_count = 1"
    for _ in connection.execute(limit):
        pass
    with pytest.raises(StoreUnavailable) as caught, store.write() as tx:
        tx.put_blobs([blob(b"x" * 100_000)])
    assert caught.value.code is Code.STORE_FULL
    for _ in connection.execute("PRAGMA max_page_count = 100000"):
        pass
    note(store, "W-1", 1)


def test_a_full_disk_at_the_commit(path: Path, disk: Disk) -> None:
    store = open_store(path)
    note(store, "W-1", 1)
    disk.fail["write"] = apsw.FullError("full")
    with pytest.raises(StoreUnavailable) as caught:
        note(store, "W-1", 2)
    assert caught.value.code is Code.STORE_FULL
    disk.fail.clear()
    store.close()
    assert head(path) == 2
    store = open_store(path)
    note(store, "W-1", 2)
    store.close()


def test_a_sync_that_fails_leaves_the_outcome_unknown(path: Path, disk: Disk) -> None:
    store = open_store(path)
    note(store, "W-1", 1)
    disk.fail["sync"] = apsw.IOError("sync")
    with pytest.raises(OutcomeUnknown, match="cannot tell") as caught:
        note(store, "W-1", 2)
    assert caught.value.code is Code.OUTCOME_UNKNOWN
    assert "same command id" in caught.value.hint
    disk.fail.clear()
    store.close()
    seen = head(path)
    assert seen in (2, 3)
    store = open_store(path)
    note(store, "W-1", seen)
    store.close()


def test_a_busy_database_is_away_not_broken(store: SqliteStore) -> None:
    """A foreign program that writes past the lock file."""
    foreign = apsw.Connection(str(store.path))
    foreign.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        note(store, "W-1", 1)
    foreign.close()
    note(store, "W-1", 1)


def test_a_constraint_is_a_bug_and_rolls_back(store: SqliteStore) -> None:

    with pytest.raises(RemitError, match="CHECK constraint") as caught:
        put(store, [item(1), item(2, Status.READY, unmet=1)])
    assert caught.value.code is Code.UNEXPECTED
    assert "W-2" in caught.value.message
    with store.read() as tx:
        assert tx.names("item", "", 9) == []


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (apsw.CorruptError("x"), LedgerCorrupt, Code.LEDGER_CORRUPT),
        (apsw.NotADBError("x"), LedgerCorrupt, Code.LEDGER_CORRUPT),
        (apsw.SQLError("no such table: events"), LedgerCorrupt, Code.LEDGER_CORRUPT),
        (apsw.FullError("x"), StoreUnavailable, Code.STORE_FULL),
        (apsw.ConstraintError("x"), RemitError, Code.UNEXPECTED),
        (apsw.IOError("x"), StoreUnavailable, Code.STORE_UNAVAILABLE),
        (apsw.CantOpenError("x"), StoreUnavailable, Code.STORE_UNAVAILABLE),
        (apsw.ReadOnlyError("x"), StoreUnavailable, Code.STORE_UNAVAILABLE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_errors_mean(error: apsw.Error, kind: type[RemitError], code: Code) -> None:
    found = failure("write", "/x/ledger.db", error)
    assert type(found) is kind
    assert found.code is code
    assert "/x/ledger.db" in found.message
    assert found.hint


def test_a_transaction_that_an_interrupt_left_open_is_undone(store: SqliteStore) -> None:
    """The interrupt came after BEGIN and before anything could catch it."""
    left = store._begin()
    left.execute("UPDATE store_state SET epoch = 9")
    note(store, "W-1", 1)
    assert store.epoch_known() == 0


def test_the_log_is_kept_short(store: SqliteStore) -> None:
    log = store.path.with_name("ledger.db-wal")
    for n in range(1, 1200):
        note(store, "W-1", n, "x" * 2000)
    assert log.stat().st_size < 8 * 1024 * 1024
