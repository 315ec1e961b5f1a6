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
from functools import partial
from pathlib import Path
from typing import Any, Final

from remit.core import commands as c
from remit.core import triage_records as records
from remit.core.checks import Result
from remit.core.facts import Lease
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.core.triage_records import Evidence
from remit.proofs.parity.meddling import Meddler
from remit.proofs.parity.outside import BASE
from remit.proofs.parity.scenario import Try
from remit.proofs.parity.timing import START_US
from remit.proofs.parity.world import REVIEWER, WORKER, World
from remit.service.engine import Answer
from remit.service.operations import lease_of
from remit.service.reading import brief

Wait = Generator["Until", str, Any]
"""An attempt: it waits, and is told why it was interrupted, or nothing."""

BEGINS_AGAIN: Final = 2
"""How often work that died with its supervisor is begun again under the same lease."""

_NOTICED, _RENEWED, _WORKED, _HALTED, _LEASED = range(5)
"""What comes first where two things fall on one moment."""


@dataclass(frozen=True, slots=True)
class Until:
    """Wait until a moment. ``busy`` says what somebody is at, who can be interrupted: work or a review."""

    at: int
    busy: str = ""


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
    whose work or review died with the supervisor, after how many beginnings.
    """

    at: int
    until: int
    done: Mapping[str, int]
    died: Mapping[str, str]
    begun: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Told:
    """All that a hand is told of the drain. ``halts`` are calls to stop at once, by moment."""

    order: tuple[Taken, ...]
    gaps: tuple[Gap, ...] = ()
    halts: tuple[tuple[int, str], ...] = ()
    ends: int = 0


@dataclass(eq=False, slots=True)
class Work:
    """One attempt under way: its generator, what it waits for, and whether it was called to a stop."""

    item: str
    lease: Lease
    walk: Wait = field(init=False)
    waits: Until = field(default_factory=lambda: Until(0))
    turn: int = 0
    halted: str = ""


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
            answer = mine.renew(c.RenewLease(taken.item, fence, taken.ttl_ms))
            if work is None:
                return
            if not isinstance(answer, Refused):
                self._watch(work, lease_of(answer))
            elif work.waits.busy == "work":
                self._go_on(work, "lease-refused")
            return
        command = c.GrantLease(taken.item, taken.ttl_ms, spend_micros=taken.spend_micros)
        answer = mine.lease(command)
        self._count(taken.item)
        if isinstance(answer, Refused):
            return
        work = Work(taken.item, lease_of(answer))
        work.walk = self._attempt(work)
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

    # One attempt, from its lease to whatever becomes of it.

    def _attempt(self, work: Work) -> Wait:
        item, lease = work.item, work.lease
        script = self.world.thing(item).at(lease.attempt)
        handed_in = yield from self._under_lease(work, item, lease, script)
        if handed_in:
            yield from self._landing(work, item, script)

    def _under_lease(self, work: Work, item: str, lease: Lease, script: Try) -> Wait:
        """Work, again where it died with its supervisor; whether something was handed in."""
        begun = 0
        while True:
            if begun:
                yield from self._present(item)
                begun = self._begun(item, begun)
            if not self._holds(item, lease):
                return False
            if begun and (work.halted or lease.spend_micros or begun > BEGINS_AGAIN):
                yield from self._back(item, lease, lease.spend_micros, None)
                return False
            if not self._brief(item, lease):
                return False
            self.world.delivery(WORKER).clone(item, lease.fence, Path("/nowhere") / item)
            if not script.probe:
                yield from self._give_up(item, lease, self._unfit(lease), 0, None)
                return False
            begun += 1
            why, told = yield from self._busy(work, item, lease, script)
            if why == "gone":
                return False
            if why != "died":
                break
        spent = lease.spend_micros if told is None else told
        if why:
            yield from self._back(item, lease, 0 if why == "not-begun" else spent, told)
            return False
        record = self._record(item, lease, script)
        if record is not None:
            yield from self._give_up(item, lease, record, spent, told)
            return False
        return (yield from self._hand_in(item, lease, spent, told))

    def _busy(self, work: Work, item: str, lease: Lease, script: Try) -> Wait:
        """The agent works: why it was interrupted, or nothing, and what it told of its cost."""
        while (gap := self._gap(item)) is not None:
            yield Until(gap.until)
            if gap.died.get(item) == "work":
                return "died", None
            if not self._holds(item, lease):
                return "gone", None
        if work.halted:
            return "not-begun", None
        began, told = self.world.now, None
        for at, spent in script.progress:
            if at >= script.works_us:
                break
            why = yield Until(began + at, busy="work")
            if why:
                return why, told
            report = c.ReportProgress(item, lease.fence, c.Text("on it"), spent)
            heard = self._did(item, self.world.operations(WORKER).report_progress(report))
            told = _most(told, spent)
            if not heard:
                return "lease-refused", told
        why = yield Until(began + script.works_us, busy="work")
        return why, told if why else _most(told, script.spent)

    def _begun(self, item: str, begun: int) -> int:
        """How often the work was begun, as whoever just came back is told."""
        last = next((gap for gap in self.told.gaps if gap.until == self.world.now), None)
        return last.begun.get(item, begun) if last is not None else begun

    def _unfit(self, lease: Lease) -> Evidence:
        """A cell that does not hold."""
        return records.probe_failed(
            probe=["write-outside"], result=[Result.FAIL], attempt=_of(lease)
        )

    def _record(self, item: str, lease: Lease, script: Try) -> Evidence | None:
        """What has to be said of an agent's end, or of what it left; None where it may be handed in."""
        attempt, gone = _of(lease), Result.PASS
        match script.came:
            case "crashed":
                return records.agent_crash(attempt=attempt, code="CRASHED", terminated=gone)
            case "timed-out":
                return records.timeout(
                    attempt=attempt, bound="wall", limit_ms=0, elapsed_ms=0, terminated=gone
                )
            case "declined" | "failed":
                return records.refusal(code="DECLINED")
        match script.left:
            case "secret":
                return records.secret_found(rule=["token"], path=["thing"], line=[1])
            case "out-of-scope":
                return records.scope_breach(outside=["elsewhere"], scope=["thing/**"])
            case "dirty":
                return records.dirty_tree(tree="clone", path=["thing"], attempt=attempt)
        return None

    def _hand_in(self, item: str, lease: Lease, spent: int, told: int | None) -> Wait:
        if not (yield from self._still(item, lease, told)):
            return False
        left = self.world.thing(item).at(lease.attempt).left
        head = BASE if left == "nothing" else self.world.remote.commit(item, lease.attempt).sha
        branch = f"remit/{lease.id.replace('L-', 'A-', 1)}"
        answer = self.world.delivery(WORKER).hand_in(
            item, lease.fence, head, branch=branch, text="done", spent_micros=spent
        )
        self._did(item, answer)
        if isinstance(answer, Refused) and answer.code is Code.NOTHING_TO_REVIEW:
            nothing = records.refusal(code="NOTHING_COMMITTED")
            yield from self._give_up(item, lease, nothing, spent, told)
        return not isinstance(answer, Refused)

    def _give_up(
        self, item: str, lease: Lease, record: Evidence, spent: int, told: int | None
    ) -> Wait:
        if (yield from self._still(item, lease, told)):
            command = records.give_up(record, item, lease.fence, c.Text("by hand"), spent)
            self._did(item, self.world.operations(WORKER).fail(command))

    def _back(self, item: str, lease: Lease, spent: int, told: int | None) -> Wait:
        if (yield from self._still(item, lease, told)):
            self._release(item, lease, spent)

    def _release(self, item: str, lease: Lease, spent: int) -> None:
        back = c.ReleaseLease(item, lease.fence, "by hand", spent)
        self._did(item, self.world.operations(WORKER).release(back))

    # After the hand-in, when nobody holds a lease.

    def _landing(self, work: Work, item: str, script: Try) -> Wait:
        """Review, integrate, ship and verify, as far as each leads to the next."""
        if not self.world.scenario.reviewer or not (yield from self._reviewed(work, item, script)):
            return
        if not (yield from self._may_go_on(work, item)):
            return
        integration = self.world.integration(WORKER)
        landed = integration.integrate(item, way="merge", ship=False)
        self._count(item)
        if isinstance(landed, Refused) or landed.outcome != "pushed":
            return
        if not (yield from self._may_go_on(work, item)):
            return
        self._did(item, integration.ship(item))
        if not (yield from self._may_go_on(work, item)):
            return
        if self.world.item(item).status is Status.SHIPPED:
            self._did(item, self.world.delivery(WORKER).verify(item))

    def _reviewed(self, work: Work, item: str, script: Try) -> Wait:
        """Somebody else looks at what was handed in; whether it was approved."""
        why = "died"
        while why == "died":
            if not (yield from self._may_go_on(work, item)):
                return False
            why = yield Until(self.world.now + script.reviews_us, busy="review")
        if why:
            return False
        yield from self._present(item)
        found = self.world.item(item)
        if found.status is Status.IN_REVIEW and found.work is not None:
            verdict = c.ReviewWork(item, script.approve, c.Text("as read"), found.work.head)
            self._did(item, self.world.operations(REVIEWER).review(verdict))
        return self.world.item(item).status is Status.APPROVED

    def _may_go_on(self, work: Work, item: str) -> Wait:
        """Whether the next thing may be begun, once somebody is there to begin it."""
        while not work.halted and (gap := self._gap(item)) is not None:
            yield Until(gap.until)
        return not work.halted

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

    def _still(self, item: str, lease: Lease, told: int | None) -> Wait:
        """Whether there is anything left to say: whoever was away looks first who holds the item.

        What it cost beyond what was set aside is a fact, and is said however late it is.
        """
        if self._gap(item) is None:
            return True
        yield from self._present(item)
        if self._holds(item, lease):
            return True
        if told is not None and told > lease.spend_micros:
            self._release(item, lease, told)
        return False

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


def _of(lease: Lease) -> str:
    """The attempt that a lease began."""
    return lease.id.replace("L-", "A-", 1)


def _most(told: int | None, more: int | None) -> int | None:
    """The highest total that was told: no figure takes another one back."""
    return max((x for x in (told, more) if x is not None), default=None)
