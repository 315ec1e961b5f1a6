"""The keeper: a thread that renews leases, so that no handler has to, however busy or blocked it is.

A lease is renewed when a third of its time is gone, together with all others that are due, before
other writers. A refusal that says that the lease is gone makes the job lost; any other one (the kill
switch, the policy's longest lease) tells it to come to an end while it still holds. What cannot be
renewed because the store is away is tried again until the lease is over by the worker's clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from remit.core.commands import Command, RenewLease
from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.service.operations import lease_of
from remit.workers.clock import boot_s
from remit.workers.desk import Desk
from remit.workers.job import GONE, Job

FRACTION: Final = 3
"""A lease is renewed when one part in so many of its time is gone."""

SOONEST_S: Final = 0.05
"""Shortest pause between two looks."""


class Keeper:
    """Renews the leases of running jobs; ``ttl_ms`` is how long each is to hold from now."""

    def __init__(
        self,
        desk: Desk,
        ttl_ms: int,
        tell: Callable[[Job, str], None],
        fault: Callable[[Exception], None],
    ) -> None:
        self._desk = desk
        self._ttl_ms = ttl_ms
        self._tell = tell
        self._fault = fault
        self._jobs: dict[str, Job] = {}
        self._fixed: set[str] = set()
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="remit-keeper", daemon=True)
        self._thread.start()

    def take(self, job: Job) -> None:
        """Keep a lease alive from here on."""
        with self._lock:
            self._jobs[job.lease.id] = job
        self._awake.set()

    def drop(self, job: Job) -> None:
        """Its work is at an end."""
        with self._lock:
            self._jobs.pop(job.lease.id, None)
            self._fixed.discard(job.lease.id)

    def stop(self) -> None:
        """End the thread."""
        self._stopped = True
        self._awake.set()
        self._thread.join(5)

    def _run(self) -> None:
        while not self._stopped:
            self._awake.wait(self._pause())
            self._awake.clear()
            if not self._stopped:
                try:
                    self._round()
                except Exception as error:  # noqa: BLE001  # a keeper that died would lose every lease
                    self._fault(error)

    def _pause(self) -> float:
        """Until the next renewal is due or a lease runs out."""
        with self._lock:
            jobs = list(self._jobs.values())
        ahead = [self._due_in(job) for job in jobs if not job.lost]
        return max(SOONEST_S, min(ahead, default=60.0))

    def _due_in(self, job: Job) -> float:
        left = job.tenure.left_s
        if job.lease.id in self._fixed:
            return left
        whole = self._ttl_ms / 1_000
        return left - whole * (FRACTION - 1) / FRACTION

    def _round(self) -> None:
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            if job.lost:
                self.drop(job)
                self._tell(job, job.stop_reason)
        live = [job for job in jobs if not job.lost and not job.over]
        due = [j for j in live if j.lease.id not in self._fixed and self._due_in(j) <= SOONEST_S]
        if due:
            self._renew(due)

    def _renew(self, jobs: list[Job]) -> None:
        commands: list[Command] = [RenewLease(j.item.id, j.fence, self._ttl_ms) for j in jobs]
        asked = boot_s()
        try:
            answers = self._desk.ask(commands, asked, urgent=True)
        except (StoreUnavailable, OutcomeUnknown):
            return  # the next round asks again, for as long as the leases hold
        for job, answer in zip(jobs, answers, strict=True):
            if not isinstance(answer, Refused):
                job.tenure.extend(lease_of(answer), asked, answer.events[-1].at)
            elif not job.over:
                self._refused(job, answer)

    def _refused(self, job: Job, answer: Refused) -> None:
        if answer.code in GONE:
            job.tenure.lose(str(answer.code))
            self.drop(job)
        else:  # it holds until its end, and not longer
            with self._lock:
                self._fixed.add(job.lease.id)
            job.tenure.tell(str(answer.code))
        self._tell(job, str(answer.code))
