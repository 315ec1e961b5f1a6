"""The machine's own clocks, and the moments that a ledger's clock makes of any (INV-24)."""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.builders import T0, Hands

from remit.core.events import KillSwitchEngaged, LedgerCreated, Recorded
from remit.stores.clock import JUMP_US, Anchor, Clock, Machine, first_anchor, jump
from remit.stores.sqlite.store import create_store, open_store


def test_the_machine_has_clocks_that_go_on() -> None:
    machine = Machine()
    before = machine.boot_us()
    assert abs(machine.wall_us() - time.time_ns() // 1000) < 5_000_000
    time.sleep(0.002)
    assert machine.boot_us() >= before + 2_000
    assert machine.boot_id() == Machine().boot_id()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which boot this is")
def test_linux_names_its_boot_and_time_namespace() -> None:
    boot, _, namespace = Machine().boot_id().partition(" ")
    assert len(boot) == 36
    assert namespace.startswith("time:")


STEPS = st.lists(
    st.tuples(st.sampled_from(["pass", "step", "boot", "commit"]), st.integers(-(10**10), 10**10)),
    max_size=40,
)


@given(STEPS)
def test_whatever_happens_time_goes_forward_and_passes(steps: list[tuple[str, int]]) -> None:
    """Wall clock stepped at will, boots, commits: ledger time never falls, and passes with time."""
    hands = Hands()
    anchor = first_anchor(hands)
    clock, last = Clock(hands), anchor.ledger_us
    for kind, figure in steps:
        if kind == "pass":
            hands.pass_us(abs(figure))
        elif kind == "step":
            hands.wall += figure
        elif kind == "boot":
            hands.reboot(max(0, hands.wall + figure))
            clock, last = Clock(hands), anchor.ledger_us  # what no commit kept is forgotten
        moment = clock.moment(anchor)
        assert moment.ledger_us >= last
        if kind == "pass":
            assert moment.ledger_us >= last + abs(figure)
        last = moment.ledger_us
        if kind in ("commit", "boot"):
            offset = anchor.offset_us
            anchor = Anchor(moment.boot_id, moment.boot_us, moment.ledger_us, offset)


COMMITS = st.lists(
    st.tuples(
        st.sampled_from(["pass", "step", "boot", "back", "commit"]), st.integers(-(10**10), 10**10)
    ),
    max_size=40,
)


@given(COMMITS)
def test_an_anchor_that_says_so_already_may_be_left(steps: list[tuple[str, int]]) -> None:
    """Kept at each commit or only where it says something new: what is now is the same by both."""
    hands = Hands()
    each = left = first_anchor(hands)
    clocks, newest = (Clock(hands), Clock(hands)), each.ledger_us
    for kind, figure in steps:
        if kind == "pass":
            hands.pass_us(abs(figure))
        elif kind == "step":
            hands.wall += figure
        elif kind == "boot":
            hands.reboot(max(0, hands.wall + figure))
            clocks = (Clock(hands), Clock(hands))
        elif kind == "back":  # a machine that was put back to how it was, in the same boot
            hands.up = max(0, hands.up - abs(figure))
        now = max(clocks[0].moment(each).ledger_us, newest)
        assert max(clocks[1].moment(left, newest).ledger_us, newest) == now
        if kind == "commit":
            newest = now
            each = Anchor(hands.boot, hands.up, now, each.offset_us)
            left = left if left.says_so(each) else each


def test_an_anchor_says_nothing_of_another_boot_offset_or_place_and_nothing_without_a_boot() -> (
    None
):
    anchor = Anchor("b", 5, 100, 1)
    assert anchor.says_so(Anchor("b", 7, 102, 1))
    for other in (
        Anchor("c", 7, 102, 1),
        Anchor("b", 7, 102, 2),
        Anchor("b", 7, 103, 1),
        Anchor("b", 4, 99, 1),
    ):
        assert not anchor.says_so(other)
    assert not Anchor("", 5, 100, 1).says_so(Anchor("", 7, 102, 1))


def test_a_commit_of_the_same_boot_leaves_the_clock_that_is_kept(tmp_path: Path) -> None:
    hands, path = Hands(), tmp_path / "ledger.db"
    store = create_store(path, "l", readings=hands)

    def kept() -> tuple[str, int, int]:
        with closing(sqlite3.connect(path)) as raw:
            found = raw.execute("SELECT boot_id, boot_us, ledger_us FROM store_state").fetchone()
        return tuple(found)

    def noted() -> int:
        with store.write() as tx:
            now, seq = tx.now(), tx.head().seq + 1
            event = LedgerCreated("l", 1) if seq == 1 else KillSwitchEngaged("x")
            tx.append([Recorded(seq, "ledger", seq, "a", "asserted", now, event)])
        return now

    first = kept()
    hands.pass_us(3_600_000_000)
    last = noted()
    assert last == first[2] + 3_600_000_000
    assert kept() == first
    store.close()
    hands.reboot(T0 - 9_000_000)
    store = open_store(path, readings=hands)
    with store.read() as snapshot:
        assert snapshot.now() == last  # not where the kept clock stood an hour before
    hands.pass_us(5_000_000)
    again = noted()
    assert again == last + 5_000_000
    assert kept() == (hands.boot, 5_000_000, again)
    store.close()


@pytest.mark.parametrize("difference", [JUMP_US + 1, -JUMP_US - 1, 10**12])
def test_a_jump_is_more_than_the_bound(difference: int) -> None:
    hands = Hands()
    anchor = first_anchor(hands)
    assert jump(anchor, Clock(hands).moment(anchor)) is None
    hands.wall += difference
    found = jump(anchor, Clock(hands).moment(anchor))
    assert found is not None
    assert (found.difference_us, found.ledger_us) == (difference, T0)
