"""Plans of hot queries: an index for each, no scan of a table that grows, no sorting."""

from __future__ import annotations

import re

import apsw
import pytest

from remit.stores.sqlite.connect import migrate
from remit.stores.sqlite.queries import QUERIES, parse

WHOLE = re.compile(r"(all|clear)_")
"""Statements whose job is the whole table."""

HOT = [n for n in QUERIES if re.match(r"(INSERT|UPDATE|DELETE)\b", QUERIES[n]) and n != "put_blob"]
"""Statements that write; that of a blob reads the table that it writes, and few are put."""

SCAN = re.compile(r"^SCAN (item_rows|events|edge_rows|fact_rows|child_rows|link_rows|lane_rows|triage_rows"
                  r"|alias_rows|blobs|i|b)\b")  # fmt: skip
SORT = "USE TEMP B-TREE"


@pytest.fixture(scope="module")
def database() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    migrate(connection)
    return connection


def plan(connection: apsw.Connection, statement: str) -> list[str]:
    numbered = {int(n) for n in re.findall(r"\?(\d)", statement)}
    wanted = max(numbered) if numbered else statement.count("?")
    rows = connection.execute(f"EXPLAIN QUERY PLAN {statement}", (None,) * wanted)
    return [str(row[3]) for row in rows]


def made(connection: apsw.Connection, statement: str) -> list[str]:
    """The steps of a statement that make a table for this run alone."""
    numbered = {int(n) for n in re.findall(r"\?(\d)", statement)}
    values = (None,) * (max(numbered) if numbered else statement.count("?"))
    steps = [str(row[1]) for row in connection.execute(f"EXPLAIN {statement}", values)]
    return [step for step in steps if step in ("OpenEphemeral", "OpenAutoindex", "SorterOpen")]


def faults(steps: list[str]) -> list[str]:
    return [step for step in steps if SCAN.match(step) or SORT in step]


@pytest.mark.parametrize("name", sorted(n for n in QUERIES if not WHOLE.match(n)))
def test_no_query_scans_or_sorts(database: apsw.Connection, name: str) -> None:
    assert faults(plan(database, QUERIES[name])) == []


@pytest.mark.parametrize("name", sorted(n for n in QUERIES if n.startswith("all_")))
def test_whole_tables_are_read_in_key_order(database: apsw.Connection, name: str) -> None:
    assert not any(SORT in step for step in plan(database, QUERIES[name]))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM item_rows WHERE unmet = ?",
        "SELECT seq FROM events WHERE actor = ?",
        "SELECT id FROM item_rows WHERE ledger_id = ? AND status = 'ready' ORDER BY version",
    ],
)
def test_a_query_without_an_index_is_seen(database: apsw.Connection, statement: str) -> None:
    assert faults(plan(database, statement))


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("ready", "item_rows_ready"),
        ("due", "item_rows_due"),
        ("leased_before", "item_rows_by_fence"),
        ("gated", "item_rows_gated"),
        ("held_forward", "item_rows_held"),
        ("held", "item_rows_waiting"),
        ("waking", "item_rows_waking"),
        ("next_wake", "item_rows_waking"),
        ("followers", "item_rows_following"),
        ("status_forward", "item_rows_by_status"),
        ("status_backward", "item_rows_by_status"),
        ("leased", "item_rows_by_fence"),
        ("lanes", "lane_rows_in_turn"),
        ("triage_open", "triage_rows_open"),
        ("command", "events_by_command"),
        ("unmet_of", "edge_rows_by_dependent"),
    ],
)
def test_partial_indexes_are_used(database: apsw.Connection, name: str, index: str) -> None:
    assert any(index in step for step in plan(database, QUERIES[name]))


@pytest.mark.parametrize("name", sorted(HOT))
def test_no_write_makes_a_table_of_its_own(database: apsw.Connection, name: str) -> None:
    """SQLite makes one for each row, where a constraint or a trigger names a list of three or more."""
    assert made(database, QUERIES[name]) == []


def test_a_table_that_a_write_makes_is_seen() -> None:
    other = apsw.Connection(":memory:")
    other.execute(
        "CREATE TABLE t (a TEXT CHECK (a IN ('x', 'y', 'z')), b TEXT CHECK (b IN ('x', 'y')))"
    )
    assert made(other, "INSERT INTO t VALUES (?, ?)") == ["OpenEphemeral"]


def test_blocks_are_found_by_name() -> None:
    text = "-- essay with `-- name: …` in it\n\n-- name: one\n-- why\nSELECT 1;\n\n-- name: two\nSELECT\n 2;\n"
    assert parse(text) == {"one": "SELECT 1", "two": "SELECT\n 2"}
    for wrong in ("\n-- name: one\n-- why\n", "\n-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;\n"):
        with pytest.raises(AssertionError, match=r"queries\.sql"):
            parse(wrong)
