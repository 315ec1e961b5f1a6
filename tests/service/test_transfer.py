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
from remit.core.refusals import Code
from remit.ports import RemitError, Store
from remit.service import transfer
from remit.service.engine import Done
from remit.service.integrity import verify
from remit.service.operations import Caller, Operations
from remit.stores.memory import MemoryStore
from remit.stores.postgres import opening
from remit.stores.sqlite.store import create_store


@pytest.fixture(scope="module")
def source() -> Store:
    """A ledger with a history, long texts, and one text that was erased."""
    traffic = Traffic(Random(7), most=30)
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


def test_work_goes_on_in_the_new_store(source: Store, made: Callable[[str], Store]) -> None:
    target = made("postgres")
    transfer.import_into(target, transfer.export(source))
    people = Operations(target, Caller(HUMAN))
    assert isinstance(people.run(c.CreateItem("after the move")), Done)
    assert verify(target, fold=evolve).rows_compared


CHANGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "no header": lambda lines: lines[1:],
    "another ledger": lambda lines: [lines[0].replace(b"world", b"other"), *lines[1:]],
    "an event left out": lambda lines: lines[:20] + lines[21:],
    "two events in another order": lambda lines: [*lines[:20], lines[21], lines[20], *lines[22:]],
    "a changed actor": lambda lines: [*lines[:20], lines[20].replace(b'"ann"', b'"eve"'), *lines[21:]],
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
    with pytest.raises(RemitError, match="another event 1"):
        transfer.import_into(target, transfer.export(source))
