"""What planning should say, worked out anew from the bundles and from the contract (CONTRACT 8, 9).

The core asks its gates of facts that it carries along, revision by revision. Here they are asked of the
whole bundle that is in force, as somebody would who reads it, and of decisions. Digests are made here
too, with other means. Nothing of the core is called but the shapes of its values.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from remit.core.decisions import Decision
from remit.core.planning.bundle import (
    Ambiguity,
    Bundle,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
)

Decisions = Mapping[str, Decision]

RISKS: Final = ("low", "medium", "high")
GOAL: Final = "material-goal-or-non-goal-change"
REQUIREMENT: Final = "requirement-removal-or-scope-reduction"
BYPASS: Final = "dependency-bypass"
WAIVER: Final = "verification-waiver"
IRREVERSIBLE: Final = "irreversible-action-authorization"


@dataclass(frozen=True, slots=True)
class Want:
    """What needs a decision: kind, everything that it must name, which ones are named for it.

    ``on`` is the record that says so, without decisions; empty where only the change says so.
    """

    kind: str
    scope: frozenset[str]
    refs: tuple[str, ...]
    on: str = ""


def digest(value: Any) -> str:
    """SHA-256 of canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def record_digest(kind: str, record: Any) -> str:
    """The digest of one record."""
    return digest([kind, asdict(record)])


def records(bundle: Bundle) -> Iterator[tuple[str, Any]]:
    """Every record with its kind."""
    yield "goal", bundle.goal
    for kind, part in (
        ("requirement", bundle.requirements),
        ("node", bundle.nodes),
        ("row", bundle.rows),
        ("item", bundle.items),
    ):
        for record in part:
            yield kind, record


def whole_digest(bundle: Bundle, *, bare: bool = False) -> str:
    """The digest of a bundle, ``bare`` without decisions: one part, since a world's plans are small."""
    named = ((f"{kind}/{r.label}", kind, without(r) if bare else r) for kind, r in records(bundle))
    return digest(["", sorted([name, record_digest(kind, r)] for name, kind, r in named)])


def without(record: Any) -> Any:
    """A record without what it names of decisions."""
    match record:
        case PlanGoal():
            out = tuple(replace(each, decision="") for each in record.exclusions)
            return replace(record, decisions=(), ambiguities=_open(record), exclusions=out)
        case PlanRequirement():
            return replace(record, decisions=(), ambiguities=_open(record))
        case PlanNode():
            return replace(record, bypass=tuple((to, "") for to, _ in record.bypass))
        case PlanRow():
            return replace(record, waived="")
        case _:
            return replace(record, reversal=replace(record.reversal, decision=""))


def _open(record: PlanGoal | PlanRequirement) -> tuple[Ambiguity, ...]:
    return tuple(replace(each, decision="") for each in record.ambiguities)


def made_for(bundle: Bundle, item: PlanItem) -> str:
    """What somebody works by: the item's own record, its rows and what it has to bring about.

    Priority and decisions are no part of it.
    """
    parts: list[Any] = [asdict(replace(without(item), priority=0))]
    parts += [asdict(without(r)) for r in bundle.rows if r.label in item.rows]
    parts += [asdict(without(r)) for r in bundle.requirements if r.label in item.requirements]
    return digest(parts)


def number_of(bundle: Bundle, label: str) -> int:
    """What an item is made for, as a number for the books."""
    item = next(i for i in bundle.items if i.label == label)
    return int(made_for(bundle, item)[:15], 16)


