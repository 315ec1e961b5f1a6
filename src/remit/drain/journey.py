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
from remit.drain import landing, words
from remit.drain.agents.outcomes import TRIAGE, Came, charge
from remit.drain.hands import Hands
from remit.drain.workplace import Examined, Job, Keep, Kept, Ready, Site, Task, Tell, Told, Worked
from remit.ports.agent import Progress

if TYPE_CHECKING:
    from remit.core.run_facts import RunEntry

Walk = Generator[Job, Any, Any]

SAID_CHARS: Final = 4_000
_UNFIT_TRIES: Final = 2


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


@dataclass(slots=True)
class Hold:
    """The lease that an entry works under. ``due_us`` is when it is to be renewed next."""

    lease: str
    fence: int
    attempt: str
    ttl_ms: int
    due_us: int
    working: bool = False


class Journey:
    """One entry of a run on its way. ``walk`` is its generator; ``stop`` is for the conductor."""

    def __init__(self, hands: Hands, entry: RunEntry, options: Options, tell: Tell) -> None:
        self.hands = hands
        self.entry = entry
        self.options = options
        self.tell = tell
        self.ticket = f"{entry.item}/{entry.number}"
        self.hold: Hold | None = None
        self.doing = "lease"
        self.since_us = hands.now()
        self.spent_micros = entry.spent_micros
        self.halted = ""
        self.settled = ""
        self.detail = ""
        self._running: Callable[[str], None] | None = None
        self._told = 0
        self.restarts = landing.number_in(entry.detail, "starts")

    def stop(self, why: str) -> None:
        """Begin nothing more, hand back what can be handed back, and end what runs."""
        self.halted = self.halted or why
        if self._running is not None:
            self._running(why)

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
        if words.later("leased", self.entry.step):
            lease = self._lease()
            if lease is None:
                return
        else:
            self._take_up()
        hold = self.hold
        assert hold is not None, "a leased entry holds its lease"
        item = self.hands.item(self.entry.item)
        if item.lease is not None and item.lease.fence == hold.fence:
            if not (yield from self._work(hold)):
                return
            item = self.hands.item(self.entry.item)
        elif not handed_in(item, hold):
            yield from self._gone(hold, item)
            return
        self.hold = None
        yield from self._tidy(hold)
        yield from landing.land(self, self.hands.item(self.entry.item))

    def _lease(self) -> Lease | None:
        lease = self.hands.lease(self.entry, self.options.ttl_ms)
        if isinstance(lease, Refused):
            self.hands.refuse(self.entry.item, lease)
            self.settle("refused", 0, lease.code.value)
            return None
        attempt = lease.id.replace("L-", "A-", 1)
        self.hold = hold_of(lease, attempt)
        self.note("leased", lease=lease.id, attempt=attempt, fence=lease.fence)
        return lease

    def _take_up(self) -> None:
        """The lease of an entry that an earlier holder of the run has brought so far."""
        entry = self.entry
        item = self.hands.item(entry.item)
        now = self.hands.now()
        ttl_ms = item.lease.ttl_ms if item.lease is not None else 0
        self.hold = Hold(entry.lease, entry.fence, entry.attempt, ttl_ms, now)
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

    # Work under the lease.

    def _work(self, hold: Hold) -> Walk:
        """Until the work is handed in; whether it was. What is not is settled here."""
        task = self.task(hold)
        site = self.hands.place.site(task)
        if words.later("ended", self.entry.step):
            worked = yield from self._attempt(hold, task, site)
            if worked is None:
                return False
            came, code, said, head = _ending(worked)
        else:
            came, code = landing.ending_in(self.entry.detail)
            said, head = "", self.entry.head
        spent = charge(self.spent_micros if self._figured() else None, self.entry.reserved_micros)
        if came is not Came.DONE:
            yield from self._give_up(hold, task, site, came, code, said, spent)
            return False
        self.act("examine")
        found: Examined = yield lambda: site.examine(head)
        self._evidence(hold, task, "examined", found.checks)
        if found.trouble is not None:
            yield from self._release(hold, task, site, found.trouble.code.value, spent, "lost")
            return False
        if found.kind:
            yield from self._fail(
                hold, task, site, found.kind, found.code, said, found.evidence, spent
            )
            return False
        return (yield from self._hand_in(hold, task, site, found, said, spent))

    def _hand_in(
        self, hold: Hold, task: Task, site: Site, found: Examined, said: str, spent: int
    ) -> Walk:
        self.act("hand-in")
        entry = self.entry
        answer = yield lambda: self.hands.complete(
            entry, hold.fence, found.head, site.clone, task.branch, said, spent
        )
        if isinstance(answer, Refused):
            if answer.code is Code.NOTHING_TO_REVIEW:
                code = words.NOTHING_COMMITTED
                yield from self._fail(
                    hold, task, site, words.KINDS[code], code, said, (), spent
                )
            else:
                yield from self._release(hold, task, site, answer.code.value, spent, "lost")
            return False
        self.note("handed-in", head=found.head, spent_micros=spent)
        return True

    def _attempt(self, hold: Hold, task: Task, site: Site) -> Walk:
        """Clone, brief, probes and the agent, again where it was killed from outside."""
        interrupted = not words.later("started", self.entry.step)
        if interrupted and not self._may_restart():
            yield from self._release(
                hold, task, site, words.INTERRUPTED, self.entry.reserved_micros, "released"
            )
            return None
        while True:
            fit = yield from self._prepare(hold, task, site)
            if not fit:
                return None
            self.restarts += 1
            self.note("started", detail=f"starts={self.restarts}")
            worked: Worked = yield from self._agent(hold, task, site)
            again = worked.killed_outside and not self.halted and self._may_restart()
            if not again:
                break
            self.tell(Told("restarted", self.entry.item, worked.result.code))
        result = worked.result
        if result.spent_micros is not None:
            self.spent_micros = max(self.spent_micros, result.spent_micros)
        figured = "" if result.spent_micros is None else " figured"
        self.note(
            "ended",
            head=result.head if words_of_head(result.head) else "",
            spent_micros=self.spent_micros,
            detail=f"starts={self.restarts} came={result.came} code={result.code}{figured}",
        )
        return worked

    def _may_restart(self) -> bool:
        return not self.entry.reserved_micros and self.restarts <= words.RESTARTS

    def _figured(self) -> bool:
        return landing.has_word(self.entry.detail, "figured")

    def _prepare(self, hold: Hold, task: Task, site: Site) -> Walk:
        """A fresh clone, its brief and a cell that was probed; whether all is there."""
        entry = self.entry
        self.act("clone")
        before: Kept | None = yield site.left
        if before is not None:
            self._evidence(hold, task, "rescued", (), kept_figures(before))
            if before.folder:
                yield from self._release(hold, task, site, words.NO_CLONE, 0, "lost")
                return False
        cloned = yield lambda: self.hands.clone(entry, hold.fence, site.clone)
        if isinstance(cloned, Refused):
            yield from self._release(
                hold, task, site, f"{words.NO_CLONE}:{cloned.code.value}", 0, "lost"
            )
            return False
        self.note("cloned")
        if self.halted:
            yield from self._release(hold, task, site, words.STOPPED, 0, "released")
            return False
        self.note("briefed")
        self.act("probe")
        for left in reversed(range(_UNFIT_TRIES)):
            ready: Ready = yield site.ready
            self._evidence(hold, task, "probed", ready.checks)
            if not ready.unfit or not left or any(c.result == "FAIL" for c in ready.checks):
                break
        if ready.trouble is not None or ready.unfit:
            code = words.PROBE_REFUSED
            seen = tuple(f"probe:{name}" for name in ready.unfit)
            said = ready.trouble.message if ready.trouble is not None else ""
            yield from self._fail(hold, task, site, words.KINDS[code], code, said, seen, 0)
            return False
        self.note("probed")
        if self.halted:
            yield from self._release(hold, task, site, words.STOPPED, 0, "released")
            return False
        return True

    def _agent(self, hold: Hold, task: Task, site: Site) -> Walk:
        self.act("work")
        brief = self.hands.brief(self.entry.item)
        keep = self.keep(hold)
        self.running(site.stop)
        hold.working = True
        try:
            worked: Worked = yield lambda: site.work(
                brief, keep, lambda line: self._progress(hold, line)
            )
        finally:
            hold.working = False
            self.running(None)
        self._evidence(
            hold,
            task,
            "ended",
            worked.checks,
            tuple((name, str(value)) for name, value in worked.figures),
            worked.transcript,
        )
        return worked

    def keep(self, hold: Hold) -> Keep:
        """How a site keeps this lease alive."""

        def renew() -> int | Refused:
            lease = self.hands.renew(self.entry.item, hold.fence, self.options.ttl_ms)
            if isinstance(lease, Refused):
                return lease
            hold.due_us = due(lease, self.hands.now())
            return max(0, (lease.expires_at - self.hands.now()) // 1_000)

        def holds() -> int:
            lease = self.hands.item(self.entry.item).lease
            return max(0, (lease.expires_at - self.hands.now()) // 1_000) if lease else 0

        return Keep(holds, renew, self.hands.killed)

    def _progress(self, hold: Hold, line: Progress) -> None:
        self._told += 1
        number = self.restarts * 1_000_000 + self._told
        text = line.text[:SAID_CHARS]
        self.hands.progress(self.entry, hold.fence, number, text, line.spent_micros)
        if line.spent_micros is not None:
            self.spent_micros = max(self.spent_micros, line.spent_micros)
        self.tell(Told("progress", self.entry.item, text, {"spent_micros": self.spent_micros}))

    # Ends without a hand-in.

    def _give_up(
        self, hold: Hold, task: Task, site: Site, came: Came, code: str, said: str, spent: int
    ) -> Walk:
        if came is Came.STOPPED:
            yield from self._release(
                hold, task, site, self.halted or said or words.STOPPED, spent, "released"
            )
        else:
            yield from self._fail(hold, task, site, TRIAGE[came], code, said, (), spent)

    def _kept(self, hold: Hold, task: Task, site: Site) -> Walk:
        """Save what the attempt left, before anything says that it is over."""
        self.act("keep")
        kept: Kept = yield site.keep
        figures = kept_figures(kept)
        if figures:
            self._evidence(hold, task, "rescued", (), figures)
        return kept

    def _fail(
        self, hold: Hold, task: Task, site: Site, kind: str, code: str, said: str,
        evidence: tuple[str, ...], spent: int,
    ) -> Walk:  # fmt: skip
        kept = yield from self._kept(hold, task, site)
        reason = said[:SAID_CHARS] or words.REASONS.get(code, code)
        shown = (f"code:{code}", *evidence, *kept_evidence(kept))
        answer = self.hands.fail(self.entry, hold.fence, kind, reason, shown, spent)
        yield from self._over(hold, answer, "triaged", kind, spent, kept)

    def _release(
        self, hold: Hold, task: Task, site: Site, code: str, spent: int, outcome: str
    ) -> Walk:
        kept = yield from self._kept(hold, task, site)
        reason = words.REASONS.get(code.partition(":")[0], code)
        answer = self.hands.hand_back(self.entry, hold.fence, f"{code}: {reason}", spent)
        yield from self._over(hold, answer, outcome, code, spent, kept)

    def _over(
        self, hold: Hold, answer: Any, outcome: str, detail: str, spent: int, kept: Kept
    ) -> Walk:
        """Clear the place and settle; an operation that came too late means that the lease was lost."""
        self.hold = None
        if isinstance(answer, Refused):
            outcome, detail = "lost", f"{words.LEASE_LOST}:{answer.code.value}"
        if not kept.folder:
            yield from self._tidy(hold)
        self.settle(outcome, spent, detail)

    def _tidy(self, hold: Hold) -> Walk:
        left = yield self.hands.place.site(self.task(hold)).clear
        if left:
            self.tell(Told("left", self.entry.item, left))

    def _gone(self, hold: Hold, item: Item) -> Walk:
        """The lease of this entry is over, and its work was not handed in."""
        task = self.task(hold, item)
        site = self.hands.place.site(task)
        kept = yield from self._kept(hold, task, site)
        self.hold = None
        if not kept.folder:
            yield from self._tidy(hold)
        spent = charge(self.spent_micros or None, self.entry.reserved_micros)
        if self.hands.did(self.entry, "failed"):
            self.settle("triaged", spent)
        elif self.hands.did(self.entry, "released"):
            self.settle("released", spent)
        else:
            self.settle("lost", spent, words.LEASE_LOST)

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
        self.tell(
            Told("settled", self.entry.item, outcome, {"spent_micros": spent_micros})
        )

    def _evidence(
        self, hold: Hold, task: Task, phase: str, checks: tuple[Any, ...],
        figures: tuple[tuple[str, str], ...] = (), text: str = "",
    ) -> None:  # fmt: skip
        if checks or figures or text:
            self.hands.evidence(self.entry, task, hold.fence, phase, checks, figures, text)


def handed_in(item: Item, hold: Hold) -> bool:
    """Whether the item's present work came from this lease."""
    return item.work is not None and item.work.lease == hold.lease


def hold_of(lease: Lease, attempt: str) -> Hold:
    """What an entry holds by a lease that was just given."""
    return Hold(lease.id, lease.fence, attempt, lease.ttl_ms, due(lease, lease.acquired_at))


def due(lease: Lease, now: int) -> int:
    """When a lease is to be renewed: when a third of what it holds from now is gone."""
    return now + max(0, lease.expires_at - now) // 3


def words_of_head(head: str) -> bool:
    """Whether what an agent calls its head may be written down as one."""
    return bool(head) and len(head) <= 64 and all(c in "0123456789abcdef" for c in head)


def kept_figures(kept: Kept) -> tuple[tuple[str, str], ...]:
    """What was saved, as figures of an attempt's evidence."""
    named = (("head", kept.head), ("rescue", kept.rescue), ("folder", kept.folder), ("why", kept.why))
    return (*((n, v[:500]) for n, v in named if v), *(("ref", ref) for ref in kept.refs))


def kept_evidence(kept: Kept) -> tuple[str, ...]:
    """What was saved, as evidence of a record."""
    found = [f"kept:{kept.head}"] if kept.new else []
    found += [f"rescue:{kept.rescue}"] if kept.rescue else []
    found += [f"folder:{kept.folder[:400]}"] if kept.folder else []
    return (*found, *(f"ref:{ref}" for ref in kept.refs if kept.new or kept.rescue))


def _ending(worked: Worked) -> tuple[Came, str, str, str]:
    result = worked.result
    return result.came, result.code, result.said[:SAID_CHARS], result.head
