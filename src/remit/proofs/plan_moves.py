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
from remit.core import plan_commands as pc
from remit.core.actor_commands import KeySpec
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.commands import Ask, Command
from remit.core.decide import Refused
from remit.core.decisions import Decision, DecisionState
from remit.core.evolve.plans import GONE
from remit.core.facts import LEDGER, Ledger, Planned, PlanRevision
from remit.core.planning.authority import Need, needed
from remit.core.planning.bundle import Bundle
from remit.core.planning.check import Finding, check
from remit.core.planning.difference import Name
from remit.core.signing import Proof
from remit.core.trace_commands import ClearLink
from remit.proofs import plan_oracle as oracle
from remit.proofs.plan_cast import PLAN, PlanCast, digests
from remit.proofs.world import HUMAN, IMPLEMENTERS, T0, UNIT_US, Stage, State, Step, Taken, ask_core
from remit.service.planned import Entries
from remit.service.planning import Apply
from remit.service.proposing import Proposed

BEGIN: Final = T0 + UNIT_US
PLANNER: Final = "ann"
"""Who applies plans and proposes decisions: an agent, which may."""

ID: Final = "P-1"
KEY: Final = "SHA256:" + "k" * 43
SPARE: Final = "SHA256:" + "s" * 43
"""A second key of the human, so that the first can be revoked."""

OTHER_KEY: Final = "SHA256:" + "o" * 43
"""A key that nobody has enrolled."""

NONCES: Final = ("a" * 32, "b" * 32)


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
    return dict(sorted(found.items()))


def decisions_of(stage: Stage, state: State) -> dict[str, Decision]:
    """Every decision by its id."""
    ids = (f"D-{n}" for n in range(1, len(plan_cast(stage).decisions) + 1))
    found = ((name, decision_of(stage, state, name)) for name in ids)
    return {name: decision for name, decision in found if decision is not None}


def strict(stage: Stage, state: State) -> bool:
    """Whether only what a human signed counts."""
    ledger = stage.get(state, *LEDGER)
    return isinstance(ledger, Ledger) and not ledger.policy.accept_unproved


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
    proposed = Proposed(bundle, own.records, own.whole, own.proposal, known, base, needs, findings)
    return Apply(None, proposed, lambda *_: None, ID)  # type: ignore[arg-type]  # nothing is run by it


def plan_moves(stage: Stage, state: State) -> Iterator[Step]:
    """Every step of planning that is tried in a state."""
    yield from _applying(stage, state)
    yield from _deciding(stage, state)
    yield from _clearing(stage, state)


def _clearing(stage: Stage, state: State) -> Iterator[Step]:
    """Every link of the plan in force is cleared, suspect or not, also by who may not."""
    plan, bundle = plan_of(stage, state), in_force(stage, state)
    if not stage.world.has("clear") or bundle is None or plan is None or plan.open is not None:
        return
    entries = planned_of(stage, state)
    for upper, lower in oracle.links(bundle):
        ids = (entries[upper].id, entries[lower].id)
        for actor in (HUMAN, *stage.world.actors):
            yield Step(actor, ClearLink(*ids, c.Text("they fit")))
        yield Step(HUMAN, ClearLink(*ids, c.Text("they fit"), "0" * 64))


