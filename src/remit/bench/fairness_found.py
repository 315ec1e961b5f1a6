"""What came of a simulation of shares and limits, read from the events of its ledger alone.

- The share of leases of each class under load, beside the share that its weight says.
- The longest wait from ready to leased, of what was leased and of what still waits, beside a bound
  that is reckoned here from arrivals, weights and the ageing rule, never from a stored rank: who was
  ahead of it in its lane, plus itself, at the pace that its lane is owed while all others are busy.
- The highest use of each limit, counted anew at every seq, which must never be above it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from remit.bench.fairness import (
    AGE_STEP_MS,
    CAPPED,
    CAPPED_AT,
    GROUPS,
    JOB_S,
    PACED_AT,
    PAID_MICROS,
    START_US,
    Group,
    Simulation,
)
from remit.core.item_events import CompletionReported, ItemAdmitted, ItemCreated, LeaseGranted

SHARE_BOUND: Final = 0.05
"""How far a class may be from its share, of that share."""

SLACK: Final = 1.25
SLACK_S: Final = 3 * JOB_S[1]
"""How much longer than its bound a wait may be: jobs differ in length, and workers are busy when it
comes."""

EVERY: Final = 25
"""Leases between two points of the course."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one class got, beside what its weight says, and how long its work waited.

    ``longest_wait_s`` is of what was leased, ``waiting_longest_s`` of what was not by the end;
    ``nearest`` is the worst wait as a part of its own bound, which is ``nearest_bound_s`` seconds.
    """

    work_class: str
    weight: int
    wanted: float
    got: float
    leases: int
    longest_wait_s: float
    waiting_longest_s: float
    nearest: float
    nearest_bound_s: float

    @property
    def off(self) -> float:
        """How far it is from its share, of that share."""
        return abs(self.got - self.wanted) / self.wanted

    @property
    def fair(self) -> bool:
        """Near enough to its share, and nothing of it waited beyond its bound."""
        return self.off <= SHARE_BOUND and self.nearest <= 1

    def as_data(self) -> dict[str, Any]:
        """The share as it stands in JSON."""
        return {
            "class": self.work_class,
            "weight": self.weight,
            "wanted": round(self.wanted, 4),
            "got": round(self.got, 4),
            "off": round(self.off, 4),
            "leases": self.leases,
            "longest_wait_s": self.longest_wait_s,
            "waiting_longest_s": self.waiting_longest_s,
            "wait_of_bound": round(self.nearest, 3),
            "wait_bound_s": round(self.nearest_bound_s, 1),
            "fair": self.fair,
        }


@dataclass(frozen=True, slots=True)
class Use:
    """The highest use of one limit at any seq; ``seq`` is the first event that reached it."""

    scope: str
    figure: str
    most: int
    limit: int
    seq: int

    @property
    def held(self) -> bool:
        """Whether it was never exceeded."""
        return self.most <= self.limit

    def as_data(self) -> dict[str, Any]:
        """The use as it stands in JSON."""
        return {
            "scope": self.scope,
            "figure": self.figure,
            "most": self.most,
            "limit": self.limit,
            "seq": self.seq,
            "held": self.held,
        }


@dataclass(slots=True)
class Outcome:
    """What came of a run."""

    shares: list[Share] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    course: list[tuple[int, dict[str, int]]] = field(default_factory=list)
    seconds: int = 0
    workers: int = 0
    events: int = 0

    @property
    def fair(self) -> bool:
        """Every class within the bound of its share and of its waits, no limit exceeded at any seq."""
        return all(share.fair for share in self.shares) and all(use.held for use in self.uses)

    def as_data(self) -> dict[str, Any]:
        """The outcome as it stands in JSON."""
        return {
            "fair": self.fair,
            "shares": [share.as_data() for share in self.shares],
            "limits": [use.as_data() for use in self.uses],
            "share_bound": SHARE_BOUND,
            "seconds": self.seconds,
            "workers": self.workers,
            "events": self.events,
        }


def simulate(path: Path, seconds: int = 240, workers: int = 24, seed: int = 7) -> Outcome:
    """Shares over one run, and limits over a second part of it in which limited classes join.

    ``path`` is where its ledger is made. ``seconds`` are of simulated time and count for the first
    part; the second takes half as many.
    """
    simulation = Simulation(path, seed, workers)
    try:
        simulation.run(seconds, GROUPS)
        found = Outcome(seconds=seconds, workers=workers)
        _shares(found, simulation)
        simulation.limit()
        simulation.run(seconds // 2, (*GROUPS, *CAPPED))
        _uses(found, simulation)
    finally:
        simulation.ledger.close()
    return found


@dataclass(slots=True)
class _Waits:
    """Waits of one lane's items against who was ahead of them."""

    pace_us: float
    """Microseconds of one lease of this lane while every other lane is busy as well."""

    ready: dict[str, tuple[int, int]] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    ahead: Counter[str] = field(default_factory=Counter)

    def come(self, item: str, at: int, priority: int) -> None:
        """An item became ready; older or more urgent work stays ahead of it."""
        rank = at + priority * AGE_STEP_MS * 1_000
        self.ahead[item] = bisect_left(self.order, rank + 1)
        for other, (_, other_rank) in self.ready.items():
            if other_rank > rank:
                self.ahead[other] += 1
        self.ready[item] = (at, rank)
        insort(self.order, rank)

    def gone(self, item: str, at: int) -> tuple[float, float]:
        """An item was leased: its wait in seconds, and the bound of it."""
        since, rank = self.ready.pop(item)
        self.order.pop(bisect_left(self.order, rank))
        return self.waited(item, since, at)

    def waited(self, item: str, since: int, at: int) -> tuple[float, float]:
        """How long it has waited, and how long it may."""
        owed = (self.ahead[item] + 1) * self.pace_us / 1e6
        return (at - since) / 1e6, owed * SLACK + SLACK_S


