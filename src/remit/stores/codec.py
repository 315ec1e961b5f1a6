"""The codec: events and facts to canonical bytes and back.

Payloads are canonical JSON: keys in order, no blanks, integers below 2**53, strings, lists, true
and false; on those RFC 8785 and this codec give the same bytes. Floats, larger integers and lone
surrogates are refused before anything is written: what was encoded is decoded again and compared.
Checks are most of an event and nearly always the same few, so each is encoded and compared once, and
an event holds the bytes that were found good.

Format of a digest. An event's digest is SHA-256 over the RFC 8785 bytes of one JSON object that
holds every column of the ``events`` table but ``digest`` itself, under the column's own name:
``ledger_id``, ``seq``, ``stream``, ``stream_version``, ``type``, ``actor``, ``assurance``,
``created_at``, ``command_id``, ``command_digest``, ``trace_context``, ``conversation_ref`` and
``payload``. An absent value is null, ``command_digest`` is lower-case hexadecimal, and ``payload``
is the JSON value as stored, its bytes spliced in and never encoded anew.

A type that the registry does not know stops the fold: nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final

import msgspec

import remit.core.authority_events
import remit.core.decision_events
import remit.core.effect_events
import remit.core.item_events
import remit.core.limit_events
import remit.core.plan_events
import remit.core.run_events
import remit.core.trace_events  # noqa: F401  # all of these fill the registry
from remit.core.checks import Check, Result
from remit.core.events import EVENTS, Event, Recorded
from remit.core.ids import MAX_INTEGER
from remit.ports import LedgerCorrupt, StoredEvent
from remit.stores.fact_codec import NotCanonicalError, decode_fact, encode_fact
from remit.stores.shapes import Shape, fixed, shape_of

__all__ = [
    "NotCanonicalError",
    "columns_of",
    "decode_event",
    "decode_fact",
    "digest_of",
    "encode_event",
    "encode_fact",
    "is_canonical",
    "recorded",
    "recorded_of",
]

Upcaster = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]
"""From the payload of an older type to the type and payload that stand for it today; pure."""

UPCASTERS: Final[dict[str, Upcaster]] = {}
"""By stored type. A step may lead to a type that has an upcaster of its own."""

Columns = tuple[
    str, int, str, int, str, str, str, int, bytes, bytes, str | None, bytes | None, str | None,
    str | None,
]  # fmt: skip
"""An event's columns in the order of ``StoredEvent``."""


class _Envelope(msgspec.Struct, frozen=True, gc=False):
    """The columns that a digest covers, in the order of their names."""

    actor: str
    assurance: str
    command_digest: str | None
    command_id: str | None
    conversation_ref: str | None
    created_at: int
    ledger_id: str
    payload: msgspec.Raw
    seq: int
    stream: str
    stream_version: int
    trace_context: str | None
    type: str


_encode: Final = msgspec.json.Encoder().encode
_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode
_decode_any: Final = msgspec.json.Decoder().decode
_Opened = tuple[Shape, Callable[[bytes], Any]]
_OPENED: Final[dict[type, _Opened]] = {}
_SEALING: Final[dict[type, _Opened]] = {}


_GOOD: Final[dict[int, tuple[Check, bytes]]] = {}
"""Checks that were found good, by their identity (they are kept, so it stays theirs)."""

MOST_GOOD: Final = 512

_LIST: Final = b",".join
_texts_of: Final = attrgetter("check", "evidence", "observed", "reason", "required", "result")
_PLAIN: Final = (str, str, str, str, str, Result)
"""What a check is of that reads back as the same value if it can be encoded at all."""


def _sealed(checks: Any) -> msgspec.Raw:
    """The bytes of checks that read back as the same values; TypeError where they do not."""
    known = _GOOD.get
    found = [
        good[1] if (good := known(id(check))) else _found_good(check) for check in fixed(checks)
    ]
    return msgspec.Raw(b"[" + _LIST(found) + b"]")


def _found_good(check: Check) -> bytes:
    """The bytes of one check: texts that are nothing but texts need not be read back to be the same."""
    shape, decode = _OPENED.get(Check) or _open_part(Check)
    texts = _texts_of(check)
    mirror = shape.mirror(*texts)
    body = _encode(mirror)
    plain = tuple(map(type, texts)) == _PLAIN or decode(body) == mirror
    if check.__class__ is not Check or not plain:
        raise TypeError("a check that reads back as another")
    if len(_GOOD) >= MOST_GOOD:
        _GOOD.clear()
    _GOOD[id(check)] = (check, body)
    return body


def _open_part(cls: type) -> _Opened:
    shape = shape_of(cls)
    _OPENED[cls] = found = (shape, msgspec.json.Decoder(shape.mirror).decode)
    return found


def _open_sealing(cls: type) -> _Opened:
    """What encodes an event and what verifies it, with the parts that were verified apart."""
    _open(cls)
    shape = Shape(cls, cls.PHASE, {tuple[Check, ...]: _sealed})  # type: ignore[attr-defined]  # an event
    _SEALING[cls] = found = (shape, msgspec.json.Decoder(shape.mirror).decode)
    return found


def _open(cls: type) -> _Opened:
    if EVENTS.get(cls.__name__) is not cls:
        raise NotCanonicalError(
            f"cannot encode a {cls.__name__}: found a class outside the registry of events",
            "register it with @event",
        )
    shape = Shape(cls, cls.PHASE)
    _OPENED[cls] = found = (shape, msgspec.json.Decoder(shape.mirror).decode)
    return found


