"""Measure the PostgreSQL store on a server that syncs its files.

``python tools/measure_postgres.py`` starts a server of its own and prints operations a second, and with --profile where the time of the
Python process goes. Needs the development tools (make setup). --sqlite measures SQLite the same way.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.stores.postgres.server import Server

from remit.core.commands import CreateItem, EnrolActor, GrantLease, ReportCompletion
from remit.core.events import Recorded
from remit.core.item_events import NoteAdded
from remit.core.rows import RowKind, RowSpec
from remit.ports import Change
from remit.service.engine import Done
from remit.service.operations import lease_of
from remit.wiring import Ledger, create_ledger

SYNCED = ("max_connections=100", "shared_buffers=256MB", "log_min_messages=fatal")


def create(ledger: Ledger, many: int, batch: int) -> None:
    """Items with a row each, so that they become ready."""
    operations = ledger.acting("ann")
    row = RowSpec(RowKind.COMMAND, argv=("true",))
    for start in range(0, many, batch):
        answers = operations.create(
            [CreateItem(f"item {n}", rows=(row,)) for n in range(start, start + batch)]
        )
        assert all(isinstance(answer, Done) for answer in answers), answers[0]


def lease_and_complete(ledger: Ledger, many: int, batch: int) -> None:
    """Take the next and hand it in, one commit for the leases and one for the reports."""
    operations = ledger.acting("bob")
    for _ in range(0, many, batch):
        leases = [lease_of(a) for a in operations.lease([GrantLease()] * batch)]
        reports = [ReportCompletion(x.item, x.fence, "a" * 40, "b" * 40) for x in leases]
        answers = operations.report_completion(reports)
        assert all(isinstance(answer, Done) for answer in answers), answers[0]


def timed(name: str, many: int, work: Callable[[], None], *, profile: bool = False) -> None:
    """Run something and print how many of it a second there were."""
    profiler = cProfile.Profile()
    start = time.perf_counter()
    if profile:
        profiler.runcall(work)
    else:
        work()
    took = time.perf_counter() - start
    print(f"{name:44} {many / took:10,.0f} /s   {took / many * 1e6:8,.0f} us each", flush=True)
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(18)


def append_only(ledger: Ledger) -> None:
    """4,000 events and 3,000 rows in one transaction, past the core."""
    steps: list[tuple[str, float]] = []
    with ledger.store.write() as tx:
        head, at = tx.head().seq, tx.now()
        events = [
            Recorded(head + n, f"X-{head + n}", 1, "ann", "asserted", at, NoteAdded("text", ""))
            for n in range(1, 4001)
        ]
        start = time.perf_counter()
        tx.append(events)
        steps.append(("append 4,000 events", time.perf_counter() - start))
        start = time.perf_counter()
        tx.write([Change(("counter", f"c{head}-{n}"), None, n) for n in range(3000)])
        steps.append(("write 3,000 rows", time.perf_counter() - start))
        start = time.perf_counter()
    steps.append(("clock and commit", time.perf_counter() - start))
    for name, took in steps:
        print(f"{name:44} {took * 1000:10,.1f} ms", flush=True)


def measure(ledger: Ledger, *, profile: bool) -> None:
    """All measurements of one ledger."""
    done: Any = ledger.acting("ann").enrol(EnrolActor("bob", "agent"))
    assert isinstance(done, Done), done
    timed("create by 1000", 4000, lambda: create(ledger, 4000, 1000), profile=profile)
    timed("create by 100", 2000, lambda: create(ledger, 2000, 100))
    timed("create one by one", 300, lambda: create(ledger, 300, 1))
    timed(
        "lease+complete by 100",
        2000,
        lambda: lease_and_complete(ledger, 2000, 100),
        profile=profile,
    )
    timed(
        "lease+complete one by one",
        300,
        lambda: lease_and_complete(ledger, 300, 1),
        profile=profile,
    )
    append_only(ledger)


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--profile", action="store_true")
    options.add_argument("--sqlite", action="store_true")
    chosen = options.parse_args()
    if chosen.sqlite:
        with tempfile.TemporaryDirectory() as folder:
            measure(create_ledger(f"sqlite://{folder}/ledger.db", "ann"), profile=chosen.profile)
        return
    server = Server(SYNCED)
    try:
        server.start()
        server.run("CREATE DATABASE measured")
        ledger = create_ledger(server.url("measured"), "ann")
        measure(ledger, profile=chosen.profile)
        ledger.close()
    finally:
        server.stop()


if __name__ == "__main__":
    main()
