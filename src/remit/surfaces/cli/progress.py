"""Progress of long work: a bar on standard error, only where a person is looking.

In a pipe, with ``--quiet``, and for work that ends at once, nothing is shown. What a bar says is
never part of an answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from remit.surfaces.cli.session import Session

Report = Callable[[str, int, int], None]
"""Takes what is being done, how far it is, and how far it goes (0: nobody knows)."""


@contextmanager
def shown(session: Session) -> Iterator[Report]:
    """A function to report progress to, for the time of some work."""
    if session.options.quiet or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(file=sys.stderr, no_color=session.options.no_color or None)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield report
