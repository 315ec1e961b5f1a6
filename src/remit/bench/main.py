"""``remit bench``: what is measured, in which sizes, and what comes of it.

Everything runs in one process on one file system, trial after trial; within a trial all contestants
take turns. The answer is a table for people or one JSON object, and the same object in a file where
one is named. A run that does not add up gives no figures at all. ``docs/internals/benchmarks.md``
says what each figure means.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from remit.bench import machine, show
from remit.bench.plot import drawn
from remit.bench.rounds import DoesNotAddUp, Row, Trial, compete
from remit.bench.server import missing, serving
from remit.bench.trials import FULL, QUICK, STORES, Sizes, on_postgres, on_sqlite
from remit.ports import RemitError

UNEXPECTED: Final = 1
USAGE: Final = 2


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


def measure(
    sizes: Sizes, *, quick: bool, progress: show.Progress, stores: Sequence[str] = STORES
) -> Outcome:
    """Run all trials of these stores. Raises ``DoesNotAddUp`` or what the store raises."""
    rows: list[Row] = []
    with machine.place() as folder, ExitStack() as stack:
        facts = machine.facts(folder)
        found: list[Trial] = []
        absent: list[tuple[str, str]] = []
        for store in stores:
            trials, lacking = _trials(sizes, store, folder, stack)
            found += trials
            absent += lacking
        for number, trial in enumerate(found):
            progress(trial, number, len(found))
            cold = trial.metric == "cold ready"
            repeats = sizes.cold_repeats if cold else sizes.repeats
            rows += compete(trial, folder / str(number), repeats)
    return Outcome(tuple(rows), tuple(absent), facts, quick)


def _trials(
    sizes: Sizes, store: str, folder: Path, stack: ExitStack
) -> tuple[list[Trial], list[tuple[str, str]]]:
    if store == "sqlite":
        return on_sqlite(sizes)
    lacking = missing()
    if lacking:
        return [], [("PostgreSQL", f"{' and '.join(lacking)} not installed")]
    return on_postgres(sizes, stack.enter_context(serving(folder)))


def run(
    *,
    quick: bool,
    as_json: bool,
    out: Path | None,
    plot: Path | None = None,
    store: str = "",
    sizes: Sizes | None = None,
) -> int:
    """Measure and print; returns the exit status.

    ``quick``: fewer and shorter rounds. ``as_json``: one JSON object on stdout instead of a table.
    ``out``: a file for the same object, ``plot``: one for a picture of it; both are replaced if they
    are there. ``store``: one of ``STORES``, or nothing for all. ``sizes`` stands in for both sets of
    sizes. 0: done; 1: a contestant does not hold what it was given, or the store failed; 2: a file
    cannot be written, or there is no such store.
    """
    if store not in ("", *STORES):
        show.fault(f"cannot measure {store}: expected {' or '.join(STORES)}")
        return USAGE
    for file in (out, plot):
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            show.fault(f"cannot write {file}: it is a folder or in none, expected a file's name")
            return USAGE
    chosen = sizes or (QUICK if quick else FULL)
    try:
        with show.progress(shown=not as_json) as progress:
            stores = (store,) if store else STORES
            outcome = measure(chosen, quick=quick, progress=progress, stores=stores)
    except (DoesNotAddUp, RemitError) as error:
        show.fault(str(error))
        return UNEXPECTED
    text = json.dumps({"schema_version": 1, "data": outcome.as_data()}, indent=2)
    for file, content in ((out, text), (plot, drawn(outcome.rows))):
        if file is not None:
            try:
                file.write_text(content + "\n", "utf-8")
            except OSError as error:
                show.fault(f"cannot write {file}: {error.strerror}")
                return USAGE
    if as_json:
        sys.stdout.write(text + "\n")
    else:
        show.table(outcome.rows, outcome.absent, outcome.machine)
    return 0
