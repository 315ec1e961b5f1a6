"""At work: one attempt from its clone to its hand-in, or to whatever ended it otherwise.

All of it happens under the attempt's lease. Before anything says that the attempt is over, its commits
and changes are kept, and the record names where. An operation that came too late is no fault of the
work: the entry is lost, and the ledger keeps the late report by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from remit.core import triage_records as records
from remit.core.checks import Check, Result
from remit.core.facts import Item, Lease
from remit.core.gitfacts import is_full_sha
from remit.core.refusals import Code, Refused
from remit.core.services import VERIFIER
from remit.core.triage_records import Evidence
from remit.drain import endings, words
from remit.drain.agents.outcomes import Came, charge
from remit.drain.workplace import Examined, Job, Keep, Kept, Ready, Site, Task, Told, Worked
from remit.ports.agent import Progress

if TYPE_CHECKING:
    from remit.drain.journey import Journey
    from remit.service.delivery import Cloned

Walk = Generator[Job, Any, Any]

SAID_CHARS: Final = 4_000
_LATE: Final = (Code.STALE_FENCE, Code.LEASE_EXPIRED, Code.LEASE_OF_ANOTHER)
LOOKS: Final = 2
"""How often a cell is probed where a probe could not look; one that got out is believed at once."""


@dataclass(slots=True)
class Hold:
    """The lease that an entry works under. ``due_us`` is when it is to be renewed next."""

    lease: str
    fence: int
    attempt: str
    due_us: int
    working: bool = False


def hold_of(lease: Lease, attempt: str) -> Hold:
    """What an entry holds by a lease that was just given."""
    return Hold(lease.id, lease.fence, attempt, due(lease, lease.acquired_at))


def due(lease: Lease, now: int) -> int:
    """When a lease is to be renewed: when a third of what it holds from now is gone."""
    return now + max(0, lease.expires_at - now) // 3


def handed_in(item: Item, hold: Hold) -> bool:
    """Whether the item's present work came from this lease."""
    return item.work is not None and item.work.lease == hold.lease


