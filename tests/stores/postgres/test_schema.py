"""Migrations add up to schema.sql, views have plain names, and hot queries use their indexes."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import psycopg
import pytest
from tests.contract.builders import blob, item, put, triage
from tests.core.effects import envelope
from tests.stores.postgres.server import Server

from remit.core.change import changed
from remit.core.effect_facts import Intent
from remit.core.refusals import Code
from remit.core.status import Status
from remit.ports import RemitError
from remit.stores.fact_codec import encode_fact
from remit.stores.postgres import opening, schema
from remit.stores.postgres.queries import BOOTSTRAP, HERE, QUERIES
from remit.stores.postgres.store import PostgresStore
from remit.stores.tables import item_columns, wake_of

CATALOGS = """
SELECT 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text,
       coalesce(pg_get_expr(d.adbin, d.adrelid), ''), coalesce(co.collname, '')
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
  LEFT JOIN pg_collation co ON co.oid = a.attcollation
 WHERE c.relnamespace = 'remit'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT 'relation', relname, relkind::text, coalesce(reloptions::text, ''), relowner::regrole::text,
       coalesce(relacl::text, ''), '' FROM pg_class WHERE relnamespace = 'remit'::regnamespace
UNION ALL
SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '', ''
  FROM pg_constraint WHERE connamespace = 'remit'::regnamespace
UNION ALL
SELECT 'index', tablename::text, indexname::text, indexdef, '', '', '' FROM pg_indexes
 WHERE schemaname = 'remit'
UNION ALL
SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), tgenabled::text, '', ''
  FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT 'function', proname, pg_get_functiondef(oid), '', '', '', '' FROM pg_proc
 WHERE pronamespace = 'remit'::regnamespace
UNION ALL
SELECT 'view', viewname::text, definition, '', '', '', '' FROM pg_views WHERE schemaname = 'remit'
UNION ALL
SELECT 'columns', attrelid::regclass::text, attname, coalesce(attacl::text, ''), '', '', ''
  FROM pg_attribute WHERE attacl IS NOT NULL AND attrelid::regclass::text LIKE 'remit.%'
