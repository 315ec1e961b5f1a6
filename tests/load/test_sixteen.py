"""Many processes on one PostgreSQL ledger, through kills, stops and cut sessions (INV-7, INV-8, INV-9).

Workers create items, lease them in batches and hand them in, until every item has been handed in once.
Meanwhile workers are killed and live again, are stopped until their leases have run out and go on
as if nothing had been, and the server ends sessions that a superuser picks. A write that comes too late
has to be refused and kept as evidence; nothing may be lost, and nothing may be done twice.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.load.field import Field
from tests.load.field import field as laid
from tests.load.worker import Load
from tests.stores.postgres.server import Server

from remit.core.facts import Policy

WEIGHTS = {"complete": 5.0, "turn": 4, "renew": 1, "progress": 1, "release": 0.5}
LONG_STOP_S = 11.0
"""Longer than a writer waits for its lock."""


@dataclass(frozen=True)
class Size:
    """How large a run is. Faults come by the work that is done, so that a slow machine has as many:

    one of each kind after about so many items were handed in. ``long_stops``: one stop of so many
    lasts longer than a writer waits for a lock; 0: none does.
    """

    workers: int
    items: int
    batch: int
    dwell_ms: int
    ttl_ms: int
    kill: int
    stop: int
    cut: int
    long_stops: int
    longest_s: float


ABOUT = (
    "workers killed", "workers stopped", "sessions ended", "late writes refused and recorded",
    "expired leases",
)  # fmt: skip
"""What a run must have had, by the names of its counts: one without them has shown nothing of them."""

ROUNDS = 5
"""How many storms there may be until one had all of it."""

SHORT = Size(4, 400, 6, 100, 1_000, kill=50, stop=120, cut=25, long_stops=0, longest_s=300)
LONG = Size(
    16, 50_000, 25, 100, 4_000, kill=250, stop=1_500, cut=100, long_stops=8, longest_s=1_700
)


@dataclass
class Storm:
    """What befalls the workers of a field."""

    at: Field
    size: Size
    stops: int = 0
    frozen: dict[str, float] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)

    def blow(self) -> float:
        """Let faults befall the workers until all items are handed in; the seconds that it took."""
        started = now = time.monotonic()
        size = self.size
        faults: dict[str, tuple[int, Callable[[], None]]] = {
            "kill": (size.kill, self.kill),
            "stop": (size.stop, self.stop),
            "cut": (size.cut, self.at.cut),
        }
        self.due = {name: self.soon(every) for name, (every, _) in faults.items()}
        while now - started < size.longest_s:
            self.at.watch()
            left = self.at.left()
            if left == 0:
                break
            done = 0 if left is None else size.items - left
            for name, (every, fault) in faults.items():
                if done >= self.due[name]:
                    fault()
                    self.due[name] += self.soon(every)
            now = time.monotonic()
            self.thaw(now)
            time.sleep(0.1)
        self.thaw(float("inf"))
        return now - started

    def soon(self, every: int) -> int:
        return round(self.at.chance.uniform(0.5, 1.5) * every)

    def kill(self) -> None:
        """Kill a worker that is not stopped."""
        name = self.at.one()
        if name not in self.frozen:
            self.at.kill_worker(name)

    def stop(self) -> None:
        """Stop one or two workers until their leases have run out, and longer."""
        self.stops += 1
        names = {self.at.one(), self.at.one()} - self.frozen.keys()
        self.at.freeze(sorted(names))
        lasts = self.size.ttl_ms / 1_000 + self.at.chance.uniform(0.1, 0.6)
        if self.size.long_stops and self.stops % self.size.long_stops == 0:
            lasts = LONG_STOP_S
        self.frozen |= dict.fromkeys(names, time.monotonic() + lasts)

    def thaw(self, now: float) -> None:
        """Let those go on whose time has come."""
        names = [name for name, until in self.frozen.items() if until <= now]
        self.at.thaw(names)
        for name in names:
            del self.frozen[name]


def storm(server: Server, database: str, size: Size, seed: int) -> list[str]:
    """One run, judged; returns what it is about and did not have."""
    policy = Policy(
        ttl_ms=size.ttl_ms,
        longest_lease_ms=3 * size.ttl_ms,
        attempts=1_000,
        actor_leases=2 * size.batch,
        ledger_leases=size.workers * size.batch * 3 // 4,
    )
    share = size.items // size.workers
    load = Load("", "", seed, share, size.batch, WEIGHTS, dwell_ms=size.dwell_ms)
    with laid(server, database, load, size.workers, policy) as at:
        at.start_all()
        took = Storm(at, size).blow()
        asked = at.end()
        print(f"{size.workers} processes, {size.items:,} items, {took:.0f} s")
        verdict = at.verdict(asked)
        did = at.did
    counts = verdict.counts
    assert verdict.problems == []
    assert counts["items"] == counts["completed items"] == size.items
    assert counts["not settled"] == 0
    missed = [name for name in ABOUT if not (counts | did)[name]]
    print(f"missed: {missed}")
    return missed


@pytest.mark.timeout(1_800)
def test_four_processes_through_kills_stops_and_cuts(postgres: Server) -> None:
    """Whom a fault finds, and with which leases, is chance: so there are storms until all was met."""
    storms = (storm(postgres, postgres.database(), SHORT, 7 + number) for number in range(ROUNDS))
    assert any(missed == [] for missed in storms)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_sixteen_processes_hand_in_fifty_thousand_items_once_each() -> None:
    server = Server(("max_connections=120", "log_min_messages=fatal", "shared_buffers=128MB"))
    try:
        server.start()
        server.run("CREATE DATABASE sixteen")
        assert storm(server, "sixteen", LONG, seed=random.randrange(1 << 32)) == []
    finally:
        server.stop()
