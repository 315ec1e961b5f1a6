"""A human's judgement that no human signed closes nothing where policy asks for signatures (INV-15).

However it came to be on the ledger: said before policy asked, or put there past every rule.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.test_closure import outcome, row
from tests.core.world import COMMAND, HUMAN, KEYS, OTHER, RUBRIC, VERIFIER, World

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.believing import believed, doubted
from remit.core.change import changed
from remit.core.dependencies import standing
from remit.core.events import Recorded
from remit.core.evolve import evolve
from remit.core.facts import Item
from remit.core.fold import FoldError
from remit.core.planning.closure import State
from remit.service.reading.closing import closure_of


def scored() -> tuple[World, str, str, str]:
    """Shipped work whose rubric somebody scored by name alone, before policy asked for more."""
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    command, rubric = world.item(item).plan.rows
    world.ok(OTHER, world.findings(item, rows=[rubric], diff=""))
    return world, item, command, rubric


def strict(world: World) -> None:
    world.keyed()
    world.signed(HUMAN, c.EnrolKey(OTHER, KEYS[OTHER]))


@pytest.mark.parametrize("proof", ["", "token"])
def test_a_score_counts_by_its_signature_alone(proof: str) -> None:
    rubric = changed(row(1), kind="rubric")
    found = outcome(rubric, "verified", proof=proof)
    assert not believed(rubric, found, accept_unproved=False)
    assert believed(rubric, found, accept_unproved=True)
    for signed in ("signature", "signature+presence"):
        assert believed(rubric, replace(found, proof=signed), accept_unproved=False)
    assert believed(row(1), found, accept_unproved=False), "a service runs it, no human judges it"
    assert believed(rubric, replace(found, result="ship-verify-gap"), accept_unproved=False)


def test_a_score_that_nobody_signed_lets_no_item_be_verified() -> None:
    world, item, command, rubric = scored()
    strict(world)
    world.ok(VERIFIER, world.findings(item, rows=[command]))
    assert world.status(item) == "shipped", "its rubric waits for a human still"
    world.signed(OTHER, world.findings(item, rows=[rubric], diff=""))
    assert world.status(item) == "verified"
    assert world.item(item).stale == ()


def test_where_policy_accepts_it_nothing_changes() -> None:
    world, item, command, _ = scored()
    world.ok(VERIFIER, world.findings(item, rows=[command]))
    assert (world.status(item), world.item(item).stale) == ("verified", ())


def test_a_gap_that_nobody_signed_still_stops_the_item() -> None:
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    command, rubric = world.item(item).plan.rows
    strict(world)
    before = world.item(item)
    forced = force(world, before, e.VerificationRecorded(
        "", before.status, before.status, "VR-9", before.work.shipped if before.work else "",
        (record(world, before, rubric, "ship-verify-gap"),), "", (), (), "", "", "", (), (),
    ))  # fmt: skip
    assert doubted(world.fact, forced.results) == ()
    assert forced.results[0].result == "ship-verify-gap"
    assert command not in [r.row for r in forced.results]


def test_an_item_that_says_it_was_verified_so_is_relied_on_by_nobody() -> None:
    world, item, command, rubric = scored()
    strict(world)
    world.ok(VERIFIER, world.findings(item, rows=[command]))
    before = world.item(item)
    assert before.work is not None
    event = e.VerificationRecorded(
        "T09", "shipped", "verified", "VR-9", before.work.shipped,
        (record(world, before, rubric, "verified"),), "PASS", (), (), "", "", "", (), (),
    )  # fmt: skip
    after = force(world, before, event)
    assert (after.status, after.stale) == ("verified", (rubric,))
    assert not standing(after, imported_closed_satisfies=True).satisfied
    with pytest.raises(FoldError, match="claims a signature"):
        force(world, before, event, "signature")


def test_a_requirement_is_closed_by_no_score_that_nobody_signed() -> None:
    world, item, command, _ = scored()
    world.ok(VERIFIER, world.findings(item, rows=[command]))
    [requirement] = world.item(item).plan.requirements
    with world.store.read() as tx:
        found = closure_of(tx, requirement)
    assert found is not None
    assert found.closed
    strict(world)
    with world.store.read() as tx:
        found = closure_of(tx, requirement)
    assert found is not None
    assert (found.closed, found.state) == (False, State.NOT_MACHINE_CHECKABLE)


def record(world: World, item: Item, name: str, result: str) -> e.RowResultRecord:
    """A result as somebody writes it who knows every digest."""
    from remit.core.binding import requirement_digest, row_digest

    def get(kind: str, key: str) -> object:
        return world.fact(kind, key)

    [requirement] = item.plan.requirements
    return e.RowResultRecord(
        name, requirement, row_digest(get, name), requirement_digest(get, requirement),  # type: ignore[arg-type]  # facts
        result, "SCORED_BY_HUMAN", 1, 0, True, "", (),
    )  # fmt: skip


def force(
    world: World, item: Item, event: e.VerificationRecorded, assurance: str = "asserted"
) -> Item:
    """What the fold makes of an event that no command made."""
    head = world.events()[-1]
    rec = Recorded(head.seq + 1, item.id, item.version + 1, OTHER, assurance, head.at, event)
    delta = evolve(world.fact, rec)
    found = delta["item", item.id]
    assert isinstance(found, Item)
    return found
