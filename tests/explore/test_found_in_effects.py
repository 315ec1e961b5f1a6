"""What the explorer has found in effect work, each as the shortest steps that showed it."""

from __future__ import annotations

import pytest
from tests.core.effect_world import EffectWorld
from tests.core.triaging import put
from tests.core.world import HUMAN

from remit.core import commands as c
from remit.core.commands import Text
from remit.core.limit_facts import Spend


def money(world: EffectWorld) -> tuple[int, int]:
    found = world.fact("spend", "ledger")
    assert isinstance(found, Spend)
    return found.settled, found.reserved


def owner(world: EffectWorld, item: str) -> str:
    found = world.item(item).owner
    assert found is not None
    return found.identity


@pytest.mark.parametrize(("spent", "settled"), [(None, 2), (1, 1)])
def test_a_report_on_effect_work_gives_its_reservation_up(spent: int | None, settled: int) -> None:
    """The fold of its own move forgot the money: it stayed set aside until no lease fitted any more."""
    world = EffectWorld()
    world.ok(HUMAN, c.SetLimit("ledger", spend_micros=10, reserve_micros=2))
    item, lease = world.started()
    world.ok("bob", c.ReportEffect(item, lease.fence, "200", spent_micros=spent))
    assert money(world) == (settled, 0)


def test_work_that_ships_under_its_lease_gives_its_reservation_up() -> None:
    world = EffectWorld()
    world.ok(HUMAN, c.SetLimit("ledger", spend_micros=10, reserve_micros=2))
    item, _ = world.started()
    world.look("FOUND")
    assert world.status(item) == "verified"
    assert money(world) == (2, 0)


def test_work_that_comes_back_from_triage_with_its_effect_open_names_who_owns_the_wait() -> None:
    world = EffectWorld()
    item, _ = world.started()
    world.ok(HUMAN, put(item, "ambiguity"))
    [record] = world.item(item).triage
    world.ok(HUMAN, c.ResolveTriage(record, "requeue", "look it up"))
    assert world.status(item) == "held"
    assert owner(world, item) == "RETRY-3"


def test_work_that_a_lease_left_held_names_who_owns_the_wait() -> None:
    world = EffectWorld()
    item = world.submit()
    lease = world.lease(item)
    world.ok(HUMAN, c.CancelWork(item, "UNOBSERVABLE"))
    world.until_over(lease)
    assert world.waits(item) == "CANCELLATION_UNOBSERVABLE"
    assert owner(world, item) == "ADMISSION-4"


def test_a_look_up_that_saw_nothing_does_not_verify_what_was_found_before() -> None:
    """It could not be folded, so the reconciler failed on it for as long as the record was away."""
    world = EffectWorld()
    item, lease = world.started()
    world.ok("bob", c.FailWork(item, lease.fence, "refusal", Text("no")))
    world.look("FOUND")
    [record] = world.item(item).triage
    world.ok(HUMAN, c.ResolveTriage(record, "reverify", "it is there"))
    assert world.status(item) == "shipped"
    world.look("UNAVAILABLE")
    assert (world.status(item), world.effect().state) == ("shipped", "PRESENT")
    world.look("FOUND")
    assert world.status(item) == "verified"
