"""Migrations add up to schema.sql, and views show what auditors ask for."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest
from tests.contract.builders import blob, item, put, triage

from remit.core.facts import DependencyKind, EdgeState, Ledger, Policy
from remit.core.status import Status
from remit.stores.sqlite import connect
from remit.stores.sqlite.store import SqliteStore

SCHEMA = Path(connect.__file__).with_name("schema.sql").read_text("utf-8")


def objects(connection: apsw.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema")
    return {name: re.sub(r"\s+", " ", sql) for name, sql in rows}


def test_the_schema_is_the_sum_of_the_migrations() -> None:
    today, summed = apsw.Connection(":memory:"), apsw.Connection(":memory:")
    today.execute(SCHEMA)
    connect.migrate(summed)
    assert objects(today) == objects(summed)
    assert next(summed.execute("PRAGMA user_version"))[0] == connect.SCHEMA_VERSION
    summed.execute("CREATE TABLE extra (a)")
    assert objects(today) != objects(summed)


def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = [int(file.name[:4]) for file in connect.MIGRATIONS]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_migration_runs_once(path: Path, store: SqliteStore) -> None:
    connection = connect.connect(path)
    before = objects(connection)
    connect.migrate(connection)
    assert objects(connection) == before
    connection.close()


def test_an_older_ledger_is_migrated_when_it_is_opened(
    path: Path, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.stores.sqlite.store import open_store

    store.close()
    step = tmp_path / f"{connect.SCHEMA_VERSION + 1:04}_more.sql"
    step.write_text("CREATE TABLE more (a TEXT) STRICT;")
    monkeypatch.setattr(connect, "MIGRATIONS", (*connect.MIGRATIONS, step))
    monkeypatch.setattr(connect, "SCHEMA_VERSION", connect.SCHEMA_VERSION + 1)
    open_store(path).close()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchone()[0] == connect.SCHEMA_VERSION
        assert raw.execute("SELECT count(*) FROM more").fetchone()[0] == 0


def test_rows_of_the_first_schema_are_brought_up_to_date(tmp_path: Path) -> None:
    """A held item and the ledger as they were encoded then are what today's facts encode to.

    There are no events here, so nothing is folded. With events the whole row is today's: test_upgrading.
    """
    from remit.stores.fact_codec import encode_fact

    connection = apsw.Connection(str(tmp_path / "old.db"))
    connection.execute(connect.MIGRATIONS[0].read_text("utf-8"))
    held = item(1, Status.HELD, title='a "hold":{ of é')
    now = encode_fact(held)
    then = now.replace(b'"at":0,"identity":"",', b"").replace(b'"rank":0,"reason"', b'"reason"')
    then = then.replace(b'"lapses_at":0,', b"")
    assert then != now
    connection.execute(
        "INSERT INTO item_rows (ledger_id, id, number, status, lane, rank, gate, hold_reason, unmet,"
        " version, state) VALUES ('l', 'W-1', 1, 'held', 'a|b', 0, '', 'WAITING', 0, 1, ?)",
        (then,),
    )
    ledger = encode_fact(Ledger(1, '"unsettled": é', 0, False, Policy(), ()))
    ledger = ledger.replace(b'"served":false,', b"")  # no step mends it: it comes with the fold
    connection.execute(
        "INSERT INTO fact_rows VALUES ('l', 'ledger', 'ledger', 1, ?)",
        (ledger.replace(b'"rechecks":[],', b""),),
    )
    for step in connect.MIGRATIONS[1:]:
        connection.execute(step.read_text("utf-8"))
    assert list(connection.execute("SELECT state, hold_trigger, hold_rank FROM item_rows")) == [
        (now, "time", 0)
    ]
    assert list(connection.execute("SELECT body FROM fact_rows")) == [(ledger,)]


ALLOWED = {
    "status": [str(status) for status in Status],
    "assurance": ["asserted", "token", "signature", "signature+presence"],
    "kind": [str(kind) for kind in DependencyKind],
    "state": [str(state) for state in EdgeState],
}
COLUMN = {
    "status": "INSERT INTO item_rows (ledger_id, id, number, status, lane, rank, gate, hold_reason,"
    " lease_fence, lease_expires_at, lease_actor, unmet, version, state)"
    " SELECT 'l', 'W-1', 1, ?1, 'a|b', 0, '', 'WAITING', iif(?1 = 'leased', 1, NULL),"
    " iif(?1 = 'leased', 1, NULL), iif(?1 = 'leased', 'a', NULL), 0, 1, x''",
    "assurance": "INSERT INTO events VALUES ('l', 1, 's', 1, 't', 'a', ?1, 0, x'', zeroblob(32),"
    " NULL, NULL, NULL, NULL)",
    "kind": "INSERT INTO edge_rows VALUES ('l', 'W-1', ?1, 'met', 'W-2', 'W-1')",
    "state": "INSERT INTO edge_rows VALUES ('l', 'W-1', 'blocks', ?1, 'W-2', 'W-1')",
}


@pytest.mark.parametrize("column", sorted(COLUMN))
@pytest.mark.parametrize("version", [7, connect.SCHEMA_VERSION])
def test_columns_hold_the_same_values_before_and_after_the_eighth_step(
    version: int, column: str
) -> None:
    connection = apsw.Connection(":memory:")
    for step in connect.MIGRATIONS[:version]:
        connection.execute(step.read_text("utf-8"))
    connection.execute("INSERT INTO store_state VALUES ('l', 0, 0, '', 0, 0, 0)")
    taken = []
    for value in (*ALLOWED[column], "", "ASSERTED", "leased ", "blocks|", "other", None):
        connection.execute("BEGIN")
        with suppress(apsw.ConstraintError):
            connection.execute(COLUMN[column], (value,))
            taken.append(value)
        connection.execute("ROLLBACK")
    assert taken == ALLOWED[column]
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize("version", [7, connect.SCHEMA_VERSION])
def test_facts_of_kinds_with_a_table_of_their_own_are_refused_in_the_common_one(
    version: int,
) -> None:
    connection = apsw.Connection(":memory:")
    for step in connect.MIGRATIONS[:version]:
        connection.execute(step.read_text("utf-8"))
    for kind in ("", "item", "alias", "triage", "lane"):
        with pytest.raises(apsw.ConstraintError):
            connection.execute("INSERT INTO fact_rows VALUES ('l', ?, 'x', 0, x'')", (kind,))
    for kind in ("row", "items", "Lane"):
        connection.execute("INSERT INTO fact_rows VALUES ('l', ?, 'x', 0, x'')", (kind,))


@pytest.mark.parametrize("status", [Status.READY, Status.LEASED, Status.APPROVED])
def test_lifetimes_are_read_from_the_messages_that_were_stored(status: Status) -> None:
    """What a migration makes of rows is what today's fold makes of their events."""
    from tests.core.effects import envelope

    from remit.core.change import changed
    from remit.core.effect_facts import Intent
    from remit.stores.fact_codec import encode_fact
    from remit.stores.tables import item_columns, wake_of

    connection = apsw.Connection(":memory:")
    for step in connect.MIGRATIONS[:3]:
        connection.execute(step.read_text("utf-8"))
    said = envelope(1, deadline=9_000_000, minimum_completion_margin_ms=2_000)
    kept = Intent(
        "W-1", "RECEIPT-1", "d", "", said, 1, 0, False, "", "", "", "", "", 0, "", 0, 0, ""
    )
    connection.execute(
        "INSERT INTO fact_rows VALUES ('l', 'intent', 'W-1', 0, ?)", (encode_fact(kept),)
    )
    first, second = item(1, status, title='of a ,"lease":null'), item(2, status)
    first = changed(first, lapses_at=7_000_000)
    for now in (first, second):
        then = encode_fact(now).replace(f'"lapses_at":{now.lapses_at},'.encode(), b"")
        columns = [*item_columns(now)]
        columns[-1], columns[7] = then, None
        connection.execute(
            "INSERT INTO item_rows (ledger_id, id, number, status, lane, rank, gate, hold_reason,"
            " hold_trigger, hold_at, hold_rank, follows, lease_fence, lease_expires_at, lease_actor,"
            " text_digest, unmet, version, state) VALUES ('l', ?" + ", ?" * 17 + ")",
            (now.id, *columns),
        )
    connection.execute(connect.MIGRATIONS[3].read_text("utf-8"))
    found = list(connection.execute("SELECT state, hold_at FROM item_rows ORDER BY number"))
    assert found == [(encode_fact(now), wake_of(now)) for now in (first, second)]


