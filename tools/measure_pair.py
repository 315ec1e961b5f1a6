"""Measure where the processor time of a lease with its completion goes on SQLite, step by step.

``python tools/measure_pair.py`` makes a ledger in a temporary folder, and prints microseconds of this process for each pair and each
created item: the lower quartile of many short rounds, which a busy machine changes least. A step that lies within another is indented
under it. Waiting for the disk is not part of it, the work of the kernel for this process is.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from remit.bench.ledger_queue import LedgerQueue
from remit.service import engine, loading, operations
from remit.stores.sqlite import lock, rows, store, writing

STEPS: Final[tuple[tuple[Any, str, str], ...]] = (
    (operations.Operations, "run_each", "the call"),
    (engine.Engine, "run", "  its transaction"),
    (lock.Held, "__enter__", "    the writer's lock"),
    (store.SqliteStore, "_begin", "    begin"),
    (writing.SqliteWrite, "__init__", "    state, epoch and clock"),
    (engine.Batch, "decide_all", "    decisions and folds"),
    (loading.Loader, "load", "      loading facts"),
    (writing.SqliteWrite, "append", "    events"),
    (writing, "write_changes", "    rows"),
    (rows.Batch, "run", "      their statements"),
    (writing.SqliteWrite, "finish", "    the clock"),
    (store.SqliteStore, "_commit", "    commit"),
    (store.SqliteStore, "_keep_log_short", "    checkpoint"),
    (engine.Batch, "kept", "    the view handed on"),
)
"""Where a step is, and what it is called."""

_spent: Final[dict[str, float]] = defaultdict(float)


def watch(owner: Any, name: str, step: str) -> None:
    """Add up the processor time that a function takes."""
    inner = getattr(owner, name)

    def timed(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return inner(*given, **named)
        finally:
            _spent[step] += time.process_time() - start

    setattr(owner, name, timed)


def measure(what: str, rounds: int, size: int, work: Callable[[], None]) -> None:
    """Run the same work many times and print the lower quartile of each step."""
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        _spent.clear()
        start = time.process_time()
        work()
        took = time.process_time() - start
        for step, seconds in (("all", took), *_spent.items()):
            found[step].append(seconds / size * 1e6)
    print(what)
    for step in ("all", *(step for _, _, step in STEPS)):
        print(f"  {step:32} {sorted(found[step])[rounds // 4]:8.1f} us")


def pairs(queue: LedgerQueue, times: int, batch: int) -> None:
    """Lease and complete so many, so many times."""
    for _ in range(times):
        queue.finish(queue.take(batch))


def main() -> None:
    """Measure creates by 1,000, and pairs by 100 and one by one."""
    for owner, name, step in STEPS:
        watch(owner, name, step)
    with tempfile.TemporaryDirectory() as folder:
        queue = LedgerQueue(Path(folder))
        made = iter(range(0, 1_000_000, 1_000))
        measure("create, 1,000 a commit", 6, 1_000, lambda: queue.insert(next(made), 1_000))
        measure("lease+complete, 100 a commit", 20, 200, lambda: pairs(queue, 2, 100))
        measure("lease+complete, one by one", 20, 50, lambda: pairs(queue, 50, 1))
        queue.close()


if __name__ == "__main__":
    main()
