"""Closure of a requirement: what all rows of all its items say together, derived and never set.

One pure function over facts. Every row counts: one that is contradicted, a gap, stale, open or only
a human's to score keeps the requirement open, whatever the others say. It is closed as verified when
all are, and at least one of them is direct: narrower evidence never closes a broader claim. A row
that is waived by an accepted decision counts as waived, so a requirement with one is closed as
waived, not as verified. A human's score that nobody signed leaves the row to a human where policy
asks for signatures.

A successor stands for its predecessor: where the item of a row has one, the rows of the last item of
the chain take the place of that row. For a requirement that was drafted from the predecessor's own
text they are all its rows, since the claim was the item; for a planned one only those that are
registered for it. A row counts as verified only while its item is: an item whose artifacts or other
rows fail proves nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.believing import believed
from remit.core.dependencies import MAX_CHAIN
from remit.core.facts import Item, Requirement, Row, RowOutcome
from remit.core.rows import Verdict
from remit.core.status import Status


class State(StrEnum):
    """What a row, or all rows of a requirement together, say of it. Two of them close it."""

    CONTRADICTED = "contradicted"
    GAP = "gap"
    STALE = "stale"
    OPEN = "open"
    NOT_MACHINE_CHECKABLE = "not-machine-checkable"
    WAIVED = "waived"
    VERIFIED = "verified"


_GRAVEST_FIRST: Final = tuple(State)

_OF_VERDICT: Final = {
    Verdict.CONTRADICTED.value: State.CONTRADICTED,
    Verdict.SHIP_VERIFY_GAP.value: State.GAP,
    Verdict.NOT_MACHINE_CHECKABLE.value: State.NOT_MACHINE_CHECKABLE,
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one row says. ``stands_for`` names the items whose place the row's item took."""

    row: str
    item: str
    state: State
    direct: bool
    stands_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Closure:
    """What the evidence of a requirement comes to, and the code of why it is not closed."""

    requirement: str
    state: State
    reason: str
    evidence: tuple[Evidence, ...]

    @property
    def closed(self) -> bool:
        """Whether nothing more has to be shown."""
        return self.state in (State.VERIFIED, State.WAIVED)


NO_ROW: Final = "NO_ROW"
NO_DIRECT_ROW: Final = "NO_DIRECT_ROW"

ItemOf = Callable[[str], Item | None]
RowOf = Callable[[str], Row | None]
Waiver = Callable[[Row], str]


@dataclass(frozen=True, slots=True)
class Known:
    """What a closure is asked of.

    ``item_of`` and ``row_of`` give facts by id, None where there is none, which keeps it open.
    ``waiver`` gives the accepted decision that lets a row go unproved, or empty. ``accept_unproved``
    is the policy's figure: without it a human's score counts only where that human signed it.
    """

    item_of: ItemOf
    row_of: RowOf
    waiver: Waiver
    accept_unproved: bool = False


def closure(requirement: Requirement, rows: Iterable[Row], known: Known) -> Closure:
    """What a requirement comes to by all its ``rows``."""
    evidence: dict[str, Evidence] = {}
    for row in sorted(rows, key=lambda row: row.id):
        for found in _standing_for(requirement, row, known):
            other = evidence.get(found.row)
            if other is None or len(found.stands_for) > len(other.stands_for):
                evidence[found.row] = found
    found_all = tuple(evidence.values())
    if not found_all:
        return Closure(requirement.id, State.OPEN, NO_ROW, ())
    state = min((each.state for each in found_all), key=_GRAVEST_FIRST.index)
    if state in (State.WAIVED, State.VERIFIED):
        if not any(each.direct for each in found_all):
            return Closure(requirement.id, State.OPEN, NO_DIRECT_ROW, found_all)
        return Closure(requirement.id, state, "", found_all)
    reason = state.name
    return Closure(requirement.id, state, reason, found_all)


def _standing_for(requirement: Requirement, row: Row, known: Known) -> list[Evidence]:
    """What stands in the place of a row: itself, or rows of the last of its item's successors."""
    item = known.item_of(row.item)
    if item is None or not item.successor:
        return [_evidence(requirement, row, item, known)]
    passed: list[str] = []
    while item is not None and item.successor:
        if len(passed) == MAX_CHAIN:
            item = None
            break
        passed.append(item.id)
        item = known.item_of(item.successor)
    taken = []
    for name in item.plan.rows if item is not None else ():
        other = known.row_of(name)
        if other is not None and (requirement.drafted or other.requirement == requirement.id):
            taken.append(_evidence(requirement, other, item, known, tuple(passed)))
    if taken:
        return taken
    return [Evidence(row.id, row.item, State.OPEN, row.direct, tuple(passed))]


def _evidence(
    requirement: Requirement,
    row: Row,
    item: Item | None,
    known: Known,
    stands_for: tuple[str, ...] = (),
) -> Evidence:
    state = State.OPEN
    if known.waiver(row):
        state = State.WAIVED
    elif item is not None:
        covered = requirement.bound if row.requirement == requirement.id else None
        state = _state(row, item, covered, known.accept_unproved)
    return Evidence(row.id, row.item, state, row.direct, stands_for)


def _state(row: Row, item: Item, covered: str | None, accept_unproved: bool) -> State:
    """What an item's results say of one row; ``covered`` is the digest of the requirement now."""
    commit = item.work.shipped if item.work is not None else ""
    known = [r for r in item.results if r.row == row.id and r.commit == commit]
    if not known or not commit:
        return State.OPEN
    if any(r.result == Verdict.CONTRADICTED for r in known):
        return State.CONTRADICTED
    newest = known[-1]
    if row.id in item.stale or _other(newest, row, covered):
        return State.STALE
    if newest.result != Verdict.VERIFIED:
        return _OF_VERDICT.get(newest.result, State.OPEN)
    if not believed(row, newest, accept_unproved=accept_unproved):
        return State.NOT_MACHINE_CHECKABLE
    return State.VERIFIED if item.status is Status.VERIFIED else State.OPEN


def _other(outcome: RowOutcome, row: Row, covered: str | None) -> bool:
    """Whether a result covers another row or another requirement than what is registered now."""
    if not outcome.digest or outcome.digest != row.digest:
        return True
    return covered is not None and (not covered or outcome.covers != covered)
