"""remit as a queue: create items, lease them, hand them in, through the canonical operations.

Every answer is looked at, since a refusal is fast: one that is not ``Done`` ends the run. Items share
one drafted goal. With rows, each brings one explicit verification row and so becomes ready in the
same commit; without, it stays a draft. One actor creates, another works, as in real use; both are
labels, since signatures are no part of what is measured.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from remit import wiring
from remit.bench.fenced_postgres import durability
from remit.bench.queues import Holds
from remit.bench.rounds import REMIT, DoesNotAddUp, Settings
from remit.core.commands import CreateItem, DraftGoal, EnrolActor, GrantLease, ReportCompletion
from remit.core.facts import Lease
from remit.core.rows import RowKind, RowSpec
from remit.core.status import Status
from remit.service.engine import Answer, Done
from remit.service.operations import Operations, lease_of

OWNER: Final = "bench-owner"
WORKER: Final = "bench-worker"
HEAD: Final = "a" * 40
BASE: Final = "b" * 40
HEADER: Final = struct.Struct(">16xHB81x")
"""Of a SQLite file's first hundred bytes: its page size and how it is written (2: with a log)."""

LOGGED: Final = 2
LEFT: Final = (Status.DRAFT, Status.READY, Status.LEASED)


def done(answer: Answer) -> Done:
    """The accepted answer; a refusal is no work and must not be timed as such."""
    if isinstance(answer, Done):
        return answer
    raise DoesNotAddUp(f"benchmark of {REMIT}: found the refusal {answer.message!r}, expected none")


def fresh(folder: Path) -> wiring.Ledger:
    """A new ledger in this folder, with its owner and a worker enrolled."""
    return fresh_at(wiring.url_of(folder / "ledger.db"))


def fresh_at(url: str) -> wiring.Ledger:
    """A new ledger at this URL, with its owner and a worker enrolled."""
    ledger = wiring.create_ledger(url, OWNER)
    done(ledger.acting(OWNER).enrol(EnrolActor(WORKER, "agent")))
    return ledger


def settings_of(folder: Path, **more: str | int) -> Settings:
    """How a ledger in this folder is written: read from its file, but for ``synchronous``.

    That one belongs to a connection, and only the store has the one that writes; it sets 2 (FULL).
    """
    with (folder / "ledger.db").open("rb") as file:
        page_size, written = HEADER.unpack(file.read(HEADER.size))
    mode = "wal" if written == LOGGED else "rollback"
    return {"journal_mode": mode, "synchronous": 2, "page_size": page_size, **more}


def shared_goal(operations: Operations) -> str:
    """A drafted goal that items can hang on; returns its id."""
    return done(operations.run(DraftGoal("Measure this machine", "remit bench"))).events[-1].stream


def items(first: int, count: int, goal: str, *, rows: bool = True) -> list[CreateItem]:
    """Items to create, with a row of their own or none."""
    return [
        CreateItem(f"job {number}", goal=goal, rows=_row(number) if rows else (), rule="")
        for number in range(first, first + count)
    ]


def _row(number: int) -> tuple[RowSpec, ...]:
    return (RowSpec(RowKind.COMMAND, ("pytest", "-q", f"tests/test_{number}.py")),)


class LedgerQueue:
    """A ledger that is driven like a queue."""

    peer = REMIT
    store = "sqlite"

    def __init__(self, folder: Path, *, rows: bool = True) -> None:
        self._drive(fresh(folder), rows=rows)
        self.settings = settings_of(folder, rows_an_item=int(rows))

    def _drive(self, ledger: wiring.Ledger, *, rows: bool) -> None:
        self.ledger = ledger
        self.owner = ledger.acting(OWNER)
        self.worker = ledger.acting(WORKER)
        self.goal = shared_goal(self.owner)
        self.rows = rows

    def insert(self, first: int, count: int) -> None:
        """Create items in one commit."""
        made = items(first, count, self.goal, rows=self.rows)
        for answer in self.owner.create(made):
            done(answer)

    def take(self, count: int) -> list[Lease]:
        """Lease the next items in one commit."""
        return [lease_of(done(a)) for a in self.worker.lease([GrantLease()] * count)]

    def finish(self, claims: Sequence[Lease]) -> None:
        """Report completions in one commit."""
        for answer in self.worker.report_completion([_report(lease) for lease in claims]):
            done(answer)

    def turn(self, claim: Lease) -> Lease:
        """Complete one item and lease the next in one commit."""
        completed, leased = self.worker.report_completion(_report(claim), lease_next=True)[0]
        done(completed)
        return lease_of(done(leased))

    def holds(self) -> Holds:
        """Items on the ledger, and those that are not handed in."""
        with self.ledger.reading() as tx:
            facts = tx.small()
        left = (facts.get(("count", status)) for status in LEFT)
        made = facts.get(("counter", "work-item"))
        return Holds(
            made if isinstance(made, int) else 0, sum(n for n in left if isinstance(n, int))
        )

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()


class PostgresLedgerQueue(LedgerQueue):
    """The same with its ledger in a database."""

    store = "postgresql"

    def __init__(self, url: str) -> None:
        self.settings = {**durability(url), "rows_an_item": 1}
        self._drive(fresh_at(url), rows=True)


def _report(lease: Lease) -> ReportCompletion:
    return ReportCompletion(lease.item, lease.fence, HEAD, BASE)