class AtWork:
    """The attempt of one journey, under the lease that it holds."""

    def __init__(self, journey: Journey, hold: Hold) -> None:
        self.journey = journey
        self.hands = journey.hands
        self.hold = hold
        self.task = journey.task(hold)
        self.site: Site = self.hands.place.site(self.task)
        self.said = ""
        self._made: tuple[Check, ...] = ()
        self._told = 0

    def walk(self) -> Walk:
        """Until the work is handed in; whether it was. What is not is settled here."""
        journey = self.journey
        if words.later("ended", journey.entry.step):
            worked: Worked | None = yield from self._attempt()
            if worked is None:
                return False
            self.said = worked.result.said[:SAID_CHARS]
        ending = endings.read(journey.entry.detail)
        if ending.came is Came.STOPPED:
            yield from self._release(journey.halted or words.STOPPED, "released")
            return False
        if ending.came is not Came.DONE:
            attempt = self.task.attempt
            yield from self._fail(
                ending.code, lambda kept: endings.record_of(ending, attempt, kept)
            )
            return False
        journey.act("examine")
        found: Examined = yield lambda: self.site.examine(journey.entry.head)
        if found.trouble is not None and not journey.must_end():
            found = yield lambda: self.site.examine(journey.entry.head)
        self.hands.seen(self.journey.entry, "examined", found.checks)
        if found.trouble is not None:
            yield from self._release(found.trouble.code.value, "lost")
            return False
        if found.code:
            yield from self._fail(found.code, lambda kept: found_record(found, self.task, kept))
            return False
        return (yield from self._hand_in(found))

    def _hand_in(self, found: Examined) -> Walk:
        journey = self.journey
        journey.act("hand-in")
        entry, spent = journey.entry, self._spent()
        answer = yield from journey.asked(
            lambda: self.hands.complete(
                entry, self.hold.fence, found.head, self.site.clone, self.task.branch, self.said,
                spent,
            )
        )  # fmt: skip
        if isinstance(answer, Refused):
            if answer.code is Code.NOTHING_TO_REVIEW:
                code = words.NOTHING_COMMITTED
                yield from self._fail(code, lambda _: records.refusal(code=code))
            elif answer.code in _LATE:
                # The ledger keeps it as a late report; there is nothing more to say of it.
                yield from self._over(answer, "lost", "", spent, Kept())
            else:
                yield from self._release(answer.code.value, "lost")
            return False
        journey.note("handed-in", head=found.head, spent_micros=spent)
        return True

    def _attempt(self) -> Walk:
        """Clone, brief, probes and the agent, again where it was killed from outside."""
        journey = self.journey
        if journey.must_end():
            yield from self._release(words.STOPPED, "released")
            return None
        if not words.later("started", journey.entry.step) and not self._may_restart():
            yield from self._release(words.INTERRUPTED, "released")
            return None
        while True:
            if not (yield from self._prepare()):
                return None
            journey.starts += 1
            journey.note("started", detail=f"starts={journey.starts}")
            worked: Worked = yield from self._agent()
            if not worked.ending.killed or journey.must_end() or not self._may_restart():
                break
            journey.tell(Told("restarted", self.task.item, worked.result.code))
        result = worked.result
        if result.spent_micros is not None:
            journey.spent_micros = max(journey.spent_micros, result.spent_micros)
        journey.note(
            "ended",
            head=result.head if is_full_sha(result.head) else "",
            spent_micros=journey.spent_micros,
            detail=worked.ending.detail(journey.starts),
        )
        return worked

    def _may_restart(self) -> bool:
        entry = self.journey.entry
        return not entry.reserved_micros and self.journey.starts <= words.RESTARTS

    def _spent(self) -> int:
        """What settles the attempt: what the agent told, else all that was set aside."""
        journey = self.journey
        figured = endings.read(journey.entry.detail).figured or journey.spent_micros > 0
        told = journey.spent_micros if figured else None
        return charge(told, journey.entry.reserved_micros)

    def _prepare(self) -> Walk:
        """A fresh clone, its brief and a cell that was probed; whether all is there."""
        journey, site = self.journey, self.site
        journey.act("clone")
        before: Kept | None = yield site.left
        if before is not None:
            self.hands.seen(self.journey.entry, "rescued", (), kept_figures(before))
            if before.folder:
                yield from self._release(words.NO_CLONE, "lost")
                return False
        cloned = yield from journey.asked(
            lambda: self.hands.clone(journey.entry, self.hold.fence, site.clone)
        )
        if isinstance(cloned, Refused):
            yield from self._release(f"{words.NO_CLONE}:{cloned.code.value}", "lost")
            return False
        self._made = clone_checks(cloned, journey.hands.actor)
        journey.note("cloned")
        journey.note("briefed")
        if journey.must_end():
            yield from self._release(words.STOPPED, "released")
            return False
        journey.act("probe")
        ready: Ready = yield from self._probed()
        if ready.unfit:
            attempt = self.task.attempt
            yield from self._fail(words.PROBE_REFUSED, lambda _: unfit_record(ready, attempt))
            return False
        journey.note("probed")
        if journey.must_end():
            yield from self._release(words.STOPPED, "released")
        return not journey.settled

    def _probed(self) -> Walk:
        """What the probes found; where one could not look it is asked again, where one got out not."""
        left = LOOKS
        while True:
            ready: Ready = yield self.site.ready
            self.hands.seen(self.journey.entry, "probed", (*self._made, *ready.checks))
            left -= 1
            if not left or all(check.result is Result.FAIL for check in ready.unfit):
                return ready

    def _agent(self) -> Walk:
        self.journey.act("work")
        brief = self.hands.brief(self.task.item)
        keep = self._keep()
        self.journey.running(self.site.stop)
        self.hold.working = True
        try:
            worked: Worked = yield lambda: self.site.work(brief, keep, self._progress)
        finally:
            self.hold.working = False
            self.journey.running(None)
        self.hands.seen(
            self.journey.entry, "ended", worked.checks, worked.figures, worked.transcript
        )
        return worked

    def _keep(self) -> Keep:
        """How a site keeps this lease alive."""
        name = self.task.item

        def renew() -> int | Refused:
            lease = self.hands.renew(name, self.hold.fence, self.journey.options.ttl_ms)
            if isinstance(lease, Refused):
                return lease
            now = self.hands.now()
            self.hold.due_us = due(lease, now)
            return max(0, (lease.expires_at - now) // 1_000)

        def holds() -> int:
            lease = self.hands.item(name).lease
            return max(0, (lease.expires_at - self.hands.now()) // 1_000) if lease else 0

        return Keep(holds, renew, self.hands.killed)

    def _progress(self, line: Progress) -> None:
        journey = self.journey
        self._told += 1
        number = journey.starts * 1_000_000 + self._told
        text = line.text[:SAID_CHARS]
        told = self.hands.progress(journey.entry, self.hold.fence, number, text, line.spent_micros)
        if isinstance(told, Refused) and told.code in _LATE:
            self.site.stop("lease-refused")
        if line.spent_micros is not None:
            journey.spent_micros = max(journey.spent_micros, line.spent_micros)
        spent = {"spent_micros": journey.spent_micros}
        journey.tell(Told("progress", self.task.item, text, spent))

    # Ends without a hand-in.

    def _kept(self) -> Walk:
        """Save what the attempt left, before anything says that it is over."""
        self.journey.act("keep")
        kept: Kept = yield self.site.keep
        self.hands.seen(self.journey.entry, "rescued", (), kept_figures(kept))
        return kept

    def _fail(self, code: str, make: Callable[[tuple[str, ...]], Evidence]) -> Walk:
        kept: Kept = yield from self._kept()
        spent = self._spent() if self.journey.starts else 0
        reason = endings.reason_of(code, self.said)
        if kept.folder:
            stays = f"{self.hands.run}/{self.task.attempt}"
            reason = f"{reason}\nIts clone could not be kept as commits and stays in the run's folder: {stays}"
        answer = self.hands.fail(
            self.journey.entry, self.hold.fence, make(kept.refs), reason, spent
        )
        yield from self._over(answer, "triaged", code, spent, kept)

    def _release(self, code: str, outcome: str) -> Walk:
        kept: Kept = yield from self._kept()
        spent = self._spent() if self.journey.starts else 0
        reason = f"{code}: {words.REASONS.get(code.partition(':')[0], code)}"
        answer = self.hands.hand_back(self.journey.entry, self.hold.fence, reason, spent)
        yield from self._over(answer, outcome, code, spent, kept)

    def _over(self, answer: Any, outcome: str, detail: str, spent: int, kept: Kept) -> Walk:
        """Clear the place and settle; an operation that came too late means that the lease was lost."""
        self.journey.hold = None
        if isinstance(answer, Refused):
            outcome, detail = "lost", f"{words.LEASE_LOST}:{answer.code.value}"
        if not kept.folder:
            yield from self.tidy()
        self.journey.settle(outcome, spent, detail)

    def tidy(self) -> Walk:
        """Remove the attempt's place."""
        left = yield self.site.clear
        if left:
            self.journey.tell(Told("left", self.task.item, left))

    def gone(self) -> Walk:
        """The lease of this entry is over, and its work was not handed in."""
        journey = self.journey
        kept: Kept = yield from self._kept()
        journey.hold = None
        if not kept.folder:
            yield from self.tidy()
        spent = self._spent() if journey.starts else 0
        if self.hands.did(journey.entry, "failed"):
            journey.settle("triaged", spent)
        elif self.hands.did(journey.entry, "released"):
            journey.settle("released", spent)
        else:
            ends = ("handed-in", "failed", "released")
            told = any(self.hands.did(journey.entry, f"{end}/late") for end in ends)
            if journey.spent_micros > journey.entry.reserved_micros and not told:
                # What it cost beyond what was set aside is a fact, however late.
                self.hands.hand_back(
                    journey.entry, self.hold.fence, words.LEASE_LOST, journey.spent_micros
                )
            journey.settle("lost", spent, words.LEASE_LOST)


def clone_checks(cloned: Cloned, actor: str) -> tuple[Check, ...]:
    """What is so of a clone because of how it was made just now, and of who will verify.

    Main was fetched and contained what was observed before, or no clone would have been made; nobody
    has been in the clone since.
    """
    return (
        Check("clean-tree", Result.PASS, f"made anew at {cloned.base}", "as committed"),
        Check("remote", Result.PASS, cloned.base, "contains the main observed before"),
        Check("verifier", Result.PASS, VERIFIER, f"not {actor}"),
    )


def kept_figures(kept: Kept) -> tuple[tuple[str, str], ...]:
    """What was saved, as figures of an attempt's evidence."""
    named = (
        ("head", kept.head),
        ("rescue", kept.rescue),
        ("folder", kept.folder),
        ("why", kept.why),
    )
    return (*((n, v[:500]) for n, v in named if v), *(("ref", ref) for ref in kept.refs))


def unfit_record(ready: Ready, attempt: str) -> Evidence:
    """The record of probes that refused the work."""
    return records.probe_failed(
        probe=[check.check for check in ready.unfit],
        result=[check.result for check in ready.unfit],
        observed=[check.observed for check in ready.unfit],
        attempt=attempt,
    )


def found_record(found: Examined, task: Task, refs: tuple[str, ...]) -> Evidence:
    """The record of what stands in the way of a hand-in."""
    if found.record is not None:
        return found.record
    if found.code in (words.HEAD_DIFFERS, words.UNREADABLE, words.TOO_LARGE):
        return endings.crashed(found.code, task.attempt, refs, Result.PASS)
    return records.refusal(code=found.code)
