"""Everything that is wrong with a plan, found at once: ``check(bundle, decisions, previous)``.

One pure function holds the rules about a whole plan (CONTRACT 8, stages 1 to 5): every material clause
is covered or excluded by a decision, every reference leads somewhere and back, the graph has no
cycle, every requirement has direct evidence, what is risky a red control, and what needs a human
has one. ``plan check`` shows its findings by line and column, an apply asks it of the exact records
before it closes, so both say the same. Its cost is linear in the records and their references; only
a graph with cycles costs more, and that within bounds.

What is absent is wrong: a decision that nobody can show, an empty scope, a boundary that nobody
named. Advice does not block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator
from typing import Final

from remit.core.planning.authority import NO_DECISIONS, Decisions, Need, needed
from remit.core.planning.bundle import KINDS, Bundle, Record
from remit.core.planning.findings import Finding, Gate, Problem
from remit.core.planning.graph import graph_findings
from remit.core.planning.index import Index, names_problem
from remit.core.planning.stages import (
    goal_findings,
    item_findings,
    requirement_findings,
    row_findings,
)

__all__ = ["Finding", "Gate", "Problem", "blocking", "check"]

STAGES: Final[tuple[Callable[[Index], Iterator[Finding]], ...]] = (
    goal_findings,
    requirement_findings,
    graph_findings,
    row_findings,
    item_findings,
)

GATE_OF_KIND: Final = {
    "goal": Gate.GOAL,
    "requirement": Gate.REQUIREMENTS,
    "node": Gate.GRAPH,
    "row": Gate.VERIFICATION_PLAN,
    "item": Gate.REQUIREMENTS,
}
"""Which gate a record keeps shut that cannot even be named."""


def check(
    bundle: Bundle,
    decisions: Decisions = NO_DECISIONS,
    previous: Bundle | None = None,
    sound: Container[tuple[str, str]] = (),
    needs: tuple[Need, ...] | None = None,
) -> tuple[Finding, ...]:
    """Every finding about a plan, by stage; cycles smallest first. Empty means nothing is wrong.

    ``decisions`` answers for the decisions that the plan names. ``previous`` is the plan in force
    under the same name, if any: then the decisions that the change needs are asked for as well.
    ``sound`` names records by kind and label that are small enough to keep every bound on texts and
    lists (``limits.SOUND_BYTES``), so that these are not looked through. ``needs`` is what ``needed``
    said of the same two plans, where it was asked before.
    """
    index = Index(bundle, sound)
    found = [*_labels(bundle)]
    for stage in STAGES:
        found += stage(index)
    found += _decisions(bundle, decisions, needed(previous, bundle) if needs is None else needs)
    return tuple(found)


def blocking(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those findings that keep a gate shut."""
    return tuple(each for each in findings if each.blocking)


def _labels(bundle: Bundle) -> Iterator[Finding]:
    if fault := names_problem(bundle.name):
        yield Finding(Problem.LABEL_MALFORMED, "plan", bundle.name, "name", fault, Gate.PLAN_OPEN)
    seen: Counter[tuple[str, str]] = Counter()
    for record in bundle.records():
        kind, label = KINDS[type(record)], record.label
        seen[kind, label] += 1
        if fault := names_problem(label):
            gate = GATE_OF_KIND[kind]
            yield Finding(Problem.LABEL_MALFORMED, kind, label, "label", fault, gate)
    for (kind, label), times in seen.items():
        if times > 1:
            why = f"the label {label!r} stands for {times} records of this kind; it must be one"
            yield Finding(Problem.LABEL_TWICE, kind, label, "label", why, GATE_OF_KIND[kind])


def _decisions(bundle: Bundle, decisions: Decisions, needs: tuple[Need, ...]) -> Iterator[Finding]:
    goal = bundle.goal
    for ids in decisions.conflicts():
        why = f"these decisions contradict one another: {', '.join(ids)}; supersede all but one"
        yield Finding(
            Problem.DECISIONS_CONFLICT, "goal", goal.label, "decisions", why, Gate.GOAL, path=ids
        )
    for kind, label, field, ref in named(bundle):
        if fault := decisions.fault(ref, None):
            yield Finding(Problem.DECISION_UNFIT, kind, label, field, fault, Gate.DECISION)
    for need in needs:
        yield from _covered(need, decisions)


def _covered(need: Need, decisions: Decisions) -> Iterator[Finding]:
    """Nothing where a decision covers the need; else why none does."""
    kind, label = need.at
    if not need.refs:
        why = f"{need.why}; this needs an accepted decision of the kind {need.kind}"
        yield Finding(Problem.DECISION_MISSING, kind, label, need.field, why, Gate.DECISION)
        return
    faults = []
    for ref in need.refs:
        fault = decisions.fault(ref, need)
        if not fault:
            return
        faults.append(fault)
    why = f"{need.why}; this needs a decision of the kind {need.kind}: {'; '.join(faults[:5])}"
    yield Finding(Problem.DECISION_UNFIT, kind, label, need.field, why, Gate.DECISION)


def named(bundle: Bundle) -> Iterator[tuple[str, str, str, str]]:
    """Every decision that is named without being for a certain need: kind, label, field, id."""
    owners: tuple[Record, ...] = (bundle.goal, *bundle.requirements)
    for record in owners:
        kind = KINDS[type(record)]
        for n, ref in enumerate(getattr(record, "decisions", ())):
            yield kind, record.label, f"decisions[{n}]", ref
        for n, each in enumerate(getattr(record, "ambiguities", ())):
            if each.decision:
                yield kind, record.label, f"ambiguities[{n}].decision", each.decision
