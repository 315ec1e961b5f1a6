"""What a verdict is bound to, and what becomes of it when that changes: approvals, results, waivers."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest
from tests.core.world import COMMAND, HUMAN, LOG, OTHER, RUBRIC, VERIFIER, World, sha

from remit.core import commands as c
from remit.core import dependencies, settlement, staleness, waivers
from remit.core.binding import binding_digest, bindings, unlike
from remit.core.change import changed
from remit.core.commands import Text
from remit.core.decide import delivery, verification
from remit.core.evolve import work as folds
from remit.core.facts import Item, RowOutcome
from remit.core.item_events import ResultsMarkedStale, SuccessorLinked, VerificationRecorded
from remit.core.refusals import Code
from remit.core.rows import Verdict
from remit.service.engine import Done


def rebind(world: World, kind: str, name: str, **new: Any) -> None:
    """Another revision of a row or requirement, as a plan will append it: the fact is another one."""
    fact: Any = world.fact(kind, name)
    assert fact is not None
    world.store._state.put((kind, name), changed(fact, **(new or {"digest": "e" * 64})))
    world.engine = type(world.engine)(world.store)


def findings(world: World, item: str, *results: tuple[str, int]) -> c.RecordVerification:
    """One finding a row, each with a result and how many checks ran."""
    found = world.item(item)
    assert found.work is not None
    rows = [world.fact("row", name) for name in found.plan.rows]
    return c.RecordVerification(
        item,
        found.work.shipped,
        tuple(
            c.RowFinding(row.id, row.digest, result, "X", executed, 0, LOG)  # type: ignore[union-attr]  # a row
            for row, (result, executed) in zip(rows, results, strict=False)
        ),
        "PASS",
    )


def results(world: World, item: str) -> list[tuple[str, str]]:
    return [(r.row, r.result) for r in world.item(item).results]


def owned(world: World, item: str) -> tuple[str, str]:
    """The item's first row and requirement."""
    plan = world.item(item).plan
    return plan.rows[0], plan.requirements[0]


# Approval.


@pytest.mark.parametrize("which", [0, 1], ids=["row", "requirement"])
def test_what_changed_since_the_approval_does_not_ship(which: int) -> None:
    world = World()
    item = world.until("approved")
    name = owned(world, item)[which]
    rebind(world, ("row", "requirement")[which], name)
    before = world.state()
    refused = world.no(HUMAN, world.ship_of(item), Code.APPROVAL_STALE)
    assert refused.details["changed"] == [name]
    assert world.state() == before  # a refusal writes nothing: the item goes back by a reviewer
    world.no("bob", c.ReviewWork(item, False, Text("changed")), Code.REVIEWER_IS_IMPLEMENTER)
    world.ok("cat", c.ReviewWork(item, False, Text("changed")))
    assert world.status(item) == "ready"
    world.complete(world.lease(item))
    world.ok("cat", c.ReviewWork(item, True, Text("good")))
    world.ok(HUMAN, world.ship_of(item))


def test_a_row_that_came_or_went_makes_an_approval_stale() -> None:
    pairs = (("V-1", "a"), ("R-1", "b"))
    assert unlike(pairs, pairs) == ()
    assert unlike(pairs, (*pairs, ("V-2", "c"))) == ("V-2",)
    assert unlike(pairs, pairs[1:]) == ("V-1",)
    assert unlike((("V-1", ""),), (("V-1", ""),)) == ("V-1",)  # what is not there equals nothing
    assert binding_digest(pairs) == binding_digest((pairs[1], pairs[0]))
    assert binding_digest(pairs) != binding_digest(pairs[:1])


def test_a_review_can_name_what_was_looked_at() -> None:
    world = World()
    item = world.until("in-review")
    found = world.item(item)
    seen = binding_digest(bindings(world.fact, found.plan))
    rebind(world, "row", owned(world, item)[0])
    before = world.state()
    for approve in (True, False):
        world.no("cat", c.ReviewWork(item, approve, Text("x"), bound=seen), Code.REVIEW_STALE)
    assert world.state() == before
    now = binding_digest(bindings(world.fact, found.plan))
    world.ok("cat", c.ReviewWork(item, True, Text("x"), bound=now))
    work = world.item(item).work
    assert work is not None
    assert work.bound == bindings(world.fact, found.plan)


