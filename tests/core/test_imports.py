"""Imports, command by command: what repeats, changes, closes, and is killed in between.

Reading a backlog is another room's work; here is what the core does with its rows. A driver plays
an import as a list of commands and can be killed after any of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.invariants import Watch
from tests.core.test_dependencies import verify
from tests.core.world import COMMAND, HUMAN, World

from remit.core import commands as c
from remit.core import gates
from remit.core.change import changed
from remit.core.commands import Command, Text
from remit.core.facts import ImportRun, Item, Key, Row
from remit.core.refusals import Code
from remit.service.engine import Done
from remit.service.importing import recheck_gate


def row(alias: str, digest: str = "d1", **more: Any) -> c.ImportItem:
    """One row; its import's id is filled in by the driver."""
    values = {"text_ref": "", "priority": 2, "foreign_status": "open", **more}
    return c.ImportItem("", 1, alias, digest, **values)


ROWS = [
    row("epic", edges=(("blocks", "part-1"), ("blocks", "part-2"))),
    row("part-1", edges=(("parent-child", "epic"),)),
    row("part-2", edges=(("parent-child", "epic"), ("blocks", "part-1"))),
    row("busy", unconfirmed=True, foreign_status="in_progress"),
    row("done", closed=True, foreign_status="closed"),
    row("after", edges=(("blocks", "done"),)),
    row("gone", closed=True, satisfies=False, foreign_status="tombstone"),
    row("orphan", edges=(("blocks", "gone"),)),
    row("else", edges=(("conditional-blocks", "failed"),)),
    row("failed", closed=True, satisfies=False, failed=True, foreign_status="closed"),
    row("all", edges=(("waits-for", "epic"),)),
    row("lost", edges=(("blocks", "nowhere"),)),
    row("ring-1", edges=(("blocks", "ring-2"),), cycle=("ring-1", "ring-2", "ring-1")),
    row("ring-2", edges=(("blocks", "ring-1"),), cycle=("ring-2", "ring-1", "ring-2")),
]


class Killed(Exception):  # noqa: N818  # not an error: somebody pulled the plug
    """The import ended in the middle."""


class Importer:
    """Plays an import; ``left`` is how many commands it lives for."""

    def __init__(self, world: World, left: int = 1 << 30) -> None:
        self.world = world
        self.left = left

    def do(self, command: Command) -> Any:
        """One command, or the end."""
        if not self.left:
            raise Killed
        self.left -= 1
        return self.world.do(HUMAN, command)

    def run(self, rows: list[c.ImportItem], digest: str = "file-1") -> list[str]:
        """Import the rows; returns what became of each."""
        said = []
        run = self._open_run(digest) or self.do(c.StartImport("beads", "old", digest)).events[-1]
        name = run if isinstance(run, str) else run.stream
        for each in rows:
            answer = self.do(changed(each, import_id=name))
            said.append("imported" if isinstance(answer, Done) else answer.code.value)
        self.do(c.QuarantineRow(name, 99, "bad", "NO_ID", "no id"))
        counts = len(rows), said.count("imported"), said.count("UNCHANGED"), 1
        self.do(c.CloseImport(name, *counts))
        recheck_gate(self.world.ops(HUMAN), gates.IMPORT_OPEN)
        return said

    def _open_run(self, digest: str) -> str:
        for (kind, name), fact in self.world.facts().items():
            mine = isinstance(fact, ImportRun) and fact.open and fact.digest == digest
            if kind == "import" and mine:
                return name
        return ""


def by_alias(world: World) -> dict[str, Item]:
    """Items by what their source calls them."""
    return {item.alias: item for item in world.items()}


def told(world: World) -> dict[str, tuple[Any, ...]]:
    """All that an import should leave alike, however often it was killed."""
    names = {item.id: item.alias for item in world.items()}
    return {
        item.alias: (
            item.status,
            item.gate,
            item.hold and item.hold.reason,
            {(names.get(d.via, d.via), d.kind, d.state, d.inner) for d in item.dependencies},
            item.unmet,
            item.source and changed(item.source, import_id=""),
            item.outcome,
            len(item.plan.rows),
            world.triage_of(item.id),
        )
        for item in world.items()
    }


def prepared() -> World:
    """A world whose default rule is accepted."""
    world = World()
    world.ok(HUMAN, c.RegisterRule("default", "d", ("t",), ""))
    world.ok(HUMAN, c.AcceptRule("default"))
    return world


