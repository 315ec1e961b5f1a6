"""Folds of effect work's own events: an intent beside its item, verdicts, and cancellations.

The item carries what the queue needs (status, hold, place in line), the intent what admission needs.
An ADMIT debits the observation that it used, here and nowhere else, so that the count is that of
the events. ``load`` figures ``stored/CLASS`` say how many works of a class are not finished.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import effect_events as e
from remit.core import gates
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.effect_facts import Intent, Message
from remit.core.envelope import usable_identity
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, account, add, check_move, first, item_of
from remit.core.facts import Hold, Item, Plan
from remit.core.fold import FoldError
from remit.core.ids import is_alias, item_number
from remit.core.lifetimes import lapses_at
from remit.core.status import Kind, Outcome, Status
from remit.core.verdict import Verdict

Handler = Callable[[Get, Recorded, Any, Out], None]

MAX_TITLE: Final = 200


def intent_of(get: Get, rec: Recorded) -> Intent:
    """The intent of the event's stream, just before this event."""
    intent = get("intent", rec.stream)
    if not isinstance(intent, Intent):
        raise FoldError(rec, f"there is no intent of {rec.stream}")
    return intent


def _kept(rec: Recorded, out: Out, item: Item, **new: Any) -> None:
    out["item", rec.stream] = changed(item, version=rec.version, changed_at=rec.at, **new)


def _received(get: Get, rec: Recorded, ev: e.IntentReceived, out: Out) -> None:
    first(get, rec, "item")
    number = item_number(rec.stream)
    if add(get, out, "counter", "work-item", 1) != number:
        raise FoldError(rec, f"{rec.stream} is not the next work item")
    alias = "" if ev.follows else _identities(get, rec, ev, out)
    out["item", rec.stream] = _new_item(rec, ev, number, alias)
    out["intent", rec.stream] = Intent(
        rec.stream, ev.receipt, ev.digest, ev.document, ev.envelope, rec.seq, 0, False, "", "", "",
        "", "", 0, "", 0, 0, ev.follows, ev.faults,
        rec.seq if ev.envelope.cancellation_state else 0, ev.authorized_by,
    )  # fmt: skip
    add(get, out, "count", Status.DRAFT, 1)
    add(get, out, "load", f"stored/{ev.work_class}", 1)


def _identities(get: Get, rec: Recorded, ev: e.IntentReceived, out: Out) -> str:
    """Receipt and message of what came from outside; gives the alias, where it has a fit one."""
    if f"RECEIPT-{add(get, out, 'counter', 'receipt', 1)}" != ev.receipt:
        raise FoldError(rec, f"{ev.receipt} is not the next receipt")
    message, alias = ev.envelope.message_id, ev.envelope.work_id
    if usable_identity(message):
        if get("message", message) is not None:
            raise FoldError(rec, f"the message {message} was stored before")
        out["message", message] = Message(message, ev.receipt, ev.digest, rec.stream)
    if not is_alias(alias):
        return ""
    if get("alias", alias) is not None:
        raise FoldError(rec, f"the alias {alias} is taken")
    out["alias", alias] = rec.stream
    return alias


def _new_item(rec: Recorded, ev: e.IntentReceived, number: int, alias: str) -> Item:
    plan = Plan("", (), (), (), (), "", False, rec.seq, 1)
    return Item(
        rec.stream, 1, number, Kind.EFFECT, Status.DRAFT, ev.envelope.operation_id[:MAX_TITLE], "",
        min(max(ev.envelope.priority, 0), 4), ev.work_class, ev.tenant, alias, plan,
        gates.UNASSESSED, None, (), (), 0, 0, 0, 0, 0, False, None, (), None, (), (), None, None, "",
        None, rec.at, rec.at, lapses_at(ev.envelope),
    )  # fmt: skip


def _validated(get: Get, rec: Recorded, ev: e.IntentValidated, out: Out) -> None:
    intent = intent_of(get, rec)
    if intent.validated_seq:
        raise FoldError(rec, f"{rec.stream} was validated before")
    out["intent", rec.stream] = changed(
        intent,
        validated_seq=rec.seq,
        valid=ev.result == Result.PASS,
        validation=ev.validation,
        faults=ev.faults,
    )
    _kept(rec, out, item_of(get, rec))


def _decided(get: Get, rec: Recorded, ev: e.AdmissionDecided, out: Out) -> None:
    item, intent = item_of(get, rec), intent_of(get, rec)
    if not intent.validated_seq:
        raise FoldError(rec, f"{item.id} was not validated, so nothing can be decided (INV-2)")
    new: dict[str, Any] = {"gate": "", "hold": None, "rank": ev.rank}
    verdict = Verdict(ev.verdict)
    if verdict is Verdict.HOLD:
        if not ev.reason or not ev.owner or not ev.trigger:
            raise FoldError(rec, "a hold needs a reason, an owner and a trigger (INV-3)")
        new["hold"] = Hold(ev.reason, ev.owner, ev.trigger, ev.owner_id, ev.recheck_at, ev.rank)
        new["rank"] = 0
    elif verdict is Verdict.ADMIT:
        new["ready_at"] = rec.at
        if ev.observation:
            add(get, out, "debit", ev.observation, 1)
    else:
        new |= {"outcome": Outcome(ev.outcome), "successor": ev.survivor, "rank": 0}
        if item.triage:
            raise FoldError(rec, f"{item.id} closes with open triage records")
    _moved(get, rec, ev, out, item, new)
    out["intent", rec.stream] = changed(
        intent,
        policy=ev.policy,
        destination=ev.destination,
        verdict=ev.verdict,
        reason=ev.reason,
        verdict_seq=rec.seq,
        observation=ev.observation,
    )


_LEADS: Final = {Verdict.ADMIT: "T01", Verdict.HOLD: "T02"}


def _moved(
    get: Get, rec: Recorded, ev: e.AdmissionDecided, out: Out, item: Item, new: dict[str, Any]
) -> None:
    """The move that a verdict leads to; only a HOLD of what is held already makes none."""
    if not ev.transition_id:
        if ev.verdict != Verdict.HOLD or item.status is not Status.HELD:
            raise FoldError(rec, f"{ev.verdict} of {item.id} names no move")
        _kept(rec, out, item, **new)
        return
    if ev.transition_id != _LEADS.get(Verdict(ev.verdict), "T12"):
        raise FoldError(rec, f"{ev.verdict} does not lead to {ev.transition_id}")
    to = check_move(rec, item, ev.transition_id, ev.from_, ev.to)
    account(get, out, item, to)
    _kept(rec, out, item, status=to, **new)


def _cancellation(get: Get, rec: Recorded, ev: e.CancellationObserved, out: Out) -> None:
    intent = intent_of(get, rec)
    envelope = changed(intent.envelope, cancellation_state=ev.state)
    out["intent", rec.stream] = changed(intent, envelope=envelope, cancellation_seq=rec.seq)
    _kept(rec, out, item_of(get, rec))


def _follower_released(get: Get, rec: Recorded, ev: e.FollowerReleased, out: Out) -> None:
    item = item_of(get, rec)
    if item.outcome is not Outcome.COALESCED or item.successor != ev.survivor:
        raise FoldError(rec, f"{item.id} does not follow {ev.survivor}")
    _kept(rec, out, item, successor=ev.successor)


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.IntentReceived: _received,
    e.IntentValidated: _validated,
    e.AdmissionDecided: _decided,
    e.CancellationObserved: _cancellation,
    e.FollowerReleased: _follower_released,
}
