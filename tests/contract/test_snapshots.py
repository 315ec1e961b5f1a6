"""Snapshots, blobs, clocks and adoption: what holds between transactions."""

from __future__ import annotations

import threading

import pytest
from tests.contract.builders import T0, begin, blob, flip, note, put, record
from tests.contract.conftest import Ledger

from remit.core.events import ClockJumped, EpochAdopted
from remit.core.refusals import Code
from remit.ports import Blob, Change, ClockJump, RemitError, Store


def test_a_reader_sees_one_moment(store: Store) -> None:
    begin(store)
    with store.read() as before:
        note(store, "W-1", 1)
        put(store, {("counter", "a"): 1})
        assert before.head().seq == 1
        assert before.load([("counter", "a")]) == {("counter", "a"): None}
        assert before.events(1, 9) == []
        with store.read() as after:
            assert after.head().seq == 2
            assert after.load([("counter", "a")]) == {("counter", "a"): 1}
    with store.read() as tx:
        assert tx.head().seq == 2


def test_a_reader_never_sees_an_open_transaction(store: Store) -> None:
    begin(store)
    with store.write() as tx:
        tx.append([record(tx, "ledger", 2, flip(), command_id="c1")])
        tx.write([Change(("counter", "a"), None, 1)])
        tx.put_blobs([blob(b"x")])
        with store.read() as other:
            assert other.head().seq == 1
            assert other.load([("counter", "a")]) == {("counter", "a"): None}
            assert other.commands(["c1"]) == {}
            assert other.blobs([blob(b"x").digest.hex()]) == {}
    with store.read() as other:
        assert other.head().seq == 2


def test_threads_write_one_after_another(store: Store) -> None:
    begin(store)
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(1, 11):
                note(store, name, n)
        except BaseException as error:  # the thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"W-{n}",)) for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with store.read() as tx:
        assert tx.head().seq == 41
        assert [e.seq for e in tx.events(0, 99)] == list(range(1, 42))


def test_blobs_stay_until_they_are_erased(ledger: Ledger) -> None:
    one, two = blob(b"one"), blob(b"two", b"")
    with ledger.store.write() as tx:
        tx.put_blobs([one, two])
        tx.put_blobs([one])
        assert tx.blobs([one.digest.hex()]) == {one.digest.hex(): b"one"}
    names = [b.digest.hex() for b in (one, two)]
    with ledger.store.write() as tx:
        tx.erase_blobs([names[0], "00" * 32])
        assert tx.blobs(names) == {names[1]: b"two"}
    with ledger.reopen().write() as tx:
        tx.put_blobs([one])
        assert tx.blobs(names) == {names[1]: b"two"}
    with ledger.store.read() as tx:
        found = tx.stored_blobs(b"", 9)
        by_digest: dict[bytes, Blob | bytes] = {one.digest: one.digest, two.digest: two}
        assert found == [by_digest[digest] for digest in sorted(by_digest)]
        assert tx.stored_blobs(b"", 1) == found[:1]
        assert tx.stored_blobs(min(one.digest, two.digest), 9) == found[1:]


def test_an_erasure_that_fails_erases_nothing(store: Store) -> None:
    one = blob(b"one")
    with store.write() as tx:
        tx.put_blobs([one])
    with (
        pytest.raises(ZeroDivisionError),
        store.write() as tx,
    ):  # leaving the transaction is part of what may raise
        tx.erase_blobs([one.digest.hex()])
        raise ZeroDivisionError
    with store.read() as tx:
        assert tx.blobs([one.digest.hex()]) == {one.digest.hex(): b"one"}


def now(store: Store) -> int:
    with store.read() as tx:
        return tx.now()


def test_time_passes_with_the_boot_clock(ledger: Ledger) -> None:
    begin(ledger.store)
    assert now(ledger.store) == T0
    ledger.hands.pass_us(7)
    assert now(ledger.store) == T0 + 7
    assert now(ledger.reopen()) == T0 + 7


def test_a_wall_clock_that_steps_moves_nothing(ledger: Ledger) -> None:
    begin(ledger.store)
    for step in (-3_600_000_000, 7_200_000_000):
        ledger.hands.wall += step
        before = now(ledger.store)
        ledger.hands.pass_us(11)
        assert now(ledger.store) == before + 11
        assert note(ledger.store, f"W-{step}", 1).at == before + 11


def test_time_goes_on_over_a_boot_with_the_wall_clock_behind(ledger: Ledger) -> None:
    begin(ledger.store)
    ledger.hands.pass_us(50)
    last = note(ledger.store, "W-1", 1).at
    ledger.hands.reboot(T0 - 9_000_000)
    store = ledger.reopen()
    assert now(store) == last
    ledger.hands.pass_us(5)
    assert now(store) == last + 5
    assert note(store, "W-1", 2).at == last + 5
    ledger.hands.pass_us(5)
    assert now(ledger.reopen()) == last + 10


def test_after_a_boot_a_wall_clock_ahead_is_believed(ledger: Ledger) -> None:
    begin(ledger.store)
    ledger.hands.reboot(T0 + 60_000_000)
    assert now(ledger.reopen()) == T0 + 60_000_000


def test_a_system_without_boot_ids_still_has_time_that_passes(ledger: Ledger) -> None:
    ledger.hands.boot = ""
    begin(ledger.store)
    first = now(ledger.store)
    ledger.hands.pass_us(9)
    ledger.hands.wall -= 1_000_000
    assert now(ledger.store) >= first


@pytest.mark.parametrize("step", [6_000_000, -6_000_000])
def test_a_jump_is_reported_until_it_is_recorded(ledger: Ledger, step: int) -> None:
    begin(ledger.store)
    ledger.hands.wall += step
    expected = ClockJump(T0 + step, T0, step)
    for _ in range(2):
        with ledger.store.write() as tx:
            assert tx.clock_jump() == expected
            tx.write([])
    with ledger.store.write() as tx:
        jump = ClockJumped(expected.wall_us, expected.ledger_us, expected.difference_us)
        tx.append([record(tx, "ledger", 2, jump)])
        assert tx.clock_jump() is None
    with ledger.reopen().write() as tx:
        assert tx.clock_jump() is None
    ledger.hands.wall -= step
    with ledger.store.write() as tx:
        assert tx.clock_jump() == ClockJump(T0, T0, -step)


def test_a_small_step_is_no_jump(ledger: Ledger) -> None:
    begin(ledger.store)
    ledger.hands.wall += 5_000_000
    with ledger.store.write() as tx:
        assert tx.clock_jump() is None


def test_an_epoch_must_be_above_all_known(ledger: Ledger) -> None:
    begin(ledger.store)
    with ledger.store.write(adopting=True) as tx:
        tx.append([record(tx, "ledger", 2, EpochAdopted(4, 0, "moved"))])
    store = ledger.reopen()
    assert store.epoch_known() == 4
    for epoch in (3, 4):
        with pytest.raises(RemitError) as caught, store.write(adopting=True) as tx:
            tx.append([record(tx, "ledger", 3, EpochAdopted(epoch, 4, "again"))])
        assert caught.value.code is Code.EPOCH_TOO_LOW
    assert store.epoch_known() == 4
