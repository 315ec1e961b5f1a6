"""Review, ship, verify, triage and closing: INV-16, INV-19, and that no answer is talked green."""

from __future__ import annotations

from itertools import product

import pytest
from tests.core.triaging import put
from tests.core.world import (
    COMMAND,
    HUMAN,
    MAIN,
    OTHER,
    RUBRIC,
    VERIFIER,
    World,
    sha,
)

from remit.core import commands as c
from remit.core.change import changed
from remit.core.commands import Text
from remit.core.refusals import Code, Refused
from remit.core.rows import RowSpec
from remit.service.engine import Done

PEOPLE = (HUMAN, OTHER, "bob", "cat", "dan", VERIFIER)


def approve(world: World, item: str, actor: str = "cat", head: str = "") -> object:
    """Try to approve."""
    return world.do(actor, c.ReviewWork(item, True, Text("good"), head))


def approved_by(world: World, implementer: str, reviewer: str) -> str:
    """An item that one made and another approved."""
    item = world.create()
    world.complete(world.lease(item, implementer))
    assert isinstance(approve(world, item, reviewer), Done)
    return item


# INV-16.


@pytest.mark.parametrize("implementer", PEOPLE)
@pytest.mark.parametrize("reviewer", PEOPLE)
def test_who_held_a_lease_may_not_review(implementer: str, reviewer: str) -> None:
    world = World()
    item = world.create()
    world.complete(world.lease(item, implementer))
    before = world.state()
    for verdict in (True, False):
        answer = world.do(reviewer, c.ReviewWork(item, verdict, Text("so")))
        if implementer != reviewer:
            assert isinstance(answer, Done)
            break
        assert isinstance(answer, Refused)
        assert answer.code is Code.REVIEWER_IS_IMPLEMENTER
        assert world.state() == before


def test_an_earlier_holder_counts_too_also_after_handing_back_expiry_and_reopening() -> None:
    world = World()
    item = world.create()
    world.ok("bob", c.ReleaseLease(item, world.lease(item, "bob").fence))
    lease = world.lease(item, "cat")
    world.pass_us(lease.expires_at - world.now)
    world.complete(world.lease(item, "dan"))
    for actor in ("bob", "cat", "dan"):
        world.no(actor, c.ReviewWork(item, True, Text("x")), Code.REVIEWER_IS_IMPLEMENTER)
    world.ok(OTHER, c.ReviewWork(item, False, Text("again")))
    world.complete(world.lease(item, HUMAN))
    for actor in ("bob", HUMAN):
        world.no(actor, c.ReviewWork(item, True, Text("x")), Code.REVIEWER_IS_IMPLEMENTER)
    assert isinstance(approve(world, item, OTHER), Done)
    world.ok(HUMAN, world.ship_of(item))
    for actor in ("bob", "cat", "dan", HUMAN):
        world.no(actor, world.findings(item, diff=""), Code.VERIFIER_IS_IMPLEMENTER)


@pytest.mark.parametrize(
    ("implementer", "reviewer"), [p for p in product(PEOPLE, PEOPLE) if p[0] != p[1]]
)
@pytest.mark.parametrize("rows", [(COMMAND,), (RUBRIC,)], ids=["command", "rubric"])
def test_implementer_reviewer_and_verifier_are_three(
    implementer: str, reviewer: str, rows: tuple[RowSpec, ...]
) -> None:
    world = World()
    item = world.create(*rows)
    world.complete(world.lease(item, implementer))
    approve(world, item, reviewer)
    world.ok("bob", world.ship_of(item))
    judge = {"command": (VERIFIER,), "rubric": (HUMAN, OTHER)}[rows[0].kind.value]
    for verifier in PEOPLE:
        diff = "PASS" if verifier == VERIFIER else ""
        before = world.state()
        answer = world.do(verifier, world.findings(item, diff=diff))
        if isinstance(answer, Done):
            assert verifier in judge
            assert verifier not in (implementer, reviewer)
            continue
        assert verifier not in judge or verifier in (implementer, reviewer)
        assert world.state() == before


