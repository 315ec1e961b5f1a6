"""``remit bench fairness`` as a command: run the simulation, print what came of it, say no where it must.

A table for people or one JSON object, the same object in a file, a picture in another. The exit
status is 6 where a class missed its share, something waited beyond its bound, or a limit was exceeded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from remit.bench import machine, show
from remit.bench.fairness_found import SHARE_BOUND, Outcome, simulate
from remit.bench.fairness_plot import drawn
from remit.bench.rounds import DoesNotAddUp
from remit.ports import RemitError

UNEXPECTED: Final = 1
USAGE: Final = 2
NO: Final = 6

FULL_S: Final = 240
QUICK_S: Final = 80
"""Simulated seconds of the part under load; limits are looked at over half as many again."""


def run(
    *,
    quick: bool,
    as_json: bool,
    out: Path | None,
    plot: Path | None = None,
    store: str = "",
) -> int:
    """Simulate and print; returns the exit status.

    Options are those of ``remit.bench.main.run``; ``store`` may only be SQLite, which has the clock
    that a simulation sets. 0: fair; 1: the store failed or a command of the simulation was refused;
    2: a file cannot be written, or there is no such store; 6: a share was missed, a wait was too
    long, or a limit was exceeded.
    """
    if store not in ("", "sqlite"):
        show.fault(f"cannot simulate shares on {store}: expected sqlite, whose clock can be set")
        return USAGE
    for file in (out, plot):
        if file is not None and (file.is_dir() or not file.parent.is_dir()):
            show.fault(f"cannot write {file}: it is a folder or in none, expected a file's name")
            return USAGE
    try:
        with machine.place() as folder:
            found = simulate(folder / "ledger.db", QUICK_S if quick else FULL_S)
    except (DoesNotAddUp, RemitError) as error:
        show.fault(str(error))
        return UNEXPECTED
    text = json.dumps({"schema_version": 1, "data": found.as_data()}, indent=2)
    for file, content in ((out, text), (plot, drawn(found))):
        if file is not None:
            try:
                file.write_text(content + "\n", "utf-8")
            except OSError as error:
                show.fault(f"cannot write {file}: {error.strerror}")
                return USAGE
    if as_json:
        sys.stdout.write(text + "\n")
    else:
        tables(found)
    return 0 if found.fair else NO


def tables(found: Outcome, console: Console | None = None) -> None:
    """Print shares and waits of each class, the highest use of each limit, and the verdict."""
    console = console or Console()
    console.print(
        f"{found.workers} workers, {found.seconds} s of more work than they can do, simulated time",
        highlight=False,
    )
    console.print(_shares(found))
    console.print(_limits(found))
    ours = "fair" if found.fair else "NOT FAIR"
    notes = (
        f"{ours}: {found.events:,} events; a class may be off its share by {SHARE_BOUND:.0%} of it",
        "longest wait: of what was leased, and of what still waits",
        "of bound: the worst wait beside the time in which all ahead of it is leased at the pace owed",
    )
    for note in notes:
        console.print(note, style="dim", markup=False, highlight=False)


def _shares(found: Outcome) -> Table:
    shown = Table(box=SIMPLE, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for heading in ("class", "weight", "share", "got", "off", "leases", "longest wait", "of bound"):
        shown.add_column(heading, no_wrap=True, justify="left" if heading == "class" else "right")
    for share in found.shares:
        shown.add_row(
            share.work_class,
            str(share.weight),
            f"{share.wanted:.1%}",
            f"{share.got:.1%}",
            f"{share.off:.1%}",
            f"{share.leases:,}",
            f"{share.longest_wait_s:.0f} s, {share.waiting_longest_s:.0f} s",
            f"{share.nearest:.2f}",
            style="" if share.fair else "red",
        )
    return shown


def _limits(found: Outcome) -> Table:
    shown = Table(box=SIMPLE, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for heading in ("limit of", "figure", "at most", "limit", "first at seq"):
        text = heading in ("limit of", "figure")
        shown.add_column(heading, no_wrap=True, justify="left" if text else "right")
    for use in found.uses:
        shown.add_row(
            use.scope,
            use.figure,
            f"{use.most:,}",
            f"{use.limit:,}",
            f"{use.seq:,}",
            style="" if use.held else "red",
        )
    return shown
