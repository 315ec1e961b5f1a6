"""Trials of a whole ledger: importing a backlog, replaying it, verifying it, reading it cold.

The backlog is written here, a new one for each round, because a second import of the same file
changes nothing. Replay and verification walk one ledger that holds created, leased and completed
items; they count events a second. A cold start is a process of its own, from start to exit, beside
an interpreter that does nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from remit import wiring
from remit.bench.fenced import HandWritten
from remit.bench.ledger_queue import OWNER, LedgerQueue, fresh, settings_of
from remit.bench.rounds import BARE_PYTHON, REMIT, DoesNotAddUp, Round, Settings
from remit.core.evolve import evolve
from remit.core.refusals import Refused
from remit.service import importing, integrity

CHUNK: Final = 500
"""Rows of one commit: what the import uses, and what the hand-written loop gets."""

COMMAND_LINE: Final = "remit.surfaces.cli.main"
COLD: Final = f"import sys; from {COMMAND_LINE} import main; sys.exit(main())"
WAIT_S: Final = 60


def write_backlog(path: Path, first: int, rows: int) -> None:
    """A Beads file like those of real projects: half of its rows closed, about an edge a row.

    Every twentieth row is an epic, every second other one its child, the rest wait on the row before
    them; a row has about a thousand bytes.
    """
    with path.open("w", encoding="utf-8") as file:
        for offset in range(rows):
            number = first + offset
            edges = []
            if offset % 20 and offset % 2:
                edges.append(_edge(number, number - 1, "blocks"))
            elif offset % 20:
                edges.append(_edge(number, number - offset % 20, "parent-child"))
            row: dict[str, Any] = {
                "id": f"bench-{number}",
                "title": f"Task {number} of a backlog",
                "description": f"What is to be done for {number}, and why. " * 15,
                "status": "closed" if offset % 4 in (1, 2) else "open",
                "priority": offset % 5,
                "issue_type": "task" if offset % 20 else "epic",
                "created_at": "2024-05-01T10:00:00Z",
                "updated_at": "2024-05-02T10:00:00Z",
                "dependencies": edges,
            }
            if row["status"] == "closed":
                row["closed_at"] = "2024-05-02T10:00:00Z"
            file.write(json.dumps(row) + "\n")


def _edge(number: int, target: int, kind: str) -> dict[str, str]:
    return {
        "issue_id": f"bench-{number}",
        "depends_on_id": f"bench-{target}",
        "type": kind,
        "created_at": "2024-05-01T10:00:00Z",
    }


class Imports:
    """Backlogs imported into one ledger, from the reading of the file to the last admission."""

    peer, store = REMIT, "sqlite"

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows, self.imported = folder, rows, 0
        self.ledger = fresh(folder)
        self.settings = settings_of(folder, rows_a_commit=CHUNK)

    def round(self) -> Round:
        """Import one new file."""
        path = self.folder / f"backlog-{self.imported}.jsonl"
        write_backlog(path, self.imported, self.rows)
        operations = self.ledger.acting(OWNER)
        start = perf_counter()
        backlog = wiring.backlog("beads", path)
        answer = importing.Import(operations, backlog, "default", None).run()
        seconds = perf_counter() - start
        if isinstance(answer, Refused):
            raise DoesNotAddUp(f"benchmark of import: found the refusal {answer.message!r}")
        if answer["imported"] != self.rows:
            raise DoesNotAddUp(
                f"benchmark of import: found {answer['imported']} rows, expected {self.rows}"
            )
        self.imported += self.rows
        return Round(self.rows, seconds)

    def check(self) -> None:
        """All rows are items."""
        with self.ledger.reading() as tx:
            made = tx.small().get(("counter", "work-item"))
        if made != self.imported:
            raise DoesNotAddUp(f"benchmark of import: found {made} items, expected {self.imported}")

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()


class HandImports:
    """The same files read with ``json`` into one table."""

    store = "sqlite"

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows, self.imported = folder, rows, 0
        self.queue = HandWritten(folder)
        self.peer, self.settings = self.queue.peer, {**self.queue.settings, "rows_a_commit": CHUNK}

    def round(self) -> Round:
        """Load one new file."""
        path = self.folder / f"backlog-{self.imported}.jsonl"
        write_backlog(path, self.imported, self.rows)
        start = perf_counter()
        self.imported += self.queue.load(path, CHUNK)
        return Round(self.rows, perf_counter() - start)

    def check(self) -> None:
        """All rows are in the table."""
        found = self.queue.holds().made
        if found != self.imported:
            raise DoesNotAddUp(f"benchmark of import: found {found} rows, expected {self.imported}")

    def close(self) -> None:
        """Close the connection."""
        self.queue.close()


class Walks:
    """Replay or verification of one ledger; a fault or difference found is no figure."""

    peer, store = REMIT, "sqlite"

    def __init__(self, folder: Path, walk: Callable[[wiring.Ledger], int], count: int) -> None:
        queue = LedgerQueue(folder)
        self.ledger, self.walk = queue.ledger, walk
        for start in range(0, count, 1_000):
            queue.insert(start, min(1_000, count - start))
        for _ in range(count // 200):
            queue.finish(queue.take(100))
        with self.ledger.reading() as tx:
            self.events = tx.head().seq
        self.settings = settings_of(folder, events=self.events)

    def round(self) -> Round:
        """Walk the ledger once."""
        start = perf_counter()
        seen = self.walk(self.ledger)
        seconds = perf_counter() - start
        if seen != self.events:
            raise DoesNotAddUp(f"benchmark of walks: found {seen} events, expected {self.events}")
        return Round(seen, seconds)

    def check(self) -> None:
        """Each round has been checked already."""

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()


def replaying(ledger: wiring.Ledger) -> int:
    """Fold all events and compare the rows; returns how many were folded."""
    found = integrity.replay(ledger.store, fold=evolve, swap=False)
    if found.differences:
        raise DoesNotAddUp(f"benchmark of replay: found {found.differences[0]}, expected none")
    return found.events


def verifying(ledger: wiring.Ledger) -> int:
    """Check digests, tree, blobs and rows; returns how many events were checked."""
    found = integrity.verify(ledger.store, fold=evolve)
    if found.problems or not found.rows_compared:
        raise DoesNotAddUp(f"benchmark of verify: found {found.problems[:1]}, expected none")
    return found.events


class ColdStart:
    """One command in a new process each round."""

    def __init__(self, peer: str, store: str, command: Sequence[str], settings: Settings) -> None:
        self.peer, self.store, self.command, self.settings = peer, store, command, settings
        self.last = b""

    def round(self) -> Round:
        """Start it, and wait until it has ended."""
        start = perf_counter()
        ended = subprocess.run(self.command, capture_output=True, timeout=WAIT_S, check=False)
        seconds = perf_counter() - start
        if ended.returncode:
            said = ended.stderr.decode(errors="replace").strip()[-300:]
            raise DoesNotAddUp(
                f"benchmark of {self.peer}: found exit {ended.returncode} ({said}), expected 0"
            )
        self.last = ended.stdout
        return Round(1, seconds)

    def check(self) -> None:
        """What it printed is what was asked for."""
        if not self.store:
            return
        items = json.loads(self.last)["data"]["items"]
        if not items:
            raise DoesNotAddUp(f"benchmark of {self.peer}: found no ready items, expected some")

    def close(self) -> None:
        """Nothing is left running."""


def bare_python(_folder: Path) -> ColdStart:
    """An interpreter that does nothing: what no Python program can go below."""
    return ColdStart(BARE_PYTHON, "", [sys.executable, "-c", "pass"], {})


def cold_ready(folder: Path, count: int) -> ColdStart:
    """``remit ready --json`` on a ledger with this many ready items."""
    queue = LedgerQueue(folder)
    for start in range(0, count, 1_000):
        queue.insert(start, min(1_000, count - start))
    queue.close()
    url = wiring.url_of(folder / "ledger.db")
    command = [sys.executable, "-c", COLD, "--ledger", url, "ready", "--json"]
    return ColdStart(REMIT, "sqlite", command, {"items": count})


def command_line_is_there() -> bool:
    """Whether this installation has the command line that a cold start runs."""
    try:
        return find_spec(COMMAND_LINE) is not None
    except ModuleNotFoundError:
        return False