# Review.


def test_a_review_is_bound_to_the_head_that_was_handed_in() -> None:
    world = World()
    item = world.create()
    head = world.complete(world.lease(item))
    before = world.state()
    world.no("cat", c.ReviewWork(item, True, Text("x"), sha(77)), Code.REVIEW_STALE)
    world.no("cat", c.ReviewWork(item, True), Code.BAD_INPUT)
    assert world.state() == before
    assert isinstance(approve(world, item, head=head), Done)
    world.ok("dan", c.ReviewWork(item, False, Text("wait")))
    second = world.complete(world.lease(item), sha(50))
    world.no("cat", c.ReviewWork(item, True, Text("x"), head), Code.REVIEW_STALE)
    assert isinstance(approve(world, item, head=second), Done)


def test_completion_is_not_approval_and_a_merged_commit_is_not_a_verification() -> None:
    world = World()
    item = world.create()
    head = world.complete(world.lease(item))
    ship = c.ObserveShip(item, head, MAIN, "origin", "main", "b" * 40, "sha", "")
    world.no(HUMAN, ship, Code.TRANSITION_REFUSED)
    approve(world, item)
    world.no(VERIFIER, c.RecordVerification(item, head, (), "PASS"), Code.TRANSITION_REFUSED)
    world.ok(HUMAN, ship)
    assert world.status(item) == "shipped"


def test_where_policy_wants_proof_an_asserted_approval_is_refused() -> None:
    world = World()
    world.keyed()
    item = world.create()
    world.complete(world.lease(item))
    world.no("cat", c.ReviewWork(item, True, Text("x")), Code.ACTOR_KIND_REFUSED)
    world.no(HUMAN, c.ReviewWork(item, True, Text("x")), Code.REVIEW_UNPROVED)
    world.ok("cat", c.ReviewWork(item, False, Text("no proof is asked of a no")))


# Ship.


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("sha", sha(99), Code.COMMIT_MISMATCH),
        ("sha", "abc", Code.BAD_INPUT),
        ("base", "main", Code.BAD_INPUT),
        ("matched_by", "somebody-said-so", Code.BAD_INPUT),
    ],
)
def test_only_the_reviewed_commit_ships(field: str, value: str, code: Code) -> None:
    world = World()
    item = approved_by(world, "bob", "cat")
    before = world.state()
    world.no(HUMAN, changed(world.ship_of(item), **{field: value}), code)
    assert world.state() == before
    world.ok(HUMAN, changed(world.ship_of(item), sha=sha(99), matched_by="patch-id"))
    work = world.item(item).work
    assert work is not None
    assert work.shipped == sha(99)


# Verification.


def test_all_rows_and_the_artifact_diff_are_needed() -> None:
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    command, rubric = world.item(item).plan.rows
    world.ok(VERIFIER, world.findings(item, rows=[command], diff=""))
    assert world.status(item) == "shipped"
    world.ok(HUMAN, world.findings(item, rows=[rubric], diff=""))
    assert world.status(item) == "shipped", "nobody compared the artifacts"
    world.ok(VERIFIER, world.findings(item, rows=[]))
    assert world.status(item) == "verified"


def test_what_no_machine_can_check_closes_nothing() -> None:
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    command, rubric = world.item(item).plan.rows
    world.ok(VERIFIER, world.findings(item, rows=[command]))
    world.ok(VERIFIER, world.findings(item, "not-machine-checkable", rows=[rubric], executed=0))
    assert world.status(item) == "shipped"
    world.ok(OTHER, world.findings(item, rows=[rubric], diff=""))
    assert world.status(item) == "verified"


@pytest.mark.parametrize("diff", ["FAIL", "BLOCKED", "NOT_TESTED"])
def test_an_artifact_diff_that_did_not_pass_is_triage(diff: str) -> None:
    world = World()
    item = world.until("shipped")
    world.ok(VERIFIER, world.findings(item, diff=diff))
    assert (world.status(item), world.triage_of(item)) == ("triaged", ("verifier-gap",))


