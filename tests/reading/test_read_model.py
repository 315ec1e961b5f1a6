"""INV-25: the operator's views look over connections that cannot write, and look at bounded ranges.

The database itself refuses a write on such a connection, on both stores. Where it did not, these tests
would see it: the same statement on the writer's connection is not refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from tests.core.drained import CODE, propose, start
from tests.core.world import COMMAND
from tests.scale.watching import scans, watched
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.service.glimpsing import glimpse
from remit.service.reading.fleet import fleet
from remit.service.reading.inbox import inbox
from remit.service.reading.runs import run_list, run_show
from remit.service.running import record_proof
from remit.wiring import Ledger, create_ledger, open_ledger, url_of

TABLES = (
    "events", "blobs", "item_rows", "edge_rows", "child_rows", "link_rows", "alias_rows",
    "triage_rows", "lane_rows", "fact_rows", "store_state",
)  # fmt: skip
WRITES = (
    "DELETE FROM {}",
    "UPDATE {} SET ledger_id = 'x'",
    "INSERT INTO {} SELECT * FROM {}",
)

VIEWS: dict[str, Callable[[Any], Any]] = {
    "fleet": lambda tx: fleet(tx, 2),
    "the whole fleet": lambda tx: fleet(tx, 0),
    "inbox": lambda tx: inbox(tx, "ann", 2),
    "inbox of an agent": lambda tx: inbox(tx, "bob", 2),
    "run list": lambda tx: run_list(tx, 2),
    "run show": lambda tx: run_show(tx, "RUN-1", 2),
}


def filled(url: str) -> Ledger:
    """A ledger with something in every list."""
    ledger = create_ledger(url, "ann")
    ann = ledger.acting("ann")
    ann.run([c.EnrolActor("bob", "agent"), c.EnrolActor("cat", "agent")])
    ann.create([c.CreateItem(f"item {n}", rows=(COMMAND,)) for n in range(6)])
    ann.create(c.CreateItem("waits", rows=(COMMAND,), depends_on=(("W-1", "blocks"),)))
    ledger.acting("bob").lease([c.GrantLease(), c.GrantLease()])
    ann.triage(c.OpenTriage("W-5", "ambiguity"))
    record_proof(ann, c.RecordParityProof("1", CODE, 1, 5, "PASS"))
    ann.run([propose(), c.AcceptDecision("D-1")])
    ann.start_run(start())
    ann.choose(c.ChooseItem("RUN-1", "h1", "W-3"))
    ann.engage_kill_switch("wrong branch")
    return ledger


@pytest.fixture
def sqlite(tmp_path: Path) -> Ledger:
    return filled(url_of(tmp_path / "ledger.db"))


@pytest.fixture
def server(postgres: Server) -> Ledger:
    return filled(postgres.url(postgres.database()))


def each_write(schema: str = "") -> list[str]:
    return [w.format(schema + t, schema + t) for t in TABLES for w in WRITES]


def refused_on(run: Callable[[str], Any], error: type[Exception]) -> list[str]:
    """Statements that were refused for this reason."""
    found = []
    for statement in each_write():
        try:
            run(statement)
        except error:
            found.append(statement)
    return found


def test_sqlite_itself_refuses_a_write_of_a_view(sqlite: Ledger) -> None:
    with glimpse(sqlite.store, None) as tx:
        connection = tx._connection  # type: ignore[attr-defined]  # what the view reads over
        assert connection.readonly("main")
        assert refused_on(connection.execute, apsw.ReadOnlyError) == each_write()
        with pytest.raises(apsw.ReadOnlyError):
            connection.execute("CREATE TABLE more (a)")
    sqlite.close()


def test_sqlite_does_not_refuse_them_all_to_the_writer(sqlite: Ledger) -> None:
    """So that what refuses above is the connection and not the statement."""
    with pytest.raises(KeyError, match="take it back"), sqlite.store.write() as tx:
        connection = tx._connection  # type: ignore[attr-defined]  # the writer's own
        connection.execute("DELETE FROM lane_rows")
        raise KeyError("take it back")
    sqlite.close()


@pytest.mark.parametrize("statement", each_write("remit."))
def test_postgres_itself_refuses_a_write_of_a_view(server: Ledger, statement: str) -> None:
    with glimpse(server.store, None) as tx:
        connection = tx._connection  # type: ignore[attr-defined]  # what the view reads over
        refusals = (psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.InsufficientPrivilege)
        with pytest.raises(refusals):
            connection.execute(statement.encode())
    server.close()


def test_postgres_does_not_refuse_them_all_to_the_writer(server: Ledger) -> None:
    with pytest.raises(KeyError, match="take it back"), server.store.write() as tx:
        connection = tx._connection  # type: ignore[attr-defined]  # the writer's own
        connection.execute(b"DELETE FROM remit.lane_rows")
        raise KeyError("take it back")
    server.close()


COLUMNS = (
    "id, status, actor, reviewer, agent, decision, started_by, bounds, stopped_by, ended_at, items_chosen,"
    " items_live, items_failed, reserved_micros, settled_micros, refusals"
)


def spent(ledger: Ledger) -> None:
    """The run's one entry has cost more than was set aside, another is settled, one was refused."""
    ann = ledger.acting("ann")
    ann.release_kill_switch("it was the right branch")
    figures = c.RunFigures(spent_micros=70)
    ann.checkpoint(c.CheckpointRun("RUN-1", "h1", "W-3", "started", figures))
    ann.choose(c.ChooseItem("RUN-1", "h1", "W-4", 40))
    ann.settle(c.SettleRunItem("RUN-1", "h1", "W-3", "lost", 80))
    ann.note_refusal(c.NoteRefusal("RUN-1", "h1", "W-6", "RATE_LIMIT", "too often"))


