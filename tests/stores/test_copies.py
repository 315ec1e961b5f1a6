"""Backups, restores and the epoch that is kept outside: no copy is written unadopted."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.contract.builders import blob, note, put, record

from remit.core.events import EpochAdopted
from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, RemitError, StoreUnavailable
from remit.stores.sqlite import place
from remit.stores.sqlite.copies import backup, restore
from remit.stores.sqlite.store import SqliteStore, create_store, open_store


def adopt(store: SqliteStore, epoch: int, version: int = 2) -> None:
    with store.write(adopting=True) as tx:
        tx.append([record(tx, "ledger", version, EpochAdopted(epoch, tx.epoch, "test"))])


def refused(store: SqliteStore, adopting: bool = False) -> RemitError:
    with pytest.raises(RemitError) as caught, store.write(adopting=adopting) as tx:
        tx.write([])
    assert caught.value.code is Code.LEDGER_NOT_ADOPTED
    assert "adopt" in caught.value.hint
    return caught.value


def test_a_backup_is_whole_and_says_what_it_holds(store: SqliteStore, tmp_path: Path) -> None:
    last = note(store, "W-1", 1, "x")
    put(store, {("counter", "a"): 1})
    with store.write() as tx:
        tx.put_blobs([blob(b"text")])
    copied = backup(store, tmp_path / "copy.db")
    with store.read() as tx:
        (stored,) = tx.stored(last.seq - 1, 1)
    assert (copied.seq, copied.digest, copied.ledger_id) == (2, stored.digest.hex(), "ledger-1")
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith("copy")) == ["copy.db"]
    copy = open_store(tmp_path / "copy.db")
    with copy.read() as a, store.read() as b:
        assert a.stored(0, 99) == b.stored(0, 99)
        assert a.load([("counter", "a")]) == b.load([("counter", "a")])
        assert a.stored_blobs(b"", 9) == b.stored_blobs(b"", 9)
    copy.close()


def test_a_backup_is_made_while_others_write(store: SqliteStore, tmp_path: Path) -> None:
    with store.write() as tx:
        tx.append([record(tx, "W-1", 1, EpochAdopted(1, 0, "open"))])
        copied = backup(store, tmp_path / "copy.db")
    assert copied.seq == 1
    assert backup(store, tmp_path / "later.db").seq == 2


def test_no_copy_replaces_anything(store: SqliteStore, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("mine")
    for attempt in (lambda: backup(store, taken), lambda: restore(store.path, taken)):
        with pytest.raises(RemitError) as caught:
            attempt()
        assert caught.value.code is Code.LEDGER_EXISTS
    assert taken.read_text() == "mine"


def test_an_unfinished_copy_leaves_nothing(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.stores.sqlite import copies

    def full(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(copies, "_marked", full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RuntimeError):
        backup(store, tmp_path / "copy.db")
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(StoreUnavailable):
        backup(store, tmp_path / "no" / "copy.db")


def test_a_damaged_ledger_makes_no_backup(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    for n in range(1, 60):
        note(store, "W-1", n, "x" * 900)
    store.close()
    opened = open_store(path)
    pages = path.stat().st_size // 4096
    with path.open("r+b") as file:
        for page in range(pages - 5, pages):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)
    with pytest.raises(LedgerCorrupt):
        backup(opened, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()


def test_a_restored_ledger_is_read_but_not_written_until_adopted(
    store: SqliteStore, tmp_path: Path
) -> None:
    backup(store, tmp_path / "copy.db")
    restored = restore(tmp_path / "copy.db", tmp_path / "restored.db")
    with restored.read() as tx:
        assert tx.head().seq == 1
    assert "restored or copied" in refused(restored).message
    assert refused(restored, adopting=True).code is Code.LEDGER_NOT_ADOPTED
    with pytest.raises(RemitError), restored.write(adopting=True) as tx:
        tx.append([record(tx, "ledger", 2, EpochAdopted(0, 0, "no higher"))])
    refused(restored)
    adopt(restored, 1)
    note(restored, "W-1", 1)
    restored.close()
    again = open_store(tmp_path / "restored.db")
    assert again.epoch_known() == 1
    note(again, "W-1", 2)
    again.close()


def test_a_copied_backup_file_is_marked_too(store: SqliteStore, tmp_path: Path) -> None:
    backup(store, tmp_path / "copy.db")
    shutil.copy(tmp_path / "copy.db", tmp_path / "elsewhere.db")
    copy = open_store(tmp_path / "elsewhere.db")
    refused(copy)
    copy.close()


def put_in_place(path: Path, copy: Path) -> None:
    """Put a file under a ledger's name, as somebody would by hand."""
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        name.unlink(missing_ok=True)
    shutil.copy(copy, path)


