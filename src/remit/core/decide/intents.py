"""Decisions on effect work: take a message in, decide on it, and hear that it is no longer wanted.

Receipt, validation and verdict are three events, and none is inferred from another (INV-2). A
message that comes again with the same content writes nothing, since its receipt is on the ledger;
with other content it is refused. Room is asked for before anything is stored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core.checks import Check, Result
from remit.core.deadlock import BEGIN, CLEAR, Wait
from remit.core.decide.asking import bad, find, kind_of
from remit.core.decide.closing import finish
from remit.core.decide.putting_aside import may_close
from remit.core.decide.waiting import add_edge, closes
from remit.core.dependencies import unresolved
from remit.core.effect_events import CancellationObserved, IntentReceived
from remit.core.effect_facts import (
    AdmissionPolicy,
    Effect,
    EffectState,
    Envelope,
    Message,
)
from remit.core.effects import cancel_in_flight
from remit.core.envelope import MAX_TARGETS, STATES, usable_identity, usable_lane
from remit.core.facts import ActorKind, DependencyKind, EdgeState, Item
from remit.core.ids import is_alias, is_item_id
from remit.core.intents import intent_of, policy_for, validate
from remit.core.item_events import DependencyAdded
from remit.core.refusals import Code, Refused
from remit.core.settlement import resolve_alias, review
from remit.core.status import Kind, Outcome, Status
from remit.core.triage import put_aside
from remit.core.triage_records import cancelled_in_flight
from remit.core.view import Draft

DEFAULT: Final = "default"
"""The class and tenant of work that names none."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}\Z")


def class_of(envelope: Envelope) -> str:
    """The work class; a name that cannot be one is a fault, and the work is kept under no class."""
    return envelope.priority_class if usable_lane(envelope.priority_class) else DEFAULT


def submit(draft: Draft, cmd: c.SubmitIntent) -> Refused | None:
    """Store a message, validate it and decide on it, as far as the command asks for it."""
    envelope = cmd.envelope
    if not _DIGEST.match(cmd.digest):
        return bad("digest", cmd.digest, "64 hexadecimal digits in lower case")
    message = _known(draft, envelope.message_id)
    if message is not None:
        return None if message.digest == cmd.digest else _changed(message)
    policy = policy_for(draft, class_of(envelope))
    if policy is None:
        return _no_policy(class_of(envelope))
    refused = _taken(draft, envelope) or _room(draft, envelope, policy) or _targets(draft, envelope)
    if refused is not None:
        return refused
    item = f"W-{draft.counter('work-item') + 1}"
    _receive(draft, item, cmd, policy)
    refused = _depend(draft, item, envelope)
    if refused is not None:
        return refused
    if is_alias(envelope.work_id):
        resolve_alias(draft, envelope.work_id)
    if cmd.decide:
        validate(draft, draft.item(item), cmd.size)  # type: ignore[arg-type]  # it was just stored
    review(draft, item)
    return None


def _known(draft: Draft, name: str) -> Message | None:
    message = draft.get("message", name) if usable_identity(name) else None
    return message if isinstance(message, Message) else None


def _changed(message: Message) -> Refused:
    return Refused(
        Code.MESSAGE_CHANGED,
        f"the message {message.id!r} was stored with other content ({message.receipt}, {message.item})",
        "send new content under a new message id",
        {"message_id": message.id, "receipt": message.receipt, "item": message.item},
    )


def _no_policy(work_class: str) -> Refused:
    return Refused(
        Code.POLICY_UNKNOWN,
        f"cannot take work of class {work_class!r}: no admission policy is registered",
        "register one with 'remit policy apply FILE'",
        {"work_class": work_class},
    )


def _taken(draft: Draft, envelope: Envelope) -> Refused | None:
    name = envelope.work_id
    taken = draft.get("alias", name) if is_alias(name) else None
    if taken is None:
        return None
    return Refused(
        Code.ALIAS_TAKEN,
        f"the work id {name!r} belongs to {taken}",
        "give new work a work id of its own",
        {"work_id": name, "item": str(taken)},
    )