def encode_event(event: Event) -> bytes:
    """The canonical payload of an event.

    Refuses with ``NotCanonicalError`` what could not be read back as the same value.
    """
    cls = type(event)
    shape, decode = _SEALING.get(cls) or _open_sealing(cls)
    try:
        mirror = shape.lower(event)
        payload = _encode(mirror)
        if decode(payload) == mirror:
            return payload
        found = "a value that reads back as another"
    except (msgspec.MsgspecError, AttributeError, TypeError, ValueError) as error:
        found = str(error)
    raise NotCanonicalError(
        f"cannot encode {cls.__name__}: found {found}, expected strings, integers within 2**53,"
        " true, false and tuples of them as the event declares",
        "replace the value; nothing was written",
        {"type": cls.__name__, "found": found},
    )


def decode_event(kind: str, payload: bytes, seq: int = 0) -> Event:
    """The event that a stored type and payload stand for.

    Raises ``LedgerCorrupt`` for a type that is not known and a payload that does not decode.
    """
    cls = EVENTS.get(kind)
    try:
        if cls is None:
            return _upcast(kind, payload, seq)
        shape, decode = _OPENED.get(cls) or _open(cls)
        event: Event = shape.lift(decode(payload))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LedgerCorrupt(
            f"cannot read event {seq}: its payload is not a {kind} ({error})",
            "run 'remit ledger verify' to see what else is damaged",
            {"seq": seq, "type": kind},
        ) from error
    return event


def _upcast(kind: str, payload: bytes, seq: int) -> Event:
    upcaster, found = UPCASTERS.get(kind), kind
    if upcaster is None:
        raise LedgerCorrupt(
            f"cannot read event {seq}: found the type {found}, which this version does not know",
            "use the version of remit that wrote it, or a newer one",
            {"seq": seq, "type": found},
        )
    older = _decode_any(payload)
    while upcaster is not None:
        found, older = upcaster(older)
        upcaster = UPCASTERS.get(found)
    return decode_event(found, _encode_sorted(older), seq)


def digest_of(event: StoredEvent) -> bytes:
    """The digest that a stored event should have: see the format above."""
    return _digest(
        event.ledger_id, event.seq, event.stream, event.stream_version, event.type, event.actor,
        event.assurance, event.created_at, event.payload, event.command_id, event.command_digest,
        event.trace_context, event.conversation_ref,
    )  # fmt: skip


def _digest(
    ledger_id: str, seq: int, stream: str, stream_version: int, kind: str, actor: str,
    assurance: str, created_at: int, payload: bytes, command_id: str | None,
    command_digest: bytes | None, trace_context: str | None, conversation_ref: str | None,
) -> bytes:  # fmt: skip
    envelope = _Envelope(
        actor, assurance, None if command_digest is None else command_digest.hex(), command_id,
        conversation_ref, created_at, ledger_id, msgspec.Raw(payload), seq, stream,
        stream_version, trace_context, kind,
    )  # fmt: skip
    return sha256(_encode(envelope)).digest()


def columns_of(ledger_id: str, recorded: Recorded) -> Columns:
    """An event's columns, payload and digest included, in the order of ``StoredEvent``.

    Refuses with ``NotCanonicalError`` what has no canonical form.
    """
    event = recorded.event
    kind = type(event).__name__
    payload = encode_event(event)
    command_digest = recorded.command_digest or None
    texts = (
        recorded.command_id or None,
        recorded.trace_context or None,
        recorded.conversation_ref or None,
    )
    seq, version, at = recorded.seq, recorded.version, recorded.at
    if not (0 < seq <= MAX_INTEGER and 0 < version <= MAX_INTEGER and 0 <= at <= MAX_INTEGER):
        raise NotCanonicalError(
            f"cannot encode event {seq} of {recorded.stream}: found version {version} at {at},"
            " expected positive integers below 2**53",
        )
    try:
        digest = _digest(
            ledger_id, seq, recorded.stream, version, kind, recorded.actor, recorded.assurance,
            at, payload, texts[0], command_digest, texts[1], texts[2],
        )  # fmt: skip
    except (UnicodeEncodeError, TypeError) as error:
        raise NotCanonicalError(
            f"cannot encode event {seq} of {recorded.stream!r}: {error}",
            "use text without lone surrogates",
        ) from error
    return (
        ledger_id, seq, recorded.stream, version, kind, recorded.actor, str(recorded.assurance),
        at, payload, digest, texts[0], command_digest, texts[1], texts[2],
    )  # fmt: skip


def recorded_of(row: Columns) -> Recorded:
    """The event that a row of columns stands for; raises ``LedgerCorrupt`` as ``decode_event``."""
    seq = row[1]
    return Recorded(
        seq, row[2], row[3], row[5], row[6], row[7], decode_event(row[4], row[8], seq),
        row[10] or "", row[11] or b"", row[13] or "", row[12] or "",
    )  # fmt: skip


def recorded(event: StoredEvent) -> Recorded:
    """The event that a stored event stands for."""
    return Recorded(
        event.seq, event.stream, event.stream_version, event.actor, event.assurance,
        event.created_at, decode_event(event.type, event.payload, event.seq),
        event.command_id or "", event.command_digest or b"", event.conversation_ref or "",
        event.trace_context or "",
    )  # fmt: skip


def is_canonical(payload: bytes) -> bool:
    """Whether bytes are the canonical JSON of what they say."""
    try:
        return _encode_sorted(_decode_any(payload)) == payload
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
