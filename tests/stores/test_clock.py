"""The machine's own clocks, and the moments that a ledger's clock makes of any (INV-24)."""

from __future__ import annotations

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.builders import T0, Hands

from remit.stores.clock import JUMP_US, Anchor, Clock, Machine, first_anchor, jump


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


@pytest.mark.parametrize("difference", [JUMP_US + 1, -JUMP_US - 1, 10**12])
def test_a_jump_is_more_than_the_bound(difference: int) -> None:
    hands = Hands()
    anchor = first_anchor(hands)
    assert jump(anchor, Clock(hands).moment(anchor)) is None
    hands.wall += difference
    found = jump(anchor, Clock(hands).moment(anchor))
    assert found is not None
    assert (found.difference_us, found.ledger_us) == (difference, T0)
