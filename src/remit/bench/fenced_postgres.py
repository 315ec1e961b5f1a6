"""The limit on PostgreSQL: the fenced queue written by hand, one row a job, on psycopg.

Each call is one statement that commits by itself, prepared on its connection; every worker has a
connection of its own. What a server says of its durability is asked and shown, and a server that would
answer a commit before it is on the disk is found out and not flattered.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import time_ns
from typing import Any, Final

from remit.bench.fenced import TTL_US, statements
from remit.bench.queues import Holds
from remit.bench.rounds import HAND_WRITTEN_POSTGRES, DoesNotAddUp, Settings

SQL: Final = statements("fenced_postgres.sql")


def durability(url: str) -> Settings:
    """What a server says of its durability. Raises ``DoesNotAddUp`` where a crash could lose a commit."""
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute(SQL["durability"].encode()).fetchone()
    assert row is not None
    version, *switches = row
    if switches != ["on"] * 3:
        raise DoesNotAddUp(f"benchmark of PostgreSQL: found {switches}, expected them to be on")
    return {"postgresql": version, "fsync": "on", "synchronous_commit": "on"}


class HandWrittenPostgres:
    """The fenced queue on PostgreSQL."""

    peer = HAND_WRITTEN_POSTGRES
    store = "postgresql"

    def __init__(self, url: str) -> None:
        self._url = url
        self._mine = threading.local()
        self._all: list[Any] = []
        self.settings: Settings = durability(url)
        self._do("schema")
        self._do("index")

    def _do(self, name: str, values: Sequence[Any] = ()) -> Any:
        import psycopg

        if not hasattr(self._mine, "connection"):
            self._mine.connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=0)
            self._all.append(self._mine.connection)
        return self._mine.connection.execute(SQL[name].encode(), values)

    def insert(self, first: int, count: int) -> None:
        """One row a job, all in one commit."""
        self._do("insert", ([f"job {number}" for number in range(first, first + count)],))

    def take(self, count: int) -> list[tuple[int, int]]:
        """Claim jobs: pairs of id and fence."""
        found = self._do("claim", ("bench", time_ns() // 1_000 + TTL_US, count))
        return list(found.fetchall())

    def finish(self, claims: Sequence[tuple[int, int]]) -> None:
        """Hand jobs in under their fences."""
        ids, fences = [claim[0] for claim in claims], [claim[1] for claim in claims]
        met = self._do("finish", (ids, fences, time_ns() // 1_000)).rowcount
        if met != len(claims):
            raise DoesNotAddUp(
                f"benchmark of {self.peer}: {met} of {len(claims)} claims are current"
            )

    def turn(self, claim: tuple[int, int]) -> tuple[int, int]:
        """Hand one in and claim the next in one commit."""
        self._do("durability")  # a connection for this thread
        with self._mine.connection.transaction():
            self.finish([claim])
            return self.take(1)[0]

    def holds(self) -> Holds:
        """What the table holds."""
        made, left = self._do("holds").fetchone()
        return Holds(made, left)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._all:
            connection.close()
