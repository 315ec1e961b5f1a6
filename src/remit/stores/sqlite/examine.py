"""Looking a ledger's file over without using it: what ``doctor`` reports of a store.

It opens a connection of its own with the store's settings and reads them back, so that what is
reported is what a write would get. It changes nothing.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from remit.stores.sqlite import place
from remit.stores.sqlite.connect import connect, inspect
from remit.stores.sqlite.failures import named

SYNCHRONOUS = {0: "OFF", 1: "NORMAL", 2: "FULL", 3: "EXTRA"}


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found: settings, the file's mode bits, free bytes, and the file system's type."""

    journal_mode: str
    synchronous: str
    mode: int
    owner_uid: int
    free_bytes: int
    file_system: str
    writable: bool


def examine(path: Path) -> Examined:
    """Look a ledger's file over. Raises what opening it raises."""
    inspect(path)
    with named("examine", str(path)):
        connection = connect(path)
        try:
            (journal,) = next(connection.execute("PRAGMA journal_mode"))
            (synchronous,) = next(connection.execute("PRAGMA synchronous"))
        finally:
            connection.close()
    found = path.stat()
    disk = os.statvfs(path)
    return Examined(
        str(journal),
        SYNCHRONOUS.get(int(synchronous), str(synchronous)),
        stat.S_IMODE(found.st_mode),
        found.st_uid,
        disk.f_bavail * disk.f_frsize,
        place.file_system(path),
        os.access(path, os.W_OK) and os.access(path.parent, os.W_OK),
    )
