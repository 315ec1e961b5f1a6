"""The table of a run for people, and a line of progress while it lasts.

One block for each metric, remit first, with the range over the rounds beside the median, so that a
figure from a noisy machine looks like one. Progress goes to stderr and only to a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from remit.bench.rounds import Row, Trial

LEGEND: Final = (
    "batch: jobs a commit, by: workers at once",
    "ratio: share of the rate of the loop written by hand on the same store, median over rounds",
    "cold ready: ratio is the time as a multiple of the time of an empty python",
)

Progress = Callable[[Trial, int, int], None]
"""Called with the trial that begins, how many have ended, and how many there are."""


@contextmanager
def progress(*, shown: bool) -> Iterator[Progress]:
    """A progress bar on a terminal, nothing anywhere else."""
    console = Console(stderr=True)
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not (shown and console.is_terminal),
    )
    with bar:
        task = bar.add_task("", total=None)

        def advance(trial: Trial, done: int, total: int) -> None:
            bar.update(
                task,
                description=named(trial.metric, trial.batch, trial.workers),
                completed=done,
                total=total,
            )

        yield advance


def named(metric: str, batch: int, workers: int) -> str:
    """A metric with its batch and its workers, where it has several."""
    several = f", {workers} workers" if workers > 1 else ""
    return f"{metric}{f', {batch:,} a commit' if batch > 1 else ''}{several}"


def table(
    rows: Sequence[Row],
    absent: Sequence[tuple[str, str]],
    facts: Mapping[str, Any],
    console: Console | None = None,
) -> None:
    """Print the rows of each store, then remit beside each other program, what was not measured, and
    the machine.
    """
    console = console or Console()
    console.print("Rates a second, one process, one machine, one run", highlight=False)
    for store in dict.fromkeys(row.store for row in rows if row.store):
        alone = [row for row in rows if row.store == store or not row.store]
        console.print(f"\n{store}", style="bold", highlight=False)
        console.print(_rates(alone if store == "sqlite" else [r for r in alone if r.store]))
    if any(row.ratios for row in rows):
        console.print("\nremit's rate as a share of", style="bold", highlight=False)
        for row in rows:
            if row.ratios:
                trial = named(f"{row.store}, {row.metric}", row.batch, row.workers)
                shares = ", ".join(f"{peer} {share:.2g}" for peer, share in row.ratios.items())
                console.print(f"  {trial}: {shares}", highlight=False, markup=False)
    notes = [*LEGEND, *(f"{peer}: {reason}" for peer, reason in absent)]
    notes.append(", ".join(f"{name} {value}" for name, value in facts.items()))
    for note in notes:
        console.print(note, style="dim", markup=False, highlight=False)


def _rates(rows: Sequence[Row]) -> Table:
    shown = Table(box=SIMPLE, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for heading in ("metric", "batch", "by", "program", "median", "min", "max", "ratio"):
        text = heading in ("metric", "program")
        shown.add_column(heading, no_wrap=True, justify="left" if text else "right")
    before: tuple[str, int, int] | None = None
    for row in rows:
        key = (row.metric, row.batch, row.workers)
        if before not in (None, key):
            shown.add_section()
        new = key != before
        shown.add_row(
            row.metric if new else "",
            f"{row.batch:,}" if new and row.batch > 1 else "",
            str(row.workers) if new and row.workers > 1 else "",
            row.peer,
            figure(row.per_s),
            figure(row.low),
            figure(row.high),
            ratio(row),
        )
        before = key
    return shown


def figure(rate: float) -> str:
    """A rate with as many digits as mean something."""
    if rate >= 999_500:
        return f"{rate / 1_000_000:.2f}M"
    if rate >= 99_950:
        return f"{rate / 1_000:.0f}k"
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def ratio(row: Row) -> str:
    """The ratio in the terms of its metric; empty where it has none."""
    if row.times_bare_python is not None:
        return f"{row.times_bare_python:.1f}x"
    return "" if row.ratio is None else f"{row.ratio:.2g}"


def fault(message: str) -> None:
    """One line on stderr."""
    Console(stderr=True).print(f"remit bench: {message}", markup=False, highlight=False)
