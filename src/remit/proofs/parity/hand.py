"""The hand: a person who works the same items through the same public operations, one step after another.

It was written from the contract and from nothing of the drain: lease, read the brief, make a clone, look
whether the cell holds, work, report, hand in, have it reviewed, integrate, ship, verify. It is told the
order and the moments in which the drain took and renewed leases, since two who choose differently end
differently, and when it is away (``Gap``), since somebody who is not there does nothing. What it does
next, and what it makes of what comes back, it decides itself.

Time passes for a hand by an agenda: each attempt is a generator that says until when it waits, and may
be interrupted by what a person would notice: the kill switch, a refused renewal, a call to stop.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from remit.core import commands as c
from remit.core.facts import Lease
from remit.core.refusals import Refused
from remit.core.status import Status
from remit.proofs.parity.meddling import Meddler
from remit.proofs.parity.scenario import Thing, Try
from remit.proofs.parity.world import REVIEWER, WORKER, World
from remit.service.engine import Answer
from remit.service.operations import lease_of
from remit.service.reading import brief

Wait = Generator["Until", str, Any]
"""An attempt: it waits, and is told why it was interrupted, or nothing."""

BEGINS_AGAIN: Final = 2
"""How often work that died with its supervisor is begun again under the same lease."""

GIVEN_UP: Final = {
    "declined": "refusal",
    "failed": "refusal",
    "crashed": "agent-crash",
    "timed-out": "timeout",
}
"""What a record is called that says how an agent ended."""

UNFIT: Final = {
    "secret": "secret-found",
    "out-of-scope": "scope-breach",
    "dirty": "dirty-tree",
    "nothing": "refusal",
}
"""What a record is called that says what is wrong with what came back."""


@dataclass(frozen=True, slots=True)
class Until:
    """Wait until a moment. ``busy`` says that somebody is at work, who can be interrupted."""

    at: int
    busy: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """One lease or renewal of the drain's order: when, which item, and with what."""

    at: int
    what: str
    item: str
    ttl_ms: int
    spend_micros: int = 0


@dataclass(frozen=True, slots=True)
class Gap:
    """While nobody was there: from when to when, how many operations of each item were done by then, and
    whose work died with the supervisor.
    """

    at: int
    until: int
    done: Mapping[str, int]
    died: frozenset[str]


@dataclass(frozen=True, slots=True)
class Told:
    """All that a hand is told of the drain. ``halts`` are calls to stop at once, by moment."""

    order: tuple[Taken, ...]
    gaps: tuple[Gap, ...] = ()
    halts: tuple[tuple[int, str], ...] = ()
    ends: int = 0


@dataclass(eq=False, slots=True)
class Work:
    """One attempt under way: its generator, and what it waits for."""

    item: str
    lease: Lease
    walk: Wait
    waits: Until = field(default_factory=lambda: Until(0))
    turn: int = 0
    reviewing: bool = False


