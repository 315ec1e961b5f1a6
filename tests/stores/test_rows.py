"""Statements that name few columns: whatever they leave out is the same before and after."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from tests.contract.builders import edge, item

from remit.core.facts import Hold, Item, Key, Lane, Lease, lane_of
from remit.core.status import Outcome, Status
from remit.ports import Change
from remit.stores.sqlite.rows import Batch
from remit.stores.tables import item_columns, keeps_place, lease_columns

LEASE = Lease("L-1.1", "W-1", 1, "bob", 1, 900_000, 2, 3)
OTHERS: dict[str, Any] = {
    "id": "W-2", "version": 9, "number": 2, "status": Status.LEASED, "title": "other", "kind": "effect",
    "text": "ab" * 32, "priority": 0, "work_class": "other", "tenant": "other", "alias": "other",
    "plan": None, "gate": "scope", "hold": Hold("A", "admission", "b", at=5, rank=6),
    "dependencies": (edge("W-9"),), "links": (("a", "b"),), "unmet": 1, "ready_at": 5, "rank": 5,
    "attempt": 1, "counted": 1, "reported": True, "lease": LEASE, "holders": ("bob",), "work": None,
    "results": (1,), "triage": ("T-1",), "triaged_from": Status.READY, "outcome": Outcome.COALESCED,
    "successor": "W-3", "source": None, "created_at": 5, "changed_at": 5, "lapses_at": 5, "stale": ("V-1",),
}  # fmt: skip
"""For each attribute of an item another value."""


@pytest.mark.parametrize("base", [item(1), item(1, outcome=Outcome.COALESCED, successor="W-7")])
@pytest.mark.parametrize("name", [f.name for f in fields(Item)])
def test_a_move_that_keeps_its_place_changes_the_columns_of_its_statement_alone(
    base: Item, name: str
) -> None:
    changed = replace(base, **{name: OTHERS[name]})
    if name in ("id", "number"):
        return  # they never change, and the statement looks for the row by them
    if not keeps_place(base, changed):
        return
    before, after = item_columns(base), item_columns(changed)
    moved = {1, 10, 11, 12, 14, 15, 16}  # status, the lease's three, unmet, version, state
    assert {i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b} <= moved
    assert lease_columns(changed) == tuple(after[i] for i in sorted(moved))


def statement_of(key: Key, old: Any, new: Any) -> str:
    """The one statement that writes a change."""
    batch = Batch("x")
    batch.add(Change(key, old, new))
    (name,) = batch._bindings
    return name


def test_the_smallest_statement_that_says_it_all_is_chosen() -> None:
    ready, leased = item(1, Status.READY), item(1, Status.LEASED, version=2)
    key = ("item", "W-1")
    assert statement_of(key, ready, leased) == "lease_item"
    assert statement_of(key, leased, replace(leased, version=3)) == "touch_item"
    assert statement_of(key, ready, replace(leased, rank=7)) == "update_item"
    held = item(1, Status.HELD, version=2)
    assert statement_of(key, ready, held) == "update_item"
    one = Lane(lane_of("a", "b"), 1, 1, 2, 0)
    same = Lane(one.id, one.weight, one.passed, one.ready, one.leased + 1)
    assert statement_of(("lane", one.id), one, same) == "touch_lane"
    for moved in (replace(one, passed=9), replace(one, ready=0)):
        assert statement_of(("lane", one.id), one, moved) == "update_lane"
