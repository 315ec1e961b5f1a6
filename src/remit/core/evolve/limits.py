"""Folds of limits and money: what scopes may use, and what leases take of it.

Each lease moves the figures of its scopes; they follow from the events of leases alone and are kept
here, in one place. Scopes without a limit of a sort keep no figure of that sort, but money is
counted in every scope, so that a limit set later finds what was spent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core.change import changed
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, add, item_of, read
from remit.core.facts import Item, Lane, Lease
from remit.core.fold import FoldError
from remit.core.limit_events import LimitSet, SpendSettled
from remit.core.limit_facts import (
    NO_SPEND,
    Limit,
    Rate,
    Spend,
    charge_of,
    outstanding,
    period_of,
    scopes_of,
)

Handler = Callable[[Get, Recorded, Any, Out], None]


def _set(get: Get, rec: Recorded, ev: LimitSet, out: Out) -> None:
    scope = rec.entity
    old = get("limit", scope)
    if rec.version != (old.version if isinstance(old, Limit) else 0) + 1:
        raise FoldError(rec, f"stream version {rec.version} does not follow")
    if old is None:
        add(get, out, "counter", "limits", 1)
    out["limit", scope] = Limit(
        scope, rec.version, ev.concurrency, ev.rate, ev.per_ms, ev.spend_micros,
        ev.reserve_micros, ev.weight, rec.seq,
    )  # fmt: skip
    kind, _, name = scope.partition("/")
    if kind != "lane":
        return
    lane = get("lane", name)
    if isinstance(lane, Lane) and lane.weight != ev.weight:
        if lane.ready:
            add(get, out, "active", name.partition("|")[0], ev.weight - lane.weight)
        out["lane", name] = changed(lane, weight=ev.weight)


def _spend(get: Get, out: Out, item: Item, actor: str, settled: int, reserved: int) -> None:
    """Move the money of every scope of a lease."""
    for scope in scopes_of(item.work_class, item.tenant, actor, item.kind):
        found = read(get, out, "spend", scope)
        used = found if isinstance(found, Spend) else NO_SPEND
        out["spend", scope] = Spend(used.settled + settled, used.reserved + reserved, used.stopped)


def begun(get: Get, rec: Recorded, out: Out, item: Item, lease: Lease) -> None:
    """A lease was given: count it where a rate is limited, and set its money aside."""
    if lease.spend_micros:
        _spend(get, out, item, lease.actor, 0, lease.spend_micros)
    if not get("counter", "limits"):
        return
    for scope in scopes_of(item.work_class, item.tenant, lease.actor, item.kind):
        limit = get("limit", scope)
        if isinstance(limit, Limit) and limit.rate is not None:
            begins = period_of(rec.at, limit.per_ms)
            rate = get("rate", scope)
            given = rate.count if isinstance(rate, Rate) and rate.begins == begins else 0
            out["rate", scope] = Rate(begins, given + 1)


def ended(get: Get, out: Out, item: Item, lease: Lease, *, clean: bool, expired: bool) -> None:
    """A lease ended: what is still set aside is given back, or charged where nothing is known.

    It is given back where the work was handed back clean, or where the holder said what it cost;
    never after an expiry.
    """
    if not lease.spend_micros:
        return
    charged = read(get, out, "charge", charge_of(item.id, lease.fence)) or 0
    left = outstanding(lease.spend_micros, charged)
    back = clean or (charged > 0 and not expired)
    _spend(get, out, item, lease.actor, 0 if back else left, -left)
    if left and not back:
        out["charge", charge_of(item.id, lease.fence)] = charged + left


def _settled(get: Get, rec: Recorded, ev: SpendSettled, out: Out) -> None:
    item = item_of(get, rec)
    charge = charge_of(item.id, ev.fence)
    charged: int = get("charge", charge) or 0  # type: ignore[assignment]  # an integer
    if ev.charged_micros != ev.spent_micros - charged or ev.charged_micros <= 0:
        raise FoldError(rec, f"fence {ev.fence} was charged {charged} before")
    lease = item.lease
    freed = 0
    if lease is not None and lease.fence == ev.fence:
        reserved = lease.spend_micros
        freed = outstanding(reserved, charged) - outstanding(reserved, ev.spent_micros)
    _spend(get, out, item, ev.actor, ev.charged_micros, -freed)
    out["charge", charge] = ev.spent_micros
    out["item", rec.stream] = changed(item, version=rec.version, changed_at=rec.at)


def stop(get: Get, out: Out, scope: str, record: str) -> None:
    """Stop or free a scope; the record is empty where it may go on."""
    found = read(get, out, "spend", scope)
    used = found if isinstance(found, Spend) else NO_SPEND
    out["spend", scope] = Spend(used.settled, used.reserved, record)


def free(get: Get, out: Out, item: Item, record: str) -> None:
    """Let the scopes go on that a settled record had stopped."""
    for actor in item.holders or ("",):
        for scope in scopes_of(item.work_class, item.tenant, actor, item.kind):
            found = read(get, out, "spend", scope)
            if isinstance(found, Spend) and found.stopped == record:
                stop(get, out, scope, "")


HANDLERS: Final[dict[type[Event], Handler]] = {LimitSet: _set, SpendSettled: _settled}
