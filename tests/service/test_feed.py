"""The feed gives the stream, all of it, once, in order; and knows when it is another stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from tests.contract.builders import Hands
from tests.core.traffic import Traffic
from tests.core.world import HUMAN
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core.change import changed
from remit.core.refusals import Code
from remit.ports import RemitError, Store, StoreUnavailable
from remit.service import feed, transfer
from remit.service.adoption import adopt
from remit.service.engine import Done
from remit.service.operations import Caller, Operations
from remit.stores.memory import MemoryStore
from remit.stores.postgres import opening
from remit.stores.sqlite.store import create_store
from remit.wiring import Ledger

STORES = ("memory", "postgres", "sqlite")
START = feed.Position("world", 0, "", 0)


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """A history with adoptions in it, as an export."""
    traffic = Traffic(Random(7), most=30)
    traffic.run(150)
    assert traffic.world.store.epoch_known() > 0
    return list(transfer.export(traffic.world.store))


@pytest.fixture(params=STORES)
def store(
    request: pytest.FixtureRequest, postgres: Server, wiped: str, tmp_path: Path, lines: list[bytes]
) -> Iterator[Store]:
    made: Store
    if request.param == "postgres":
        made = opening.create_store(postgres.url(wiped), "world", readings=Hands())
    elif request.param == "sqlite":
        made = create_store(tmp_path / "a.db", "world", readings=Hands())
    else:
        made = MemoryStore("world", readings=Hands())
    transfer.import_into(made, lines)
    yield made
    made.close()


def copy(lines: list[bytes], clock: Hands | None = None) -> Store:
    made = MemoryStore("world", readings=clock or Hands())
    transfer.import_into(made, lines)
    return made


def whole(store: Store) -> list[tuple[int, str]]:
    with store.read() as tx:
        return [(e.seq, e.digest.hex()) for e in tx.stored(0, 1 << 30)]


def refused(code: Code, act: Callable[[], object]) -> None:
    with pytest.raises(RemitError) as caught:
        act()
    assert caught.value.code is code
    assert caught.value.hint


@pytest.mark.parametrize("size", [1, 7, 500])
def test_pages_of_any_size_are_the_stream(store: Store, size: int) -> None:
    found: list[tuple[int, str]] = []
    after = START
    while page := feed.page(store, after, size):
        assert len(page) <= size
        found += [(entry.recorded.seq, entry.after.digest) for entry in page]
        after = page[-1].after
    assert found == whole(store)
    assert after == feed.newest(store)
    assert after.epoch == store.epoch_known()


def test_from_every_position_on_the_rest_follows(store: Store) -> None:
    ledger = Ledger(store)
    all_of_it = whole(store)
    for entry in list(ledger.events())[::25]:
        kept = feed.kept_position(feed.kept_bytes(entry.after))
        assert kept == entry.after == feed.position_at(store, kept.seq)
        for start in (kept, kept.seq):
            rest = [(e.recorded.seq, e.after.digest) for e in ledger.events(start)]
            assert rest == all_of_it[kept.seq :]


def test_a_position_of_another_ledger_is_refused(store: Store) -> None:
    kept = feed.newest(store)
    refused(
        Code.CURSOR_OF_ANOTHER, lambda: feed.demand(store, changed(kept, ledger_id="elsewhere"))
    )
    refused(Code.CURSOR_AHEAD, lambda: feed.demand(store, changed(kept, seq=kept.seq + 1)))
    refused(Code.CURSOR_AHEAD, lambda: feed.page(store, changed(kept, seq=kept.seq + 1)))
    refused(Code.CURSOR_AHEAD, lambda: feed.position_at(store, kept.seq + 1))
    other = changed(kept, digest="0" * 64)
    refused(Code.CURSOR_DIVERGED, lambda: feed.demand(store, other))
    refused(Code.CURSOR_DIVERGED, lambda: feed.page(store, other))
    refused(Code.CURSOR_DIVERGED, lambda: feed.demand(store, changed(kept, epoch=kept.epoch + 1)))
    refused(Code.CURSOR_DIVERGED, lambda: feed.demand(store, changed(kept, epoch=kept.epoch - 1)))
    feed.demand(store, kept)


def test_a_fork_is_noticed_however_long_it_grows(store: Store, lines: list[bytes]) -> None:
    """Both were adopted after the same event: the one that was followed, and the other one."""
    clock = Hands()
    clock.pass_us(1 << 50)
    fork = copy(lines, clock)
    seen = Operations(store, Caller(HUMAN))
    adopt(seen, "the one that is followed")
    kept = feed.newest(store)
    refused(Code.CURSOR_AHEAD, lambda: feed.page(fork, kept))
    people = Operations(fork, Caller(HUMAN))
    adopt(people, "the other one")
    for n in range(3):
        assert isinstance(people.run(c.CreateItem(f"elsewhere {n}")), Done)
    refused(Code.CURSOR_DIVERGED, lambda: feed.page(fork, kept))
    refused(Code.CURSOR_DIVERGED, lambda: feed.demand(fork, kept))


def test_a_gap_is_damage(lines: list[bytes]) -> None:
    store = copy(lines)
    assert isinstance(store, MemoryStore)
    for taken_out in (20, 20):
        store._state.events.pop(taken_out)
    with pytest.raises(RemitError, match=r"found event 23 after event 20") as caught:
        list(feed.entries(store, START))
    assert caught.value.code is Code.LEDGER_CORRUPT


def test_a_store_that_is_away_is_opened_again(store: Store) -> None:
    """Nothing is lost or doubled over it, and it is said once when it goes and once when it is back."""
    waits: list[float] = []
    said: list[bool] = []
    tries: list[int] = []

    class Gone:
        ledger_id, url = "world", "gone"

        def read(self) -> None:
            raise StoreUnavailable("gone")

    def again() -> Store:
        tries.append(1)
        if len(tries) < 5:
            raise StoreUnavailable("still gone")
        return store

    pages = feed.follow(
        Gone(),  # type: ignore[arg-type]  # it is never there to be used
        START,
        wait=waits.append,
        again=again,
        told=lambda trouble: said.append(trouble is None),
    )
    found = [(e.recorded.seq, e.after.digest) for e in next(pages)]
    assert found == whole(store)[: feed.PAGE]
    assert said == [False, True]
    assert len(tries) == 5
    assert waits == [0.02, 0.04, 0.08, 0.16, 0.32]


@pytest.mark.parametrize(
    ("name", "seq", "code"),
    [("world", 9, Code.CURSOR_AHEAD), ("world", 1, Code.CURSOR_DIVERGED),
     ("other", 0, Code.CURSOR_OF_ANOTHER), ("other", 1, Code.CURSOR_OF_ANOTHER)],
)  # fmt: skip
def test_it_comes_back_to_a_ledger_that_is_another_one(name: str, seq: int, code: Code) -> None:
    class Gone:
        ledger_id, url = "world", "gone"

        def read(self) -> None:
            raise StoreUnavailable("gone")

    there = MemoryStore(name, readings=Hands())
    people = Operations(there, Caller(HUMAN))
    assert isinstance(people.run(c.CreateLedger(name, HUMAN)), Done)
    after = feed.Position("world", seq, "0" * 64 if seq else "", 0)
    pages = feed.follow(
        Gone(),  # type: ignore[arg-type]  # it is never there to be used
        after,
        wait=lambda _: None,
        again=lambda: there,
        told=lambda _: None,
    )
    refused(code, lambda: next(pages))


def test_where_nothing_happens_it_looks_ever_less_often(store: Store) -> None:
    waits: list[float] = []
    people = Operations(store, Caller(HUMAN))
    adopt(people, "in use")

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 8:
            assert isinstance(people.run(c.CreateItem("news")), Done)

    pages = feed.follow(
        store, feed.newest(store), wait=wait, again=lambda: store, told=lambda _: None
    )
    [news] = islice(pages, 1)
    assert waits == [0.02, 0.04, 0.08, 0.16, 0.25, 0.25, 0.25, 0.25]
    assert [e.after.seq for e in news] == [seq for seq, _ in whole(store)][-len(news) :]


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"null", b"\xff", b'{"ledger_id":"","seq":1,"digest":"","epoch":0}',
     b'{"ledger_id":"a","seq":-1,"digest":"","epoch":0}',
     b'{"ledger_id":"a","seq":"1","digest":"","epoch":0}'],
)  # fmt: skip
def test_what_is_no_position_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        feed.kept_position(data)
