"""What is drawn: named nodes with a few words each, and arrows between them.

An arrow leads from what comes first to what waits for it, so that a drawing is read in the order of
work. Names and words were written by anybody: each form of drawing escapes them for itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

WORDS: Final = 200
"""Most characters of a node's words, and of an arrow's, that are drawn."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its name, and what is said about it, line by line."""

    name: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arrow:
    """From what comes first to what comes later; ``firm`` where it must, else only related.

    ``wrong`` marks an arrow of a cycle.
    """

    first: str
    later: str
    firm: bool = True
    words: str = ""
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph with a title. Arrows name nodes that are there."""

    title: str
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]

    def around(self, name: str) -> Graph:
        """The part that has to do with one node: what comes before it and what waits for it."""
        before: dict[str, list[str]] = {}
        after: dict[str, list[str]] = {}
        for arrow in self.arrows:
            before.setdefault(arrow.later, []).append(arrow.first)
            after.setdefault(arrow.first, []).append(arrow.later)
        kept = reached(name, before) | reached(name, after)
        return Graph(
            self.title,
            tuple(node for node in self.nodes if node.name in kept),
            tuple(a for a in self.arrows if a.first in kept and a.later in kept),
        )


def reached(start: str, steps: Mapping[str, Iterable[str]]) -> set[str]:
    """All that can be come to from here, itself included."""
    seen = {start}
    ahead = [start]
    while ahead:
        for name in steps.get(ahead.pop(), ()):
            if name not in seen:
                seen.add(name)
                ahead.append(name)
    return seen


def short(text: str, most: int = WORDS) -> str:
    """Words as one line that can be shown: nothing unprintable, at most so many characters."""
    flat = " ".join(text.split())
    clean = flat if flat.isprintable() else "".join(c if c.isprintable() else "?" for c in flat)
    return clean if len(clean) <= most else clean[: most - 1] + "…"
