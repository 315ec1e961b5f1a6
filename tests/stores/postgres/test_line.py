"""What goes down the line to the server, what comes back, and how often anybody waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from tests.contract.builders import Hands, blob, item, note, put, record
from tests.stores.postgres.server import Server

from remit.core.commands import CreateItem, EnrolActor, GrantLease, ReportCompletion
from remit.core.item_events import NoteAdded
from remit.core.rows import RowKind, RowSpec
from remit.core.status import Status
from remit.ports import Change
from remit.service.engine import Done
from remit.service.operations import lease_of
from remit.stores.postgres import opening
from remit.stores.postgres.address import parse_address
from remit.stores.postgres.arrays import ARRAYS, scalar
from remit.stores.postgres.connections import connect
from remit.stores.postgres.line import Line, Session
from remit.stores.postgres.queries import Statement
from remit.stores.postgres.store import PostgresStore
from remit.wiring import create_ledger


def session_of(store: PostgresStore) -> Session:
    """The one session that a store keeps."""
    (found,) = store._connections._idle
    return found


def asked(text: str, *encoders: Any) -> Statement:
    return Statement(f"t_{abs(hash(text))}".encode(), text.encode(), encoders)


@pytest.fixture
def line(url: str, store: PostgresStore) -> Iterator[Line]:
    session = connect(parse_address(url), "test")
    yield session.line
    session.close()


COLUMNS: list[tuple[str, list[Any]]] = [
    ("text", []),
    ("text", ["a"]),
    ("text", [None]),
    ("text", ["same", "same", "same"]),
    ("text", [None, None]),
    ("text", ["", "é\U0001f600", None, "x" * 70_000]),
    ("bigint", []),
    ("bigint", [7, 7, 7]),
    ("bigint", [0, -1, None, (1 << 63) - 1, -(1 << 63)]),
    ("bytea", []),
    ("bytea", [b"\0\1"] * 4),
    ("bytea", [b"", None, b"\0" * 300]),
]


@pytest.mark.parametrize(("kind", "column"), COLUMNS, ids=lambda value: repr(value)[:30])
def test_columns_arrive_as_they_were(line: Line, kind: str, column: list[Any]) -> None:
    statement = asked(f"SELECT x FROM unnest($1::{kind}[]) AS x", ARRAYS[kind])
    for _ in range(3):  # sent as it is, then prepared, then as it was prepared
        assert line.rows(statement, (column,)) == [(value,) for value in column]


@pytest.mark.parametrize("value", ["text", None, True, False, 5, -5, b"\0"])
def test_single_values_arrive_as_they_were(line: Line, value: Any) -> None:
    kind = {str: "text", bool: "boolean", int: "bigint", bytes: "bytea"}.get(type(value), "text")
    assert line.rows(asked(f"SELECT $1::{kind}", scalar), (value,)) == [(value,)]


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_text_that_no_column_takes_is_refused_here(line: Line, value: str) -> None:
    for form, parameter in ((scalar, value), (ARRAYS["text"], [value, "x"])):
        with pytest.raises(psycopg.DataError):
            line.rows(asked("SELECT $1::text[]", form), (parameter,))
    assert line.rows(asked("SELECT 1::bigint"), ()) == [(1,)]


def test_the_first_fault_is_told_and_what_follows_is_skipped(line: Line) -> None:
    line.simple(b"BEGIN")
    for text in ("CREATE TEMP TABLE t (a int)", "SELECT 1 / 0", "INSERT INTO t VALUES (1)"):
        line.send(asked(text), ())
    with pytest.raises(psycopg.errors.DivisionByZero):
        line.settle()
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        line.rows(asked("SELECT 1"), ())
    line.simple(b"ROLLBACK")
    assert line.rows(asked("SELECT to_regclass('pg_temp.t')::text"), ()) == [(None,)]


def test_much_may_go_both_ways_at_once(line: Line) -> None:
    """Neither side waits for the other to listen first."""
    echo = asked("SELECT $1::bytea, $1::bytea", scalar)
    for _ in range(20):
        line.send(echo, (b"x" * 1_000_000,))
    assert line.settle() == [1] * 20


def test_what_was_begun_is_left_behind_cleanly(store: PostgresStore) -> None:
    before = session_of(store).info.backend_pid
    with pytest.raises(ZeroDivisionError), store.write() as tx:
        tx.append([record(tx, "W-1", 1, NoteAdded("x", ""))])
        raise ZeroDivisionError
    note(store, "W-1", 1)
    assert session_of(store).info.backend_pid == before


def test_what_was_written_is_seen_by_the_next_read_of_the_same_transaction(
    store: PostgresStore,
) -> None:
    with store.write() as tx:
        tx.append([record(tx, "W-1", 1, NoteAdded("x", ""))])
        tx.write([Change(("item", "W-1"), None, item(1, Status.READY))])
        assert [r.seq for r in tx.stream("W-1", 0, 9)] == [2]
        assert tx.names("item", "", 9) == ["W-1"]


def prepared(session: Session) -> set[str]:
    rows = session.execute("SELECT name FROM pg_prepared_statements").fetchall()
    return {row[0] for row in rows}


def test_statements_stay_prepared_whatever_is_read_in_between(store: PostgresStore) -> None:
    for version in range(1, 4):
        note(store, "W-1", version)
        with store.read() as tx:
            tx.head()
    assert {"remit_append", "remit_keep_clock"} <= prepared(session_of(store))


def test_nothing_is_prepared_or_set_behind_a_pooler(postgres: Server, wiped: str) -> None:
    opening.create_store(postgres.url(wiped), "ledger-1").close()
    store = opening.open_store(postgres.url(wiped, pgbouncer="transaction"), readings=Hands())
    with store.write() as tx:
        tx.append([record(tx, "W-1", 1, NoteAdded("x", ""))])
    note(store, "W-1", 2)
    note(store, "W-1", 3)
    session = session_of(store)
    assert prepared(session) == set()
    row = session.execute(
        "SELECT current_setting('lock_timeout'), current_setting('plan_cache_mode'),"
        " current_setting('idle_in_transaction_session_timeout'), current_user"
    ).fetchone()
    assert row == ("0", "auto", "0", "postgres")
    store.close()


def test_plans_made_while_a_ledger_is_small_do_when_it_is_not(store: PostgresStore) -> None:
    """Every index of items begins with the ledger; a plan must look for the item itself."""
    put(store, [item(1)])
    for version in range(1, 4):
        with store.write() as tx:
            (found,) = tx.load([("item", "W-1")]).values()
            tx.write([Change(("item", "W-1"), found, item(1, version=version + 1))])
    session = session_of(store)
    assert {"remit_load", "remit_update_item"} <= prepared(session)
    nulls = ", ".join(["NULL"] * 20)
    for call in ("remit_load(NULL, NULL, 'x', 'x', 'x', 'x', 'x')", f"remit_update_item({nulls})"):
        rows = session.execute(f"EXPLAIN EXECUTE {call}".encode()).fetchall()
        plan = "\n".join(row[0] for row in rows)
        assert "using item_rows_pkey on item_rows" in plan, plan
        assert "Seq Scan on item_rows" not in plan, plan


def test_how_often_a_write_waits_for_the_server(
    url: str, wiped: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begin, answers, commit; what a lease has to look up is beside that."""
    ledger = create_ledger(url, "ann")
    owner, worker = ledger.acting("ann"), ledger.acting("bob")
    assert isinstance(owner.enrol(EnrolActor("bob", "agent")), Done)
    waits: list[int] = []
    wait = Session.wait

    def counted(session: Session, *args: Any, **more: Any) -> Any:
        waits.append(1)
        return wait(session, *args, **more)

    monkeypatch.setattr(Session, "wait", counted)
    row = RowSpec(RowKind.COMMAND, argv=("true",))
    for _ in range(3):
        waits.clear()
        assert isinstance(owner.create(CreateItem("one", rows=(row,))), Done)
    assert len(waits) == 3
    lease_of(worker.lease(GrantLease()))
    waits.clear()
    lease = lease_of(worker.lease(GrantLease()))
    assert len(waits) <= 6
    waits.clear()
    report = ReportCompletion(lease.item, lease.fence, "a" * 40, "b" * 40)
    assert isinstance(worker.report_completion(report), Done)
    assert len(waits) <= 3
    ledger.close()


def test_an_older_schema_learns_to_look_once(
    postgres: Server, store: PostgresStore, url: str
) -> None:
    """A database of the step before is brought up to date when it is opened."""
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("DELETE FROM remit.migrations WHERE name LIKE 'pre/0002%'")
        raw.execute(
            "CREATE OR REPLACE FUNCTION remit.events_continue() RETURNS trigger LANGUAGE plpgsql"
            " AS 'BEGIN RETURN NULL; END'"
        )
    opening.open_store(url).close()
    with pytest.raises(psycopg.errors.CheckViolation), psycopg.connect(url) as raw:
        raw.execute(
            "INSERT INTO remit.events SELECT ledger_id, 9, stream, 9, type, actor, assurance,"
            " created_at, payload, digest FROM remit.events"
        )


def test_blobs_larger_than_a_socket_takes(store: PostgresStore) -> None:
    many = [blob(bytes([n]) * 500_000) for n in range(8)]
    with store.write() as tx:
        tx.put_blobs(many)
    with store.read() as tx:
        assert len(tx.blobs([one.digest.hex() for one in many])) == 8
