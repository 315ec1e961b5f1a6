"""The limit: a fenced queue written by hand, straight on SQLite.

It is what somebody would write who needs a durable queue and nothing else: no history, no checks, no
reasons, one row a job. It runs with the durability of remit (WAL, ``synchronous=FULL``, the same page
size and file system), once on apsw, which remit uses too, and once on the interpreter's own
``sqlite3``. The settings are read back from the connection after they were made, so that a build that
does not take them is found out and not flattered.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from time import time_ns
from typing import Any, Final

import apsw

from remit.bench.queues import Holds
from remit.bench.rounds import HAND_WRITTEN, DoesNotAddUp, Settings

PAGE_SIZE: Final = 4_096
TTL_US: Final = 900_000_000


def statements(file: str) -> dict[str, str]:
    """The statements of a file of this folder, by name, without comments."""
    blocks = Path(__file__).with_name(file).read_text("utf-8").split("-- name: ")[1:]
    found: dict[str, str] = {}
    for block in blocks:
        name, _, body = block.partition("\n")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        found[name.strip()] = "\n".join(lines).strip()
    return found


_SQL: Final = statements("fenced.sql")


class HandWritten:
    """The fenced queue on one of two drivers, ``apsw`` or ``sqlite3``."""

    store = "sqlite"

    def __init__(self, folder: Path, driver: str = "apsw") -> None:
        path = str(folder / "jobs.db")
        self.peer = HAND_WRITTEN if driver == "apsw" else f"hand-written {driver}"
        # Two drivers with one way of working, and no type in common.
        self._on: Any = (
            apsw.Connection(path)
            if driver == "apsw"
            else sqlite3.connect(path, isolation_level=None)
        )
        self._apsw = driver == "apsw"
        version = apsw.sqlite_lib_version() if self._apsw else sqlite3.sqlite_version
        self._do(f"PRAGMA page_size = {PAGE_SIZE}")
        self._do("PRAGMA journal_mode = WAL")
        self._do("PRAGMA synchronous = FULL")
        self.settings: Settings = {
            "sqlite": version,
            **{name: self._pragma(name) for name in ("journal_mode", "synchronous", "page_size")},
        }
        wanted = {"journal_mode": "wal", "synchronous": 2, "page_size": PAGE_SIZE}
        if {name: self.settings[name] for name in wanted} != wanted:
            raise DoesNotAddUp(
                f"benchmark of {self.peer}: found {self.settings}, expected {wanted}"
            )
        self._do(_SQL["schema"])
        self._do(_SQL["index"])

    def _do(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return list(self._on.execute(sql, values))

    def _pragma(self, name: str) -> Any:
        return self._do(f"PRAGMA {name}")[0][0]

    def _changes(self) -> int:
        found = self._on.total_changes
        return int(found() if self._apsw else found)

    def insert(self, first: int, count: int) -> None:
        """One row a job, all in one commit."""
        self._insert([(f"job {number}",) for number in range(first, first + count)])

    def _insert(self, rows: list[tuple[str]]) -> None:
        self._do("BEGIN IMMEDIATE")
        if len(rows) == 1:
            self._do(_SQL["insert"], rows[0])
        else:
            self._on.executemany(_SQL["insert"], rows)
        self._do("COMMIT")

    def take(self, count: int) -> list[tuple[int, int]]:
        """Claim jobs: pairs of id and fence."""
        self._do("BEGIN IMMEDIATE")
        claims = self._claim(count)
        self._do("COMMIT")
        return claims

    def _claim(self, count: int) -> list[tuple[int, int]]:
        return self._do(_SQL["claim"], ("bench", time_ns() // 1_000 + TTL_US, count))

    def finish(self, claims: Sequence[tuple[int, int]]) -> None:
        """Hand jobs in under their fences."""
        self._do("BEGIN IMMEDIATE")
        self._finish(claims)
        self._do("COMMIT")

    def _finish(self, claims: Sequence[tuple[int, int]]) -> None:
        before, now = self._changes(), time_ns() // 1_000
        if len(claims) == 1:
            self._do(_SQL["finish"], (*claims[0], now))
        else:
            self._on.executemany(_SQL["finish"], [(*claim, now) for claim in claims])
        met = self._changes() - before
        if met != len(claims):
            self._do("ROLLBACK")
            raise DoesNotAddUp(
                f"benchmark of {self.peer}: {met} of {len(claims)} claims are current"
            )

    def turn(self, claim: tuple[int, int]) -> tuple[int, int]:
        """Hand one in and claim the next in one commit."""
        self._do("BEGIN IMMEDIATE")
        self._finish([claim])
        (following,) = self._claim(1)
        self._do("COMMIT")
        return following

    def load(self, path: Path, chunk: int) -> int:
        """Read JSON lines into rows, ``chunk`` in a commit; returns how many."""
        rows: list[tuple[str]] = []
        count = 0
        with path.open("rb") as lines:
            for line in lines:
                rows.append((json.loads(line)["title"],))
                count += 1
                if len(rows) == chunk:
                    self._insert(rows)
                    rows = []
        if rows:
            self._insert(rows)
        return count

    def holds(self) -> Holds:
        """What the table holds."""
        ((made, left),) = self._do(_SQL["holds"])
        return Holds(made, left)

    def close(self) -> None:
        """Close the connection."""
        self._on.close()
