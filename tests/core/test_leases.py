"""Leases and fences: INV-6 to INV-10, by named cases. Limits and fairness stand in test_queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.core.world import BASE, HUMAN, SECOND, World, sha

from remit.core import commands as c
from remit.core.commands import Command, Text
from remit.core.facts import Item, Lease, Policy
from remit.core.refusals import Code, Refused
from remit.service.engine import Call, Done

TTL = 60 * SECOND
POLICY = Policy(ttl_ms=60_000, longest_lease_ms=150_000, attempts=3)

WRITES: dict[str, Callable[[str, int], Command]] = {
    "renew": c.RenewLease,
    "release": c.ReleaseLease,
    "progress": lambda item, fence: c.ReportProgress(item, fence, Text("half")),
    "completion": lambda item, fence: c.ReportCompletion(item, fence, sha(1), BASE),
    "fail": c.FailWork,
    "clone": lambda item, fence: c.RecordClone(item, fence, "b", BASE),
    "takeover": lambda item, fence: c.RecordTakeover(item, fence, sha(1), BASE, sha(2), "r"),
}
"""Every write under a lease."""


def new() -> tuple[World, str, Lease]:
    world = World(POLICY)
    item = world.create()
    return world, item, world.lease(item)


def names(world: World, after: int) -> list[str]:
    return [type(r.event).__name__ for r in world.events(after)]


def content(item: Item) -> tuple[object, ...]:
    """All of an item but how many events its stream has."""
    return tuple(getattr(item, f) for f in Item.__slots__ if f not in ("version", "changed_at"))


# INV-6: a refused acquisition writes nothing.


def _killed(world: World) -> c.GrantLease:
    item = world.create()
    world.ok("bob", c.EngageKillSwitch("stop"))
    return c.GrantLease(item)


def _full(world: World) -> c.GrantLease:
    world.policy(actor_leases=1)
    world.lease(world.create())
    return c.GrantLease(world.create())


REFUSALS: list[tuple[str, Callable[[World], Command], Code]] = [
    ("kill-switch", _killed, Code.KILL_SWITCH_ON),
    ("limit", _full, Code.CONCURRENCY_LIMIT),
    ("draft", lambda w: c.GrantLease(w.until("draft")), Code.ITEM_NOT_READY),
    ("held", lambda w: c.GrantLease(w.until("held")), Code.ITEM_NOT_READY),
    ("leased", lambda w: c.GrantLease(w.until("leased")), Code.ITEM_LEASED),
    ("shipped", lambda w: c.GrantLease(w.until("shipped")), Code.ITEM_NOT_READY),
    ("unknown", lambda w: c.GrantLease("W-99"), Code.NOT_FOUND),
    ("nothing", lambda w: c.GrantLease(), Code.NOTHING_READY),
    ("too-short", lambda w: c.GrantLease(w.create(), 999), Code.BAD_INPUT),
    ("too-long", lambda w: c.GrantLease(w.create(), 150_001), Code.BAD_INPUT),
]


@pytest.mark.parametrize(("why", "given", "code"), REFUSALS, ids=[r[0] for r in REFUSALS])
def test_a_refused_acquisition_writes_nothing(
    why: str, given: Callable[[World], Command], code: Code
) -> None:
    world = World(POLICY)
    command = given(world)
    before = world.state()
    world.no("bob", command, code)
    assert world.state() == before, why


@pytest.mark.parametrize("actor", ["nobody", "gone"])
def test_who_is_not_enrolled_gets_no_lease(actor: str) -> None:
    world = World()
    item = world.create()
    world.ok(HUMAN, c.EnrolActor("gone", "agent"))
    world.ok(HUMAN, c.RevokeActor("gone"))
    before = world.state()
    answer = world.do(actor, c.GrantLease(item))
    assert isinstance(answer, Refused)
    assert answer.code in (Code.ACTOR_UNKNOWN, Code.ACTOR_REVOKED)
    assert world.state() == before


# INV-7: fences and time.


def test_fences_grow_strictly_over_items_attempts_and_epochs() -> None:
    world = World(POLICY)
    fences = []
    for epoch in range(3):
        for _ in range(3):
            item = world.create()
            for _ in range(2):
                lease = world.lease(item)
                fences.append(lease.fence)
                world.ok("bob", c.ReleaseLease(item, lease.fence))
        assert fences[-1] >> 32 == epoch
        world.ok(HUMAN, c.AdoptEpoch(0, "copied"))
    assert fences == sorted(set(fences))


@pytest.mark.parametrize("write", WRITES)
def test_one_microsecond_before_its_end_a_lease_is_live(write: str) -> None:
    world, item, lease = new()
    world.pass_us(lease.expires_at - world.now - 1)
    world.ok("bob", WRITES[write](item, lease.fence))


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("later", [0, 1, 10 * TTL])
def test_at_its_end_a_lease_is_over_for_everybody(write: str, later: int) -> None:
    world, item, lease = new()
    world.pass_us(lease.expires_at - world.now + later)
    answer = world.do("bob", WRITES[write](item, lease.fence))
    assert isinstance(answer, Refused)
    assert answer.code in (Code.STALE_FENCE, Code.LEASE_EXPIRED)
    assert world.status(item) == "ready", "the expiry that it noticed is recorded"
    assert world.item(item).work is None


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("off", [-1, 1, 1 << 32])
def test_another_fence_than_the_current_one_is_refused(write: str, off: int) -> None:
    world, item, lease = new()
    before = content(world.item(item))
    world.no("bob", WRITES[write](item, lease.fence + off), Code.STALE_FENCE)
    assert content(world.item(item)) == before


@pytest.mark.parametrize("write", WRITES)
def test_the_fence_of_an_earlier_attempt_is_refused_though_its_holder_asks(write: str) -> None:
    world, item, first = new()
    world.ok("bob", c.ReleaseLease(item, first.fence))
    second = world.lease(item)
    assert (second.attempt, second.actor) == (2, "bob")
    before = content(world.item(item))
    world.no("bob", WRITES[write](item, first.fence), Code.STALE_FENCE)
    assert content(world.item(item)) == before
    world.ok("bob", WRITES[write](item, second.fence))


@pytest.mark.parametrize("write", WRITES)
def test_the_right_fence_in_the_wrong_hands_is_refused(write: str) -> None:
    world, item, lease = new()
    before = world.state()
    world.no("cat", WRITES[write](item, lease.fence), Code.LEASE_OF_ANOTHER)
    assert world.state() == before


@pytest.mark.parametrize("write", WRITES)
def test_a_new_epoch_ends_earlier_leases(write: str) -> None:
    world, item, lease = new()
    world.ok(HUMAN, c.AdoptEpoch(4, "restored"))
    answer = world.do("bob", WRITES[write](item, lease.fence))
    assert isinstance(answer, Refused)
    assert answer.code in (Code.STALE_FENCE, Code.LEASE_EXPIRED)
    assert world.status(item) == "ready"
    again = world.lease(item, "cat")
    assert again.fence == (5 << 32) | 1
    assert again.id == "L-1.2e5"


def test_leases_of_an_older_epoch_are_swept_by_whoever_comes_first() -> None:
    world, item, lease = new()
    world.ok(HUMAN, c.AdoptEpoch(0, "restored"))
    world.ok("cat", c.AddNote(item, Text("hello")))
    assert world.item(item).lease is None
    assert world.now < lease.expires_at


def test_a_renewal_keeps_attempt_and_fence() -> None:
    world, item, lease = new()
    world.pass_us(10 * SECOND)
    renewed = world.ok("bob", c.RenewLease(item, lease.fence)).events[0].event.lease  # type: ignore[attr-defined]  # a lease
    assert renewed.expires_at == world.now + TTL
    assert (renewed.attempt, renewed.fence, renewed.id) == (lease.attempt, lease.fence, lease.id)
    assert world.item(item).counted == 1


def test_a_renewal_never_shortens_and_never_outlasts_the_longest_lease() -> None:
    world, item, lease = new()
    world.ok("bob", c.RenewLease(item, lease.fence, 1_000))
    assert world.item(item).lease == lease
    end = lease.acquired_at + 150 * SECOND
    for _ in range(3):
        world.pass_us(50 * SECOND - 1)
        held = world.item(item).lease
        assert held is not None
        if held.expires_at == end:
            break
        world.ok("bob", c.RenewLease(item, lease.fence))
    held = world.item(item).lease
    assert held is not None
    assert held.expires_at == end
    before = world.state()
    world.no("bob", c.RenewLease(item, lease.fence), Code.LEASE_TOO_LONG)
    assert world.state() == before


def test_the_kill_switch_stops_leases_and_renewals_and_only_a_human_lifts_it() -> None:
    world, item, lease = new()
    other = world.create()
    world.ok("dan", c.EngageKillSwitch("odd"))
    before = world.state()
    world.no("bob", c.RenewLease(item, lease.fence), Code.KILL_SWITCH_ON)
    world.no("bob", c.GrantLease(other), Code.KILL_SWITCH_ON)
    world.no("bob", c.GrantLease(), Code.KILL_SWITCH_ON)
    world.no("dan", c.ReleaseKillSwitch(), Code.ACTOR_KIND_REFUSED)
    assert world.state() == before
    world.ok("bob", c.ReportCompletion(item, lease.fence, sha(1), BASE))
    world.ok(HUMAN, c.ReleaseKillSwitch())
    world.lease(other)


@pytest.mark.parametrize("write", ["progress", "completion", "release", "fail"])
def test_a_late_report_is_kept_once_a_command_id_and_changes_nothing(write: str) -> None:
    world, item, lease = new()
    world.pass_us(TTL)
    world.lease(item, "cat")
    before, seq = content(world.item(item)), world.state()[0].seq
    for _ in range(3):
        world.no("bob", WRITES[write](item, lease.fence), Code.STALE_FENCE, "r1")
    assert names(world, seq) == ["LateReportRecorded"]
    world.no("bob", WRITES[write](item, lease.fence), Code.STALE_FENCE, "r2")
    assert names(world, seq) == ["LateReportRecorded"] * 2
    assert content(world.item(item)) == before


def test_a_late_report_is_kept_once_in_one_list_too() -> None:
    world, item, lease = new()
    world.pass_us(TTL)
    world.lease(item, "cat")
    seq = world.state()[0].seq
    call = Call(WRITES["completion"](item, lease.fence), "bob", command_id="same")
    world.engine.run([call, call])
    assert names(world, seq) == ["LateReportRecorded"]


def test_who_never_held_the_item_leaves_no_late_report() -> None:
    world, item, lease = new()
    before = world.state()
    world.no("cat", WRITES["completion"](item, lease.fence + 1), Code.STALE_FENCE)
    assert world.state() == before


def test_a_late_report_and_an_expiry_stand_beside_a_refused_atomic_list() -> None:
    world, item, lease = new()
    other = world.create()
    world.pass_us(TTL)
    seq = world.state()[0].seq
    late = c.ReportCompletion(item, lease.fence, sha(1), BASE)
    answers = world.many(("cat", c.GrantLease(other)), ("bob", late), atomic=True)
    assert [getattr(a, "code", None) for a in answers] == [Code.ATOMIC_ABORTED, Code.STALE_FENCE]
    assert sorted(names(world, seq)) == ["LateReportRecorded", "LeaseExpired"]
    assert world.status(other) == "ready"


def test_an_aborted_list_makes_no_report_late_that_was_in_time() -> None:
    world, item, lease = new()
    before = world.state()
    late = c.ReportCompletion(item, lease.fence, sha(1), BASE)
    release = c.ReleaseLease(item, lease.fence)
    answers = world.many(("bob", release), ("bob", late), atomic=True)
    assert [getattr(a, "code", None) for a in answers] == [Code.ATOMIC_ABORTED, Code.STALE_FENCE]
    assert world.state() == before
    world.ok("bob", late)


def test_a_late_report_on_nothing_is_refused() -> None:
    """It was once a crash of the fold."""
    world = World()
    late = c.RecordLateReport("W-7", 1, "release", "", "", "", Text())
    world.no("bob", late, Code.NOT_FOUND)


# INV-8: one live lease an item.


def test_an_item_has_one_live_lease_until_it_ends() -> None:
    world, item, lease = new()
    for actor in ("bob", "cat"):
        refused = world.no(actor, c.GrantLease(item), Code.ITEM_LEASED)
        assert refused.details["holder"] == "bob"
    answers = world.many(*((a, c.GrantLease(item)) for a in ("bob", "cat", "dan")))
    assert all(isinstance(a, Refused) for a in answers)
    world.pass_us(lease.expires_at - world.now)
    answers = world.many(*((a, c.GrantLease(item)) for a in ("dan", "cat", "bob")))
    assert [isinstance(a, Done) for a in answers] == [True, False, False]


def test_the_first_command_that_notices_records_an_expiry() -> None:
    world, item, _ = new()
    world.pass_us(TTL)
    seq = world.state()[0].seq
    world.create()
    assert names(world, seq)[0] == "LeaseExpired"
    assert world.status(item) == "ready"


# INV-9: command ids.


def test_the_same_command_id_answers_as_the_first_time() -> None:
    world = World()
    item = world.create()
    first = world.ok("bob", c.GrantLease(item), "g1")
    world.complete(first.events[0].event.lease)  # type: ignore[attr-defined]  # a grant
    before = world.state()
    again = world.ok("bob", c.GrantLease(item), "g1")
    assert (again.events, again.repeated) == (first.events, True)
    assert world.state() == before


@pytest.mark.parametrize(
    ("actor", "command"),
    [
        ("bob", c.GrantLease("W-2")),
        ("bob", c.GrantLease("W-1", 5_000)),
        ("cat", c.GrantLease("W-1")),
        ("bob", c.AddNote("W-1", Text("x"))),
    ],
)
def test_a_command_id_with_other_content_is_refused(actor: str, command: Command) -> None:
    world = World()
    world.create()
    world.create()
    world.ok("bob", c.GrantLease("W-1"), "g1")
    before = world.state()
    world.no(actor, command, Code.COMMAND_ID_REUSED, "g1")
    assert world.state() == before


def test_in_a_list_each_element_has_its_own_id_and_refused_ones_are_decided_again() -> None:
    world = World()
    blocker, item = world.create(), world.create()
    world.ok(HUMAN, c.AddDependency(item, blocker))
    commands = [c.GrantLease(blocker), c.GrantLease(item)]
    first = world.ops("bob").run(commands, command_id="list")
    assert isinstance(first[0], Done)
    assert isinstance(first[1], Refused)
    world.ok(HUMAN, c.RemoveDependency(item, blocker))
    second = world.ops("bob").run(commands, command_id="list")
    assert isinstance(second[0], Done)
    assert isinstance(second[1], Done)
    assert second[0].events == first[0].events
    assert second[0].repeated
    assert not second[1].repeated


def test_an_atomic_list_is_all_or_nothing_and_repeats_as_a_whole() -> None:
    world = World()
    good = c.CreateItem("good", rows=())
    bad = c.CreateItem("", rows=())
    before = world.state()
    answers = world.ops(HUMAN).run([good, bad, good], command_id="a", atomic=True)
    codes = [getattr(a, "code", None) for a in answers]
    assert codes == [Code.ATOMIC_ABORTED, Code.BAD_INPUT, Code.ATOMIC_ABORTED]
    assert world.state() == before
    first = world.ops(HUMAN).run([good, good], command_id="b", atomic=True)
    again = world.ops(HUMAN).run([good, good], command_id="b", atomic=True)
    assert [a.events for a in first] == [a.events for a in again]  # type: ignore[union-attr]  # accepted


def test_the_same_id_twice_in_one_transaction_is_done_once() -> None:
    world = World()
    item = world.create()
    note = Call(c.AddNote(item, Text("x")), HUMAN, command_id="n")
    other = Call(c.AddNote(item, Text("y")), HUMAN, command_id="n")
    answers = world.engine.run([note, note, other])
    assert [isinstance(a, Done) for a in answers] == [True, True, False]
    assert names(world, 0).count("NoteAdded") == 1


# INV-10: attempts.


def test_a_worker_that_dies_each_time_is_quarantined_after_the_bound() -> None:
    world, item, _ = new()
    for attempt in range(1, 4):
        assert world.item(item).counted == attempt
        assert world.status(item) == "leased"
        world.pass_us(TTL)
        if attempt < 3:
            world.lease(item, "cat")
    world.create()
    assert world.status(item) == "triaged"
    assert world.triage_of(item) == ("poison",)
    world.no("bob", c.GrantLease(item), Code.ITEM_NOT_READY)


def test_a_hand_back_before_any_report_returns_its_count_never_its_number() -> None:
    world, item, lease = new()
    for number in range(2, 9):
        world.ok("bob", c.ReleaseLease(item, lease.fence))
        assert world.item(item).counted == 0
        lease = world.lease(item)
        assert lease.attempt == number
        assert world.item(item).counted == 1
        assert world.status(item) == "leased"


def test_a_hand_back_after_a_report_keeps_its_count_and_ends_at_the_bound() -> None:
    world, item, lease = new()
    for attempt in range(1, 4):
        world.ok("bob", c.ReportProgress(item, lease.fence, Text("half")))
        world.ok("bob", c.ReleaseLease(item, lease.fence))
        assert world.item(item).counted == attempt
        if attempt < 3:
            lease = world.lease(item)
    assert world.triage_of(item) == ("poison",)


def test_counts_begin_again_after_reopen_and_after_resolve() -> None:
    world, item, lease = new()
    world.complete(lease)
    assert world.item(item).counted == 1
    world.ok("cat", c.ReviewWork(item, False, Text("no")))
    assert world.item(item).counted == 0
    for _ in range(3):
        world.lease(item)
        world.pass_us(TTL)
    world.create()
    assert world.triage_of(item) == ("poison",)
    world.ok(HUMAN, c.ResolveTriage(world.item(item).triage[0], "requeue", "another worker"))
    assert (world.status(item), world.item(item).counted) == ("ready", 0)
    assert world.lease(item).attempt == 5


def test_a_lowered_bound_gives_no_lease_beyond_it() -> None:
    """The record of a lease once said ``attempts PASS 2 <2``."""
    world, item, lease = new()
    other = world.create(priority=4)
    for _ in range(2):
        world.pass_us(TTL)
        if _ == 0:
            lease = world.lease(item)
    world.policy(attempts=1)
    assert world.status(item) == "ready"
    world.no("bob", c.GrantLease(item), Code.ITEM_NOT_READY)
    assert world.lease().item == other, "it does not stand in the way of others"
    world.ok(HUMAN, c.Recheck(item))
    assert world.triage_of(item) == ("poison",)
    assert lease.attempt == 2


# Completion and the next lease in one commit.


def test_complete_and_lease_the_next_in_one_commit() -> None:
    world = World()
    first, second = world.create(), world.create()
    lease = world.lease(first)
    seq = world.state()[0].seq
    pairs = world.ops("bob").report_completion(world.report(lease), lease_next=True)
    (done, leased), *rest = pairs
    assert not rest
    assert isinstance(done, Done)
    assert leased.events[0].event.lease.item == second
    assert [r.at for r in world.events(seq)] == [world.now] * 2
    assert names(world, seq) == ["CompletionReported", "LeaseGranted"]


def test_the_completion_stands_where_no_next_lease_is_to_be_had() -> None:
    world, item, lease = new()
    (done, refused), *_ = world.ops("bob").report_completion(world.report(lease), lease_next=True)
    assert isinstance(done, Done)
    assert isinstance(refused, Refused)
    assert refused.code is Code.NOTHING_READY
    assert world.status(item) == "in-review"


@pytest.mark.parametrize(
    "figures",
    [
        {"ttl_ms": 999},
        {"ttl_ms": 60_001, "longest_lease_ms": 60_000},
        {"age_step_ms": 1 << 50},
        {"longest_lease_ms": 1 << 52},
        {"attempts": 0},
        {"actor_leases": 0},
    ],
)
def test_a_policy_that_no_lease_could_follow_is_refused(figures: dict[str, Any]) -> None:
    """Figures that lead out of JSON's integers once ended in a broken commit."""
    world = World()
    before = world.state()
    world.no(HUMAN, c.SetPolicy(replace(Policy(), **figures)), Code.BAD_INPUT)
    assert world.state() == before