def _applying(stage: Stage, state: State) -> Iterator[Step]:
    cast, plan = plan_cast(stage), plan_of(stage, state)
    revision = plan.revision if plan is not None else 0
    under_way = plan.open if plan is not None else None
    opens, items = state.books.get("opens", 0), len(stage.items(state))
    for bundle in cast.bundles:
        room = opens < cast.opens and revision < cast.revisions
        room = room and items + len(bundle.items) <= cast.items
        own = digests(bundle)
        mine = under_way is not None and under_way.digest == own.whole
        if under_way is None and plan is not None and plan.digest == own.whole:
            continue
        if room or (mine and under_way is not None and not under_way.sealing):
            yield Step(PLANNER, pc.OpenPlan(PLAN, revision, own.whole, own.proposal))
        if room and revision:
            yield Step(PLANNER, pc.OpenPlan(PLAN, revision - 1, own.whole, own.proposal))
        apply = apply_of(stage, state, bundle)
        if mine and plan is not None:
            yield from _carrying_on(stage, state, apply, plan)
        elif plan is not None:
            yield Step(PLANNER, pc.ApplyPlanRecord(ID, own.whole, bundle.goal, bundle.goal.label))
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
    if not plan.open.sealed and next_one is None:
        yield Step(PLANNER, pc.SealPlanPart(ID, digest, after))
    if plan.open.sealing:
        yield Step(PLANNER, pc.ApplyPlanRecord(ID, digest, apply.proposed.bundle.goal))
    yield Step(PLANNER, apply.closing())


def next_of(stage: Stage, state: State, apply: Apply) -> Command | None:
    """The first command of an apply that writes something or is refused; None where all are done."""
    view, ask = stage.view(state), Ask(state.now, PLANNER)
    for command in apply.steps():
        answer = ask_core(view, command, ask)
        if isinstance(answer, Refused) or answer.events:
            return command
    return None


def _deciding(stage: Stage, state: State) -> Iterator[Step]:
    cast, world = plan_cast(stage), stage.world
    if not world.has("decide"):
        return
    if cast.keyed:
        yield from _around_keys(stage, state)
    for number in range(1, len(cast.decisions) + 1):
        found = decision_of(stage, state, f"D-{number}")
        if found is None:
            yield Step(PLANNER, cast.proposal(number, BEGIN, UNIT_US))
            return
        record = found.record
        if cast.keyed and found.state is DecisionState.PROPOSED:
            yield from _signed(stage, state, found)
        for chosen in ("yes", "no"):
            yield Step(HUMAN, c.AcceptDecision(found.id, record, chosen))
        yield Step(HUMAN, c.RejectDecision(found.id, "not now", record))
        if found.state is DecisionState.PROPOSED:
            yield Step(HUMAN, c.AcceptDecision(found.id, "0" * 64, "yes"))
            for agent in (*IMPLEMENTERS, "remit-verifier"):
                yield Step(agent, c.AcceptDecision(found.id, record, "yes"))
                yield Step(agent, c.RejectDecision(found.id, "not now", record))


def signed(stage: Stage, state: State, command: Command, nonce: str, flaw: str = "") -> Step:
    """A command with its human's signature over exactly what it comes to, but for one flaw."""
    proof = Proof(nonce, state.now + UNIT_US)
    of = command
    if flaw == "subject":  # it was signed for the opposite
        assert isinstance(command, c.AcceptDecision)
        other = "no" if command.chosen == "yes" else "yes"
        of = changed(command, chosen=other)
    answer = ask_core(stage.view(state), of, Ask(state.now, HUMAN, proof=proof))
    details = answer.details if isinstance(answer, Refused) else {}
    said = str(details.get("statement", ""))
    whole = changed(
        proof,
        statement=said,
        signature="sig",
        namespace="remit-review" if flaw == "namespace" else str(details.get("namespace", "")),
        fingerprint=OTHER_KEY if flaw == "key" else KEY,
        reach=Result.FAIL if flaw == "prompt" else Result.PASS,
        until=state.now if flaw == "late" else proof.until,
    )
    return Step(HUMAN, command, proof=whole)


FLAWS: Final = ("subject", "namespace", "key", "prompt")
"""What may be wrong with a signature beside its nonce; a key that was revoked is another."""


def _signed(stage: Stage, state: State, decision: Decision) -> Iterator[Step]:
    yes = c.AcceptDecision(decision.id, decision.record, "yes")
    for nonce in NONCES:
        yield signed(stage, state, yes, nonce)
    yield signed(stage, state, c.AcceptDecision(decision.id, decision.record, "no"), NONCES[0])
    yield signed(stage, state, c.RejectDecision(decision.id, "no", decision.record), NONCES[0])
    for flaw in FLAWS:
        yield signed(stage, state, yes, NONCES[-1], flaw)


