"""The conductor: drives one run, from its record to its end, by canonical operations and nothing else.

One thread decides. It chooses items in lease order as long as the run's bounds allow, which the core
refuses to pass; it moves each journey on when a job of it has ended; it renews what is held. It looks at
the time, the kill switch and requests to stop at each turn, and no turn waits longer than ``TURN_MS``.

A run ends when nothing is live and nothing may be taken. Whatever ends it sooner has a bound: what runs
is asked to stop, helpers are killed after ``STOP_MS``, and what is left then is handed back and settled
by where it stands on the ledger.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from remit.core.facts import Item
from remit.core.refusals import Code, Refused
from remit.core.run_facts import Run, RunStatus
from remit.core.status import Status
from remit.drain import landing, selecting, standing, words
from remit.drain.agents.outcomes import charge
from remit.drain.atwork import due
from remit.drain.hands import Hands, Overtaken
from remit.drain.journey import Journey, Options, Walk
from remit.drain.limits import STOP_MS
from remit.drain.workplace import News, Tell, Told

TURN_MS: Final = 250
LOOK: Final = "look/main"
"""The ticket of the look at main that says whether what could not land is tried again."""

_WAITING: Final = (Code.CONCURRENCY_LIMIT, Code.RATE_LIMIT)
_BOUNDS: Final = ("items", "minutes", "spend", "failures")


@dataclass(slots=True)
class _Live:
    journey: Journey
    walk: Walk


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a run takes nothing more: the word of its record, and whether what runs is ended now."""

    by: str
    now: bool = False


