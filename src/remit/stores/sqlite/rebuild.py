"""Rows against a fresh fold of the events, byte for byte (INV-21).

The facts come from the caller, who folds events; the rows that they make are compared with the rows
that are there, table by table, in one snapshot. A row that differs, one too many and one too few are
all named. With ``swap`` the tables are emptied and written again from the facts, in the writer's
transaction, through the same constraints as any other write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import apsw

from remit.core.facts import Fact, Item, Key, Lane, Triage
from remit.ports import Difference
from remit.stores.fact_codec import encode_fact
from remit.stores.sqlite.queries import q
from remit.stores.sqlite.rows import (
    children_of,
    edges_of,
    item_columns,
    lane_columns,
    triage_columns,
    version_of,
)

LIMIT: Final = 100
"""How many differences are named."""

_TABLES: Final = {
    "item_rows": ("items", "item", 1),
    "edge_rows": ("edges", "edge", 5),
    "child_rows": ("children", "child", 2),
    "alias_rows": ("aliases", "alias", 1),
    "triage_rows": ("triage", "triage", 1),
    "lane_rows": ("lanes", "lane", 1),
    "fact_rows": ("facts", "fact", 2),
}
"""Table -> how the statements name many and one of its rows, and how many columns are its key."""

_ALL: Final = {table: q(f"all_{many}") for table, (many, _, _) in _TABLES.items()}
_CLEAR: Final = {table: q(f"clear_{many}") for table, (many, _, _) in _TABLES.items()}
_INSERT: Final = {table: q(f"insert_{one}") for table, (_, one, _) in _TABLES.items()}

Rows = dict[str, dict[tuple[Any, ...], Fact | None]]
"""Table -> key columns -> the fact whose row it is; None where the key is the whole row."""


def expected(facts: Iterable[tuple[Key, Fact]]) -> Rows:
    """Which rows facts make."""
    rows: Rows = {table: {} for table in _TABLES}
    for key, fact in facts:
        if isinstance(fact, Item):
            rows["item_rows"][(key[1],)] = fact
            rows["edge_rows"].update(dict.fromkeys(edges_of(fact)))
            rows["child_rows"].update(dict.fromkeys(children_of(fact)))
        elif isinstance(fact, Triage):
            rows["triage_rows"][(key[1],)] = fact
        elif isinstance(fact, Lane):
            rows["lane_rows"][(key[1],)] = fact
        elif key[0] == "alias":
            rows["alias_rows"][(key[1],)] = fact
        else:
            rows["fact_rows"][key] = fact
    return rows


def row_of(table: str, key: tuple[Any, ...], fact: Fact | None) -> tuple[Any, ...]:
    """A whole row, but the ledger's id."""
    if isinstance(fact, Item):
        return (*key, *item_columns(fact))
    if isinstance(fact, Triage):
        return (*key, *triage_columns(fact))
    if isinstance(fact, Lane):
        return (*key, *lane_columns(fact))
    if fact is None:
        return key
    return (*key, fact) if table == "alias_rows" else (*key, version_of(fact), encode_fact(fact))


def compare(connection: apsw.Connection, ledger_id: str, rows: Rows) -> list[Difference]:
    """Where the stored rows are not those of the facts, at most ``LIMIT`` of them."""
    return list(islice(_differences(connection, ledger_id, rows), LIMIT))


def _differences(connection: apsw.Connection, ledger_id: str, rows: Rows) -> Iterator[Difference]:
    for table in _TABLES:
        wanted, width = rows[table], _TABLES[table][2]
        met: set[tuple[Any, ...]] = set()
        for found in connection.execute(_ALL[table], (ledger_id,)):
            key = found[:width]
            name = "/".join(key)
            if key not in wanted:
                yield Difference(table, name, _text(found[width:]) or "a row", "no row")
                continue
            met.add(key)
            row = row_of(table, key, wanted[key])
            if row != found:
                yield Difference(table, name, *_apart(found[width:], row[width:]))
        for key in sorted(wanted.keys() - met):
            row = row_of(table, key, wanted[key])
            yield Difference(table, "/".join(key), "no row", _text(row[width:]) or "a row")


def _apart(found: tuple[Any, ...], expected_row: tuple[Any, ...]) -> tuple[str, str]:
    """Only the columns that differ, so that a long state does not hide a short one."""
    pairs = [(a, b) for a, b in zip(found, expected_row, strict=True) if a != b]
    return _text(tuple(a for a, _ in pairs)), _text(tuple(b for _, b in pairs))


def _text(row: tuple[Any, ...]) -> str:
    cells = (c.decode("utf-8", "replace") if isinstance(c, bytes) else str(c) for c in row)
    return ", ".join(cells)


def replace(connection: apsw.Connection, ledger_id: str, rows: Rows) -> None:
    """Empty the tables and write the facts' rows."""
    for statement in _CLEAR.values():
        connection.execute(statement)
    for table in _TABLES:
        values = ((ledger_id, *row_of(table, key, fact)) for key, fact in sorted_rows(rows[table]))
        connection.executemany(_INSERT[table], values)


def sorted_rows(
    rows: dict[tuple[Any, ...], Fact | None],
) -> list[tuple[tuple[Any, ...], Fact | None]]:
    """Rows in the order of their keys, so that each tree is filled from one end."""
    return sorted(rows.items(), key=lambda row: row[0])
