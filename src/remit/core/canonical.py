"""Canonical JSON of small values inside the core: the bytes that digests are taken over.

Equal to RFC 8785 for what remit stores: strings, integers below 2**53, booleans, null, lists and
maps with ASCII keys. Floats are refused, since their text form is where implementations differ.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
)


def canonical(value: Any) -> bytes:
    """Canonical bytes; raises ValueError where text holds lone surrogates."""
    return _ENCODER.encode(value).encode()


def digest_of(value: Any) -> str:
    """SHA-256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()
