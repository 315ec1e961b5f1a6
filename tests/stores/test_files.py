"""Odd files under a ledger's name, odd places for it, and a name that is taken: one typed error."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.contract.builders import note

from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, RemitError, StoreUnavailable
from remit.stores.sqlite import connect as connect_module
from remit.stores.sqlite import place
from remit.stores.sqlite.store import SqliteStore, create_store, open_store


def refusal(path: Path) -> RemitError:
    with pytest.raises(RemitError) as caught:
        open_store(path)
    assert "\n" not in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.hint
    return caught.value


def test_nothing_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.db").code is Code.LEDGER_MISSING
    assert refusal(tmp_path / "no" / "no.db").code is Code.LEDGER_MISSING
    assert list(tmp_path.iterdir()) == []


def test_a_store_says_where_it_is(store: SqliteStore, path: Path) -> None:
    assert path.is_absolute()
    assert store.url == f"sqlite://{path}"
    assert store.url.startswith("sqlite:///")


def test_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path).code is Code.STORE_REFUSED


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert refusal(tmp_path / "file" / "ledger.db").code is Code.STORE_UNAVAILABLE


def test_a_fifo_or_socket_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert refusal(tmp_path / "fifo").code is Code.STORE_REFUSED


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0" + b"\0" * 200])
def test_files_that_hold_no_ledger(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    assert refusal(path).code is Code.STORE_REFUSED
    assert path.read_bytes() == content
    place.epoch_file(path).write_text('{"ledger-1":0}')
    assert refusal(path).code is Code.LEDGER_CORRUPT


def test_another_programs_database(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE a (b)")
    assert refusal(path).code is Code.STORE_REFUSED
    assert "another program" in refusal(path).message


def test_a_newer_schema(store: SqliteStore, raw: sqlite3.Connection) -> None:
    store.close()
    raw.execute("PRAGMA user_version = 999")
    assert refusal(store.path).code is Code.LEDGER_TOO_NEW


def test_a_truncated_ledger(store: SqliteStore, path: Path) -> None:
    for n in range(1, 50):
        note(store, "W-1", n, "x" * 900)
    store.close()
    path.write_bytes(path.read_bytes()[:8192])
    with pytest.raises(LedgerCorrupt):
        _use(path)


def test_a_damaged_page(store: SqliteStore, path: Path) -> None:
    store.close()
    data = bytearray(path.read_bytes())
    data[100:4096] = b"\xff" * 3996
    path.write_bytes(data)
    with pytest.raises(LedgerCorrupt):
        _use(path)


def _use(path: Path) -> None:
    damaged = open_store(path)
    with damaged.read() as tx:
        tx.events(0, 100)


def test_a_dropped_table_is_damage(store: SqliteStore, raw: sqlite3.Connection) -> None:
    raw.execute("DROP TABLE events")
    with pytest.raises(LedgerCorrupt, match="no such table"), store.read():
        pass


def test_an_unreadable_epoch_file(store: SqliteStore, path: Path) -> None:
    store.close()
    place.epoch_file(path).write_text("{")
    assert refusal(path).code is Code.LEDGER_CORRUPT


def test_a_file_without_permission(store: SqliteStore, path: Path) -> None:
    store.close()
    path.chmod(0)
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(65534)
    try:
        assert refusal(path).code is Code.STORE_UNAVAILABLE
    finally:
        os.seteuid(mine)


def test_a_ledger_that_cannot_be_written(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that gets a read-only file says so; root needs help to be refused."""
    from remit.stores.sqlite import store as module

    def readonly(where: Path) -> object:
        return connect(where, readonly=True)

    store.close()
    store = open_store(path)
    connect = connect_module.connect
    monkeypatch.setattr(module, "connect", readonly)
    with pytest.raises(StoreUnavailable) as caught:
        note(store, "W-1", 1)
    store.close()
    assert caught.value.code is Code.STORE_UNAVAILABLE