class Hand:
    """Works one world by hand."""

    def __init__(self, world: World, told: Told) -> None:
        self.world = world
        self.told = told
        self.meddler = Meddler(world)
        self.works: dict[str, Work] = {}
        self.done: dict[str, int] = {}
        self.count = 0
        self._agenda: list[tuple[int, int, int, Callable[[], None]]] = []

    def work(self) -> None:
        """Work until nothing is left on the agenda."""
        for taken in self.told.order:
            self._enter(taken.at, 2, lambda t=taken: self._take(t))
        for at, why in self.told.halts:
            self._enter(at, 0, lambda w=why: self._halt(w))
        for gap in self.told.gaps:
            self._enter(gap.at, 1, lambda g=gap: self._die(g))
            self._enter(gap.until, 1, self._look)
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
        self.count += 1
        heapq.heappush(self._agenda, (at, rank, self.count, act))

    # Moments.

    def _meddle(self) -> None:
        """Others do something; a kill switch stops whoever is at work."""
        before = self._switch()
        self.meddler.happen()
        if self._switch() and not before:
            self._halt("kill-switch")

    def _switch(self) -> bool:
        with self.world.store.read() as tx:
            return bool(tx.small()["ledger", "ledger"].kill_switch)  # type: ignore[union-attr]

    def _halt(self, why: str) -> None:
        for work in list(self.works.values()):
            if work.waits.busy:
                self._go_on(work, why)

    def _take(self, taken: Taken) -> None:
        """The next lease or renewal in the drain's order."""
        mine = self.world.operations(WORKER)
        if taken.what == "renew":
            work = self.works.get(taken.item)
            fence = work.lease.fence if work is not None else 0
            answer = mine.renew(c.RenewLease(taken.item, fence, taken.ttl_ms))
            if isinstance(answer, Refused) and work is not None and work.waits.busy:
                self._go_on(work, "lease-refused")
            return
        command = c.GrantLease(taken.item, taken.ttl_ms, spend_micros=taken.spend_micros)
        answer = mine.lease(command)
        self._count(taken.item)
        if isinstance(answer, Refused):
            return
        lease = lease_of(answer)
        work = Work(taken.item, lease, self._attempt(taken.item, lease))
        self.works[taken.item] = work
        self._go_on(work, None)

    def _die(self, gap: Gap) -> None:
        """Whoever supervised is gone, and with it the work that it supervised."""
        for item in gap.died:
            work = self.works.get(item)
            if work is not None and work.waits.busy:
                self._go_on(work, "died")

    def _look(self) -> None:
        """Whoever comes back first sees which leases ran out meanwhile."""
        for name in self.world.items:
            self.world.operations(WORKER).run(c.ExpireLease(name))

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

        self._enter(waits.at, 1, woken)

    # One attempt, from its lease to whatever becomes of it.

    def _attempt(self, item: str, lease: Lease) -> Wait:
        thing, script = self.world.thing(item), self.world.thing(item).at(lease.attempt)
        handed_in = yield from self._under_lease(item, lease, script)
        if handed_in:
            yield from self._landing(item, thing, script)

    def _under_lease(self, item: str, lease: Lease, script: Try) -> Wait:
        """Work, again where it died with its supervisor; whether something was handed in."""
        begun = 0
        while True:
            yield from self._present(item)
            if not self._holds(item, lease):
                return False
            if begun and (lease.spend_micros or begun > BEGINS_AGAIN):
                yield from self._back(item, lease, lease.spend_micros)
                return False
            if not self._brief(item, lease):
                return False
            self.world.delivery(WORKER).clone(item, lease.fence, Path("/nowhere") / item)
            if not script.probe:
                yield from self._give_up(item, lease, "sandbox-probe-failed", 0)
                return False
            begun += 1
            why, told = yield from self._busy(item, lease, script)
            if why != "died":
                break
        spent = lease.spend_micros if told is None else told
        if why:
            yield from self._back(item, lease, spent)
            return False
        if script.came != "done":
            yield from self._give_up(item, lease, GIVEN_UP[script.came], spent)
            return False
        if script.left:
            yield from self._give_up(item, lease, UNFIT[script.left], spent)
            return False
        return (yield from self._hand_in(item, lease, spent))

    def _busy(self, item: str, lease: Lease, script: Try) -> Wait:
        """The agent works: why it was interrupted, or nothing, and what it told of its cost."""
        gap = self._gap(item)
        if gap is not None and item in gap.died:
            yield Until(gap.until)
            return "died", None
        yield from self._present(item)
        began, told = self.world.now, None
        for at, spent in script.progress:
            if at >= script.works_us:
                break
            why = yield Until(began + at, busy=True)
            if why:
                return why, told
            report = c.ReportProgress(item, lease.fence, c.Text("on it"), spent)
            self.world.operations(WORKER).report_progress(report)
            told = _most(told, spent)
        why = yield Until(began + script.works_us, busy=True)
        return why, told if why else _most(told, script.spent)

    def _hand_in(self, item: str, lease: Lease, spent: int) -> Wait:
        yield from self._present(item)
        head = self.world.remote.commit(item, lease.attempt).sha
        branch = f"remit/{lease.id.replace('L-', 'A-', 1)}"
        answer = self.world.delivery(WORKER).hand_in(
            item, lease.fence, head, branch=branch, text="done", spent_micros=spent
        )
        return self._did(item, answer)

    def _give_up(self, item: str, lease: Lease, kind: str, spent: int) -> Wait:
        yield from self._present(item)
        record = c.FailWork(item, lease.fence, kind, c.Text("by hand"), (), spent)
        self._did(item, self.world.operations(WORKER).fail(record))

    def _back(self, item: str, lease: Lease, spent: int) -> Wait:
        yield from self._present(item)
        back = c.ReleaseLease(item, lease.fence, "by hand", spent)
        self._did(item, self.world.operations(WORKER).release(back))

    # After the hand-in, when nobody holds a lease.

    def _landing(self, item: str, thing: Thing, script: Try) -> Wait:
        if not self.world.scenario.reviewer:
            return
        yield from self._present(item)
        why = yield Until(self.world.now + script.reviews_us, busy=True)
        while why == "died":
            yield from self._present(item)
            why = yield Until(self.world.now + script.reviews_us, busy=True)
        if why:
            return
        yield from self._present(item)
        work = self.world.item(item).work
        if self.world.item(item).status is not Status.IN_REVIEW or work is None:
            return
        verdict = c.ReviewWork(item, script.approve, c.Text("as read"), work.head)
        self._did(item, self.world.operations(REVIEWER).review(verdict))
        if not script.approve:
            return
        yield from self._present(item)
        landed = self.world.integration(WORKER).integrate(item, way="merge", ship=False)
        self._count(item)
        if isinstance(landed, Refused) or landed.outcome != "pushed":
            return
        yield from self._present(item)
        self._did(item, self.world.delivery(WORKER).mark_shipped(item, landed.commit))
        yield from self._present(item)
        if self.world.item(item).status is Status.SHIPPED:
            self._did(item, self.world.delivery(WORKER).verify(item))

    # What a person looks at.

    def _brief(self, item: str, lease: Lease) -> bool:
        """Read the task brief; nobody works without one that is about this lease."""
        with self.world.store.read() as tx:
            found = brief.build(tx, item)
        return not isinstance(found, Refused) and found["lease"]["fence"] == lease.fence

    def _holds(self, item: str, lease: Lease) -> bool:
        held = self.world.item(item).lease
        return held is not None and held.fence == lease.fence and held.expires_at > self._time()

    def _time(self) -> int:
        with self.world.store.read() as tx:
            return tx.now()

    def _present(self, item: str) -> Wait:
        """Wait until somebody is there to do the next thing to this item."""
        gap = self._gap(item)
        while gap is not None:
            yield Until(gap.until)
            gap = self._gap(item)

    def _gap(self, item: str) -> Gap | None:
        """The gap in which nobody is there for this item, if it is one."""
        now = self.world.now
        for gap in self.told.gaps:
            more = now == gap.at and self.done.get(item, 0) < gap.done.get(item, 0)
            if gap.at <= now < gap.until and not more:
                return gap
        return None

    def _did(self, item: str, answer: Answer) -> bool:
        self._count(item)
        return not isinstance(answer, Refused)

    def _count(self, item: str) -> None:
        self.done[item] = self.done.get(item, 0) + 1


def _most(told: int | None, more: int | None) -> int | None:
    """The highest total that was told: no figure takes another one back."""
    return max((x for x in (told, more) if x is not None), default=None)
