"""What fails, and what a caller may conclude: nothing was done, or it cannot be known (INV-9, INV-22)."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.contract.builders import Hands, blob, item, note, put
from tests.stores.postgres.proxy import Wire
from tests.stores.postgres.server import Server, terminate

from remit.core.commands import CreateItem, EnrolActor, GrantLease
from remit.core.refusals import Code, Refused
from remit.core.rows import RowKind, RowSpec
from remit.ports import OutcomeUnknown, RemitError, StoreUnavailable
from remit.service.engine import Done
from remit.service.operations import item_of
from remit.stores.postgres import opening
from remit.stores.postgres.store import PostgresStore
from remit.wiring import Ledger, create_ledger, open_ledger


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    made = create_ledger(url, "ann")
    yield made
    made.close()


def head(store: PostgresStore) -> int:
    with store.read() as tx:
        return tx.head().seq


@pytest.mark.parametrize("step", ["begun", "before events", "after rows", "before commit"])
def test_a_session_that_ends_before_the_commit_did_nothing(
    postgres: Server, store: PostgresStore, step: str
) -> None:
    def cut(name: str) -> None:
        if name == step:
            assert terminate(postgres, store) >= 1

    store.pause = cut
    with pytest.raises((StoreUnavailable, OutcomeUnknown)) as caught, store.write() as tx:
        from tests.contract.builders import record

        from remit.core.item_events import NoteAdded
        from remit.ports import Change

        tx.append([record(tx, "W-1", 1, NoteAdded("x", ""))])
        tx.write([Change(("counter", "a"), None, 1)])
    if step != "before commit":
        assert type(caught.value) is StoreUnavailable
    store.pause = None
    assert head(store) == 1
    note(store, "W-1", 1)


@pytest.fixture
def wire(postgres: Server) -> Iterator[Wire]:
    with tempfile.TemporaryDirectory(prefix="remit-wire-") as folder:
        made = Wire(Path(folder), postgres.folder)
        yield made
        made.close()


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_wire_cut_at_the_commit_leaves_it_unknown_until_asked_again(
    postgres: Server, wiped: str, ledger: Ledger, wire: Wire, cut: str
) -> None:
    away = open_ledger(f"postgresql://postgres@/{wiped}?host={wire.folder}")
    operations = away.acting("ann")
    assert isinstance(operations.create(CreateItem("one")), Done)
    wire.cut = cut
    with pytest.raises(OutcomeUnknown) as caught:
        operations.create(CreateItem("two"), command_id="c-2")
    assert caught.value.code is Code.OUTCOME_UNKNOWN
    assert "same command id" in caught.value.hint
    wire.cut = ""
    answer = operations.create(CreateItem("two"), command_id="c-2")
    assert isinstance(answer, Done)
    assert answer.repeated is (cut == "after")
    assert item_of(answer) == "W-2"
    with away.reading() as tx:
        assert tx.names("item", "", 9) == ["W-1", "W-2"]
    away.close()


def test_idle_sessions_that_ended_are_replaced_unseen(
    postgres: Server, store: PostgresStore
) -> None:
    note(store, "W-1", 1)
    assert terminate(postgres, store) >= 1
    note(store, "W-1", 2)
    assert head(store) == 3


def test_a_frozen_writer_is_bounded_and_named(store: PostgresStore, url: str) -> None:
    other = opening.open_store(url, readings=Hands(), wait_ms=150)
    with store.write(), pytest.raises(StoreUnavailable, match="waited 150 ms") as caught:
        note(other, "W-1", 1)
    assert caught.value.details["holder"] > 0
    assert "(remit)" in caught.value.message
    note(other, "W-1", 1)
    other.close()


def test_urgent_writers_go_first(store: PostgresStore, url: str) -> None:
    order: list[str] = []
    stores = [opening.open_store(url, readings=Hands()) for _ in range(3)]
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"

    def work(number: int, *, urgent: bool) -> None:
        with stores[number].write(urgent=urgent):
            order.append("urgent" if urgent else f"plain {number}")

    threads = [
        threading.Thread(target=work, args=(n,), kwargs={"urgent": n == 2}) for n in range(3)
    ]
    with psycopg.connect(url, autocommit=True) as raw, store.write():
        for number, thread in enumerate(threads, 1):
            thread.start()
            until = time.monotonic() + 20
            while raw.execute(waiting).fetchone() != (number,):
                assert time.monotonic() < until
    for thread in threads:
        thread.join()
    assert order[0] == "urgent"
    assert sorted(order[1:]) == ["plain 0", "plain 1"]
    for one in stores:
        one.close()


def test_a_constraint_is_a_bug_and_rolls_back(store: PostgresStore) -> None:
    from remit.core.status import Status

    with pytest.raises(RemitError, match="check constraint") as caught:
        put(store, [item(1), item(2, Status.READY, unmet=1)])
    assert caught.value.code is Code.UNEXPECTED
    with store.read() as tx:
        assert tx.names("item", "", 9) == []


def test_a_value_that_no_column_takes(store: PostgresStore) -> None:
    with pytest.raises(RemitError, match="NUL") as caught:
        note(store, "W-1", 1, command_id="a\0b")
    assert caught.value.code is Code.BAD_INPUT


def test_sixteen_connections_race_for_one_item(ledger: Ledger, url: str) -> None:
    row = RowSpec(RowKind.COMMAND, argv=("true",))
    assert isinstance(ledger.acting("ann").create(CreateItem("one", rows=(row,))), Done)
    names = [f"bob-{n}" for n in range(16)]
    answers = ledger.acting("ann").enrol([EnrolActor(name, "agent") for name in names])
    assert all(isinstance(answer, Done) for answer in answers)
    others = [open_ledger(url) for _ in names]
    start = threading.Barrier(16)
    found: list[object] = []

    def race(number: int) -> None:
        start.wait()
        found.append(others[number].acting(names[number]).lease(GrantLease("W-1")))

    threads = [threading.Thread(target=race, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    assert sum(isinstance(answer, Done) for answer in found) == 1
    codes = {answer.code for answer in found if isinstance(answer, Refused)}
    assert codes == {Code.ITEM_LEASED}
    assert len(found) == 16


def test_erasing_and_rewriting_need_the_writer(store: PostgresStore) -> None:
    one = blob(b"text")
    with store.write() as tx:
        tx.put_blobs([one])
    with store.read() as reader, pytest.raises(psycopg.Error):
        reader._connection.execute("UPDATE remit.blobs SET salt = NULL, data = NULL")


@pytest.fixture
def own() -> Iterator[Server]:
    """A server that a test may kill."""
    server = Server()
    try:
        server.start()
        server.prepare_template()
        yield server
    finally:
        server.stop()


def test_a_killed_server_and_its_return(own: Server) -> None:
    """Acknowledged commits are there after recovery, and the store goes on by itself."""
    ledger = create_ledger(own.url(own.database()), "ann")
    operations = ledger.acting("ann")
    done = [operations.create(CreateItem(f"item {n}"), command_id=f"c{n}") for n in range(5)]
    own.kill(children=True)  # a session that has not noticed yet would still answer
    with pytest.raises(StoreUnavailable) as caught:
        operations.create(CreateItem("more"), command_id="more")
    assert caught.value.code is Code.STORE_UNAVAILABLE
    with pytest.raises(StoreUnavailable), ledger.reading():
        pass
    own.start()
    with ledger.reading() as tx:
        assert tx.names("item", "", 99) == [item_of(answer) for answer in done]
    again = operations.create(CreateItem("item 4"), command_id="c4")
    assert isinstance(again, Done)
    assert again.repeated
    assert isinstance(operations.create(CreateItem("more"), command_id="more"), Done)
    ledger.close()


def test_a_server_killed_in_the_commit_is_settled_by_the_command_id(own: Server) -> None:
    ledger = create_ledger(own.url(own.database()), "ann")
    operations = ledger.acting("ann")
    store = ledger.store
    assert isinstance(store, PostgresStore)

    def kill(name: str) -> None:
        if name == "before commit":
            own.kill()

    store.pause = kill
    with pytest.raises(OutcomeUnknown):
        operations.create(CreateItem("one"), command_id="c1")
    store.pause = None
    own.start()
    answer = operations.create(CreateItem("one"), command_id="c1")
    assert isinstance(answer, Done)
    with ledger.reading() as tx:
        assert len(tx.names("item", "", 9)) == 1
    ledger.close()
