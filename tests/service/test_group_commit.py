"""Many threads in one process share transactions, and none of them notices but by the clock (INV-9)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remit.core import commands as c
from remit.core.refusals import Code, Refused
from remit.ports import OutcomeUnknown, RemitError, StoreUnavailable, WriteTx
from remit.service.engine import Done
from remit.service.group import GroupEngine
from remit.service.operations import Caller, Operations, item_of
from remit.wiring import Ledger, create_ledger, url_of

THREADS = 16


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = create_ledger(url_of(tmp_path / "ledger.db"), "ann")
    yield made
    made.close()


def together(work: Callable[[int], object], count: int = THREADS) -> list[object]:
    """What each thread's work returned or raised, all begun at once."""
    found: list[object] = [None] * count
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        try:
            found[number] = work(number)
        except Exception as error:
            found[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def engine_of(ledger: Ledger, wait_s: float = 0.05) -> GroupEngine:
    return GroupEngine(ledger.store, wait_s)


def test_threads_share_commits_and_each_gets_its_own_answers(ledger: Ledger) -> None:
    engine = engine_of(ledger)
    ops = Operations(ledger.store, Caller("ann"), engine)

    def work(number: int) -> list[str]:
        made = [ops.create(c.CreateItem(f"{number}-{i}")) for i in range(5)]
        return [item_of(answer) for answer in made]

    found = together(work)
    items = [item for made in found for item in made]  # type: ignore[attr-defined]  # lists of ids
    assert len(set(items)) == THREADS * 5
    assert engine.grouped_calls == THREADS * 5
    assert engine.groups < engine.grouped_calls
    with ledger.reading() as tx:
        for number, made in enumerate(found):
            titles = [tx.load([("item", i)])["item", i].title for i in made]  # type: ignore[attr-defined, union-attr]  # items
            assert titles == [f"{number}-{i}" for i in range(5)]


def test_without_a_wait_a_lone_call_goes_at_once_and_company_still_shares(ledger: Ledger) -> None:
    engine = engine_of(ledger, 0.0)
    ops = Operations(ledger.store, Caller("ann"), engine)
    assert isinstance(ops.create(c.CreateItem("alone")), Done)
    assert (engine.groups, engine.grouped_calls) == (1, 1)
    found = together(lambda n: [ops.create(c.CreateItem(f"{n}-{i}")) for i in range(20)])
    assert all(isinstance(a, Done) for made in found for a in made)  # type: ignore[attr-defined]  # lists
    assert engine.grouped_calls == 1 + THREADS * 20
    assert engine.groups < engine.grouped_calls


def test_a_refusal_is_its_own_and_a_repeat_is_answered(ledger: Ledger) -> None:
    ops = Operations(ledger.store, Caller("ann"), engine_of(ledger))

    def work(number: int) -> object:
        if number % 2:
            return ops.close(c.CloseItem("W-999", "cancelled"))
        return ops.create(c.CreateItem("same"), command_id=f"id-{number % 4}")

    found = together(work)
    refused = [a for a in found if isinstance(a, Refused)]
    done = [a for a in found if isinstance(a, Done)]
    assert {a.code for a in refused} == {Code.NOT_FOUND}
    assert len(refused) == len(done) == THREADS // 2
    assert len({item_of(a) for a in done}) == 2


def test_a_fault_in_one_call_fails_that_call_alone(ledger: Ledger) -> None:
    engine = engine_of(ledger)
    ops = Operations(ledger.store, Caller("ann"), engine)

    def work(number: int) -> object:
        if number == 3:
            return engine.run([_Broken()])  # type: ignore[list-item]  # a bug of one caller
        return ops.create(c.CreateItem(f"item {number}"))

    found = together(work)
    assert isinstance(found[3], AttributeError)
    assert all(isinstance(a, Done) for n, a in enumerate(found) if n != 3)


class _Broken:
    """No call at all."""


@pytest.mark.parametrize("error", [StoreUnavailable("away"), OutcomeUnknown("lost")])
def test_what_the_store_says_is_said_to_all(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, error: RemitError
) -> None:
    ops = Operations(ledger.store, Caller("ann"), engine_of(ledger))

    def failing(**_: object) -> WriteTx:
        raise error

    monkeypatch.setattr(ledger.store, "write", failing)
    found = together(lambda n: ops.create(c.CreateItem(f"item {n}")), 8)
    assert all(a is error for a in found)


def test_an_atomic_list_goes_by_itself(ledger: Ledger) -> None:
    ops = Operations(ledger.store, Caller("ann"), engine_of(ledger))
    both: list[c.Command] = [c.CreateItem("one"), c.CloseItem("W-999", "cancelled")]

    found = together(
        lambda n: ops.run(both, atomic=True) if n % 2 else ops.create(c.CreateItem("x"))
    )
    assert sum(isinstance(a, Done) for a in found) == THREADS // 2
    with ledger.reading() as tx:
        assert tx.small()["count", "draft"] == THREADS // 2


def test_more_than_one_transaction_holds_is_served_in_turn(ledger: Ledger) -> None:
    ops = Operations(ledger.store, Caller("ann"), engine_of(ledger))
    lists = [[c.CreateItem(f"{n}-{i}") for i in range(300)] for n in range(6)]
    found = together(lambda n: ops.create(lists[n]), 6)
    assert all(isinstance(a, Done) for made in found for a in made)  # type: ignore[attr-defined]  # lists
