"""Handing intents in, and what came of each: receipt, verdict, checks.

A message is known by the digest of its envelope, so one that comes again is recognised whoever sends
it and however its document was written. What is returned for it is the receipt that it got the first
time, with the newest verdict; nothing is written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Final

import msgspec

from remit.core import commands as c
from remit.core.canonical import digest_of
from remit.core.checks import Check
from remit.core.effect_events import AdmissionDecided, HoldsRechecked, IntentReceived
from remit.core.effect_facts import Comparison, Envelope, Fault, Intent, Message
from remit.core.events import Recorded
from remit.core.facts import Item
from remit.core.refusals import Refused
from remit.ports import ReadTx
from remit.service.engine import Answer, Done
from remit.service.operations import Operations

_PARTS: Final = tuple(f.name for f in fields(Envelope))
_TEST: Final = tuple(f.name for f in fields(Comparison))
_values_of, _figures_of = attrgetter(*_PARTS), attrgetter(*_TEST)
_encode: Final = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True, slots=True)
class Submitted:
    """What became of one message; ``verdict`` is empty while nobody has decided.

    ``repeated`` says that it was stored before. ``seq`` is that of the verdict.
    """

    work_id: str
    item: str
    receipt: str
    verdict: str
    reason: str
    owner: str
    trigger: str
    recheck_at: int
    checks: tuple[Check, ...]
    seq: int
    repeated: bool


def intent_of(
    envelope: Envelope, document: str = "", size: int = 0, faults: tuple[Fault, ...] = ()
) -> c.SubmitIntent:
    """The command that hands an envelope in; ``document`` is its text as it was submitted."""
    parts: dict[str, Any] = dict(zip(_PARTS, _values_of(envelope), strict=True))
    test = envelope.completion_test
    parts["completion_test"] = [dict(zip(_TEST, _figures_of(one), strict=True)) for one in test]
    return c.SubmitIntent(envelope, _digest_of(parts), document, size, faults)


def _digest_of(parts: dict[str, Any]) -> str:
    """The core's digest of canonical bytes, at a tenth of the time for what a ledger can hold."""
    try:
        return hashlib.sha256(_encode(parts)).hexdigest()
    except OverflowError:  # a figure that nothing holds, which is refused later by its name
        return digest_of(parts)


def submit(
    operations: Operations,
    intents: Sequence[c.SubmitIntent],
    *,
    command_id: str = "",
    atomic: bool = False,
) -> list[Submitted | Refused]:
    """Hand intents in and say what became of each, in order."""
    answers: list[Answer] = operations.submit(intents, command_id=command_id, atomic=atomic)
    told = [_told(a) if isinstance(a, Done) else a for a in answers]
    if all(one is not None for one in told):
        return [one for one in told if one is not None]
    with operations.store.read() as tx:
        return [
            one if one is not None else _stored(tx, intent.envelope.message_id)
            for one, intent in zip(told, intents, strict=True)
        ]


def _told(answer: Done) -> Submitted | None:
    """What the answer's own events say; None where it has none of a receipt."""
    received: Recorded | None = None
    decided: Recorded | None = None
    for recorded in answer.events:
        if isinstance(recorded.event, IntentReceived) and received is None:
            received = recorded
        elif isinstance(recorded.event, AdmissionDecided) and received is not None:
            decided = recorded if recorded.stream == received.stream else decided
    if received is None or not isinstance(received.event, IntentReceived):
        return None
    event = received.event
    return _said(event.envelope.work_id, received.stream, event.receipt, decided, answer.repeated)


def _said(
    work_id: str, item: str, receipt: str, decided: Recorded | None, repeated: bool
) -> Submitted:
    event = decided.event if decided is not None else None
    if decided is None or not isinstance(event, AdmissionDecided):
        return Submitted(work_id, item, receipt, "", "", "", "", 0, (), 0, repeated)
    return Submitted(
        work_id,
        item,
        receipt,
        event.verdict,
        event.reason,
        event.owner_id,
        event.trigger,
        event.recheck_at,
        event.checks,
        decided.seq,
        repeated,
    )


def _stored(tx: ReadTx, message_id: str) -> Submitted:
    """The receipt of a message that was stored before, with the newest verdict on it."""
    message = tx.load([("message", message_id)])["message", message_id]
    assert isinstance(message, Message), "an answer without events is to a stored message"
    intent = tx.load([("intent", message.item)])["intent", message.item]
    assert isinstance(intent, Intent), "a message leads to an intent"
    decided = tx.at_seq([intent.verdict_seq]).get(intent.verdict_seq)
    return _said(intent.envelope.work_id, message.item, message.receipt, decided, repeated=True)


def recheck_holds(operations: Operations, trigger: str = "", most: int = 0) -> list[Recorded]:
    """Look again at what a trigger has freed, batch after batch; the verdicts that changed.

    ``most`` bounds how many holds are looked at, 0 for no bound. An empty trigger takes what time
    has freed.
    """
    found: list[Recorded] = []
    looked, after = 0, ""
    while True:
        left = most - looked if most else 0
        answer = operations.recheck(c.RecheckHolds(trigger, left, after))
        if isinstance(answer, Refused):
            return found
        found += [r for r in answer.events if isinstance(r.event, AdmissionDecided)]
        last = next((r.event for r in answer.events if isinstance(r.event, HoldsRechecked)), None)
        if last is None or last.finished:
            return found
        looked, after = looked + last.looked_at, last.through
        if most and looked >= most:
            return found


def standing(tx: ReadTx, item: Item) -> Submitted | None:
    """What was last decided on effect work, None where the item is of another kind."""
    intent = tx.load([("intent", item.id)])["intent", item.id]
    if not isinstance(intent, Intent):
        return None
    decided = (
        tx.at_seq([intent.verdict_seq]).get(intent.verdict_seq) if intent.verdict_seq else None
    )
    return _said(intent.envelope.work_id, item.id, intent.receipt, decided, repeated=False)
