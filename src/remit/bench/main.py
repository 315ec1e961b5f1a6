"""``remit bench``: what is measured, in which sizes, and what comes of it.

Everything runs in one process on one file system, trial after trial; within a trial all contestants
take turns. The answer is a table for people or one JSON object, and the same object in a file where
one is named. A run that does not add up gives no figures at all. ``docs/internals/benchmarks.md``
says what each figure means.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from remit.bench import machine, show
from remit.bench.fenced import HandWritten
from remit.bench.ledger_queue import LedgerQueue
from remit.bench.peers import Lite, installed
from remit.bench.queues import Queue, Work, chaining, draining, entrant, inserting
from remit.bench.rounds import DoesNotAddUp, Row, Trial, compete
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
from remit.ports import RemitError

UNEXPECTED: Final = 1
USAGE: Final = 2

Make = Callable[[Path], Queue]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a round does: jobs one by one, in hundreds, in thousands; rows, items, starts."""

    singles: int
    hundreds: int
    thousands: int
    imported: int
    walked: int
    cold_items: int
    repeats: int
    cold_repeats: int


FULL: Final = Sizes(1_000, 5_000, 10_000, 5_000, 10_000, 10_000, 5, 15)
QUICK: Final = Sizes(200, 1_000, 2_000, 1_000, 2_000, 10_000, 3, 5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rows, what could not be measured and why, and the facts of the machine."""

    rows: tuple[Row, ...]
    absent: tuple[tuple[str, str], ...]
    machine: dict[str, Any]
    quick: bool

    def as_data(self) -> dict[str, Any]:
        """The outcome as it stands in JSON."""
        return {
            "rows": [row.as_data() for row in self.rows],
            "absent": [{"peer": peer, "reason": reason} for peer, reason in self.absent],
            "machine": self.machine,
            "quick": self.quick,
        }


def trials(sizes: Sizes) -> tuple[list[Trial], list[tuple[str, str]]]:
    """Everything to measure, and what is not there to be measured."""
    others, missing = installed()
    absent = [(name, "not installed") for name in missing]
    bare: list[Make] = [HandWritten, partial(HandWritten, driver="sqlite3")]
    rowless: Make = partial(LedgerQueue, rows=False)
    batching: list[Make] = [*bare, *(peer for peer in others if peer is Lite)]

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
        trial("lease+complete", draining, *hundred, LedgerQueue, *bare),
        trial("complete+next", chaining, *one, LedgerQueue, *bare),
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


def measure(sizes: Sizes, *, quick: bool, progress: show.Progress) -> Outcome:
    """Run all trials. Raises ``DoesNotAddUp`` or what the store raises."""
    found, absent = trials(sizes)
    rows: list[Row] = []
    with machine.place() as folder:
        facts = machine.facts(folder)
        for number, trial in enumerate(found):
            progress(trial, number, len(found))
            cold = trial.metric == "cold ready"
            repeats = sizes.cold_repeats if cold else sizes.repeats
            rows += compete(trial, folder / str(number), repeats)
    return Outcome(tuple(rows), tuple(absent), facts, quick)


def run(*, quick: bool, as_json: bool, out: Path | None, sizes: Sizes | None = None) -> int:
    """Measure and print; returns the exit status.

    ``quick``: fewer and shorter rounds. ``as_json``: one JSON object on stdout instead of a table.
    ``out``: a file for the same object, replaced if it is there. ``sizes`` stands in for both sets
    of sizes. 0: done; 1: a contestant does not hold what it was given, or the store failed; 2: the
    file cannot be written.
    """
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        show.fault(f"cannot write {out}: it is a folder or in none, expected a file's name")
        return USAGE
    chosen = sizes or (QUICK if quick else FULL)
    try:
        with show.progress(shown=not as_json) as progress:
            outcome = measure(chosen, quick=quick, progress=progress)
    except (DoesNotAddUp, RemitError) as error:
        show.fault(str(error))
        return UNEXPECTED
    text = json.dumps({"schema_version": 1, "data": outcome.as_data()}, indent=2)
    if out is not None:
        try:
            out.write_text(text + "\n", "utf-8")
        except OSError as error:
            show.fault(f"cannot write {out}: {error.strerror}")
            return USAGE
    if as_json:
        sys.stdout.write(text + "\n")
    else:
        show.table(outcome.rows, outcome.absent, outcome.machine)
    return 0
