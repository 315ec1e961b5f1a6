"""How an item's change of status moves the small figures around it.

Each status has a count, each lane knows how many of its items are ready and leased, and each actor,
class and tenant how many leases are live. All of them follow from the moves alone, so they are kept
here, in one place, and never anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from remit.core.events import Recorded
from remit.core.facts import Fact, Item, Key, Lane, lane_of
from remit.core.fold import FoldError
from remit.core.lanes import STRIDE, round_of, turn_after
from remit.core.limit_facts import Limit
from remit.core.status import TERMINAL, Kind, Status, permitted

Get = Callable[[str, str], Fact | None]
"""Reads a fact by kind and id."""

Out = dict[Key, Fact | None]
"""Facts that an event changes; None removes one."""


def read(get: Get, out: Out, kind: str, name: str) -> Any:
    """A fact as this event has left it so far."""
    key = (kind, name)
    return out[key] if key in out else get(kind, name)


def add(get: Get, out: Out, kind: str, name: str, by: int) -> int:
    """Change a counter, absent meaning zero, and return its new value."""
    key = (kind, name)
    value: Any = out.get(key)
    if value is None:
        value = get(kind, name) or 0
    out[key] = value = value + by
    return value  # type: ignore[no-any-return]  # counters are integers


def item_of(get: Get, rec: Recorded) -> Item:
    """The item of the event's stream, just before this event."""
    item = get("item", rec.stream)
    if not isinstance(item, Item):
        raise FoldError(rec, f"there is no item {rec.stream}")
    if item.version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} does not follow {item.version}")
    return item


def first(get: Get, rec: Recorded, kind: str) -> None:
    """Demand that the event opens its stream."""
    if rec.version != 1 or get(kind, rec.entity) is not None:
        raise FoldError(rec, f"{rec.stream} exists already")


def lane_fact(get: Get, out: Out, work_class: str, tenant: str) -> Lane:
    """The lane, made on first use with the weight that was set for it, or 1."""
    lane_id = lane_of(work_class, tenant)
    lane: Lane | None = read(get, out, "lane", lane_id)
    return lane if lane is not None else Lane(lane_id, _weight(get, f"lane/{lane_id}"), 0, 0, 0)


def check_move(rec: Recorded, item: Item, tid: str, source: str, target: str) -> Status:
    """Demand that the table has this move and that the item stands where the event says (INV-4)."""
    if item.status.value != source:
        raise FoldError(rec, f"{item.id} is {item.status}, the event moves it from {source}")
    to = target if target.__class__ is Status else Status(target)
    if not permitted(tid, item.kind, item.status, to):
        raise FoldError(rec, f"{tid} does not lead from {source} to {target} for {item.kind} work")
    return to


def account(get: Get, out: Out, item: Item, to: Status) -> None:
    """Counts, lane and loads for a move of ``item`` (as it was) to another status."""
    if item.status is to:
        return
    out["count", item.status] = (get("count", item.status) or 0) - 1  # type: ignore[operator]
    out["count", to] = (get("count", to) or 0) + 1  # type: ignore[operator]  # counts are integers
    if to in TERMINAL and item.kind is Kind.EFFECT:
        add(get, out, "load", f"stored/{item.work_class}", -1)
    ready = (to is Status.READY) - (item.status is Status.READY)
    leased = (to is Status.LEASED) - (item.status is Status.LEASED)
    if not ready and not leased:
        return
    lane = lane_fact(get, out, item.work_class, item.tenant)
    passed, own = lane.passed, item.work_class
    if ready > 0 and lane.ready == 0:
        passed = _joins(get, out, own, lane)
    if leased > 0:
        vtime = out["counter", "vtime"] = max(passed, read(get, out, "counter", "vtime") or 0)
        weight = class_weight(get, own)
        turn = out["lane-turn", own] = turn_after(
            read(get, out, "lane-turn", own) or 0, vtime, weight
        )
        passed = turn + round_of(weight, lane.weight, read(get, out, "active", own) or 0)
    if ready < 0 and lane.ready == 1:
        add(get, out, "active", own, -lane.weight)
    out["lane", lane.id] = Lane(
        lane.id, lane.weight, passed, lane.ready + ready, lane.leased + leased
    )


def _joins(get: Get, out: Out, own: str, lane: Lane) -> int:
    """Where a lane that had nothing joins: behind the others of its class that have something.

    Where its class has not come round to it since it was served, it keeps its place.
    """
    active = read(get, out, "active", own) or 0
    out["active", own] = active + lane.weight
    turn = read(get, out, "lane-turn", own) or 0
    if not active:
        vtime = read(get, out, "counter", "vtime") or 0
        turn = out["lane-turn", own] = max(turn, vtime)
    if lane.passed > turn:
        return lane.passed
    return int(turn) + STRIDE * active // (class_weight(get, own) * lane.weight)


def class_weight(get: Get, work_class: str) -> int:
    """The share of a class among classes; 1 where nobody set one."""
    return _weight(get, f"class/{work_class}")


def _weight(get: Get, scope: str) -> int:
    if not get("counter", "limits"):
        return 1
    found = get("limit", scope)
    return found.weight if isinstance(found, Limit) else 1


def load(get: Get, out: Out, item: Item, actor: str, by: int) -> None:
    """One live lease more or less for the actor, class and tenant."""
    for name in (f"actor/{actor}", f"class/{item.work_class}", f"tenant/{item.tenant}"):
        out["load", name] = (get("load", name) or 0) + by  # type: ignore[operator]  # integers
