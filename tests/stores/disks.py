"""Disks that fail or forget, as SQLite file systems of our own.

Such a file system has no shared memory, so its connection takes the database for itself; what it
writes and syncs, and when, is the same. Only the writer uses it: tests look at the result through
the machine's own file system.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from remit.stores.sqlite import connect, place
from remit.stores.sqlite import store as store_module

SECTOR = 512


class Disk(apsw.VFS):
    """Fails where ``fail`` says so, and knows what each file held at its last sync.

    ``moment``, where set, is called before and after each write and sync, with what happens.
    ``room`` is how many more writes it takes before it is full (None: it never is).
    """

    def __init__(self) -> None:
        self.real = apsw.vfs_names()[0]
        self.fail: dict[str, Exception] = {}
        self.moment: Callable[[str], None] = lambda _what: None
        self.room: int | None = None
        self.before: dict[str, dict[int, bytes]] = {}
        super().__init__("test-disk", self.real)

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802  # SQLite's name
        return _File(self, name, flags)

    def carry_over(self, folder: Path, target: Path) -> None:
        """Copy a folder as the kernel has it, with what of it is not on the disk: a killed process."""
        shutil.copytree(folder, target)
        for name in [name for name in self.before if Path(name).parent == folder]:
            self.before[str(target / Path(name).name)] = dict(self.before[name])

    def power_cut(
        self, folder: Path, target: Path, chance: random.Random, lost: float = 0.7
    ) -> None:
        """Copy a folder as a disk would hold it: of unsynced sectors this share is lost, by chance."""
        shutil.copytree(folder, target)
        for name, sectors in self.before.items():
            copy = target / Path(name).name
            if Path(name).parent == folder and copy.exists():
                with copy.open("r+b") as file:
                    for offset, old in sectors.items():
                        if chance.random() < lost:
                            file.seek(offset)
                            file.write(old.ljust(SECTOR, b"\0"))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        super().__init__(disk.real, name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        self._disk = disk
        self._sectors = disk.before.setdefault(path, {})

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  # SQLite's name
        if "write" in self._disk.fail:
            raise self._disk.fail["write"]
        if self._disk.room is not None:
            if not self._disk.room:
                raise apsw.FullError("the disk of the test is full")
            self._disk.room -= 1
        self._disk.moment("write")
        size = self.xFileSize()
        for start in range(offset - offset % SECTOR, offset + len(data), SECTOR):
            if start not in self._sectors:
                length = max(0, min(SECTOR, size - start))
                self._sectors[start] = self.xRead(length, start) if length else b""
        super().xWrite(data, offset)
        self._disk.moment("written")

    def xSync(self, flags: int) -> None:  # noqa: N802  # SQLite's name
        if "sync" in self._disk.fail:
            raise self._disk.fail["sync"]
        self._disk.moment("sync")
        super().xSync(flags)
        self._sectors.clear()
        self._disk.moment("synced")


@contextmanager
def mounted(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str] = lambda settings: settings
) -> Iterator[Disk]:
    """Writers that open a ledger meanwhile do so on a ``Disk``, with changed settings if asked."""
    disk = Disk()
    settings = change(connect._SETTINGS)

    def on_disk(path: Path, *, readonly: bool = False) -> apsw.Connection:
        if readonly:
            return connect.connect(path, readonly=True)
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE, vfs="test-disk")
        for _ in connection.execute(f"PRAGMA locking_mode = EXCLUSIVE; {settings}"):
            pass
        return connection

    def flush(path: Path) -> None:
        real_flush(path)
        disk.before.get(str(path), {}).clear()

    real_flush = place.flush
    monkeypatch.setattr(place, "flush", flush)
    monkeypatch.setattr(store_module, "connect", on_disk)
    yield disk
    monkeypatch.undo()
    disk.unregister()
