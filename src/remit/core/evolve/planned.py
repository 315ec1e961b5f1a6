"""Folds of what plans do to work items: making, changing and leaving them.

The item's own stream alone says what it was made for. Status and counts change by the ordinary moves
only; nothing here moves an item.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import plan_events as e
from remit.core.change import changed
from remit.core.events import Event, Recorded
from remit.core.evolve.items import BLANK, dependencies_of, get_policy_step, new_item, unmet_of
from remit.core.evolve.moves import Get, Out, add, item_of
from remit.core.evolve.plans import enter, leave, plan_of
from remit.core.facts import Governed, Item, Plan
from remit.core.fold import FoldError
from remit.core.gates import planned_gate
from remit.core.planning.findings import Gate
from remit.core.planning.stages import reversal_gaps
from remit.core.status import Kind, Status

Handler = Callable[[Get, Recorded, Any, Out], None]


def _governed(
    ev: e.ItemPlanned | e.ItemReplanned, orphaned: tuple[str, ...], predecessor: str, made: Any
) -> Governed:
    record = ev.record
    plan, _ = plan_of(ev.plan_revision_id)
    return Governed(
        plan,
        made.plan_revision_id if isinstance(made, e.ItemPlanned) else made[0],
        made.goal_revision_id if isinstance(made, e.ItemPlanned) else made[1],
        record.label,
        ev.node,
        ev.digest,
        ev.requirement_refs,
        ev.dependency_refs,
        ev.graph_refs,
        orphaned,
        ev.graph_version,
        ev.waits,
        str(record.risk),
        str(record.reversal.kind),
        not reversal_gaps(record.reversal),
        record.reversal.decision,
        predecessor,
    )


def _ids(refs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(ref.partition("@")[0] for ref in refs)


def _planned(get: Get, rec: Recorded, ev: e.ItemPlanned, out: Out) -> None:
    number = new_item(get, rec, out, ev.alias)
    record = ev.record
    plan_id, _ = plan_of(ev.plan_revision_id)
    plan = Plan(
        ev.goal_revision_id.partition("@")[0],
        _ids(ev.requirement_refs),
        ev.verification_plan_refs,
        record.scope,
        record.artifacts,
        "",
        False,
        rec.seq,
        1,
        _governed(ev, (), ev.predecessor, ev),
    )
    edges = dependencies_of(ev.edges)
    item = Item(
        rec.stream,
        1,
        number,
        Kind.DELIVERY,
        Status.DRAFT,
        record.title,
        ev.text_ref,
        record.priority,
        record.work_class,
        record.tenant,
        ev.alias,
        plan,
        planned_gate(Gate.PLAN_OPEN, plan_id),
        *BLANK,
        None,
        rec.at,
        rec.at,
    )
    item = changed(item, dependencies=edges, unmet=unmet_of(edges))
    out["item", rec.stream] = item
    add(get, out, "count", Status.DRAFT, 1)
    enter(rec, ev, out, "item", record.label)


def _replanned(get: Get, rec: Recorded, ev: e.ItemReplanned, out: Out) -> None:
    item = item_of(get, rec)
    if ev.revision != item.plan.brief_revision + ev.brief:
        raise FoldError(rec, f"brief revision {ev.revision} does not follow")
    old = item.plan.governed
    if old is None and not ev.brief:
        raise FoldError(rec, f"{item.id} was not planned before")
    made = (ev.plan_revision_id, ev.goal_revision_id)
    if old is not None and not ev.brief:
        made = (old.plan_revision, old.goal_revision)
    predecessor = old.predecessor if old is not None else ""
    governed = _governed(ev, ev.orphaned_refs, predecessor, made)
    record = ev.record
    new: dict[str, Any] = {"plan": changed(item.plan, governed=governed)}
    if ev.brief:
        new["plan"] = Plan(
            ev.goal_revision_id.partition("@")[0],
            _ids(ev.requirement_refs),
            ev.verification_plan_refs,
            record.scope,
            record.artifacts,
            "",
            False,
            rec.seq,
            ev.revision,
            governed,
        )
        new |= {"title": record.title, "text": ev.text_ref}
    if not item.terminal:
        edges = dependencies_of(ev.edges)
        new |= {"dependencies": edges, "unmet": unmet_of(edges), **_priority(get, item, record)}
    out["item", rec.stream] = changed(item, version=rec.version, changed_at=rec.at, **new)
    enter(rec, ev, out, "item", record.label)


def _priority(get: Get, item: Item, record: Any) -> dict[str, Any]:
    shift = record.priority - item.priority
    rank = item.rank
    if shift and item.status is Status.READY:
        rank += shift * get_policy_step(get)
    return {"priority": record.priority, "rank": rank}


def _parted(get: Get, rec: Recorded, ev: Any) -> tuple[Item, Governed]:
    item = item_of(get, rec)
    governed = item.plan.governed
    if governed is None:
        raise FoldError(rec, f"{item.id} was not planned")
    kept = {"orphaned_refs": ev.orphaned_refs, "graph_version": ev.graph_version}
    return item, changed(governed, left=True, **kept)


def _unplanned(get: Get, rec: Recorded, ev: e.ItemUnplanned, out: Out) -> None:
    item, governed = _parted(get, rec, ev)
    plan = changed(item.plan, governed=governed)
    out["item", rec.stream] = changed(item, version=rec.version, changed_at=rec.at, plan=plan)
    leave(get, rec, ev, out, "item", governed.label)


def _succeeded(get: Get, rec: Recorded, ev: e.ItemSucceeded, out: Out) -> None:
    """Dependents are judged by the successor from here on, as for every chain."""
    item, governed = _parted(get, rec, ev)
    if item.status is not Status.VERIFIED or item.successor or not ev.successor:
        raise FoldError(rec, f"{item.id} cannot be succeeded")
    plan = changed(item.plan, governed=governed)
    out["item", rec.stream] = changed(
        item,
        version=rec.version,
        changed_at=rec.at,
        plan=plan,
        successor=ev.successor,
        stale=ev.stale_rows,
    )
    leave(get, rec, ev, out, "item", governed.label)


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.ItemPlanned: _planned,
    e.ItemReplanned: _replanned,
    e.ItemUnplanned: _unplanned,
    e.ItemSucceeded: _succeeded,
}
