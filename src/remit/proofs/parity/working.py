"""How a hand works one attempt: what a person does next, and what is made of what comes back.

It was written from the contract and from nothing of the drain: lease, read the brief, make a clone, look
whether the cell holds, work, report, hand in, have it reviewed, integrate, ship, verify. An attempt is a
generator that says until when it waits; why it is interrupted, if it is, comes back as its value.

A hand is told when nobody was there (``Gap``), since somebody who is not there does nothing; all else it
finds on its own ledger.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from remit.core import commands as c
from remit.core import triage_records as records
from remit.core.checks import Result
from remit.core.facts import Lease
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.core.triage_records import Evidence
from remit.proofs.parity.outside import BASE
from remit.proofs.parity.scenario import Try
from remit.proofs.parity.world import REVIEWER, WORKER, World
from remit.service.engine import Answer
from remit.service.reading import brief

Wait = Generator["Until", str, Any]
"""An attempt: it waits, and is told why it was interrupted, or nothing."""

BEGINS_AGAIN: Final = 2
"""How often work that died with its supervisor is begun again under the same lease."""


@dataclass(frozen=True, slots=True)
class Until:
    """Wait until a moment. ``busy`` says what somebody is at, who can be interrupted: work or a review."""

    at: int
    busy: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """One lease or renewal of the drain's order: when, and which item. With what, a hand knows itself."""

    at: int
    what: str
    item: str


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


class Worker:
    """Works attempts in one world. ``done`` counts the operations of each item."""

    def __init__(self, world: World, told: Told) -> None:
        self.world = world
        self.told = told
        self.done: dict[str, int] = {}

    def attempt(self, work: Work) -> Wait:
        """From a lease to whatever becomes of it."""
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
                if not (yield from self._still(item, lease, None)):
                    return False
                if work.halted:  # whoever came back to that begins nothing any more
                    yield from self._back(item, lease, 0, None)
                else:
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
        self.count(item)
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
        self.count(item)
        return not isinstance(answer, Refused)

    def count(self, item: str) -> None:
        """One more operation of this item was asked for, whatever its answer."""
        self.done[item] = self.done.get(item, 0) + 1


def _of(lease: Lease) -> str:
    """The attempt that a lease began."""
    return lease.id.replace("L-", "A-", 1)


def _most(told: int | None, more: int | None) -> int | None:
    """The highest total that was told: no figure takes another one back."""
    return max((x for x in (told, more) if x is not None), default=None)
