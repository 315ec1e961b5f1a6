"""Folds of plans: their revisions, and each record's newest one.

A record's event changes the fact of its own stream and the entry under which the plan finds it
(``planned``), which follows from the same event alone. A label stands for its record for ever, an
entry for as long as the plan has the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import plan_events as e
from remit.core.change import changed
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, add, first
from remit.core.facts import (
    Goal,
    GraphNode,
    OpenApply,
    Planned,
    PlanRevision,
    Requirement,
    Row,
)
from remit.core.fold import FoldError
from remit.core.planning.bundle import EdgeType

Handler = Callable[[Get, Recorded, Any, Out], None]


GONE: Final = "~"
"""Before the kind of a record that the plan has no longer; it comes after every kind."""


def plan_of(plan_revision_id: str) -> tuple[str, int]:
    """The plan and the number of a revision such as ``P-1@3``."""
    plan, _, number = plan_revision_id.partition("@")
    return plan, int(number)


def entry_of(plan: str, kind: str, label: str) -> str:
    """Under which name a plan keeps a record."""
    return f"{plan}/{kind}/{label}"


def enter(get: Get, rec: Recorded, ev: Any, out: Out, kind: str, label: str) -> None:
    """The plan has this record, carried by the event's stream, from here on.

    It means what it meant before where its digest without decisions is that of the plan in force, also
    where a try that was given up had changed it or taken it away.
    """
    plan, revision = plan_of(ev.plan_revision_id)
    key = ("planned", entry_of(plan, kind, label))
    old = get(*key)
    held = in_force_before(old, revision)
    if old is None and revision > 1:
        gone = get("planned", entry_of(plan, f"{GONE}{kind}", label))
        held = (
            in_force_before(gone, revision)
            if isinstance(gone, Planned) and gone.revision == revision
            else held
        )
    meant = revision
    if isinstance(old, Planned) and old.proposal == ev.proposal_digest:
        meant = old.meant
    elif held[0] == ev.proposal_digest:
        meant = held[1]
    out[key] = Planned(rec.entity, ev.digest, ev.proposal_digest, revision, rec.seq, meant, held)


def in_force_before(entry: Any, revision: int) -> tuple[str, int]:
    """What a record meant, and since when, in the plan before a revision that is being applied."""
    if not isinstance(entry, Planned):
        return "", 0
    return (entry.proposal, entry.meant) if entry.revision < revision else entry.held


def leave(get: Get, rec: Recorded, ev: Any, out: Out, kind: str, label: str) -> None:
    """The plan has this record no longer, unless another carries it by now.

    What it was stays known under a name of its own, so that an apply that was killed can still tell
    what the plan in force had.
    """
    plan, revision = plan_of(ev.plan_revision_id)
    key = ("planned", entry_of(plan, kind, label))
    known = get(*key)
    if isinstance(known, Planned) and known.id == rec.entity:
        out[key] = None
        left = changed(known, revision=revision, held=in_force_before(known, revision))
        out["planned", entry_of(plan, f"{GONE}{kind}", label)] = left


def _next(get: Get, rec: Recorded, kind: str) -> Any:
    fact: Any = get(kind, rec.entity)
    if fact is None or fact.version != rec.version - 1:
        raise FoldError(rec, f"there is no {kind} {rec.entity} at version {rec.version - 1}")
    return fact


def _begin(get: Get, rec: Recorded, out: Out, kind: str, label: str) -> None:
    """The first revision of a record: the next id of its kind, under a label that is free."""
    first(get, rec, kind)
    if add(get, out, "counter", kind, 1) != int(rec.entity.partition("-")[2]):
        raise FoldError(rec, f"{rec.entity} is not the next {kind}")
    key = ("label", f"{kind}/{label}")
    if kind != "row" and get(*key) is not None:
        raise FoldError(rec, f"the label {kind}/{label} is taken")
    out[key] = rec.entity


def _known(get: Get, rec: Recorded, ev: Any, out: Out, kind: str, label: str) -> Any:
    """The revision before, or None; numbers of revisions have no gap."""
    old = None
    if rec.version == 1:
        _begin(get, rec, out, kind, label)
    else:
        old = _next(get, rec, kind)
        if old.label != label:
            raise FoldError(rec, f"{rec.entity} is {old.label!r}, not {label!r}")
    if ev.revision != (old.revision if old is not None else 0) + 1:
        raise FoldError(rec, f"revision {ev.revision} of {rec.entity} does not follow")
    return old


# The plan's own stream.


def _opened(get: Get, rec: Recorded, ev: e.PlanOpened, out: Out) -> None:
    opened = OpenApply(ev.revision, ev.digest, ev.proposal_digest)
    if rec.version == 1:
        _begin(get, rec, out, "plan", ev.label)
        plan = PlanRevision(rec.entity, 1, ev.label)
    else:
        plan = _next(get, rec, "plan")
    if ev.revision != plan.revision + 1 or ev.previous_digest != plan.digest:
        raise FoldError(rec, f"revision {ev.revision} of {rec.entity} does not follow")
    out["plan", rec.entity] = changed(plan, version=rec.version, open=opened)


def _apply(get: Get, rec: Recorded) -> tuple[PlanRevision, OpenApply]:
    plan: PlanRevision = _next(get, rec, "plan")
    if plan.open is None:
        raise FoldError(rec, f"no apply of {rec.entity} is open")
    return plan, plan.open


def _sealed(get: Get, rec: Recorded, ev: e.PlanPartSealed, out: Out) -> None:
    plan, under_way = _apply(get, rec)
    if under_way.sealed or ev.count < under_way.count or ev.after < under_way.after:
        raise FoldError(rec, f"the part after {ev.after!r} does not follow")
    part = changed(
        under_way,
        sealing=True,
        after=ev.after,
        count=ev.count,
        chain=ev.chain,
        proposal_chain=ev.proposal_chain,
        sealed=ev.complete,
    )
    out["plan", rec.entity] = changed(plan, version=rec.version, open=part)


def _closed(get: Get, rec: Recorded, ev: e.PlanClosed, out: Out) -> None:
    plan, under_way = _apply(get, rec)
    sealed = (under_way.sealed, under_way.revision, under_way.chain, under_way.proposal_chain)
    if sealed != (True, ev.revision, ev.digest, ev.proposal_digest):
        raise FoldError(rec, f"{ev.plan_revision_id} is not what was sealed")
    out["plan", rec.entity] = PlanRevision(
        plan.id,
        rec.version,
        plan.label,
        ev.revision,
        ev.digest,
        ev.proposal_digest,
        ev.goal_id,
        ev.goal_revision_id,
        ev.counts,
        ev.decisions,
        ev.shut,
        rec.seq,
        None,
    )


# The records.


def _goal(get: Get, rec: Recorded, ev: e.GoalRevised, out: Out) -> None:
    label = ev.record.label
    _known(get, rec, ev, out, "goal", label)
    plan, _ = plan_of(ev.plan_revision_id)
    out["goal", rec.entity] = Goal(
        rec.entity,
        rec.version,
        ev.revision,
        False,
        rec.seq,
        plan,
        label,
        ev.digest,
        ev.shut,
        settled=_settled(ev),
    )
    enter(get, rec, ev, out, "goal", label)


def _requirement(get: Get, rec: Recorded, ev: e.RequirementRevised, out: Out) -> None:
    label = ev.record.label
    old = _known(get, rec, ev, out, "requirement", label)
    plan, _ = plan_of(ev.plan_revision_id)
    out["requirement", rec.entity] = Requirement(
        rec.entity,
        rec.version,
        ev.revision,
        ev.goal_revision_id,
        "",
        False,
        rec.seq,
        plan,
        label,
        ev.digest,
        str(ev.record.risk),
        ev.shut,
        ev.meaning,
        proposal=ev.proposal_digest,
        held=_held(get, ev, old),
        settled=_settled(ev),
    )
    enter(get, rec, ev, out, "requirement", label)


def _settled(ev: e.GoalRevised | e.RequirementRevised) -> tuple[str, ...]:
    """The decisions without which something in a record would not be clear."""
    apart = dict(ev.texts)
    return tuple(
        dict.fromkeys(
            each.decision
            for n, each in enumerate(ev.record.ambiguities)
            if each.decision
            and not (each.clarification or f"ambiguities.{n}.clarification" in apart)
        )
    )


def _held(get: Get, ev: Any, old: Requirement | None) -> tuple[str, int]:
    """What the plan in force says of a requirement that an apply changes, however often it does."""
    if old is None:
        return "", 0
    plan, revision = plan_of(ev.plan_revision_id)
    known = get("planned", entry_of(plan, "requirement", old.label))
    if isinstance(known, Planned) and known.revision < revision:
        return known.proposal, old.meaning
    return old.held


def _node(get: Get, rec: Recorded, ev: e.NodeRevised, out: Out) -> None:
    label = ev.record.label
    _known(get, rec, ev, out, "node", label)
    plan, _ = plan_of(ev.plan_revision_id)
    waits = tuple(edge.target for edge in ev.record.edges if edge.type is EdgeType.BLOCKS)
    covers = tuple(ref.partition("@")[0] for ref in ev.requirement_refs if ref[:1] != "?")
    out["node", rec.entity] = GraphNode(
        rec.entity,
        rec.version,
        ev.revision,
        plan,
        label,
        ev.digest,
        rec.seq,
        waits,
        covers=covers,
    )
    enter(get, rec, ev, out, "node", label)


def _retired(kind: str) -> Handler:
    def fold(get: Get, rec: Recorded, ev: Any, out: Out) -> None:
        old = _next(get, rec, kind)
        if ev.revision != old.revision + 1 or old.retired:
            raise FoldError(rec, f"revision {ev.revision} of {rec.entity} does not follow")
        more = {"held": _held(get, ev, old)} if isinstance(old, Requirement) else {}
        out[kind, rec.entity] = changed(
            old, version=rec.version, revision=ev.revision, retired=True, seq=rec.seq, **more
        )
        leave(get, rec, ev, out, kind, old.label)

    return fold


def _row(get: Get, rec: Recorded, ev: e.RowPlanned, out: Out) -> None:
    record = ev.record
    _begin(get, rec, out, "row", record.label)
    plan, _ = plan_of(ev.plan_revision_id)
    out["row", rec.entity] = Row(
        rec.entity,
        1,
        ev.requirement_id,
        ev.work_item_id,
        str(record.spec.kind),
        ev.proposal_digest,
        record.spec.origin,
        rec.seq,
        plan,
        record.label,
        record.direct,
        str(record.spec.control),
        record.waived,
    )
    enter(get, rec, ev, out, "row", record.label)


def _row_revised(get: Get, rec: Recorded, ev: e.RowRevised, out: Out) -> None:
    row: Row = _next(get, rec, "row")
    out["row", rec.entity] = changed(row, version=rec.version, waived=ev.waived)
    plan, revision = plan_of(ev.plan_revision_id)
    key = ("planned", entry_of(plan, "row", row.label))
    known = get(*key)
    if not isinstance(known, Planned) or known.id != rec.entity:
        raise FoldError(rec, f"{rec.entity} is not in the plan")
    out[key] = changed(known, digest=ev.digest, revision=revision)


def _row_retired(get: Get, rec: Recorded, ev: e.RowRetired, out: Out) -> None:
    row: Row = _next(get, rec, "row")
    gone = changed(row, version=rec.version, retired=True, successor=ev.successor)
    out["row", rec.entity] = gone
    leave(get, rec, ev, out, "row", row.label)


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.PlanOpened: _opened,
    e.PlanPartSealed: _sealed,
    e.PlanClosed: _closed,
    e.GoalRevised: _goal,
    e.GoalRetired: _retired("goal"),
    e.RequirementRevised: _requirement,
    e.RequirementRetired: _retired("requirement"),
    e.NodeRevised: _node,
    e.NodeRetired: _retired("node"),
    e.RowPlanned: _row,
    e.RowRevised: _row_revised,
    e.RowRetired: _row_retired,
}
