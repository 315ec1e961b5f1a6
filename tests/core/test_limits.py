"""Limits by scope: concurrency, rate and spend, and the shares of classes and lanes (INV-11, INV-12)."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from tests.core.invariants import Broken, Watch
from tests.core.world import AGENTS, HUMAN, SECOND, World

from remit.core import commands as c
from remit.core.commands import Text
from remit.core.evolve import limits as folds
from remit.core.limit_facts import NO_SPEND, Limit, Spend, outstanding
from remit.core.refusals import Code
from remit.service.engine import Done


@pytest.fixture
def world() -> World:
    return World()


def limit(world: World, scope: str, **figures: Any) -> None:
    world.ok(HUMAN, c.SetLimit(scope, **figures))


def spend(world: World, scope: str) -> Spend:
    found = world.fact("spend", scope)
    return found if isinstance(found, Spend) else NO_SPEND


def money(world: World, scope: str = "ledger") -> tuple[int, int]:
    return (spend(world, scope).settled, spend(world, scope).reserved)


# Setting them.


def test_only_a_human_sets_a_limit_and_the_same_again_changes_nothing(world: World) -> None:
    world.no("bob", c.SetLimit("ledger", concurrency=9), Code.ACTOR_KIND_REFUSED)
    limit(world, "class/a", concurrency=2, rate=3, per_ms=10, spend_micros=4, weight=5)
    assert world.ok(HUMAN, c.SetLimit("class/a", 2, 3, 10, 4, 0, 5)).events == ()
    found = world.fact("limit", "class/a")
    assert isinstance(found, Limit)
    assert (found.version, found.concurrency, found.weight) == (1, 2, 5)
    limit(world, "class/a")
    assert world.fact("counter", "limits") == 1


@pytest.mark.parametrize(
    ("scope", "figures"),
    [
        ("", {}), ("class/", {}), ("class/a b", {}), ("klass/a", {}), ("lane/a", {}),
        ("repository/other", {}), ("ledger", {"weight": 2}), ("tenant/t", {"weight": 2}),
        ("class/a", {"weight": 0}), ("class/a", {"weight": 1_001}), ("ledger", {"rate": -1}),
        ("ledger", {"per_ms": 0}), ("ledger", {"spend_micros": 1 << 53}),
        ("ledger", {"reserve_micros": -1}), ("lane/a|t", {"rate": 1}),
        ("lane/a|t", {"reserve_micros": 1}), ("repository/main", {"concurrency": 1}),
    ],
)  # fmt: skip
def test_what_is_no_limit_is_refused(world: World, scope: str, figures: dict[str, Any]) -> None:
    world.no(HUMAN, c.SetLimit(scope, **figures), Code.BAD_INPUT)


# Concurrency.


@pytest.mark.parametrize("scope", ["ledger", "class/delivery", "tenant/default", "actor/bob"])
def test_a_scope_has_a_limit_of_its_own(world: World, scope: str) -> None:
    limit(world, scope, concurrency=1)
    first, second = world.create(), world.create()
    world.lease(first)
    world.no("bob", c.GrantLease(second), Code.CONCURRENCY_LIMIT)
    world.no("bob", c.GrantLease(), Code.CONCURRENCY_LIMIT)
    limit(world, scope, concurrency=2)
    world.lease(second)


def test_a_class_at_its_limit_is_skipped_and_another_goes_on(world: World) -> None:
    limit(world, "class/a", concurrency=0)
    world.create(work_class="a")
    other = world.create(work_class="b")
    assert world.lease().item == other


# Rate.


def test_a_rate_is_so_many_in_each_period_and_a_new_period_starts_anew(world: World) -> None:
    limit(world, "class/delivery", rate=2, per_ms=60_000)
    period = 60_000_000
    world.pass_us(period - world.now % period)
    items = [world.create() for _ in range(4)]
    world.lease(items[0])
    world.pass_us(period - world.now % period - 2)
    world.lease(items[1])
    refused = world.no("bob", c.GrantLease(items[2]), Code.RATE_LIMIT)
    assert refused.details["given"] == 2
    assert refused.details["retry_after_ms"] == 1
    world.no("bob", c.GrantLease(), Code.RATE_LIMIT)
    world.pass_us(2)
    world.lease(items[2])


def test_a_rate_counts_only_its_own_scope(world: World) -> None:
    limit(world, "actor/bob", rate=1, per_ms=3_600_000)
    first, second = world.create(), world.create()
    world.lease(first)
    world.no("bob", c.GrantLease(second), Code.RATE_LIMIT)
    world.lease(second, "cat")


# Spend.


def test_money_is_set_aside_settled_and_given_back(world: World) -> None:
    limit(world, "ledger", spend_micros=100)
    first, second = world.create(), world.create()
    lease = world.lease(first, spend_micros=60)
    assert (lease.spend_micros, money(world)) == (60, (0, 60))
    refused = world.no("bob", c.GrantLease(second, spend_micros=41), Code.BUDGET_EXHAUSTED)
    assert refused.details["reserved_micros"] == 60
    other = world.lease(second, spend_micros=40)
    world.ok("bob", c.ReportProgress(first, lease.fence, spent_micros=25))
    assert money(world) == (25, 75)
    world.ok("bob", c.ReportProgress(first, lease.fence, spent_micros=25))
    world.ok("bob", c.ReportProgress(first, lease.fence, spent_micros=20))
    assert money(world) == (25, 75), "a total does not go down"
    world.ok("bob", changed_report(world, lease, 50))
    assert money(world) == (50, 40), "what was not used is given back"
    world.ok("bob", c.ReleaseLease(second, other.fence))
    assert money(world) == (50, 0), "handed back clean"
    for scope in ("class/delivery", "tenant/default", "actor/bob", "repository/main"):
        assert money(world, scope) == (50, 0)


def changed_report(world: World, lease: Any, spent: int) -> c.ReportCompletion:
    report = world.report(lease)
    return c.ReportCompletion(
        report.item, report.fence, report.head, report.base, tree=report.tree, spent_micros=spent
    )


def test_an_expiry_gives_nothing_back_and_a_late_cost_is_counted(world: World) -> None:
    limit(world, "ledger", spend_micros=100)
    item = world.create()
    lease = world.lease(item, spend_micros=30)
    world.ok("bob", c.ReportProgress(item, lease.fence, spent_micros=10))
    world.pass_us(lease.ttl_ms * 1_000)
    world.no("bob", c.ReportProgress(item, lease.fence), Code.STALE_FENCE)
    assert money(world) == (30, 0)
    world.no("bob", c.ReportProgress(item, lease.fence, spent_micros=12), Code.STALE_FENCE)
    assert money(world) == (30, 0), "it was charged in full"
    world.no("bob", c.ReportProgress(item, lease.fence, spent_micros=45), Code.STALE_FENCE)
    assert money(world) == (45, 0), "and what it cost beyond that is a fact"
    assert world.triage_of(item) == ("budget-exhausted",)


def test_nobody_charges_under_a_fence_that_was_not_its_own(world: World) -> None:
    limit(world, "ledger", spend_micros=100)
    item = world.create()
    lease = world.lease(item, spend_micros=30)
    world.pass_us(lease.ttl_ms * 1_000)
    world.no("bob", c.ReportProgress(item, lease.fence + 7, spent_micros=99), Code.STALE_FENCE)
    world.no("cat", c.ReportProgress(item, lease.fence, spent_micros=99), Code.STALE_FENCE)
    assert money(world) == (30, 0)


@pytest.mark.parametrize("cost", [None, 0])
def test_a_completion_without_a_figure_is_charged_its_reservation(
    world: World, cost: int | None
) -> None:
    limit(world, "ledger", spend_micros=100, reserve_micros=30)
    lease = world.lease(world.create())
    assert lease.spend_micros == 30
    report = world.report(lease)
    world.ok("bob", c.ReportCompletion(report.item, report.fence, report.head, report.base, tree=report.tree, spent_micros=cost))  # fmt: skip
    assert money(world) == (30, 0)


def test_a_scope_with_a_limit_on_spend_wants_a_reservation(world: World) -> None:
    limit(world, "tenant/default", spend_micros=100)
    item = world.create()
    world.no("bob", c.GrantLease(item), Code.SPEND_UNESTIMATED)
    world.no("bob", c.GrantLease(item, spend_micros=-1), Code.BAD_INPUT)
    world.lease(item, spend_micros=100)


def test_an_overrun_is_recorded_in_full_and_stops_its_scopes_until_somebody_looked(
    world: World,
) -> None:
    limit(world, "class/delivery", spend_micros=1_000)
    item, other, third = world.create(), world.create(), world.create(work_class="b")
    lease = world.lease(item, spend_micros=10)
    world.ok("bob", changed_report(world, lease, 25))
    assert money(world, "class/delivery") == (25, 0)
    assert (world.status(item), world.triage_of(item)) == ("triaged", ("budget-exhausted",))
    refused = world.no("bob", c.GrantLease(other, spend_micros=10), Code.BUDGET_EXHAUSTED)
    record = refused.details["record"]
    world.lease(third, spend_micros=5)
    world.ok(HUMAN, c.ResolveTriage(record, "return", "seen"))
    assert world.status(item) == "in-review", "its work is not lost"
    world.lease(other, spend_micros=10)


def test_an_overrun_where_nothing_is_limited_is_only_counted(world: World) -> None:
    lease = world.lease(world.create(), spend_micros=10)
    world.ok("bob", changed_report(world, lease, 25))
    assert money(world) == (25, 0)
    assert world.status(lease.item) == "in-review"


def test_giving_up_charges_what_was_set_aside(world: World) -> None:
    lease = world.lease(world.create(), spend_micros=10)
    world.ok("bob", c.FailWork(lease.item, lease.fence, "refusal", Text("no")))
    assert money(world) == (10, 0)


@pytest.mark.parametrize("spent", [-1, 1 << 53])
def test_a_cost_that_is_no_amount_is_refused(world: World, spent: int) -> None:
    lease = world.lease(world.create(), spend_micros=10)
    before = world.state()
    for command in (
        c.ReportProgress(lease.item, lease.fence, spent_micros=spent),
        c.ReleaseLease(lease.item, lease.fence, spent_micros=spent),
        c.FailWork(lease.item, lease.fence, spent_micros=spent),
        changed_report(world, lease, spent),
    ):
        world.no("bob", command, Code.BAD_INPUT)
    assert world.state() == before


# Shares.


def flood(world: World, lanes: dict[tuple[str, str], int]) -> None:
    for (work_class, tenant), count in lanes.items():
        for _ in range(count):
            world.create(work_class=work_class, tenant=tenant)


def shares(world: World, leases: int) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for _ in range(leases):
        item = world.item(world.lease().item)
        found[item.work_class, item.tenant] += 1
    return found


def test_a_class_gets_its_share_however_many_tenants_it_has(world: World) -> None:
    limit(world, "class/a", weight=3)
    flood(world, {("a", "t"): 70, **{("b", f"t{n}"): 12 for n in range(5)}})
    found = shares(world, 80)
    assert abs(sum(n for (cls, _), n in found.items() if cls == "a") - 60) <= 2, found
    for n in range(5):
        assert abs(found["b", f"t{n}"] - 4) <= 1, found


def test_lanes_share_their_class_by_weight(world: World) -> None:
    limit(world, "lane/a|t", weight=3)
    flood(world, {("a", "t"): 60, ("a", "u"): 60, ("b", "t"): 60})
    found = shares(world, 80)
    assert abs(found["b", "t"] - 40) <= 2, found
    assert abs(found["a", "t"] - 30) <= 2, found
    limit(world, "lane/a|t", weight=1)
    assert abs(shares(world, 40)["a", "t"] - 10) <= 2


def test_ready_lists_the_order_of_leases_under_weights(world: World) -> None:
    from remit.service.reading.items import ready

    limit(world, "class/a", weight=3)
    limit(world, "lane/b|u", weight=2)
    flood(world, {("a", "t"): 9, ("a", "u"): 3, ("b", "t"): 7, ("b", "u"): 4})
    with world.store.read() as tx:
        listed = [item["id"] for item in ready(tx, 0)["items"]]
    assert listed == [world.lease().item for _ in listed]


# All of it at once, recounted at each seq.


@pytest.mark.parametrize("seed", range(10))
def test_random_use_never_exceeds_a_limit(seed: int) -> None:
    drive(seed)


def drive(seed: int) -> Counter[str]:
    """Random leases, reports and ends under random limits, with everything recounted."""
    rnd, world = Random(seed), World()
    watch, seen = Watch(world), Counter[str]()
    leases: list[Any] = []
    for _ in range(160):
        way = rnd.random()
        if way < 0.06:
            scope = rnd.choice(("ledger", "class/a", "tenant/t", "actor/bob", "repository/main"))
            many = None if scope == "repository/main" else rnd.choice((None, 1, 3))
            limit(world, scope, concurrency=many, rate=rnd.choice((None, 2)), per_ms=20_000,
                  spend_micros=rnd.choice((None, 60, 400)), reserve_micros=rnd.choice((0, 0, 7)))  # fmt: skip
        elif way < 0.10:
            limit(world, rnd.choice(("class/a", "lane/a|t")), weight=rnd.choice((1, 2, 5)))
        elif way < 0.35:
            world.create(work_class=rnd.choice("ab"), tenant=rnd.choice("tu"))
        elif way < 0.65:
            command = c.GrantLease(spend_micros=rnd.choice((0, 0, 5, 20)), ttl_ms=60_000)
            answer = world.do(rnd.choice(AGENTS), command)
            if isinstance(answer, Done):
                leases.append(answer.events[-1].event.lease)  # type: ignore[attr-defined]  # of a grant
                seen["given"] += 1
            else:
                seen[answer.code] += 1
        elif way < 0.95 and leases:
            lease = rnd.choice(leases)
            seen[_under(rnd, world, lease)] += 1
        else:
            world.pass_us(rnd.choice((1, 5)) * 7 * SECOND)
        watch.look()
    return seen


def _under(rnd: Random, world: World, lease: Any) -> str:
    spent = rnd.choice((None, 3, 9, 30))
    report = world.report(lease)
    command: Any = rnd.choice(
        (
            c.ReportProgress(lease.item, lease.fence, spent_micros=spent),
            c.ReleaseLease(lease.item, lease.fence, spent_micros=spent),
            c.ReportCompletion(
                lease.item, lease.fence, report.head, report.base, spent_micros=spent
            ),
        )
    )
    answer = world.do(lease.actor, command)
    return "under" if isinstance(answer, Done) else answer.code


def test_the_random_use_meets_every_refusal() -> None:
    seen = sum((drive(seed) for seed in range(10, 20)), Counter[str]())
    wanted = {"given", "under", Code.RATE_LIMIT, Code.BUDGET_EXHAUSTED, Code.SPEND_UNESTIMATED,
              Code.CONCURRENCY_LIMIT, Code.STALE_FENCE}  # fmt: skip
    assert wanted <= seen.keys(), seen


@pytest.mark.parametrize(
    ("what", "fault"),
    [
        ("remit.core.evolve.limits.outstanding", lambda reserved, charged: reserved),
        ("remit.core.decide.choosing.over_spend", lambda *_: None),
        ("remit.core.decide.choosing.over_rate", lambda *_: None),
        ("remit.core.evolve.moves.class_weight", None),
        ("remit.core.evolve.limits.ended", lambda *_, **__: None),
    ],
    ids=[
        "refund-of-what-was-spent",
        "spend-unasked",
        "rate-unasked",
        "weight-forgotten",
        "never-settled",
    ],
)
def test_a_planted_fault_is_found(what: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault is None:
        monkeypatch.setattr(what, lambda *_: 1)
        with pytest.raises(AssertionError):
            test_a_class_gets_its_share_however_many_tenants_it_has(World())
        return
    monkeypatch.setattr(what, fault)
    with pytest.raises((Broken, AssertionError)):
        for seed in range(30):
            drive(seed)


def test_what_is_set_aside_is_never_less_than_nothing() -> None:
    assert [outstanding(10, charged) for charged in (0, 4, 10, 11)] == [10, 6, 0, 0]
    assert folds.HANDLERS