def _pace_us(group: Group, workers: int) -> float:
    """Microseconds between two leases that a lane of this class is owed at least."""
    weights = sum(g.weight for g in GROUPS)
    job_us = sum(JOB_S) / 2 * 1e6
    return job_us / workers * weights / group.weight * len(group.tenants)


def _shares(found: Outcome, simulation: Simulation) -> None:
    """Leases and waits by class, from the events."""
    groups = {group.name: group for group in GROUPS}
    paces = {name: _pace_us(group, simulation.workers) for name, group in groups.items()}
    made: dict[str, ItemCreated] = {}
    lanes: dict[tuple[str, str], _Waits] = {}
    leases: Counter[str] = Counter()
    waits: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for recorded in simulation.events():
        event, item = recorded.event, recorded.stream
        if isinstance(event, ItemCreated):
            made[item] = event
        elif isinstance(event, ItemAdmitted):
            brief = made[item]
            lane = (brief.work_class, brief.tenant)
            waiting = lanes.setdefault(lane, _Waits(paces[brief.work_class]))
            waiting.come(item, recorded.at, brief.priority)
        elif isinstance(event, LeaseGranted):
            name = made[item].work_class
            leases[name] += 1
            waits[name].append(lanes[name, made[item].tenant].gone(item, recorded.at))
            if sum(leases.values()) % EVERY == 0:
                found.course.append((recorded.at - START_US, dict(leases)))
    now = simulation.clock.at_us
    total, weights = sum(leases.values()), sum(g.weight for g in GROUPS)
    for name, group in groups.items():
        left = [
            lane.waited(item, since, now)
            for (work_class, _), lane in lanes.items()
            if work_class == name
            for item, (since, _) in lane.ready.items()
        ]
        worst = max((*waits[name], *left), key=lambda pair: pair[0] / pair[1], default=(0.0, 1.0))
        found.shares.append(
            Share(
                name,
                group.weight,
                group.weight / weights,
                leases[name] / total,
                leases[name],
                max((wait for wait, _ in waits[name]), default=0.0),
                max((wait for wait, _ in left), default=0.0),
                worst[0] / worst[1],
                worst[1],
            )
        )


def _uses(found: Outcome, simulation: Simulation) -> None:
    """The highest use of each limit at any seq, counted anew from the events."""
    kinds: dict[str, tuple[str, str]] = {}
    live: Counter[str] = Counter()
    paced: Counter[int] = Counter()
    most: dict[str, tuple[int, int]] = {}
    spent = 0

    def note(scope: str, value: int, seq: int) -> None:
        if value > most.get(scope, (0, 0))[0]:
            most[scope] = (value, seq)

    for recorded in simulation.events():
        event, item, seq = recorded.event, recorded.stream, recorded.seq
        found.events = seq
        if isinstance(event, ItemCreated):
            kinds[item] = (event.work_class, event.tenant)
        elif isinstance(event, LeaseGranted):
            work_class, tenant = kinds[item]
            for name in (work_class, "ledger"):
                live[name] += 1
                note(name, live[name], seq)
            if tenant == "paced":
                paced[recorded.at // 60_000_000] += 1
                note("paced", paced[recorded.at // 60_000_000], seq)
            if work_class == "paid":
                spent += event.lease.spend_micros
                note("spent", spent, seq)
        elif isinstance(event, CompletionReported):
            for name in (kinds[item][0], "ledger"):
                live[name] -= 1
    for scope, figure, key, limit in (
        ("ledger", "concurrency", "ledger", simulation.workers),
        ("class/capped", "concurrency", "capped", CAPPED_AT),
        ("tenant/paced", "leases a minute", "paced", PACED_AT),
        ("class/paid", "spend in micro-units", "spent", PAID_MICROS),
    ):
        highest, seq = most.get(key, (0, 0))
        found.uses.append(Use(scope, figure, highest, limit, seq))