def test_what_each_row_becomes() -> None:
    world = prepared()
    Importer(world).run(ROWS)
    statuses = {alias: item.status.value for alias, item in by_alias(world).items()}
    assert statuses == {
        "epic": "held",
        "part-1": "ready",
        "part-2": "held",
        "busy": "draft",
        "done": "closed",
        "after": "ready",
        "gone": "closed",
        "orphan": "triaged",
        "else": "ready",
        "failed": "closed",
        "all": "held",
        "lost": "held",
        "ring-1": "triaged",
        "ring-2": "triaged",
    }
    items = by_alias(world)
    assert items["busy"].gate == gates.IMPORT_STATUS
    assert world.triage_of(items["orphan"].id) == ("trigger-impossible",)
    assert world.triage_of(items["ring-1"].id) == ("import-inconsistent",)
    assert {i.outcome.value for i in items.values() if i.outcome} == {"imported"}
    assert items["done"].owner is None
    Watch(world).look()


def test_imported_history_is_recorded_as_imported_and_can_be_told_apart() -> None:
    world = prepared()
    Importer(world).run(ROWS)
    events = {r.stream: r for r in world.events() if type(r.event).__name__ == "ItemImported"}
    done = events[by_alias(world)["done"].id].event
    assert (done.closed, done.outcome, done.owner) == (True, "imported", "import")  # type: ignore[attr-defined]  # of this type
    moved = [r for r in world.events() if r.stream == by_alias(world)["done"].id]
    assert len(moved) == 1, "no lease, review or verification was ever seen here"


def test_policy_decides_whether_imported_closed_items_satisfy() -> None:
    world = prepared()
    world.policy(imported_closed_satisfies=False)
    Importer(world).run(ROWS)
    assert world.triage_of(by_alias(world)["after"].id) == ("trigger-impossible",)


def test_a_second_import_of_the_same_rows_changes_no_item() -> None:
    world = prepared()
    Importer(world).run(ROWS)
    before: dict[Key, Any] = {k: f for k, f in world.facts().items() if k[0] == "item"}
    assert set(Importer(world).run(ROWS, "file-2")) == {"UNCHANGED"}
    assert {k: f for k, f in world.facts().items() if k[0] == "item"} == before


@pytest.mark.parametrize("after", range(len(ROWS) + 3))
def test_an_import_killed_anywhere_and_repeated_ends_as_an_undisturbed_one(after: int) -> None:
    whole, killed = prepared(), prepared()
    Importer(whole).run(ROWS)
    with pytest.raises(Killed):
        Importer(killed, after).run(ROWS)
    states = {item.status.value for item in killed.items()}
    assert states <= {"draft", "closed", "triaged"}, "nothing is ready while it is open"
    Watch(killed).look()
    Importer(killed).run(ROWS)
    assert told(killed) == told(whole)
    Watch(killed).look()


@pytest.mark.parametrize("first", [0, 5, 9])
@pytest.mark.parametrize("second", [1, 4, 12])
def test_killed_twice_it_still_ends_the_same(first: int, second: int) -> None:
    whole, killed = prepared(), prepared()
    Importer(whole).run(ROWS)
    for left in (first, second):
        with pytest.raises(Killed):
            Importer(killed, left).run(ROWS)
    Importer(killed).run(ROWS)
    assert told(killed) == told(whole)


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_rows_does_not_matter(turned: bool) -> None:
    whole, other = prepared(), prepared()
    Importer(whole).run(ROWS)
    Importer(other).run(ROWS[::-1] if turned else ROWS[5:] + ROWS[:5])
    assert told(other) == told(whole)


# What changes upstream.


def one(**more: Any) -> tuple[World, Importer, str]:
    """A world that imported one open row."""
    world = prepared()
    importer = Importer(world)
    importer.run([row("a", **more)])
    return world, importer, by_alias(world)["a"].id


def test_a_row_that_changed_while_nobody_works_on_it_is_a_new_revision() -> None:
    world, importer, item = one()
    assert importer.run([row("a", "d2", priority=0)], "file-2") == ["imported"]
    found = world.item(item)
    assert (found.plan.brief_revision, found.priority, found.status.value) == (2, 0, "ready")
    assert found.source is not None
    assert found.source.digest == "d2"
    assert importer.run([row("a", "d2", priority=0)], "file-3") == ["UNCHANGED"]


@pytest.mark.parametrize("stage", ["leased", "in-review", "approved", "shipped", "verified"])
def test_a_row_that_changed_later_is_refused_as_changed_upstream(stage: str) -> None:
    world, importer, item = one()
    steps = ("leased", "in-review", "approved", "shipped", "verified")
    for step in steps[: steps.index(stage) + 1]:
        world.step(item, step)
    before = world.item(item)
    assert importer.run([row("a", "d2")], "file-2") == [Code.CHANGED_UPSTREAM.value]
    assert world.item(item) == before


