"""Folds of a work item's stream into its ``Item``.

One function an event. Moves of status go through ``check_move`` and ``account``; nothing else here
touches a status. Adding an edge, settling one and removing one keep ``unmet`` as the number of
edges that are not met, so that nobody has to scan to find what is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from remit.core import gates
from remit.core import item_events as e
from remit.core.change import changed
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, account, add, first, item_of
from remit.core.evolve.work import HANDLERS as WORK_HANDLERS
from remit.core.facts import (
    Dependency,
    DependencyKind,
    EdgeState,
    Item,
    Plan,
    Source,
)
from remit.core.fold import FoldError
from remit.core.ids import item_number
from remit.core.status import Kind, Outcome, Status

Handler = Callable[[Get, Recorded, Any, Out], None]


def unmet_of(dependencies: Iterable[Dependency]) -> int:
    """How many edges are not met; a dead one is not met either."""
    return sum(d.state is not EdgeState.MET for d in dependencies)


def new_item(get: Get, rec: Recorded, out: Out, alias: str) -> int:
    """Count a new item and its alias; returns its number."""
    first(get, rec, "item")
    number = item_number(rec.stream)
    if add(get, out, "counter", "work-item", 1) != number:
        raise FoldError(rec, f"{rec.stream} is not the next work item")
    if alias:
        if get("alias", alias) is not None:
            raise FoldError(rec, f"the alias {alias} is taken")
        out["alias", alias] = rec.stream
    return number


def _created(get: Get, rec: Recorded, ev: e.ItemCreated, out: Out) -> None:
    number = new_item(get, rec, out, ev.alias)
    plan = Plan(
        ev.goal,
        ev.requirement_refs,
        ev.verification_plan_refs,
        ev.scope,
        ev.artifacts,
        ev.rule,
        ev.ambiguous,
        rec.seq,
        1,
    )
    item = Item(
        rec.stream,
        1,
        number,
        Kind(ev.kind),
        Status.DRAFT,
        ev.title,
        ev.text_ref,
        ev.priority,
        ev.work_class,
        ev.tenant,
        ev.alias,
        plan,
        gates.UNASSESSED,
        *BLANK,
        None,
        rec.at,
        rec.at,
    )
    out["item", rec.stream] = item
    add(get, out, "count", Status.DRAFT, 1)


BLANK: Final = (None, (), (), 0, 0, 0, 0, 0, False, None, (), None, (), (), None, None, "")
"""Hold to successor of a new item."""


def _imported(get: Get, rec: Recorded, ev: e.ItemImported, out: Out) -> None:
    number = new_item(get, rec, out, ev.alias)
    plan = Plan(ev.goal, ev.requirement_refs, (), ("**",), (), ev.rule, True, rec.seq, 1)
    source = Source(
        ev.import_id, ev.digest, ev.foreign_status, ev.unconfirmed, ev.satisfies, ev.failed
    )
    status = Status.CLOSED if ev.closed else Status.DRAFT
    item = Item(
        rec.stream,
        1,
        number,
        Kind.DELIVERY,
        status,
        "",
        ev.text_ref,
        ev.priority,
        ev.work_class,
        ev.tenant,
        ev.alias,
        plan,
        ev.gate,
        *BLANK,
        source,
        rec.at,
        rec.at,
    )
    outcome = Outcome(ev.outcome) if ev.closed else None
    edges = dependencies_of(ev.edges)
    item = changed(item, outcome=outcome, links=ev.links, dependencies=edges, unmet=unmet_of(edges))
    out["item", rec.stream] = item
    add(get, out, "count", status, 1)


def dependencies_of(
    edges: Iterable[tuple[str, str, str, str, bool]],
) -> tuple[Dependency, ...]:
    """Edges as an event holds them: target, kind, state, via, inner."""
    return tuple(
        Dependency(target, DependencyKind(kind), EdgeState(state), via, inner)
        for target, kind, state, via, inner in edges
    )


def _keep(get: Get, rec: Recorded, out: Out, item: Item, **new: Any) -> None:
    out["item", rec.stream] = changed(item, version=rec.version, changed_at=rec.at, **new)


def _revised(get: Get, rec: Recorded, ev: e.ItemRevised, out: Out) -> None:
    item = item_of(get, rec)
    if ev.revision != item.plan.brief_revision + 1:
        raise FoldError(rec, f"brief revision {ev.revision} does not follow")
    plan = changed(
        item.plan,
        scope=ev.scope,
        artifacts=ev.artifacts,
        brief_seq=rec.seq,
        brief_revision=ev.revision,
    )
    source = item.source
    if source is not None and ev.source_digest:
        source = changed(
            source,
            digest=ev.source_digest,
            status=ev.foreign_status,
            unconfirmed=ev.unconfirmed,
        )
    shift = ev.priority - item.priority
    rank = item.rank
    if shift and item.status is Status.READY:
        rank += shift * get_policy_step(get)
    _keep(
        get,
        rec,
        out,
        item,
        plan=plan,
        source=source,
        title=ev.title,
        text=ev.text_ref,
        priority=ev.priority,
        rank=rank,
    )


def get_policy_step(get: Get) -> int:
    """One step of priority in microseconds under the present policy."""
    ledger = get("ledger", "ledger")
    step: int = ledger.policy.age_step_ms * 1_000  # type: ignore[union-attr]  # always there
    return step


def _rows_attached(get: Get, rec: Recorded, ev: e.RowsAttached, out: Out) -> None:
    item = item_of(get, rec)
    plan = changed(
        item.plan,
        rows=item.plan.rows + ev.verification_plan_refs,
        ambiguous=item.plan.ambiguous and not ev.clears,
    )
    _keep(get, rec, out, item, plan=plan)


def _confirmed(get: Get, rec: Recorded, ev: e.ImportConfirmed, out: Out) -> None:
    item = item_of(get, rec)
    if item.source is None:
        raise FoldError(rec, f"{item.id} was not imported")
    _keep(get, rec, out, item, source=changed(item.source, unconfirmed=False))


def _noted(get: Get, rec: Recorded, ev: Event, out: Out) -> None:
    _keep(get, rec, out, item_of(get, rec))


def _edges(get: Get, rec: Recorded, out: Out, item: Item, edges: Iterable[Dependency]) -> None:
    dependencies = tuple(edges)
    _keep(get, rec, out, item, dependencies=dependencies, unmet=unmet_of(dependencies))


def _dependencies_set(get: Get, rec: Recorded, ev: e.DependenciesSet, out: Out) -> None:
    item = item_of(get, rec)
    edges = dependencies_of(ev.edges)
    _keep(get, rec, out, item, dependencies=edges, unmet=unmet_of(edges))


def _dependency_added(get: Get, rec: Recorded, ev: e.DependencyAdded, out: Out) -> None:
    item = item_of(get, rec)
    edge = Dependency(ev.target, DependencyKind(ev.kind), EdgeState(ev.state), ev.via, ev.inner)
    if any(d.target == edge.target and d.kind is edge.kind for d in item.dependencies):
        raise FoldError(rec, f"{item.id} waits on {edge.target} already")
    _edges(get, rec, out, item, (*item.dependencies, edge))


def _dependency_removed(get: Get, rec: Recorded, ev: e.DependencyRemoved, out: Out) -> None:
    item = item_of(get, rec)
    kind = DependencyKind(ev.kind)
    rest = [d for d in item.dependencies if not (d.target == ev.target and d.kind is kind)]
    if len(rest) == len(item.dependencies):
        raise FoldError(rec, f"{item.id} does not wait on {ev.target}")
    _edges(get, rec, out, item, rest)


def _dependency_settled(get: Get, rec: Recorded, ev: e.DependencySettled, out: Out) -> None:
    item = item_of(get, rec)
    kind = DependencyKind(ev.kind)
    edges = list(item.dependencies)
    for i, edge in enumerate(edges):
        if edge.target == ev.target and edge.kind is kind:
            edges[i] = Dependency(ev.resolved, kind, EdgeState(ev.state), ev.via, ev.inner)
            _edges(get, rec, out, item, edges)
            return
    raise FoldError(rec, f"{item.id} does not wait on {ev.target}")


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.ItemCreated: _created,
    e.ItemImported: _imported,
    e.ItemRevised: _revised,
    e.RowsAttached: _rows_attached,
    e.ImportConfirmed: _confirmed,
    e.NoteAdded: _noted,
    e.LateReportRecorded: _noted,
    e.DependenciesSet: _dependencies_set,
    e.DependencyAdded: _dependency_added,
    e.DependencyRemoved: _dependency_removed,
    e.DependencySettled: _dependency_settled,
    **WORK_HANDLERS,
}

__all__ = ["HANDLERS", "account", "unmet_of"]
