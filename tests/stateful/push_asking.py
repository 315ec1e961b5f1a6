"""Every command about pushes of approved work, asked of a ledger beside all others.

Approved items are rare in traffic that does anything at any time, so where there is none the item that
is furthest on is led there, a step a call. Most pushes are intended as a service would; some are about
another head, have a red row or clash with main.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.core.pushing import about, work_of
from tests.core.traffic import Ask
from tests.core.world import BASE, COMMAND, HUMAN, MAIN, World, sha

from remit.core import commands as c
from remit.core.checks import Result
from remit.core.commands import Text
from remit.core.effect_facts import Effect, EffectState
from remit.core.facts import Item
from remit.core.pushes import push_effect
from remit.core.status import Kind, Status

RECONCILER = "remit-reconciler"
REVIEWERS = ("cat", "dan", "bob")
ENDS = ("answered", "refused", "unsent", "unanswered", "hoped")
ONWARD = (Status.IN_REVIEW, Status.LEASED, Status.READY)


class PushAsking:
    """Asks about pushes in one world."""

    def __init__(self, world: World) -> None:
        self.world = world

    def ask(self, rnd: Random) -> Ask:
        """A push of approved work, or the next step towards some."""
        items = [i for i in self.world.items() if i.kind is Kind.DELIVERY]
        approved = [i for i in items if i.status is Status.APPROVED]
        if approved:
            return self._push(rnd, rnd.choice(approved))
        for status in ONWARD:
            for item in items:
                if item.status is status:
                    return self._onward(item)
        return HUMAN, c.CreateItem("to be pushed", rows=(COMMAND,))

    def _onward(self, item: Item) -> Ask:
        if item.status is Status.READY:
            return "bob", c.GrantLease(item.id)
        if item.lease is not None:
            report = c.ReportCompletion(item.id, item.lease.fence, sha(6), BASE, tree=sha(901))
            return item.lease.actor, report
        free = [name for name in REVIEWERS if name not in item.holders]
        return free[0] if free else HUMAN, c.ReviewWork(item.id, True, Text("good"))

    def _push(self, rnd: Random, item: Item) -> Ask:
        effect = self.world.fact("effect", push_effect(item.id))
        under_way = isinstance(effect, Effect) and effect.state in (
            EffectState.INTENDED,
            EffectState.UNCERTAIN,
        )
        if isinstance(effect, Effect) and under_way and rnd.random() < 0.9:
            return self._ended(rnd, effect)
        chance = rnd.random()
        if chance < 0.2:
            work = work_of(self.world, item.id)
            clash = c.FailIntegration(
                item.id, work.head, work.review_seq, MAIN, BASE, "merge", ("a.py",)
            )
            return HUMAN, clash
        if chance < 0.3:
            command = about(self.world, item.id, head=sha(rnd.randint(1, 9)))
        elif chance < 0.4:
            command = about(self.world, item.id, result="ship-verify-gap", check=Result.FAIL)
        else:
            command = about(self.world, item.id, sha(rnd.randint(7_000, 7_003)))
        findings = tuple(replace(found, log="") for found in command.findings)
        return HUMAN, replace(command, findings=findings)

    def _ended(self, rnd: Random, effect: Effect) -> Ask:
        if rnd.random() < 0.5:
            attempt = effect.attempt if rnd.random() < 0.9 else "P-9.9"
            return HUMAN, c.NotePush(effect.id, attempt, rnd.choice(ENDS), "so it was")
        result = rnd.choice(("NONE", "ONE", "UNAVAILABLE"))
        seen = c.ObserveEffect(effect.id, "", result, self.world.now, effect.version)
        return RECONCILER, seen
