"""What SQLite's errors mean for a ledger, in one place.

A caller must know three things apart: nothing was done (``StoreUnavailable``), it cannot be known
(``OutcomeUnknown``, only ever from the commit itself), and what is stored is damaged
(``LedgerCorrupt``). Constraint errors are none of these: a trigger or a CHECK caught a bug of ours
or a foreign hand, and the transaction is rolled back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, OutcomeUnknown, RemitError, StoreUnavailable

LEAST_ROOM = 65_536
"""Bytes that must be free for SQLite to open a ledger at all: the index of its log has 32 KiB."""

_HINTS = {
    Code.STORE_FULL: "free space on the disk, then repeat; nothing was written",
    Code.LEDGER_CORRUPT: "keep the file, and restore a backup with 'remit ledger restore'",
    Code.STORE_UNAVAILABLE: "see that the file and its folder can be read and written",
    Code.UNEXPECTED: "this is a bug or a foreign hand; nothing was written",
}


def failure(operation: str, path: str, error: apsw.Error) -> RemitError:
    """The failure that an error of SQLite stands for when no commit was under way."""
    message = f"cannot {operation} {path}: {error}"
    gone = isinstance(error, apsw.SQLError) and "no such" in str(error)
    if gone or isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
        return LedgerCorrupt(message, _HINTS[Code.LEDGER_CORRUPT], {"path": path})
    if isinstance(error, apsw.FullError):
        return StoreUnavailable(
            message, _HINTS[Code.STORE_FULL], {"path": path}, code=Code.STORE_FULL
        )
    if isinstance(error, (apsw.ConstraintError, apsw.MismatchError)):
        return RemitError(message, _HINTS[Code.UNEXPECTED], {"path": path})
    return _medium(operation, path, error)


def _medium(operation: str, path: str, error: apsw.Error) -> StoreUnavailable:
    """What keeps a file from being used, as far as its file system says so itself.

    SQLite has one word for all of them, and whoever is called at night needs another.
    """
    message = f"cannot {operation} {path}: {error}"
    folder, details = Path(path).parent, {"path": path}
    try:
        found = os.statvfs(folder)
    except OSError:
        return StoreUnavailable(message, _HINTS[Code.STORE_UNAVAILABLE], details)
    if found.f_flag & os.ST_RDONLY:
        hint = "mount it writable, or copy the ledger's files to a folder that can be written"
        return StoreUnavailable(f"{message}: its file system is read-only", hint, details)
    if found.f_bavail * found.f_frsize < LEAST_ROOM:
        hint, code = _HINTS[Code.STORE_FULL], Code.STORE_FULL
        return StoreUnavailable(f"{message}: no room on its disk", hint, details, code=code)
    if not os.access(folder, os.W_OK | os.X_OK):
        message = f"{message}: this user cannot write to {folder}"
    return StoreUnavailable(message, _HINTS[Code.STORE_UNAVAILABLE], details)


def unknown(path: str, error: BaseException) -> OutcomeUnknown:
    """The failure of a commit that may be on the disk all the same."""
    return OutcomeUnknown(
        f"cannot tell whether the commit to {path} happened: {error}",
        "repeat with the same command id: it is done once, whatever became of this commit",
        {"path": path},
    )


@contextmanager
def named(operation: str, path: str) -> Iterator[None]:
    """Turn SQLite's errors within into typed failures of this operation."""
    try:
        yield
    except apsw.Error as error:
        raise failure(operation, path, error) from error
