"""The table of transitions and who owns an item: INV-4, INV-5, against a list written apart."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from tests.core.invariants import OWNERS
from tests.core.traffic import Traffic
from tests.core.triaging import put
from tests.core.world import COMMAND, HUMAN, VERIFIER, World, sha

from remit.core import commands as c
from remit.core.commands import Command, Text
from remit.core.refusals import Code, Refused
from remit.core.status import Kind, Status, move, owner_kind, permitted
from remit.service.engine import Done

BOTH = ("delivery", "effect")
TABLE: list[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = [
    ("T01", BOTH, ("draft", "held"), ("ready",)),
    ("T02", BOTH, ("draft", "ready"), ("held",)),
    ("T03", BOTH, ("ready",), ("leased",)),
    ("T04", BOTH, ("leased",), ("ready", "held")),
    ("T05", ("delivery",), ("leased",), ("in-review",)),
    ("T06", ("delivery",), ("in-review",), ("approved",)),
    ("T07", ("delivery",), ("in-review", "approved"), ("ready", "held")),
    ("T08", ("delivery",), ("approved",), ("shipped",)),
    ("T08", ("effect",), ("leased", "held"), ("shipped",)),
    ("T09", BOTH, ("shipped",), ("verified",)),
    (
        "T10",
        BOTH,
        ("draft", "held", "ready", "leased", "in-review", "approved", "shipped"),
        ("triaged",),
    ),
    ("T11", BOTH, ("triaged",), ("draft", "held", "ready", "in-review", "approved", "shipped")),
    ("T12", BOTH, ("draft", "held", "ready", "triaged"), ("closed",)),
]
"""The contract's table, row by row."""

ALLOWED = {
    (tid, kind, old, new)
    for tid, kinds, sources, targets in TABLE
    for kind, old, new in product(kinds, sources, targets)
}
IDS = [f"T{n:02}" for n in range(1, 13)]


@pytest.mark.parametrize("tid", IDS)
def test_every_move_is_in_the_table_or_refused(tid: str) -> None:
    for kind, old, new in product(Kind, Status, Status):
        wanted = (tid, kind.value, old.value, new.value) in ALLOWED
        assert permitted(tid, kind, old, new) is wanted, (tid, kind, old, new)
        refused = move(tid, "W-1", kind, old, new)
        assert (refused is None) is wanted
        if refused is not None:
            assert refused.code is Code.TRANSITION_REFUSED
            assert refused.details["from"] == old.value
            assert "W-1" in refused.message


def test_the_table_has_every_transition_once_named() -> None:
    assert sorted({row[0] for row in TABLE}) == IDS
    assert len(ALLOWED) == 59


def test_owners_follow_from_the_status() -> None:
    for status in Status:
        kind = owner_kind(status)
        assert (kind.value if kind else None) == OWNERS.get(status.value)
    retry = owner_kind(Status.HELD, retrying=True)
    assert retry is not None
    assert retry.value == "retry"


def _moves(answer: Done) -> list[tuple[str, str, str]]:
    events = [r.event for r in answer.events]
    return [
        (e.transition_id, e.from_, e.to)  # type: ignore[attr-defined]  # asked
        for e in events
        if getattr(e, "transition_id", "")
    ]


def test_each_transition_is_reached_by_a_real_command() -> None:
    world = World()
    seen: set[tuple[str, str, str]] = set()

    def ok(actor: str, command: Command) -> None:
        seen.update(_moves(world.ok(actor, command)))

    first = world.create()
    draft = world.until("draft", depends_on=((first, "blocks"),))
    ok(HUMAN, c.ReviseItem(draft, rows=(COMMAND,)))
    ok(HUMAN, c.RemoveDependency(draft, first))
    ok(HUMAN, c.AddDependency(draft, first))
    for verdict in (False, True):
        lease = world.lease(first)
        ok("bob", c.ReleaseLease(first, lease.fence))
        lease = world.lease(first)
        ok("bob", world.report(lease))
        ok("cat", c.ReviewWork(first, verdict, Text("so")))
        if not verdict:
            continue
        ok("cat", c.ReviewWork(first, False, Text("no, wait")))
        ok("bob", c.GrantLease(first))
        found = world.item(first).lease
        assert found is not None
        ok("bob", world.report(found))
        ok("cat", c.ReviewWork(first, True, Text("so")))
    ok(HUMAN, world.ship_of(first))
    ok(VERIFIER, world.findings(first, "ship-verify-gap", executed=0))
    record = world.item(first).triage[0]
    ok(HUMAN, c.ResolveTriage(record, "reverify", "again"))
    ok(VERIFIER, world.findings(first))
    ok(HUMAN, c.CloseItem(draft, "cancelled", Text("no")))
    assert {tid for tid, _, _ in seen} == set(IDS)
    assert all((tid, "delivery", old, new) in ALLOWED for tid, old, new in seen)