def _around_keys(stage: Stage, state: State) -> Iterator[Step]:
    """The key is revoked, by its own signature, and policy stops to accept what nothing proves."""
    if not state.books.get("revoked"):
        yield signed(stage, state, c.RevokeKey(HUMAN, KEY, "lost"), "e" * 32)
        if not strict(stage, state):
            policy = changed(stage.world.policy, accept_unproved=False)
            yield signed(stage, state, c.SetPolicy(policy), "f" * 32)


def begun(stage: Stage) -> State:
    """The first state of a world: keys, decisions that are proposed, plans that are in force.

    They become part of the stage's base, so that states hold only what comes after.
    """
    cast, state = plan_cast(stage), stage.first
    if cast.keyed:
        key = KeySpec(KEY, "ssh-ed25519", "A" * 68, reach="PASS")
        _take(stage, state, Step(HUMAN, c.EnrolKey(HUMAN, key)))
        spare = c.EnrolKey(HUMAN, changed(key, fingerprint=SPARE))
        _take(stage, state, signed(stage, state, spare, "d" * 32))
    if cast.strict:
        policy = changed(stage.world.policy, accept_unproved=False)
        _take(stage, state, signed(stage, state, c.SetPolicy(policy), "f" * 32))
    for number in range(1, cast.given + 1):
        _take(stage, state, Step(PLANNER, cast.proposal(number, BEGIN, UNIT_US)))
    for bundle in cast.bundles[: cast.applied]:
        for step in whole_apply(stage, state, bundle):
            _take(stage, state, step)
    for name in stage.items(state):
        _take(stage, state, Step(HUMAN, c.Recheck(name)))
    _write_books(stage, state)
    stage.base = {**stage.base, **state.facts}
    state.facts = {}
    return state


def _write_books(stage: Stage, state: State) -> None:
    """What the search would have written down on the way."""
    bundle, plan = in_force(stage, state), plan_of(stage, state)
    state.books = {"nonce/ff": 1} if plan_cast(stage).strict else {}  # what the world began with
    if plan is None or bundle is None:
        return
    state.books["closed"] = plan.revision
    if stage.world.has("clear"):
        state.books |= dict.fromkeys(oracle.stated(None, bundle), plan.revision)
    for (kind, label), entry in planned_of(stage, state).items():
        if kind == "item":
            state.books[f"brief/{entry.id}"] = oracle.number_of(bundle, label)


def _take(stage: Stage, state: State, step: Step) -> None:
    taken = stage.take(state, step)
    if taken.refused is not None:
        raise AssertionError(f"the world cannot begin: {taken.refused.message}")
    put(state, taken)


def put(state: State, taken: Taken) -> None:
    """Store what was decided, without judging it."""
    for decided in taken.decided:
        state.facts.update(decided.delta)
        state.seq += len(decided.events)


def whole_apply(stage: Stage, state: State, bundle: Bundle) -> Iterator[Step]:
    """Every step of an apply as the service takes them, each made of what the last one left."""
    own, plan = digests(bundle), plan_of(stage, state)
    revision = plan.revision if plan is not None else 0
    yield Step(PLANNER, pc.OpenPlan(PLAN, revision, own.whole, own.proposal))
    apply = apply_of(stage, state, bundle)
    for command in apply.steps():
        yield Step(PLANNER, command)
    yield Step(PLANNER, pc.SealPlanPart(ID, own.whole, ""))
    yield Step(PLANNER, apply.closing())


def moments(stage: Stage, state: State) -> list[int]:
    """When decisions run out that stand or may still be proposed, in microseconds."""
    cast = plan_cast(stage)
    if not stage.world.has("decide"):
        return []
    return [BEGIN + asked.expires * UNIT_US for asked in cast.decisions if asked.expires]