def _room(draft: Draft, envelope: Envelope, policy: AdmissionPolicy) -> Refused | None:
    """The storage limit, asked before anything is stored."""
    work_class = class_of(envelope)
    stored = draft.load(f"stored/{work_class}")
    if not policy.storage_limit or stored < policy.storage_limit:
        return None
    return Refused(
        Code.STORAGE_FULL,
        f"cannot store work of class {work_class}: {stored} works are not finished, the limit of"
        f" {policy.label} is {policy.storage_limit}",
        f"come again after {policy.storage_retry_ms} ms",
        {
            "work_class": work_class,
            "stored": stored,
            "limit": policy.storage_limit,
            "policy": policy.label,
            "retry_after_ms": policy.storage_retry_ms,
        },
    )


def _targets(draft: Draft, envelope: Envelope) -> Refused | None:
    """Item ids that it waits on must be there; a work id may still come."""
    for target in envelope.depends_on[:MAX_TARGETS]:
        if is_item_id(target) and draft.item(target) is None:
            return Refused(
                Code.NOT_FOUND,
                f"there is no work item {target!r} to wait on",
                "name it by its work id where it is still to come",
                {"item": target},
            )
    return None


def _receive(draft: Draft, item: str, cmd: c.SubmitIntent, policy: AdmissionPolicy) -> None:
    """STORED: the receipt, with the count that the limit was compared with."""
    envelope = cmd.envelope
    work_class = class_of(envelope)
    stored = draft.load(f"stored/{work_class}") + 1
    limit = policy.storage_limit
    check = Check("storage-limit", Result.NOT_TESTED)
    if limit:
        rule = f"policy:{policy.label}"
        check = Check("storage-limit", Result.PASS, str(stored), f"<={limit}", rule)
    human = bool(envelope.decision) and kind_of(draft) is ActorKind.HUMAN
    authorized = draft.ask.actor if human and draft.policy.accept_unproved else ""
    event = IntentReceived(
        f"RECEIPT-{draft.counter('receipt') + 1}",
        cmd.digest,
        cmd.document,
        envelope,
        work_class,
        envelope.tenant if usable_lane(envelope.tenant) else DEFAULT,
        f"ledger:{draft.ledger.ledger_id}",
        stored,
        cmd.faults,
        "",
        authorized,
        (check,),
    )
    draft.new("intent", item)
    draft.open("item", item, event)


def _depend(draft: Draft, item: str, envelope: Envelope) -> Refused | None:
    """The edges that the envelope names; a work id that is not known yet is waited for by name."""
    for target in dict.fromkeys(envelope.depends_on[:MAX_TARGETS]):
        known = target
        if not is_item_id(target):
            if not is_alias(target) or target == envelope.work_id:
                continue  # a fault of the envelope, which is named there
            found = draft.get("alias", target)
            known = found if isinstance(found, str) else ""
        if known:
            item_now = draft.item(item)
            if item_now is not None and any(d.target == known for d in item_now.dependencies):
                continue
            refused = add_edge(draft, item, known, DependencyKind.BLOCKS)
            if refused is not None:
                return refused
            continue
        name = unresolved(target)
        added = DependencyAdded(name, DependencyKind.BLOCKS, EdgeState.UNMET, name, inner=False)
        draft.emit("item", item, added)
    return _awaited(draft, item, envelope)


def _awaited(draft: Draft, item: str, envelope: Envelope) -> Refused | None:
    """Refuse work that would wait for those that wait for its work id already."""
    if not envelope.depends_on or not is_alias(envelope.work_id):
        return None
    waits = []
    for edge in draft.query("dependents?", unresolved(envelope.work_id)):
        need = CLEAR if edge.kind == DependencyKind.PARENT else BEGIN
        waits.append(Wait(edge.dependent, (item, need)))
    return closes(draft, waits, item, item, DependencyKind.BLOCKS)


