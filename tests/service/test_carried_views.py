"""A view that is carried from one transaction to the next gives the answers of one that is not.

Two ledgers see the same traffic under one clock. One engine lives on, so that it carries its view; the
other is new for each call and asks the store for everything. Now and then somebody else writes, and
after that the carried view is of no use.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tests.contract.builders import Hands
from tests.core.traffic import MIXED, SMALL, Traffic
from tests.core.world import AGENTS, COMMAND, HUMAN, OTHER, World
from tests.stateful.side_by_side import shape_of
from tests.stateful.whole import picture

from remit.core import commands as c
from remit.core.facts import Policy
from remit.core.view import View
from remit.ports import RemitError
from remit.service import kept
from remit.service.engine import Call, Done, Engine
from remit.stores.memory import MemoryStore

LANES = tuple((work_class, tenant) for work_class in ("a", "b", "z") for tenant in ("t", "u"))


class TwoEngines:
    """Stands where traffic expects an engine; ``others`` is how often somebody else writes."""

    def __init__(self, clock: Hands, rnd: Random, others: float, policy: Policy | None) -> None:
        self.stores = {name: MemoryStore("world", readings=clock) for name in ("carried", "fresh")}
        self.carried = Engine(self.stores["carried"])
        self.rnd, self.others, self.went_on, self.compared = rnd, others, 0, 0
        first = [c.CreateLedger("world", HUMAN), c.EnrolActor(OTHER, "human")]
        first += [c.EnrolActor(agent, "agent") for agent in AGENTS]
        first += [c.SetPolicy(policy)] if policy else []
        for command in first:
            self.run([Call(command, HUMAN)])

    def run(self, calls: list[Call], *, atomic: bool = False, urgent: bool = False) -> list[Any]:
        engine = self.carried
        if self.rnd.random() < self.others:
            engine = Engine(self.stores["carried"])
        before = engine._kept  # whether it is used is what is tested
        with self.stores["carried"].read() as tx:
            self.went_on += 0 < before.seq == tx.head().seq
        found = engine.run(calls, atomic=atomic, urgent=urgent)
        wanted = Engine(self.stores["fresh"]).run(calls, atomic=atomic, urgent=urgent)
        assert [shape_of(a) for a in found] == [shape_of(a) for a in wanted], calls
        self.compare()
        return found

    def compare(self) -> None:
        """All that is kept in both."""
        seen = []
        for store in self.stores.values():
            with store.read() as tx:
                seen.append(picture(tx, self.compared))
        for what, value in seen[0].items():
            assert value == seen[1][what], what
        self.compared = seen[0]["head"].seq


def traffic_of(seed: int, others: float) -> tuple[Traffic, TwoEngines]:
    """Random traffic whose world is driven by two engines."""
    traffic = Traffic(Random(seed), 12, MIXED)
    both = TwoEngines(traffic.world.clock, Random(seed), others, SMALL)
    traffic.world.store = both.stores["carried"]
    traffic.world.engine = both  # type: ignore[assignment]  # it answers as an engine does
    return traffic, both


def drive(seed: int, others: float, steps: int) -> int:
    """Steps of traffic; how often a view was carried on."""
    traffic, both = traffic_of(seed, others)
    for _ in range(steps):
        chance = traffic.rnd.random()
        if chance < 0.12:
            traffic.time()
        elif chance < 0.20:
            traffic.again()
        else:
            traffic.ask(traffic.rnd.randint(2, 4) if chance < 0.30 else 1)
    return both.went_on


def many_lanes(seed: int) -> int:
    """Leases and releases over more lanes and items than one window or one look at lanes holds."""
    rnd, world = Random(seed), World()
    both = TwoEngines(world.clock, rnd, 1.0, None)

    def ask(*commands: c.Command) -> list[Any]:
        return both.run([Call(command, "bob") for command in commands])

    leases: list[Any] = []
    given = 0
    lanes = LANES if seed % 2 else LANES[:1]
    ask(*(_item(rnd, lanes) for _ in range(60)))  # somebody else's, so that windows are needed
    both.others = 0.05
    for _ in range(120):
        chance = rnd.random()
        if chance < 0.2:
            ask(*(_item(rnd, lanes) for _ in range(rnd.randint(1, 12))))
        elif chance < 0.6 or not leases:
            for answer in ask(*[c.GrantLease()] * rnd.randint(1, 3)):
                given += isinstance(answer, Done)
                if isinstance(answer, Done):
                    leases.append(answer.events[-1].event.lease)  # type: ignore[attr-defined]  # an event of a lease
        else:
            lease = leases.pop(rnd.randrange(len(leases)))
            ask(c.ReleaseLease(lease.item, lease.fence))
        world.pass_us(rnd.choice((1_000, 1_000_000)))
    assert given > 30
    return both.went_on


def _item(rnd: Random, lanes: tuple[tuple[str, str], ...]) -> c.CreateItem:
    work_class, tenant = rnd.choice(lanes)
    return c.CreateItem(
        "work", priority=rnd.choice((2, 2, 2, 1)), work_class=work_class, tenant=tenant,
        rows=(COMMAND,), rule="",
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_traffic_gets_the_answers_of_a_fresh_view(seed: int) -> None:
    assert drive(seed, 0.1 if seed % 2 else 0.0, 150) > 40


@pytest.mark.parametrize("seed", range(6))
def test_windows_and_lanes_that_are_carried_are_the_stored_ones(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.service.loading.LANES", 1 + seed % 3)
    assert many_lanes(seed) > 40


def _stale_lanes(self: View) -> None:
    self.original.clear()


def _no_check(view: View, events: Any, quiet_until: int) -> kept.Kept:
    return kept.Kept(view.seq, View({**view.facts, ("counter", "fence"): 0}, view.seq), quiet_until)


@pytest.mark.parametrize(
    ("what", "fault", "run"),
    [
        ("remit.core.view.View.carry_on", _stale_lanes, many_lanes),
        ("remit.service.engine.keep", _no_check, lambda s: drive(s, 0.1, 150)),
    ],
    ids=[
        "lanes-that-were-not-all",
        "a-figure-that-was-not-kept",
    ],
)
def test_a_planted_fault_is_found(
    what: str, fault: Any, run: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remit.service.loading.LANES", 1)
    monkeypatch.setattr(what, fault)
    with pytest.raises((AssertionError, RemitError)):
        for seed in range(20):
            run(seed)
