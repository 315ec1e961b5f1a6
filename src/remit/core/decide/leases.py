"""Decisions on leases: grant, renew, release and expire.

All acquisition checks are made before anything is written, and a refusal writes nothing to the item
(INV-6). A fence is the ledger's next counter under its epoch (INV-7). Attempts are counted when the
lease is given, not when it fails (INV-10).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.admission import ADMISSION, requeue
from remit.core.change import changed
from remit.core.checks import Check, Result
from remit.core.decide.asking import bad, expired, fenced, find, late_report, moving
from remit.core.deferred import overtaken
from remit.core.effect_states import own_effect
from remit.core.effects import acquire, end_attempt, most_attempts
from remit.core.facts import Item, Lane, Lease, Policy
from remit.core.ids import MAX_INTEGER, fence_of, lease_id
from remit.core.lanes import in_turn
from remit.core.limit_facts import scopes_of
from remit.core.limits import (
    limit_of,
    limited_spend,
    misspent,
    over_rate,
    over_spend,
    put_over_budget,
    reservation,
    settle_spend,
    spend_of,
)
from remit.core.refusals import Code, Refused
from remit.core.settlement import review
from remit.core.status import Kind, Status
from remit.core.triage import TriageKind, put_aside
from remit.core.view import Draft, Missing

QUEUE: Final = "remit-queue"
"""The built-in service that records expiries."""

SHORTEST_TTL_MS: Final = 1_000
"""Shortest lease that may be asked for, in milliseconds."""


_ALWAYS: Final = (
    Check("dependencies", Result.PASS, "0", "0"),
    Check("kill-switch", Result.PASS, "off", "off"),
    Check("capability", Result.NOT_TESTED),
    Check("resources", Result.NOT_TESTED),
    Check("deadline", Result.NOT_TESTED),
)
"""Checks whose figures are the same for every lease that is given."""


def _grant(draft: Draft, cmd: c.GrantLease) -> Refused | None:
    ledger = draft.ledger
    if ledger.kill_switch:
        return Refused(
            Code.KILL_SWITCH_ON,
            "no lease is given: the kill switch is engaged",
            "a human releases it with 'remit kill-switch release'",
        )
    policy = ledger.policy
    ttl_ms = cmd.ttl_ms or policy.ttl_ms
    if not SHORTEST_TTL_MS <= ttl_ms <= policy.longest_lease_ms:
        expected = f"{SHORTEST_TTL_MS} to {policy.longest_lease_ms} ms"
        return bad("ttl", ttl_ms, expected)
    if not 0 <= cmd.spend_micros <= MAX_INTEGER:
        return bad("spend", cmd.spend_micros, f"0 to {MAX_INTEGER} micro-units")
    item = _named(draft, cmd) if cmd.item else _next(draft, cmd)
    if isinstance(item, Refused):
        return item
    if not cmd.item and item.kind is Kind.DELIVERY and draft.counter("limits"):
        full = _over_limit(draft, item.id, item.work_class, item.tenant, cmd, item.kind)
        if full is not None:
            return full
    refused = moving(item, "T03", Status.LEASED)
    if refused is not None:
        return refused
    seen = acquire(draft, item) if item.kind is Kind.EFFECT else ()
    if isinstance(seen, Refused):
        return seen
    if item.unmet or _barred(draft, item):
        return _not_ready(item)
    number = item.attempt + 1
    epoch = ledger.epoch
    scopes = scopes_of(item.work_class, item.tenant, draft.ask.actor, item.kind)
    spend = reservation(draft, scopes, cmd.spend_micros)
    lease = Lease(
        lease_id(epoch, item.id, number),
        item.id,
        number,
        draft.ask.actor,
        draft.now,
        ttl_ms,
        draft.now + ttl_ms * 1_000,
        fence_of(epoch, draft.counter("fence") + 1),
        spend,
    )
    event = e.LeaseGranted(
        "T03",
        item.status,
        Status.LEASED,
        lease,
        item.counted + 1,
        policy.revision,
        _acquired(draft, item, policy, spend, seen),
    )
    draft.emit("item", item.id, event)
    return None


def _barred(draft: Draft, item: Item) -> bool:
    """Whether a ready item may not be leased all the same, until admission looks at it again."""
    if item.kind is Kind.EFFECT and isinstance(acquire(draft, item), Refused):
        return True
    return _spent(draft, item) or bool(draft.ledger.unsettled and overtaken(draft, item))


def _spent(draft: Draft, item: Item) -> bool:
    """Whether its attempts are used up: so after a bound was lowered, until a recheck (INV-10)."""
    return item.counted >= most_attempts(draft, item)


def _acquired(
    draft: Draft, item: Item, policy: Policy, spend: int, seen: tuple[Check, ...]
) -> tuple[Check, ...]:
    """The checks that let a lease be given, with what each of them saw."""
    loads = (
        f"{draft.load(f'class/{item.work_class}')},{draft.load(f'tenant/{item.tenant}')},"
        f"{draft.load(f'actor/{draft.ask.actor}')}"
    )
    limits = f"{policy.class_leases},{policy.tenant_leases},{policy.actor_leases}"
    return (
        *(_ALWAYS if not seen else (*_ALWAYS[:-1], *seen)),
        Check("concurrency", Result.PASS, loads, limits),
        _attempts(item.counted, most_attempts(draft, item)),
        _spend(draft, item, spend),
    )


_NO_SPEND: Final = Check("spend", Result.NOT_TESTED)


def _spend(draft: Draft, item: Item, spend: int) -> Check:
    """What each scope with a limit on spend has settled and reserved, and what it may use."""
    if not draft.counter("limits"):
        return _NO_SPEND
    used, allowed = [], []
    for scope in limited_spend(draft, item, draft.ask.actor):
        have, limit = spend_of(draft, scope), limit_of(draft, scope)
        used.append(f"{scope}={have.settled}+{have.reserved}+{spend}")
        allowed.append(f"{scope}={limit.spend_micros if limit else 0}")
    if not used:
        return _NO_SPEND
    return Check("spend", Result.PASS, ",".join(used), ",".join(allowed))


@lru_cache(maxsize=64)
def _attempts(counted: int, bound: int) -> Check:
    return Check("attempts", Result.PASS, str(counted), f"<{bound}")


def _named(draft: Draft, cmd: c.GrantLease) -> Item | Refused:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if item.status is Status.READY:
        return _over_limit(draft, item.id, item.work_class, item.tenant, cmd, item.kind) or item
    if item.lease is None:
        return _not_ready(item)
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


def _not_ready(item: Item) -> Refused:
    gate = f", behind the gate {item.gate}" if item.gate else ""
    hold = f", held for {item.hold.reason}" if item.hold else ""
    return Refused(
        Code.ITEM_NOT_READY,
        f"cannot lease {item.id}: it is {item.status}{gate}{hold}",
        f"see why with 'remit explain {item.id}'",
        {"item": item.id, "status": str(item.status), "gate": item.gate},
    )


def _over_limit(
    draft: Draft, what: str, work_class: str, tenant: str, cmd: c.GrantLease, kind: Kind
) -> Refused | None:
    """Concurrency, rate and spend are never exceeded at any seq (INV-11)."""
    found = _too_many(draft, what, work_class, tenant)
    if found is not None or not draft.counter("limits"):
        return found
    scopes = scopes_of(work_class, tenant, draft.ask.actor, kind)
    asked = reservation(draft, scopes, cmd.spend_micros)
    return over_rate(draft, what, scopes) or over_spend(draft, what, scopes, asked)


def _too_many(draft: Draft, what: str, work_class: str, tenant: str) -> Refused | None:
    policy = draft.policy
    total = draft.get("count", Status.LEASED)
    actor = f"actor/{draft.ask.actor}"
    own, tenancy = f"class/{work_class}", f"tenant/{tenant}"
    for name, live, most in (
        ("ledger", total if isinstance(total, int) else 0, policy.ledger_leases),
        (actor, draft.load(actor), policy.actor_leases),
        (own, draft.load(own), policy.class_leases),
        (tenancy, draft.load(tenancy), policy.tenant_leases),
    ):
        set_for = limit_of(draft, name)
        limit = most if set_for is None or set_for.concurrency is None else set_for.concurrency
        scope = name.partition("/")[0]
        if live >= limit:
            return Refused(
                Code.CONCURRENCY_LIMIT,
                f"cannot lease {what}: {live} leases are live for this {scope}, the limit is"
                f" {limit}",
                "wait until one ends, or raise the limit in the policy",
                {"scope": scope, "live": live, "limit": limit},
            )
    return None


def _next(draft: Draft, cmd: c.GrantLease) -> Item | Refused:
    """The first ready item of the lane whose turn it is; lanes at their limit are skipped whole.

    Looks at more lanes while there are any and none of those that it knows has something to give,
    so that no lane waits behind others that are full (INV-12).
    """
    refused: Refused | None = None
    for lane in _lanes(draft, cmd):
        work_class, _, tenant = lane.id.partition("|")
        full = _over_limit(draft, "the next item", work_class, tenant, cmd, Kind.EFFECT)
        if full is not None:
            refused = full
            continue
        item = _head(draft, lane)
        if item is not None:
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
    best: Item | None = None
    fresh = draft.view.fresh.get(lane.id, ())
    for name in fresh:
        item = draft.item(name)
        if item is None or item.status is not Status.READY or _barred(draft, item):
            continue
        if best is None or (item.rank, item.number) < (best.rank, best.number):
            best = item
    window = draft.query("ready?", lane.id)
    for name in window.ids[draft.view.heads.get(lane.id, 0) :]:
        item = draft.item(name)
        if item is None or item.status is not Status.READY or name in fresh or _barred(draft, item):
            continue
        first = best is None or (item.rank, item.number) < (best.rank, best.number)
        return item if first else best
    if window.more:
        raise Missing(("ready+", lane.id))
    return best


def _renew(draft: Draft, cmd: c.RenewLease) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    lease = fenced(draft, item, cmd.fence, "renew")
    if isinstance(lease, Refused):
        return lease
    if draft.ledger.kill_switch:
        return Refused(
            Code.KILL_SWITCH_ON,
            f"cannot renew {lease.id}: the kill switch is engaged",
            "finish or hand back before it runs out",
        )
    policy = draft.policy
    ttl_ms = cmd.ttl_ms or lease.ttl_ms
    last = lease.acquired_at + policy.longest_lease_ms * 1_000
    if not SHORTEST_TTL_MS <= ttl_ms <= policy.longest_lease_ms:
        return bad("ttl", ttl_ms, f"{SHORTEST_TTL_MS} to {policy.longest_lease_ms} ms")
    if lease.expires_at >= last:
        return Refused(
            Code.LEASE_TOO_LONG,
            f"cannot renew {lease.id}: it lasts the longest that policy allows already"
            f" ({policy.longest_lease_ms} ms)",
            "finish or hand back, then lease again",
            {"lease": lease.id, "longest_lease_ms": policy.longest_lease_ms},
        )
    expires_at = max(lease.expires_at, min(draft.now + ttl_ms * 1_000, last))
    draft.emit("item", item.id, e.LeaseRenewed(changed(lease, expires_at=expires_at)))
    return None


def _release(draft: Draft, cmd: c.ReleaseLease) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    late = late_report(
        cmd.item, cmd.fence, "release", c.NO_TEXT, cmd.spent_micros, reason=cmd.reason[:500]
    )
    lease = fenced(draft, item, cmd.fence, "release", late)
    refused = lease if isinstance(lease, Refused) else misspent(cmd.spent_micros)
    if refused is not None or isinstance(lease, Refused):
        return refused
    stops = settle_spend(draft, item, lease.fence, lease.spend_micros, cmd.spent_micros)
    item = draft.item(item.id) or item
    if item.kind is Kind.EFFECT:
        _hand_back(draft, item, lease, cmd.reason)
        put_over_budget(draft, item.id, lease.fence, stops)
        return None
    returned = not item.reported
    if not returned and _poisoned(draft, item, lease):
        return None
    status, reason, trigger, _ = requeue(draft, item)
    event = e.LeaseReleased(
        "T04",
        item.status,
        status,
        lease,
        cmd.reason[:500],
        returned,
        reason,
        trigger,
    )
    draft.emit("item", item.id, event)
    if status is Status.HELD:
        review(draft, item.id)
    put_over_budget(draft, item.id, lease.fence, stops)
    return None


def _hand_back(draft: Draft, item: Item, lease: Lease, reason: str) -> None:
    """The same of effect work: only what neither reported nor intended gives its count back."""
    effect = own_effect(draft.get, item)
    tried = effect is not None and effect.lease == lease.id
    returned = not item.reported and not tried

    def released(status: Status, hold: str, trigger: str) -> e.LeaseReleased:
        move = ("T04", item.status, status, lease, reason[:500])
        return e.LeaseReleased(*move, returned, hold, trigger)

    end_attempt(draft, item, "LEASE_RELEASED", released, returned=returned)
    review(draft, item.id)


def _poisoned(draft: Draft, item: Item, lease: Lease) -> bool:
    """T10 ``poison`` where a lease ends without a result and no attempt is left (INV-10)."""
    if not _spent(draft, item):
        return False
    put_aside(
        draft,
        item,
        TriageKind.POISON,
        evidence=(f"attempts:{item.counted}", lease.id),
        reason=f"{item.counted} attempts ended without a result",
        by=QUEUE,
    )
    return True


def _expire(draft: Draft, cmd: c.ExpireLease) -> Refused | None:
    """T04 by time, or T10 ``poison`` once the attempts are used up (INV-10)."""
    item = draft.item(cmd.item)
    if item is None or item.lease is None or not expired(draft, item.lease):
        return None
    lease = item.lease
    if item.kind is Kind.EFFECT:
        end_attempt(
            draft,
            item,
            "LEASE_EXPIRED",
            lambda to, hold, on: e.LeaseExpired("T04", item.status, to, lease, hold, on),
            QUEUE,
        )
        review(draft, item.id)
        return None
    if _poisoned(draft, item, lease):
        return None
    status, reason, trigger, _ = requeue(draft, item)
    event = e.LeaseExpired("T04", item.status, status, lease, reason, trigger)
    draft.emit("item", item.id, event, QUEUE)
    if status is Status.HELD:
        review(draft, item.id)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.GrantLease: _grant,
    c.RenewLease: _renew,
    c.ReleaseLease: _release,
    c.ExpireLease: _expire,
}

__all__ = ["ADMISSION", "HANDLERS"]
