"""Decisions on triage records: opening one, and settling it.

An item leaves triage only when its last open record is settled, and only to where it came from or
earlier, never to leased; once its commit was observed on main, only to shipped (CONTRACT 5, T11).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.admission import requeue
from remit.core.claims import shipped_by, state_of
from remit.core.decide.asking import bad, find, moving
from remit.core.decide.closing import finish, fit_successor
from remit.core.decide.putting_aside import evidence_for, may_settle
from remit.core.effect_facts import OPEN_EFFECT
from remit.core.effect_states import own_effect
from remit.core.effects import wait_on
from remit.core.facts import Item, Triage
from remit.core.refusals import Code, Refused
from remit.core.settlement import review
from remit.core.status import ORDER, Kind, Status
from remit.core.triage import CLOSING, Resolution, TriageKind, allowed, put_aside
from remit.core.triage_rules import EFFECT_KINDS
from remit.core.view import Draft


def _open(draft: Draft, cmd: c.OpenTriage) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if item.status is not Status.TRIAGED:
        refused = moving(item, "T10", Status.TRIAGED)
        if refused is not None:
            return refused
    evidence = evidence_for(draft, item, cmd.triage_kind, cmd.evidence)
    if isinstance(evidence, Refused):
        return evidence
    put_aside(draft, item, evidence, reason=cmd.reason.inline, text_ref=cmd.reason.ref)
    return None


def _resolve(draft: Draft, cmd: c.ResolveTriage) -> Refused | None:
    record = draft.get("triage", cmd.record)
    if not isinstance(record, Triage):
        return Refused(
            Code.TRIAGE_UNKNOWN,
            f"there is no triage record {cmd.record!r}",
            "see the open ones with 'remit triage list'",
            {"record": cmd.record},
        )
    item = find(draft, record.item)
    if isinstance(item, Refused):
        return item
    ways = allowed(draft, item, TriageKind(record.kind))
    if not record.open or cmd.resolution not in ways:
        found = "settled already" if not record.open else f"of kind {record.kind}"
        return Refused(
            Code.RESOLUTION_REFUSED,
            f"cannot resolve {record.id} by {cmd.resolution!r}: it is {found}",
            "it allows " + ", ".join(ways) if record.open else f"see 'remit show {item.id}'",
            {"record": record.id, "allowed": list(ways)},
        )
    if not cmd.reason.strip() or len(cmd.reason) > 4_000:
        return bad("reason", cmd.reason, "why this settles it, in 1 to 4,000 characters")
    how = Resolution(cmd.resolution)
    refused = may_settle(draft, record, how) or _unknown_effect(draft, item, record)
    return refused or _apply(draft, item, record, how, cmd)


def _unknown_effect(draft: Draft, item: Item, record: Triage) -> Refused | None:
    """A record of an effect stands until a look-up, or a signed decision, says what becomes of it."""
    effect = own_effect(draft.get, item) if record.kind in EFFECT_KINDS else None
    if effect is None or effect.item != item.id or state_of(draft, effect) not in OPEN_EFFECT:
        return None
    state = state_of(draft, effect)
    return Refused(
        Code.EFFECT_UNRECONCILED,
        f"cannot resolve {record.id}: its effect {effect.id} is {state}",
        f"look it up with 'remit reconcile {effect.id}', or leave it unresolved by a signed decision:"
        f" 'remit close {item.id} --decision D-N'",
        {"record": record.id, "effect": effect.id, "state": str(state)},
    )


def _apply(
    draft: Draft, item: Item, record: Triage, how: Resolution, cmd: c.ResolveTriage
) -> Refused | None:
    if how in CLOSING:
        return _close(draft, item, how, cmd)
    last = item.triage == (record.id,)
    if not last:
        _settled(draft, item, record.id, cmd, "", item.status)
        return None
    target, reason, trigger, rank = _target(draft, item, how)
    refused = moving(item, "T11", target) or _landed_unapproved(item, target)
    if refused is not None:
        return refused
    _settled(draft, item, record.id, cmd, "T11", target, reason, trigger, rank)
    if target in (Status.DRAFT, Status.HELD):
        wait_on(draft, item.id)
        review(draft, item.id)
    return None


def _landed_unapproved(item: Item, target: Status) -> Refused | None:
    """Nothing brings back an approval that a reviewer took away, though what it was for landed."""
    if target is not Status.APPROVED or item.triaged_from is Status.APPROVED:
        return None
    return Refused(
        Code.RESOLUTION_REFUSED,
        f"cannot resolve {item.id} to {target}: its push landed, and it was no longer approved",
        "let another item put right what landed, and resolve this by 'supersede'",
        {"item": item.id, "from": str(item.triaged_from)},
    )


def _target(draft: Draft, item: Item, how: Resolution) -> tuple[Status, str, str, int]:
    origin = item.triaged_from or Status.DRAFT
    if shipped_by(draft, item):
        seen = item.kind is Kind.EFFECT or (item.work is not None and item.work.shipped)
        # A push that is there, but not yet the ship of it, goes on from where it was pushed.
        return (Status.SHIPPED if seen else Status.APPROVED), "", "", 0
    if origin is Status.DRAFT:
        return Status.DRAFT, "", "", 0
    back = how is Resolution.RETURN and origin in (Status.IN_REVIEW, Status.APPROVED)
    if back and ORDER[origin] > ORDER[Status.LEASED]:
        return origin, "", "", 0
    status, reason, trigger, rank = requeue(draft, item)
    if ORDER[status] > ORDER[origin]:
        return Status.HELD, "AWAITS_RECHECK", "recheck", 0
    return status, reason, trigger, rank


def _settled(
    draft: Draft,
    item: Item,
    record: str,
    cmd: c.ResolveTriage,
    tid: str,
    to: Status,
    hold: str = "",
    trigger: str = "",
    rank: int = 0,
) -> None:
    event = e.TriageResolved(
        tid, item.status, to, record, cmd.resolution, cmd.reason, hold, trigger, rank
    )
    draft.emit("item", item.id, event)


def _close(draft: Draft, item: Item, how: Resolution, cmd: c.ResolveTriage) -> Refused | None:
    if (how is Resolution.SUPERSEDE) != bool(cmd.successor):
        return bad("successor", cmd.successor, "an item, with supersede and only there")
    if cmd.successor:
        successor = find(draft, cmd.successor)
        if isinstance(successor, Refused):
            return successor
        unfit = fit_successor(draft, item, successor)
        if unfit is not None:
            return unfit
    refused = moving(item, "T12", Status.CLOSED)
    if refused is not None:
        return refused
    finish(draft, item, CLOSING[how], c.Text(cmd.reason), cmd.successor)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.OpenTriage: _open,
    c.ResolveTriage: _resolve,
}
