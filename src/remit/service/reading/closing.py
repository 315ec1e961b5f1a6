"""Closure of requirements as a read: the facts gathered for the pure function that derives it.

Nothing here decides: ``core.planning.closure`` does, on what this finds. What is not found keeps a
requirement open.
"""

from __future__ import annotations

from typing import Any

from remit.core.binding import Get
from remit.core.facts import Fact, Item, Requirement, Row
from remit.core.planning.closure import Closure, closure
from remit.core.waivers import waiver_of
from remit.ports import ReadTx


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
    """The closure of one requirement, by the rows of the item that it was drafted with."""
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

    owner = item_of(requirement.item)
    rows = (row_of(row) for row in (owner.plan.rows if owner is not None else ()))
    mine = [row for row in rows if row is not None and row.requirement == name]
    return closure(requirement, mine, item_of, row_of, lambda row: waiver_of(get, row, now))


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
