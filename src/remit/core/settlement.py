"""News of an item reaches what waits on it.

Whenever a decision changes how an item stands, its dependents' edges are brought up to date in the
same transaction, each by an event on the dependent's own stream, and admission looks at each of
them again. That may change how a dependent stands, so the work goes on until there is no news.
Where more dependents wait than one transaction may touch, the item is noted on the ledger as
unsettled and ``Settle`` commands carry on in chunks; until then its dependents only wait longer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remit.core.admission import ADMISSION, dead_edge, decide_verdict
from remit.core.beneath import (
    any_child,
    awaited_children,
    chain,
    has_children,
    is_inner,
    last_of_chain,
    upward,
)
from remit.core.deadlock import TooFar, own_cycle
from remit.core.dependencies import Standing, standing, state_of, unmet_edges, unresolved
from remit.core.effect_facts import Intent
from remit.core.effects import awaits_retry, most_attempts, put_poison
from remit.core.events import SettlementDeferred
from remit.core.facts import Dependency, DependencyKind, EdgeState, Item, Key
from remit.core.followers import ask_all, ended_without, release
from remit.core.ids import is_item_id
from remit.core.item_events import DependencyAdded, DependencyRemoved, DependencySettled
from remit.core.registration import attach_rule
from remit.core.status import Kind, Status
from remit.core.triage import put_aside
from remit.core.triage_records import trigger_impossible
from remit.core.view import Draft, Missing
from remit.core.waiters import load_all, since, waiters_of

FAN_OUT: Final = 400
"""Most dependents of one item that are told in the transaction that has the news."""

BUDGET: Final = 900
"""Most events that settlement adds to one decision before it defers the rest."""

NAMED: Final = 10
"""Most items of a cycle that a record of triage spells out."""

QUEUED: Final = (Status.DRAFT, Status.HELD, Status.READY)


def standing_of(draft: Draft, item: Item | None) -> Standing:
    """How an item stands under the present policy."""
    return standing(item, imported_closed_satisfies=draft.policy.imported_closed_satisfies)


def judge(draft: Draft, kind: DependencyKind, target: str) -> tuple[str, EdgeState, str]:
    """The target's id, the edge's state and the item that it is judged by.

    ``target`` is an item id or ``?alias``; an alias that is known by now is resolved.
    """
    if target.startswith("?"):
        known = draft.get("alias", target[1:])
        if not isinstance(known, str):
            return target, EdgeState.UNMET, target
        target = known
    item = draft.item(target)
    if item is None:
        return target, EdgeState.UNMET, target
    last = last_of_chain(draft, item)
    children = kind is DependencyKind.WAITS_FOR and has_children(draft, last.id)
    return target, state_of(kind, standing_of(draft, last), has_children=children), last.id


def _dependents(draft: Draft, via: str) -> list[str] | None:
    """Ids of the items that wait on this one, or None where there are too many for now."""
    answer = draft.query("dependents?", via)
    if len(answer) > FAN_OUT:
        return None
    names = dict.fromkeys(edge.dependent for edge in answer)
    names.update(since(draft, via))
    load_all(draft, names)
    return list(names)


def tell(draft: Draft, name: str, via: str) -> None:
    """Bring one dependent's edges on ``via`` up to date and let admission look at it."""
    if (item := draft.item(name)) is None or item.terminal:
        return
    others: dict[str, None] = {}
    for edge in item.dependencies:
        if edge.via != via or edge not in _edges(draft, name):
            continue  # telling one edge may have settled or ended another
        target, state, last = judge(draft, edge.kind, edge.target)
        inner = is_inner(draft, name, edge.kind, target)
        if (target, state, last, inner) != (edge.target, edge.state, edge.via, edge.inner):
            event = DependencySettled(edge.target, edge.kind, state, last, inner, target)
            draft.emit("item", name, event, ADMISSION)
            if last != edge.via:
                others[last] = None
                if edge.kind is DependencyKind.PARENT:
                    enclose(draft, target, name)
                    regroup_waiters(draft, last)
    regroup(draft, name)
    if not _tied(draft, name, others):
        review(draft, name)


