"""Measure how fast the history alone of PURE work can be written: no decision, no fold, no row, no trigger.

``python tools/measure_history.py`` lets a ledger take jobs from submit to shipped, then writes their events once more: encoded and
digested as they are and in the ledger's order, into the table of events with its indexes, in commits as long as the four of one job, or
of a hundred. What comes of it is a bound that no ledger with this history and this codec passes on this machine. It prints jobs a second and the
processor time of a job, medians of three runs; litequeue and persist-queue stand in ``remit bench``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import apsw

from remit.bench.pure_queue import PureQueue
from remit.core.events import Recorded
from remit.stores.codec import columns_of

JOBS: Final = 1_000
HUNDRED: Final = 100
COMMITS: Final = (4, 1, 2, 3)
"""Events of a job that are stored together: it is submitted, leased, reported, and looked at."""

INSERT: Final = f"INSERT INTO events VALUES ({', '.join('?' * 14)})"  # noqa: S608  # marks alone


def history(folder: Path) -> tuple[str, list[Recorded], list[str]]:
    """The ledger's id, the events of all jobs in order, and what makes their table and its indexes."""
    queue = PureQueue(folder)
    with queue.ledger.reading() as tx:
        before = tx.head().seq
    for first in range(0, JOBS, HUNDRED):
        queue.insert(first, HUNDRED)
        queue.finish(queue.take(HUNDRED))
    with queue.ledger.reading() as tx:
        events = tx.events(before, JOBS * sum(COMMITS))
    name = queue.ledger.store.ledger_id
    queue.close()
    with apsw.Connection(str(folder / "ledger.db")) as connection:
        found = "SELECT sql FROM sqlite_schema WHERE tbl_name = 'events' AND type <> 'trigger'"
        schema = [sql for (sql,) in connection.execute(found) if sql]
    return name, events, sorted(schema, key=lambda sql: not sql.startswith("CREATE TABLE"))


def commits(events: Sequence[Recorded], jobs: int) -> Iterator[Sequence[Recorded]]:
    """The events by commit, with so many jobs in each."""
    at = 0
    while at < len(events):
        for count in COMMITS:
            yield events[at : at + count * jobs]
            at += count * jobs


def written(folder: Path, jobs: int) -> tuple[float, float]:
    """Jobs a second, and microseconds of processor time for each."""
    name, events, schema = history(folder)
    connection = apsw.Connection(str(folder / "again.db"))
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", *schema):
        for _ in connection.execute(statement):
            pass
    began, spent = time.perf_counter(), time.process_time()
    for together in commits(events, jobs):
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, [columns_of(name, event) for event in together])
        connection.execute("COMMIT")
    spent, took = time.process_time() - spent, time.perf_counter() - began
    connection.close()
    return JOBS / took, spent / JOBS * 1e6


def main() -> None:
    """Print both forms."""
    for jobs in (1, HUNDRED):
        found = []
        for _ in range(3):
            with tempfile.TemporaryDirectory(prefix="remit-history-", dir=".") as folder:
                found.append(written(Path(folder), jobs))
        rate, spent = (median(column) for column in zip(*found, strict=True))
        print(
            f"{jobs:4} a commit: {rate:,.0f} jobs a second, {spent:.0f} us of processor time each"
        )


if __name__ == "__main__":
    main()