@pytest.mark.parametrize("actor", ["bob", "dan", HUMAN, OTHER])
def test_only_a_service_records_commands_and_artifact_diffs(actor: str) -> None:
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    command = world.item(item).plan.rows[0]
    before = world.state()
    for given in (
        world.findings(item, rows=[command], diff=""),
        world.findings(item, "ship-verify-gap", rows=[command], diff=""),
        world.findings(item, rows=[], diff="PASS"),
    ):
        code = Code.VERIFIER_IS_IMPLEMENTER if actor == "bob" else Code.ACTOR_KIND_REFUSED
        world.no(actor, given, code)
    assert world.state() == before


def test_no_agent_says_that_a_row_cannot_be_checked() -> None:
    world = World()
    item = world.until("shipped")
    given = world.findings(item, "not-machine-checkable", diff="", executed=0)
    world.no("dan", given, Code.ACTOR_KIND_REFUSED)


def test_findings_are_bound_to_commit_row_and_evidence() -> None:
    world = World()
    item, other = world.until("shipped"), world.until("shipped")
    good = world.findings(item)
    before = world.state()
    finding = good.findings[0]
    for command, code in (
        (changed(good, commit=sha(77)), Code.VERIFICATION_STALE),
        (changed(good, findings=(changed(finding, digest="0" * 64),)), Code.VERIFICATION_STALE),
        (changed(good, findings=world.findings(other).findings), Code.BAD_INPUT),
        (changed(good, findings=(finding, finding)), Code.BAD_INPUT),
        (changed(good, findings=(changed(finding, executed=0),)), Code.BAD_INPUT),
        (changed(good, findings=(changed(finding, skipped=1),)), Code.BAD_INPUT),
        (changed(good, findings=(changed(finding, result="fine"),)), Code.BAD_INPUT),
        (changed(good, artifact_diff="fine"), Code.BAD_INPUT),
    ):
        world.no(VERIFIER, command, code)
    assert world.state() == before


def reverify(world: World, item: str) -> None:
    """Send a triaged item back to be verified again."""
    for record in world.item(item).triage:
        world.ok(HUMAN, c.ResolveTriage(record, "reverify", "look again"))
    assert world.status(item) == "shipped"


def test_a_gap_without_an_answer_may_be_verified_again() -> None:
    world = World()
    item = world.until("shipped")
    world.ok(VERIFIER, world.findings(item, "ship-verify-gap", executed=0))
    assert world.triage_of(item) == ("verifier-gap",)
    reverify(world, item)
    world.ok(VERIFIER, world.findings(item))
    assert world.status(item) == "verified"


def test_two_answers_on_one_commit_are_contradicted_and_stay_so() -> None:
    """A third run, an empty one between, or a result of no answer once made it green."""
    world = World()
    item = world.until("shipped", COMMAND, RUBRIC)
    command = world.item(item).plan.rows[0]
    world.ok(VERIFIER, world.findings(item, "ship-verify-gap", rows=[command]))
    for result, executed in (
        ("ship-verify-gap", 0),
        ("not-machine-checkable", 0),
        ("verified", 1),
        ("not-machine-checkable", 0),
        ("verified", 1),
        ("verified", 1),
    ):
        if world.item(item).triage:
            reverify(world, item)
        world.ok(VERIFIER, world.findings(item, result, rows=[command], executed=executed))
        assert world.status(item) != "verified"
    assert "contradicted" in world.triage_of(item)
    for way in ("requeue", "return", "cancel", "fail"):
        record = world.item(item).triage[-1]
        world.no(HUMAN, c.ResolveTriage(record, way, "so"), Code.RESOLUTION_REFUSED)


# Triage: every kind, every resolution, from every status (INV-19, T11).

STAGES = ("draft", "held", "ready", "leased", "in-review", "approved", "shipped")
ALONG = {stage: n for n, stage in enumerate(STAGES)}


