"""``remit bench fairness``: whether everybody gets a fair share, and nobody waits for ever.

A simulation under a clock of its own, through the same operations and core as always; only time is
made up, so the answer is the same on every machine. More work arrives than the workers can do: one
class with one huge tenant, one with many small ones, one in which urgent work never ceases. After a
while a class with limits joins. Each figure comes from the events of the ledger alone:

- the share of leases of each class over the whole run, beside the share that its weight says;
- the longest wait from ready to leased of what was leased, and of what still waits at the end;
- the highest use of each limit at any seq, which must never be above it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from remit import wiring
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
from remit.core.item_events import CompletionReported, ItemAdmitted, ItemCreated, LeaseGranted
from remit.core.rows import RowKind, RowSpec
from remit.service.engine import Done
from remit.service.operations import Operations, lease_of

OWNER: Final = "bench-owner"
WORKER: Final = "bench-worker"
START_US: Final = 1_750_000_000_000_000
TICK_US: Final = 1_000_000
SHARE_BOUND: Final = 0.05
"""How far a class may be from its share, of that share."""

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

LIMITS: Final = (
    SetLimit("class/capped", concurrency=3),
    SetLimit("tenant/paced", rate=7, per_ms=60_000),
    SetLimit("class/paid", spend_micros=4_000, reserve_micros=10),
)
CAPPED: Final = (
    Group("capped", 1, (("roomy", 1),), (2,)),
    Group("paced-work", 1, (("paced", 1),), (2,)),
    Group("paid", 1, (("payer", 1),), (2,)),
)


@dataclass(frozen=True, slots=True)
class Share:
    """What one class got, beside what its weight says."""

    work_class: str
    weight: int
    wanted: float
    got: float
    leases: int
    longest_wait_s: float
    waiting_longest_s: float

    @property
    def off(self) -> float:
        """How far it is from its share, of that share."""
        return abs(self.got - self.wanted) / self.wanted


@dataclass(frozen=True, slots=True)
class Use:
    """The highest use of one limit at any seq."""

    scope: str
    figure: str
    most: int
    limit: int


@dataclass(slots=True)
class Outcome:
    """What came of a run."""

    shares: list[Share] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    course: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    seconds: int = 0
    workers: int = 0

    @property
    def fair(self) -> bool:
        """Every class within the bound of its share, and no limit exceeded at any seq."""
        near = all(share.off <= SHARE_BOUND for share in self.shares)
        return near and all(use.most <= use.limit for use in self.uses)


class Simulation:
    """One ledger in memory, its workers, and what arrives."""

    def __init__(self, seed: int, workers: int) -> None:
        self.clock = Hand()
        self.rnd = Random(seed)  # noqa: S311  # a simulation that must repeat itself
        self.workers = workers
        self.ledger = wiring.in_memory("simulation", OWNER, self.clock)
        self.owner = self.ledger.acting(OWNER)
        self.worker = self.ledger.acting(WORKER)
        done(self.owner, EnrolActor(WORKER, "agent"))
        done(self.owner, SetPolicy(Policy(age_step_ms=60_000, ledger_leases=workers)))
        for group in GROUPS:
            done(self.owner, SetLimit(f"class/{group.name}", weight=group.weight))
        self.busy: list[tuple[int, Lease]] = []

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
            [ReportCompletion(x.item, x.fence, HEAD, BASE) for x in over]
        ):
            if not isinstance(answer, Done):
                raise DoesNotAddUp(f"simulation: found the refusal {answer.message!r}")

    def lease(self) -> None:
        """Each free worker takes the next; a job takes 2 to 6 seconds."""
        free = self.workers - len(self.busy)
        for answer in self.worker.lease([GrantLease()] * free):
            if isinstance(answer, Done):
                until = self.clock.at_us + self.rnd.randint(2, 6) * TICK_US
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


def simulate(seconds: int = 240, workers: int = 24, seed: int = 7) -> Outcome:
    """Shares over one run, and limits over a second part of it in which limited classes join."""
    simulation = Simulation(seed, workers)
    simulation.run(seconds, GROUPS)
    found = Outcome(seconds=seconds, workers=workers)
    shares(found, simulation)
    for limit in LIMITS:
        done(simulation.owner, limit)
    simulation.run(seconds // 2, (*GROUPS, *CAPPED))
    uses(found, simulation)
    simulation.ledger.close()
    return found


def shares(found: Outcome, simulation: Simulation) -> None:
    """Leases and waits by class, from the events."""
    classes: dict[str, str] = {}
    ready: dict[str, int] = {}
    leases: Counter[str] = Counter()
    longest: Counter[str] = Counter()
    for recorded in simulation.events():
        event, item = recorded.event, recorded.stream
        if isinstance(event, ItemCreated):
            classes[item] = event.work_class
        elif isinstance(event, ItemAdmitted):
            ready[item] = recorded.at
        elif isinstance(event, LeaseGranted):
            name = classes[item]
            leases[name] += 1
            longest[name] = max(longest[name], recorded.at - ready.pop(item))
            if sum(leases.values()) % 25 == 0:
                found.course.append((recorded.at - START_US, dict(leases)))
    now = simulation.clock.at_us
    waiting: Counter[str] = Counter()
    for item, since in ready.items():
        waiting[classes[item]] = max(waiting[classes[item]], now - since)
    weights, total = sum(g.weight for g in GROUPS), sum(leases.values())
    for group in GROUPS:
        name = group.name
        found.shares.append(
            Share(
                name,
                group.weight,
                group.weight / weights,
                leases[name] / total,
                leases[name],
                longest[name] / 1e6,
                waiting[name] / 1e6,
            )
        )


def uses(found: Outcome, simulation: Simulation) -> None:
    """The highest use of each limit at any seq, counted anew from the events."""
    kinds: dict[str, tuple[str, str]] = {}
    live: Counter[str] = Counter()
    most: Counter[str] = Counter()
    paced: dict[int, int] = defaultdict(int)
    spent = 0
    for recorded in simulation.events():
        event, item = recorded.event, recorded.stream
        if isinstance(event, ItemCreated):
            kinds[item] = (event.work_class, event.tenant)
        elif isinstance(event, LeaseGranted):
            work_class, tenant = kinds[item]
            for name in (work_class, "ledger"):
                live[name] += 1
                most[name] = max(most[name], live[name])
            if tenant == "paced":
                paced[recorded.at // 60_000_000] += 1
            if work_class == "paid":
                spent += event.lease.spend_micros
        elif isinstance(event, CompletionReported):
            for name in (kinds[item][0], "ledger"):
                live[name] -= 1
    found.uses = [
        Use("ledger", "concurrency", most["ledger"], simulation.workers),
        Use("class/capped", "concurrency", most["capped"], 3),
        Use("tenant/paced", "rate", max(paced.values(), default=0), 7),
        Use("class/paid", "spend_micros", spent, 4_000),
    ]