def _decide(draft: Draft, cmd: c.DecideIntent) -> Refused | None:
    item = _effect_work(draft, cmd.item, "decide on")
    if isinstance(item, Refused):
        return item
    if not intent_of(draft, item).validated_seq:
        if not cmd.validate:
            return bad("message", cmd.item, "one that was validated", "validate it as well")
        validate(draft, item)
    review(draft, item.id)
    return None


def _effect_work(draft: Draft, name: str, doing: str) -> Item | Refused:
    item = find(draft, name)
    if isinstance(item, Refused) or item.kind is Kind.EFFECT:
        return item
    return Refused(
        Code.BAD_INPUT,
        f"cannot {doing} {item.id}: it is {item.kind} work and has no intent",
        "see what it is with 'remit show'",
        {"item": item.id, "kind": str(item.kind)},
    )


# Cancellation.


def _cancel(draft: Draft, cmd: c.CancelWork) -> Refused | None:
    item = _effect_work(draft, cmd.item, "cancel")
    if isinstance(item, Refused):
        return item
    if cmd.state not in STATES:
        return bad("cancellation state", cmd.state, "one of " + ", ".join(STATES))
    requested = cmd.state == "REQUESTED"
    effect = _own_effect(draft, item)
    if item.outcome is Outcome.COALESCED and requested:
        draft.emit("item", item.id, _seen(draft, item, cmd))
        return None  # it is closed; what would go on in its place is not wanted either
    if item.terminal or item.status is Status.SHIPPED:
        return _too_late(item)
    if requested and effect is not None and effect.state is EffectState.PRESENT:
        return _too_late(item)
    intent = intent_of(draft, item)
    if intent.envelope.cancellation_state == cmd.state and not requested:
        return None
    draft.emit("item", item.id, _seen(draft, item, cmd))
    item = draft.item(item.id) or item
    if requested:
        _end(draft, item, cmd)
    else:
        review(draft, item.id)
    return None


def _seen(draft: Draft, item: Item, cmd: c.CancelWork) -> CancellationObserved:
    envelope = intent_of(draft, item).envelope
    name = envelope.cancellation_id or envelope.work_id
    return CancellationObserved(name, cmd.state, draft.ask.actor, cmd.reason.inline)


def _own_effect(draft: Draft, item: Item) -> Effect | None:
    name = intent_of(draft, item).envelope.effect_id
    effect = draft.get("effect", name) if name else None
    return effect if isinstance(effect, Effect) and effect.item == item.id else None


def _end(draft: Draft, item: Item, cmd: c.CancelWork) -> None:
    """Nothing intended: closed, from a lease by way of triage. Else it is put aside (section 7)."""
    if cancel_in_flight(draft, item, cmd.reason.inline):
        return
    if item.status is Status.TRIAGED and may_close(draft, item, Outcome.CANCELLED) is not None:
        return  # a human settles what it was put aside for; the cancellation is on the ledger
    if item.status is Status.LEASED:
        evidence = cancelled_in_flight(state=EffectState.NOT_STARTED, was=item.status)
        put_aside(draft, item, evidence, reason=cmd.reason.inline)
        item = draft.item(item.id) or item
    if item.status is Status.TRIAGED or not intent_of(draft, item).validated_seq:
        finish(draft, item, Outcome.CANCELLED, cmd.reason)
    else:
        review(draft, item.id)


def _too_late(item: Item) -> Refused:
    return Refused(
        Code.TRANSITION_REFUSED,
        f"cannot cancel {item.id}: it is {item.status}, what came about is a fact",
        "let a new work bring about what undoes it",
        {"item": item.id, "status": str(item.status)},
    )


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.SubmitIntent: submit,
    c.DecideIntent: _decide,
    c.CancelWork: _cancel,
}
