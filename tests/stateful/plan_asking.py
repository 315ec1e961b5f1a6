"""Plans, asked step by step: an apply that goes on, one that begins anew, and steps out of turn.

Each plan here is a small sound one with random changes. The next step is nearly always the one that an
apply would take now; the others are steps of another digest, of no plan, or too early.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.core.plans import COMMAND, goal, item, node, requirement, row, sound
from tests.core.world import HUMAN, OTHER, World

from remit.core import plan_commands as pc
from remit.core.commands import Command
from remit.core.decisions import DecisionKind
from remit.core.facts import Planned, PlanRevision
from remit.core.planning.authority import Need
from remit.core.planning.bundle import (
    KINDS,
    Ambiguity,
    Bundle,
    PlanGoal,
    PlanNode,
    PlanRequirement,
    Risk,
    bundle_digest,
    proposal_digest,
    record_digest,
)
from remit.core.planning.difference import bundle_of, name_of
from remit.core.planning.waits import in_order, waits

NAME = "exports"


class PlanAsking:
    """Ways to ask for steps of an apply; ``target`` is the plan that the open apply leads to."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.target: Bundle | None = None

    def ask(self, rnd: Random) -> tuple[str, Command]:
        """Who asks for which step."""
        who = rnd.choice((HUMAN, HUMAN, OTHER, "bob"))
        if rnd.random() < 0.12:
            return who, self._wrong(rnd)
        plan = self._plan()
        if self.target is None or plan is None or plan.open is None or rnd.random() < 0.03:
            return who, self._open(rnd, plan)
        if plan.open.digest != digest_of(self.target):
            return who, self._opening(self.target, plan)
        return who, self._next(rnd, plan)

    def _plan(self) -> PlanRevision | None:
        carrier = self.world.fact("label", f"plan/{NAME}")
        found = self.world.fact("plan", carrier) if isinstance(carrier, str) else None
        return found if isinstance(found, PlanRevision) else None

    def _open(self, rnd: Random, plan: PlanRevision | None) -> Command:
        self.target = made(rnd)
        return self._opening(self.target, plan)

    def _opening(self, target: Bundle, plan: PlanRevision | None) -> Command:
        base = plan.revision if plan is not None else 0
        return pc.OpenPlan(NAME, base, digest_of(target), proposal_digest(target))

    def _entry(self, plan: str, kind: str, label: str) -> Planned | None:
        found = self.world.fact("planned", f"{plan}/{kind}/{label}")
        return found if isinstance(found, Planned) else None

    def _next(self, rnd: Random, plan: PlanRevision) -> Command:
        assert self.target is not None
        assert plan.open is not None
        steps = self._steps(plan)
        if steps and not plan.open.sealing:
            return steps[0] if rnd.random() < 0.9 else rnd.choice(steps)
        if not plan.open.sealed:
            return pc.SealPlanPart(plan.id, plan.open.digest, plan.open.after)
        return self._close(plan.id)

    def _close(self, plan: str) -> Command:
        target = self.target or sound(1)
        parts = (target.requirements, target.nodes, target.rows, target.items)
        counts = (1, *(len(part) for part in parts))
        digests = (digest_of(target), proposal_digest(target))
        return pc.ClosePlan(plan, *digests, target.goal.label, counts, (), (), ())

    def _steps(self, plan: PlanRevision) -> list[Command]:
        """What an apply would do from here, in order."""
        target, digest = self.target, plan.open.digest if plan.open else ""
        assert target is not None
        found: list[Command] = []
        stages: tuple[PlanGoal | PlanRequirement | PlanNode, ...]
        stages = (target.goal, *target.requirements, *target.nodes)
        for record in stages:
            entry = self._entry(plan.id, KINDS[type(record)], record.label)
            if entry is None or entry.digest != record_digest(record):
                found.append(pc.ApplyPlanRecord(plan.id, digest, record, target.goal.label))
        for each in in_order(target):
            if self._stale(plan.id, target, each):
                rows = tuple(r for r in target.rows if r.label in each.rows)
                waited = waits(target)[each.label]
                goal_label = target.goal.label
                found.append(pc.ApplyPlanItem(plan.id, digest, each, goal_label, rows, waited))
        names = {name_of(record) for record in target.records()}
        with self.world.store.read() as tx:
            here = [n.split("/", 2)[1:] for n in tx.names("planned", f"{plan.id}/", 1_000)]
        found += [
            pc.RetirePlanRecord(plan.id, digest, kind, label)
            for kind, label in here
            if not kind.startswith("~") and (kind, label) not in names
        ]
        return found

    def _stale(self, plan: str, target: Bundle, each: Any) -> bool:
        mine = [r for r in target.rows if r.label in each.rows]
        entries = [(self._entry(plan, "item", each.label), record_digest(each))]
        entries += [(self._entry(plan, "row", r.label), record_digest(r)) for r in mine]
        return any(entry is None or entry.digest != digest for entry, digest in entries)

    def _wrong(self, rnd: Random) -> Command:
        plan = self._plan()
        name = plan.id if plan is not None and rnd.random() < 0.7 else "P-9"
        digest = plan.open.digest if plan is not None and plan.open is not None else "d"
        if rnd.random() < 0.3:
            digest = "d" * 64
        need = Need(DecisionKind.GOAL, ("goal/export",), "x", ("goal", "export"), "x", ("D-1",))
        steps: list[Command] = [
            pc.OpenPlan(NAME, 7, digest, digest),
            pc.OpenPlan("two words", 0, digest, digest),
            pc.ApplyPlanRecord(name, digest, requirement(rnd.randrange(3)), "nobody"),
            pc.ApplyPlanRecord(name, digest, node(rnd.randrange(3), 1)),
            pc.ApplyPlanItem(name, digest, item(rnd.randrange(3)), "export", (row(0),), ("i7",)),
            pc.RetirePlanRecord(name, digest, "song", "i0"),
            pc.RetirePlanRecord(name, digest, "item", f"i{rnd.randrange(4)}"),
            pc.SealPlanPart(name, digest, ""),
            pc.SealPlanPart(name, digest, "item/i9"),
            self._close(name),
            pc.ClosePlan(name, digest, digest, "export", (1,), (need,), ("D-2",), ()),
        ]
        return rnd.choice(steps)


def digest_of(plan: Bundle) -> str:
    """The digest of a whole plan."""
    return bundle_digest({name_of(r): record_digest(r) for r in plan.records()})


def made(rnd: Random) -> Bundle:
    """A plan of one to four items, with something changed here and there."""
    count = rnd.randint(1, 4)
    plan = sound(count, NAME)
    changes: list[Any] = []
    for n in range(count):
        changes += [
            requirement(n, acceptance=(f"a file with part {n} exists", "quickly")),
            requirement(n, ambiguities=(Ambiguity("a", "how?"),)),
            row(n, spec=replace(COMMAND, argv=("check", str(rnd.randrange(3))))),
            row(n, waived="D-1"),
            item(n, scope=(f"src/{n}", "docs")),
            item(n, priority=rnd.randrange(5)),
            item(n, title=f"Part {n} again"),
            node(n),
        ]
    changes.append(replace(goal(count), risk=Risk.HIGH))
    changes.append(replace(goal(count), ambiguities=(Ambiguity("a", "which?"),)))
    for record in rnd.sample(changes, rnd.randint(0, min(4, len(changes)))):
        name = name_of(record)
        plan = bundle_of(NAME, [record if name_of(r) == name else r for r in plan.records()])
    return plan
