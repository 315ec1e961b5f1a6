"""The journey of one item through a run: from its lease to whatever the run can bring it to.

A generator on the conductor's one thread. What may take its time is yielded as a job and comes back as
its value; between two jobs it calls canonical operations (``hands``) and writes down how far it is. Where
the item stands on the ledger decides what comes next, and the last checkpoint says only what of the
outside was done: so a journey that begins anywhere, after any death, comes to the same end.

An agent that was killed with its supervisor did not fail. Its commits are kept, and it begins again in
the same attempt, as often as ``words.RESTARTS`` says; where it could spend money it does not, because
nobody knows what the first start has cost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit.core.facts import Item, Lease
from remit.core.refusals import Code, Refused
from remit.drain import endings, landing, words
from remit.drain.atwork import SAID_CHARS, AtWork, Hold, handed_in, hold_of
from remit.drain.hands import Hands
from remit.drain.workplace import Job, Task, Tell, Told
from remit.ports.agent import Progress

if TYPE_CHECKING:
    from remit.core.run_facts import RunEntry

Walk = Generator[Job, Any, Any]

TRIES: Final = 4
"""How often what could not be done just now is asked for."""

_LATER: Final = frozenset(
    {"EFFECT_UNRECONCILED", "MAIN_MOVED", "ROWS_BLOCKED", "REMOTE_UNREACHABLE",
     "REPOSITORY_REFUSED", "NOT_SENT", "COMMIT_UNMERGED"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Options:
    """What a run was told about its work; it is part of the run's record, so a resume has the same.

    ``ttl_ms`` 0 is what the policy says. ``reserve_micros`` is set aside for each item. ``way`` is how
    approved work lands: ``merge``, ``rebase``, ``pr`` or ``none``.
    """

    ttl_ms: int = 0
    reserve_micros: int = 0
    way: str = "none"
    work_class: str = ""
    tenant: str = ""


class Journey:
    """One entry of a run on its way. ``walk`` is its generator; ``stop`` is for the conductor."""

    def __init__(
        self, hands: Hands, entry: RunEntry, options: Options, tell: Tell, *, approved: bool = False
    ) -> None:
        self.hands = hands
        self.entry = entry
        self.options = options
        self.tell = tell
        # What was approved before this run chose it has no lease of this run, then or on a resume.
        self.approved = approved or (not words.later("reviewed", entry.step) and not entry.lease)
        self.ticket = f"{entry.item}/{entry.number}"
        self.hold: Hold | None = None
        self.doing = "lease"
        self.since_us = hands.now()
        self.spent_micros = entry.spent_micros
        self.halted = ""
        self.settled = ""
        self.refused_for: Code | None = None
        self.detail = ""
        self._running: Callable[[str], None] | None = None
        self.starts = endings.starts_in(entry.detail)

    def stop(self, why: str) -> None:
        """Begin nothing more, hand back what can be handed back, and end what runs."""
        self.halted = self.halted or why
        if self._running is not None:
            self._running(why)

    def must_end(self) -> bool:
        """Whether nothing more may begin."""
        return bool(self.halted)

    def running(self, stop: Callable[[str], None] | None) -> None:
        """What ends the agent that is about to run; None where none runs."""
        self._running = stop
        if stop is not None and self.halted:
            stop(self.halted)

    def aside(self, detail: str) -> None:
        """Why the run goes no further with this entry."""
        self.detail = detail[:500]

    def reviewing(self, line: Progress) -> None:
        """What a reviewer tells of its progress, for whoever watches."""
        self.tell(Told("progress", self.entry.item, line.text[:SAID_CHARS]))

    # The whole way.

    def walk(self) -> Walk:
        """From where the entry is to its end; it is settled when this ends."""
        if self.approved:
            yield from landing.land(self, self.hands.item(self.entry.item))
            return
        if words.later("leased", self.entry.step):
            if self.must_end() and not self.hands.did(self.entry, "leased"):
                self.settle("released", 0, words.STOPPED)
                return
            lease = self._lease()
            if lease is None:
                return
        else:
            self._take_up()
        hold = self.hold
        assert hold is not None, "a leased entry holds its lease"
        item = self.hands.item(self.entry.item)
        if item.lease is not None and item.lease.fence == hold.fence:
            if not (yield from AtWork(self, hold).walk()):
                return
            item = self.hands.item(self.entry.item)
        elif not handed_in(item, hold):
            yield from AtWork(self, hold).gone()
            return
        elif item.work is not None:
            self.note("handed-in", head=item.work.head)
        self.hold = None
        yield from AtWork(self, hold).tidy()
        yield from landing.land(self, self.hands.item(self.entry.item))

    def _lease(self) -> Lease | None:
        lease = self.hands.lease(self.entry, self.options.ttl_ms)
        if isinstance(lease, Refused):
            self.hands.refuse(self.entry.item, lease)
            self.refused_for = lease.code
            self.settle("refused", 0, lease.code.value)
            return None
        attempt = lease.id.replace("L-", "A-", 1)
        self.hold = hold_of(lease, attempt)
        self.note("leased", lease=lease.id, attempt=attempt, fence=lease.fence)
        return lease

    def _take_up(self) -> None:
        """The lease of an entry that an earlier holder of the run has brought so far."""
        entry = self.entry
        now = self.hands.now()
        self.hold = Hold(entry.lease, entry.fence, entry.attempt, now)
        self.tell(Told("taken-up", entry.item, entry.step))

    def task(self, hold: Hold, item: Item | None = None) -> Task:
        """What a site is to know of this attempt."""
        item = item or self.hands.item(self.entry.item)
        return Task(
            self.hands.run,
            item.id,
            hold.attempt,
            f"remit/{hold.attempt}",
            tuple(item.plan.scope),
            tuple(item.plan.artifacts),
            self.entry.reserved_micros,
        )

    def asked(self, act: Job) -> Walk:
        """Ask until asking again could change nothing; the last answer counts."""
        left = TRIES
        while True:
            answer = yield act
            left -= 1
            later = isinstance(answer, Refused) and answer.code.value in _LATER
            if not later or not left or self.must_end():
                return answer

    # The entry's record.

    def act(self, doing: str) -> None:
        """What is being done now, for whoever watches."""
        self.doing, self.since_us = doing, self.hands.now()
        self.tell(Told("doing", self.entry.item, doing))

    def note(self, step: str, **figures: Any) -> None:
        """Write a step down, unless the record is further: then only this process is told."""
        if words.later(self.entry.step, step):
            return
        self.entry = self.hands.checkpoint(self.entry, step, **figures)
        self.tell(Told("step", self.entry.item, step))

    def settle(self, outcome: str, spent_micros: int, detail: str = "") -> None:
        """The end of this entry."""
        self.hands.settle(self.entry, outcome, spent_micros, detail)
        self.settled = outcome
        self.tell(Told("settled", self.entry.item, outcome, {"spent_micros": spent_micros}))
