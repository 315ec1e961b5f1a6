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
    "ratio: share of the rate of the hand-written loop on apsw, median over the rounds",
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
                task, description=named(trial.metric, trial.batch), completed=done, total=total
            )

        yield advance


def named(metric: str, batch: int) -> str:
    """A metric with its batch, where it has one."""
    return metric if batch == 1 else f"{metric}, {batch:,} a commit"


def table(
    rows: Sequence[Row],
    absent: Sequence[tuple[str, str]],
    facts: Mapping[str, Any],
    console: Console | None = None,
) -> None:
    """Print all rows, then what was not measured, then the machine."""
    console = console or Console()
    shown = Table(box=SIMPLE, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for heading in ("metric", "batch", "program", "median", "min", "max", "ratio"):
        text = heading in ("metric", "program")
        shown.add_column(heading, no_wrap=True, justify="left" if text else "right")
    before: tuple[str, int] | None = None
    for row in rows:
        key = (row.metric, row.batch)
        if before not in (None, key):
            shown.add_section()
        new = key != before
        shown.add_row(
            row.metric if new else "",
            f"{row.batch:,}" if new and row.batch > 1 else "",
            row.peer,
            figure(row.per_s),
            figure(row.low),
            figure(row.high),
            ratio(row),
        )
        before = key
    console.print("Rates a second, one process, one machine, one run", highlight=False)
    console.print(shown)
    notes = [*LEGEND, *(f"{peer}: {reason}" for peer, reason in absent)]
    notes.append(", ".join(f"{name} {value}" for name, value in facts.items()))
    for note in notes:
        console.print(note, style="dim", markup=False, highlight=False)


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
