"""Closure of requirements as a read: the facts gathered for the pure function that derives it.

Nothing here decides: ``core.planning.closure`` does, on what this finds. What is not found keeps a
requirement open.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.binding import Get
from remit.core.facts import Fact, Item, Ledger, Requirement, Row
from remit.core.planning.closure import Closure, Known, closure
from remit.core.waivers import waiver_of
from remit.ports import ReadTx

MOST_OWNERS: Final = 1_000
"""Most items of one requirement whose rows are looked at."""


def reader(tx: ReadTx) -> Get:
    """Facts by kind and id, each read once."""
    known: dict[tuple[str, str], Fact | None] = {}

    def get(kind: str, name: str) -> Fact | None:
        key = (kind, name)
        if key not in known:
            known.update(tx.load([key]))
        return known[key]

    return get


def closure_of(tx: ReadTx, name: str) -> Closure | None:
    """The closure of one requirement, by the rows of every item that owns it."""
    get, now = reader(tx), tx.now()
    requirement = get("requirement", name)
    if not isinstance(requirement, Requirement):
        return None

    def item_of(item: str) -> Item | None:
        found = get("item", item)
        return found if isinstance(found, Item) else None

    def row_of(row: str) -> Row | None:
        found = get("row", row)
        return found if isinstance(found, Row) else None

    mine = rows_of(tx, requirement)
    known = Known(
        item_of, row_of, lambda row: waiver_of(get, row, now), accept_unproved=lenient(get)
    )
    return closure(requirement, mine, known)


def lenient(get: Get) -> bool:
    """Whether policy lets count what no human signed."""
    ledger = get("ledger", "ledger")
    return isinstance(ledger, Ledger) and ledger.policy.accept_unproved


def rows_of(tx: ReadTx, requirement: Requirement) -> list[Row]:
    """The rows that are registered for a requirement now, by any of its items."""
    owners = (
        [requirement.item] if requirement.item else tx.linked(requirement.id, "W-", MOST_OWNERS)
    )
    items = tx.load([("item", name) for name in owners]).values()
    names = [name for item in items if isinstance(item, Item) for name in item.plan.rows]
    rows = tx.load([("row", name) for name in dict.fromkeys(names)]).values()
    return [
        row
        for row in rows
        if isinstance(row, Row) and row.requirement == requirement.id and not row.retired
    ]


def shown(found: Closure | None) -> dict[str, Any] | None:
    """A closure for people and scripts."""
    if found is None:
        return None
    return {
        "state": found.state.value,
        "closed": found.closed,
        "reason": found.reason or None,
        "evidence": [
            {
                "row": each.row,
                "item": each.item,
                "state": each.state.value,
                "direct": each.direct,
                "stands_for": list(each.stands_for),
            }
            for each in found.evidence
        ],
    }