def _tied(draft: Draft, name: str, others: Iterable[str]) -> bool:
    """Put aside what waits for itself now that a follower went on; True where it does.

    A human's successor is refused where it would close a cycle. A follower goes on by itself, with
    what its message waits for, and that may have come to wait for it while it was coalesced.
    """
    if not any(_went_on(draft, other) for other in others):
        return False
    item = draft.item(name)
    if item is None or item.status not in QUEUED:
        return False
    try:
        path = own_cycle(draft, name)
    except TooFar:
        return False  # too many lie between to say; it waits, as it would have
    if not path:
        return False
    through = " -> ".join(path[:NAMED]) + (" -> ..." if len(path) > NAMED else "")
    why = f"it waits for itself: {through}"
    put_aside(draft, item, trigger_impossible(dependency=path[1]), reason=why, by=ADMISSION)
    return True


def _went_on(draft: Draft, name: str) -> bool:
    """Whether an item carries on the message of work that was coalesced."""
    item = draft.item(name)
    if item is None or item.kind is not Kind.EFFECT:
        return False
    intent = draft.get("intent", name)
    return isinstance(intent, Intent) and bool(intent.follows)


def _hear_last(draft: Draft, name: str) -> None:
    """Whoever just ended hears who took its parents' places, of which no news comes later."""
    old, item = _before(draft, name), draft.item(name)
    if item is None or not item.terminal or (old is not None and old.terminal):
        return
    for edge in item.dependencies:
        if edge.kind is DependencyKind.PARENT and edge.via in draft.ledger.unsettled:
            target, state, last = judge(draft, edge.kind, edge.target)
            if last != edge.via:
                event = DependencySettled(
                    edge.target, edge.kind, state, last, inner=False, resolved=target
                )
                draft.emit("item", name, event, ADMISSION)
                enclose(draft, target, name)
                regroup_waiters(draft, last)


def _edges(draft: Draft, name: str) -> tuple[Dependency, ...]:
    item = draft.item(name)
    return item.dependencies if item is not None else ()


def regroup(draft: Draft, name: str) -> None:
    """Let an item that waits for all children of others have one edge on each of them, no more."""
    if (item := draft.item(name)) is None or item.terminal:
        return
    groups = [d for d in item.dependencies if d.kind is DependencyKind.WAITS_FOR]
    kept = {d.target for d in item.dependencies if d.kind is DependencyKind.WAITS_FOR_CHILD}
    if not groups and not kept:
        return
    wanted: dict[str, str] = {}
    for group in groups:
        if not group.via.startswith("?"):
            wanted.update(awaited_children(draft, name, group.via))
    kind = DependencyKind.WAITS_FOR_CHILD
    for child in wanted:
        if child not in kept:
            _, state, via = judge(draft, kind, child)
            inner = is_inner(draft, name, kind, child)
            draft.emit("item", name, DependencyAdded(child, kind, state, via, inner), ADMISSION)
    for child in sorted(kept - wanted.keys()):
        gone = DependencyRemoved(child, kind, "it is no child of what is waited for")
        draft.emit("item", name, gone, ADMISSION)
    for group in groups:
        target, state, via = judge(draft, group.kind, group.target)
        inner = is_inner(draft, name, group.kind, target)
        if (target, state, via, inner) != (group.target, group.state, group.via, group.inner):
            event = DependencySettled(group.target, group.kind, state, via, inner, target)
            draft.emit("item", name, event, ADMISSION)


def regroup_waiters(draft: Draft, parent: str) -> None:
    """What is a child of this one has changed: whoever waits for all its children learns of it."""
    for name in waiters_of(draft, parent):
        regroup(draft, name)
        review(draft, name)


def enclose(draft: Draft, parent: str, child: str, *, left: bool = False) -> None:
    """A child came: waits of its ancestors on it, or on what lies beneath it, are inner ones now.

    ``parent`` is whom its edge names. Where it ``left``, their inner waits may be so no longer.
    """
    for name in upward(draft, chain(draft, parent)):
        item = None if name.startswith("?") else draft.item(name)
        for via in dict.fromkeys(d.via for d in _unlike(item, left)):
            if via == child or not (via[0] == "?" or (not left and not any_child(draft, child))):
                tell(draft, name, via)


def _unlike(item: Item | None, inner: bool) -> list[Dependency]:
    """What an open item waits for, by inner edges or by others."""
    if item is None or item.terminal:
        return []
    return [d for d in unmet_edges(item) if d.inner is inner]


