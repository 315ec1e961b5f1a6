"""A picture of a run: bars in SVG, written here, so that a plot needs nothing that is not installed.

One block for each trial, a bar for each contestant, as long as its share of the fastest in the block:
rates of different trials have no scale in common. The thin line spans the slowest and fastest round.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import Final

from remit.bench.rounds import REMIT, Row

WIDTH: Final = 760
LABEL: Final = 190
BAR: Final = 400
LINE: Final = 18
OURS, OTHERS, INK = "#2f6f9f", "#b9b9b0", "#222222"


def drawn(rows: Sequence[Row]) -> str:
    """The rows of a run as one SVG document."""
    parts: list[str] = []
    y = 30
    for (store, metric, batch, workers), block in groupby(rows, key=_trial):
        title = ", ".join(
            part
            for part in (
                store,
                metric,
                f"{batch:,} a commit" if batch > 1 else "",
                f"{workers} workers" if workers > 1 else "",
            )
            if part
        )
        parts.append(text(10, y, title, bold=True))
        members = list(block)
        longest = max(row.high for row in members)
        for row in members:
            y += LINE
            parts += _bar(row, y, longest)
        y += 2 * LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}"'
        f' viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="12">'
    )
    ground = f'<rect width="{WIDTH}" height="{y}" fill="white"/>'
    return "\n".join((head, ground, *parts, "</svg>"))


def _trial(row: Row) -> tuple[str, str, int, int]:
    return (row.store or "no store", row.metric, row.batch, row.workers)


def _bar(row: Row, y: int, longest: float) -> list[str]:
    long, low, high = (max(1.0, BAR * rate / longest) for rate in (row.per_s, row.low, row.high))
    fill = OURS if row.peer == REMIT else OTHERS
    middle = y - 4
    ratio = "" if row.ratio is None else f" ({row.ratio:.2g} of hand-written)"
    return [
        text(20, y, row.peer),
        f'<rect x="{LABEL}" y="{y - 11}" width="{long:.1f}" height="13" fill="{fill}"/>',
        f'<path d="M{LABEL + low:.1f} {middle}H{LABEL + high:.1f}" stroke="{INK}"/>',
        text(LABEL + round(max(long, high)) + 6, y, f"{row.per_s:,.0f}/s{ratio}"),
    ]


def text(x: int, y: int, words: str, *, bold: bool = False) -> str:
    """Words at a place of a picture, escaped."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" fill="{INK}"{weight}>{escape(words)}</text>'
