"""Coverage of a requirement: one state that says how far evidence reaches, derived and never set.

Seven facts are asked in the order of how much they take away. Nothing would prove it: ``orphan``. A
link beneath it joins what has changed with what has not: ``suspect``. What covers it was made for an
older meaning, or its results are stale: ``outdated``. An accepted decision lets it go unproved:
``justified``, which ends when the decision does. Every row of every item is verified at the commit
that shipped: ``deep``. What is left is planned and not proved: ``shallow``.

Pure. The evidence itself is judged by ``closure``; this only says what it comes to beside the links.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.planning.closure import Closure, State


class Coverage(StrEnum):
    """How far the evidence of a requirement reaches."""

    ORPHAN = "orphan"
    SUSPECT = "suspect"
    OUTDATED = "outdated"
    SHALLOW = "shallow"
    JUSTIFIED = "justified"
    DEEP = "deep"


WORST_FIRST: Final = tuple(Coverage)


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known of a requirement's coverage.

    ``nodes``, ``rows`` and ``items`` are how many cover it now; ``direct`` whether any row proves the
    requirement itself; ``made_for`` the revisions of it that its items were made for, ``meaning`` the
    one that it has; ``suspects`` how many links beneath it are suspect.
    """

    nodes: int
    rows: int
    items: int
    direct: bool
    meaning: int
    made_for: tuple[int, ...]
    suspects: int
    closure: Closure


def coverage(reach: Reach) -> Coverage:
    """The coverage state of a requirement."""
    if not (reach.nodes and reach.rows and reach.items and reach.direct):
        return Coverage.ORPHAN
    if reach.suspects:
        return Coverage.SUSPECT
    if any(made != reach.meaning for made in reach.made_for) or reach.closure.state is State.STALE:
        return Coverage.OUTDATED
    if reach.closure.state is State.WAIVED:
        return Coverage.JUSTIFIED
    return Coverage.DEEP if reach.closure.state is State.VERIFIED else Coverage.SHALLOW


LACKING: Final = {
    "nodes": "no node of the graph covers it",
    "items": "no item owns it",
    "rows": "no row would prove it",
    "direct": "no row proves it directly",
}


def lacking(reach: Reach) -> tuple[str, ...]:
    """What a requirement lacks, for people; empty where it is no orphan."""
    return tuple(why for name, why in LACKING.items() if not getattr(reach, name))
