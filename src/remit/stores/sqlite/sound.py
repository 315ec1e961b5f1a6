"""Whether the database below a ledger is sound: its structure and its schema.

Events and rows can all be right while an index has lost an entry, or while a trigger that keeps
history from being changed is gone. SQLite's own check finds the first. The second is found by
comparing every statement of the schema with those that this version's migrations make, so a guard
that somebody took off, weakened or added is named (INV-20).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import apsw

from remit.ports import Difference
from remit.stores.sqlite.connect import migrate
from remit.stores.sqlite.queries import q

LIMIT: Final = 20
"""How many faults of the structure are named."""

_ROW: Final = ("CHECK constraint failed", "NULL value in", "non-")
"""What it says of the content of rows, which events and folded facts answer for."""


def unsound(connection: apsw.Connection) -> Iterator[Difference]:
    """Each fault of structure and schema; the row's table is ``database`` or ``sqlite_schema``."""
    wanted = _made()
    found = _statements(connection)
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            yield Difference(
                "sqlite_schema",
                name,
                found.get(name, "nothing of this name"),
                wanted.get(name, "nothing of this name"),
            )
    for (said,) in connection.execute(f"PRAGMA integrity_check({LIMIT})"):
        if said != "ok" and not said.startswith(_ROW):
            yield Difference("database", "integrity_check", said, "ok")


def _made() -> dict[str, str]:
    fresh = apsw.Connection(":memory:")
    try:
        migrate(fresh)
        return _statements(fresh)
    finally:
        fresh.close()


def _statements(connection: apsw.Connection) -> dict[str, str]:
    """Name -> statement, read as bytes, since what was damaged need not be text any more."""
    found = connection.execute(q("statements"))
    return {name.decode("utf-8", "replace"): sql.decode("utf-8", "replace") for name, sql in found}