def test_views_have_plain_names_and_readable_columns(
    store: SqliteStore, raw: sqlite3.Connection
) -> None:
    raw.row_factory = sqlite3.Row
    text = blob(b"Imported title\nbody")
    with store.write() as tx:
        tx.put_blobs([text])
    put(
        store,
        [
            item(1, Status.LEASED),
            item(2, Status.HELD),
            item(3, title="", text=text.digest.hex()),
        ],
    )
    put(store, {("triage", "TR-1"): triage(1, open_=True, seq=1)})

    def rows(view: str) -> list[dict[str, object]]:
        return [dict(row) for row in raw.execute(f"SELECT * FROM {view}")]

    items = {row["id"]: row for row in rows("items")}
    assert [items[i]["title"] for i in ("W-1", "W-3")] == ["title 1", "Imported title"]
    assert items["W-2"]["status"] == "held"
    assert items["W-1"]["priority"] == 2
    (lease,) = rows("leases")
    assert (lease["id"], lease["item"], lease["actor"], lease["fence"]) == (
        "L-1.1",
        "W-1",
        "bob",
        1,
    )
    (hold,) = rows("holds")
    assert (hold["item"], hold["reason"], hold["owner"]) == ("W-2", "WAITING", "admission")
    (record,) = rows("triage")
    assert (record["id"], record["open"], record["kind"]) == ("TR-1", 1, "ambiguity")
    assert rows("effects") == [] == rows("runs")
    columns = [c[1] for c in raw.execute("PRAGMA table_info(events)")]
    assert columns == [
        "ledger_id", "seq", "stream", "stream_version", "type", "actor", "assurance", "created_at",
        "payload", "digest", "command_id", "command_digest", "trace_context", "conversation_ref",
    ]  # fmt: skip


def test_settings_that_durability_rests_on(store: SqliteStore) -> None:
    connection = connect.connect(store.path)
    wanted = {
        "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0,
        "cell_size_check": 1, "mmap_size": 0, "application_id": connect.APPLICATION_ID,
        "page_size": connect.PAGE_SIZE, "user_version": connect.SCHEMA_VERSION,
    }  # fmt: skip
    found = {name: next(iter(connection.execute(f"PRAGMA {name}")), (0,))[0] for name in wanted}
    connection.close()
    assert found == wanted
