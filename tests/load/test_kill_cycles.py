"""Kills under load: nothing acknowledged is lost, every unknown outcome is settled (INV-9, INV-22).

In each cycle a part of the server, the whole server, or a worker is killed with SIGKILL while several
workers create, lease, renew, report, complete, hand back and give up. Whoever had no answer asks again
under the same command id. Killing a process does not test syncs: what the disk keeps is the
server's promise.
"""

from __future__ import annotations

import random
import time

import pytest
from tests.load.field import Field, field
from tests.load.verdict import Verdict
from tests.load.worker import Load
from tests.stores.postgres.server import Server

from remit.core.facts import Policy

SYNCED = ("max_connections=60", "log_min_messages=fatal", "shared_buffers=64MB")
POLICY = Policy(ttl_ms=2_000, longest_lease_ms=6_000, attempts=50, actor_leases=8, ledger_leases=20)
WEIGHTS = {"complete": 4.0, "turn": 2, "renew": 3, "progress": 2, "release": 2, "fail": 1}
HOW = ("postmaster", "all", "session", "worker", "worker")
"""What is killed, in turn, so that a short run has each of them."""

EVENTS = 60
"""How many events lie between two kills at least, however slow the machine is."""


def cycle(at: Field, number: int, longest_s: float) -> None:
    """Let some work be done, and a moment pass; then kill something and have it back."""
    at.wait(EVENTS)
    time.sleep(at.chance.uniform(0, longest_s))
    how = HOW[number % len(HOW)]
    if how == "worker":
        at.kill_worker(at.one())
    else:
        at.kill_server(how)


def cycles(many: int, workers: int, seed: int, longest_s: float) -> Verdict:
    """So many cycles under load, then judge."""
    server = Server(SYNCED)
    load = Load("", "", seed, share=1 << 30, batch=6, weights=WEIGHTS, past=0.02)
    try:
        server.start()
        server.run("CREATE DATABASE load")
        with field(server, "load", load, workers, POLICY) as at:
            at.start_all()
            for number in range(many):
                cycle(at, number, longest_s)
            at.wait(EVENTS)
            verdict = at.verdict(at.end())
    finally:
        server.stop()
    counts = verdict.counts
    assert verdict.problems == []
    assert counts["not settled"] == 0
    done, never = counts["settled as done"], counts["settled as never happened"]
    assert counts["unknown outcomes"] == done + never
    assert counts["acknowledged elements"] > 10 * many
    return verdict


@pytest.mark.timeout(300)
def test_server_and_workers_killed_under_load() -> None:
    cycles(5, workers=3, seed=11, longest_s=0.3)


@pytest.mark.torture
@pytest.mark.timeout(1_800)
def test_server_and_workers_killed_fifty_times_under_load() -> None:
    verdict = cycles(50, workers=8, seed=random.randrange(1 << 32), longest_s=2)
    assert verdict.counts["settled as done"] > 0
    assert verdict.counts["settled as never happened"] > 0