def test_work_that_shipped_is_not_verified_by_another_row() -> None:
    world = World()
    item = world.until("shipped")
    row = owned(world, item)[0]
    rebind(world, "row", row)
    world.ok(VERIFIER, world.findings(item))
    assert world.triage_of(item) == ("scope-changed",)
    event = world.events()[-1].event
    assert isinstance(event, VerificationRecorded)
    assert event.changed == (row,)
    record = world.item(item).triage[0]
    world.ok(HUMAN, c.ResolveTriage(record, "reverify", "again"))
    world.ok(VERIFIER, world.findings(item))
    assert world.triage_of(item) == ("scope-changed",)
    other = world.create()
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "supersede", "so", other))
    assert world.item(item).successor == other


# Two answers on one commit.

GREEN, RED = ("verified", 1), ("ship-verify-gap", 1)
NOTHING, UNCHECKED = ("ship-verify-gap", 0), ("not-machine-checkable", 0)
TORN, TORN_SILENT = ("contradicted", 1), ("contradicted", 0)


def judged(world: World, item: str, finding: tuple[str, int]) -> None:
    """Record one finding; what was put aside for it is verified again."""
    world.ok(VERIFIER, findings(world, item, finding))
    for record in world.item(item).triage:
        world.ok(HUMAN, c.ResolveTriage(record, "reverify", "again"))


@pytest.mark.parametrize("order", list(permutations((GREEN, RED, NOTHING, UNCHECKED))))
def test_two_answers_are_contradicted_whatever_lies_between(order: Any) -> None:
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    for finding in order:
        judged(world, item, finding)
    assert Verdict.CONTRADICTED in [result for _, result in results(world, item)]
    for _ in range(3):
        world.ok(VERIFIER, findings(world, item, GREEN))
        assert world.triage_of(item) == ("contradicted",)
        world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "reverify", "again"))


def third_run(world: World, item: str) -> None:
    judged(world, item, GREEN)


def silence(world: World, item: str) -> None:
    for finding in (NOTHING, UNCHECKED, NOTHING):
        judged(world, item, finding)


def epoch(world: World, item: str) -> None:
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))


def verifier(world: World, item: str) -> None:
    world.ok(HUMAN, c.EnrolActor("other-verifier", "service"))
    world.ok("other-verifier", findings(world, item, GREEN))
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "reverify", "again"))


def kinder_row(world: World, item: str) -> None:
    rebind(world, "row", owned(world, item)[0])
    judged(world, item, GREEN)


@pytest.mark.parametrize("torn", [TORN, TORN_SILENT], ids=["counted", "silent"])
@pytest.mark.parametrize("path", [third_run, silence, epoch, verifier, kinder_row])
def test_no_path_turns_a_contradiction_green(
    path: Callable[[World, str], None], torn: tuple[str, int]
) -> None:
    world = World()
    item = world.until("shipped")
    judged(world, item, torn)
    path(world, item)
    world.ok(VERIFIER, findings(world, item, GREEN))
    assert world.status(item) == "triaged"
    assert Verdict.CONTRADICTED in [result for _, result in results(world, item)]


def test_a_crash_before_any_check_is_an_answer() -> None:
    world = World()
    item = world.until("shipped")
    crashed = findings(world, item, NOTHING)
    finding = changed(crashed.findings[0], answered=True)
    world.ok(VERIFIER, changed(crashed, findings=(finding,)))
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "reverify", "again"))
    world.ok(VERIFIER, findings(world, item, GREEN))
    assert world.triage_of(item) == ("contradicted",)


def test_a_command_is_verified_with_its_log_only() -> None:
    world = World()
    item = world.until("shipped")
    good = world.findings(item)
    for log in ("", "no digest", "D" * 64):
        bad = changed(good, findings=(changed(good.findings[0], log=log),))
        world.no(VERIFIER, bad, Code.BAD_INPUT)
    world.ok(VERIFIER, good)


# Not machine-checkable, and waivers.