# Links.

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two records by kind and label, the upper one first."""


def links(bundle: Bundle) -> list[Pair]:
    """Every link from a record to one that is stated for it."""
    goal = ("goal", bundle.goal.label)
    found = [(goal, ("requirement", each.label)) for each in bundle.requirements]
    for node in bundle.nodes:
        found += [(("requirement", label), ("node", node.label)) for label in node.requirements]
    found += [(("requirement", row.requirement), ("row", row.label)) for row in bundle.rows]
    return found + [(("node", item.node), ("item", item.label)) for item in bundle.items]


def meaning(bundle: Bundle, kind: str, label: str) -> str:
    """The digest of what a record means: of all of it but decisions."""
    record = next(r for of, r in records(bundle) if (of, r.label) == (kind, label))
    return record_digest(kind, without(record))


def said(bundle: Bundle, kind: str, label: str) -> int:
    """What was stated of a record: of an item what it is made for, of others what they mean."""
    if kind == "item":
        return number_of(bundle, label)
    return int(meaning(bundle, kind, label)[:15], 16)


def stated(before: Bundle | None, bundle: Bundle) -> Iterator[str]:
    """The records that a plan states anew, as names for the books."""
    known = {(kind, r.label) for kind, r in records(before)} if before is not None else set()
    for kind, record in records(bundle):
        name = (kind, record.label)
        if before is None or name not in known or said(before, *name) != said(bundle, *name):
            yield f"since/{kind}/{record.label}"


def looked_at(bundle: Bundle, pair: Pair) -> tuple[str, int]:
    """A link as a name for the books, and what it joins now as a number."""
    upper, lower = pair
    both = digest([meaning(bundle, *upper), meaning(bundle, *lower)])
    return f"looked/{'/'.join(upper)}>{'/'.join(lower)}", int(both[:15], 16)


def suspected(bundle: Bundle, books: Mapping[str, int]) -> set[Pair]:
    """Links whose upper end was stated after the lower one, and at which nobody has looked since."""
    found = set()
    for pair in links(bundle):
        upper, lower = (books.get(f"since/{kind}/{label}", 0) for kind, label in pair)
        name, number = looked_at(bundle, pair)
        if upper > lower and books.get(name) != number:
            found.add(pair)
    return found


# Decisions.


def stands(decision: Decision | None, now: int, *, strict: bool) -> bool:
    """Whether a decision is accepted and still counts."""
    return (
        decision is not None
        and str(decision.state) == "accepted"
        and (decision.expires_at is None or now < decision.expires_at)
        and (not strict or decision.assurance.startswith("signature"))
    )


def allows(decision: Decision | None, want: Want, now: int, *, strict: bool) -> bool:
    """Whether it stands, in favour, for this kind and all of this scope."""
    if decision is None or not stands(decision, now, strict=strict):
        return False
    option = next((o for o in decision.options if o.label == decision.chosen), None)
    fits = str(decision.kind) == want.kind and want.scope <= set(decision.scope)
    return fits and option is not None and option.permits


def named(bundle: Bundle) -> tuple[str, ...]:
    """Every decision that a plan names, anywhere."""
    found = dict.fromkeys(bundle.goal.decisions)
    for want in standing(bundle):
        found |= dict.fromkeys(want.refs)
    for each in bundle.requirements:
        found |= dict.fromkeys(each.decisions)
    return tuple(ref for ref in found if ref)


def concerned(bundle: Bundle, decisions: Decisions) -> tuple[str, ...]:
    """Every decision that a plan names, and every one that says that it is about this plan."""
    about = (each.id for each in decisions.values() if each.plan == bundle.name)
    return tuple(dict.fromkeys((*named(bundle), *about)))


def contradictions(refs: Iterable[str], decisions: Decisions, now: int) -> list[tuple[str, str]]:
    """Pairs of which one is among these, and the other says something else about the same thing."""
    found = []
    for ref in refs:
        one = decisions.get(ref)
        for other in decisions.values():
            if one is None or other.id == ref or one.kind != other.kind:
                continue
            both = all(stands(each, now, strict=False) for each in (one, other))
            if both and one.chosen != other.chosen and set(one.scope) & set(other.scope):
                found.append((ref, other.id))
    return found


# What needs a decision.


def standing(plan: Bundle) -> Iterator[Want]:
    """What a plan may not say without one, whatever was before."""
    for kind, record in records(plan):
        on = record_digest(kind, without(record))
        for each in getattr(record, "ambiguities", ()):
            if each.decision and not each.clarification:
                yield Want(GOAL, frozenset((f"{kind}/{record.label}",)), (each.decision,), on)
        for each in getattr(record, "exclusions", ()):
            yield Want(REQUIREMENT, frozenset((f"clause/{each.clause}",)), (each.decision,), on)
        for to, ref in getattr(record, "bypass", ()):
            yield Want(BYPASS, frozenset((f"node/{record.label}", f"node/{to}")), (ref,), on)
        if getattr(record, "waived", ""):
            yield Want(WAIVER, frozenset((f"row/{record.label}",)), (record.waived,), on)
        if kind == "item" and str(record.reversal.kind) == "irreversible":
            refs = (record.reversal.decision,)
            yield Want(IRREVERSIBLE, frozenset((f"item/{record.label}",)), refs, on)


def changing(old: Bundle, new: Bundle) -> Iterator[Want]:
    """What a change may not do without one."""
    home = new.goal.decisions
    after = {r.label: r for r in new.requirements}
    if _purpose(old.goal) != _purpose(new.goal):
        yield Want(GOAL, frozenset((f"goal/{new.goal.label}",)), home)
    for was in old.requirements:
        now = after.get(was.label)
        scope = frozenset((f"requirement/{was.label}",))
        if now is None:
            yield Want(REQUIREMENT, scope, home)
        elif _weaker(was, now):
            yield Want(REQUIREMENT, scope, now.decisions)
    nodes = {n.label: n for n in new.nodes}
    for node in old.nodes:
        kept = nodes.get(node.label)
        for to in _waits(node) - _waits(kept) if kept is not None else ():
            refs = tuple(ref for target, ref in kept.bypass if target == to) if kept else ()
            yield Want(BYPASS, frozenset((f"node/{node.label}", f"node/{to}")), refs)
    proved = [(r.label, r.requirement) for r in new.rows if r.direct and not r.waived]
    for row in old.rows:
        same = next((r for r in new.rows if r.label == row.label), None)
        lost = same is None or not same.direct or same.requirement != row.requirement
        if not row.direct or row.waived or not lost or row.requirement not in after:
            continue
        before = [r for r in old.rows if r.direct and not r.waived]
        had = sum(r.requirement == row.requirement for r in before)
        if sum(of == row.requirement for _, of in proved) < had:
            yield Want(WAIVER, frozenset((f"row/{row.label}",)), home)


def _purpose(goal: PlanGoal) -> tuple[Any, ...]:
    clauses = sorted((c.label, c.text) for c in goal.clauses if c.material)
    return (goal.label, goal.objective, goal.non_goals, goal.authority, clauses)


def _weaker(was: PlanRequirement, now: PlanRequirement) -> bool:
    return (
        was.statement != now.statement
        or not set(was.clauses) <= set(now.clauses)
        or not set(was.acceptance) <= set(now.acceptance)
        or bool(set(now.non_goals) - set(was.non_goals))
        or RISKS.index(now.risk) < RISKS.index(was.risk)
    )


def _waits(node: PlanNode) -> set[str]:
    return {edge.target for edge in node.edges if str(edge.type) == "blocks"}


# Gates.


def shut(plan: Bundle, item: PlanItem, decisions: Decisions, now: int, *, strict: bool) -> set[str]:
    """The gates of an item that the plan in force keeps shut, but for ``plan-open``."""
    found = set()
    owned = [r for r in plan.requirements if r.label in item.requirements]
    rows = [r for r in plan.rows if r.item == item.label and r.label in item.rows]
    direct = [r for r in rows if r.direct]
    allowed = {
        want
        for want in standing(plan)
        if any(allows(decisions.get(ref), want, now, strict=strict) for ref in want.refs)
    }
    undecided = [want for want in standing(plan) if want not in allowed]
    if _unclear(plan, undecided) or contradictions(concerned(plan, decisions), decisions, now):
        found.add("goal")
    lost = {f"requirement/{r.label}" for r in owned}
    doubted = any(want.kind == GOAL and want.scope & lost for want in undecided)
    if not owned or doubted or any(_unsaid(r) for r in owned):
        found.add("requirements")
    if item.node not in [n.label for n in plan.nodes]:
        found.add("graph")
    if not owned or any(r.label not in [d.requirement for d in direct] for r in owned):
        found.add("verification-plan")
    red = [r.requirement for r in direct if not r.waived and str(r.spec.control) != "none"]
    risky = [r.label for r in owned if "high" in (str(r.risk), str(item.risk))]
    if any(label not in red for label in risky):
        found.add("red-control")
    if not item.scope:
        found.add("scope")
    if not _classified(item):
        found.add("reversal")
    about = {f"row/{r.label}" for r in rows} | {f"item/{item.label}"}
    if any(want.kind in (WAIVER, IRREVERSIBLE) and want.scope & about for want in undecided):
        found.add("decision")
    return found


def _unclear(plan: Bundle, undecided: list[Want]) -> bool:
    goal = plan.goal
    covered = {c for r in plan.requirements for c in r.clauses} | {
        each.clause for each in goal.exclusions
    }
    material = [c.label for c in goal.clauses if c.material]
    doubted = any(want.kind == GOAL and f"goal/{goal.label}" in want.scope for want in undecided)
    said = goal.objective and goal.authority and goal.provenance and material
    return doubted or not said or any(c not in covered for c in material) or _asks(goal)


def _asks(record: PlanGoal | PlanRequirement) -> bool:
    return any(a.material and not (a.clarification or a.decision) for a in record.ambiguities)


def _unsaid(record: PlanRequirement) -> bool:
    return not (record.statement and record.acceptance and record.clauses) or _asks(record)


def _classified(item: PlanItem) -> bool:
    how = item.reversal
    if str(how.kind) in ("compensation", "irreversible"):
        said = how.effect and how.confirmation and how.blast_radius
        return bool(said and (how.text or str(how.kind) == "irreversible"))
    return str(how.kind) != "unclassified"
