"""Which trials a run has: what is measured on which store, in which sizes, and what is not there.

What a contestant needs and this installation lacks is named with the reason, and is in no table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from remit.bench.fenced import HandWritten
from remit.bench.fenced_postgres import HandWrittenPostgres
from remit.bench.ledger_queue import LedgerQueue, PostgresLedgerQueue
from remit.bench.peers import PEERS, Lite, installed
from remit.bench.peers_postgres import PEERS_POSTGRES, PgQueuer, Procrastinate
from remit.bench.pure_queue import PureQueue
from remit.bench.queues import (
    Drained,
    Queue,
    Work,
    carrying,
    chaining,
    draining,
    entrant,
    inserting,
    relaying,
)
from remit.bench.rounds import Trial
from remit.bench.server import Server
from remit.bench.whole_ledger import (
    HandImports,
    Imports,
    Walks,
    bare_python,
    cold_ready,
    command_line_is_there,
    replaying,
    verifying,
)

Make = Callable[[Path], Queue | Drained]

STORES: Final = ("sqlite", "postgresql")
SEVERAL: Final = 10
"""Workers of the trial that has several."""

NOT_INSTALLED: Final = "not installed"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a round does: jobs one by one, in hundreds, in thousands; rows, items, starts.

    ``served`` is how many jobs go one by one where a server answers each, ``carried`` how many PURE
    works go from submit to shipped in hundreds.
    """

    singles: int
    hundreds: int
    thousands: int
    imported: int
    walked: int
    cold_items: int
    repeats: int
    cold_repeats: int
    served: int
    carried: int


FULL: Final = Sizes(1_000, 5_000, 10_000, 5_000, 10_000, 10_000, 5, 15, 500, 1_000)
QUICK: Final = Sizes(200, 1_000, 2_000, 1_000, 2_000, 10_000, 3, 5, 200, 500)

Absent = list[tuple[str, str]]


def on_sqlite(sizes: Sizes) -> tuple[list[Trial], Absent]:
    """Everything to measure on SQLite."""
    others, missing = installed()
    absent = [(name, NOT_INSTALLED) for name in missing]
    bare: list[Make] = [HandWritten, partial(HandWritten, driver="sqlite3")]
    rowless: Make = partial(LedgerQueue, rows=False)
    batching: list[Make] = [*bare, *(peer for peer in others if peer is Lite)]
    durable: list[Make] = [peer for peer in others if peer is not PEERS["huey"]]

    def trial(metric: str, work: Work, count: int, batch: int, *queues: Make) -> Trial:
        return Trial(metric, batch, tuple(entrant(q, work, count, batch) for q in queues))

    one, hundred, thousand = (sizes.singles, 1), (sizes.hundreds, 100), (sizes.thousands, 1_000)
    found = [
        trial("create", inserting, *one, LedgerQueue, *bare, *others),
        trial("create", inserting, *hundred, LedgerQueue, *batching),
        trial("create", inserting, *thousand, LedgerQueue, *batching),
        trial("create, no rows", inserting, *one, rowless, *bare),
        trial("create, no rows", inserting, *hundred, rowless, *bare),
        trial("create, no rows", inserting, *thousand, rowless, *bare),
        trial("lease+complete", draining, *one, LedgerQueue, *bare, *others),
        trial("lease+complete", draining, *hundred, LedgerQueue, *bare, *durable),
        trial("complete+next", chaining, *one, LedgerQueue, *bare),
        trial("submit to shipped", carrying, *one, PureQueue, HandWritten, *others),
        trial("submit to shipped", carrying, sizes.carried, 100, PureQueue, HandWritten, *others),
        trial("submit to shipped+next", relaying, *one, PureQueue, HandWritten, *others),
        Trial(
            "import",
            500,
            (partial(Imports, rows=sizes.imported), partial(HandImports, rows=sizes.imported)),
        ),
        Trial("replay", 1, (partial(Walks, walk=replaying, count=sizes.walked),)),
        Trial("verify", 1, (partial(Walks, walk=verifying, count=sizes.walked),)),
    ]
    if command_line_is_there():
        cold = (partial(cold_ready, count=sizes.cold_items), bare_python)
        found.append(Trial("cold ready", 1, cold))
    else:
        absent.append(("remit ready --json", "this installation has no command line"))
    return found, absent


def on_postgres(sizes: Sizes, server: Server) -> tuple[list[Trial], Absent]:
    """Everything to measure on this server; each contestant has a database of its own there."""
    there = {name for name in PEERS_POSTGRES if find_spec(name) is not None}
    absent = [(name, NOT_INSTALLED) for name in PEERS_POSTGRES if name not in there]

    def made(kind: Callable[[str], Queue | Drained]) -> Make:
        return lambda _folder: kind(server.database())

    ours, bare = made(PostgresLedgerQueue), made(HandWrittenPostgres)
    crastinate = [made(Procrastinate)] if "procrastinate" in there else []
    queuer = [made(PgQueuer)] if "pgqueuer" in there else []

    def trial(
        metric: str, work: Work, count: int, batch: int, queues: Sequence[Make], workers: int = 1
    ) -> Trial:
        entrants = tuple(entrant(q, work, count, batch, workers) for q in queues)
        return Trial(metric, batch, entrants, workers)

    one, hundred, thousand = (sizes.served, 1), (sizes.hundreds, 100), (sizes.thousands, 1_000)
    everybody = [ours, bare, *crastinate, *queuer]
    return [
        trial("create", inserting, *one, everybody),
        trial("create", inserting, *hundred, everybody),
        trial("create", inserting, *thousand, everybody),
        trial("lease+complete", draining, *one, [ours, bare, *crastinate]),
        trial("lease+complete", draining, *one, [ours, bare, *crastinate], SEVERAL),
        trial("lease+complete", draining, *hundred, [ours, bare, *queuer, *crastinate]),
        trial("complete+next", chaining, *one, [ours, bare]),
    ], absent