def test_what_no_machine_can_check_verifies_nothing() -> None:
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    for _ in range(2):
        world.ok(VERIFIER, findings(world, item, GREEN, UNCHECKED))
        assert world.status(item) == "shipped"
    rubric = world.item(item).plan.rows[1]
    for agent in ("bob", "dan", VERIFIER, "cat"):
        answer = world.do(agent, world.findings(item, diff="", rows=[rubric]))
        assert not isinstance(answer, Done), agent
    world.ok(OTHER, world.findings(item, diff="", rows=[rubric]))
    assert world.status(item) == "verified"


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Decisions that stand accepted, as ledgers will hold them."""
    standing: set[str] = set()
    monkeypatch.setattr(waivers, "accepted", lambda get, name, row, now: name in standing)
    return standing


def test_a_decision_that_is_only_named_waives_nothing() -> None:
    world = World()
    item = world.until("shipped")
    rebind(world, "row", owned(world, item)[0], waived="D-1")
    world.ok(VERIFIER, findings(world, item, RED))
    assert world.triage_of(item) == ("verifier-gap",)


@pytest.mark.parametrize("finding", [RED, NOTHING, UNCHECKED, None])
def test_a_waived_row_counts_as_waived_and_is_not_verified(
    decided: set[str], finding: tuple[str, int] | None
) -> None:
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    command, rubric = world.item(item).plan.rows
    rebind(world, "row", command, waived="D-1")
    decided.add("D-1")
    world.ok(VERIFIER, findings(world, item, *([finding] if finding else [])))
    assert world.status(item) == "shipped"  # the other row is not waived
    world.ok(OTHER, world.findings(item, diff="", rows=[rubric]))
    found = world.item(item)
    assert world.status(item) == "verified"
    assert found.work is not None
    assert found.work.waived == ((command, "D-1"),)
    assert (command, "verified") not in results(world, item)


def test_a_waiver_that_falls_makes_what_rested_on_it_stale(decided: set[str]) -> None:
    world = World()
    item = world.until("shipped")
    row = owned(world, item)[0]
    rebind(world, "row", row, waived="D-1")
    decided.add("D-1")
    world.ok(VERIFIER, findings(world, item, RED))
    assert world.status(item) == "verified"
    decided.clear()
    world.ok(HUMAN, c.Recheck(item))
    assert world.item(item).stale == (row,)
    event = world.events()[-1].event
    assert event == ResultsMarkedStale((row,), ("D-1",))


# Stale results.


def stale_world(which: int) -> tuple[World, str, str, str, str]:
    """A verified item whose row or requirement changed; what waits for it was ready, and held."""
    world = World()
    item = world.until("verified")
    ready = world.create(depends_on=((item, "blocks"),))
    leased = world.create(depends_on=((item, "blocks"),))
    world.lease(leased)
    first = world.create()
    held = world.create(depends_on=((item, "blocks"), (first, "blocks")))
    assert [world.status(x) for x in (ready, leased, held)] == ["ready", "leased", "held"]
    rebind(world, ("row", "requirement")[which], owned(world, item)[which])
    return world, item, ready, leased, held


@pytest.mark.parametrize("which", [0, 1], ids=["row", "requirement"])
def test_what_a_stale_result_met_waits_again_until_a_successor_is_verified(which: int) -> None:
    world, item, ready, leased, held = stale_world(which)
    row, name = owned(world, item)[0], owned(world, item)[which]
    world.ok(HUMAN, c.Recheck(item))
    found = world.item(item)
    assert (found.status, found.stale) == ("verified", (row,))
    marked = [r.event for r in world.events() if isinstance(r.event, ResultsMarkedStale)]
    assert marked == [ResultsMarkedStale((row,), (name,))]
    back = [r.event for r in world.events() if r.stream == ready and hasattr(r.event, "to")][-1]
    assert (back.transition_id, back.to) == ("T02", "held")  # type: ignore[attr-defined]  # a move
    assert [world.status(x) for x in (ready, leased, held)] == ["held", "leased", "held"]
    assert world.triage_of(ready) == ()

    seq = world.state()[0].seq
    world.ok(HUMAN, c.Recheck(item))
    assert world.state()[0].seq == seq  # marked once

    successor = world.create()
    world.ok(HUMAN, c.SucceedItem(item, successor, Text("again")))
    assert world.item(item).successor == successor
    assert world.item(ready).dependencies[0].via == successor
    assert world.status(ready) == "held"
    for step in ("leased", "in-review", "approved", "shipped", "verified"):
        world.step(successor, step)
    assert world.status(ready) == "ready"
    assert world.item(held).unmet == 1


def test_an_old_digest_that_comes_back_makes_nothing_fresh() -> None:
    world, item, ready, *_ = stale_world(0)
    row = owned(world, item)[0]
    world.ok(HUMAN, c.Recheck(item))
    rebind(world, "row", row, digest=world.item(item).results[0].digest)
    world.ok(HUMAN, c.Recheck(item))
    world.ok(HUMAN, c.Recheck(ready))
    assert world.item(item).stale == (row,)
    assert world.status(ready) == "held"


def test_only_stale_results_have_a_successor_and_only_one() -> None:
    world = World()
    fresh, other, third = world.until("verified"), world.create(), world.create()
    shipped = world.until("shipped")
    for item in (fresh, other, shipped):
        world.no(HUMAN, c.SucceedItem(item, third, Text("so")), Code.RESULTS_CURRENT)
    rebind(world, "row", owned(world, fresh)[0])
    world.no(HUMAN, c.SucceedItem(fresh, other, Text("so")), Code.RESULTS_CURRENT)
    world.ok(HUMAN, c.Recheck(fresh))
    world.no(HUMAN, c.SucceedItem(fresh, "W-99", Text("so")), Code.NOT_FOUND)
    world.no(HUMAN, c.SucceedItem("W-99", other, Text("so")), Code.NOT_FOUND)
    world.no(HUMAN, c.SucceedItem(fresh, fresh, Text("so")), Code.BAD_INPUT)
    waits = world.create(depends_on=((fresh, "blocks"),))
    world.no(HUMAN, c.SucceedItem(fresh, waits, Text("so")), Code.DEPENDENCY_CYCLE)
    closed = world.create()
    world.ok(HUMAN, c.CloseItem(closed, "cancelled", Text("no")))
    world.no(HUMAN, c.SucceedItem(fresh, closed, Text("so")), Code.BAD_INPUT)
    world.ok(HUMAN, c.SucceedItem(fresh, other, Text("so")))
    linked = next(r.event for r in world.events() if isinstance(r.event, SuccessorLinked))
    assert linked.stale == world.item(fresh).stale
    before = world.state()
    world.no(HUMAN, c.SucceedItem(fresh, third, Text("so")), Code.RESULTS_CURRENT)
    world.no(HUMAN, c.CloseItem(fresh, "cancelled", Text("so")), Code.TRANSITION_REFUSED)
    assert world.state() == before


def test_a_new_dependent_of_a_stale_item_waits() -> None:
    world, item, *_ = stale_world(1)
    world.ok(HUMAN, c.Recheck(item))
    late = world.create(depends_on=((item, "blocks"),))
    assert (world.status(late), world.triage_of(late)) == ("held", ())


# Each of these checks can fail: planted faults, one at a time.


def kept(old: RowOutcome, new: RowOutcome) -> bool:
    """As if a contradiction without counted checks were no answer."""
    return bool(old.executed and not new.executed and old.commit == new.commit)


def plain_standing(item: Item | None, *, imported_closed_satisfies: bool) -> Any:
    """As if a verified item were so for good."""
    bare = changed(item, stale=()) if item is not None else None
    return TRUE_STANDING(bare, imported_closed_satisfies=imported_closed_satisfies)


def covered(get: Any, name: str) -> str:
    """The digest that the results of the first item cover, whatever the requirement is now."""
    item = get("item", "W-1")
    return str(next(r.covers for r in item.results if r.requirement == name))


TRUE_STANDING = dependencies.standing

FAULTS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[], None]]] = {
    "approvals are bound to nothing": (
        lambda patch: patch.setattr(delivery, "unlike", lambda bound, now: ()),
        lambda: test_what_changed_since_the_approval_does_not_ship(0),
    ),
    "shipped work is judged by whatever row there is": (
        lambda patch: patch.setattr(verification, "unlike", lambda bound, now: ()),
        test_work_that_shipped_is_not_verified_by_another_row,
    ),
    "a silent contradiction is forgotten": (
        lambda patch: patch.setattr(folds, "_outlasts", kept),
        lambda: test_no_path_turns_a_contradiction_green(silence, TORN_SILENT),
    ),
    "only counted checks answer": (
        lambda patch: patch.setattr(verification, "_answers", lambda found: found.executed > 0),
        test_a_crash_before_any_check_is_an_answer,
    ),
    "a decision's name waives": (
        lambda patch: patch.setattr(waivers, "accepted", lambda get, name, row, now: True),
        test_a_decision_that_is_only_named_waives_nothing,
    ),
    "a stale result still meets a dependency": (
        lambda patch: patch.setattr(settlement, "standing", plain_standing),
        lambda: test_what_a_stale_result_met_waits_again_until_a_successor_is_verified(0),
    ),
    "requirements do not count": (
        lambda patch: patch.setattr(staleness, "requirement_digest", covered),
        lambda: test_what_a_stale_result_met_waits_again_until_a_successor_is_verified(1),
    ),
    "logs are not asked for": (
        lambda patch: patch.setattr(verification, "_DIGEST", re.compile("")),
        test_a_command_is_verified_with_its_log_only,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_planted_fault_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, probe = FAULTS[name]
    probe()
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        probe()


def test_the_head_of_a_review_and_of_a_ship_are_one() -> None:
    world = World()
    item = world.until("approved")
    ship = world.ship_of(item)
    before = world.state()
    world.no(HUMAN, changed(ship, sha=sha(99)), Code.COMMIT_MISMATCH)
    world.no(HUMAN, changed(ship, matched_by="report"), Code.BAD_INPUT)
    assert world.state() == before
    world.ok(HUMAN, changed(ship, sha=sha(99), matched_by="patch-id"))