def test_an_older_copy_of_the_same_epoch_put_back_is_refused(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old.db"
    note(store, "W-1", 1)
    with closing(sqlite3.connect(path)) as raw, closing(sqlite3.connect(old)) as target:
        raw.backup(target)
    note(store, "W-1", 2)
    store.close()
    put_in_place(path, old)
    put_back = open_store(path)
    assert "an older copy was put in its place" in refused(put_back).message
    with put_back.read() as tx:
        head = tx.head().seq
    with pytest.raises(RemitError), put_back.write(adopting=True) as tx:
        tx.append([record(tx, "W-1", 2, EpochAdopted(0, 0, "no higher"))])
    adopt(put_back, 1)
    note(put_back, "W-1", 2)
    put_back.close()
    again = open_store(path)
    note(again, "W-1", 3)
    with again.read() as tx:
        assert tx.head().seq == head + 3
    again.close()


def test_another_ledger_put_in_its_place_is_refused(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    other = create_store(tmp_path / "other.db", "ledger-2")
    note(other, "W-1", 1)
    other.close()
    store.close()
    put_in_place(path, tmp_path / "other.db")
    replaced = open_store(path)
    assert "knows another ledger" in refused(replaced).message
    adopt(replaced, 1, version=1)
    note(replaced, "W-1", 2)
    replaced.close()


def test_an_older_copy_put_back_is_refused(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as raw, closing(sqlite3.connect(old)) as target:
        raw.backup(target)
    adopt(store, 3)
    note(store, "W-1", 1)
    store.close()
    assert place.read_epoch(path, "ledger-1") == 3
    for name in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        name.unlink(missing_ok=True)
    shutil.copy(old, path)
    put_back = open_store(path)
    assert put_back.epoch_known() == 3
    assert "knows 3" in refused(put_back).message
    with pytest.raises(RemitError) as caught:
        adopt(put_back, 3)
    assert caught.value.code is Code.EPOCH_TOO_LOW
    adopt(put_back, 4)
    note(put_back, "W-1", 1)
    put_back.close()


def test_the_epoch_is_kept_outside_before_the_commit(store: SqliteStore, path: Path) -> None:
    """A crash between the two costs a number; the ledger is refused until a higher one is adopted."""

    def stop(step: str) -> None:
        if step == "before commit":
            raise KeyboardInterrupt

    store.pause = stop
    with pytest.raises(KeyboardInterrupt):
        adopt(store, 1)
    store.pause = None
    assert place.read_epoch(path, "ledger-1") == 1
    refused(store)
    adopt(store, 2)
    note(store, "W-1", 1)


def test_the_epoch_file_never_goes_back_and_keeps_other_ledgers(path: Path) -> None:
    place.write_epoch(path, "a", 2)
    place.write_epoch(path, "b", 0)
    place.write_epoch(path, "a", 1)
    assert (place.read_epoch(path, "a"), place.read_epoch(path, "b")) == (2, 0)
    assert place.read_epoch(path, "c") == 0


def test_restoring_what_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(StoreUnavailable) as caught:
        restore(tmp_path / "text", tmp_path / "restored.db")
    assert caught.value.code is Code.STORE_REFUSED
    assert not (tmp_path / "restored.db").exists()


def test_a_log_that_another_sqlite_removed_is_left(store: SqliteStore) -> None:
    """Two copies of SQLite in one process do not see each other's locks: the other removes the log."""
    note(store, "W-1", 1)
    with closing(sqlite3.connect(store.path)) as raw:
        assert raw.execute("SELECT count(*) FROM events").fetchone()[0] >= 1
    assert not Path(f"{store.path}-wal").exists(), "else there is nothing to see here"
    written = note(store, "W-1", 2)
    with closing(open_store(store.path)) as other, other.read() as tx:
        assert tx.head().seq == written.seq, "what was acknowledged is there for everybody"
