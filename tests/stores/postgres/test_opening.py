"""Whatever stands behind a URL: one typed error in one line, and no password in it."""

from __future__ import annotations

import threading

import psycopg
import pytest
from psycopg import errors
from tests.contract.builders import begin, item, note, put
from tests.stores.postgres.server import Server

from remit.core.refusals import Code, meaning
from remit.ports import RemitError, StoreUnavailable
from remit.stores.postgres import connections, opening
from remit.stores.postgres.address import parse_address
from remit.stores.postgres.failures import code_of, failure
from remit.stores.postgres.store import PostgresStore
from remit.wiring import create_ledger, open_ledger, path_of

SECRET = "hunter2&%/@"
WRITTEN = "hunter2%26%25%2F%40"


def refusal(url: str) -> RemitError:
    with pytest.raises(RemitError) as caught:
        opening.open_store(url)
    said = f"{caught.value.message} {caught.value.hint} {dict(caught.value.details)}"
    assert "hunter2" not in said
    assert "\n" not in caught.value.message
    return caught.value


def test_nobody_listens(tmp_path: object) -> None:
    found = refusal(f"postgresql://ann:{WRITTEN}@127.0.0.1:1/work")
    assert found.code is Code.STORE_UNAVAILABLE
    assert "postgresql://ann@127.0.0.1:1/work" in found.message


def test_no_database_no_login_no_ledger(postgres: Server, wiped: str) -> None:
    assert refusal(postgres.url("nowhere")).code is Code.LEDGER_MISSING
    assert refusal(postgres.url(wiped, "nobody")).code is Code.STORE_REFUSED
    assert refusal(postgres.url(wiped)).code is Code.LEDGER_MISSING
    assert refusal(postgres.url("postgres")).code is Code.LEDGER_MISSING
    assert refusal(postgres.url(wiped, ledger="none")).code is Code.LEDGER_MISSING


def test_a_wrong_password(postgres: Server, wiped: str) -> None:
    """The server of these tests trusts everybody, so one line of its rules is made to ask."""
    rules = postgres.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    try:
        postgres.run("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        rules.write_text(f"local all guarded scram-sha-256\n{before}")
        postgres.run("SELECT pg_reload_conf()")
        found = refusal(postgres.url(wiped, f"guarded:{WRITTEN}"))
        assert found.code is Code.STORE_REFUSED
        assert "password" in found.message
    finally:
        rules.write_text(before)
        postgres.run("SELECT pg_reload_conf()")
        postgres.run("DROP ROLE guarded")


def test_a_login_without_the_writer_role(postgres: Server, store: PostgresStore, url: str) -> None:
    postgres.run("CREATE ROLE operator LOGIN IN ROLE remit_reader")
    try:
        name = url.partition("@/")[2].partition("?")[0]
        reading = opening.open_store(postgres.url(name, "operator"))
        with reading.read() as tx:
            assert tx.head().seq == 1
        with pytest.raises(RemitError, match="permission denied") as caught:
            note(reading, "W-1", 1)
        assert caught.value.code is Code.STORE_REFUSED
        reading.close()
    finally:
        postgres.run("DROP ROLE operator")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ('FATAL:  password authentication failed for user "ann"', Code.STORE_REFUSED),
        ('FATAL:  role "ann" does not exist', Code.STORE_REFUSED),
        ('FATAL:  no pg_hba.conf entry for host "h", user "ann"', Code.STORE_REFUSED),
        ('FATAL:  database "work" does not exist', Code.LEDGER_MISSING),
        ("FATAL:  the database system is not yet accepting connections", Code.STORE_UNAVAILABLE),
        ("FATAL:  the database system is in recovery mode", Code.STORE_UNAVAILABLE),
        ("FATAL:  sorry, too many clients already", Code.STORE_UNAVAILABLE),
        ("connection refused", Code.STORE_UNAVAILABLE),
    ],
)
def test_what_a_failed_login_says(said: str, code: Code) -> None:
    """A server that is on its way back is away; it was once taken for a missing database."""
    assert code_of(psycopg.OperationalError(said)) is code


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.DiskFull, Code.STORE_FULL),
        (errors.TooManyConnections, Code.STORE_UNAVAILABLE),
        (errors.SerializationFailure, Code.STORE_UNAVAILABLE),
        (errors.DeadlockDetected, Code.STORE_UNAVAILABLE),
        (errors.LockNotAvailable, Code.STORE_UNAVAILABLE),
        (errors.AdminShutdown, Code.STORE_UNAVAILABLE),
        (errors.ReadOnlySqlTransaction, Code.STORE_UNAVAILABLE),
        (errors.DataCorrupted, Code.LEDGER_CORRUPT),
        (errors.UndefinedTable, Code.LEDGER_CORRUPT),
        (errors.InsufficientPrivilege, Code.STORE_REFUSED),
        (errors.InvalidPassword, Code.STORE_REFUSED),
        (errors.InvalidCatalogName, Code.LEDGER_MISSING),
        (errors.CheckViolation, Code.UNEXPECTED),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_errors_mean(kind: type[psycopg.Error], code: Code) -> None:
    found = failure("write", parse_address("postgresql://ann@h/db"), kind("said"))
    assert found.code is code
    assert isinstance(found, StoreUnavailable) == (meaning(code).exit_status in (3, 8)
                                                   and code is not Code.LEDGER_MISSING)  # fmt: skip
    assert "postgresql://ann@h/db" in found.message
    assert found.hint