STAGES = ("draft", "held", "ready", "leased", "in-review", "approved", "shipped", "verified")


def _attempts(world: World, item: str) -> list[tuple[str, Command, set[str]]]:
    """What people try on an item in any status, and from which statuses each may succeed."""
    lease = world.item(item).lease
    fence = lease.fence if lease else 1
    return [
        ("T03", c.GrantLease(item), {"ready"}),
        ("T04", c.ReleaseLease(item, fence), {"leased"}),
        ("T05", c.ReportCompletion(item, fence, sha(1), sha(2)), {"leased"}),
        ("T06", c.ReviewWork(item, True, Text("ok")), {"in-review"}),
        ("T07", c.ReviewWork(item, False, Text("no")), {"in-review", "approved"}),
        (
            "T08",
            c.ObserveShip(item, sha(1), sha(9), "origin", "main", sha(2), "patch-id", ""),
            {"approved"},
        ),
        ("T10", put(item, "ambiguity"), set(STAGES) - {"verified"}),
        ("T12", c.CloseItem(item, "failed", Text("no")), {"draft", "held", "ready"}),
    ]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("nth", range(8))
def test_every_other_change_is_refused_and_writes_nothing(stage: str, nth: int) -> None:
    world = World()
    item = world.until(stage)
    tid, command, allowed = _attempts(world, item)[nth]
    actor = "cat" if tid in ("T06", "T07") else "bob"
    actor = "dan" if tid == "T07" and stage == "approved" else actor
    before = world.state()
    answer = world.do(actor, command)
    if stage in allowed:
        assert isinstance(answer, Done), answer
        assert _moves(answer)[0][0] == tid
        return
    assert isinstance(answer, Refused), (stage, tid)
    after = world.state()
    late = len(world.events()) - before[0].seq
    if tid in ("T04", "T05") and "bob" in world.item(item).holders:
        assert late == 1, "a late report is kept, and nothing else"
    else:
        assert after == before


def test_a_closed_item_takes_nothing_but_notes() -> None:
    world = World()
    item = world.create()
    world.ok(HUMAN, c.CloseItem(item, "cancelled", Text("no")))
    before = world.state()
    for command in (
        c.GrantLease(item),
        put(item, "ambiguity"),
        c.CloseItem(item, "failed", Text("x")),
        c.ReviseItem(item, title="other"),
        c.AddDependency(item, world_other(world)),
    ):
        assert isinstance(world.do(HUMAN, command), Refused), command
    assert world.facts()["item", item] == before[1]["item", item]
    world.ok(HUMAN, c.AddNote(item, Text("why it was closed")))
    assert world.status(item) == "closed"


def world_other(world: World) -> str:
    """Another item."""
    return world.create()


@pytest.mark.parametrize("seed", range(6))
def test_one_owner_at_every_seq_and_none_at_the_end(seed: int) -> None:
    """INV-5: the watch demands it after each event; here is that terminal events name the owner."""
    traffic = Traffic(Random(300 + seed))
    traffic.run(100)
    for item in traffic.world.items():
        owner = item.owner
        assert (owner is None) == item.terminal
        assert owner is None or owner.kind.value in {*OWNERS.values(), "retry"}
    for recorded in traffic.world.events():
        if type(recorded.event).__name__ == "ItemClosed":
            kind, _, identity = recorded.event.owner.partition(":")  # type: ignore[attr-defined]  # asked
            assert kind in OWNERS.values()
            assert identity