def review(draft: Draft, name: str) -> None:
    """Let admission look at an item, with the rows of its accepted rule where it has none."""
    item = draft.item(name)
    if item is None or item.status not in QUEUED:
        return
    dead = dead_edge(item)
    if dead:
        ended = draft.item(dead)
        outcome = ended.outcome.value if ended is not None and ended.outcome else ""
        found = trigger_impossible(dependency=dead, outcome=outcome)
        why = f"it waits on {dead}, which ended otherwise"
        put_aside(draft, item, found, reason=why, by=ADMISSION)
        return
    if awaits_retry(draft, item):
        return
    if item.counted >= most_attempts(draft, item):
        put_poison(draft, item, ADMISSION)
        return
    attach_rule(draft, item)
    decide_verdict(draft, draft.item(name) or item)


def settle(draft: Draft) -> None:
    """Carry the news of everything that this decision changed to what waits on it."""
    told: dict[str, Standing] = {}
    deferred: list[str] = []
    if draft.ledger.unsettled:
        for name in list(draft.changed_items()):
            _hear_last(draft, name)
    queue = list(draft.changed_items())
    while queue:
        name = queue.pop(0)
        old = _before(draft, name)
        item = draft.item(name)
        # This decision judged an edge by the item before it was done with it.
        midway = name not in told and name in draft.judged
        awaited = midway or name in told or name in draft.view.edges
        if old is None and not awaited:
            continue
        if name not in told and not midway and _same_standing(old, item):
            continue
        before = told.get(name) or standing_of(draft, old)
        after = standing_of(draft, item)
        if before == after and not midway:
            continue
        told[name] = after
        if item is not None and ended_without(draft, item):
            ask_all(draft, (name, *queue))
            if go_on(draft, item, queue):
                deferred.append(name)
                continue
        _ask_all(draft, name, queue)
        dependents = _dependents(draft, name)
        if dependents is None or len(draft.events) > BUDGET:
            deferred.append(name)
            continue
        if item is not None and item.successor:
            need(draft, [("children?", dependent) for dependent in dependents])
        known = len(draft.events)
        for dependent in dependents:
            tell(draft, dependent, name)
        queue += dict.fromkeys(r.stream for r in draft.events[known:] if r.stream[:2] == "W-")
    if deferred:
        draft.emit("ledger", "ledger", SettlementDeferred(tuple(deferred)), ADMISSION)


def go_on(draft: Draft, survivor: Item, queue: list[str]) -> bool:
    """Let what followed work that ended without its effect go on; True where some are left."""
    known = len(draft.events)
    names, more = release(draft, survivor, _depend)
    for name in names:
        review(draft, name)
    queue += dict.fromkeys(r.stream for r in draft.events[known:] if r.stream[:2] == "W-")
    return more


def _depend(draft: Draft, name: str, intent: Intent) -> None:
    """The edges that a message names, for a new item that nothing waits for yet."""
    kind, kept = DependencyKind.BLOCKS, set[str]()
    for named in intent.envelope.depends_on:
        target, state, via = judge(draft, kind, named if is_item_id(named) else unresolved(named))
        if target not in kept:
            kept.add(target)
            draft.emit(
                "item", name, DependencyAdded(target, kind, state, via, inner=False), ADMISSION
            )


def _ask_all(draft: Draft, name: str, others: list[str]) -> None:
    """Ask who waits on all that has news at once, instead of one a round."""
    if ("dependents?", name) not in draft.view.queries:
        news = [
            n
            for n in dict.fromkeys(others)
            if standing_of(draft, _before(draft, n)) != standing_of(draft, draft.item(n))
        ]
        need(draft, [("dependents?", n) for n in (name, *news)])


def need(draft: Draft, queries: list[Key]) -> None:
    """Ask for all of these queries at once that nobody has asked yet."""
    lacking = [key for key in queries if key not in draft.view.queries]
    if lacking:
        raise Missing(*lacking)


def _same_standing(old: Item | None, new: Item | None) -> bool:
    """Whether it is plain that dependents have nothing to learn."""
    return (
        old is not None
        and new is not None
        and old.dependencies is new.dependencies
        and not old.terminal
        and not new.terminal
    )


def _before(draft: Draft, name: str) -> Item | None:
    fact = draft.view.facts.get(("item", name))
    return fact if isinstance(fact, Item) else None


def resolve_alias(draft: Draft, alias: str) -> bool:
    """Tell items that were waiting for this alias that it exists now; True where there were any."""
    waiting = unresolved(alias)
    dependents = _dependents(draft, waiting)
    if dependents is None:
        draft.emit("ledger", "ledger", SettlementDeferred((waiting,)), ADMISSION)
        return True
    for dependent in dependents:
        tell(draft, dependent, waiting)
    return bool(dependents)
