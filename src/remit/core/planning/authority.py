"""Which decisions of humans a change of a plan needs, and of which kind (CONTRACT 9).

``needed(old, new)`` compares two plans and names every step that no agent may take alone. It is on
the safe side: whether a rewritten statement asks for less cannot be told by a machine, so any
rewriting of a requirement that stands counts as a possible reduction. What only adds, or fills what
was empty, needs nobody.

Each need says where in the new plan its decision is named. Whether a decision is accepted, current
and about this proposal is asked through ``Decisions``; until somebody answers that, none covers
anything (``NoDecisions``), so what needs a decision fails closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol

from remit.core.decisions import DecisionKind
from remit.core.planning.bundle import (
    KINDS,
    Bundle,
    EdgeType,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    Record,
    ReversalKind,
    Risk,
    undecided,
)


@dataclass(frozen=True, slots=True)
class Need:
    """One step that needs a decision of this kind about all of ``scope`` (``KIND/LABEL``).

    ``at`` (kind and label of a record) and ``field`` say where the decision is named, ``refs`` what is
    named there. ``why`` says in a few words what the step is. ``kept`` says that the plan in force
    took the step before, with the same decisions, of records that have not changed since: then the
    decision has to stand still, and may be about the proposal that took it.
    """

    kind: DecisionKind
    scope: tuple[str, ...]
    why: str
    at: tuple[str, str]
    field: str
    refs: tuple[str, ...] = ()
    kept: bool = False


class Decisions(Protocol):
    """What the ledger knows of the decisions that a plan names."""

    def fault(self, ref: str, need: Need | None) -> str:
        """Why a decision does not cover a need; empty where it does.

        Without a need: why it may not be named at all, being unknown or not accepted.
        """

    def conflicts(self) -> Iterable[tuple[str, ...]]:
        """Current decisions that contradict one another, each conflict by all its ids."""


class NoDecisions:
    """A ledger without decisions: whatever needs one fails closed."""

    def fault(self, ref: str, need: Need | None) -> str:
        """No decision is known, whatever it would be for."""
        return f"no decision {ref!r} is on the ledger"

    def conflicts(self) -> Iterable[tuple[str, ...]]:
        """Nothing contradicts nothing."""
        return ()


NO_DECISIONS: Final[Decisions] = NoDecisions()


def needed(old: Bundle | None, new: Bundle) -> tuple[Need, ...]:
    """Every decision that the new plan needs, by stage; ``old`` is the plan in force, if any.

    What stands in the new plan by itself (an excluded clause, a bypass, a waived row, an irreversible
    action, an ambiguity that a decision settles) needs its decision whether or not the older plan had
    it.
    """
    if old is None:
        return tuple(standing(new))
    before = {(need.at, need.scope, need.refs) for need in standing(old)}
    known, now = (_bare(old), _bare(new)) if before else ({}, {})
    found = []
    for need in standing(new):
        same = (need.at, need.scope, need.refs) in before and known[need.at] == now[need.at]
        found.append(replace(need, kept=True) if same else need)
    return (*found, *changes(old, new))


def _bare(plan: Bundle) -> dict[tuple[str, str], Record]:
    """The records of a plan without their decisions."""
    return {(KINDS[type(r)], r.label): undecided(r) for r in plan.records()}


def standing(plan: Bundle) -> Iterator[Need]:
    """The decisions that a plan needs for what it says, whatever was before."""
    goal = plan.goal
    home = ("goal", goal.label)
    owners: tuple[PlanGoal | PlanRequirement, ...] = (goal, *plan.requirements)
    for record in owners:
        if record.ambiguities:
            yield from _settled(record)
    for n, each in enumerate(goal.exclusions):
        yield Need(
            DecisionKind.REQUIREMENT,
            (f"clause/{each.clause}",),
            f"no requirement covers the clause {each.clause!r}",
            home,
            f"exclusions[{n}].decision",
            _one(each.decision),
        )
    for node in plan.nodes:
        for n, (target, ref) in enumerate(node.bypass):
            yield _bypass(node.label, target, f"bypass[{n}]", _one(ref))
    for row in plan.rows:
        if row.waived:
            yield _waiver(row.label, "it goes unproved", ("row", row.label), "waived", row.waived)
    for item in plan.items:
        if item.reversal.kind is ReversalKind.IRREVERSIBLE:
            yield Need(
                DecisionKind.IRREVERSIBLE,
                (f"item/{item.label}",),
                "what it does cannot be undone",
                ("item", item.label),
                "reversal.decision",
                _one(item.reversal.decision),
            )


def changes(old: Bundle, new: Bundle) -> Iterator[Need]:
    """The decisions that a change needs beside those for what stands in the new plan."""
    yield from _goal(old, new)
    yield from _requirements(old, new)
    yield from _waits(old, new)
    yield from _evidence(old, new)


def _settled(record: PlanGoal | PlanRequirement) -> Iterator[Need]:
    """Ambiguities that a decision settles, and nothing else does."""
    kind = KINDS[type(record)]
    for n, each in enumerate(record.ambiguities):
        if each.decision and not each.clarification:
            yield Need(
                DecisionKind.GOAL,
                (f"{kind}/{record.label}",),
                f"a decision says what {each.label!r} means",
                (kind, record.label),
                f"ambiguities[{n}].decision",
                (each.decision,),
            )


def _one(ref: str) -> tuple[str, ...]:
    return (ref,) if ref else ()


def _bypass(node: str, target: str, field: str, refs: tuple[str, ...]) -> Need:
    scope = (f"node/{node}", f"node/{target}")
    why = f"it no longer waits for {target!r}"
    return Need(DecisionKind.BYPASS, scope, why, ("node", node), field, refs)


def _waiver(row: str, why: str, at: tuple[str, str], field: str, *refs: str) -> Need:
    return Need(DecisionKind.WAIVER, (f"row/{row}",), why, at, field, refs)


def _goal(old: Bundle, new: Bundle) -> Iterator[Need]:
    was, now = old.goal, new.goal
    clauses = {c.label: c for c in was.clauses if c.material}
    after = {c.label: c for c in now.clauses if c.material}
    faults = [
        ("objective", was.objective not in ("", now.objective)),
        ("non_goals", was.non_goals != now.non_goals),
        ("authority", was.authority not in ("", now.authority)),
        ("risk", _lower(was.risk, now.risk)),
        ("clauses", clauses != after),
        ("label", was.label != now.label),
    ]
    differ = [name for name, differs in faults if differs]
    if differ:
        touched = sorted(k for k in {*clauses, *after} if clauses.get(k) != after.get(k))
        scope = (f"goal/{now.label}", *(f"clause/{label}" for label in touched))
        why = f"the goal changes in {', '.join(differ)}"
        home = ("goal", now.label)
        yield Need(DecisionKind.GOAL, scope, why, home, "decisions", now.decisions)


def _lower(was: Risk, now: Risk) -> bool:
    order = tuple(Risk)
    return order.index(now) < order.index(was)


def _requirements(old: Bundle, new: Bundle) -> Iterator[Need]:
    after = {r.label: r for r in new.requirements}
    for was in old.requirements:
        now = after.get(was.label)
        if now is None:
            yield Need(
                DecisionKind.REQUIREMENT,
                (f"requirement/{was.label}",),
                f"the requirement {was.label!r} is removed",
                ("goal", new.goal.label),
                "decisions",
                new.goal.decisions,
            )
        elif less := _less(was, now):
            yield Need(
                DecisionKind.REQUIREMENT,
                (f"requirement/{was.label}",),
                f"it may ask for less: {', '.join(less)}",
                ("requirement", was.label),
                "decisions",
                now.decisions,
            )


def _less(was: PlanRequirement, now: PlanRequirement) -> list[str]:
    """In which parts a requirement may ask for less than before."""
    if was == now:
        return []
    faults = [
        ("statement", was.statement not in ("", now.statement)),
        ("clauses", not set(was.clauses) <= set(now.clauses)),
        ("acceptance", not set(was.acceptance) <= set(now.acceptance)),
        ("non_goals", not set(now.non_goals) <= set(was.non_goals)),
        ("risk", _lower(was.risk, now.risk)),
    ]
    return [name for name, differs in faults if differs]


def _targets(node: PlanNode | None) -> set[str]:
    if node is None:
        return set()
    return {edge.target for edge in node.edges if edge.type is EdgeType.BLOCKS}


def _waits(old: Bundle, new: Bundle) -> Iterator[Need]:
    """Waits that a node, or an item that moved to another node, has no longer."""
    before = {n.label: n for n in old.nodes}
    after = {n.label: n for n in new.nodes}
    items = {i.label: i for i in old.items}
    lost: dict[tuple[str, str], None] = {}
    for node in new.nodes:
        known = before.get(node.label)
        if known is not None and known.edges != node.edges:
            gone = _targets(known) - _targets(node)
            lost |= {(node.label, target): None for target in sorted(gone)}
    for item in new.items:
        was: PlanItem | None = items.get(item.label)
        if was is not None and was.node != item.node and item.node in after:
            gone = _targets(before.get(was.node)) - _targets(after[item.node]) - {item.node}
            lost |= {(item.node, target): None for target in sorted(gone)}
    for label, target in lost:
        if target not in dict(after[label].bypass):  # else it stands among those of the plan
            yield _bypass(label, target, "bypass", ())


def _evidence(old: Bundle, new: Bundle) -> Iterator[Need]:
    """Requirements that are left with less direct evidence, and claims made less risky."""
    rows = {r.label: r for r in new.rows}
    stands = {r.label for r in new.requirements}
    kept: dict[str, int] = {}
    for row in new.rows:
        kept[row.requirement] = kept.get(row.requirement, 0) + (row.direct and not row.waived)
    had: dict[str, list[str]] = {}
    for row in old.rows:
        if row.direct and not row.waived:
            had.setdefault(row.requirement, []).append(row.label)
    home = ("goal", new.goal.label)
    for requirement, labels in had.items():
        if requirement not in stands or kept.get(requirement, 0) >= len(labels):
            continue
        for label in labels:
            now = rows.get(label)
            if now is None or not now.direct or now.requirement != requirement:
                why = f"{requirement!r} is left with less direct evidence"
                yield _waiver(label, why, home, "decisions", *new.goal.decisions)
    items = {i.label: i for i in old.items}
    for item in new.items:
        was = items.get(item.label)
        if was is not None and _lower(was.risk, item.risk):
            scope, why = (f"item/{item.label}",), "its risk is said to be lower"
            kind = DecisionKind.WAIVER
            yield Need(kind, scope, why, home, "decisions", new.goal.decisions)
