"""Queues: one shape for every program that takes jobs in and hands them out again.

The three trials of a queue (insert, take and finish, finish and take the next) are written once here
and drive all of them alike, call by call, so that no contestant is spared a step that another pays
for. What a job is differs, and that is the point of the comparison: remit writes a ledger of events
and the rows that follow from them, a hand-written loop writes one row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Protocol, runtime_checkable

from remit.bench.rounds import Contestant, DoesNotAddUp, Round, Settings

FILL: Final = 1_000
"""Jobs of one transaction where a trial only needs jobs to be there."""


@dataclass(frozen=True, slots=True)
class Holds:
    """What a queue says it holds: all jobs ever taken in (None: it keeps no count), and those left."""

    made: int | None
    left: int


class Queue(Protocol):
    """A durable queue that is asked for jobs. Each method is one call of a user, and durable when it
    returns.
    """

    @property
    def peer(self) -> str:
        """Its name in the table."""

    @property
    def store(self) -> str:
        """What it writes to."""

    @property
    def settings(self) -> Settings:
        """What bears on the figures."""

    def insert(self, first: int, count: int) -> None:
        """Take in ``count`` jobs, numbered from ``first``, in one commit."""

    def take(self, count: int) -> Sequence[Any]:
        """Claim the next ``count`` jobs in one commit."""

    def finish(self, claims: Sequence[Any]) -> None:
        """Hand claimed jobs in, in one commit; a stale claim raises ``DoesNotAddUp``."""

    def turn(self, claim: Any) -> Any:
        """Hand one job in and claim the next in the same commit."""

    def holds(self) -> Holds:
        """What is there, asked of the store and not remembered."""

    def close(self) -> None:
        """Release the store."""


@runtime_checkable
class Drained(Protocol):
    """A durable queue whose own worker runs the jobs; otherwise as ``Queue``."""

    @property
    def peer(self) -> str:
        """Its name in the table."""

    @property
    def store(self) -> str:
        """What it writes to."""

    @property
    def settings(self) -> Settings:
        """What bears on the figures."""

    def insert(self, first: int, count: int) -> None:
        """Take in ``count`` jobs, numbered from ``first``, in one commit."""

    def drain(self, count: int, batch: int, workers: int) -> None:
        """Run all jobs that are left, which are ``count``."""

    def holds(self) -> Holds:
        """What is there, asked of the store and not remembered."""

    def close(self) -> None:
        """Release the store."""


class Course:
    """A queue in one trial: drives it, times it, and keeps count of what it should hold."""

    def __init__(
        self, queue: Queue | Drained, work: Work, count: int, batch: int, workers: int = 1
    ) -> None:
        self.queue = queue
        self.work = work
        self.count = count
        self.batch = batch
        self.workers = workers
        self.made = 0
        self.done = 0

    @property
    def peer(self) -> str:
        """The queue's name."""
        return self.queue.peer

    @property
    def store(self) -> str:
        """What the queue writes to."""
        return self.queue.store

    @property
    def settings(self) -> Settings:
        """The queue's settings."""
        return self.queue.settings

    def round(self) -> Round:
        """One round of the trial's work."""
        return Round(self.count, self.work(self))

    def fill(self, count: int, batch: int) -> None:
        """Take in jobs, ``batch`` in a commit."""
        for start in range(0, count, batch):
            size = min(batch, count - start)
            self.queue.insert(self.made, size)
            self.made += size

    def check(self) -> None:
        """Compare what the queue holds with what it was given."""
        found = self.queue.holds()
        for what, is_there, given in (
            ("jobs", found.made, self.made),
            ("jobs that are left", found.left, self.made - self.done),
        ):
            if is_there is not None and is_there != given:
                raise DoesNotAddUp(
                    f"benchmark of {self.peer}: found {is_there} {what}, expected {given}"
                )

    def close(self) -> None:
        """Release the queue."""
        self.queue.close()


Work = Callable[[Course], float]
"""One round's work on a course; returns the seconds that count."""


def inserting(course: Course) -> float:
    """Jobs in, ``batch`` in a commit."""
    start = perf_counter()
    course.fill(course.count, course.batch)
    return perf_counter() - start


def draining(course: Course) -> float:
    """Jobs claimed and handed in, ``batch`` in each of the two commits; filling does not count.

    Several workers share the work evenly. A queue with a worker of its own is left to it.
    """
    course.fill(course.count, FILL)
    queue, batch, workers = course.queue, course.batch, course.workers
    start = perf_counter()
    if isinstance(queue, Drained):
        queue.drain(course.count, batch, workers)
    elif workers == 1:
        _work_off(queue, course.count, batch)
    else:
        with ThreadPoolExecutor(workers) as pool:
            shares = [course.count // workers] * workers
            for ended in [pool.submit(_work_off, queue, share, batch) for share in shares]:
                ended.result()
    seconds = perf_counter() - start
    course.done += course.count
    return seconds


def _work_off(queue: Queue, count: int, batch: int) -> None:
    for _ in range(count // batch):
        queue.finish(queue.take(batch))


def carrying(course: Course) -> float:
    """Jobs all the way: taken in, claimed and handed in, ``batch`` in each commit of each step."""
    queue, batch = course.queue, course.batch
    assert not isinstance(queue, Drained)
    start = perf_counter()
    for _ in range(course.count // batch):
        course.fill(batch, batch)
        queue.finish(queue.take(batch))
    seconds = perf_counter() - start
    course.done += course.count
    return seconds


def relaying(course: Course) -> float:
    """Jobs all the way, one by one: each is taken in, and claimed in the commit that hands in the one
    before it, where the queue can do that.
    """
    queue = course.queue
    assert not isinstance(queue, Drained)
    start = perf_counter()
    course.fill(1, 1)
    (claim,) = queue.take(1)
    for _ in range(course.count - 1):
        course.fill(1, 1)
        claim = queue.turn(claim)
    queue.finish([claim])
    seconds = perf_counter() - start
    course.done += course.count
    return seconds


def chaining(course: Course) -> float:
    """Each job handed in and the next claimed in one commit; the first and last do not count."""
    course.fill(course.count + 1, FILL)
    queue = course.queue
    assert not isinstance(queue, Drained)
    (claim,) = queue.take(1)
    start = perf_counter()
    for _ in range(course.count):
        claim = queue.turn(claim)
    seconds = perf_counter() - start
    queue.finish([claim])
    course.done += course.count + 1
    return seconds


def entrant(
    queue: Callable[[Path], Queue | Drained], work: Work, count: int, batch: int, workers: int = 1
) -> Callable[[Path], Contestant]:
    """A contestant of a trial: this queue, this work. ``count`` is a multiple of ``batch``."""
    if count % (batch * workers):
        raise ValueError(f"a round of {count} jobs is no multiple of {batch * workers}")
    return lambda folder: Course(queue(folder), work, count, batch, workers)
