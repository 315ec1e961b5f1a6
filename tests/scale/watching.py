"""What SQLite does while the ledger is used: statements, steps of its machine, and query plans."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import apsw

from remit.stores.sqlite import store as sqlite_store
from remit.stores.sqlite.connect import connect

SMALL = ("store_state", "json_each", "constant")
"""What may be looked through from end to end: one row, a list of the caller's own."""


@dataclass
class Seen:
    """Statements that were run, each with how many steps it took in all."""

    steps: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Steps of all statements."""
        return sum(self.steps.values())

    def clear(self) -> None:
        """Begin anew."""
        self.steps.clear()

    def note(self, event: dict[str, Any]) -> None:
        """Take one finished statement."""
        sql = event["sql"]
        self.steps[sql] = self.steps.get(sql, 0) + event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"]


@contextmanager
def watched() -> Iterator[Seen]:
    """Watch every connection that a store opens in here."""
    seen = Seen()

    def opening(*arguments: Any, **more: Any) -> apsw.Connection:
        connection = connect(*arguments, **more)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, seen.note)
        return connection

    with mock.patch.object(sqlite_store, "connect", opening):
        yield seen


def scans(path: Path, statements: list[str]) -> list[str]:
    """Steps of query plans that look through a table from end to end, or sort what they found."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    found = []
    try:
        for sql in statements:
            if sql.split(None, 1)[0] not in ("SELECT", "UPDATE", "INSERT", "DELETE"):
                continue
            count = sql.count("?")
            plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * count, can_cache=False)
            for *_, step in plan:
                whole = step.startswith("SCAN") and not step.startswith(
                    tuple(f"SCAN {table}" for table in SMALL)
                )
                if whole or "TEMP B-TREE" in step:
                    found.append(f"{step}: {' '.join(sql.split())}")
    finally:
        connection.close()
    return found
