"""A picture of a simulation of shares, in SVG: how each class's share of the leases went over time.

Lines are what the classes had got of all leases by then, dashed lines what their weights say; below
them a bar for each limit, as long as its highest use, in a frame of the limit's own length.
"""

from __future__ import annotations

from typing import Final

from remit.bench.fairness_found import Outcome
from remit.bench.plot import INK, WIDTH, text

LEFT: Final = 60
RIGHT: Final = 590
TOP: Final = 40
HIGH: Final = 220
LINE: Final = 22
BAR: Final = 300
MIDDLE: Final = 250
"""Pixels: where the lines begin and end, and where the bars do."""

COLOURS: Final = ("#b8860b", "#5f7f9f", "#8a5a2f")
USED: Final = "#2f6f9f"
OVER: Final = "#b03030"


def drawn(found: Outcome) -> str:
    """The outcome as one SVG document."""
    parts = [
        text(LEFT, 20, f"share of {_leases(found):,} leases over {found.seconds} s", bold=True)
    ]
    parts += _axes(found.seconds)
    for share, colour in zip(found.shares, COLOURS, strict=True):
        y = _y(share.wanted)
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{colour}" stroke-dasharray="5 4"/>'
        )
        points = [
            f"{_x(at_us, found.seconds):.1f},{_y(got.get(share.work_class, 0) / sum(got.values())):.1f}"
            for at_us, got in found.course
        ]
        parts.append(
            f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        label = f"{share.work_class}: {share.got:.1%} of {share.wanted:.0%}"
        parts.append(text(RIGHT + 8, round(y) + 4, label))
    y = TOP + HIGH + 60
    parts.append(text(LEFT, y, "highest use of each limit at any seq", bold=True))
    for use in found.uses:
        y += LINE
        long = min(BAR * use.most / use.limit, WIDTH - MIDDLE - 110)
        fill = USED if use.held else OVER
        parts += [
            text(LEFT, y, f"{use.scope}, {use.figure}"),
            f'<rect x="{MIDDLE}" y="{y - 11}" width="{long:.1f}" height="13" fill="{fill}"/>',
            f'<path d="M{MIDDLE + BAR} {y - 13}V{y + 4}" stroke="{INK}"/>',
            text(MIDDLE + round(max(long, BAR)) + 8, y, f"{use.most} of {use.limit}"),
        ]
    y += LINE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}"'
        f' viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join((head, f'<rect width="{WIDTH}" height="{y}" fill="white"/>', *parts, "</svg>"))


def _leases(found: Outcome) -> int:
    return sum(share.leases for share in found.shares)


def _axes(seconds: int) -> list[str]:
    bottom = TOP + HIGH
    parts = [f'<path d="M{LEFT} {TOP}V{bottom}H{RIGHT}" stroke="{INK}" fill="none"/>']
    for tenths in (0, 2, 4, 6, 8):
        parts.append(text(LEFT - 40, round(_y(tenths / 10)) + 4, f"{tenths * 10} %"))
    for quarter in range(5):
        at = seconds * quarter // 4
        parts.append(text(round(_x(at * 1_000_000, seconds)) - 10, bottom + 18, f"{at} s"))
    return parts


def _x(at_us: int, seconds: int) -> float:
    return LEFT + (RIGHT - LEFT) * at_us / 1e6 / seconds


def _y(share: float) -> float:
    """From nothing to four fifths of all leases; no class is owed more than a half."""
    return TOP + HIGH - HIGH * min(share, 0.8) / 0.8
