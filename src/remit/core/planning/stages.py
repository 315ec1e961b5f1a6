"""The rules of stages 1, 2, 4 and 5: goal, requirements, verification rows and work items.

Each function gives the findings of its stage. References are followed both ways: a row names its
item and the item its row, an item its node and the node the requirement, because a link that only
one end knows of is one that can be lost unseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remit.core.planning.bundle import (
    KINDS,
    Ambiguity,
    PlanGoal,
    PlanItem,
    PlanRequirement,
    PlanRow,
    Record,
    Reversal,
    ReversalKind,
    Risk,
)
from remit.core.planning.findings import Finding, Gate, Problem
from remit.core.planning.index import Index, names_problem
from remit.core.planning.limits import item_limits, text_limits
from remit.core.rows import Control, problems
from remit.core.scopes import pattern_problem


def goal_alone(goal: PlanGoal) -> Iterator[Finding]:
    """What is wrong with a goal whatever the rest of the plan says."""

    def found(code: Problem, field: str, why: str) -> Finding:
        return Finding(code, "goal", goal.label, field, why, Gate.GOAL)

    if not goal.objective.strip():
        yield found(Problem.OBJECTIVE_MISSING, "objective", "the goal says nothing")
    if not goal.authority.strip():
        why = "the goal does not say who may want it, and how far that reaches"
        yield found(Problem.AUTHORITY_MISSING, "authority", why)
    if not goal.provenance:
        yield found(Problem.PROVENANCE_MISSING, "provenance", "the goal does not say whence it is")
    if not any(c.material for c in goal.clauses):
        yield found(Problem.CLAUSES_MISSING, "clauses", "the goal has no material clause")
    yield from _ambiguities("goal", goal.label, goal.ambiguities, Gate.GOAL)


def _limits(index: Index, record: Record, gate: Gate) -> Iterator[Finding]:
    if (KINDS[type(record)], record.label) not in index.sound:
        yield from text_limits(record, gate)


def goal_findings(index: Index) -> Iterator[Finding]:
    """Stage 1: objective, authority, clauses, open ambiguities, and what covers each clause."""
    goal = index.plan.goal

    def found(code: Problem, field: str, why: str) -> Finding:
        return Finding(code, "goal", goal.label, field, why, Gate.GOAL)

    yield from goal_alone(goal)
    yield from _limits(index, goal, Gate.GOAL)
    seen: set[str] = set()
    excluded = {each.clause for each in goal.exclusions}
    for n, clause in enumerate(goal.clauses):
        if fault := names_problem(clause.label):
            yield found(Problem.LABEL_MALFORMED, f"clauses[{n}].label", fault)
        if clause.label in seen:
            why = f"the label {clause.label!r} stands for two clauses"
            yield found(Problem.LABEL_TWICE, f"clauses[{n}].label", why)
        seen.add(clause.label)
        if not clause.text.strip():
            yield found(Problem.TEXT_MISSING, f"clauses[{n}].text", "the clause says nothing")
        if clause.material and clause.label not in index.covering and clause.label not in excluded:
            why = f"no requirement covers the clause {clause.label!r}, and no decision excludes it"
            yield found(Problem.CLAUSE_UNCOVERED, f"clauses[{n}]", why)
    for n, each in enumerate(goal.exclusions):
        if each.clause not in index.clauses:
            why = f"the goal has no clause {each.clause!r}"
            yield found(Problem.CLAUSE_UNKNOWN, f"exclusions[{n}].clause", why)
        elif each.clause in index.covering:
            why = f"the clause {each.clause!r} is excluded, and a requirement covers it"
            yield found(Problem.CLAUSE_BOTH, f"exclusions[{n}].clause", why)


def _ambiguities(
    kind: str, label: str, ambiguities: tuple[Ambiguity, ...], gate: Gate
) -> Iterator[Finding]:
    for n, each in enumerate(ambiguities):
        if each.open:
            why = f"{each.label!r} is not clear: {each.text[:200]}"
            at = f"ambiguities[{n}]"
            yield Finding(Problem.AMBIGUITY_OPEN, kind, label, at, why, gate, each.material)


def requirement_alone(each: PlanRequirement) -> Iterator[Finding]:
    """What is wrong with a requirement whatever the rest of the plan says."""

    def found(code: Problem, field: str, why: str, *, blocking: bool = True) -> Finding:
        gate = Gate.REQUIREMENTS
        return Finding(code, "requirement", each.label, field, why, gate, blocking)

    if not each.statement.strip():
        yield found(Problem.TEXT_MISSING, "statement", "the requirement says nothing")
    if not each.acceptance:
        why = "nothing says how one would know that it came true"
        yield found(Problem.ACCEPTANCE_MISSING, "acceptance", why)
    if not each.clauses:
        yield found(Problem.REQUIREMENT_ORPHAN, "clauses", "it belongs to no clause of the goal")
    if not each.sources:
        yield found(Problem.SOURCES_MISSING, "sources", "no source is named", blocking=False)
    yield from _ambiguities("requirement", each.label, each.ambiguities, Gate.REQUIREMENTS)


def requirement_findings(index: Index) -> Iterator[Finding]:
    """Stage 2: each requirement says what must come true, how one would know, and for which clause."""
    for each in index.plan.requirements:
        yield from requirement_alone(each)
        yield from _limits(index, each, Gate.REQUIREMENTS)
        for n, clause in enumerate(each.clauses):
            if clause not in index.clauses:
                code, why = Problem.CLAUSE_UNKNOWN, f"the goal has no clause {clause!r}"
                at, gate = f"clauses[{n}]", Gate.REQUIREMENTS
                yield Finding(code, "requirement", each.label, at, why, gate)
        if each.label not in index.items_of:
            code, gate = Problem.REQUIREMENT_WITHOUT_ITEM, Gate.REQUIREMENTS
            why = "no work item owns it, so nobody would bring it about"
            yield Finding(code, "requirement", each.label, "", why, gate)


def row_findings(index: Index) -> Iterator[Finding]:
    """Stage 4: each item has direct evidence for what it owns, and what is risky can turn red."""
    for row in index.plan.rows:
        yield from _row(index, row)
        yield from _limits(index, row, Gate.VERIFICATION_PLAN)
    for item in index.plan.items:
        direct: dict[str, list[PlanRow]] = {}
        for label in item.rows:
            row_of = index.rows.get(label)
            if row_of is not None and row_of.direct and row_of.item == item.label:
                direct.setdefault(row_of.requirement, []).append(row_of)
        for n, name in enumerate(item.requirements):
            yield from _evidence(index, item, f"requirements[{n}]", name, direct.get(name, []))
    for each in index.plan.requirements:
        if not any(row.direct for row in index.rows_of.get(each.label, ())):
            why = f"no row proves the requirement {each.label!r} itself"
            gate = Gate.VERIFICATION_PLAN
            yield Finding(Problem.NO_DIRECT_ROW, "requirement", each.label, "", why, gate)


def _evidence(
    index: Index, item: PlanItem, at: str, name: str, direct: list[PlanRow]
) -> Iterator[Finding]:
    """Whether an item's own rows prove what it claims."""
    if not direct:
        why = f"no row of it proves the requirement {name!r} itself"
        yield Finding(Problem.NO_DIRECT_ROW, "item", item.label, at, why, Gate.VERIFICATION_PLAN)
        return
    owned = index.requirements.get(name)
    high = item.risk is Risk.HIGH or (owned is not None and owned.risk is Risk.HIGH)
    if high and not any(_red(row) for row in direct):
        why = f"the claim {name!r} is of high risk, and no direct row of it can turn red"
        yield Finding(Problem.NO_RED_CONTROL, "item", item.label, at, why, Gate.RED_CONTROL)


