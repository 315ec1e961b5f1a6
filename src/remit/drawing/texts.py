"""Drawings that are text: Graphviz DOT, Mermaid, and lines for a terminal.

Each language has its own way out of a quoted text, so each has its own escape here; nodes get
numbers for ids, since a label may be a word of the language. Nothing of a text is markup, a link, a
directive or a comment in what is written.
"""

from __future__ import annotations

import html
from typing import Final

from remit.drawing.graph import Graph, short

LINE: Final = 60
"""Most characters of a line in a node."""


def dot(graph: Graph) -> str:
    """Graphviz DOT."""
    ids = {node.name: f"n{n}" for n, node in enumerate(graph.nodes)}
    lines = [
        f"digraph {_dot(graph.title)} {{",
        "  rankdir=LR;",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
    ]
    for node in graph.nodes:
        said = "\\n".join(_dot(short(w, LINE))[1:-1] for w in (node.name, *node.words))
        lines.append(f'  {ids[node.name]} [label="{said}"];')
    for arrow in graph.arrows:
        style = [] if arrow.firm else ["style=dashed"]
        style += ["color=red"] if arrow.wrong else []
        style += [f"tooltip={_dot(short(arrow.words))}"] if arrow.words else []
        said = f" [{', '.join(style)}]" if style else ""
        lines.append(f"  {ids[arrow.first]} -> {ids[arrow.later]}{said};")
    return "\n".join([*lines, "}", ""])


def _dot(text: str) -> str:
    """A text in DOT's quotes; a backslash would begin an escape of its own."""
    inner = short(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'


def mermaid(graph: Graph) -> str:
    """A Mermaid flowchart."""
    ids = {node.name: f"n{n}" for n, node in enumerate(graph.nodes)}
    lines = ["flowchart LR", f"  %% {_comment(graph.title)}"]
    for node in graph.nodes:
        said = "<br/>".join(_mermaid(w) for w in (node.name, *node.words))
        lines.append(f'  {ids[node.name]}["{said}"]')
    wrong = []
    for number, arrow in enumerate(graph.arrows):
        line = "-->" if arrow.firm else "-.->"
        lines.append(f"  {ids[arrow.first]} {line} {ids[arrow.later]}")
        wrong += [str(number)] if arrow.wrong else []
    if wrong:
        lines.append(f"  linkStyle {','.join(wrong)} stroke:red")
    return "\n".join([*lines, ""])


def _mermaid(text: str) -> str:
    """A text in Mermaid's quotes: whatever is no letter, digit or plain blank is a number."""
    plain = short(text, LINE)
    return "".join(c if c.isalnum() or c in " _.," else f"#{ord(c)};" for c in plain)


def _comment(text: str) -> str:
    return "".join(c if c.isalnum() or c in " _.-" else "?" for c in short(text, LINE))


def lines(graph: Graph) -> str:
    """For a terminal: each node, what it says, and what it waits for."""
    before: dict[str, list[str]] = {}
    for arrow in graph.arrows:
        mark = "" if arrow.firm else "  (related)"
        mark += "  (in a cycle)" if arrow.wrong else ""
        before.setdefault(arrow.later, []).append(f"  after {short(arrow.first)}{mark}")
    said = []
    for node in graph.nodes:
        said.append(short(node.name))
        said += [f"  {short(words)}" for words in node.words]
        said += before.get(node.name, ())
    return "\n".join([*said, ""])


def escaped(text: str, most: int = LINE) -> str:
    """A text for SVG: one printable line with no markup in it."""
    return html.escape(short(text, most))
