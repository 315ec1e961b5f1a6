"""A verified planned item whose requirement changes, and the item that goes on from it, step by step.

No other way of asking gets there: a plan has to be closed, one of its items worked to verified, its
requirement revised, and the item looked at again before ``SucceedItem`` has anything to do. Each call
asks for the step that is next as the ledger stands, so other traffic may come between.
"""

from __future__ import annotations

from random import Random

from tests.core.plans import requirement, sound
from tests.core.world import BASE, HUMAN, VERIFIER, World, sha
from tests.stateful.plan_asking import NAME, PlanAsking

from remit.core import commands as c
from remit.core.commands import Command, Text
from remit.core.facts import Item, PlanRevision
from remit.core.planning.difference import bundle_of, name_of
from remit.core.staleness import causes
from remit.core.status import Status

ORDER = (Status.SHIPPED, Status.APPROVED, Status.IN_REVIEW, Status.LEASED, Status.READY)
"""What is furthest on is asked about first."""


class Succeeding:
    """Asks for the next step on the way to a successor of a verified item."""

    def __init__(self, world: World, plans: PlanAsking) -> None:
        self.world = world
        self.plans = plans

    def ask(self, rnd: Random) -> tuple[str, Command]:
        """Who asks for which step."""
        planned = [i for i in self.world.items() if i.plan.governed and not i.plan.governed.left]
        for item in planned:
            if item.status is Status.VERIFIED and not item.successor:
                return self._after(rnd, item)
        plan = self.plans._plan()
        if plan is not None and plan.open is not None and self.plans.target is not None:
            return HUMAN, self.plans._next(rnd, plan)
        waiting = [i for i in planned if i.status in (Status.DRAFT, Status.HELD)]
        if waiting and rnd.random() < 0.8:
            return HUMAN, c.Recheck(waiting[0].id)
        for status in ORDER:
            for item in planned:
                if item.status is status:
                    return self._onward(rnd, item)
        self.plans.target = sound(1, NAME)
        return HUMAN, self.plans._opening(self.plans.target, plan)

    def _after(self, rnd: Random, item: Item) -> tuple[str, Command]:
        """Stale: let another go on. Not what it was: look again. Else revise its requirement."""
        if item.stale:
            others = [i.id for i in self.world.items() if not i.terminal]
            if not others:
                return HUMAN, c.CreateItem("to go on")
            return HUMAN, c.SucceedItem(item.id, rnd.choice(others), Text("goes on there"))
        if causes(self.world.fact, item, self.world.now):
            return HUMAN, c.Recheck(item.id)
        plan = self.plans._plan()
        if plan is None or plan.open is None:
            self._revised(rnd)
        assert self.plans.target is not None
        return HUMAN, self._step(rnd, plan)

    def _revised(self, rnd: Random) -> None:
        changed = requirement(0, acceptance=(f"a file of {rnd.randint(2, 99)} lines",))
        target = self.plans.target or sound(1, NAME)
        records = [changed if name_of(r) == name_of(changed) else r for r in target.records()]
        self.plans.target = bundle_of(NAME, records)

    def _step(self, rnd: Random, plan: PlanRevision | None) -> Command:
        assert self.plans.target is not None
        if plan is None or plan.open is None:
            return self.plans._opening(self.plans.target, plan)
        return self.plans._next(rnd, plan)

    def _onward(self, rnd: Random, item: Item) -> tuple[str, Command]:
        lease = item.lease
        match item.status:
            case Status.READY:
                return "bob", c.GrantLease(item.id)
            case Status.LEASED if lease is not None:
                head = sha(rnd.randint(1, 9))
                report = c.ReportCompletion(item.id, lease.fence, head, BASE, tree=sha(901))
                return lease.actor, report
            case Status.IN_REVIEW:
                free = [a for a in ("cat", "dan", "bob") if a not in item.holders]
                return free[0] if free else HUMAN, c.ReviewWork(item.id, True, Text("good"))
            case Status.APPROVED:
                return HUMAN, self.world.ship_of(item.id)
            case _:
                return VERIFIER, self.world.findings(item.id)
