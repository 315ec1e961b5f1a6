"""Memory, SQLite and PostgreSQL give the same answers and hold the same state, step by step."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from tests.contract.builders import Hands
from tests.stateful.side_by_side import SharedTraffic, Stores
from tests.stores.postgres.server import Server

from remit.core.facts import Lane, LaneId
from remit.ports import Change
from remit.stores.postgres import opening
from remit.stores.sqlite import store as sqlite

CHANCE = st.randoms(use_true_random=False)


class Agreeing(RuleBasedStateMachine):
    """Rules that anybody could ask; ``server`` and ``database`` are set by the test."""

    server: Server
    database: str

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="remit-agree-"))
        self.server.wipe(self.database)
        self.traffic = SharedTraffic(Random(1), made(self.folder, self.url))
        self.clock = self.traffic.world.clock

    @property
    def url(self) -> str:
        return self.server.url(self.database)

    @rule(rnd=CHANCE, many=st.sampled_from((1, 1, 1, 2, 4)))
    def ask(self, rnd: Random, many: int) -> None:
        self.traffic.rnd = rnd
        self.traffic.ask(many)

    @rule(rnd=CHANCE)
    def again(self, rnd: Random) -> None:
        self.traffic.rnd = rnd
        self.traffic.again()

    @rule(rnd=CHANCE)
    def wait(self, rnd: Random) -> None:
        self.traffic.rnd = rnd
        self.traffic.time()

    @rule()
    def rebuild(self) -> None:
        self.traffic.same.rebuild()

    @rule()
    def reopen(self) -> None:
        """What another process would find."""
        stores = self.traffic.same.stores
        stores["sqlite"].close()
        stores["postgres"].close()
        stores["sqlite"] = sqlite.open_store(self.folder / "a.db", readings=self.clock)
        stores["postgres"] = opening.open_store(self.url, readings=self.clock)

    @invariant()
    def agree(self) -> None:
        self.traffic.same.compare()

    def teardown(self) -> None:
        for store in self.traffic.same.stores.values():
            store.close()
        shutil.rmtree(self.folder)


def made(folder: Path, url: str) -> Callable[[Hands], Stores]:
    """New ledgers in SQLite and PostgreSQL."""
    return lambda clock: {
        "sqlite": sqlite.create_store(folder / "a.db", "world", readings=clock),
        "postgres": opening.create_store(url, "world", readings=clock),
    }


@pytest.fixture
def machine(postgres: Server, shared_database: str) -> type[Agreeing]:
    return type("Agreement", (Agreeing,), {"server": postgres, "database": shared_database})


HOW = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@pytest.mark.timeout(600)
def test_the_stores_agree(machine: type[Agreeing]) -> None:
    """About 1,500 steps."""
    run_state_machine_as_test(
        machine, settings=settings(HOW, max_examples=30, stateful_step_count=50, derandomize=True)
    )


@pytest.mark.torture
@pytest.mark.timeout(36_000)
def test_the_stores_agree_for_long(machine: type[Agreeing]) -> None:
    """About 100,000 steps, other ones each time."""
    run_state_machine_as_test(
        machine, settings=settings(HOW, max_examples=1_000, stateful_step_count=100)
    )


@pytest.mark.torture
@pytest.mark.timeout(36_000)
def test_the_stores_agree_over_long_histories(postgres: Server, shared_database: str) -> None:
    """Long ledgers instead of many: 40 of 500 steps, from seeds that are printed."""
    for _ in range(40):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        assert steps(postgres, shared_database, seed, 500) > 100


def steps(server: Server, database: str, seed: int, many: int) -> int:
    """Seeded traffic on three stores, compared at each step; how many events there were."""
    server.wipe(database)
    rnd = Random(seed)
    with tempfile.TemporaryDirectory(prefix="remit-agree-") as folder:
        traffic = SharedTraffic(rnd, made(Path(folder), server.url(database)))
        for _ in range(many):
            chance = rnd.random()
            if chance < 0.12:
                traffic.time()
            elif chance < 0.20:
                traffic.again()
            else:
                traffic.ask(rnd.choice((1, 1, 1, 3)))
            traffic.same.compare()
        traffic.same.rebuild()
        for store in traffic.same.stores.values():
            store.close()
    return traffic.same.compared


def test_a_difference_would_be_seen(postgres: Server, shared_database: str) -> None:
    """The red control: one row of one store is changed behind its back."""
    postgres.wipe(shared_database)
    with tempfile.TemporaryDirectory(prefix="remit-agree-") as folder:
        traffic = SharedTraffic(Random(3), made(Path(folder), postgres.url(shared_database)))
        see_a_difference(traffic)
        for store in traffic.same.stores.values():
            store.close()


def see_a_difference(traffic: SharedTraffic) -> None:
    store = traffic.same.stores["postgres"]
    traffic.same.compare()
    with store.write() as tx:
        tx.write([Change(("lane", "x|y"), None, Lane(LaneId("x|y"), 1, 1, 1, 0))])
    with pytest.raises(AssertionError, match="facts"):
        traffic.same.compare()
    with pytest.raises(AssertionError, match="postgres"):
        traffic.same.rebuild()