def test_an_old_server(url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "OLDEST", 990_000)
    found = refusal(url)
    assert found.code is Code.STORE_REFUSED
    assert "expected 99 or later" in found.message


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://ann:{WRITTEN}@host/db?nonsense=1",
        f"postgresql://ann:{WRITTEN}@host/db?pool=0",
        f"postgresql://ann:{WRITTEN}@host/db?pgbouncer=yes",
        f"postgresql://ann:{SECRET}@host/db",
        f"mysql://ann:{WRITTEN}@host/db",
    ],
)
def test_what_is_no_url(url: str) -> None:
    assert refusal(url).code is Code.BAD_INPUT
    with pytest.raises(RemitError) as caught:
        path_of(url)
    assert "hunter2" not in str(caught.value)


def test_the_shown_url_keeps_all_but_the_password() -> None:
    found = parse_address(
        f"postgresql://ann:{WRITTEN}@h1:1,h2:2/db?sslmode=verify-full&ledger=L%201&password=x1"
    )
    assert found.shown == "postgresql://ann@h1:1,h2:2/db?sslmode=verify-full&ledger=L%201"
    assert found.ledger == "L 1"
    assert found.parameters["sslmode"] == "verify-full"
    assert found.parameters["host"] == "h1,h2"
    assert found.scrub(f"no {SECRET} or {WRITTEN}\n here") == "no *** or *** here"
    assert "hunter2" not in repr(found)


def test_many_ledgers_in_one_database(postgres: Server, wiped: str) -> None:
    url = postgres.url(wiped)
    one = create_ledger(url, "ann", "one")
    with pytest.raises(RemitError) as caught:
        create_ledger(url, "ann", "two")
    assert caught.value.code is Code.LEDGER_EXISTS
    two = create_ledger(f"{url}&ledger=two", "ann")
    assert two.store.ledger_id == "two"
    assert two.store.url.endswith("ledger=two")
    with pytest.raises(RemitError, match="several") as caught:
        open_ledger(url)
    assert caught.value.code is Code.BAD_INPUT
    put(one.store, [item(1)])
    put(two.store, [item(1), item(2)])
    with one.reading() as first, two.reading() as second:
        assert first.names("item", "", 9) == ["W-1"]
        assert second.names("item", "", 9) == ["W-1", "W-2"]
        assert [e.seq for e in first.events(0, 99)] == [e.seq for e in second.events(0, 99)]
    held, done = threading.Event(), []

    def other() -> None:
        held.wait()
        note(two.store, "W-9", 1)
        done.append("two")

    thread = threading.Thread(target=other)
    thread.start()
    with one.store.write():
        held.set()
        thread.join(60)
        assert done == ["two"], "a ledger's writer waits for no other ledger's"
    for name in ("one", "two"):
        again = open_ledger(f"{url}&ledger={name}")
        assert again.store.rebuild(lambda _tx: [], swap=False)
        again.close()
    one.close()
    two.close()


def test_a_ledger_restored_elsewhere_must_be_adopted(postgres: Server, database: str) -> None:
    opening.create_store(postgres.url(database), "ledger-1").close()
    copy = postgres.database(empty=True)
    postgres.drop(copy)
    postgres.run(f"CREATE DATABASE {copy} TEMPLATE {database}")
    moved = opening.open_store(postgres.url(copy))
    with pytest.raises(RemitError, match="restored into another database") as caught:
        begin(moved)
    assert caught.value.code is Code.LEDGER_NOT_ADOPTED
    from tests.contract.builders import record

    from remit.core.events import EpochAdopted

    with moved.write(adopting=True) as tx:
        tx.append([record(tx, "ledger", 1, EpochAdopted(1, 0, "moved"))])
    note(moved, "W-1", 1)
    moved.close()
    postgres.drop(copy)


def test_a_driver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "remit.stores.postgres.opening", None)
    monkeypatch.setattr(sys.modules["remit.stores.postgres"], "opening", None, raising=False)
    monkeypatch.delattr(sys.modules["remit.stores.postgres"], "opening")
    with pytest.raises(RemitError, match="PostgreSQL") as caught:
        open_ledger("postgresql://ann@host/db")
    assert "remit[postgres]" in caught.value.hint


def test_reading_a_list_loads_no_driver() -> None:
    import subprocess
    import sys

    code = "import sys, remit.wiring, remit.stores.sqlite.store; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_server_that_answers_before_the_disk_is_asked_for_it(
    postgres: Server, wiped: str, store: PostgresStore, url: str
) -> None:
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(f"ALTER DATABASE {wiped} SET synchronous_commit = off".encode())
    try:
        careful = opening.open_store(url)
        with careful.write() as tx:
            found = tx._connection.execute("SHOW synchronous_commit").fetchone()
        assert found == ("on",)
        careful.close()
    finally:
        with psycopg.connect(url, autocommit=True) as raw:
            raw.execute(f"ALTER DATABASE {wiped} RESET synchronous_commit".encode())
