"""A ledger moved between stores is the same ledger: its events, its root, its rows and its blobs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.contract.builders import Hands
from tests.core.traffic import Traffic
from tests.core.world import HUMAN
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core.evolve import evolve
from remit.core.facts import Item
from remit.core.refusals import Code, Refused
from remit.ports import ItemQuery, RemitError, Store
from remit.service import transfer
from remit.service.adoption import adopt
from remit.service.engine import Done
from remit.service.integrity import verify
from remit.service.operations import Caller, Operations
from remit.stores.memory import MemoryStore
from remit.stores.postgres import opening
from remit.stores.sqlite.store import create_store


@pytest.fixture(scope="module")
def source() -> Store:
    """A ledger with a history, long texts, and one text that was erased."""
    traffic = Traffic(Random(8), most=30)
    traffic.run(150)
    store = traffic.world.store
    people = Operations(store, Caller(HUMAN))
    for n in range(3):
        note = c.CreateItem(f"long {n}", body=f"text {n} " * 2_000)
        assert isinstance(people.run(note), Done)
    with store.read() as tx:
        first = tx.stored_blobs(b"", 1)[0]
    assert not isinstance(first, bytes)
    with store.write() as tx:
        tx.erase_blobs([first.digest.hex()])
    return store


@pytest.fixture
def made(postgres: Server, wiped: str, tmp_path: Path) -> Iterator[Callable[[str], Store]]:
    stores: list[Store] = []

    def make(kind: str) -> Store:
        store: Store
        if kind == "postgres":
            store = opening.create_store(postgres.url(wiped), "world", readings=Hands())
        elif kind == "sqlite":
            folder = Path(tempfile.mkdtemp(dir=tmp_path))
            store = create_store(folder / "a.db", "world", readings=Hands())
        else:
            store = MemoryStore("world", readings=Hands())
        stores.append(store)
        return store

    yield make
    for store in stores:
        store.close()


def everything(store: Store) -> tuple[Any, ...]:
    with store.read() as tx:
        return tx.stored(0, 1 << 30), tx.stored_blobs(b"", 1 << 30)


@pytest.mark.parametrize("way", [("sqlite", "postgres"), ("postgres", "sqlite"), ("memory",)])
def test_there_and_back_is_the_same(
    source: Store, made: Callable[[str], Store], way: tuple[str, ...]
) -> None:
    lines = list(transfer.export(source))
    wanted = everything(source)
    for kind in way:
        target = made(kind)
        moved = transfer.import_into(target, lines)
        assert everything(target) == wanted
        report = verify(target, fold=evolve, root=moved.root, size=moved.events)
        assert report.rows_compared
        assert [p for p in report.problems if "erased" not in p.found] == []
        assert report.root == moved.root
        lines = list(transfer.export(target))
        assert lines == list(transfer.export(source))


def test_an_interrupted_import_goes_on(
    source: Store, made: Callable[[str], Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "CHUNK", 20)
    lines = list(transfer.export(source))
    target = made("postgres")
    with pytest.raises(RemitError, match="no last line") as caught:
        transfer.import_into(target, lines[: len(lines) // 2])
    assert caught.value.code is Code.INPUT_PROBLEM
    with target.read() as tx:
        assert 0 < tx.head().seq < len(lines)
    transfer.import_into(target, lines)
    assert everything(target) == everything(source)
    transfer.import_into(target, lines)
    assert everything(target) == everything(source)


STORES = ("memory", "postgres", "sqlite")


def refused(store: Store, code: Code, act: Callable[[], object]) -> None:
    """The act is refused with this code, and leaves the store as it was, to the byte."""
    before = everything(store)
    with pytest.raises(RemitError) as caught:
        act()
    assert caught.value.code is code
    assert everything(store) == before


def live(store: Store) -> list[str]:
    with store.read() as tx:
        return tx.items(ItemQuery(statuses=("leased",), limit=0))


@pytest.mark.parametrize("kind", STORES)
def test_a_copy_takes_no_writes_until_it_is_adopted(
    source: Store, made: Callable[[str], Store], kind: str
) -> None:
    """INV-7, CONTRACT 14: the ledger that it came from may be in use; leases given there die here."""
    target = made(kind)
    transfer.import_into(target, transfer.export(source))
    people = Operations(target, Caller(HUMAN))
    item = c.CreateItem("after the move")
    refused(target, Code.LEDGER_NOT_ADOPTED, lambda: people.run(item))
    leased = live(target)
    assert leased == live(source) != []
    with target.read() as tx:
        before = tx.load([("item", leased[0])])["item", leased[0]]
    assert isinstance(before, Item)
    assert before.lease is not None
    holder = Operations(target, Caller(before.lease.actor))
    renewal = c.RenewLease(before.id, before.lease.fence)
    refused(target, Code.LEDGER_NOT_ADOPTED, lambda: holder.run(renewal))
    found = adopt(people, "moved")
    assert not isinstance(found, Refused)
    epoch = source.epoch_known()
    assert epoch > 0  # the history adopts too: that must not adopt the copy
    assert (found["epoch"], found["previous"]) == (epoch + 1, epoch)
    assert found["expired"] == len(leased)
    assert live(target) == []
    late = holder.run(renewal)
    assert isinstance(late, Refused)
    assert isinstance(people.run(item), Done)
    assert verify(target, fold=evolve).rows_compared
    refused(
        target, Code.LEDGER_EXISTS, lambda: transfer.import_into(target, transfer.export(source))
    )


@pytest.mark.parametrize("kind", STORES)
def test_a_copy_of_an_adopted_ledger_is_adopted_above_its_epoch(
    source: Store, made: Callable[[str], Store], kind: str
) -> None:
    first = made("memory")
    transfer.import_into(first, transfer.export(source))
    adopt(Operations(first, Caller(HUMAN)), "moved once")
    second = made(kind)
    moved = transfer.import_into(second, transfer.export(first))
    epoch = source.epoch_known() + 1
    assert second.epoch_known() == epoch
    people = Operations(second, Caller(HUMAN))
    refused(second, Code.LEDGER_NOT_ADOPTED, lambda: people.run(c.CreateItem("too early")))
    assert transfer.import_into(second, transfer.export(first)) == moved
    found = adopt(people, "moved twice")
    assert not isinstance(found, Refused)
    assert (found["epoch"], found["previous"]) == (epoch + 1, epoch)


@pytest.mark.parametrize("kind", STORES)
def test_a_ledger_in_use_takes_no_import(
    source: Store, made: Callable[[str], Store], kind: str
) -> None:
    """Neither its own export nor a later one may stop or overtake it."""
    first = made("memory")
    transfer.import_into(first, transfer.export(source))
    own = made(kind)
    own_lines = list(transfer.export(first))
    transfer.import_into(own, own_lines)
    people = Operations(own, Caller(HUMAN))
    adopt(people, "in use")
    for lines in (own_lines, list(transfer.export(own))):
        refused(own, Code.LEDGER_EXISTS, lambda given=lines: transfer.import_into(own, given))  # type: ignore[misc]  # bound now
    assert isinstance(people.run(c.CreateItem("goes on")), Done)


@pytest.mark.parametrize("kind", STORES)
def test_an_import_that_was_cut_off_left_a_copy(
    source: Store, made: Callable[[str], Store], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(transfer, "CHUNK", 20)
    lines = list(transfer.export(source))
    people = Operations(made(kind), Caller(HUMAN))
    target = people.store
    for part in (lines[:1], lines[: len(lines) // 2]):
        with pytest.raises(RemitError, match="no last line"):
            transfer.import_into(target, part)
        refused(target, Code.LEDGER_NOT_ADOPTED, lambda: people.run(c.CreateLedger("world", HUMAN)))
    transfer.import_into(target, lines)
    refused(target, Code.LEDGER_NOT_ADOPTED, lambda: people.run(c.CreateItem("too early")))


def other_actor(lines: list[bytes]) -> list[bytes]:
    """The first act of somebody well into the history, under another name."""
    n = next(n for n, line in enumerate(lines) if n >= 20 and b'"ann"' in line)
    return [*lines[:n], lines[n].replace(b'"ann"', b'"eve"'), *lines[n + 1 :]]


CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "no header": lambda lines: lines[1:],
    "another ledger": lambda lines: [lines[0].replace(b"world", b"other"), *lines[1:]],
    "an event left out": lambda lines: lines[:20] + lines[21:],
    "two events in another order": lambda lines: [*lines[:20], lines[21], lines[20], *lines[22:]],
    "a changed actor": other_actor,
    "cut short": lambda lines: lines[:-1],
    "an end that lies": lambda lines: [*lines[:-1], lines[-1].replace(b'"root":"', b'"root":"0')],
    "something after the end": lambda lines: [*lines, lines[-1]],
    "no JSON": lambda lines: [*lines[:9], b"{\n", *lines[9:]],
    "another kind of line": lambda lines: [*lines[:9], b'{"x":1}\n', *lines[9:]],
    "no columns": lambda lines: [*lines[:9], b'{"event":{}}\n', *lines[9:]],
    "nothing": lambda _lines: [],
}  # fmt: skip


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_what_was_changed_on_the_way_is_refused(
    source: Store, made: Callable[[str], Store], change: str
) -> None:
    lines = list(transfer.export(source))
    changed = CHANGES[change](lines)
    assert changed != lines
    with pytest.raises(RemitError, match="cannot import line") as caught:
        transfer.import_into(made("memory"), changed)
    assert caught.value.code is Code.INPUT_PROBLEM


def test_another_ledger_is_not_written_over(source: Store, made: Callable[[str], Store]) -> None:
    target = made("memory")
    people = Operations(target, Caller("eve"))
    assert isinstance(people.run(c.CreateLedger("world", "eve")), Done)
    refused(
        target, Code.LEDGER_EXISTS, lambda: transfer.import_into(target, transfer.export(source))
    )
    other = made("memory")
    transfer.import_into(other, transfer.export(target))
    with pytest.raises(RemitError, match="another event 1"):
        transfer.import_into(other, transfer.export(source))
