"""The database itself refuses to change history, whoever asks (INV-20)."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors
from tests.contract.builders import blob, item, note, put

from remit.core.status import Status
from remit.stores.postgres.store import PostgresStore

NEXT: dict[str, object] = {
    "ledger_id": "ledger-1",
    "seq": 3,
    "stream": "W-1",
    "stream_version": 2,
    "type": "NoteAdded",
    "actor": "eve",
    "assurance": "asserted",
    "created_at": 1_800_000_000_000_000,
    "payload": b"{}",
    "digest": b"x" * 32,
    "command_id": None,
    "command_digest": None,
    "trace_context": None,
    "conversation_ref": None,
}
REFUSED = (errors.CheckViolation, errors.UniqueViolation, errors.NotNullViolation)


def insert(raw: psycopg.Connection, *changes: dict[str, object]) -> None:
    rows = [{**NEXT, **change} for change in changes or ({},)]
    names = ", ".join(NEXT)
    marks = ", ".join("(" + ", ".join(["%s"] * len(NEXT)) + ")" for _ in rows)
    values = [value for row in rows for value in row.values()]
    raw.execute(f"INSERT INTO remit.events ({names}) VALUES {marks}".encode(), values)


@pytest.fixture(autouse=True)
def second(store: PostgresStore) -> None:
    note(store, "W-1", 1)


def count(raw: psycopg.Connection) -> int:
    row = raw.execute("SELECT count(*) FROM remit.events").fetchone()
    assert row is not None
    return int(row[0])


def test_the_next_event_itself_is_taken(raw: psycopg.Connection) -> None:
    """Else the refusals below would prove nothing."""
    insert(raw)
    insert(raw, {"seq": 4, "stream_version": 3}, {"seq": 5, "stream": "W-2", "stream_version": 1})
    later = {"created_at": 1_800_000_000_000_009}
    insert(raw, {"seq": 6, "stream_version": 4}, {"seq": 7, "stream_version": 5, **later})
    assert count(raw) == 7


@pytest.mark.parametrize(
    "changes",
    [
        [{"seq": 2}],
        [{"seq": 1, "stream": "ledger", "stream_version": 1}],
        [{"seq": 4}],
        [{"seq": -1}],
        [{"seq": None}],
        [{"stream_version": 1}],
        [{"stream_version": 3}],
        [{"stream": "W-2"}],
        [{"created_at": 5}],
        [{"ledger_id": "other", "seq": 1, "stream_version": 1}],
        [{}, {"seq": 5, "stream_version": 3}],
        [{}, {"seq": 4, "stream_version": 4}],
        [{}, {"seq": 4}],
        [{"stream_version": 3}, {"seq": 4, "stream_version": 2}],
        [{}, {"seq": 4, "stream_version": 3, "created_at": 1_750_000_000_000_000}],
        [
            {"created_at": 1_800_000_000_000_009},
            {"seq": 4, "stream_version": 3, "created_at": 1_800_000_000_000_008},
        ],
    ],
    ids=str,
)
@pytest.mark.parametrize("role", ["postgres", "remit_owner", "remit_writer"])
def test_an_event_that_does_not_continue_is_refused(
    raw: psycopg.Connection, changes: list[dict[str, object]], role: str
) -> None:
    raw.execute(f"SET ROLE {role}".encode())
    with pytest.raises(REFUSED):
        insert(raw, *changes)
    assert count(raw) == 2


def test_a_session_that_plays_a_replica_is_refused_too(raw: psycopg.Connection) -> None:
    raw.execute("SET session_replication_role = replica")
    with pytest.raises(errors.CheckViolation, match="highest plus one"):
        insert(raw, {"seq": 9})
    with pytest.raises(errors.CheckViolation, match="never deleted"):
        raw.execute("DELETE FROM remit.events")


def test_copy_is_refused_as_insert_is(raw: psycopg.Connection) -> None:
    row = {**NEXT, "seq": 7}
    with (
        pytest.raises(errors.CheckViolation, match="highest plus one"),
        raw.cursor().copy(f"COPY remit.events ({', '.join(row)}) FROM STDIN".encode()) as copy,
    ):
        copy.write_row(list(row.values()))


def test_two_sessions_past_the_lock_cannot_both_append(raw: psycopg.Connection, url: str) -> None:
    with psycopg.connect(url) as other:
        other.execute("SET lock_timeout = '200ms'")
        raw.execute("BEGIN")
        insert(raw)
        with pytest.raises((errors.LockNotAvailable, errors.CheckViolation)):
            insert(other)
        other.rollback()
        with pytest.raises(errors.CheckViolation):
            insert(other, {"seq": 4, "stream_version": 3})
        raw.execute("COMMIT")
    assert count(raw) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"digest": b"short"},
        {"actor": ""},
        {"actor": None},
        {"assurance": "sworn"},
        {"type": ""},
        {"command_digest": b"x"},
        {"command_id": ""},
    ],
    ids=str,
)
def test_columns_have_their_checks(raw: psycopg.Connection, changes: dict[str, object]) -> None:
    with pytest.raises(REFUSED):
        insert(raw, changes)
    assert count(raw) == 2


CHANGES = [
    "UPDATE remit.events SET actor = 'eve' WHERE seq = 2",
    "UPDATE remit.events SET payload = payload",
    "DELETE FROM remit.events WHERE seq = 2",
    "TRUNCATE remit.events",
    (
        "INSERT INTO remit.events SELECT * FROM remit.events WHERE seq = 2"
        " ON CONFLICT (ledger_id, seq) DO UPDATE SET actor = 'eve'"
    ),
    "DELETE FROM remit.store_state",
    "TRUNCATE remit.store_state",
    "DELETE FROM remit.blobs",
    "TRUNCATE remit.blobs",
]


@pytest.mark.parametrize("statement", CHANGES)
def test_the_owner_is_stopped_by_triggers(raw: psycopg.Connection, statement: str) -> None:
    with pytest.raises(errors.CheckViolation):
        raw.execute(statement.encode())
    assert count(raw) == 2


@pytest.mark.parametrize("statement", CHANGES)
@pytest.mark.parametrize("role", ["remit_writer", "remit_reader"])
def test_the_writer_has_no_right_to_try(raw: psycopg.Connection, statement: str, role: str) -> None:
    raw.execute(f"SET ROLE {role}".encode())
    with pytest.raises(errors.InsufficientPrivilege):
        raw.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE remit.item_rows SET version = 9",
        "INSERT INTO remit.alias_rows VALUES ('ledger-1', 'a', 'W-1')",
        "DELETE FROM remit.fact_rows",
        "UPDATE remit.store_state SET epoch = 9",
        "CREATE TABLE remit.mine (a int)",
    ],
)
def test_the_reader_only_reads(raw: psycopg.Connection, statement: str) -> None:
    raw.execute("SET ROLE remit_reader")
    raw.execute("SELECT * FROM remit.items")
    with pytest.raises(errors.InsufficientPrivilege):
        raw.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE remit.events", "ALTER TABLE remit.events DISABLE TRIGGER ALL",
     "CREATE FUNCTION remit.f() RETURNS int LANGUAGE sql AS 'SELECT 1'"],
)  # fmt: skip
def test_the_writer_changes_no_schema(raw: psycopg.Connection, statement: str) -> None:
    raw.execute("SET ROLE remit_writer")
    with pytest.raises(errors.InsufficientPrivilege):
        raw.execute(statement.encode())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE remit.blobs SET data = '\\x00'",
        "UPDATE remit.blobs SET salt = NULL",
        "UPDATE remit.blobs SET digest = decode(repeat('00', 32), 'hex'), salt = NULL, data = NULL",
    ],
)
def test_a_blob_is_only_erased(
    store: PostgresStore, raw: psycopg.Connection, statement: str
) -> None:
    with store.write() as tx:
        tx.put_blobs([blob(b"secret")])
    with pytest.raises(errors.CheckViolation):
        raw.execute(statement.encode())
    raw.execute("UPDATE remit.blobs SET salt = NULL, data = NULL")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE remit.store_state SET ledger_us = ledger_us - 1",
        "UPDATE remit.store_state SET epoch = -1",
        "UPDATE remit.store_state SET ledger_id = 'other'",
    ],
)
def test_time_epoch_and_name_never_go_back(raw: psycopg.Connection, statement: str) -> None:
    with pytest.raises(errors.CheckViolation):
        raw.execute(statement.encode())


@pytest.mark.parametrize(
    "change",
    [
        "status = 'leased'",
        "status = 'done'",
        "lease_fence = 3",
        "lease_fence = 3, lease_expires_at = 3, lease_actor = 'eve'",
        "unmet = 1",
        "unmet = -1",
        "status = 'held'",
        "version = 0",
    ],
)
def test_rows_repeat_what_the_core_guarantees(
    store: PostgresStore, raw: psycopg.Connection, change: str
) -> None:
    put(store, [item(1, Status.READY)])
    with pytest.raises(errors.CheckViolation):
        raw.execute(f"UPDATE remit.item_rows SET {change}".encode())
    raw.execute("UPDATE remit.item_rows SET status = 'draft', unmet = 1")


def test_erased_bytes_leave_the_table_with_the_next_vacuum(
    store: PostgresStore, raw: psycopg.Connection
) -> None:
    one = blob(b"correct horse battery staple " * 400)
    with store.write() as tx:
        tx.put_blobs([one])
    size = "SELECT pg_table_size('remit.blobs') - pg_relation_size('remit.blobs')"
    with store.write() as tx:
        tx.erase_blobs([one.digest.hex()])
    raw.execute("VACUUM (FULL) remit.blobs")
    assert raw.execute("SELECT count(*) FROM remit.blobs WHERE data IS NULL").fetchone() == (1,)
    row = raw.execute(size).fetchone()
    assert row is not None
    assert row[0] <= 32_768
