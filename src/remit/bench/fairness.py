"""``remit bench fairness``: whether everybody gets a fair share, and nobody waits for ever.

A simulation under a clock of its own, on a ledger in a file, through the same operations and core as
always; only time is made up, so the answer is the same on every machine. More work arrives than the
workers can do: one class with one huge tenant, one with many small ones, one in which urgent work
never ceases. After a while classes with limits join. What came of it is read from the events alone,
by ``fairness_found.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from remit.bench.rounds import DoesNotAddUp
from remit.core.commands import (
    CreateItem,
    EnrolActor,
    GrantLease,
    ReportCompletion,
    SetLimit,
    SetPolicy,
)
from remit.core.events import Recorded
from remit.core.facts import Lease, Policy
from remit.core.rows import RowKind, RowSpec
from remit.service.engine import Done
from remit.service.operations import Operations, lease_of
from remit.wiring.under_clock import in_file

OWNER: Final = "bench-owner"
WORKER: Final = "bench-worker"
START_US: Final = 1_750_000_000_000_000
TICK_US: Final = 1_000_000
AGE_STEP_MS: Final = 5_000
"""How much longer a step of lower priority waits before it goes ahead of newer work."""

JOB_S: Final = (2, 6)
"""Shortest and longest job, in whole seconds, all equally likely."""

ROW: Final = (RowSpec(RowKind.COMMAND, ("true",)),)
HEAD, BASE = "a" * 40, "b" * 40


@dataclass(slots=True)
class Hand:
    """A clock that only the simulation moves."""

    at_us: int = START_US

    def boot_id(self) -> str:
        """One boot that never ends."""
        return "simulation"

    def boot_us(self) -> int:
        """Microseconds of simulated time."""
        return self.at_us - START_US + 1

    def wall_us(self) -> int:
        """The simulated wall clock."""
        return self.at_us


@dataclass(frozen=True, slots=True)
class Group:
    """Work of one class: its weight, its tenants with how much of it is theirs, its priorities."""

    name: str
    weight: int
    tenants: tuple[tuple[str, int], ...]
    priorities: tuple[int, ...]


GROUPS: Final = (
    Group("gold", 5, (("huge", 90), ("small-1", 4), ("small-2", 3), ("small-3", 3)), (2,)),
    Group("silver", 3, tuple((f"tenant-{n}", 1) for n in range(12)), (1, 2, 2, 3)),
    Group("bronze", 2, (("urgent", 19), ("patient", 1)), (0, 0, 0, 0, 0, 0, 0, 4)),
)

CAPPED_AT: Final = 3
PACED_AT: Final = 7
PAID_MICROS: Final = 95
"""Leases at once, leases a minute, and micro-units (no multiple of what a lease reserves)."""

LIMITS: Final = (
    SetLimit("class/capped", concurrency=CAPPED_AT, weight=4),
    SetLimit("tenant/paced", rate=PACED_AT, per_ms=60_000),
    SetLimit("class/paid", spend_micros=PAID_MICROS, reserve_micros=10),
)
CAPPED: Final = (
    Group("capped", 1, (("roomy", 1),), (2,)),
    Group("paced-work", 1, (("paced", 1),), (2,)),
    Group("paid", 1, (("payer", 1),), (2,)),
)


class Simulation:
    """One ledger in a file, its workers, and what arrives."""

    def __init__(self, path: Path, seed: int, workers: int) -> None:
        self.clock = Hand()
        self.rnd = Random(seed)  # noqa: S311  # a simulation that must repeat itself
        self.workers = workers
        self.ledger = in_file(path, "simulation", OWNER, self.clock)
        self.owner = self.ledger.acting(OWNER)
        self.worker = self.ledger.acting(WORKER)
        done(self.owner, EnrolActor(WORKER, "agent"))
        done(self.owner, SetPolicy(Policy(age_step_ms=AGE_STEP_MS, ledger_leases=workers)))
        for group in GROUPS:
            done(self.owner, SetLimit(f"class/{group.name}", weight=group.weight))
        self.busy: list[tuple[int, Lease]] = []

    def limit(self) -> None:
        """Set the limits of the classes that come later."""
        for limit in LIMITS:
            done(self.owner, limit)

    def run(self, seconds: int, groups: tuple[Group, ...]) -> None:
        """So many seconds of more work than can be done."""
        for _ in range(seconds):
            self.arrive(groups)
            self.finish()
            self.lease()
            self.clock.at_us += TICK_US

    def arrive(self, groups: tuple[Group, ...]) -> None:
        """Each class brings as much as all workers could do in a second."""
        items = []
        for group in groups:
            names, sizes = zip(*group.tenants, strict=True)
            for tenant in self.rnd.choices(names, sizes, k=max(1, self.workers // 4)):
                priority = self.rnd.choice(group.priorities)
                items.append(
                    CreateItem(
                        "job",
                        priority=priority,
                        work_class=group.name,
                        tenant=tenant,
                        rows=ROW,
                        rule="",
                    )
                )
        for answer in self.owner.create(items):
            if not isinstance(answer, Done):
                raise DoesNotAddUp(f"simulation: found the refusal {answer.message!r}")

    def finish(self) -> None:
        """Hand in what is done."""
        now = self.clock.at_us
        over = [lease for until, lease in self.busy if until <= now]
        self.busy = [(until, lease) for until, lease in self.busy if until > now]
        for answer in self.worker.report_completion(
            [
                ReportCompletion(x.item, x.fence, HEAD, BASE, spent_micros=x.spend_micros)
                for x in over
            ]
        ):
            if not isinstance(answer, Done):
                raise DoesNotAddUp(f"simulation: found the refusal {answer.message!r}")

    def lease(self) -> None:
        """Each free worker takes the next."""
        free = self.workers - len(self.busy)
        for answer in self.worker.lease([GrantLease()] * free):
            if isinstance(answer, Done):
                until = self.clock.at_us + self.rnd.randint(*JOB_S) * TICK_US
                self.busy.append((until, lease_of(answer)))

    def events(self) -> Iterator[Recorded]:
        """Everything that happened."""
        after = 0
        with self.ledger.reading() as tx:
            while page := tx.events(after, 5_000):
                yield from page
                after = page[-1].seq


def done(operations: Operations, command: Any) -> None:
    """Run a command that must be accepted."""
    answer = operations.run(command)
    if not isinstance(answer, Done):
        raise DoesNotAddUp(f"simulation: found the refusal {answer.message!r}, expected none")
