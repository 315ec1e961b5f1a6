"""The database itself refuses to change history, whoever asks (INV-20)."""

from __future__ import annotations

import sqlite3

import pytest
from tests.contract.builders import blob, item, note, put

from remit.core.status import Status
from remit.stores.sqlite.store import SqliteStore

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


def insert(
    raw: sqlite3.Connection, verb: str = "INSERT", changes: dict[str, object] | None = None
) -> None:
    row = {**NEXT, **(changes or {})}
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    raw.execute(f"{verb} INTO events ({names}) VALUES ({marks})", tuple(row.values()))


@pytest.fixture(autouse=True)
def second(store: SqliteStore) -> None:
    note(store, "W-1", 1)


def count(raw: sqlite3.Connection) -> int:
    return int(raw.execute("SELECT count(*) FROM events").fetchone()[0])


def test_the_next_event_itself_is_taken(raw: sqlite3.Connection) -> None:
    """Else the refusals below would prove nothing."""
    insert(raw)
    assert count(raw) == 3


@pytest.mark.parametrize("verb", ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE"])
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"seq": 2}, "seq is not the highest plus one"),
        ({"seq": 1, "stream": "ledger", "stream_version": 1}, "seq is not the highest plus one"),
        ({"seq": 4}, "seq is not the highest plus one"),
        ({"seq": -1}, "seq is not the highest plus one"),
        ({"seq": None}, "seq is not the highest plus one"),
        ({"stream_version": 1}, "stream_version is not the highest"),
        ({"stream_version": 3}, "stream_version is not the highest"),
        ({"stream": "W-2"}, "stream_version is not the highest"),
        ({"created_at": 5}, "created_at is before"),
        ({"ledger_id": "other", "stream_version": 1}, "another ledger's"),
    ],
)
def test_an_event_that_does_not_continue_is_refused(
    raw: sqlite3.Connection, verb: str, changes: dict[str, object], says: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=says):
        insert(raw, verb, changes)
    assert count(raw) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"created_at": "soon"},
        {"created_at": 1.5e15 + 0.5},
        {"payload": "text"},
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
def test_columns_have_their_types(raw: sqlite3.Connection, changes: dict[str, object]) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        insert(raw, changes=changes)
    assert count(raw) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET actor = 'eve' WHERE seq = 2",
        "UPDATE OR REPLACE events SET seq = 1 WHERE seq = 2",
        "UPDATE events SET payload = payload",
        "DELETE FROM events WHERE seq = 2",
        "DELETE FROM events",
        (
            "INSERT INTO events SELECT * FROM events WHERE seq = 2"
            " ON CONFLICT DO UPDATE SET actor = 'eve'"
        ),
    ],
)
def test_no_event_is_changed_or_deleted(raw: sqlite3.Connection, statement: str) -> None:
    for recursive in ("OFF", "ON"):
        raw.execute(f"PRAGMA recursive_triggers = {recursive}")
        with pytest.raises(sqlite3.IntegrityError, match="events: "):
            raw.execute(statement)
    assert count(raw) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE blobs SET data = x'00'",
        "UPDATE blobs SET salt = NULL",
        "UPDATE blobs SET digest = zeroblob(32), salt = NULL, data = NULL",
        "DELETE FROM blobs",
        "INSERT OR REPLACE INTO blobs SELECT ledger_id, digest, x'00', x'00' FROM blobs",
    ],
)
def test_a_blob_is_only_erased(store: SqliteStore, raw: sqlite3.Connection, statement: str) -> None:
    with store.write() as tx:
        tx.put_blobs([blob(b"secret")])
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)
    raw.execute("UPDATE blobs SET salt = NULL, data = NULL")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE store_state SET ledger_us = ledger_us - 1",
        "UPDATE store_state SET epoch = -1",
        "UPDATE store_state SET ledger_id = 'other'",
        "DELETE FROM store_state",
        "INSERT INTO store_state VALUES ('other', 0, 0, '', 0, 0, 0)",
    ],
)
def test_time_epoch_and_name_never_go_back(raw: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)


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
    store: SqliteStore, raw: sqlite3.Connection, change: str
) -> None:
    put(store, [item(1, Status.READY)])
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(f"UPDATE item_rows SET {change}")
    raw.execute("UPDATE item_rows SET status = 'draft', unmet = 1")


def test_erased_bytes_leave_the_files(store: SqliteStore) -> None:
    secret = b"correct horse battery staple " * 400
    one = blob(secret, b"salt of the secret")
    with store.write() as tx:
        tx.put_blobs([one])
    files = [store.path, store.path.with_name("ledger.db-wal")]
    assert any(secret[:64] in f.read_bytes() for f in files)
    with store.write() as tx:
        tx.erase_blobs([one.digest.hex()])
    for file in files:
        assert b"battery staple" not in file.read_bytes()
        assert one.salt not in file.read_bytes()
    assert any(one.digest in f.read_bytes() for f in files)
