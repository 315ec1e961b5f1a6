"""A store looks at its files where their names may mean others, and only there.

The folder's times say where that is. They are made to look old by a clock that is ahead, since nobody
can set the time at which an inode changed.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.contract.builders import note

from remit.ports import StoreUnavailable
from remit.stores.sqlite.folder import SETTLED_NS, Folder
from remit.stores.sqlite.store import SqliteStore, open_store


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever changed until now changed long ago."""
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 2 * SETTLED_NS)


@pytest.fixture
def settled(store: SqliteStore, later: None) -> SqliteStore:
    """A store that has looked at its folder and believes it."""
    note(store, "W-1", 1)
    note(store, "W-1", 2)
    assert not store._folder.changed(), "the times of the folder are believed"
    tick(store.path.parent)
    return store


def tick(path: Path) -> None:
    """Wait until a change of this folder has to get another time."""
    before = path.stat().st_mtime_ns
    other = path.parent / "tick"
    while True:
        other.write_bytes(b"")
        if other.stat().st_mtime_ns > before:
            other.unlink()
            return
        other.unlink()


def without(store: SqliteStore) -> None:
    """Another copy of SQLite closes the file, and takes the log away."""
    with closing(sqlite3.connect(store.path)) as raw:
        assert raw.execute("SELECT count(*) FROM events").fetchone()[0] >= 1
    assert not Path(f"{store.path}-wal").exists(), "else there is nothing to see here"


def replaced(store: SqliteStore) -> None:
    """The log is there, and is another file."""
    log = Path(f"{store.path}-wal")
    without(store)
    log.write_bytes(b"")


@pytest.mark.parametrize("lose", [without, replaced])
def test_inv_22_a_log_that_went_from_a_settled_folder_is_left(
    settled: SqliteStore, lose: Callable[[SqliteStore], None]
) -> None:
    lose(settled)
    written = note(settled, "W-1", 3)
    with closing(open_store(settled.path)) as other, other.read() as tx:
        assert tx.head().seq == written.seq, "what was acknowledged is there for everybody"


@pytest.mark.parametrize("way", ["replaced", "removed", "folder replaced"])
def test_a_ledger_that_went_from_a_settled_folder_is_not_written(
    settled: SqliteStore, way: str
) -> None:
    path = settled.path
    if way == "replaced":
        copy = path.with_name("copy.db")
        copy.write_bytes(path.read_bytes())
        copy.replace(path)
    elif way == "removed":
        path.unlink()
    else:
        other = path.parent.with_name("other")
        shutil.copytree(path.parent, other)
        path.parent.rename(path.parent.with_name("elsewhere"))
        other.rename(path.parent)
    with pytest.raises(StoreUnavailable, match="moved or replaced"):
        note(settled, "W-1", 3)


def test_writing_asks_no_settled_log_for_its_times(
    settled: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each such question makes the next commit write an inode more."""
    real, asked = os.stat, list[str]()

    def stat(path: str, *rest: object, **more: object) -> os.stat_result:
        asked.append(os.fspath(path))
        return real(path, *rest, **more)  # type: ignore[arg-type]  # handed on as it came

    monkeypatch.setattr(os, "stat", stat)
    note(settled, "W-1", 3)
    assert str(settled.path.parent) in asked
    assert f"{settled.path}-wal" not in asked
    assert str(settled.path) not in asked


def test_a_folder_that_changed_just_now_is_not_believed(tmp_path: Path) -> None:
    """Two changes within a grain of time look like one."""
    (tmp_path / "file").write_bytes(b"")
    at = Folder(tmp_path)
    assert at.changed()
    at.looked()
    assert at.changed()


def test_a_folder_is_believed_as_it_was_before_the_look(tmp_path: Path, later: None) -> None:
    at = Folder(tmp_path)
    assert at.changed()
    tick(tmp_path)
    (tmp_path / "file").write_bytes(b"")
    at.looked()
    assert at.changed(), "what came in between was not looked at"
    at.looked()
    assert not at.changed()
    (tmp_path / "file").write_bytes(b"more")
    assert not at.changed(), "writing to a file is no change of names"
    tick(tmp_path)
    (tmp_path / "file").unlink()
    assert at.changed()


def test_a_folder_that_is_gone_is_not_believed(tmp_path: Path, later: None) -> None:
    there = tmp_path / "there"
    there.mkdir()
    at = Folder(there)
    assert at.changed()
    at.looked()
    there.rmdir()
    with pytest.raises(FileNotFoundError):
        at.changed()
    at.looked()
    there.mkdir()
    assert at.changed()
