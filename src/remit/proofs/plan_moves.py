"""What is tried in a world with a plan: applies that are killed anywhere, and decisions.

An apply is taken command by command, each in a transaction of its own, as the service makes them from
what is on the ledger then; so a crash lies between any two, and whoever applies the same plan next
carries on from there. It is not asked first whether a decision is there: whoever applies may have
asked long ago. Commands of an apply that another one has overtaken are tried as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remit.core import commands as c
from remit.core.commands import Ask, Command
from remit.core.decide import Refused
from remit.core.decisions import Decision, DecisionState
from remit.core.evolve.plans import GONE
from remit.core.facts import Planned, PlanRevision
from remit.core.planning.authority import Need, needed
from remit.core.planning.bundle import Bundle
from remit.core.planning.check import Finding, check
from remit.core.planning.difference import Name
from remit.proofs.plan_cast import PLAN, PlanCast, digests
from remit.proofs.world import HUMAN, IMPLEMENTERS, T0, UNIT_US, Stage, State, Step, ask_core
from remit.service.planned import Entries
from remit.service.planning import Apply
from remit.service.proposing import Proposed

BEGIN: Final = T0 + UNIT_US
PLANNER: Final = "ann"
"""Who applies plans and proposes decisions: an agent, which may."""

ID: Final = "P-1"


class Trusting:
    """Whoever asked for decisions long ago, and was told that all are there."""

    def fault(self, ref: str, need: Need | None) -> str:
        """Every decision is there."""
        return ""

    def conflicts(self) -> tuple[tuple[str, ...], ...]:
        """Nothing is contradicted."""
        return ()


def plan_cast(stage: Stage) -> PlanCast:
    """The plans of a world that has some."""
    assert stage.world.plans is not None
    return stage.world.plans


def plan_of(stage: Stage, state: State) -> PlanRevision | None:
    """The one plan, if an apply of it has begun."""
    found = stage.get(state, "plan", ID)
    return found if isinstance(found, PlanRevision) else None


def in_force(stage: Stage, state: State) -> Bundle | None:
    """The bundle that was put in force last."""
    plan = plan_of(stage, state)
    return plan_cast(stage).of(plan.digest) if plan is not None and plan.revision else None


def decision_of(stage: Stage, state: State, ref: str) -> Decision | None:
    """A decision by its id."""
    found = stage.get(state, "decision", ref)
    return found if isinstance(found, Decision) else None


def planned_of(stage: Stage, state: State) -> dict[Name, Planned]:
    """Every record that the plan has, by kind and label."""
    found: dict[Name, Planned] = {}
    for facts in (stage.base, state.facts):
        for (kind, name), fact in facts.items():
            if kind == "planned":
                _, of, label = name.split("/", 2)
                found.pop((of, label), None)
                if isinstance(fact, Planned) and not of.startswith(GONE):
                    found[of, label] = fact
    return found


_FOUND: Final[dict[tuple[int, int], tuple[tuple[Need, ...], tuple[Finding, ...]]]] = {}


def _asked(base: Bundle | None, bundle: Bundle) -> tuple[tuple[Need, ...], tuple[Finding, ...]]:
    """What a change needs, and what is wrong with it whatever the decisions say."""
    key = (id(base), id(bundle))
    if key not in _FOUND:
        _FOUND[key] = (needed(base, bundle), check(bundle, Trusting(), base))
    return _FOUND[key]


def apply_of(stage: Stage, state: State, bundle: Bundle) -> Apply:
    """The service's own apply of a bundle, onto what is on the ledger now."""
    base, own = in_force(stage, state), digests(bundle)
    known = Entries(plan_of(stage, state), planned_of(stage, state), {})
    needs, findings = _asked(base, bundle)
    proposed = Proposed(
        bundle, own.records, own.whole, own.proposal, known, base, needs, findings
    )
    return Apply(None, proposed, lambda *_: None, ID)  # type: ignore[arg-type]  # nothing is run by it