"""


def catalog(url: str) -> set[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        return set(connection.execute(CATALOGS).fetchall())


def test_the_schema_is_the_sum_of_the_migrations(postgres: Server, database: str) -> None:
    other = postgres.database(empty=True)
    with psycopg.connect(postgres.url(other), autocommit=True) as connection:
        connection.execute(BOOTSTRAP.encode())
        connection.execute("SET ROLE remit_owner")
        connection.execute((HERE / "schema.sql").read_bytes())
        today = catalog(postgres.url(other))
        assert len(today) > 150
        assert today == catalog(postgres.url(database))
        connection.execute("ALTER TABLE remit.events ALTER payload DROP NOT NULL")
        assert today != catalog(postgres.url(other))
    postgres.drop(other)


def test_migrations_are_numbered_without_a_gap() -> None:
    numbers = sorted(int(step.name[:4]) for step in (*schema.PRE, *schema.POST))
    assert numbers == list(range(1, len(numbers) + 1))


def test_pre_steps_run_at_opening_and_post_steps_when_asked(
    postgres: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url(database)
    opening.create_store(url, "ledger-1").close()
    for phase in ("pre", "post"):
        (tmp_path / phase).mkdir()
    wider, narrower = tmp_path / "pre" / "0003_more.sql", tmp_path / "post" / "0004_less.sql"
    wider.write_text("CREATE TABLE remit.more (a text);")
    narrower.write_text("DROP TABLE remit.more;")
    monkeypatch.setattr(schema, "PRE", (*schema.PRE, wider))
    monkeypatch.setattr(schema, "POST", (narrower,))
    found = "SELECT to_regclass('remit.more') IS NOT NULL"
    with psycopg.connect(url, autocommit=True) as raw:
        opening.open_store(url).close()
        assert raw.execute(found).fetchone() == (True,)
        assert opening.finish_migrations(url) == ["post/0004_less"]
        assert raw.execute(found).fetchone() == (False,)
        assert opening.finish_migrations(url) == []
    shutil.rmtree(tmp_path)


def test_a_newer_schema_is_refused(store: PostgresStore, url: str) -> None:
    with psycopg.connect(url) as raw:
        raw.execute("INSERT INTO remit.migrations VALUES ('pre/9999_future')")
    with pytest.raises(RemitError, match="9999_future") as caught:
        opening.open_store(url)
    assert caught.value.code is Code.LEDGER_TOO_NEW
    with psycopg.connect(url) as raw:
        raw.execute("DELETE FROM remit.migrations WHERE name = 'pre/9999_future'")


def test_views_have_plain_names_and_readable_columns(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    text = blob(b"Imported title\nbody")
    with store.write() as tx:
        tx.put_blobs([text])
    put(
        store,
        [item(1, Status.LEASED), item(2, Status.HELD), item(3, title="", text=text.digest.hex())],
    )
    put(store, {("triage", "TR-1"): triage(1, open_=True, seq=1)})

    def rows(view: str) -> list[dict[str, object]]:
        cursor = raw.execute(f"SELECT * FROM remit.{view}".encode())
        assert cursor.description is not None
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

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
    assert list(rows("events")[0]) == [
        "ledger_id", "seq", "stream", "stream_version", "type", "actor", "assurance", "created_at",
        "payload", "digest", "command_id", "command_digest", "trace_context", "conversation_ref",
    ]  # fmt: skip


@pytest.mark.parametrize("status", [Status.READY, Status.LEASED, Status.APPROVED])
def test_lifetimes_are_read_from_the_messages_that_were_stored(
    postgres: Server, wiped: str, status: Status
) -> None:
    """What the step makes of rows of before is what today's fold makes of their events."""
    said = envelope(1, deadline=9_000_000, minimum_completion_margin_ms=2_000)
    kept = Intent(
        "W-1", "RECEIPT-1", "d", "", said, 1, 0, False, "", "", "", "", "", 0, "", 0, 0, ""
    )
    first, second = item(1, status, title='of a ,"lease":null'), item(2, status)
    first = changed(first, lapses_at=7_000_000)
    (step,) = [step for step in schema.PRE if step.name.endswith("_lapsing.sql")]
    with psycopg.connect(postgres.url(wiped)) as raw:
        raw.execute(
            "INSERT INTO remit.fact_rows VALUES ('l', 'intent', 'W-1', 0, %s)", (encode_fact(kept),)
        )
        for now in (first, second):
            then = encode_fact(now).replace(f'"lapses_at":{now.lapses_at},'.encode(), b"")
            columns = [*item_columns(now)]
            columns[-1], columns[7] = then, None
            raw.execute(
                "INSERT INTO remit.item_rows (ledger_id, id, number, status, lane, rank, gate,"
                " hold_reason, hold_trigger, hold_at, hold_rank, follows, lease_fence,"
                " lease_expires_at, lease_actor, text_digest, unmet, version, state)"
                " VALUES ('l', %s" + ", %s" * 17 + ")",
                (now.id, *columns),
            )
        raw.execute(step.read_bytes())
        found = raw.execute("SELECT state, hold_at FROM remit.item_rows ORDER BY number").fetchall()
        raw.rollback()
    assert found == [(encode_fact(now), wake_of(now)) for now in (first, second)]


BIG = ("events", "item_rows", "edge_rows", "child_rows", "link_rows", "alias_rows", "lane_rows", "fact_rows",
       "triage_rows", "blobs")  # fmt: skip
FILL = """
INSERT INTO remit.item_rows SELECT 'ledger-1', 'W-' || n, n,
  (ARRAY['draft','held','ready','leased','closed'])[1 + n % 5], 'lane-' || n % 50, n, 'gate-' || n % 9,
  CASE n % 5 WHEN 1 THEN 'reason-' || n % 7 END, CASE n % 5 WHEN 3 THEN n END,
  CASE n % 5 WHEN 3 THEN n END, CASE n % 5 WHEN 3 THEN 'bob' END, NULL, 0, 1,
  convert_to(repeat('x', 400), 'UTF8'), CASE n % 5 WHEN 1 THEN 'capacity:C-' || n % 3 END,
  CASE n % 5 WHEN 1 THEN n END, CASE n % 5 WHEN 1 THEN n END, CASE n % 5 WHEN 4 THEN 'W-' || n % 90 END
  FROM generate_series(1, 20000) AS n;
INSERT INTO remit.edge_rows SELECT 'ledger-1', 'W-' || n % 3000, 'blocks', 'unmet', 'W-' || n, 'T'
  FROM generate_series(1, 20000) AS n;
INSERT INTO remit.child_rows SELECT 'ledger-1', 'W-' || n % 3000, 'W-' || n
  FROM generate_series(1, 20000) AS n;
INSERT INTO remit.link_rows SELECT 'ledger-1', 'R-' || n % 3000, 'W-' || n
  FROM generate_series(1, 20000) AS n;
INSERT INTO remit.alias_rows SELECT 'ledger-1', 'a-' || n, 'W-' || n FROM generate_series(1, 20000) n;
INSERT INTO remit.lane_rows SELECT 'ledger-1', 'lane-' || n, n, n % 2, '{}'
  FROM generate_series(1, 20000) AS n;
INSERT INTO remit.triage_rows SELECT 'ledger-1', 'TR-' || n, 'W-1', 'poison', n % 2, n, '{}'
  FROM generate_series(1, 20000) AS n;
INSERT INTO remit.fact_rows SELECT 'ledger-1', CASE WHEN n % 50 = 0 THEN 'counter' ELSE 'row' END,
  'V-' || n, 0, '{}' FROM generate_series(1, 20000) AS n;
INSERT INTO remit.blobs SELECT 'ledger-1', decode(lpad(to_hex(n), 64, '0'), 'hex'), '', '\\x00'
  FROM generate_series(1, 20000) AS n;
INSERT INTO remit.events SELECT 'ledger-1', n + 1, 'W-' || n % 4000, 1 + n / 4000, 'NoteAdded', 'bob',
  'asserted', 1800000000000000, '{}', decode(repeat('00', 32), 'hex'),
  CASE n % 2 WHEN 0 THEN 'c-' || n END FROM generate_series(0, 19999) AS n
"""
NOT_HOT = re.compile(r"(all|clear)_|place|installed|ledgers|applied|note_migration|lock|as_|"
                     r"holder|durability|wall|state$|first_state|has_ledger")  # fmt: skip


