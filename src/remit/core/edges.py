"""How one item waits on another: the kinds of edges, and what is known of one.

``remit.core.facts`` gives them as well. An edge lies with the item that waits; ``core.dependencies``
says when it is met.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from remit.core.change import quick


class DependencyKind(StrEnum):
    """How one item waits on another.

    ``waits-for-child`` is the part of a ``waits-for`` that stands for one child of the target.
    """

    BLOCKS = "blocks"
    PARENT = "parent-child"
    CONDITIONAL = "conditional-blocks"
    WAITS_FOR = "waits-for"
    WAITS_FOR_CHILD = "waits-for-child"


class EdgeState(StrEnum):
    """What is known of a dependency: ``dead`` can never be met any more."""

    UNMET = "unmet"
    MET = "met"
    DEAD = "dead"


@quick
@dataclass(frozen=True, slots=True)
class Dependency:
    """One edge, as its dependent item keeps it.

    ``target`` is what the dependent named: an item id, or ``?alias`` while no such item is known.
    ``via`` is the last item of the chain of successors, which is what the edge is judged by.
    ``inner`` says that the target descends from the dependent: such a wait is its own, and is not
    passed down to its children, or an epic that waits for its parts could never move.
    """

    target: str
    kind: DependencyKind
    state: EdgeState
    via: str
    inner: bool = False
