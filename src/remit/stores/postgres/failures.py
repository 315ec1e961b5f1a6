"""What PostgreSQL's errors mean for a ledger, in one place.

A caller must know three things apart: nothing was done (``StoreUnavailable``), it cannot be known
(``OutcomeUnknown``, only ever from the commit itself), and what is stored is damaged
(``LedgerCorrupt``). The server's SQLSTATE decides; where there is none the connection was never made
or is gone. Messages are one line, name the ledger by its shown URL, and hold no password.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import psycopg
from psycopg import errors

from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, OutcomeUnknown, RemitError, StoreUnavailable
from remit.stores.postgres.address import Address

_HINTS: Final[Mapping[Code, str]] = {
    Code.STORE_FULL: "free space on the server's disk, then repeat; nothing was written",
    Code.LEDGER_CORRUPT: "keep the database, and restore a backup",
    Code.STORE_UNAVAILABLE: "see that the server runs and can be reached, then repeat;"
    " nothing was written",
    Code.STORE_REFUSED: "see docs/operating/postgresql.md for roles and logins",
    Code.LEDGER_MISSING: "make the database with createdb and the ledger with 'remit init'",
    Code.BAD_INPUT: "take NUL characters and lone surrogates out; nothing was written",
    Code.UNEXPECTED: "this is a bug or a foreign hand; nothing was written",
}

_STATES: Final[tuple[tuple[str, Code], ...]] = (
    ("53100", Code.STORE_FULL),  # disk full
    ("28", Code.STORE_REFUSED),  # who are you
    ("42501", Code.STORE_REFUSED),  # not allowed
    ("3D000", Code.LEDGER_MISSING),  # no such database
    ("XX", Code.LEDGER_CORRUPT),  # damaged pages and indexes
    ("42P01", Code.LEDGER_CORRUPT),  # a table is gone
    ("42703", Code.LEDGER_CORRUPT),  # a column is gone
    ("42883", Code.LEDGER_CORRUPT),  # a function is gone
    ("3F000", Code.LEDGER_CORRUPT),  # the schema is gone
    ("22", Code.BAD_INPUT),  # a value that no column takes
    ("23", Code.UNEXPECTED),  # a constraint or a trigger said no
    ("42", Code.UNEXPECTED),
)
"""What a SQLSTATE begins with -> what it means; anything else is a store that is away."""

_SPOKEN: Final = (
    ("password", Code.STORE_REFUSED),
    ("authentication", Code.STORE_REFUSED),
    ("pg_hba", Code.STORE_REFUSED),
    ("certificate", Code.STORE_REFUSED),
    ('role "', Code.STORE_REFUSED),
    ("does not exist", Code.LEDGER_MISSING),
)
"""A login that fails has no SQLSTATE in libpq, only words; without a known word it is just away."""


def code_of(error: psycopg.Error) -> Code:
    """What an error means when no commit was under way."""
    state = error.sqlstate
    if state is not None:
        return next((code for start, code in _STATES if state.startswith(start)),
                    Code.STORE_UNAVAILABLE)  # fmt: skip
    if isinstance(error, psycopg.DataError):
        return Code.BAD_INPUT
    text = str(error)
    if "FATAL:" in text:
        fatal = text.partition("FATAL:")[2]
        return next((code for word, code in _SPOKEN if word in fatal), Code.STORE_UNAVAILABLE)
    return Code.STORE_UNAVAILABLE


def failure(operation: str, address: Address, error: psycopg.Error) -> RemitError:
    """The failure that an error of PostgreSQL stands for when no commit was under way."""
    code = code_of(error)
    found = error.diag.message_primary or str(error) or type(error).__name__
    message = f"cannot {operation} {address.shown}: {address.scrub(found)}"
    details = {"url": address.shown, "sqlstate": error.sqlstate or ""}
    hint = _HINTS[code]
    if isinstance(error, errors.ReadOnlySqlTransaction):
        hint = (
            "where this server is a standby, name the primary or add target_session_attrs=read-write;"
            " otherwise see default_transaction_read_only of login and database"
        )
    elif isinstance(error, errors.QueryCanceled):
        hint = (
            "nothing was written; where it was a timeout, give login or database a longer one"
            " (statement_timeout), else see who cancels"
        )
    elif isinstance(error, (errors.CheckViolation, errors.UniqueViolation)):
        details |= {"constraint": error.diag.constraint_name or ""}
    if code is Code.LEDGER_CORRUPT:
        return LedgerCorrupt(message, hint, details)
    if code in (Code.UNEXPECTED, Code.BAD_INPUT, Code.LEDGER_MISSING):
        return RemitError(message, hint, details, code=code)
    return StoreUnavailable(message, hint, details, code=code)


def is_certain(error: psycopg.Error) -> bool:
    """Whether the server itself said that a commit did not happen: an ERROR, not a lost line.

    A FATAL comes from a server that ends the session, perhaps after the commit was written.
    """
    return error.sqlstate is not None and error.diag.severity_nonlocalized == "ERROR"


def unknown(address: Address, error: psycopg.Error) -> OutcomeUnknown:
    """The failure of a commit that may have happened all the same."""
    return OutcomeUnknown(
        f"cannot tell whether the commit to {address.shown} happened: {address.scrub(error)}",
        "repeat with the same command id: it is done once, whatever became of this commit",
        {"url": address.shown},
    )