@dataclass(slots=True)
class Conductor:
    """Drives one run that this process holds.

    ``passed`` are items that it was refused, ``approved`` those that an earlier run left so and that
    this one lands first, ``requested`` those of them that wait as pull requests or that the remote refused
    before, which come last. ``doubtful`` are those that could not land by what main was: they wait for a
    look at it. ``room`` is how many it may hold at a time by what the ledger's limits have shown (0: they
    have shown none).
    """

    hands: Hands
    options: Options
    tell: Tell
    live: dict[str, _Live] = field(default_factory=dict)
    ending: Ending | None = None
    passed: set[str] = field(default_factory=set)
    approved: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    doubtful: dict[str, standing.Failed] = field(default_factory=dict)
    room: int = 0
    returned: Counter[str] = field(default_factory=Counter)
    _halted_us: int = 0
    _ended_all: bool = False

    def drive(self, resumed: bool = False) -> Refused | None:
        """Until the run is stopped on its record, or another process has taken it over.

        Raises what a store or a job raises; the run can be resumed then.
        """
        try:
            if resumed:
                for check in self.hands.place.recover():
                    self.tell(Told("recovered", words=f"{check.check}: {check.observed}"))
                self._look()
                for entry in self.hands.record().live:
                    self._begin(Journey(self.hands, entry, self.options, self.tell))
            elif self.options.way != "none":
                self._take_up()
            while True:
                self._look()
                self._take_more()
                if not self.live and (self.ending is not None or not self.doubtful):
                    break
                self._turn()
            self.hands.stop(self.ending.by if self.ending else "nothing-ready")
        except Overtaken as found:
            self._abandon_all("overtaken")
            return found.refused
        except BaseException:
            self._abandon_all("fault")
            raise
        return None

    # What may end it.

    def _look(self) -> None:
        """Look at the clock, the kill switch, the record and whoever asked this process to end."""
        run = self.hands.record()
        now = self.hands.now()
        asked = self.hands.place.asked()
        if run.holder != self.hands.holder:
            raise Overtaken(
                Refused(Code.RUN_OVERTAKEN, f"{run.id} is driven by another process now", "")
            )
        if self.hands.killed():
            self._end(Ending("kill-switch", now=True))
        elif now >= run.ends_at:
            self._end(Ending("minutes", now=True))
        elif asked or run.status is RunStatus.STOPPING:
            self._end(Ending("asked", now=asked == "now" or run.stop_asked == "now"))
        if self._halted_us:
            self._press(now)

    def _end(self, ending: Ending) -> None:
        if self.ending is None or (ending.now and not self.ending.now):
            self.ending = ending
            self.tell(Told("ending", words=ending.by))
        if ending.now and not self._halted_us:
            self._halted_us = self.hands.now()
            for one in list(self.live.values()):
                one.journey.stop(ending.by)

    def _press(self, now: int) -> None:
        """What was asked to stop had its time: end helpers, then leave what does not end."""
        gone_ms = (now - self._halted_us) // 1_000
        if gone_ms > STOP_MS and not self._ended_all:
            self._ended_all = True
            self.hands.place.end_all()
        if gone_ms > 2 * STOP_MS:
            for ticket in list(self.live):
                self._leave(self.live.pop(ticket).journey)

    # What it takes.

    def _take_more(self) -> None:
        parallel = self.hands.record().bounds.parallel
        while self.ending is None and len(self.live) < min(parallel, self.room or parallel):
            if not self._take():
                return

    def _take_up(self) -> None:
        """See what an earlier run left approved, the remote being away or its time over."""
        o = self.options
        with self.hands.work.store.read() as tx:
            left, waits = selecting.left_approved(tx, self.hands.actor, o.work_class, o.tenant)
            found = standing.sort(tx, left, o.way)
        self.approved = list(found.first)
        self.requested = [*(item.id for item in waits), *found.last]
        self.doubtful = dict(found.doubtful)
        if self.doubtful:
            self.hands.place.submit(LOOK, self.hands.main)

    def _seen(self, main: str) -> None:
        """Main was looked at: what could not land on it before is left, and the rest is tried again."""
        doubtful, self.doubtful = self.doubtful, {}
        for name, failed in doubtful.items():
            if main in ("", failed.main):
                self._let_be(name, words.UNCHANGED, standing.unchanged(name, failed))
            else:
                self.approved.append(name)

    def _let_be(self, name: str, code: str, why: str) -> None:
        """Leave an approved item where it stands, and say why: it costs the run nothing."""
        self.hands.leave(name, code, why)
        self.tell(Told("left-approved", name, code))

    def _take(self) -> bool:
        """Choose and begin one item; whether there may be another."""
        if self.approved:
            return self._land(self.approved.pop(0))
        busy = {one.journey.entry.item for one in self.live.values()}
        with self.hands.work.store.read() as tx:
            item = selecting.next_of(
                tx, busy | self.passed, self.options.work_class, self.options.tenant
            )
        if item is None:
            if self.doubtful:
                return False
            if self.requested:
                return self._land(self.requested.pop(0))
            if not self.live:
                self.ending = Ending("nothing-ready")
            return False
        return self._chosen(item, self.options.reserve_micros)

    def _land(self, name: str) -> bool:
        """Begin with what an earlier run left approved, where it still is."""
        item = self.hands.item(name)
        if item.status is not Status.APPROVED:
            return True
        refused = None if item.work and item.work.request else self.hands.unready(name)
        if refused is not None:
            self._let_be(name, refused.code.value, refused.message)
            return True
        return self._chosen(item, 0, approved=True)

    def _chosen(self, item: Item, reserve_micros: int, *, approved: bool = False) -> bool:
        answer = self.hands.choose(item.id, reserve_micros)
        if isinstance(answer, Refused):
            self._refused(item.id, answer)
            return False
        entry = self.hands.record().entry_of(item.id)
        assert entry is not None, "what was chosen just now is live"
        journey = Journey(self.hands, entry, self.options, self.tell, approved=approved)
        self.tell(Told("chosen", item.id, item.title, {"entry": entry.number}))
        self._begin(journey)
        return True

    def _refused(self, item: str, refused: Refused) -> None:
        """A choice that a bound forbids ends the run's choosing, unless it is only the parallel one."""
        bound = str(refused.details.get("bound", ""))
        if bound in _BOUNDS:
            waits = bound == "spend" and bool(self.live)
            if not waits:
                self._end(Ending(bound))
        elif refused.code is Code.RUN_OVERTAKEN:
            raise Overtaken(refused)
        elif refused.code in (Code.RUN_STOPPING, Code.KILL_SWITCH_ON):
            return  # the next look says what follows
        elif refused.code.value.startswith("DECISION"):
            self._end(Ending("decision"))
        elif bound != "parallel":
            self.passed.add(item)
            self.hands.refuse(item, refused)

    # How it goes on.

    def _begin(self, journey: Journey) -> None:
        one = _Live(journey, journey.walk())
        self.live[journey.ticket] = one
        if self._halted_us and self.ending:
            journey.stop(self.ending.by)
        self._move(one, None)

    def _turn(self) -> None:
        self._renew()
        news = self.hands.place.next(TURN_MS)
        while news is not None:
            self._take_news(news)
            news = self.hands.place.next(0)

    def _take_news(self, news: News) -> None:
        if news.ticket == LOOK:
            if news.error is not None:
                raise news.error
            self._seen(news.value)
            return
        one = self.live.get(news.ticket)
        if one is None:
            return
        if news.error is not None:
            raise news.error
        self._move(one, news.value)

    def _move(self, one: _Live, value: Any) -> None:
        """Let a journey decide what its last job came to, and submit its next one."""
        try:
            job = one.walk.send(value)
        except StopIteration:
            self.live.pop(one.journey.ticket, None)
            self._over(one.journey)
            return
        self.hands.place.submit(one.journey.ticket, job)

    def _over(self, journey: Journey) -> None:
        """An entry is settled: whether its item may be taken again, and how many there is room for."""
        item = journey.entry.item
        if journey.settled in ("lost", "released"):
            # What always comes back would use up all turns.
            self.returned[item] += 1
            if self.returned[item] >= words.TURNS:
                self.passed.add(item)
        if journey.settled != "refused":
            return
        if journey.refused_for in _WAITING and self.live:
            # Asked again before one of these ends, it would be refused again, and each choice counts.
            self.room = len(self.live)
        else:
            self.passed.add(item)

    def _renew(self) -> None:
        """Renew the leases that no agent's site keeps alive at the moment."""
        now = self.hands.now()
        for one in self.live.values():
            hold = one.journey.hold
            if hold is None or hold.working or now < hold.due_us:
                continue
            lease = self.hands.renew(one.journey.entry.item, hold.fence, self.options.ttl_ms)
            if isinstance(lease, Refused):
                hold.due_us = now + 1_000_000
            else:
                hold.due_us = due(lease, self.hands.now())

    # What it leaves.

    def _abandon_all(self, why: str) -> None:
        """End what runs and write nothing: the run is no longer this process's to drive."""
        for one in self.live.values():
            one.journey.stop(why)
        self.hands.place.end_all()

    def _leave(self, journey: Journey) -> None:
        """Settle an entry whose job does not end, by where its item stands."""
        item = self.hands.item(journey.entry.item)
        hold = journey.hold
        spent = charge(journey.spent_micros or None, journey.entry.reserved_micros)
        if hold is not None and item.lease is not None and item.lease.fence == hold.fence:
            self.hands.hand_back(journey.entry, hold.fence, words.REASONS[words.STOPPED], spent)
            journey.settle("released", spent, words.STOPPED)
            return
        journey.aside(words.STOPPED)
        landing.settle_as(journey, item)


def answer_of(run: Run, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """A run as the command line answers it."""
    return {
        "id": run.id,
        "status": run.status.value,
        "stopped_by": run.stopped_by,
        "bounds": {name: getattr(run.bounds, name) for name in run.bounds.__slots__},
        "chosen": run.chosen,
        "failed": run.failed,
        "settled_micros": run.settled_micros,
        "items": entries,
    }