def plan_moves(stage: Stage, state: State) -> Iterator[Step]:
    """Every step of planning that is tried in a state."""
    yield from _applying(stage, state)
    yield from _deciding(stage, state)


def _applying(stage: Stage, state: State) -> Iterator[Step]:
    cast, plan = plan_cast(stage), plan_of(stage, state)
    revision = plan.revision if plan is not None else 0
    under_way = plan.open if plan is not None else None
    room = state.books.get("opens", 0) < cast.opens and revision < cast.revisions
    for bundle in cast.bundles:
        own = digests(bundle)
        mine = under_way is not None and under_way.digest == own.whole
        if under_way is None and plan is not None and plan.digest == own.whole:
            continue
        if room or (mine and under_way is not None and not under_way.sealing):
            yield Step(PLANNER, c.OpenPlan(PLAN, revision, own.whole, own.proposal))
        if room and revision:
            yield Step(PLANNER, c.OpenPlan(PLAN, revision - 1, own.whole, own.proposal))
        apply = apply_of(stage, state, bundle)
        if mine and plan is not None:
            yield from _carrying_on(stage, state, apply, plan)
        elif plan is not None:
            yield Step(PLANNER, c.ApplyPlanRecord(ID, own.whole, bundle.goal, bundle.goal.label))
            yield Step(PLANNER, apply.closing())


def _carrying_on(stage: Stage, state: State, apply: Apply, plan: PlanRevision) -> Iterator[Step]:
    """The next command of the apply that is open, and the later ones that come too early."""
    assert plan.open is not None
    digest, after = apply.proposed.digest, plan.open.after
    next_one = None
    if not plan.open.sealing:
        next_one = next_of(stage, state, apply)
        if next_one is not None:
            yield Step(PLANNER, next_one)
    if not plan.open.sealed:
        yield Step(PLANNER, c.SealPlanPart(ID, digest, after))
    else:
        yield Step(PLANNER, c.ApplyPlanRecord(ID, digest, apply.proposed.bundle.goal))
    yield Step(PLANNER, apply.closing())


def next_of(stage: Stage, state: State, apply: Apply) -> Command | None:
    """The first command of an apply that writes something or is refused; None where all are done."""
    if len(stage.items(state)) >= plan_cast(stage).items:
        return None
    view, ask = stage.view(state), Ask(state.now, PLANNER)
    for command in apply.steps():
        answer = ask_core(view, command, ask)
        if isinstance(answer, Refused) or answer.events:
            return command
    return None


_WHY: Final = (("yes", "no"), ("no", "yes"))


def _deciding(stage: Stage, state: State) -> Iterator[Step]:
    cast, world = plan_cast(stage), stage.world
    if not world.has("decide"):
        return
    for number in range(1, len(cast.decisions) + 1):
        found = decision_of(stage, state, f"D-{number}")
        if found is None:
            yield Step(PLANNER, cast.proposal(number, BEGIN, UNIT_US))
            return
        record = found.record
        for chosen, _ in _WHY:
            yield Step(HUMAN, c.AcceptDecision(found.id, record, chosen))
        yield Step(HUMAN, c.RejectDecision(found.id, "not now", record))
        if found.state is DecisionState.PROPOSED:
            yield Step(HUMAN, c.AcceptDecision(found.id, "0" * 64, "yes"))
            for agent in (*IMPLEMENTERS, "remit-verifier"):
                yield Step(agent, c.AcceptDecision(found.id, record, "yes"))
                yield Step(agent, c.RejectDecision(found.id, "not now", record))


def moments(stage: Stage, state: State) -> list[int]:
    """When decisions run out that stand or may still be proposed, in microseconds."""
    cast = plan_cast(stage)
    if not stage.world.has("decide"):
        return []
    return [BEGIN + asked.expires * UNIT_US for asked in cast.decisions if asked.expires]
