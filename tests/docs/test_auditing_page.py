"""The page for auditors names every column of every view, and its questions are ones that can be asked."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import psycopg
import pytest
from tests.stores.postgres.server import Server

from remit.stores.sqlite import connect

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operating" / "auditing.md").read_text("utf-8")
VIEWS = ("effects", "holds", "items", "leases", "runs", "triage")


def made() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connect.migrate(connection)
    return connection


def test_the_views_are_those_of_the_schema() -> None:
    found = made().execute("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name")
    assert tuple(name for (name,) in found) == VIEWS


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_is_on_the_page_and_no_other(view: str, postgres: Server, wiped: str) -> None:
    section = PAGE.split(f"\n## {view}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]
    columns = [row[1] for row in made().execute(f"PRAGMA table_info({view})")]
    assert sorted(named) == sorted(columns)
    with psycopg.connect(postgres.url(wiped)) as server:
        read = server.execute(f"SELECT * FROM remit.{view}".encode())
        assert [column.name for column in read.description or ()] == columns


def test_each_question_can_be_asked_of_both(postgres: Server, wiped: str) -> None:
    questions = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    assert len(questions) == 3
    for question in questions:
        assert list(made().execute(question)) == []
        with psycopg.connect(postgres.url(wiped)) as server:
            server.execute("SET search_path = remit")
            assert server.execute(question.encode()).fetchall() == []
