"""A lease at the end of a long list finds its item, whatever the list did to those before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from remit import wiring
from remit.core.commands import CloseItem, Command, CreateItem, DraftGoal, GrantLease
from remit.core.rows import RowKind, RowSpec
from remit.service.engine import Done
from remit.service.operations import item_of

ROW = RowSpec(RowKind.COMMAND, ("true",))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[wiring.Ledger]:
    made = wiring.create_ledger(wiring.url_of(tmp_path / "ledger.db"), "ann")
    yield made
    made.close()


def ready(ledger: wiring.Ledger, count: int, tenants: int) -> list[str]:
    """Ready items, tenant after tenant; returns their ids."""
    operations = ledger.acting("ann")
    goal = operations.run(DraftGoal("a goal", "a test"))
    assert isinstance(goal, Done)
    stream = goal.events[-1].stream
    answers = operations.create(
        [
            CreateItem(f"item {n}", goal=stream, rows=(ROW,), tenant=f"t{n % tenants}")
            for n in range(count)
        ]
    )
    return [item_of(answer) for answer in answers]


@pytest.mark.parametrize("tenants", [1, 90])
def test_a_lease_after_many_closings_in_one_list_takes_the_one_that_is_left(
    ledger: wiring.Ledger, tenants: int
) -> None:
    items = ready(ledger, 901, tenants)
    closings: list[Command] = [CloseItem(item, "cancelled") for item in items[:900]]
    answers = ledger.acting("ann").run([*closings, GrantLease(), GrantLease()])
    assert all(isinstance(answer, Done) for answer in answers[:900])
    leased, refused = answers[900:]
    assert isinstance(leased, Done)
    assert item_of(leased) == items[900]
    assert not isinstance(refused, Done)
    assert refused.code == "NOTHING_READY"
