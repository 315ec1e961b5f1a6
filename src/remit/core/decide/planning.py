"""Decisions on an apply of a plan: opening it, its records, sealing them, and putting it in force.

An apply is many commands in many transactions, and any of them may be asked again: one that was done
writes nothing. The core computes each digest itself from the record that it is given. The end names
the digest of the whole plan, and is refused unless the records on the ledger, taken part by part in
the order of their names, have that digest: what is put in force is exactly what was checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from remit.core import commands as c
from remit.core import plan_commands as pc
from remit.core import plan_events as e
from remit.core.decide.asking import bad
from remit.core.decide.plan_items import apply_item, digests_of
from remit.core.decide.plan_parting import retire_item
from remit.core.evolve.plans import entry_of
from remit.core.facts import Goal, OpenApply, Planned, PlanRevision, Requirement
from remit.core.planning.authority import Need
from remit.core.planning.bundle import (
    KINDS,
    PART,
    PlanGoal,
    PlanRequirement,
    link,
)
from remit.core.planning.deciding import LedgerDecisions, consume
from remit.core.planning.index import names_problem
from remit.core.planning.stages import goal_alone, requirement_alone
from remit.core.planning.texts import without
from remit.core.refusals import Code, Refused
from remit.core.view import Draft


def _open(draft: Draft, cmd: pc.OpenPlan) -> Refused | None:
    fault = names_problem(cmd.label)
    if fault:
        return bad("name of the plan", cmd.label, fault)
    known = draft.get("label", f"plan/{cmd.label}")
    if not isinstance(known, str):
        if cmd.base_revision:
            return _moved(cmd, 0)
        event = e.PlanOpened(cmd.label, 1, cmd.digest, cmd.proposal_digest, "")
        draft.open("plan", f"P-{draft.counter('plan') + 1}", event)
        return None
    plan = draft.get("plan", known)
    if not isinstance(plan, PlanRevision) or plan.revision != cmd.base_revision:
        return _moved(cmd, plan.revision if isinstance(plan, PlanRevision) else 0)
    wanted = (cmd.digest, cmd.proposal_digest)
    begun = plan.open
    if begun is not None and not begun.sealing and (begun.digest, begun.proposal) == wanted:
        return None
    draft.emit("plan", known, e.PlanOpened(plan.label, plan.revision + 1, *wanted, plan.digest))
    return None


def _moved(cmd: pc.OpenPlan, found: int) -> Refused:
    return Refused(
        Code.PLAN_MOVED,
        f"cannot apply the plan {cmd.label!r} onto revision {cmd.base_revision}: it is at {found}",
        "look at what changed, then apply again",
        {"plan": cmd.label, "expected": cmd.base_revision, "revision": found},
    )


def _under_way(draft: Draft, name: str, digest: str) -> tuple[PlanRevision, OpenApply] | Refused:
    """The plan and its open apply under this digest."""
    plan = draft.get("plan", name)
    if isinstance(plan, PlanRevision) and plan.open is not None and plan.open.digest == digest:
        return plan, plan.open
    return Refused(
        Code.PLAN_NOT_OPEN,
        f"no apply of {name!r} with the digest {digest[:12]} is open",
        "apply the plan again",
        {"plan": name, "digest": digest},
    )


def _unsealed(draft: Draft, name: str, digest: str) -> tuple[PlanRevision, str] | Refused:
    """The plan and the id of its coming revision, while records may still change."""
    found = _under_way(draft, name, digest)
    if isinstance(found, Refused):
        return found
    plan, under_way = found
    if under_way.sealing:
        return Refused(
            Code.PLAN_NOT_OPEN,
            f"the records of {plan.id} are being sealed and cannot change",
            "apply the plan again",
            {"plan": plan.id, "after": under_way.after},
        )
    return plan, f"{plan.id}@{under_way.revision}"


def _record(draft: Draft, cmd: pc.ApplyPlanRecord) -> Refused | None:
    found = _unsealed(draft, cmd.plan, cmd.digest)
    if isinstance(found, Refused):
        return found
    plan, revision_id = found
    record = cmd.record
    kind = KINDS[type(record)]
    digest, proposal = digests_of(record)
    known = draft.get("planned", entry_of(plan.id, kind, record.label))
    if isinstance(known, Planned) and known.digest == digest:
        return None
    carrier = draft.get("label", f"{kind}/{record.label}")
    old: Any = draft.get(kind, carrier) if isinstance(carrier, str) else None
    if old is not None and old.plan != plan.id:
        return _taken(kind, record.label, str(carrier), old.plan)
    revision = old.revision + 1 if old is not None else 1
    name = str(carrier) if old is not None else f"{kind[0].upper()}-{draft.counter(kind) + 1}"
    previous = old.digest if old is not None else ""
    head = (digest, previous, proposal)
    same = isinstance(known, Planned) and known.proposal == proposal
    meaning = _meaning(old, proposal, revision, same=same)
    event = _event(draft, cmd, revision_id, name, revision, head, meaning)
    if isinstance(event, Refused):
        return event
    if old is None:
        draft.open(kind, name, event)
    else:
        draft.emit(kind, name, event)
    return None


def _taken(kind: str, label: str, carrier: str, plan: str) -> Refused:
    return Refused(
        Code.LABEL_TAKEN,
        f"the {kind} {label!r} is {carrier} of {plan or 'no plan'}",
        "labels are unique on a ledger: choose another",
        {"kind": kind, "label": label, "id": carrier, "plan": plan},
    )


def _event(
    draft: Draft,
    cmd: pc.ApplyPlanRecord,
    revision_id: str,
    name: str,
    revision: int,
    head: tuple[str, str, str],
    meaning: int,
) -> Any:
    """The event of a goal, requirement or node."""
    record = cmd.record
    paths = [path for path, _ in cmd.texts]
    if isinstance(record, PlanGoal):
        shut = tuple(dict.fromkeys(str(f.code) for f in goal_alone(record) if f.blocking))
        named = (revision_id, revision, f"{name}@{revision}")
        return e.GoalRevised(*named, *head, without(record, paths), cmd.texts, shut)
    if isinstance(record, PlanRequirement):
        goal = goal_of(draft, cmd.goal)
        if isinstance(goal, Refused):
            return goal
        faults = requirement_alone(record)
        shut = tuple(dict.fromkeys(str(f.code) for f in faults if f.blocking))
        named_by = (revision_id, goal, revision, meaning)
        return e.RequirementRevised(*named_by, *head, without(record, paths), cmd.texts, shut)
    refs = tuple(_reference(draft, "requirement", label) for label in record.requirements)
    return e.NodeRevised(revision_id, revision, *head, record, refs)


def _meaning(old: Any, proposal: str, revision: int, *, same: bool) -> int:
    """The revision since which a requirement has meant this: a new one, or an earlier one again.

    An apply that was given up may have changed it; what the plan in force says means what it meant.
    """
    if not isinstance(old, Requirement):
        return revision
    held, meaning = old.held
    return old.meaning if same else meaning if held == proposal else revision


def goal_of(draft: Draft, label: str) -> str | Refused:
    """The present revision of a goal by its label."""
    name = draft.get("label", f"goal/{label}")
    goal = draft.get("goal", name) if isinstance(name, str) else None
    if isinstance(goal, Goal) and not goal.retired:
        return f"{goal.id}@{goal.revision}"
    return bad("goal", label, "the label of the plan's goal, applied before")


def _reference(draft: Draft, kind: str, label: str) -> str:
    """The id of a record with its revision; the label behind a question mark while there is none."""
    name = draft.get("label", f"{kind}/{label}")
    fact: Any = draft.get(kind, name) if isinstance(name, str) else None
    return f"{name}@{fact.revision}" if fact is not None else f"?{label}"


def _item(draft: Draft, cmd: pc.ApplyPlanItem) -> Refused | None:
    found = _unsealed(draft, cmd.plan, cmd.digest)
    goal = goal_of(draft, cmd.goal)
    if isinstance(found, Refused) or isinstance(goal, Refused):
        return found if isinstance(found, Refused) else goal  # type: ignore[return-value]  # a refusal
    plan, revision_id = found
    return apply_item(draft, cmd, plan, revision_id, goal)


_RETIRED: Final[dict[str, Any]] = {
    "goal": e.GoalRetired,
    "requirement": e.RequirementRetired,
    "node": e.NodeRetired,
}


def _retire(draft: Draft, cmd: pc.RetirePlanRecord) -> Refused | None:
    found = _unsealed(draft, cmd.plan, cmd.digest)
    if isinstance(found, Refused):
        return found
    plan, revision_id = found
    if cmd.kind not in KINDS.values():
        return bad("kind", cmd.kind, "one of " + ", ".join(KINDS.values()))
    known = draft.get("planned", entry_of(plan.id, cmd.kind, cmd.label))
    if not isinstance(known, Planned):
        return None
    if cmd.kind == "item":
        return retire_item(draft, known, revision_id)
    if cmd.kind == "row":
        draft.emit("row", known.id, e.RowRetired(revision_id, known.digest, ""))
        return None
    old: Any = draft.get(cmd.kind, known.id)
    event = _RETIRED[cmd.kind](revision_id, old.revision + 1, known.digest)
    draft.emit(cmd.kind, known.id, event)
    return None


def _seal(draft: Draft, cmd: pc.SealPlanPart) -> Refused | None:
    found = _under_way(draft, cmd.plan, cmd.digest)
    if isinstance(found, Refused):
        return found
    plan, under_way = found
    if under_way.sealed or cmd.after != under_way.after:
        return None
    prefix = f"{plan.id}/"
    if any(kind == "planned" and name.startswith(prefix) for kind, name in draft.view.original):
        return Refused(
            Code.PLAN_DIFFERS,
            f"records of {plan.id} changed in the same commit",
            "seal them in the next",
            {"plan": plan.id},
        )
    names = draft.query("planned?", f"{prefix}#{cmd.after}")
    part, proposed = [], []
    for name in names:
        entry = draft.get("planned", f"{prefix}{name}")
        if isinstance(entry, Planned):
            part.append((name, entry.digest))
            proposed.append((name, entry.proposal))
    chain, proposal = under_way.chain, under_way.proposal_chain
    alike = chain == proposal and part == proposed
    if part:
        chain = link(chain, part)
        proposal = chain if alike else link(proposal, proposed)
    event = e.PlanPartSealed(
        names[-1] if names else under_way.after,
        under_way.count + len(part),
        chain,
        proposal,
        complete=len(names) < PART,
    )
    draft.emit("plan", plan.id, event)
    return None


def _close(draft: Draft, cmd: pc.ClosePlan) -> Refused | None:
    found = _under_way(draft, cmd.plan, cmd.digest)
    if isinstance(found, Refused):
        return found
    plan, under_way = found
    refused = _differs(plan, under_way, cmd) or _undecided(draft, cmd)
    goal = goal_of(draft, cmd.goal)
    if refused is not None or isinstance(goal, Refused):
        return refused or goal  # type: ignore[return-value]  # a refusal
    event = e.PlanClosed(
        f"{plan.id}@{under_way.revision}",
        under_way.revision,
        under_way.chain,
        plan.digest,
        under_way.proposal_chain,
        plan.version,
        goal.partition("@")[0],
        goal,
        cmd.counts,
        cmd.shut,
        tuple(dict.fromkeys((*cmd.named, *(ref for need in cmd.needs for ref in need.refs)))),
    )
    draft.emit("plan", plan.id, event)
    consume(draft, event.decisions, event.plan_revision_id, event.digest)
    return None


def _differs(plan: PlanRevision, under_way: OpenApply, cmd: pc.ClosePlan) -> Refused | None:
    """Refuse to put in force what is not, to the last record, what was checked."""
    if not under_way.sealed:
        what = "its records are not sealed"
    elif under_way.chain != under_way.digest:
        what = f"its records have the digest {under_way.chain[:12]}, not {under_way.digest[:12]}"
    elif not under_way.proposal_chain == under_way.proposal == cmd.proposal_digest:
        what = f"what is proposed has the digest {under_way.proposal_chain[:12]}"
    elif sum(cmd.counts) != under_way.count:
        what = f"it has {under_way.count} records, not {sum(cmd.counts)}"
    else:
        return None
    return Refused(
        Code.PLAN_DIFFERS,
        f"cannot put {plan.id}@{under_way.revision} in force: {what}",
        "apply the plan again",
        {"plan": plan.id, "digest": under_way.digest, "found": under_way.chain},
    )


def _undecided(draft: Draft, cmd: pc.ClosePlan) -> Refused | None:
    """Refuse while decisions contradict one another, or one that is needed is not there."""
    named = tuple(dict.fromkeys((*cmd.named, *(ref for need in cmd.needs for ref in need.refs))))
    decisions = LedgerDecisions(draft.get, cmd.proposal_digest, draft.now, cmd.plan, named)
    for ids in decisions.conflicts():
        return Refused(
            Code.DECISIONS_CONFLICT,
            f"cannot put the plan in force: {', '.join(ids)} contradict one another",
            "let a human supersede all but one",
            {"decisions": list(ids)},
        )
    for need, fault in _faults(decisions, cmd):
        return Refused(
            Code.DECISION_NEEDED,
            f"cannot put the plan in force: {fault}",
            "propose the decision, let a human accept it, and name it in the plan",
            {"kind": str(need.kind) if need else "", "scope": list(need.scope) if need else []},
        )
    return None


def _faults(decisions: LedgerDecisions, cmd: pc.ClosePlan) -> Iterator[tuple[Need | None, str]]:
    for need in cmd.needs:
        found = [decisions.fault(ref, need) for ref in need.refs]
        if "" not in found:
            yield need, "; ".join((need.why, *found))
    for ref in cmd.named:
        if fault := decisions.fault(ref, None):
            yield None, fault


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    pc.OpenPlan: _open,
    pc.ApplyPlanRecord: _record,
    pc.ApplyPlanItem: _item,
    pc.RetirePlanRecord: _retire,
    pc.SealPlanPart: _seal,
    pc.ClosePlan: _close,
}