def test_somebody_who_began_elsewhere_stops_an_item_that_was_ready() -> None:
    """A changed row once left what its source said of its status behind."""
    world, importer, item = one()
    assert world.status(item) == "ready"
    busy = row("a", "d2", foreign_status="in_progress", unconfirmed=True)
    importer.run([busy], "file-2")
    assert world.status(item) == "held"
    hold = world.item(item).hold
    assert hold is not None
    assert hold.trigger == "gate:import-status"
    importer.run([row("a", "d3")], "file-3")
    assert world.status(item) == "ready"


@pytest.mark.parametrize(("satisfies", "failed"), [(True, False), (False, False), (False, True)])
def test_what_closed_upstream_passes_on_what_that_means(satisfies: bool, failed: bool) -> None:
    """A tombstone once satisfied, where its item had been open here."""
    world, importer, item = one()
    waiting = world.create(depends_on=((item, "blocks"),))
    instead = world.create(depends_on=((item, "conditional-blocks"),))
    closed = row("a", "d2", closed=True, satisfies=satisfies, failed=failed)
    importer.run([closed], "file-2")
    found = world.item(item)
    assert (found.status.value, found.outcome) == ("closed", "imported")
    assert world.status(waiting) == ("ready" if satisfies else "triaged")
    assert world.status(instead) == ("ready" if failed else "triaged")
    Watch(world).look()


def test_changed_edges_of_a_row_are_followed_and_its_parents_too() -> None:
    world = prepared()
    importer = Importer(world)
    rows = [row("p"), row("q"), row("x"), row("a", edges=(("parent-child", "p"),))]
    rows.append(row("w", edges=(("waits-for", "p"), ("waits-for", "q"))))
    importer.run(rows)
    rows[3] = row("a", "d2", edges=(("parent-child", "q"), ("blocks", "x")))
    importer.run(rows, "file-2")
    Watch(world).look()
    items = by_alias(world)
    assert {d.via for d in items["a"].dependencies} == {items["q"].id, items["x"].id}
    assert items["a"].status.value == "held"


def test_a_cycle_that_only_two_imports_close_together_goes_to_triage() -> None:
    world = prepared()
    importer = Importer(world)
    importer.run([row("a", edges=(("blocks", "b"),))])
    importer.run([row("b", edges=(("blocks", "a"),))], "file-2")
    items = by_alias(world)
    assert world.triage_of(items["b"].id) == ("import-inconsistent",)
    Watch(world).look()


def test_names_that_come_later_are_resolved_by_create_and_by_import() -> None:
    world = prepared()
    importer = Importer(world)
    edges = (("blocks", "x"), ("parent-child", "y"))
    importer.run([row("a", edges=edges)])
    item = by_alias(world)["a"]
    assert {d.via for d in item.dependencies} == {"?x", "?y"}
    made = world.create(COMMAND, alias="x")
    verify(world, made)
    importer.run([row("y", closed=True)], "file-2")
    assert world.status(item.id) == "ready"
    Watch(world).look()


def test_rows_need_an_open_import_and_sound_names() -> None:
    world = prepared()
    importer = Importer(world)
    importer.run([row("a")])
    before = world.state()
    for command, code in (
        (changed(row("b"), import_id="I-1"), Code.IMPORT_CLOSED),
        (changed(row("b"), import_id="I-9"), Code.IMPORT_CLOSED),
        (c.QuarantineRow("I-1", 1, "b", "X", "x"), Code.IMPORT_CLOSED),
        (c.CloseImport("I-1", 1, 1, 0, 0), Code.IMPORT_CLOSED),
    ):
        world.no(HUMAN, command, code)
    assert world.state() == before
    world.ok(HUMAN, c.StartImport("beads", "old", "d"))
    for alias in ("", "two words", "W-7", "x" * 201):
        world.no(HUMAN, changed(row(alias), import_id="I-2"), Code.BAD_INPUT)


def test_an_item_that_people_made_is_not_taken_over_by_an_import() -> None:
    world = prepared()
    item = world.create(alias="a")
    assert Importer(world).run([row("a")]) == [Code.CHANGED_UPSTREAM.value]
    assert world.item(item).source is None


def test_a_closed_row_keeps_what_it_hangs_on() -> None:
    world = prepared()
    Importer(world).run(ROWS)
    for item in world.items():
        assert item.plan.goal
        assert item.plan.requirements
        rows = [world.fact("row", name) for name in item.plan.rows]
        assert all(isinstance(r, Row) and r.origin == "rule:default@1" for r in rows)
    world.ok(HUMAN, c.AddNote("W-1", Text("still there")))