@pytest.fixture(scope="module")
def filled(postgres: Server) -> str:
    """A ledger with 20,000 rows in each table."""
    name = postgres.database()
    opening.create_store(postgres.url(name), "ledger-1").close()
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute("SET work_mem = '64MB'")
        for statement in FILL.split(";\n"):
            connection.execute(statement.encode())
        connection.execute("VACUUM (ANALYZE)")
    return postgres.url(name)


def plan(url: str, statement: str) -> str:
    """The plan for any parameters, as it is made once a statement is prepared.

    Version 15 has no ``GENERIC_PLAN`` yet, so that a statement is prepared and its plan asked for.
    """
    numbers = iter(range(1, 100))
    text, many = re.subn("%s", lambda _: f"${next(numbers)}", statement)
    given = f"({', '.join(['NULL'] * many)})" if many else ""
    with psycopg.connect(url) as connection:
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute(f"PREPARE asked AS {text}".encode(), prepare=False)
        rows = connection.execute(
            f"EXPLAIN (COSTS OFF) EXECUTE asked{given}".encode(), prepare=False
        )
        return "\n".join(row[0] for row in rows.fetchall())


def faults(found: str) -> list[str]:
    return [t for t in BIG if re.search(rf"Seq Scan on {t}\b", found)]


@pytest.mark.parametrize("name", sorted(n for n in QUERIES if not NOT_HOT.match(n)))
def test_no_hot_query_reads_a_whole_table(filled: str, name: str) -> None:
    """With enable_seqscan on, as it is by default."""
    found = plan(filled, QUERIES[name])
    assert faults(found) == [], found


def test_a_query_without_an_index_is_seen(filled: str) -> None:
    assert faults(plan(filled, "SELECT id FROM remit.item_rows WHERE unmet = %s")) == ["item_rows"]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("ready", "item_rows_ready"),
        ("due", "item_rows_due"),
        ("leased_before", "item_rows_by_fence"),
        ("gated_forward", "item_rows_gated"),
        ("held_backward", "item_rows_held"),
        ("held", "item_rows_waiting"),
        ("waking", "item_rows_waking"),
        ("next_wake", "item_rows_waking"),
        ("followers", "item_rows_following"),
        ("status_forward", "item_rows_by_status"),
        ("lanes", "lane_rows_in_turn"),
        ("triage_open", "triage_rows_open"),
        ("commands", "events_by_command"),
        ("unmet_of", "edge_rows_by_dependent"),
        ("stream", "events_by_stream"),
    ],
)
def test_each_has_its_index(filled: str, name: str, index: str) -> None:
    found = plan(filled, QUERIES[name])
    assert index in found, found


def test_a_change_that_moves_nothing_stays_on_its_page(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    """HOT: the indexes are not written again."""
    put(store, {("counter", "fence"): 1})
    raw.execute("SELECT pg_stat_reset()")
    from remit.ports import Change

    for n in range(1, 21):
        with store.write() as tx:
            tx.write([Change(("counter", "fence"), n, n + 1)])
    store.close()
    figures = (0, 0)
    until = time.monotonic() + 60
    while figures[0] < 20 and time.monotonic() < until:  # a session tells its figures as it ends
        time.sleep(0.01)
        raw.execute("SELECT pg_stat_clear_snapshot()")
        row = raw.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'fact_rows'"
        ).fetchone()
        assert row is not None
        figures = row
    assert figures[0] >= 20
    assert figures[1] >= 20
