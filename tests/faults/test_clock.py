"""A wall clock that steps back or forward changes no order, no expiry and no duration (INV-24)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from tests.contract.builders import Hands
from tests.ground.ledgers import HUMAN, done, each_event, faults_of, made, ready_item, refused

from remit.core import commands as c
from remit.core.events import ClockJumped, Recorded
from remit.core.facts import Item
from remit.core.item_events import LeaseExpired
from remit.core.refusals import Code
from remit.service.operations import lease_of
from remit.stores.sqlite.store import open_store
from remit.wiring import Ledger

SECOND = 1_000_000
HOUR, DAY = 3_600 * SECOND, 86_400 * SECOND


class Timed:
    """A ledger under clocks that a test sets."""

    def __init__(self, folder: Path) -> None:
        made(folder).close()
        self.path = folder / "ledger.db"
        self.hands = Hands()
        self.hands.wall = 2_000_000_000 * SECOND
        self.ledger = Ledger(open_store(self.path, readings=self.hands))
        ready_item(self.ledger)

    def reopen(self) -> None:
        """What another process finds."""
        self.ledger.close()
        self.ledger = Ledger(open_store(self.path, readings=self.hands))

    def now(self) -> int:
        with self.ledger.store.read() as tx:
            return tx.now()

    def note(self) -> None:
        done(self.ledger.acting(HUMAN).note(c.AddNote("W-1", c.Text("x"))))

    def item(self) -> Item:
        with self.ledger.store.read() as tx:
            found = tx.load([("item", "W-1")])["item", "W-1"]
        assert isinstance(found, Item)
        return found

    def events(self) -> list[Recorded]:
        found: list[Recorded] = []
        each_event(self.ledger, found.append)
        return found

    def jumps(self) -> list[int]:
        return [r.event.difference_us for r in self.events() if isinstance(r.event, ClockJumped)]


@pytest.fixture
def timed(tmp_path: Path) -> Iterator[Timed]:
    one = Timed(tmp_path)
    yield one
    times = [r.at for r in one.events()]
    assert times == sorted(times)
    assert faults_of(one.ledger) == []
    one.ledger.close()


@pytest.mark.parametrize("step", [-HOUR, HOUR, -400 * DAY, 400 * DAY])
def test_a_step_of_the_wall_clock_moves_no_time_and_is_recorded_once(
    timed: Timed, step: int
) -> None:
    timed.note()
    known, before = len(timed.jumps()), timed.now()
    timed.hands.wall += step
    timed.hands.pass_us(SECOND)
    assert timed.now() == before + SECOND
    timed.note()
    timed.note()
    [jumped] = timed.jumps()[known:]
    assert jumped == pytest.approx(timed.hands.wall - timed.now(), abs=2)
    timed.reopen()
    assert timed.now() == before + SECOND
    timed.note()
    assert len(timed.jumps()) == known + 1


@pytest.mark.parametrize("step", [-HOUR, HOUR, -400 * DAY, 400 * DAY])
def test_a_lease_lasts_as_long_as_it_was_given_for(timed: Timed, step: int) -> None:
    bob = timed.ledger.acting("bob")
    lease = lease_of(done(bob.lease(c.GrantLease("W-1", 10_000))))
    timed.hands.wall += step
    timed.hands.pass_us(9 * SECOND)
    done(bob.report_progress(c.ReportProgress("W-1", lease.fence)))
    refused(timed.ledger.acting("cyd").lease(c.GrantLease("W-1")), Code.ITEM_LEASED)
    timed.hands.wall -= 2 * step
    timed.hands.pass_us(SECOND)
    late = refused(bob.report_progress(c.ReportProgress("W-1", lease.fence)))
    assert late.code in (Code.LEASE_EXPIRED, Code.STALE_FENCE)
    assert any(isinstance(r.event, LeaseExpired) for r in timed.events())
    again = lease_of(done(timed.ledger.acting("cyd").lease(c.GrantLease("W-1"))))
    assert again.fence > lease.fence


@pytest.mark.parametrize("wall", [0, 1_000, 2_000_000_000 * SECOND - DAY])
def test_time_goes_on_after_a_boot_with_the_clock_set_back(timed: Timed, wall: int) -> None:
    timed.note()
    before = timed.now()
    timed.hands.reboot(wall)
    timed.reopen()
    assert timed.now() >= before
    timed.hands.pass_us(5 * SECOND)
    timed.note()
    assert timed.now() >= before + 5 * SECOND


def test_any_walk_of_the_clocks_keeps_order_and_expiry(timed: Timed) -> None:
    chance = Random(7)
    last = 0
    for _ in range(150):
        what = chance.choice(("pass", "pass", "step", "boot", "open"))
        if what == "pass":
            timed.hands.pass_us(chance.randrange(20 * SECOND))
        elif what == "step":
            timed.hands.wall = max(0, timed.hands.wall + chance.randrange(-DAY, DAY))
        elif what == "boot":
            timed.hands.reboot(max(0, timed.hands.wall + chance.randrange(-DAY, DAY)))
            timed.reopen()
        else:
            timed.reopen()
        now = timed.now()
        assert now >= last
        last = now
        before = timed.item().lease
        timed.ledger.acting("bob").lease(c.GrantLease("W-1", 10_000))
        after = timed.item().lease
        if before is not None and timed.now() < before.expires_at:
            assert after == before
        timed.note()