def _red(row: PlanRow) -> bool:
    return not row.waived and row.spec.control is not Control.NONE


def _row(index: Index, row: PlanRow) -> Iterator[Finding]:
    def found(code: Problem, field: str, why: str) -> Finding:
        return Finding(code, "row", row.label, field, why, Gate.VERIFICATION_PLAN)

    if row.requirement not in index.requirements:
        why = f"the plan has no requirement {row.requirement!r}"
        yield found(Problem.REQUIREMENT_UNKNOWN, "requirement", why)
    item = index.items.get(row.item)
    if item is None:
        yield found(Problem.ITEM_UNKNOWN, "item", f"the plan has no item {row.item!r}")
    else:
        if row.requirement not in item.requirements:
            why = f"the item {row.item!r} does not own the requirement {row.requirement!r}"
            yield found(Problem.ROW_ELSEWHERE, "requirement", why)
        if row.label not in item.rows:
            why = f"the item {row.item!r} does not name this row"
            yield found(Problem.ROW_ELSEWHERE, "item", why)
    if not row.boundary.strip():
        why = "it does not say at which boundary of the system it is observed"
        yield found(Problem.BOUNDARY_MISSING, "boundary", why)
    for fault in problems(row.spec):
        field, _, why = fault.partition(": ")
        yield found(Problem.ROW_MALFORMED, f"spec.{field.split(',')[0]}", why)


