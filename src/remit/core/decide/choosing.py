"""Which item a lease is for: the named one, or the next in turn, and whether its limits allow one.

Lanes whose limits are used up are skipped whole, and more lanes are looked at while there are any, so
that nothing waits behind what may not be given (INV-11, INV-12).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from remit.core import commands as c
from remit.core.decide.asking import expired, find
from remit.core.deferred import overtaken
from remit.core.effect_facts import Intent
from remit.core.effects import acquire, most_attempts
from remit.core.facts import Item, Lane
from remit.core.lanes import in_turn
from remit.core.limit_facts import scopes_of
from remit.core.limits import limit_of, over_rate, over_spend, reservation
from remit.core.planned_gates import ask_gates
from remit.core.refusals import Code, Refused
from remit.core.status import Kind, Status
from remit.core.view import Draft, Missing

_PLACE: Final = attrgetter("rank", "number")


def barred(draft: Draft, item: Item) -> bool:
    """Whether a ready item may not be leased all the same, until admission looks at it again."""
    if item.kind is Kind.EFFECT and isinstance(acquire(draft, item), Refused):
        return True
    governed = item.plan.governed
    if governed is not None and not all(asked[1] for asked in ask_gates(draft, item, governed)):
        return True
    return used_up(draft, item) or bool(draft.ledger.unsettled and overtaken(draft, item))


def used_up(draft: Draft, item: Item) -> bool:
    """Whether its attempts are used up: so after a bound was lowered, until a recheck (INV-10)."""
    return item.counted >= most_attempts(draft, item)


def named(draft: Draft, cmd: c.GrantLease) -> Item | Refused:
    """The item that a lease asks for, where it may be given now."""
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if item.status is Status.READY:
        full = _over_limit(draft, item.id, item.work_class, item.tenant)
        return full or _unaffordable(draft, item, cmd) or item
    if item.lease is None:
        return not_ready(item)
    aside: tuple[c.Command, ...] = ()
    if expired(draft, item.lease):
        aside = (c.ExpireLease(item.id),)
    return Refused(
        Code.ITEM_LEASED,
        f"cannot lease {item.id}: {item.lease.actor} holds it ({item.lease.id})",
        "take another with 'remit lease --next', or wait until the lease ends",
        {
            "item": item.id,
            "holder": item.lease.actor,
            "expires_at": item.lease.expires_at,
        },
        aside,
    )


def not_ready(item: Item) -> Refused:
    """Why an item that is not ready is not leased."""
    gate = f", behind the gate {item.gate}" if item.gate else ""
    hold = f", held for {item.hold.reason}" if item.hold else ""
    return Refused(
        Code.ITEM_NOT_READY,
        f"cannot lease {item.id}: it is {item.status}{gate}{hold}",
        f"see why with 'remit explain {item.id}'",
        {"item": item.id, "status": str(item.status), "gate": item.gate},
    )


def _over_limit(draft: Draft, what: str, work_class: str, tenant: str) -> Refused | None:
    """Concurrency and rate are never exceeded at any seq (INV-11)."""
    found = _too_many(draft, what, work_class, tenant)
    if found is not None or not draft.counter("limits"):
        return found
    return over_rate(draft, what, scopes_of(work_class, tenant, draft.ask.actor, Kind.EFFECT))


def _unaffordable(draft: Draft, item: Item, cmd: c.GrantLease) -> Refused | None:
    """Nor is spend: what this item reserves must fit, and so must the rate of its repository."""
    if not draft.counter("limits"):
        return None
    scopes = scopes_of(item.work_class, item.tenant, draft.ask.actor, item.kind)
    late = over_rate(draft, item.id, scopes)
    return late or over_spend(draft, item.id, scopes, reserved(draft, item, cmd))


def reserved(draft: Draft, item: Item, cmd: c.GrantLease) -> int:
    """What a lease sets aside: what was asked, what its intent says, or what its limits say."""
    asked = cmd.spend_micros
    if not asked and item.kind is Kind.EFFECT:
        intent = draft.get("intent", item.id)
        asked = (intent.envelope.spend_micros or 0) if isinstance(intent, Intent) else 0
    if asked or not draft.counter("limits"):
        return asked
    scopes = scopes_of(item.work_class, item.tenant, draft.ask.actor, item.kind)
    return reservation(draft, scopes)


def _too_many(draft: Draft, what: str, work_class: str, tenant: str) -> Refused | None:
    policy = draft.policy
    limited = draft.counter("limits") > 0
    total = draft.get("count", Status.LEASED)
    total = total if isinstance(total, int) else 0
    if not limited and total < min(
        policy.ledger_leases, policy.actor_leases, policy.class_leases, policy.tenant_leases
    ):
        return None  # no scope has more than all of them together
    actor = f"actor/{draft.ask.actor}"
    own, tenancy = f"class/{work_class}", f"tenant/{tenant}"
    for name, live, most in (
        ("ledger", total, policy.ledger_leases),
        (actor, draft.load(actor), policy.actor_leases),
        (own, draft.load(own), policy.class_leases),
        (tenancy, draft.load(tenancy), policy.tenant_leases),
    ):
        set_for = limit_of(draft, name) if limited else None
        limit = most if set_for is None or set_for.concurrency is None else set_for.concurrency
        if live >= limit:
            scope = name.partition("/")[0]
            return Refused(
                Code.CONCURRENCY_LIMIT,
                f"cannot lease {what}: {live} leases are live for this {scope}, the limit is"
                f" {limit}",
                f"wait until one ends, or raise it with 'remit limit set {name} --concurrency N'",
                {"scope": scope, "live": live, "limit": limit},
            )
    return None


def next_item(draft: Draft, cmd: c.GrantLease) -> Item | Refused:
    """The first ready item of the lane whose turn it is; lanes at their limit are skipped whole.

    Looks at more lanes while there are any and none of those that it knows has something to give,
    so that no lane waits behind others that are full (INV-12).
    """
    refused: Refused | None = None
    for lane in _lanes(draft, cmd):
        work_class, _, tenant = lane.id.partition("|")
        full = _over_limit(draft, "the next item", work_class, tenant)
        if full is not None:
            refused = full
            continue
        item = _head(draft, lane)
        if item is not None:
            refused = _unaffordable(draft, item, cmd)
            if refused is None:
                return item
    if draft.query("lanes?", "more"):
        raise Missing(("lanes+", ""))
    return refused or Refused(
        Code.NOTHING_READY,
        "nothing is ready to be leased",
        "see what waits, and for what, with 'remit blocked'",
    )


def _lanes(draft: Draft, cmd: c.GrantLease) -> list[Lane]:
    wanted = []
    for lane in in_turn(draft.lanes()):
        work_class, _, tenant = lane.id.partition("|")
        if cmd.work_class in ("", work_class) and cmd.tenant in ("", tenant):
            wanted.append(lane)
    return wanted


def _head(draft: Draft, lane: Lane) -> Item | None:
    """The lane's first ready item: from the loaded window, or one that became ready since."""
    fresh = draft.view.fresh.get(lane.id, ())
    best = _best(draft, fresh)
    window = draft.query("ready?", lane.id)
    for at in range(draft.view.heads.get(lane.id, 0), len(window.ids)):
        name = window.ids[at]
        item = draft.item(name)
        if item is None or item.status is not Status.READY or name in fresh or barred(draft, item):
            continue
        first = best is None or (item.rank, item.number) < (best.rank, best.number)
        return item if first else best
    if window.more:
        raise Missing(("ready+", lane.id))
    return best


def _best(draft: Draft, fresh: Sequence[str]) -> Item | None:
    """The first in rank of those that became ready since the window was read, if any may be leased.

    What bars an item costs more to ask than its rank, so it is asked in the order of ranks.
    """
    found = [draft.item(name) for name in fresh]
    ready = [item for item in found if item is not None and item.status is Status.READY]
    if len(ready) > 1:
        ready.sort(key=_PLACE)
    return next((item for item in ready if not barred(draft, item)), None)
