"""What SQLite's errors mean for a ledger, in one place.

A caller must know three things apart: nothing was done (``StoreUnavailable``), it cannot be known
(``OutcomeUnknown``, only ever from the commit itself), and what is stored is damaged
(``LedgerCorrupt``). Constraint errors are none of these: a trigger or a CHECK caught a bug of ours
or a foreign hand, and the transaction is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, OutcomeUnknown, RemitError, StoreUnavailable

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
    return StoreUnavailable(message, _HINTS[Code.STORE_UNAVAILABLE], {"path": path})


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