def item_findings(index: Index) -> Iterator[Finding]:
    """Stage 5: each item names why it exists, what it may touch, and what would undo it."""
    for item in index.plan.items:
        yield from _links(index, item)
        yield from _scope(item)
        yield from _reversal(item)
        yield from item_limits(item)
        yield from _limits(index, item, Gate.REQUIREMENTS)


def _links(index: Index, item: PlanItem) -> Iterator[Finding]:
    def found(code: Problem, field: str, why: str, gate: Gate) -> Finding:
        return Finding(code, "item", item.label, field, why, gate)

    node = index.nodes.get(item.node)
    if not item.node:
        why = "it stands on no node of the graph"
        yield found(Problem.ITEM_WITHOUT_NODE, "node", why, Gate.GRAPH)
    elif node is None:
        yield found(Problem.NODE_UNKNOWN, "node", f"no node is called {item.node!r}", Gate.GRAPH)
    if not item.requirements:
        why = "it owns no requirement"
        yield found(Problem.ITEM_WITHOUT_REQUIREMENT, "requirements", why, Gate.REQUIREMENTS)
    for n, label in enumerate(item.requirements):
        at = f"requirements[{n}]"
        if label not in index.requirements:
            why = f"the plan has no requirement {label!r}"
            yield found(Problem.REQUIREMENT_UNKNOWN, at, why, Gate.REQUIREMENTS)
        elif node is not None and label not in node.requirements:
            why = f"its node {node.label!r} does not cover the requirement {label!r}"
            yield found(Problem.NOT_ON_NODE, at, why, Gate.GRAPH)
    if not item.rows:
        gate = Gate.VERIFICATION_PLAN
        yield found(Problem.ITEM_WITHOUT_ROW, "rows", "nothing would prove it", gate)
    for n, label in enumerate(item.rows):
        row = index.rows.get(label)
        at, gate = f"rows[{n}]", Gate.VERIFICATION_PLAN
        if row is None:
            yield found(Problem.ROW_UNKNOWN, at, f"the plan has no row {label!r}", gate)
        elif row.item != item.label:
            why = f"the row {label!r} is to be given by {row.item!r}"
            yield found(Problem.ROW_ELSEWHERE, at, why, gate)


def _scope(item: PlanItem) -> Iterator[Finding]:
    def found(code: Problem, field: str, why: str) -> Finding:
        return Finding(code, "item", item.label, field, why, Gate.SCOPE)

    if not item.scope:
        why = "it does not say which paths it may change; '**' is all of them"
        yield found(Problem.SCOPE_MISSING, "scope", why)
    lists: tuple[tuple[str, Sequence[str]], ...] = (
        ("scope", item.scope),
        ("artifacts", item.artifacts),
    )
    for name, patterns in lists:
        for n, pattern in enumerate(patterns):
            if fault := pattern_problem(pattern):
                yield found(Problem.PATTERN_MALFORMED, f"{name}[{n}]", fault)


def _reversal(item: PlanItem) -> Iterator[Finding]:
    """What undoes it; and where more than a commit is at stake, what exactly it would touch."""
    how = item.reversal

    def found(code: Problem, field: str, why: str) -> Finding:
        return Finding(code, "item", item.label, f"reversal.{field}", why, Gate.REVERSAL)

    if how.kind is ReversalKind.UNCLASSIFIED:
        why = "it does not say whether its effect can be undone"
        yield found(Problem.REVERSAL_UNCLASSIFIED, "kind", why)
    for name in reversal_gaps(how):
        why = f"what is not a mere commit names its {name.replace('_', ' ')}"
        yield found(Problem.REVERSAL_INCOMPLETE, name, why)


def reversal_gaps(how: Reversal) -> list[str]:
    """What a compensation or an irreversible effect does not say of itself."""
    if how.kind not in (ReversalKind.COMPENSATION, ReversalKind.IRREVERSIBLE):
        return []
    wanted = ["effect", "confirmation", "blast_radius"]
    wanted += ["text"] if how.kind is ReversalKind.COMPENSATION else []
    return [name for name in wanted if not getattr(how, name).strip()]
