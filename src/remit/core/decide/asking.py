"""Questions that many handlers ask first: is it there, who asks, is the lease live.

Each returns what was asked for, or the refusal that says what was found instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remit.core.commands import Command, ExpireLease, RecordLateReport, Text
from remit.core.facts import Actor, ActorKind, Item, Lease
from remit.core.ids import EPOCH_SHIFT
from remit.core.refusals import Code, Refused
from remit.core.status import Status, move
from remit.core.view import Draft


def bad(what: str, found: object, expected: str, hint: str = "") -> Refused:
    """A value that no rule can work with."""
    shown = repr(found)
    if len(shown) > 80:
        shown = shown[:77] + "..."
    return Refused(
        Code.BAD_INPUT, f"{what} is {shown}, expected {expected}", hint or "correct it and repeat"
    )


def find(draft: Draft, item: str) -> Item | Refused:
    """The item, or NOT_FOUND."""
    found = draft.item(item)
    if found is None:
        return Refused(
            Code.NOT_FOUND,
            f"there is no work item {item!r}",
            "see what there is with 'remit list'",
            {"item": item},
        )
    return found


def kind_of(draft: Draft) -> ActorKind:
    """What the asking actor is."""
    actor = draft.get("actor", draft.ask.actor)
    return actor.kind if isinstance(actor, Actor) else ActorKind.AGENT


HANDED_IN: Final = (Status.IN_REVIEW, Status.APPROVED, Status.SHIPPED)


def at_rest(item: Item) -> bool:
    """Whether nobody works on an item and nothing handed in waits to be judged.

    Work that was put aside from review or later may go back there as it is, so what it was done for
    must not change meanwhile.
    """
    if item.status is Status.TRIAGED:
        return item.triaged_from not in HANDED_IN
    return item.status in (Status.DRAFT, Status.HELD, Status.READY)


def planned(item: Item, doing: str) -> Refused:
    """What a plan says of an item only the plan changes."""
    governed = item.plan.governed
    plan = governed.plan if governed is not None else ""
    return Refused(
        Code.PLANNED_ITEM,
        f"cannot {doing} {item.id}: it belongs to the plan {plan}",
        "change it in the plan's bundle and apply that",
        {"item": item.id, "plan": plan},
    )


def human_only(draft: Draft, what: str) -> Refused | None:
    """Refuse unless a human asks (INV-15, as far as labels reach: signatures come on top)."""
    kind = kind_of(draft)
    if kind is ActorKind.HUMAN:
        return None
    return Refused(
        Code.ACTOR_KIND_REFUSED,
        f"cannot {what} as {draft.ask.actor}: it is enrolled as {kind}, only a human may",
        "let a human do it: --as NAME",
        {"actor": draft.ask.actor, "kind": str(kind)},
    )


def expired(draft: Draft, lease: Lease) -> bool:
    """Whether a lease has run out, by time or because an older epoch gave it (INV-7)."""
    return draft.now >= lease.expires_at or lease.fence >> EPOCH_SHIFT != draft.ledger.epoch


def fenced(
    draft: Draft,
    item: Item,
    fence: int,
    doing: str,
    late: Callable[[], RecordLateReport] | None = None,
) -> Lease | Refused:
    """The live lease that this fence names, or a refusal with what must be recorded beside it.

    A fence that is not the current one, a lease that has run out and a lease of somebody else are
    refused whoever asks (INV-7). ``late`` is recorded only if the actor once held a lease here.
    """
    lease = item.lease
    over = lease is not None and expired(draft, lease)
    if lease is not None and lease.fence == fence and lease.actor == draft.ask.actor and not over:
        return lease
    aside: tuple[Command, ...] = (ExpireLease(item.id),) if over else ()
    if late is not None and draft.ask.actor in item.holders:
        aside = (late(), *aside)
    hint = f"its work is kept as evidence; see 'remit show {item.id}' and lease it again"
    details = {"item": item.id, "fence": fence, "current": lease.fence if lease else None}
    if lease is None or lease.fence != fence:
        now = f"its current fence is {lease.fence}" if lease else f"it is {item.status}, not leased"
        return Refused(
            Code.STALE_FENCE,
            f"cannot {doing} {item.id} under fence {fence}: {now}",
            hint,
            details,
            aside,
        )
    if lease.actor != draft.ask.actor:
        return Refused(
            Code.LEASE_OF_ANOTHER,
            f"cannot {doing} {item.id} as {draft.ask.actor}: the lease is {lease.actor}'s",
            "act as its holder with --as, or lease another item",
            {**details, "holder": lease.actor},
        )
    return Refused(
        Code.LEASE_EXPIRED,
        f"cannot {doing} {item.id}: its lease {lease.id} has run out",
        hint,
        {**details, "expires_at": lease.expires_at},
        aside,
    )


def late_report(
    item: str, fence: int, phase: str, text: Text, spent: int | None = None, **more: str
) -> Callable[[], RecordLateReport]:
    """What is recorded where this report comes too late."""
    return lambda: RecordLateReport(
        item,
        fence,
        phase,
        more.get("branch", ""),
        more.get("head", ""),
        more.get("reason", ""),
        text,
        spent,
    )


def moving(item: Item, tid: str, target: Status) -> Refused | None:
    """Refuse a move that the table does not have (INV-4)."""
    return move(tid, item.id, item.kind, item.status, target)
