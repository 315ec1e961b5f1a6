"""Limits and the order of leases: INV-11, INV-12."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from tests.core.world import AGENTS, COMMAND, HUMAN, SECOND, World

from remit.core import commands as c
from remit.core.change import changed
from remit.core.facts import Lane, Lease, Policy
from remit.core.lanes import STRIDE, Turns, merge, rank_of
from remit.core.refusals import Code
from remit.service.engine import Done

STEP = 20 * SECOND


def world_of(**figures: int) -> World:
    """A world whose age step is 20 s and whose limits are these."""
    return World(changed(Policy(), age_step_ms=20_000, **figures))


def next_of(world: World, actor: str = "bob", **how: Any) -> Lease | None:
    """The next lease, or None where none is to be had."""
    answer = world.do(actor, c.GrantLease(**how))
    if not isinstance(answer, Done):
        assert answer.code in (Code.NOTHING_READY, Code.CONCURRENCY_LIMIT)
        return None
    event = next(r.event for r in answer.events if hasattr(r.event, "lease"))
    return event.lease  # type: ignore[no-any-return]  # a lease


# INV-11


@pytest.mark.parametrize(
    ("figure", "scope"),
    [
        ("ledger_leases", "ledger"),
        ("class_leases", "class"),
        ("tenant_leases", "tenant"),
        ("actor_leases", "actor"),
    ],
)
def test_each_limit_holds_exactly_and_frees_with_each_end(figure: str, scope: str) -> None:
    world = world_of(**{figure: 2})
    items = [world.create() for _ in range(4)]
    world.lease(items[0])
    lease = world.lease(items[1])
    before = world.state()
    for command in (c.GrantLease(items[2]), c.GrantLease()):
        refused = world.no("bob", command, Code.CONCURRENCY_LIMIT)
        assert refused.details == {"scope": scope, "live": 2, "limit": 2}
    assert world.state() == before
    world.complete(lease)
    world.lease()
    world.no("bob", c.GrantLease(), Code.CONCURRENCY_LIMIT)
    if scope == "actor":
        world.lease(actor="cat")


def test_a_list_of_leases_stops_at_the_limit() -> None:
    world = world_of(class_leases=3)
    for _ in range(6):
        world.create()
    answers = world.many(*((a, c.GrantLease()) for a in AGENTS * 2))
    assert [isinstance(a, Done) for a in answers] == [True] * 3 + [False] * 3


@pytest.mark.parametrize("seed", range(5))
def test_no_limit_is_exceeded_at_any_seq_of_busy_traffic(seed: int) -> None:
    rnd = Random(seed)
    world = world_of(ledger_leases=5, class_leases=3, tenant_leases=2, actor_leases=2)
    for _ in range(30):
        world.create(work_class=rnd.choice("xy"), tenant=rnd.choice("pqr"))
    for _ in range(80):
        calls = [(rnd.choice(AGENTS), c.GrantLease()) for _ in range(rnd.randint(1, 6))]
        world.many(*calls)
        leased = [i for i in world.items() if i.lease is not None]
        for lease in [i.lease for i in leased if i.lease and rnd.random() < 0.4]:
            world.ok(lease.actor, c.ReleaseLease(lease.item, lease.fence))
    live: dict[str, tuple[str, str, str]] = {}
    kinds = {i.id: (i.work_class, i.tenant) for i in world.items()}
    most: Counter[str] = Counter()
    for recorded in world.events():
        event = recorded.event
        if not hasattr(event, "lease") or not hasattr(event, "transition_id"):
            continue
        live.pop(recorded.stream, None)
        if event.transition_id == "T03":
            live[recorded.stream] = (event.lease.actor, *kinds[recorded.stream])
        counts = Counter(name for names in live.values() for name in names)
        most = most | counts | Counter({"all": len(live)})
    assert most["all"] == 5
    assert max(most[a] for a in AGENTS) == 2
    assert max(most[k] for k in "xy") == 3
    assert max(most[t] for t in "pqr") == 2


def test_a_full_lane_is_skipped_whole_and_others_go_on() -> None:
    world = world_of(tenant_leases=1)
    for _ in range(3):
        world.create(tenant="full", priority=0)
    free = world.create(tenant="free", priority=4)
    assert {world.item(world.lease().item).tenant for _ in range(2)} == {"full", "free"}
    assert world.status(free) == "leased"
    assert next_of(world) is None


def test_lanes_behind_many_full_ones_are_found() -> None:
    """A window of lanes once hid every lane behind it, and asked one round for each."""
    world = world_of(tenant_leases=1)
    tenants = [f"t{n:03}" for n in range(150)]
    world.many(
        *((HUMAN, c.CreateItem("w", rows=(COMMAND,), tenant=t)) for t in tenants for _ in range(2))
    )
    leases = [next_of(world) for _ in tenants]
    assert {world.item(lease.item).tenant for lease in leases if lease} == set(tenants)
    assert next_of(world) is None
    for lease in leases:
        if lease and world.item(lease.item).tenant == "t149":
            world.complete(lease)
    found = next_of(world)
    assert found is not None
    assert world.item(found.item).tenant == "t149"
    last = next_of(world, tenant="t149")
    assert last is None


def test_a_class_behind_many_lanes_of_others_is_found() -> None:
    world = world_of()
    for n in range(130):
        world.create(tenant=f"t{n:03}")
    rare = world.create(work_class="zz", tenant="zz")
    found = next_of(world, work_class="zz")
    assert found is not None
    assert found.item == rare


def test_an_actor_at_its_limit_is_told_so_however_many_lanes_there_are() -> None:
    """Each lane once took a round of its own, and the rounds ran out."""
    world = world_of(actor_leases=1)
    for n in range(90):
        world.create(tenant=f"t{n:03}")
    world.lease()
    world.no("bob", c.GrantLease(), Code.CONCURRENCY_LIMIT)


# INV-12


def test_within_a_lane_the_lower_priority_number_and_then_the_older_goes_first() -> None:
    world = world_of()
    late, older, newer, urgent = (world.create(priority=p) for p in (4, 2, 2, 0))
    assert [world.lease().item for _ in range(4)] == [urgent, older, newer, late]


def test_age_outweighs_priority_after_as_many_steps() -> None:
    assert rank_of(0, 4, 20_000) == 4 * STEP
    world = world_of()
    old = world.create(priority=4)
    world.pass_us(4 * STEP - 1 - (world.now - world.item(old).ready_at))
    barely = world.create(priority=0)
    world.pass_us(2)
    after = world.create(priority=0)
    assert [world.lease().item for _ in range(3)] == [barely, old, after]


def test_a_lost_worker_costs_no_place_in_line() -> None:
    world = world_of(ttl_ms=60_000)
    first = world.create()
    rank = world.item(first).rank
    lease = world.lease(first)
    second = world.create()
    world.pass_us(lease.expires_at - world.now)
    assert world.lease().item == first
    assert world.item(first).rank == rank
    assert world.lease().item == second


def test_an_item_whose_priority_fell_in_the_same_list_goes_later() -> None:
    world = world_of()
    first, second = world.create(), world.create()
    answers = world.many((HUMAN, c.ReviseItem(first, priority=4)), ("bob", c.GrantLease()))
    assert isinstance(answers[1], Done)
    assert world.status(second) == "leased"


def test_a_batch_leases_in_the_order_of_leases_one_by_one() -> None:
    rnd = Random(5)
    worlds = (world_of(), world_of())
    for _ in range(40):
        how = {"tenant": rnd.choice("pqr"), "priority": rnd.randint(0, 4)}
        for world in worlds:
            world.create(**how)
    one_by_one = [worlds[0].lease().item for _ in range(40)]
    answers = worlds[1].many(*[("bob", c.GrantLease())] * 40)
    batch = [a.events[0].stream for a in answers if isinstance(a, Done)]
    assert batch == one_by_one


def test_a_batch_over_more_lanes_than_a_window_gives_each_its_turn() -> None:
    world = world_of()
    for n in range(100):
        for _ in range(3):
            world.create(tenant=f"t{n:03}")
    answers = world.many(*[("bob", c.GrantLease())] * 100)
    tenants = [world.item(a.events[0].stream).tenant for a in answers if isinstance(a, Done)]
    assert len(set(tenants)) == 100


def _weigh(world: World, weights: dict[str, int]) -> None:
    """Give lanes other weights."""
    for tenant, weight in weights.items():
        world.ok(HUMAN, c.SetLimit(f"lane/delivery|{tenant}", weight=weight))


def test_lanes_take_turns_by_their_weights() -> None:
    world = world_of()
    weights = {"p": 1, "q": 2, "r": 5}
    for _ in range(60):
        for tenant in weights:
            world.create(tenant=tenant)
    _weigh(world, weights)
    turns = [world.item(world.lease().item).tenant for _ in range(80)]
    for start in range(0, 80, 8):
        window = Counter(turns[start : start + 8])
        for tenant, weight in weights.items():
            assert abs(window[tenant] - weight) <= 1, (start, window)
    assert Counter(turns) == {"p": 10, "q": 20, "r": 50}


def test_a_lane_that_was_empty_saves_no_turns_up() -> None:
    world = world_of()
    for _ in range(30):
        world.create(tenant="busy")
    world.create(tenant="idle")
    for _ in range(21):
        world.lease()
    for _ in range(10):
        world.create(tenant="idle")
    turns = [world.item(world.lease().item).tenant for _ in range(10)]
    assert abs(Counter(turns)["idle"] - 5) <= 1, turns


def test_the_listing_of_lease_order_is_the_order_of_leases() -> None:
    lanes = [Lane(f"c|{t}", w, 0, 5, 0) for t, w in (("a", 1), ("b", 3))]  # type: ignore[arg-type]  # a lane's id
    heads = {"c|a": [f"a{n}" for n in range(5)], "c|b": [f"b{n}" for n in range(5)]}
    order = merge(heads, lanes, 8, {"c": Turns(active=4)})
    assert Counter(name[0] for name in order) == {"a": 3, "b": 5}
    assert order[:2] == ["a0", "b0"]
    assert STRIDE // 3 * 3 <= STRIDE


@pytest.mark.parametrize("seed", range(3))
def test_nothing_ready_waits_longer_than_its_age_allows(seed: int) -> None:
    """Bounded waiting: a flood of urgent work delays what is old by its steps, and no longer.

    Demand outruns the workers all the time, in every lane. An item of priority p may be passed by
    items that came up to p steps after it, and in each lane by its share of turns; nothing else.
    """
    rnd = Random(seed)
    world = world_of()
    tenants = "pqr"
    made: dict[str, tuple[int, int, str]] = {}
    taken: dict[str, int] = {}
    for _ in range(260):
        for _ in range(3):
            priority = rnd.choice((0, 0, 0, 0, 4))
            tenant = rnd.choice(tenants)
            item = world.create(priority=priority, tenant=tenant)
            made[item] = (world.now, priority, tenant)
        for _ in range(2):
            lease = next_of(world)
            assert lease is not None
            taken[lease.item] = world.now
            world.complete(lease)
        world.pass_us(2 * SECOND)
    for item, when in taken.items():
        ready, priority, tenant = made[item]
        for other, (came, its, whose) in made.items():
            gone = other in taken and taken[other] <= when
            if whose != tenant or gone or came > when:
                continue
            assert ready + priority * STEP <= came + its * STEP, (item, other)
    shares = Counter(made[item][2] for item in taken)
    # A lane that had nothing for a moment joins behind the others of its class.
    assert max(shares.values()) - min(shares.values()) <= 8, shares
    old = [i for i, (_, p, _) in made.items() if p == 4 and i in taken]
    assert old, "work of the lowest priority is leased in the flood, too"