def test_auditors_see_runs_alike_on_both_stores(sqlite: Ledger, server: Ledger) -> None:
    bounds = '{"failures":2,"items":5,"minutes_ms":600000,"parallel":2,"spend_micros":1000}'
    expected = ("RUN-1", "running", "bob", "cat", "scripted", "D-1", "ann", bounds, None, None)
    for ledger in (sqlite, server):
        spent(ledger)
    with sqlite.reading() as tx:
        rows = tx._connection.execute(f"SELECT {COLUMNS} FROM runs").fetchall()  # type: ignore[attr-defined]  # SQLite's
    with server.reading() as tx:
        found = tx._connection.execute(f"SELECT {COLUMNS} FROM remit.runs".encode()).fetchall()  # type: ignore[attr-defined]  # PostgreSQL's
    assert rows == found == [(*expected, 2, 1, 1, 40, 80, 1)]
    sqlite.close()
    server.close()


@pytest.mark.parametrize("past", [False, True])
def test_no_view_looks_through_a_table(sqlite: Ledger, past: bool) -> None:
    """Plans of every statement that a view ran, now and as of a seq."""
    path = Path(sqlite.store.path)  # type: ignore[attr-defined]  # a SQLite store has one
    sqlite.close()
    with watched() as seen:
        again = open_ledger(url_of(path))
        for name, view in VIEWS.items():
            seen.clear()
            with glimpse(again.store, 30 if past else None) as tx:
                view(tx)
            statements = list(seen.steps)
            assert statements, name
            assert scans(path, statements) == [], name
        again.close()


def test_a_scan_would_be_seen(sqlite: Ledger) -> None:
    path = Path(sqlite.store.path)  # type: ignore[attr-defined]  # a SQLite store has one
    sqlite.close()
    assert scans(path, ["SELECT id FROM item_rows WHERE unmet = ?"])


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_no_view_writes(sqlite: Ledger, name: str) -> None:
    with sqlite.reading() as tx:
        before = tx.head()
    with glimpse(sqlite.store, None) as tx:
        VIEWS[name](tx)
    with glimpse(sqlite.store, 20) as tx:
        VIEWS[name](tx)
    with sqlite.reading() as tx:
        assert tx.head() == before
    sqlite.close()


def test_a_run_that_is_not_over_is_shown_before_newer_ones_that_are(sqlite: Ledger) -> None:
    ann = sqlite.acting("ann")
    ann.release_kill_switch("it was the right branch")
    for number in (2, 3, 4):
        ann.run([propose(), c.AcceptDecision(f"D-{number}")])
        ann.start_run(start(f"D-{number}"))
        ann.stop_run(c.StopRun(f"RUN-{number}", "h1", "nothing-ready"))
    with glimpse(sqlite.store, None) as tx:
        found = fleet(tx, 2)
        assert [run["id"] for run in found["runs"]] == ["RUN-1", "RUN-4"]
        assert found["lists"]["runs"] == {"total": 4, "truncated": True}
        assert [run["id"] for run in run_list(tx, 2)["runs"]] == ["RUN-4", "RUN-3"]
        assert [run["id"] for run in run_list(tx, 2, live_only=True)["runs"]] == ["RUN-1"]
    sqlite.close()
