"""What an edge between two items is worth: met, unmet, or dead.

An edge is judged by the last item of the chain of successors behind its target. It is met only by
evidence: a verified item without stale results, or one imported as closed where policy lets that
count. One whose results went stale is waited for, since its successor may come. What cannot be
resolved never counts as met, and an edge that can never be met any more is dead and sends its
dependent to triage, never silently to work (CONTRACT 5).

The five kinds follow the readiness edges of Beads: ``blocks``; ``parent-child``, through which a
parent passes its own unmet dependencies down; ``conditional-blocks``, met only by a failed close;
and ``waits-for``, kept as one edge on the target (met once it has children or is satisfied itself)
and one edge on each child. A parent does not pass down what it waits for among its own descendants:
that says when it is finished, not when they may begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from remit.core.change import quick
from remit.core.facts import Dependency, DependencyKind, EdgeState, Item
from remit.core.status import Outcome, Status

MAX_CHAIN: Final = 64
"""Longest chain of successors that is followed; past it an edge stays unmet."""

MAX_DEPENDENCIES: Final = 1_000
"""Most edges that one item may have."""


@quick
@dataclass(frozen=True, slots=True)
class Standing:
    """All that dependents need to know of an item; if it is the same, there is no news."""

    satisfied: bool
    ended: bool
    failed: bool
    clear: bool
    successor: str


UNKNOWN: Final = Standing(satisfied=False, ended=False, failed=False, clear=False, successor="")
"""The standing of an item that is not on the ledger."""


def standing(item: Item | None, *, imported_closed_satisfies: bool) -> Standing:
    """What dependents may rely on."""
    if item is None:
        return UNKNOWN
    imported = item.outcome is Outcome.IMPORTED
    verified = item.status is Status.VERIFIED
    counts = imported and item.source is not None and item.source.satisfies
    return Standing(
        satisfied=(verified and not item.stale) or (counts and imported_closed_satisfies),
        ended=item.terminal and not (verified and item.stale),
        failed=item.outcome is Outcome.FAILED
        or (imported and item.source is not None and item.source.failed),
        clear=item.terminal
        or item.unmet == 0
        or all(d.inner for d in item.dependencies if d.state is not EdgeState.MET),
        successor=item.successor,
    )


def state_of(kind: DependencyKind, target: Standing, *, has_children: bool = False) -> EdgeState:
    """The state of an edge of this kind on a target that stands like this."""
    ended = EdgeState.DEAD if target.ended else EdgeState.UNMET
    match kind:
        case DependencyKind.BLOCKS | DependencyKind.WAITS_FOR_CHILD:
            return EdgeState.MET if target.satisfied else ended
        case DependencyKind.PARENT:
            return EdgeState.MET if target.clear else EdgeState.UNMET
        case DependencyKind.CONDITIONAL:
            return EdgeState.MET if target.failed else ended
        case DependencyKind.WAITS_FOR:
            return EdgeState.MET if has_children or target.satisfied else ended
        case _:
            assert_never(kind)


def unmet_edges(item: Item) -> tuple[Dependency, ...]:
    """The edges that keep an item waiting."""
    return tuple(d for d in item.dependencies if d.state is not EdgeState.MET)


def unresolved(alias: str) -> str:
    """How an edge names a target that is not on the ledger yet."""
    return f"?{alias}"
