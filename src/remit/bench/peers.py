"""Other durable queues on SQLite, run where they are installed.

None of them is a dependency: what cannot be imported is named as not installed, and is in no table.
Each is driven through its public calls, with its durability brought to ``synchronous=FULL`` where it
has another default; what differs beyond that stands in its settings, because a figure without it
would mislead. None keeps a history of what happened to a job.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from remit.bench.queues import Holds, Queue
from remit.bench.rounds import DoesNotAddUp, Settings


class Lite:
    """litequeue: a row a message, claimed and marked done."""

    peer = "litequeue"
    store = "sqlite"

    def __init__(self, folder: Path) -> None:
        self._queue: Any = importlib.import_module("litequeue").LiteQueue(str(folder / "queue.db"))
        self._queue.conn.execute("PRAGMA synchronous = FULL")
        (found,) = self._queue.conn.execute("PRAGMA synchronous").fetchone()
        self._fenced = "claim_id" in inspect.signature(self._queue.done).parameters
        self.settings: Settings = {
            "version": version("litequeue"),
            "journal_mode": "wal",
            "synchronous": found,
            "fenced": "yes" if self._fenced else "no",
        }

    def insert(self, first: int, count: int) -> None:
        """One message, or many in a transaction of its own making."""
        if count == 1:
            self._queue.put(f"job {first}")
            return
        with self._queue.transaction():
            for number in range(first, first + count):
                self._queue.put(f"job {number}")

    def take(self, count: int) -> list[Any]:
        """Pop messages, each in a commit."""
        return [self._queue.pop() for _ in range(count)]

    def finish(self, claims: Sequence[Any]) -> None:
        """Mark messages done, each in a commit."""
        for message in claims:
            if not self._fenced:
                self._queue.done(message.message_id)
            elif not self._queue.done(message.message_id, claim_id=message.claim_id):
                raise DoesNotAddUp(f"benchmark of {self.peer}: a claim is not current")

    def turn(self, claim: Any) -> Any:
        """Two commits: it has no call that does both."""
        self.finish([claim])
        return self.take(1)[0]

    def holds(self) -> Holds:
        """Messages that are not done."""
        return Holds(None, self._queue.qsize())

    def close(self) -> None:
        """Close the connection."""
        self._queue.close()


class Persist:
    """persist-queue: its acknowledged queue on SQLite."""

    peer = "persist-queue"
    store = "sqlite"

    def __init__(self, folder: Path) -> None:
        queue = importlib.import_module("persistqueue").SQLiteAckQueue
        self._queue: Any = queue(str(folder / "queue"))
        self.settings: Settings = {
            "version": version("persist-queue"),
            "journal_mode": "wal",
            "synchronous": "default of the sqlite3 module (2)",
            "fenced": "no",
        }

    def insert(self, first: int, count: int) -> None:
        """Messages, each in a commit."""
        for number in range(first, first + count):
            self._queue.put(f"job {number}")

    def take(self, count: int) -> list[Any]:
        """Get messages, each in a commit."""
        return [self._queue.get(block=False, raw=True) for _ in range(count)]

    def finish(self, claims: Sequence[Any]) -> None:
        """Acknowledge messages, each in a commit."""
        for message in claims:
            self._queue.ack(id=message["pqid"])

    def turn(self, claim: Any) -> Any:
        """Two commits: it has no call that does both."""
        self.finish([claim])
        return self.take(1)[0]

    def holds(self) -> Holds:
        """Messages that are not acknowledged."""
        acked, left = self._queue.acked_count(), self._queue.size + self._queue.unack_count()
        return Holds(acked + left, left)

    def close(self) -> None:
        """Close the connections."""
        self._queue.close()


class Huey:
    """huey: tasks taken off its queue and run in this process, one after the other."""

    peer = "huey"
    store = "sqlite"

    def __init__(self, folder: Path) -> None:
        make = importlib.import_module("huey").SqliteHuey
        self._huey: Any = make(filename=str(folder / "huey.db"), fsync=True, results=False)
        self._ran: list[int] = []
        self._task = self._huey.task()(self._ran.append)
        self.settings: Settings = {
            "version": version("huey"),
            "journal_mode": "wal",
            "synchronous": 2,
            "fenced": "no",
            "note": "a task is deleted before it runs: one commit a task, and a crash loses it",
        }

    def insert(self, first: int, count: int) -> None:
        """Tasks, each in a commit."""
        for number in range(first, first + count):
            self._task(number)

    def take(self, count: int) -> list[Any]:
        """Take tasks off the queue, each in a commit."""
        return [self._huey.dequeue() for _ in range(count)]

    def finish(self, claims: Sequence[Any]) -> None:
        """Run tasks; nothing is written."""
        for task in claims:
            self._huey.execute(task)

    def turn(self, claim: Any) -> Any:
        """Run one and take the next."""
        self.finish([claim])
        return self.take(1)[0]

    def holds(self) -> Holds:
        """Tasks that are still queued, beside those that ran here."""
        left = self._huey.pending_count()
        return Holds(left + len(self._ran), left)

    def close(self) -> None:
        """Close the connection."""
        self._huey.storage.close()


PEERS: Final[dict[str, Callable[[Path], Queue]]] = {
    "litequeue": Lite,
    "persistqueue": Persist,
    "huey": Huey,
}
"""Module that must be importable, and what drives it."""


def installed(
    peers: Mapping[str, Callable[[Path], Queue]] = PEERS,
) -> tuple[list[Callable[[Path], Queue]], list[str]]:
    """Peers that can be run here, and the modules of those that are not installed."""
    there = [make for module, make in peers.items() if find_spec(module) is not None]
    return there, [module for module in peers if find_spec(module) is None]
