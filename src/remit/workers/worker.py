"""A worker: takes leases in batches, lets handlers do the work, and strands nothing when it stops.

One thread takes leases and deals them out, N threads carry jobs, one renews, and one reconciles where
that is asked for. Reports of many handlers share commits, and where PURE work ends, the next lease
rides in the commit of its result. While nothing is ready the pause between looks grows, at random and
to a bound.

Stopping once means: take no more, let what runs finish within a bound, then hand back what is left.
Stopping twice: hand back now. Either way the core holds what was intended and returns only what sent
nothing, and at the end no lease of this worker is live; if one is, the report says so.
"""

from __future__ import annotations

import inspect
import queue
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar

from remit.core.commands import Command, GrantLease, Recheck
from remit.core.refusals import Code, Refused
from remit.ports import OutcomeUnknown, RemitError, Store, StoreUnavailable
from remit.ports.destination import Destination
from remit.service.engine import Answer
from remit.service.operations import Operations, lease_of
from remit.service.submitting import recheck_holds
from remit.workers.app import App, Handler
from remit.workers.carrying import carry, give_back
from remit.workers.choosing import LIMITS, PASSING, STALE, Candidate, Chooser
from remit.workers.clock import boot_s
from remit.workers.desk import Desk
from remit.workers.endings import Ended, Ending, said
from remit.workers.job import Job
from remit.workers.keeping import Keeper
from remit.workers.leaving import Report, left_behind, release_all
from remit.workers.loop import AsyncJob, Loop
from remit.workers.repeating import repeats
from remit.workers.settings import Settings, Tell
from remit.workers.tenure import Tenure
from remit.workers.watching import Watcher

T = TypeVar("T")

UNKNOWN_S: Final = 30.0
"""How long a lease is asked for again while nobody knows whether it was given."""

AWAY_S: Final = 60.0
"""How long a store may be away at a stretch before a worker that looks for work gives up."""

FAILED_S: Final = 30.0
LIMITED_S: Final = 1.0
"""How long an item is left alone at most after its handler failed, or a limit kept it back."""


