"""Decisions on the end of work that is not verified, and on what stands for it afterwards.

What came about is a fact: shipped work is closed only with a successor. Work whose effect is open is
closed only by a signed decision that records the effect as unresolved (INV-4). A successor must never
come to wait for itself through what it stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.authorizing import EffectNeed
from remit.core.claims import shipped_by
from remit.core.deadlock import TooFar
from remit.core.decide.asking import bad, find, moving
from remit.core.decide.putting_aside import may_close
from remit.core.decision_events import DecisionConsumed
from remit.core.decisions import (
    Decision,
    DecisionKind,
    conflicting,
    covers,
    effect_proposal,
    rivals,
)
from remit.core.effect_facts import EffectState
from remit.core.effect_states import own_effect
from remit.core.effects import cancel_in_flight
from remit.core.facts import Item
from remit.core.intents import intent_of
from remit.core.refusals import Code, Refused
from remit.core.staleness import link
from remit.core.status import Kind, Outcome, Status
from remit.core.succession import waits_on_itself
from remit.core.triage import put_aside
from remit.core.triage_records import cancelled_in_flight
from remit.core.view import Draft

_ASIDE: Final = (Status.LEASED, Status.IN_REVIEW, Status.APPROVED)


def _close(draft: Draft, cmd: c.CloseItem) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    outcomes = [o.value for o in Outcome if o is not Outcome.IMPORTED]
    if cmd.outcome not in outcomes:
        return bad("outcome", cmd.outcome, "one of " + ", ".join(outcomes))
    refused = _may_close(draft, item, cmd) or may_close(draft, item, cmd.outcome)
    if refused is not None:
        return refused
    pushed = cmd.outcome == Outcome.CANCELLED and item.status is Status.APPROVED
    if pushed and cancel_in_flight(draft, item, cmd.reason.inline):
        return None  # its push is looked up first, and then it is closed or shipped
    if cmd.outcome == Outcome.CANCELLED and item.status in _ASIDE:
        evidence = cancelled_in_flight(state=EffectState.NOT_STARTED, was=item.status)
        put_aside(draft, item, evidence, reason=cmd.reason.inline)
        item = draft.item(item.id) or item
    refused = moving(item, "T12", Status.CLOSED)
    if refused is not None:
        return refused
    unresolved = _unresolved(draft, item, cmd.decision) if cmd.decision else None
    if isinstance(unresolved, Refused):
        return unresolved
    finish(draft, item, cmd.outcome, cmd.reason, cmd.successor, decision=cmd.decision)
    if unresolved is not None:
        event = DecisionConsumed(item.id, unresolved.proposal)
        draft.emit("decision", unresolved.id, event)
    return None


def _unresolved(draft: Draft, item: Item, name: str) -> Decision | Refused:
    """The decision that records the open effect of an item as unresolved (INV-4)."""
    effect = own_effect(draft.get, item)
    if effect is None or effect.item != item.id or item.kind is not Kind.EFFECT:
        return bad("decision", name, f"none: {item.id} has no effect that could be open")
    decision = draft.get("decision", name)
    need = EffectNeed(DecisionKind.IRREVERSIBLE, (f"unresolved/{effect.id}",))
    envelope = intent_of(draft, item).envelope
    found = decision if isinstance(decision, Decision) else None
    unproved = draft.policy.accept_unproved
    digest = effect_proposal(envelope)
    refused = covers(found, need, digest, draft.now, accept_unproved=unproved)
    if refused is not None or found is None:
        return refused or bad("decision", name, "one that is there")
    others = rivals(draft.get, found, draft.now)
    return conflicting(found, others) if others else found


def _may_close(draft: Draft, item: Item, cmd: c.CloseItem) -> Refused | None:
    if item.kind is Kind.EFFECT and cmd.outcome == Outcome.COALESCED:
        return bad("outcome", cmd.outcome, "one that people give: admission coalesces effect work")
    superseded = cmd.outcome == Outcome.SUPERSEDED
    if superseded != bool(cmd.successor):
        return bad(
            "successor", cmd.successor, "an item, with the outcome superseded and only there"
        )
    if cmd.successor:
        successor = find(draft, cmd.successor)
        if isinstance(successor, Refused):
            return successor
        refused = fit_successor(draft, item, successor)
        if refused is not None:
            return refused
    shipped = shipped_by(draft, item)
    if shipped and not superseded and not item.terminal:
        what = "effect was observed" if item.kind is Kind.EFFECT else "commit was observed on main"
        return Refused(
            Code.TRANSITION_REFUSED,
            f"cannot close {item.id} as {cmd.outcome}: its {what}",
            "what is shipped is a fact: create a repair item and close this one as superseded by it",
            {"item": item.id, "shipped": shipped},
        )
    return None


def fit_successor(draft: Draft, item: Item, successor: Item) -> Refused | None:
    """Refuse a successor that is closed, or that would come to wait for itself."""
    if successor.id == item.id or successor.status is Status.CLOSED:
        return bad("successor", successor.id, "another item that is not closed")
    try:
        path = waits_on_itself(draft, item, successor)
    except TooFar:
        return Refused(
            Code.TOO_MANY,
            f"cannot prove that {successor.id} waits on nothing that {item.id} stands for: too many"
            " items lie between",
            "remove dependencies that are met already and repeat",
        )
    if not path:
        return None
    found = "it waits on it" if path[0] == item.id else "somebody would wait on itself"
    shown = path[1:] if path[0] == item.id else path
    return Refused(
        Code.DEPENDENCY_CYCLE,
        f"{successor.id} cannot stand for {item.id}: {found}, {' -> '.join(shown)}",
        "remove one of these dependencies first",
        {"cycle": list(path)},
    )


def _succeed(draft: Draft, cmd: c.SucceedItem) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    successor = find(draft, cmd.successor)
    if isinstance(successor, Refused):
        return successor
    refused = fit_successor(draft, item, successor)
    return refused or link(draft, item, successor, cmd.reason.inline, cmd.reason.ref)


def finish(
    draft: Draft,
    item: Item,
    outcome: str,
    reason: c.Text,
    successor: str = "",
    *,
    satisfies: bool = False,
    failed: bool = False,
    decision: str = "",
) -> None:
    """T12, with every open record settled by it; the flags say what dependents may take it for."""
    owner = item.owner
    closed = e.ItemClosed(
        "T12",
        item.status,
        Status.CLOSED,
        outcome,
        f"{owner.kind}:{owner.identity}" if owner else "",
        reason.inline,
        reason.ref,
        successor,
        satisfies=satisfies,
        failed=failed,
        resolved=item.triage,
        decision=decision,
    )
    draft.emit("item", item.id, closed)


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.CloseItem: _close,
    c.SucceedItem: _succeed,
}
"""Who decides what of the end of work."""
