"""Admission: each gate in its order, holds with owner and trigger, and nothing passed by absence."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.core.traffic import Traffic
from tests.core.triaging import put
from tests.core.world import COMMAND, HUMAN, World

from remit.core import commands as c
from remit.core.checks import Check, Result
from remit.core.events import Recorded
from remit.core.facts import Row
from remit.core.refusals import Code

ORDER = [
    "import-closed",
    "import-status",
    "requirements",
    "rule",
    "verification-plan",
    "ambiguity",
    "scope",
    "dependencies",
]
CHANGES: list[dict[str, Any]] = [{"title": "x"}, {"scope": ("x",)}, {"rows": (COMMAND,)}]
NEVER_ASKED = {"cancellation", "not-before", "deadline", "capacity", "margin"}


def bring(world: World, **more: Any) -> str:
    """Import one row, with its import still open; returns its item."""
    if world.fact("import", "I-1") is None:
        world.ok(HUMAN, c.StartImport("beads", "old", "d"))
    answer = world.ok(HUMAN, c.ImportItem("I-1", 1, "a", "d1", "", 2, "open", **more))
    return next(r.stream for r in answer.events if r.stream.startswith("W-"))


def shut(world: World) -> None:
    """Close the import."""
    world.ok(HUMAN, c.CloseImport("I-1", 1, 1, 0, 0))


def gate(world: World, item: str) -> str:
    """The gate that admission names when it looks again."""
    world.ok(HUMAN, c.Recheck(item))
    return world.item(item).gate


def checks_of(recorded: Recorded) -> tuple[Check, ...]:
    return getattr(recorded.event, "checks", ())


def test_the_gates_open_one_after_the_other_and_each_names_itself() -> None:
    world = World()
    blocker = world.create(alias="b")
    item = bring(world, unconfirmed=True, edges=(("blocks", "b"),))
    assert (world.status(item), gate(world, item)) == ("draft", "import-status")
    shut(world)
    assert gate(world, item) == "import-status"
    world.ok(HUMAN, c.ReviseItem(item, confirm_import=True, scope=()))
    assert world.item(item).gate == "verification-plan"
    world.ok("bob", c.RegisterRule("default", "d1", ("t",), ""))
    assert gate(world, item) == "rule/default"
    world.no("bob", c.AcceptRule("default"), Code.ACTOR_KIND_REFUSED)
    assert gate(world, item) == "rule/default"
    world.ok(HUMAN, c.AcceptRule("default"))
    assert gate(world, item) == "scope"
    world.ok(HUMAN, c.ReviseItem(item, scope=("src",)))
    assert (world.status(item), world.item(item).gate) == ("held", "")
    hold = world.item(item).hold
    assert hold is not None
    assert (hold.reason, hold.owner, hold.trigger) == (
        "UNMET_DEPENDENCY",
        "admission",
        f"dependency:{blocker}",
    )
    world.ok(HUMAN, c.RemoveDependency(item, blocker))
    assert world.status(item) == "ready"
    last = [r for r in world.events() if r.stream == item and checks_of(r)][-1]
    assert all(k.result in (Result.PASS, Result.NOT_TESTED) for k in checks_of(last))


def test_an_open_import_keeps_its_items_in_draft_whatever_else_is_open() -> None:
    world = World()
    item = bring(world)
    world.ok(HUMAN, c.ReviseItem(item, rows=(COMMAND,)))
    world.ok(HUMAN, c.Recheck(item))
    assert world.status(item) == "draft"
    world.no("bob", c.GrantLease(item), Code.ITEM_NOT_READY)
    shut(world)
    world.ok(HUMAN, c.Recheck(item))
    assert world.status(item) == "ready"


def test_an_ambiguity_stands_behind_the_rows_until_it_is_cleared() -> None:
    world = World()
    item = bring(world)
    shut(world)
    world.ok(HUMAN, c.ReviseItem(item, rows=(COMMAND,)))
    assert world.status(item) == "ready", "rows written by hand clear what drafting left"
    other = World()
    item = bring(other)
    shut(other)
    other.ok(HUMAN, c.ReviseItem(item, clarify=True))
    assert other.item(item).gate == "verification-plan", "clarity is no evidence"


def test_an_accepted_rule_gives_rows_and_clears_the_drafting_mark() -> None:
    world = World()
    world.ok(HUMAN, c.RegisterRule("default", "d1", ("t",), "is it good?"))
    world.ok(HUMAN, c.AcceptRule("default"))
    item = bring(world)
    shut(world)
    world.ok(HUMAN, c.Recheck(item))
    found = world.item(item)
    assert found.status.value == "ready"
    assert not found.plan.ambiguous
    rows = [world.fact("row", name) for name in found.plan.rows]
    assert [(r.kind, r.origin) for r in rows if isinstance(r, Row)] == [
        ("command", "rule:default@1"),
        ("rubric", "rule:default@1"),
    ]


def test_a_changed_rule_must_be_accepted_again() -> None:
    world = World()
    world.ok(HUMAN, c.RegisterRule("default", "d1", ("t",), ""))
    world.ok(HUMAN, c.AcceptRule("default"))
    first = _ruled(world)
    assert world.status(first) == "ready"
    before = world.state()
    world.ok("bob", c.RegisterRule("default", "d1", ("t",), ""))
    assert world.state() == before, "the same content changes nothing"
    world.ok("bob", c.RegisterRule("default", "d2", ("u",), ""))
    second = _ruled(world)
    assert (world.status(second), world.item(second).gate) == ("draft", "rule/default")
    world.no(HUMAN, c.AcceptRule("default", digest="d1"), Code.RULE_CHANGED)
    world.ok(HUMAN, c.AcceptRule("default", digest="d2"))
    world.ok(HUMAN, c.Recheck(second))
    assert world.status(second) == "ready"
    assert world.item(first).plan.rows == ("V-1",), "rows that were registered stay"


def _ruled(world: World) -> str:
    return world.until("draft", rule="default")


def test_no_item_is_admitted_by_a_rule_that_gave_it_no_row() -> None:
    """Whatever makes admission look, the rows come first."""
    world = World()
    blocker = world.create()
    item = world.until("draft", rule="default", depends_on=((blocker, "blocks"),))
    world.ok(HUMAN, c.RegisterRule("default", "d1", ("t",), ""))
    world.ok(HUMAN, c.AcceptRule("default"))
    world.ok(HUMAN, c.RemoveDependency(item, blocker))
    assert world.status(item) == "ready"
    assert len(world.item(item).plan.rows) == 1


@pytest.mark.parametrize(
    "command",
    [
        c.RegisterRule("default", "d", (), ""),
        c.RegisterRule("default", "d", ("",), ""),
        c.RegisterRule("default", "d", ("t",), "", timeout_ms=0),
        c.RegisterRule("default", "d", ("t",), "", expected_exit=126),
        c.RegisterRule("default", "d", ("t",), "", junit="../x"),
        c.RegisterRule("a b", "d", ("t",), ""),
    ],
)
def test_a_rule_that_makes_no_sound_row_is_refused(command: c.RegisterRule) -> None:
    world = World()
    before = world.state()
    world.no(HUMAN, command, Code.BAD_INPUT)
    assert world.state() == before


def test_a_verdict_is_written_only_where_it_changed() -> None:
    world = World()
    blocker, other = world.create(), world.create()
    held = world.create(depends_on=((blocker, "blocks"), (other, "blocks")))
    draft = world.until("draft")
    ready = world.create()
    before = world.state()
    for _ in range(3):
        for item in (held, draft, ready):
            world.ok(HUMAN, c.Recheck(item))
    assert world.state() == before
    world.ok(HUMAN, c.RemoveDependency(held, blocker))
    hold = world.item(held).hold
    assert hold is not None
    assert hold.trigger == f"dependency:{other}"
    assert type(world.events()[-1].event).__name__ == "VerdictRecorded"


def test_a_verdict_is_never_rewritten() -> None:
    world = World()
    blocker = world.create()
    item = world.create(depends_on=((blocker, "blocks"),))
    first = [r for r in world.events() if r.stream == item]
    world.ok(HUMAN, c.RemoveDependency(item, blocker))
    assert [r for r in world.events() if r.stream == item][: len(first)] == first


@pytest.mark.parametrize("seed", range(8))
def test_every_hold_has_owner_and_trigger_and_no_check_passes_by_absence(seed: int) -> None:
    """INV-1 and INV-3 over random traffic, read from the events alone."""
    traffic = Traffic(Random(700 + seed))
    traffic.run(100)
    seen = 0
    for recorded in traffic.world.events():
        event: Any = recorded.event
        if getattr(event, "verdict", "") == "HOLD":
            assert event.owner
            assert event.trigger
            kind, _, subject = event.trigger.partition(":")
            assert kind in ("gate", "dependency")
            assert subject
        if hasattr(event, "hold_reason") and event.to == "held":
            assert event.hold_reason
            assert event.trigger
        for check in checks_of(recorded):
            seen += 1
            assert check.result in list(Result)
            if check.check in NEVER_ASKED | {"spend", "capability", "resources"}:
                assert check.result is Result.NOT_TESTED
            if check.result is Result.NOT_TESTED:
                assert (check.observed, check.reason) == ("", "")
            assert check.result is not Result.FAIL or check.reason
    assert seen > 50


@pytest.mark.parametrize("seed", range(4))
def test_all_checks_are_recorded_in_one_order_though_the_first_decides(seed: int) -> None:
    traffic = Traffic(Random(720 + seed))
    traffic.run(80)
    for recorded in traffic.world.events():
        if type(recorded.event).__name__ not in ("ItemAdmitted", "ItemHeld", "VerdictRecorded"):
            continue
        checks = checks_of(recorded)
        names = [k.check for k in checks if k.check not in NEVER_ASKED]
        assert names == sorted(names, key=ORDER.index)
        assert {k.check for k in checks} >= NEVER_ASKED | {"requirements", "scope", "dependencies"}
        failed = [k for k in checks if k.result is Result.FAIL]
        event: Any = recorded.event
        assert bool(failed) == (event.verdict == "HOLD")
        if getattr(event, "gate", ""):
            assert failed[0].reason == event.gate


def test_what_is_read_of_a_check_that_failed_is_what_was_observed() -> None:
    world = World()
    blocker = world.create()
    item = world.create(depends_on=((blocker, "blocks"),))
    held = next(r for r in world.events() if r.stream == item and checks_of(r))
    check = next(k for k in checks_of(held) if k.check == "dependencies")
    assert check == Check("dependencies", Result.FAIL, "1", "0", blocker, "UNMET_DEPENDENCY")


def test_a_live_brief_does_not_change_nor_one_that_was_handed_in() -> None:
    world = World()
    for stage in ("leased", "in-review", "approved", "shipped", "verified"):
        item = world.until(stage)
        before = world.state()
        for change in CHANGES:
            answer = world.do(HUMAN, c.ReviseItem(item, **change))
            assert getattr(answer, "code", None) in (Code.BRIEF_IS_LIVE, Code.ITEM_FINISHED)
        assert world.state() == before
        if stage in ("leased", "verified"):
            continue
        world.ok(HUMAN, put(item, "ambiguity"))
        world.no(HUMAN, c.ReviseItem(item, scope=("x",)), Code.BRIEF_IS_LIVE)
