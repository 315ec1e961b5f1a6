"""The codec of facts: rows to facts and back, apart from that of events.

Facts are JSON with the core's own names in order. They can be made again from the events, so they
carry no digest. A cold read decodes facts and no event, which is why this module knows none of the
event types: it must never import them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from remit.core.facts import FACT_TYPES, Fact
from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, RemitError

_encode_sorted: Final = msgspec.json.Encoder(order="sorted").encode


class NotCanonicalError(RemitError):
    """A value has no canonical form, so it cannot go on the ledger; nothing was written."""

    code = Code.BAD_INPUT


_DECODERS: Final[dict[str, Callable[[bytes], Any]]] = {}


def _decoder(kind: str) -> Callable[[bytes], Any]:
    found: Callable[[bytes], Any] = msgspec.json.Decoder(FACT_TYPES[kind]).decode
    _DECODERS[kind] = found
    return found


def encode_fact(fact: Fact) -> bytes:
    """A fact as JSON with its names in order; refuses lone surrogates with ``NotCanonicalError``."""
    if fact.__class__ is int:  # most rows that a move touches are figures
        return b"%d" % fact
    try:
        return _encode_sorted(fact)
    except UnicodeEncodeError as error:
        raise NotCanonicalError(
            f"cannot encode a {type(fact).__name__}: {error}", "use text without lone surrogates"
        ) from error


def decode_fact(kind: str, body: bytes) -> Any:
    """The fact that bytes stand for; raises ``LedgerCorrupt`` where they do not decode."""
    try:
        return (_DECODERS.get(kind) or _decoder(kind))(body)
    except (KeyError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LedgerCorrupt(
            f"cannot read a row: its body is not a {kind} ({error})",
            "run 'remit ledger replay' to make the rows from the events again",
            {"kind": kind},
        ) from error
