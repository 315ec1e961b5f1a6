"""A graph as SVG: laid out in layers from left to right, what comes first on the left.

The layout comes from fast-sugiyama, which knows nothing of texts. What is written is one document
without script, style sheet, link or reference to anything outside, so that a page may hold it; every
text in it is escaped. Sizes are bounded: a drawing of thousands of boxes tells nobody anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remit.drawing.graph import Graph, Node
from remit.drawing.layout import Point, layout
from remit.drawing.texts import LINE, escaped

MOST_NODES: Final = 500
"""Nodes that are drawn at most."""

MOST_ARROWS: Final = 1_500
"""Arrows that are drawn at most."""

_LETTER: Final = 7
_ROW: Final = 16
_PAD: Final = 10
_GAP: Final = 60
_BOLD: Final = ' font-weight="bold"'


class TooLargeError(ValueError):
    """A graph has more nodes or arrows than are drawn."""


def svg(graph: Graph) -> str:
    """The drawing. Raises ``TooLargeError``."""
    if len(graph.nodes) > MOST_NODES or len(graph.arrows) > MOST_ARROWS:
        raise TooLargeError(
            f"the graph has {len(graph.nodes)} nodes and {len(graph.arrows)} arrows;"
            f" at most {MOST_NODES} and {MOST_ARROWS} are drawn"
        )
    texts = {n.name: _texts(n) for n in graph.nodes}
    width = max((_width(said) for said in texts.values()), default=0)
    height = max((len(said) for said in texts.values()), default=1) * _ROW + _PAD
    at, bends = layout(graph)
    cell, row = width + _GAP, height + _PAD
    places = {name: (x * cell + _PAD, y * row + _PAD) for name, (x, y) in at.items()}
    right = max((x for x, _ in places.values()), default=0) + width + _PAD
    below = max((y for _, y in places.values()), default=0) + height + _PAD
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right:.0f} {below:.0f}"'
        f' width="{right:.0f}" height="{below:.0f}" font-family="sans-serif" font-size="12"'
        ' role="img">'
    )
    tip = (
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8"'
        ' markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    parts = [
        begin,
        f"<title>{escaped(graph.title)}</title>",
        tip,
        f'<rect width="{right:.0f}" height="{below:.0f}" fill="white"/>',
    ]
    for arrow in graph.arrows:
        (x1, y1), (x2, y2) = places[arrow.first], places[arrow.later]
        middle = [
            (x * cell + _PAD + width / 2, y * row + _PAD + height / 2)
            for x, y in bends.get((arrow.first, arrow.later), ())
        ]
        start, end = (x1 + width, y1 + height / 2), (x2, y2 + height / 2)
        line = "".join(f"L{x:.0f} {y:.0f}" for x, y in [*middle, end])
        colour = "#c00" if arrow.wrong else "#555"
        dashes = "" if arrow.firm else ' stroke-dasharray="4 3"'
        about = f"<title>{escaped(arrow.words, 200)}</title>" if arrow.words else ""
        parts.append(
            f'<path d="M{start[0]:.0f} {start[1]:.0f}{line}" fill="none" stroke="{colour}"'
            f'{dashes} marker-end="url(#end)">{about}</path>'
        )
    for node in graph.nodes:
        parts.append(_box(places[node.name], width, height, texts[node.name]))
    return "\n".join([*parts, "</svg>", ""])


def _texts(node: Node) -> list[str]:
    return [escaped(words, LINE) for words in (node.name, *node.words)]


def _width(said: Sequence[str]) -> int:
    return max(min(len(line), LINE) for line in said) * _LETTER + 2 * _PAD


def _box(at: Point, width: int, height: int, said: Sequence[str]) -> str:
    x, y = at
    rows = "".join(
        f'<text x="{x + _PAD:.0f}" y="{y + _ROW * (n + 1):.0f}"'
        f"{_BOLD if n == 0 else ''}>{line}</text>"
        for n, line in enumerate(said)
    )
    return (
        f'<g><rect x="{x:.0f}" y="{y:.0f}" width="{width}" height="{height}" rx="6"'
        f' fill="#f4f6fa" stroke="#345"/>{rows}</g>'
    )
