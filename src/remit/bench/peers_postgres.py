"""Other queues on PostgreSQL, run where they are installed, each through its public calls.

Both are asynchronous: each has an event loop of its own, which runs while one of its calls does. Their
workers drain by themselves, so a drain is one call; the job does nothing but count. What differs from
remit beyond that stands in their settings.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable
from importlib.metadata import version
from typing import Any, Final

from remit.bench.fenced_postgres import SQL, durability
from remit.bench.queues import Holds
from remit.bench.rounds import Settings


class Procrastinate:
    """procrastinate: a row a job and a row an event, taken one by one by so many coroutines."""

    peer = "procrastinate"
    store = "postgresql"

    def __init__(self, url: str) -> None:
        self._loop = asyncio.Runner()
        module: Any = importlib.import_module("procrastinate")
        self._app: Any = module.App(connector=module.PsycopgConnector(conninfo=url))
        self._task = self._app.task(name="bench")(_nothing)
        self._run(self._app.open_async())
        self._run(self._app.schema_manager.apply_schema_async())
        self.settings: Settings = {
            "version": version("procrastinate"),
            "fenced": "no",
            **durability(url),
        }

    def _run(self, work: Awaitable[Any]) -> Any:
        return self._loop.run(_awaited(work))

    def insert(self, first: int, count: int) -> None:
        """One job, or a batch in one statement."""
        if count == 1:
            self._run(self._task.defer_async(number=first))
        else:
            jobs = [{"number": number} for number in range(first, first + count)]
            self._run(self._task.batch_defer_async(*jobs))

    def drain(self, _count: int, _batch: int, workers: int) -> None:
        """Run its worker until nothing is left."""
        self._run(
            self._app.run_worker_async(
                wait=False, concurrency=workers, install_signal_handlers=False
            )
        )

    def holds(self) -> Holds:
        """Jobs, and those that did not succeed."""
        row = self._run(self._app.connector.execute_query_one_async(SQL["procrastinate_holds"]))
        return Holds(row["made"], row["left_over"])

    def close(self) -> None:
        """Close its connections and the loop."""
        self._run(self._app.close_async())
        self._loop.close()


async def _awaited(work: Awaitable[Any]) -> Any:
    """What may be awaited, as the coroutine that a loop runs."""
    return await work


async def _nothing(number: int) -> None:
    """A job that does nothing with its number."""


class PgQueuer:
    """pgqueuer on asyncpg: a row a job, taken in batches, completions buffered."""

    peer = "pgqueuer"
    store = "postgresql"

    def __init__(self, url: str) -> None:
        self._loop = asyncio.Runner()
        self._ran = 0
        self._connection: Any = self._run(importlib.import_module("asyncpg").connect(url))
        driver: Any = importlib.import_module("pgqueuer.db").AsyncpgDriver(self._connection)
        self._driver = driver
        self._queries: Any = importlib.import_module("pgqueuer.queries").Queries(driver)
        self._run(self._queries.install())
        self.settings: Settings = {
            "version": version("pgqueuer"),
            "fenced": "no",
            "note": "completions are buffered: a crash runs finished jobs again",
            **durability(url),
        }

    def _run(self, work: Awaitable[Any]) -> Any:
        return self._loop.run(_awaited(work))

    def insert(self, first: int, count: int) -> None:
        """Jobs in one statement."""
        payloads = [b"%d" % number for number in range(first, first + count)]
        self._run(self._queries.enqueue(["bench"] * count, payloads, [0] * count))

    def drain(self, _count: int, batch: int, _workers: int) -> None:
        """Run its worker until nothing is left."""
        self._run(self._drain(batch))

    async def _drain(self, batch: int) -> None:
        types: Any = importlib.import_module("pgqueuer.types")
        worker: Any = importlib.import_module("pgqueuer").PgQueuer(self._driver)

        async def bench(_job: Any) -> None:
            self._ran += 1

        worker.entrypoint("bench")(bench)
        await worker.run(mode=types.QueueExecutionMode.drain, batch_size=batch)

    def holds(self) -> Holds:
        """Jobs that are still in its table, beside those that ran here."""
        left = sum(entry.count for entry in self._run(self._queries.queue_size()))
        return Holds(left + self._ran, left)

    def close(self) -> None:
        """Close its connection and the loop."""
        self._run(self._connection.close())
        self._loop.close()


PEERS_POSTGRES: Final = {"procrastinate": Procrastinate, "pgqueuer": PgQueuer}
"""Module that must be importable, and what drives it."""
