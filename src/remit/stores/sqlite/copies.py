"""Copies of a ledger: backup and restore.

A backup is one consistent snapshot in one file, made while others write, read back and checked before
it gets its name. It is marked: whoever opens it, under whatever name, can read it but not write,
until it is adopted. Two copies of one ledger can therefore never both go on in the same epoch
unnoticed, however they came to be used. A restore is a checked copy of a backup under a free name.

Neither ever replaces a file, and a copy that was not finished leaves nothing behind.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import apsw

from remit.ports import LedgerCorrupt
from remit.stores.clock import Readings
from remit.stores.sqlite import place
from remit.stores.sqlite.connect import connect, inspect, sweep
from remit.stores.sqlite.failures import named
from remit.stores.sqlite.queries import q
from remit.stores.sqlite.store import MOUNTS, SqliteStore, open_store


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds: its newest event, and that event's digest (hexadecimal, empty for none)."""

    path: Path
    ledger_id: str
    seq: int
    digest: str


def backup(store: SqliteStore, target: Path | str) -> Copied:
    """Copy a ledger as of now into a new file, while it is in use.

    Raises ``LEDGER_EXISTS`` where the name is taken, ``STORE_FULL`` or ``STORE_UNAVAILABLE`` where
    the copy cannot be written, and ``LedgerCorrupt`` where what was copied does not pass SQLite's
    own check.
    """
    return _copy(store.path, Path(target).absolute(), "back up to")


def restore(
    source: Path | str,
    target: Path | str,
    *,
    readings: Readings | None = None,
    mounts: str = MOUNTS,
) -> SqliteStore:
    """Copy a backup to a free name, and open it; it takes no writes until it is adopted.

    Raises as ``backup`` does, and as ``open_store`` where the source is not a ledger or the place
    will not do.
    """
    source, target = Path(source).absolute(), Path(target).absolute()
    inspect(source)
    place.demand_local(target.parent, mounts)
    _copy(source, target, "restore to")
    return open_store(target, readings=readings, mounts=mounts)


def _copy(source: Path, target: Path, operation: str) -> Copied:
    place.demand_free(target, operation)
    temporary = Path(f"{target}.new.{os.getpid()}")
    try:
        with named(operation, str(target)):
            reader = connect(source, readonly=True)
            try:
                writer = connect(temporary, create=True)
                try:
                    _transfer(reader, writer)
                    copied = _marked(writer, target)
                finally:
                    writer.close()
            finally:
                reader.close()
        place.publish(temporary, target, operation)
    finally:
        sweep(temporary)
    return copied


def _transfer(reader: apsw.Connection, writer: apsw.Connection) -> None:
    """All pages of one snapshot, in one step, so that no writer's commit starts it anew."""
    with writer.backup("main", reader, "main") as copying:
        while not copying.done:
            copying.step(-1)


def _marked(writer: apsw.Connection, target: Path) -> Copied:
    """Check a fresh copy, and mark it as one that has to be adopted."""
    problems = [row[0] for row in writer.execute("PRAGMA integrity_check(5)") if row[0] != "ok"]
    state = next(iter(writer.execute(q("state"))), None)
    if problems or state is None:
        raise LedgerCorrupt(
            f"cannot copy to {target}: found {'; '.join(problems) or 'no ledger'}",
            "run 'remit ledger verify' on the ledger that was copied",
            {"path": str(target), "problems": problems},
        )
    writer.execute(q("mark_copied"), (state[0],))
    last = next(iter(writer.execute(q("last_digest"))), None)
    writer.execute("PRAGMA journal_mode = DELETE")
    return Copied(target, state[0], state[7], "" if last is None else last[0].hex())
