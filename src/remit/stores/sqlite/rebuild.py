"""Rows against a fresh fold of the events, byte for byte (INV-21).

The facts come from the caller, who folds events; the rows that they make are compared with the rows
that are there, table by table, in one snapshot. A row that differs, one too many and one too few are
all named. With ``swap`` the tables are emptied and written again from the facts, in the writer's
transaction, through the same constraints as any other write.
"""

from __future__ import annotations

from typing import Final

import apsw

from remit.ports import Difference
from remit.stores.sqlite.queries import q
from remit.stores.tables import TABLES, Rows, differences, expected, row_of, sorted_rows

__all__ = ["Rows", "compare", "expected", "replace"]

_ALL: Final = {table: q(f"all_{many}") for table, (many, _, _) in TABLES.items()}
_CLEAR: Final = {table: q(f"clear_{many}") for table, (many, _, _) in TABLES.items()}
_INSERT: Final = {table: q(f"insert_{one}") for table, (_, one, _) in TABLES.items()}


def compare(connection: apsw.Connection, ledger_id: str, rows: Rows) -> list[Difference]:
    """Where the stored rows are not those of the facts, at most ``LIMIT`` of them."""
    return differences(rows, lambda table: connection.execute(_ALL[table], (ledger_id,)))


def replace(connection: apsw.Connection, ledger_id: str, rows: Rows) -> None:
    """Empty the tables and write the facts' rows."""
    for statement in _CLEAR.values():
        connection.execute(statement)
    for table in TABLES:
        values = ((ledger_id, *row_of(table, key, fact)) for key, fact in sorted_rows(rows[table]))
        connection.executemany(_INSERT[table], values)