def test_an_item_leaves_triage_with_its_last_record_only() -> None:
    world = World()
    item = world.until("leased")
    for kind in ("dirty-tree", "secret-found"):
        world.ok("bob", put(item, kind))
    first, second = world.item(item).triage
    world.ok(HUMAN, c.ResolveTriage(first, "requeue", "cleaned"))
    assert (world.status(item), world.item(item).triage) == ("triaged", (second,))
    world.ok(HUMAN, c.ResolveTriage(second, "requeue-rotated", "rotated"))
    assert world.status(item) == "ready"


def test_closing_settles_every_open_record() -> None:
    world = World()
    item = world.until("leased")
    for kind in ("dirty-tree", "secret-found"):
        world.ok("bob", put(item, kind))
    records = world.item(item).triage
    world.ok(HUMAN, c.ResolveTriage(records[0], "cancel", "no more"))
    facts = [world.fact("triage", r) for r in records]
    assert not any(f.open for f in facts)  # type: ignore[union-attr]  # records


def test_a_dead_end_comes_back_to_triage_until_its_edge_is_gone() -> None:
    world = World()
    target = world.create()
    item = world.create(depends_on=((target, "blocks"),))
    world.ok(HUMAN, c.CloseItem(target, "cancelled", Text("no")))
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "requeue", "hope"))
    assert world.triage_of(item) == ("trigger-impossible",)
    world.ok(HUMAN, c.RemoveDependency(item, target))
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "requeue", "edge gone"))
    assert world.status(item) == "ready"


# Closing (T12).

OUTCOMES = ("rejected", "expired", "coalesced", "cancelled", "failed", "superseded", "imported")


@pytest.mark.parametrize("stage", [*STAGES, "verified"])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_which_status_closes_with_which_outcome(stage: str, outcome: str) -> None:
    world = World()
    item, other = world.until(stage), world.create()
    successor = other if outcome == "superseded" else ""
    before = world.state()
    answer = world.do("dan", c.CloseItem(item, outcome, Text("so"), successor))
    straight = stage in ("draft", "held", "ready")
    aside = outcome == "cancelled" and stage in ("leased", "in-review", "approved")
    if outcome == "imported" or not (straight or aside):
        assert isinstance(answer, Refused)
        assert world.state() == before
        return
    assert isinstance(answer, Done)
    moves = [r.event.transition_id for r in answer.events if r.stream == item]  # type: ignore[attr-defined]  # moves
    assert moves == (["T10", "T12"] if aside else ["T12"])
    assert len({r.at for r in answer.events}) == 1
    assert (world.status(item), world.item(item).lease) == ("closed", None)


def test_after_shipping_only_a_successor_closes() -> None:
    world = World()
    item, other = world.until("shipped"), world.create()
    world.ok("dan", put(item, "ship-unverifiable"))
    for outcome in ("rejected", "expired", "coalesced", "cancelled", "failed"):
        before = world.state()
        world.no(HUMAN, c.CloseItem(item, outcome, Text("no")), Code.TRANSITION_REFUSED)
        assert world.state() == before
    world.no(HUMAN, c.CloseItem(item, "superseded", Text("x")), Code.BAD_INPUT)
    world.no(HUMAN, c.CloseItem(item, "superseded", Text("x"), item), Code.BAD_INPUT)
    world.ok(HUMAN, c.CloseItem(item, "superseded", Text("repaired there"), other))
    assert (world.status(item), world.item(item).successor) == ("closed", other)


def test_a_closed_item_stands_for_nobody() -> None:
    world = World()
    item, gone = world.create(), world.create()
    world.ok(HUMAN, c.CloseItem(gone, "cancelled", Text("x")))
    world.no(HUMAN, c.CloseItem(item, "superseded", Text("x"), gone), Code.BAD_INPUT)
    world.no(HUMAN, c.CloseItem(item, "superseded", Text("x"), "W-99"), Code.NOT_FOUND)