class Worker:
    """Carries out effect work of one ledger for one actor."""

    def __init__(
        self,
        operations: Operations,
        app: App,
        reached: dict[str, Destination],
        settings: Settings,
        tell: Tell,
    ) -> None:
        self.settings = settings
        self._tell = tell
        self._app = app
        self._reached = reached
        self._desk = Desk(operations)
        self._store: Store = operations.store
        self._chooser = Chooser(self._store, app, settings.classes, settings.tenants, self._told)
        self._report = Report()
        self._jobs: queue.SimpleQueue[tuple[Handler, Job] | None] = queue.SimpleQueue()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running: dict[str, Job] = {}
        self._spare: deque[Candidate] = deque()
        self._unsure: list[tuple[str, list[str]]] = []
        self._failures: dict[str, int] = {}
        self._started = 0
        self._stops = 0
        self._switched_off = False
        self._limited: set[tuple[Code, Any]] = set()
        self._away_since = 0.0
        self._loop: Loop | None = None
        self._slots: list[threading.Thread] = []

    # Stopping, from any thread or signal handler.

    def stop(self) -> None:
        """Take no more and finish; asked a second time: hand back and stop now."""
        self._stops += 1
        self._wake.put(None)

    @property
    def stopping(self) -> bool:
        """Whether no more work is taken."""
        return self._stops > 0

    # Running.

    def run(self) -> Report:
        """Work until stopped, or until there is no more to do where the settings say so.

        Raises ``RemitError`` where it cannot go on; what runs is finished or handed back all the same.
        """
        keeper = Keeper(self._desk, self.settings.ttl_ms, self._told_of, self._fault)
        watcher = self._watcher()
        self._keeper, self._watch = keeper, watcher
        self._loop = Loop(self.settings.concurrency) if self._needs_loop() else None
        try:
            self._work()
        finally:
            try:
                self._finish()
            finally:
                keeper.stop()
                if watcher is not None:
                    watcher.stop()
                if self._loop is not None:
                    self._loop.stop()
        return self._report

    def _watcher(self) -> Watcher | None:
        if not self.settings.reconcile:
            return None
        most = max((h.timeout_ms for h in self._app.handlers), default=30_000)
        again = repeats(self._app, self._reached, self._store, most, self._told)
        return Watcher(self._desk.operations, self._reached, most, self._told, again)

    def _needs_loop(self) -> bool:
        return any(handler.is_async for handler in self._app.handlers)

    def _work(self) -> None:
        pause = self.settings.shortest_s
        while not self.stopping and not self._enough():
            free = self._free()
            given, again = self._take(free) if free else (0, False)
            if given or again:
                pause = self.settings.shortest_s
                continue
            seen = not self._away_since  # what could not be looked at is not known to be empty
            if seen and not self._running and self._looking(self._idle, False):
                return
            wait = pause * random.uniform(0.5, 1.0)  # noqa: S311  # jitter is no secret
            if self._sleep(wait):
                pause = self.settings.shortest_s
            else:
                pause = min(2 * pause, self.settings.longest_s)

    def _looking(self, look: Callable[[], T], away: T) -> T:
        """What a look at the ledger shows; ``away`` while the store cannot be asked, told once.

        A server that is started again loses no worker: nothing is taken meanwhile. Raises what the
        store raised once it was away for ``AWAY_S``.
        """
        try:
            found = look()
        except (StoreUnavailable, OutcomeUnknown) as error:
            if not self._away_since:
                self._away_since = boot_s()
                self._told("store-away", {"text": said(error)})
            elif boot_s() - self._away_since > AWAY_S:
                raise
            return away
        self._away_since = 0.0
        return found

    def _sleep(self, seconds: float) -> bool:
        """Wait until something happens; says whether it did."""
        try:
            self._wake.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def _idle(self) -> bool:
        """Nothing is ready and nothing runs: do what is overdue; whether that is a reason to end."""
        if self._chooser.overdue():
            recheck_holds(self._desk.operations, most=100)
            return False
        if not self.settings.exit_when_idle or self._chooser.later():
            return False
        self._report.kept_back = str(Code.KILL_SWITCH_ON) if self._switched_off else ""
        return self._watch is None or self._watch.round() == 0

    def _enough(self) -> bool:
        most = self.settings.max_jobs
        return bool(most) and self._started >= most

    def _free(self) -> int:
        with self._lock:
            free = self.settings.concurrency - len(self._running)
            if self.settings.max_jobs:
                free = min(free, self.settings.max_jobs - self._started)
        return max(0, free)

    # Taking leases.

    def _take(self, many: int) -> tuple[int, bool]:
        """Lease up to so many; how many were given, and whether to look again at once."""
        with self._lock:
            busy = [job.item.id for job in self._running.values()]
        nothing: list[Candidate] = []
        found = self._looking(lambda: self._chooser.look(2 * many, busy), nothing)
        wanted, spare = found[:many], found[many:]
        with self._lock:
            self._spare = deque(spare)
        if not wanted:
            self._switched_off = False
            return 0, False
        asked, named = boot_s(), self._desk.new_id()
        self._unsure.append((named, [candidate.item.id for candidate in wanted]))
        answers = self._desk.ask(
            [self._grant(candidate) for candidate in wanted],
            asked + UNKNOWN_S,
            command_id=named,
        )
        self._unsure.pop()
        given, again = 0, False
        for candidate, answer in zip(wanted, answers, strict=True):
            if isinstance(answer, Refused):
                again = self._refused(candidate, answer) or again
            else:
                self._begin(candidate, answer, asked)
                given += 1
        return given, again

    def _grant(self, candidate: Candidate) -> GrantLease:
        return GrantLease(candidate.item.id, self.settings.ttl_ms)

    def _begin(self, candidate: Candidate, answer: Any, asked: float) -> None:
        self._jobs.put((candidate.handler, self._job(candidate, answer, asked)))
        if len(self._slots) < self.settings.concurrency:
            slot = threading.Thread(target=self._slot, name="remit-slot", daemon=True)
            self._slots.append(slot)
            slot.start()

    def _job(self, candidate: Candidate, answer: Any, asked: float) -> Job:
        tenure = Tenure(lease_of(answer), asked, answer.events[-1].at)
        job = Job(candidate.item, candidate.intent, tenure, self._desk, candidate.compensates)
        name = candidate.handler.destination
        if name:
            job.given(self._reached[name], name, candidate.handler.timeout_ms)
        job.reads(lambda: self._document(job))
        with self._lock:
            self._running[job.lease.id] = job
            self._started += 1
        self._switched_off = False
        self._keeper.take(job)
        self._told("leased", {"item": job.item.id, "work_id": job.envelope.work_id, "lease": job.lease.id, "fence": job.fence, "attempt": job.attempt, "handler": candidate.handler.name})  # fmt: skip
        return job

    def _document(self, job: Job) -> bytes | None:
        if not job.intent.document:
            return None
        with self._store.read() as tx:
            return tx.blobs([job.intent.document]).get(job.intent.document)

    def _refused(self, candidate: Candidate, refused: Refused) -> bool:
        """Why an item was not leased, and whether other work should be looked for at once."""
        item, code = candidate.item.id, refused.code
        if code is Code.KILL_SWITCH_ON:
            if not self._switched_off:
                self._told("kill-switch", {"text": refused.message})
            self._switched_off = True
            return False
        if code in LIMITS:
            self._limit(item, refused)
        if code in LIMITS or code in PASSING:
            self._chooser.shun(item, LIMITED_S)
            return True
        if code in STALE:
            self._desk.ask([Recheck(item)], boot_s() + UNKNOWN_S)
            self._chooser.shun(item, LIMITED_S)
            return True
        raise RemitError(refused.message, refused.hint, refused.details, code)

    def _limit(self, item: str, refused: Refused) -> None:
        """Say once of each limit that it keeps work back, which looks like idleness otherwise."""
        key = (refused.code, refused.details.get("scope"))
        if key not in self._limited:
            self._limited.add(key)
            self._told("limited", {"item": item, "code": str(refused.code), "text": f"{refused.message}; {refused.hint}"})  # fmt: skip

    # Carrying jobs: what the slots do.

    def _slot(self) -> None:
        while (one := self._jobs.get()) is not None:
            following: tuple[Handler, Job] | None = one
            while following is not None:
                following = self._carry(*following)
            self._wake.put(None)

    def _carry(self, handler: Handler, job: Job) -> tuple[Handler, Job] | None:
        """Carry one job, and return the next one where its lease came with the result."""
        riding: list[tuple[Candidate, float]] = []

        def more() -> Sequence[Command]:
            candidate = self._next()
            if candidate is None:
                return ()
            riding.append((candidate, boot_s()))
            return (self._grant(candidate),)

        answers: list[Answer] = []
        try:
            answers = carry(handler, job, self._call, more)
            if not job.over and not job.lost:
                give_back(job, "WORKER_FAULT")
        except Exception as error:  # noqa: BLE001  # a slot that died would be missing for good
            self._fault(error, job.item.id)
        self._done(job)
        return self._ridden(riding, answers)

    def _next(self) -> Candidate | None:
        """A candidate that may be leased beside a result, counted as begun."""
        with self._lock:
            if self.stopping or self._enough() or not self._spare:
                return None
            self._started += 1
            return self._spare.popleft()

    def _ridden(
        self, riding: list[tuple[Candidate, float]], answers: list[Answer]
    ) -> tuple[Handler, Job] | None:
        if not riding:
            return None
        (candidate, asked) = riding[0]
        with self._lock:
            self._started -= 1
        answer = answers[0] if answers else None
        if answer is None or isinstance(answer, Refused):
            return None
        return candidate.handler, self._job(candidate, answer, asked)

    def _call(self, handler: Handler, job: Job) -> object:
        if not handler.is_async:
            found = handler.function(job)
            if inspect.isawaitable(found):
                raise TypeError(f"{handler.name} returned an awaitable; declare it with async def")
            return found
        assert self._loop is not None, "there is a loop where a handler is async"
        return self._loop.run(handler.function(AsyncJob(job, self._loop)))

    def _done(self, job: Job) -> None:
        self._keeper.drop(job)
        ended = job.ended or Ended(Ending.LOST, job.tenure.why)
        with self._lock:
            self._report.count(ended.ending)
            if not job.over:
                self._report.unsettled.append(job)
            if ended.ending is Ending.FAILED:
                times = self._failures[job.item.id] = self._failures.get(job.item.id, 0) + 1
                self._chooser.shun(job.item.id, min(FAILED_S, 2.0 ** (times - 1)))
            elif ended.ending is Ending.HANDED_BACK:
                self._chooser.shun(job.item.id, LIMITED_S)
            else:
                self._failures.pop(job.item.id, None)
        self._told(str(ended.ending), {"item": job.item.id, "work_id": job.envelope.work_id, "lease": job.lease.id, "reason": ended.reason, "text": ended.text})  # fmt: skip
        with self._lock:  # last of all: a worker that has nothing running may be gone at once
            self._running.pop(job.lease.id, None)

    # The end.

    def _finish(self) -> None:
        """Let what runs finish within the bound, then hand the rest back, and look what is left."""
        self._told("stopping", {"running": len(self._running), "jobs": self._started})
        end = boot_s() + self.settings.grace_s
        while self._running and self._stops < 2 and boot_s() < end:
            self._sleep(min(0.2, max(0.01, end - boot_s())))
        for slot in self._slots:
            self._jobs.put(None) if slot.is_alive() else None
        with self._lock:
            left = [job for job in self._running.values() if not job.over]
        release_all(self._desk, left, "STOPPING")
        last = boot_s() + (self.settings.last_s if self._stops < 2 else 0.1)
        while self._running and boot_s() < last:
            self._sleep(0.05)
        with self._lock:
            left = [*self._running.values(), *self._report.unsettled]
            self._report.still_running = len(self._running)
        self._report.left = left_behind(self._desk, left, self._unsure)
        self._told("stopped", self._report.as_data())

    def _told_of(self, job: Job, why: str) -> None:
        self._told("told", {"item": job.item.id, "lease": job.lease.id, "reason": why, "lost": job.lost})  # fmt: skip

    def _fault(self, error: Exception, item: str = "") -> None:
        self._told("fault", {"item": item, "code": str(getattr(error, "code", Code.UNEXPECTED)), "text": said(error)})  # fmt: skip

    def _told(self, event: str, more: dict[str, Any]) -> None:
        with suppress(Exception):  # whoever listens must not be able to end a thread of ours
            self._tell(event, more)
