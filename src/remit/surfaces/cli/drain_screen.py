"""Watching a run: a table on a terminal, a line for each thing in a pipe, an object with ``--json``.

What is shown comes from the conductor's own events and from the run's record. The texts among it were
written by agents and backlogs, so each is bounded and made visible before it is printed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from remit.core.run_facts import Run
from remit.drain.workplace import Told
from remit.surfaces.cli.answers import SCHEMA_VERSION, write_out
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.visible import visible

if TYPE_CHECKING:
    from rich.live import Live
    from rich.table import Table

    from remit.drain.conductor import Conductor
    from remit.wiring import Ledger

WORDS: Final = 120
SECOND_US: Final = 1_000_000


@dataclass(slots=True)
class Watch:
    """Tells whoever watches what happens, from any thread."""

    session: Session
    ledger: Ledger
    record: Run
    conductor: Conductor | None = None
    live: Live | None = None
    counts: dict[str, int] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, told: Told) -> None:
        """One thing happened."""
        with self._lock:
            if told.kind == "settled":
                self.counts[told.words] = self.counts.get(told.words, 0) + 1
                self.said.pop(told.item, None)
            elif told.kind == "progress":
                self.said[told.item] = told.words
            self._show(told)

    def _show(self, told: Told) -> None:
        options = self.session.options
        if options.json:
            import msgspec

            event = {"kind": told.kind, "run": self.record.id, "item": told.item or None,
                     "words": told.words[:4_000], **told.figures}  # fmt: skip
            line = {"schema_version": SCHEMA_VERSION, "event": event}
            write_out(msgspec.json.encode(line) + b"\n")
        elif self.live is not None:
            self.live.update(self.table())
        elif not options.quiet and told.kind != "doing":
            figures = " ".join(f"{name}={value}" for name, value in told.figures.items())
            parts = (self.record.id, told.item, told.kind, told.words, figures)
            print(" ".join(visible(part, WORDS) for part in parts if part), flush=True)

    def table(self) -> Table:
        """What each agent does now, the time of its lease, its spend, and what is left."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(self._title()), expand=True, box=None)
        for name in ("ITEM", "DOING", "FOR", "LEASE", "SPENT", "SAYS"):
            table.add_column(name)
        if self.conductor is None:
            return table
        now = self.conductor.hands.now()
        for one in list(self.conductor.live.values()):
            journey = one.journey
            item = journey.entry.item
            lease = self.conductor.hands.item(item).lease
            left = f"{max(0, lease.expires_at - now) // SECOND_US} s" if lease else "-"
            cells = (
                item, journey.doing, f"{(now - journey.since_us) // SECOND_US} s", left,
                str(journey.spent_micros), self.said.get(item, ""),
            )  # fmt: skip
            table.add_row(*(Text(visible(cell, WORDS)) for cell in cells))
        return table

    def _title(self) -> str:
        run = self.record
        if self.conductor is not None:
            run = self.conductor.hands.record()
        left = run.bounds.spend_micros - run.settled_micros - run.reserved_micros
        done = ", ".join(f"{n} {name}" for name, n in sorted(self.counts.items())) or "nothing yet"
        return (
            f"{run.id}: {run.chosen} of {run.bounds.items} chosen; {done}; spent"
            f" {run.settled_micros}, left {left} micro-units; {run.failed} of"
            f" {run.bounds.failures} failures"
        )


@contextmanager
def watching(session: Session, ledger: Ledger, record: Run) -> Iterator[Watch]:
    """A watch for the time of a run; on a terminal its table is drawn again every second."""
    watch = Watch(session, ledger, record)
    if session.options.json or session.options.quiet or not sys.stderr.isatty():
        yield watch
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stderr, no_color=session.options.no_color or None, markup=False)
    with Live(console=console, get_renderable=watch.table, refresh_per_second=1) as live:
        watch.live = live
        yield watch
        live.update(watch.table())