def test_create_never_replaces(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RemitError) as caught:
        create_store(path, "ledger-2")
    assert caught.value.code is Code.LEDGER_EXISTS
    assert path.read_bytes() == before
    for left in ("-wal", "-journal"):
        (tmp_path / f"new.db{left}").write_bytes(b"x")
        with pytest.raises(RemitError, match="earlier database") as caught:
            create_store(tmp_path / "new.db", "ledger-2")
        assert caught.value.code is Code.LEDGER_EXISTS
        (tmp_path / f"new.db{left}").unlink()
    (tmp_path / "link.db").symlink_to(tmp_path / "nowhere.db")
    with pytest.raises(RemitError) as caught:
        create_store(tmp_path / "link.db", "ledger-2")
    assert caught.value.code is Code.LEDGER_EXISTS


def test_a_race_for_a_name_has_one_winner(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is taken after it was found free."""
    monkeypatch.setattr(place, "demand_free", lambda *_: path.write_bytes(b"first"))
    with pytest.raises(RemitError) as caught:
        create_store(path, "ledger-2")
    assert caught.value.code is Code.LEDGER_EXISTS
    assert path.read_bytes() == b"first"
    assert not [p for p in tmp_path.iterdir() if ".new." in p.name]


def test_create_wants_a_folder(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="folder is not there"):
        create_store(tmp_path / "no" / "ledger.db", "ledger-1")


MOUNTS = """\
21 1 8:1 / / rw - ext4 /dev/a rw
22 21 0:20 / /mnt/nfs rw shared:1 - nfs4 server:/x rw
23 22 8:2 / /mnt/nfs/local rw - xfs /dev/b rw
24 21 0:21 / /mnt/with\\040space rw - fuse.sshfs x rw
25 21 0:22 / /mnt/nine rw - 9p x rw
26 21 0:23 / /mnt/smb rw - cifs x rw
27 21 0:24 / /mnt/fuse rw - fuseblk x rw
broken line
"""


@pytest.fixture
def mounts(tmp_path: Path) -> str:
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    return str(table)


@pytest.mark.parametrize("folder", ["nfs", "with space", "nine", "smb", "fuse"])
def test_network_file_systems_are_refused(mounts: str, folder: str) -> None:
    with pytest.raises(StoreUnavailable, match="locks do not hold") as caught:
        place.demand_local(Path("/mnt") / folder / "ledger.db", mounts)
    assert caught.value.code is Code.STORE_REFUSED


@pytest.mark.parametrize("folder", ["nfs/local/deep", "nfslike", "other"])
def test_local_file_systems_are_not(mounts: str, folder: str) -> None:
    place.demand_local(Path("/mnt") / folder / "ledger.db", mounts)


def test_open_and_create_look_at_the_file_system(tmp_path: Path, path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"21 1 8:1 / / rw - ext4 a rw\n22 21 0:1 / {tmp_path} rw - nfs x rw\n")
    with pytest.raises(StoreUnavailable, match="nfs"):
        create_store(path, "ledger-1", mounts=str(table))
    assert not path.exists()
    create_store(path, "ledger-1").close()
    with pytest.raises(StoreUnavailable, match="nfs"):
        open_store(path, mounts=str(table))


def test_without_a_table_of_mounts_nothing_is_refused() -> None:
    assert place.file_system(Path("/tmp"), "/nonexistent") == ""


def test_a_ledger_that_was_replaced_while_open(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    note(store, "W-1", 1)
    other = tmp_path / "other.db"
    create_store(other, "ledger-2").close()
    other.replace(path)
    for attempt in (store.read, store.write):
        with pytest.raises(StoreUnavailable, match="replaced"), attempt():
            pass
    path.unlink()
    with pytest.raises(StoreUnavailable, match="replaced"), store.write():
        pass


def test_a_store_does_not_survive_a_fork(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: mine + 1)
    with pytest.raises(StoreUnavailable, match="fork"), store.read():
        pass
