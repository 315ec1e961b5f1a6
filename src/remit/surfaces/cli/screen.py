"""The screen: tables and texts for people, with foreign text made harmless.

On a terminal, tables fit its width and may have colour; in a pipe they are plain, whole lines of
columns. Every cell goes through ``visible``, and no cell is ever read as markup. Programs use
``--json``; what is printed here may change.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from remit.surfaces.cli.session import Options
from remit.surfaces.cli.visible import plain, visible

PIPED_WIDTH: Final = 1_000
"""Columns of a pipe: nothing that a list shows is cut there."""

CELL: Final = 200
"""Most characters of one cell."""

COLUMN: Final = 30
"""Columns of a terminal that any cell but the last may keep for itself."""

NARROWEST: Final = 12
"""Columns that the last cell has at least."""

TEXT: Final = 8_000
"""Most characters of a body."""

STYLES: Final = {
    "ready": "green",
    "leased": "cyan",
    "in-review": "yellow",
    "approved": "yellow",
    "shipped": "blue",
    "verified": "bold green",
    "triaged": "bold red",
    "closed": "dim",
    "held": "magenta",
    "draft": "dim",
    "PASS": "green",
    "FAIL": "bold red",
    "BLOCKED": "yellow",
    "NOT_TESTED": "dim",
}
"""Colours of statuses and results."""


class Screen:
    """Where people read; ``colour`` False switches colours off, None leaves it to the terminal."""

    def __init__(self, *, colour: bool | None = None) -> None:
        tty = sys.stdout.isatty()
        self.console = Console(
            file=sys.stdout,
            width=None if tty else PIPED_WIDTH,
            force_terminal=tty,
            no_color=True if colour is False else None,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
        )
        self.tty = tty

    def line(self, text: str = "", style: str = "") -> None:
        """One line; what does not fit is wrapped, not cut."""
        shown = visible(text, TEXT)
        if self.tty:
            self.console.print(Text(shown, style=style))
        else:
            print(shown.rstrip())

    def lines(self, texts: Iterable[str]) -> None:
        """Several lines as they are."""
        for text in texts:
            print(visible(text, TEXT))

    def block(self, text: str, indent: int = 2) -> None:
        """A foreign text of several lines, indented."""
        shown = visible(text, TEXT, lines=True)
        if self.tty:
            self.console.print(Padding(Text(shown), (0, 0, 0, indent)))
            return
        for line in shown.splitlines():
            print((" " * indent + line).rstrip())

    def raw(self, text: str) -> None:
        """A text of our own format, with only its foreign controls made visible."""
        print(visible(text, lines=True), end="" if text.endswith("\n") else "\n")

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Rows in columns; where the terminal is narrow the last gives way, then the widest."""
        cells = [[_cell(value) for value in row] for row in rows]
        table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
        widths = [
            min(max((row[n].cell_len for row in cells), default=0), COLUMN)
            for n in range(len(headers))
        ]
        widths = [max(width, len(header)) for width, header in zip(widths, headers, strict=True)]
        room = self.console.width - 2 * (len(headers) - 1)
        widths[:-1] = _narrowed(widths[:-1], headers, room - min(NARROWEST, widths[-1]))
        left = room - sum(widths[:-1])
        for number, header in enumerate(headers):
            last = number == len(headers) - 1
            wide = max(left, min(NARROWEST, widths[number])) if last else widths[number]
            table.add_column(
                header, no_wrap=True, overflow="ellipsis", width=wide if self.tty else None
            )
        for row in cells:
            table.add_row(*row)
        if self.tty:
            self.console.print(table)
            return
        with self.console.capture() as captured:
            self.console.print(table)
        for text in captured.get().splitlines():
            print(text.rstrip())

    def pairs(self, pairs: Iterable[tuple[str, Any]]) -> None:
        """Names and values under one another; absent values are left out."""
        found = [(name, value) for name, value in pairs if value not in (None, "", [], ())]
        width = max((len(name) for name, _ in found), default=0)
        for name, value in found:
            self.line(f"{name.ljust(width)}  {plain(value)}")


def _narrowed(widths: list[int], headers: Sequence[str], room: int) -> list[int]:
    """Widths that fit into ``room``: the widest gives way first, and no header is cut."""
    found = list(widths)
    least = [max(len(header), NARROWEST) for header in headers]
    while sum(found) > room:
        wide = [n for n, width in enumerate(found) if width > least[n]]
        if not wide:
            break
        found[max(wide, key=lambda n: found[n])] -= 1
    return found


def screen_of(options: Options) -> Screen:
    """The screen that these options ask for."""
    return Screen(colour=False if options.no_color else None)


def _cell(value: Any) -> Text:
    shown = visible(plain(value), CELL)
    return Text(shown, style=STYLES.get(shown, ""))


def essence(data: Mapping[str, Any]) -> list[str]:
    """What ``--quiet`` prints of an answer: its ids."""
    for name in ("items", "records", "actors", "rules"):
        found = data.get(name)
        if isinstance(found, list):
            return [str(part.get("id") or part.get("name")) for part in found]
    lease = data.get("lease")
    if isinstance(lease, Mapping) and "fence" in lease:
        return [f"{lease['item']} {lease['fence']}"]
    item = data.get("item")
    if isinstance(item, Mapping):
        return [str(item["id"])]
    if isinstance(data.get("id"), str):
        return [str(data["id"])]
    return [str(data["ledger"])] if isinstance(data.get("ledger"), str) else []
