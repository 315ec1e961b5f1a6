"""The gates of planned work, asked of the ledger's facts for one item (CONTRACT 8).

A plan may be applied while parts of it are still open: what is not clear, not covered or not provable
is on the ledger, and keeps shut what depends on it. Each gate is asked anew whenever admission looks,
from what stands on the ledger then. What is not there is not open.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remit.core.decisions import DecisionKind
from remit.core.facts import (
    Dependency,
    DependencyKind,
    Goal,
    Governed,
    GraphNode,
    Item,
    PlanRevision,
    Requirement,
    Row,
)
from remit.core.planning.authority import Need
from remit.core.planning.bundle import ReversalKind, Risk
from remit.core.planning.deciding import LedgerDecisions
from remit.core.planning.findings import Gate
from remit.core.rows import Control
from remit.core.view import Draft
from remit.core.waivers import waiver_needed

Asked = tuple[Gate, bool, str, str, str]
"""A gate, whether it is open, what was observed and required, and the evidence."""

NOT_THERE: Final = "absent"


def ask_gates(draft: Draft, item: Item, governed: Governed) -> Iterator[Asked]:
    """Every gate of a planned item, in the order of the stages."""
    plan: Any = draft.get("plan", governed.plan)
    if not isinstance(plan, PlanRevision):
        yield Gate.PLAN_OPEN, False, NOT_THERE, "closed", governed.plan
        return
    evidence = f"{plan.id}@{plan.revision}"
    closed = plan.open is None and plan.revision > 0 and not governed.left
    yield Gate.PLAN_OPEN, closed, "" if closed else "open", "closed", evidence
    decisions = LedgerDecisions(draft.get, plan.proposal, draft.now, plan.id, plan.decisions)
    yield _goal(draft, plan, decisions)
    requirements = [draft.get("requirement", name) for name in item.plan.requirements]
    yield _requirements(plan, requirements, decisions)
    node = draft.get("node", governed.node) if governed.node else None
    yield _graph(plan, item, governed, node)
    rows = [row for name in item.plan.rows if isinstance(row := draft.get("row", name), Row)]
    own = [row for row in rows if not row.retired and (row.plan, row.item) == (plan.id, item.id)]
    direct = [row for row in own if row.direct]
    yield _direct(item, direct)
    yield _red(governed, requirements, direct)
    scope = len(item.plan.scope)
    yield Gate.SCOPE, scope > 0, str(scope), ">=1", ""
    classified = governed.reversal != ReversalKind.UNCLASSIFIED and governed.reversal_complete
    yield Gate.REVERSAL, classified, governed.reversal, "classified and complete", ""
    yield _decided(governed, rows, decisions)


def _goal(draft: Draft, plan: PlanRevision, decisions: LedgerDecisions) -> Asked:
    goal = draft.get("goal", plan.goal) if plan.goal else None
    if not isinstance(goal, Goal) or goal.retired or goal.plan != plan.id:
        return Gate.GOAL, False, NOT_THERE, "clear", plan.goal_revision
    conflicts = [f"DECISIONS_CONFLICT {' '.join(ids)}" for ids in decisions.conflicts()][:1]
    shut = (*goal.shut, *plan.shut, *conflicts, *_undone("goal", goal, decisions))
    return Gate.GOAL, not shut, ",".join(shut)[:200], "clear", f"{goal.id}@{goal.revision}"


def _undone(kind: str, record: Goal | Requirement, decisions: LedgerDecisions) -> tuple[str, ...]:
    """Whether a decision that says what was not clear is superseded, or has run out."""
    scope, at = (f"{kind}/{record.label}",), (kind, record.label)
    why = "it was not clear"
    need = Need(DecisionKind.GOAL, scope, why, at, "ambiguities", record.settled, kept=True)
    undone = any(decisions.fault(ref, need) for ref in record.settled)
    return ("DECISION_UNFIT",) if undone else ()


def _requirements(plan: PlanRevision, found: list[Any], decisions: LedgerDecisions) -> Asked:
    gate = Gate.REQUIREMENTS
    for each in found:
        if not isinstance(each, Requirement) or each.retired or each.plan != plan.id:
            return gate, False, NOT_THERE, "all clear", ""
        shut = (*each.shut, *_undone("requirement", each, decisions))
        if shut:
            return gate, False, ",".join(shut), "all clear", f"{each.id}@{each.revision}"
    return gate, bool(found), str(len(found)), "all clear", ""


def _graph(plan: PlanRevision, item: Item, governed: Governed, node: Any) -> Asked:
    """Whether it stands on a node of this plan, and that node covers all that it owns."""
    gate, required = Gate.GRAPH, "a node that covers it"
    if not isinstance(node, GraphNode) or node.retired or node.plan != plan.id:
        return gate, False, NOT_THERE, required, governed.node
    lacking = [name for name in item.plan.requirements if name not in node.covers]
    return gate, not lacking, lacking[0] if lacking else node.id, required, node.id


def _direct(item: Item, direct: list[Row]) -> Asked:
    proved = {row.requirement for row in direct}
    owned = item.plan.requirements
    lacking = [name for name in owned if name not in proved]
    whole = bool(owned) and not lacking
    evidence = lacking[0] if lacking else direct[0].id if direct else ""
    count = str(len(owned) - len(lacking))
    return Gate.VERIFICATION_PLAN, whole, count, "a direct row each", evidence


def _red(governed: Governed, requirements: list[Any], direct: list[Row]) -> Asked:
    red = {r.requirement for r in direct if not r.waived and r.control != Control.NONE}
    high = governed.risk == Risk.HIGH
    risky = [
        r for r in requirements if isinstance(r, Requirement) and (high or r.risk == Risk.HIGH)
    ]
    lacking = [each.id for each in risky if each.id not in red]
    evidence = lacking[0] if lacking else ""
    return Gate.RED_CONTROL, not lacking, str(len(lacking)), "0", evidence


def _decided(governed: Governed, rows: list[Row], decisions: LedgerDecisions) -> Asked:
    """Whether what only a human may allow has its decision, still accepted."""
    gate, required = Gate.DECISION, "accepted"
    wanted = [(row.waived, waiver_needed(row)) for row in rows if row.waived]
    if governed.reversal == ReversalKind.IRREVERSIBLE:
        at = ("item", governed.label)
        kind, scope = DecisionKind.IRREVERSIBLE, (f"item/{governed.label}",)
        need = Need(
            kind, scope, "what it does cannot be undone", at, "reversal.decision", (), kept=True
        )
        wanted.append((governed.decision, need))
    for ref, need in wanted:
        if not ref or decisions.fault(ref, need):
            return gate, False, ref or NOT_THERE, required, need.scope[0]
    return gate, True, str(len(wanted)), required, ""


def by_plan(draft: Draft, governed: Governed, edge: Dependency) -> bool:
    """Whether an edge stands for a wait of the plan's graph."""
    if edge.kind is not DependencyKind.BLOCKS or not governed.waits:
        return False
    if edge.target.startswith("?"):
        return edge.target[1:] in governed.waits
    target = draft.item(edge.target)
    label = target.plan.governed.label if target is not None and target.plan.governed else ""
    return label in governed.waits or (target is not None and target.alias in governed.waits)
