"""One observation and very many holds: the writer is never kept long, and no herd is admitted.

What counts is the time that a writer's transaction takes of its own thread: on a shared machine the
clock on the wall measures the neighbours.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.core.effects import MINUTE, MINUTE_US, POLICY, RULES, capacity, envelope

from remit.core import commands as c
from remit.core.change import changed
from remit.core.effect_events import HoldsRechecked
from remit.core.rechecking import BATCH
from remit.service.engine import Call, Engine
from remit.service.submitting import intent_of
from remit.stores.sqlite.store import SqliteStore, create_store

HUMAN = "ann"
LONGEST_S = 0.1
"""Longest that one transaction may keep the writer."""


class Timed:
    """A store whose writers are timed: thread time from the lock to the commit."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.took: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def write(self, **how: Any) -> Iterator[Any]:
        with self._store.write(**how) as tx:
            begun = time.thread_time()
            yield tx
        self.took.append(time.thread_time() - begun)


def run(engine: Engine, *commands: Any, actor: str = HUMAN) -> None:
    for answer in engine.run([Call(command, actor) for command in commands]):
        assert hasattr(answer, "events"), answer


def fill(path: Path, count: int) -> tuple[Timed, int]:
    """A ledger with so many holds, of works that live for an hour and want six minutes at the end."""
    store = create_store(path, "scale")
    engine = Engine(store)
    policy = changed(POLICY, recheck_horizon=count, freshness_limit_ms=60 * MINUTE)
    run(engine, c.CreateLedger("scale", HUMAN))
    run(engine, c.RegisterValidation(RULES), c.RegisterPolicy(policy))
    with store.read() as tx:
        deadline = tx.now() + 60 * MINUTE_US
    life = {"deadline": deadline, "minimum_completion_margin_ms": 6 * MINUTE}
    for start in range(0, count, 1_000):
        numbers = range(start, min(count, start + 1_000))
        run(engine, *(intent_of(envelope(n, **life)) for n in numbers))
    return Timed(store), deadline


def observe_all(path: Path, count: int) -> None:
    store, deadline = fill(path, count)
    engine = Engine(store)
    with store.read() as tx:
        now, head = tx.now(), tx.head().seq
    workers, duration = 3, MINUTE // 2
    seen = capacity(observed_at=now, worker_limit=workers, reserved=0, duration_ms=duration)
    gc.collect()
    gc.freeze()  # what the tests around this one have made is no part of what is measured
    try:
        run(engine, c.ObserveCapacity(seen))
    finally:
        gc.unfreeze()
    with store.read() as tx:
        counts = {name: fact for (kind, name), fact in tx.small().items() if kind == "count"}
        debit = tx.load([("debit", "CAP-1")])["debit", "CAP-1"]
        events = tx.events(head, 4 * count)
    batches = [r.event for r in events if isinstance(r.event, HoldsRechecked)]
    room_ms = (deadline - now) // 1_000 - 6 * MINUTE
    supported = room_ms * workers // duration + 1
    assert counts["ready"] == debit
    assert supported - 2 <= counts["ready"] <= supported, "no more than it supports"
    assert counts["ready"] + counts["closed"] == count, "all of them were looked at"
    assert all(batch.looked_at <= BATCH for batch in batches)
    assert len(store.took) >= count // BATCH
    assert max(store.took) < LONGEST_S, f"{max(store.took):.3f} s of {len(store.took)}"
    print(
        f"{count} holds, {len(store.took)} transactions, longest {max(store.took) * 1_000:.1f} ms,"
        f" {counts['ready']} admitted of {supported} supported"
    )
    store.close()


def test_one_observation_and_many_holds(tmp_path: Path) -> None:
    observe_all(tmp_path / "ledger.db", 1_500)


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_torture_one_observation_and_a_hundred_thousand_holds(tmp_path: Path) -> None:
    observe_all(tmp_path / "ledger.db", 100_000)
