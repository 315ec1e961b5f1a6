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
from remit.core import services
from remit.core.admission import ADMISSION, requeue
from remit.core.change import changed
from remit.core.checks import Check, Result
from remit.core.decide.asking import bad, expired, fenced, find, late_report, moving
from remit.core.decide.choosing import barred, named, next_item, not_ready, reserved, used_up
from remit.core.effect_states import own_effect
from remit.core.effects import acquire, end_attempt, most_attempts, put_poison
from remit.core.facts import Item, Lease, Policy
from remit.core.ids import MAX_INTEGER, fence_of, lease_id
from remit.core.limits import (
    limit_of,
    limited_spend,
    misspent,
    put_over_budget,
    settle_spend,
    spend_of,
)
from remit.core.refusals import Code, Refused
from remit.core.settlement import review
from remit.core.status import Kind, Status
from remit.core.view import Draft

QUEUE: Final = services.QUEUE
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
    item = named(draft, cmd) if cmd.item else next_item(draft, cmd)
    if isinstance(item, Refused):
        return item
    refused = moving(item, "T03", Status.LEASED)
    if refused is not None:
        return refused
    seen = acquire(draft, item) if item.kind is Kind.EFFECT else ()
    if isinstance(seen, Refused):
        return seen
    if item.unmet or (cmd.item and barred(draft, item)):  # the next item was asked just now
        return not_ready(item)
    number = item.attempt + 1
    epoch = ledger.epoch
    spend = reserved(draft, item, cmd)
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
        _acquired(draft, item, policy, seen, spend),
    )
    draft.emit("item", item.id, event)
    return None


def _acquired(
    draft: Draft, item: Item, policy: Policy, seen: tuple[Check, ...], spend: int
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
    if not used_up(draft, item):
        return False
    put_poison(draft, item, QUEUE)
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
