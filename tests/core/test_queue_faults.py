"""Faults that real queues had, each by name: none of them is possible here.

RELIABILITY.md lists them all, with those tests that need processes and stores.
"""

from __future__ import annotations

import pytest
from tests.core.effect_world import EffectWorld
from tests.core.world import HUMAN, SECOND

from remit.core import commands as c
from remit.core.commands import Text
from remit.core.effect_facts import EffectState
from remit.core.facts import Lease
from remit.core.refusals import Code, Refused

BOUND = 30 * SECOND


def again(world: EffectWorld, item: str, actor: str) -> Lease:
    """The first attempt is known to have had no effect, and another begins."""
    world.ended()
    world.pass_us(BOUND + 1)
    world.look("NONE")
    lease = world.lease(item, actor=actor)
    world.intend(lease)
    return lease


def test_a_completed_job_is_not_overwritten_by_a_rescuer() -> None:
    world = EffectWorld()
    item, lease = world.started()
    world.ok("bob", c.ReportEffect(item, lease.fence, "200"))
    rescue = (c.ExpireLease(item), c.Recheck(item), c.RecheckHolds())
    world.pass_us(100 * BOUND)
    for command in rescue:  # it reported, and nobody has looked yet
        world.do(HUMAN, command)
    assert world.status(item) == "held"
    world.no("cat", c.GrantLease(item), Code.ITEM_NOT_READY)
    world.look("FOUND")
    before = world.state()
    world.pass_us(100 * BOUND)
    for command in rescue:
        world.do(HUMAN, command)
    world.no("cat", c.GrantLease(item), Code.ITEM_NOT_READY)
    assert world.status(item) == "verified"
    assert world.state()[1] == before[1]


def test_a_live_worker_is_not_rescued_by_time_alone() -> None:
    """Its lease is over and it still runs: nobody else starts before its effect is known."""
    world = EffectWorld()
    item, lease = world.started()
    world.pass_us(1_000 * BOUND)
    world.no("cat", c.GrantLease(item), Code.ITEM_NOT_READY)
    world.look("NONE")
    assert world.effect().state is EffectState.UNCERTAIN, "it may wake up and send"
    world.no("cat", c.GrantLease(item), Code.ITEM_NOT_READY)
    late = world.do("bob", c.ReportEffect(item, lease.fence, "200", text=Text("done after all")))
    assert isinstance(late, Refused)
    assert world.counted("LateReportRecorded") == 1
    world.look("FOUND")
    assert world.status(item) == "verified"


def test_a_zombies_failure_does_not_overwrite_the_new_holder() -> None:
    world = EffectWorld()
    item, first = world.lost()
    second = again(world, item, "cat")
    for command in (
        c.FailWork(item, first.fence),
        c.ReleaseLease(item, first.fence),
        c.NoteUncertain(item, first.fence),
        c.ReportEffect(item, first.fence, "500"),
    ):
        world.no("bob", command, Code.STALE_FENCE)
    assert world.item(item).lease == second
    assert world.effect().fence == second.fence
    assert world.effect().response_seq == 0


def test_a_heartbeat_slower_than_the_lease_does_not_revive_it() -> None:
    world = EffectWorld()
    item = world.submit()
    lease = world.lease(item, ttl_ms=1_000)
    world.pass_us(1_500 * 1_000)
    answer = world.do("bob", c.RenewLease(item, lease.fence))
    assert isinstance(answer, Refused)
    assert answer.code in (Code.LEASE_EXPIRED, Code.STALE_FENCE)
    assert world.status(item) == "ready", "nothing was intended"
    taken = world.lease(item, actor="cat")
    world.no("bob", c.RenewLease(item, lease.fence), Code.STALE_FENCE)
    assert world.item(item).lease == taken


def test_a_worker_that_starts_again_under_its_name_has_no_lease_of_its_former_self() -> None:
    world = EffectWorld()
    item, first = world.lost()
    second = again(world, item, "bob")
    assert second.actor == first.actor
    world.no("bob", c.ReportEffect(item, first.fence, "200"), Code.STALE_FENCE)
    world.no("bob", c.IntendEffect(item, first.fence), Code.STALE_FENCE)
    world.ok("bob", c.ReportEffect(item, second.fence, "200"))


def test_no_retry_runs_beside_a_first_attempt_that_may_still_run() -> None:
    world = EffectWorld()
    item, lease = world.started()
    world.ok("bob", c.NoteUncertain(item, lease.fence, "TIMEOUT"))
    world.no("cat", c.GrantLease(item), Code.ITEM_LEASED)
    world.until_over(lease)
    for _ in range(3):
        world.pass_us(BOUND)
        world.look("NONE")
        world.do("cat", c.GrantLease(item))
        assert world.item(item).lease is None
    assert world.item(item).attempt == 1


def test_a_lease_shorter_than_the_run_leads_to_one_effect() -> None:
    """The visibility time-out of a queue: the message comes back while its work still runs."""
    world = EffectWorld()
    item = world.submit()
    lease = world.lease(item, ttl_ms=1_000)
    world.intend(lease)
    world.pass_us(10 * SECOND)
    assert isinstance(world.do("cat", c.GrantLease(item)), Refused)
    world.look("FOUND")
    assert world.status(item) == "verified"
    assert world.effect().intents == 1


def leases_until(world: EffectWorld, wanted: str, tenants: tuple[str, ...]) -> int:
    """Leases until the wanted item is among them, while low priority comes in for each tenant."""
    for leases in range(1, 60):
        for tenant in tenants:
            plain(world, priority=4, tenant=tenant)
        if world.lease().item == wanted:
            return leases
        world.pass_us(SECOND)
    return 60


def plain(world: EffectWorld, **parts: object) -> str:
    """PURE work with an effect of its own."""
    own = {"effect_id": f"E-{world.made + 1}", "replay_class": "PURE", "destination": ""}
    return world.submit(**own, **parts)


@pytest.mark.parametrize("others", [1, 5])
def test_high_priority_is_not_starved_by_fresh_low_priority(others: int) -> None:
    """Neither by what comes into its own lane, nor by lanes that always have something new."""
    world = EffectWorld()
    tenants = tuple(f"tenant-{n}" for n in range(others))
    for _ in range(3):
        plain(world, priority=4, tenant=tenants[0])
    world.pass_us(SECOND)
    urgent = plain(world, priority=0, tenant=tenants[0])
    assert leases_until(world, urgent, tenants) <= others


def test_newest_first_would_starve_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.core.intents.rank_of", lambda at, *_: -at)
    world = EffectWorld()
    urgent = plain(world, priority=0)
    world.pass_us(SECOND)
    assert leases_until(world, urgent, ("default",)) == 60
