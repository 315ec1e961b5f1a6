"""The hand: a person who works the same items through the same public operations, moment by moment.

What is done in an attempt stands in ``working``; here is when. The hand is told the order and the moments in
which the drain took and renewed leases, since two who choose differently end differently. Everything
stands on an agenda: each attempt waits for its own moments, and is interrupted by what a person would
notice: the kill switch, a refused renewal, the end of a lease, a call to stop.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial

from remit.core import commands as c
from remit.core.facts import Lease
from remit.core.ledger_facts import Ledger
from remit.core.refusals import Refused
from remit.proofs.parity.meddling import Meddler
from remit.proofs.parity.timing import START_US
from remit.proofs.parity.working import Gap, Taken, Told, Work, Worker
from remit.proofs.parity.world import WORKER, World
from remit.service.operations import lease_of

__all__ = ["Gap", "Hand", "Taken", "Told"]

_NOTICED, _RENEWED, _WORKED, _HALTED, _LEASED = range(5)
"""What comes first where two things fall on one moment."""


class Hand(Worker):
    """Works one world by hand."""

    def __init__(self, world: World, told: Told) -> None:
        super().__init__(world, told)
        self.meddler = Meddler(world)
        self.works: dict[str, Work] = {}
        self._entered = 0
        self._agenda: list[tuple[int, int, int, Callable[[], None]]] = []

    def work(self) -> None:
        """Work until nothing is left on the agenda."""
        for gap in self.told.gaps:
            self._enter(gap.at, _NOTICED, partial(self._die, gap))
            self._enter(gap.until, _NOTICED, self._look)
        for at, why in self.told.halts:
            back = any(gap.until == at for gap in self.told.gaps)
            self._enter(at, _NOTICED if back else _HALTED, partial(self._halt, why))
        for taken in self.told.order:
            rank = _RENEWED if taken.what == "renew" else _LEASED
            self._enter(taken.at, rank, partial(self._take, taken))
        while True:
            acts = self.meddler.due()
            first = self._agenda[0][0] if self._agenda else None
            if first is None and acts is None:
                return
            if acts is not None and (first is None or acts <= first):
                self._move(acts)
                self._meddle()
                continue
            assert first is not None
            self._move(first)
            heapq.heappop(self._agenda)[3]()

    def _move(self, at: int) -> None:
        self.world.clock.passed = max(self.world.clock.passed, at)

    def _enter(self, at: int, rank: int, act: Callable[[], None]) -> None:
        self._entered += 1
        heapq.heappush(self._agenda, (at, rank, self._entered, act))

    # Moments.

    def _meddle(self) -> None:
        """Others do something; a kill switch stops whoever is at work."""
        before = self._switch()
        self.meddler.happen()
        if self._switch() and not before:
            self._halt("kill-switch")

    def _switch(self) -> bool:
        with self.world.store.read() as tx:
            ledger = tx.small()["ledger", "ledger"]
        return isinstance(ledger, Ledger) and bool(ledger.kill_switch)

    def _halt(self, why: str) -> None:
        """Begin nothing more of what is under way, and stop whoever is at work; if anybody is there."""
        now = self.world.now
        if any(gap.at < now < gap.until for gap in self.told.gaps):
            return
        dying = {item for gap in self.told.gaps if gap.at == now for item in gap.died}
        for work in list(self.works.values()):
            if work.item in dying:
                continue
            work.halted = work.halted or why
            if work.waits.busy:
                self._go_on(work, why)

    def _take(self, taken: Taken) -> None:
        """The next lease or renewal in the drain's order."""
        mine = self.world.operations(WORKER)
        if taken.what == "renew":
            work = self.works.get(taken.item)
            fence = work.lease.fence if work is not None else 0
            answer = mine.renew(c.RenewLease(taken.item, fence))
            if work is None:
                return
            if not isinstance(answer, Refused):
                self._watch(work, lease_of(answer))
            elif work.waits.busy == "work":
                self._go_on(work, "lease-refused")
            return
        command = c.GrantLease(taken.item, spend_micros=self.world.scenario.reserve)
        answer = mine.lease(command)
        self.count(taken.item)
        if isinstance(answer, Refused):
            return
        work = Work(taken.item, lease_of(answer))
        work.walk = self.attempt(work)
        self.works[taken.item] = work
        self._watch(work, work.lease)
        self._go_on(work, None)

    def _watch(self, work: Work, lease: Lease) -> None:
        """Nobody works on under a lease that is over, so its end is on the agenda."""
        work.lease = lease

        def over() -> None:
            if work.lease is lease and work.waits.busy == "work":
                self._go_on(work, "lease-over")

        self._enter(lease.expires_at - START_US, _HALTED, over)

    def _die(self, gap: Gap) -> None:
        """Whoever supervised is gone, and with it the work that it supervised."""
        for item, phase in gap.died.items():
            if self.done.get(item, 0) < gap.done.get(item, 0):  # it still said something just now
                self._enter(gap.at, _HALTED, partial(self._end, item, phase))
            else:
                self._end(item, phase)

    def _end(self, item: str, phase: str) -> None:
        work = self.works.get(item)
        if work is not None and work.waits.busy == phase:
            self._go_on(work, "died")

    def _look(self) -> None:
        """Whoever comes back first sees which leases ran out meanwhile, and whether to go on at all.

        A call to stop that nobody is left to remember does not count any more.
        """
        for work in self.works.values():
            work.halted = ""
        for name in self.world.items:
            self.world.operations(WORKER).run(c.ExpireLease(name))
        if self._switch():
            self._halt("kill-switch")

    def _go_on(self, work: Work, why: str | None) -> None:
        """Let an attempt go on until it waits again, or is over."""
        work.turn += 1
        try:
            waits = next(work.walk) if why is None else work.walk.send(why)
        except StopIteration:
            if self.works.get(work.item) is work:
                del self.works[work.item]
            return
        work.waits = waits
        turn = work.turn

        def woken() -> None:
            if work.turn == turn:
                self._go_on(work, "")

        self._enter(waits.at, _WORKED, woken)
