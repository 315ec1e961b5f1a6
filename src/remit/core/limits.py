"""Limits: which scopes a lease falls under, and what they still allow (INV-11).

Concurrency, rate and spend are each asked of every scope before a lease is given. Spend is reserved
with the lease, settled by what the holder reports (the total of the attempt so far), given back
where the lease is handed back before anything was reported, and charged in full where nothing is
known: an expiry gives nothing back. A scope with a limit on spend needs a reservation, so that no
lease runs on money that nobody set aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remit.core.admission import ADMISSION
from remit.core.facts import Item
from remit.core.ids import MAX_INTEGER
from remit.core.limit_events import SpendSettled
from remit.core.limit_facts import (
    NO_SPEND,
    Limit,
    Rate,
    Spend,
    charge_of,
    period_of,
    scopes_of,
)
from remit.core.refusals import Code, Refused
from remit.core.triage import put_aside
from remit.core.triage_records import budget_exhausted
from remit.core.view import Draft


def limit_of(draft: Draft, scope: str) -> Limit | None:
    """The limit that somebody set for a scope."""
    if not draft.counter("limits"):
        return None
    found = draft.get("limit", scope)
    return found if isinstance(found, Limit) else None


def _limits(draft: Draft, scopes: tuple[str, ...]) -> Iterator[Limit]:
    if draft.counter("limits"):
        for scope in scopes:
            found = draft.get("limit", scope)
            if isinstance(found, Limit):
                yield found


def spend_of(draft: Draft, scope: str) -> Spend:
    """What a scope has used of its money."""
    found = draft.get("spend", scope)
    return found if isinstance(found, Spend) else NO_SPEND


def over_rate(draft: Draft, what: str, scopes: tuple[str, ...]) -> Refused | None:
    """Refuse a lease where one of its scopes has had as many as this period allows."""
    for limit in _limits(draft, scopes):
        if limit.rate is None:
            continue
        begins = period_of(draft.now, limit.per_ms)
        rate = draft.get("rate", limit.scope)
        given = rate.count if isinstance(rate, Rate) and rate.begins == begins else 0
        if given >= limit.rate:
            wait_ms = (begins + limit.per_ms * 1_000 - draft.now + 999) // 1_000
            return Refused(
                Code.RATE_LIMIT,
                f"cannot lease {what}: {given} leases were given for {limit.scope} in this period"
                f" of {limit.per_ms} ms, the limit is {limit.rate}",
                f"ask again in {wait_ms} ms, or raise it with 'remit limit set {limit.scope}'",
                {"scope": limit.scope, "given": given, "limit": limit.rate,
                 "retry_after_ms": wait_ms},
            )  # fmt: skip
    return None


def reservation(draft: Draft, scopes: tuple[str, ...]) -> int:
    """What a lease reserves that asks for nothing: the largest that its limits say."""
    return max((limit.reserve_micros for limit in _limits(draft, scopes)), default=0)


def over_spend(draft: Draft, what: str, scopes: tuple[str, ...], asked: int) -> Refused | None:
    """Refuse a lease where settled, reserved and asked together are above a scope's limit."""
    for limit in _limits(draft, scopes):
        if limit.spend_micros is None:
            continue
        used = spend_of(draft, limit.scope)
        details: dict[str, Any] = {
            "scope": limit.scope, "settled_micros": used.settled, "reserved_micros": used.reserved,
            "asked_micros": asked, "limit_micros": limit.spend_micros,
        }  # fmt: skip
        if used.stopped:
            return Refused(
                Code.BUDGET_EXHAUSTED,
                f"cannot lease {what}: {limit.scope} is stopped by {used.stopped}, a settlement"
                " above its reservation",
                f"see 'remit triage show {used.stopped}' and resolve it",
                {**details, "record": used.stopped},
            )
        if asked <= 0:
            return Refused(
                Code.SPEND_UNESTIMATED,
                f"cannot lease {what}: {limit.scope} has a limit on spend and the lease reserves"
                " nothing",
                "say how much with --spend, or give the limit a reservation of its own",
                details,
            )
        if used.settled + used.reserved + asked > limit.spend_micros:
            return Refused(
                Code.BUDGET_EXHAUSTED,
                f"cannot lease {what}: {limit.scope} has settled {used.settled} and reserved"
                f" {used.reserved} of {limit.spend_micros} micro-units, {asked} more are asked for",
                "wait until reservations are settled, or raise the limit",
                details,
            )
    return None


def limited_spend(draft: Draft, item: Item, actor: str) -> list[str]:
    """The scopes of a lease that have a limit on spend."""
    scopes = scopes_of(item.work_class, item.tenant, actor, item.kind)
    return [x.scope for x in _limits(draft, scopes) if x.spend_micros is not None]


def misspent(spent: int | None) -> Refused | None:
    """Refuse a cost that is no amount."""
    if spent is None or 0 <= spent <= MAX_INTEGER:
        return None
    return Refused(
        Code.BAD_INPUT,
        f"spent is {spent}, expected 0 to {MAX_INTEGER} micro-units",
        "give the total that the attempt has cost so far",
    )


def settle_spend(
    draft: Draft, item: Item, fence: int, reserved: int, spent: int | None
) -> list[str]:
    """Record what an attempt has cost so far; the scopes that an overrun stops.

    A total that is no higher than what was charged changes nothing.
    """
    if spent is None:
        return []
    charged = draft.get("charge", charge_of(item.id, fence))
    before = charged if isinstance(charged, int) else 0
    if spent <= before:
        return []
    actor = draft.ask.actor
    over = spent > max(reserved, before)
    event = SpendSettled(fence, actor, reserved, spent, spent - before, over)
    draft.emit("item", item.id, event)
    return limited_spend(draft, item, actor) if over else []


def put_over_budget(draft: Draft, name: str, fence: int, stops: list[str]) -> None:
    """T10 ``budget-exhausted``: no lease in these scopes until somebody has looked (INV-11)."""
    item = draft.item(name)
    if not stops or item is None or item.terminal:
        return
    limits = [limit.spend_micros or 0 for limit in _limits(draft, tuple(stops))]
    used = [spend_of(draft, scope) for scope in stops]
    charged = draft.get("charge", charge_of(item.id, fence))
    evidence = budget_exhausted(
        scope=stops,
        limit=limits,
        settled=[each.settled for each in used],
        reserved=[each.reserved for each in used],
        stops=stops,
        fence=fence,
        spent=charged if isinstance(charged, int) else None,
    )
    put_aside(draft, item, evidence, reason="it cost more than was reserved for it", by=ADMISSION)
