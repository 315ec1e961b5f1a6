"""Parameters on their way to the server, in PostgreSQL's binary form.

A batch is one statement whose parameters are arrays, a column each. Most columns of a batch hold one
value over and over (an actor, a status, nothing), so such a column is made by repetition; the others
are one pass over their values. Every integer is a ``bigint``, whatever its size, so that a statement
has one form for all of them.

A NUL character fits no text of PostgreSQL's; it is refused here, as is a lone surrogate.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

from psycopg import DataError

_HEAD: Final = struct.Struct(">iiIii")
_NONE: Final = struct.Struct(">iiI")
_LENGTH: Final = struct.Struct(">i")
_NULL: Final = _LENGTH.pack(-1)
_ONE: Final = struct.Struct(">iq")
_INT8: Final = struct.Struct(">q")

BYTEA: Final = 17
INT8: Final = 20
TEXT: Final = 25
"""What PostgreSQL calls these types."""

Encoder = Callable[[Any], bytes | None]
"""From a value to the bytes of its binary form; None is null."""


def text_of(value: str) -> bytes:
    """A text's bytes."""
    try:
        data = value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"text cannot hold lone surrogates: {error}") from None
    if b"\0" in data:
        raise DataError("text cannot hold NUL characters")
    return data


def scalar(value: Any) -> bytes | None:
    """A single value, by its own type."""
    if isinstance(value, str):
        return text_of(value)
    if value is None:
        return None
    if isinstance(value, bool):
        return b"\1" if value else b"\0"
    if isinstance(value, int):
        return _INT8.pack(value)
    return bytes(value)


def texts(column: Sequence[str | None]) -> bytes:
    """A column of text."""
    if not column:
        return _NONE.pack(0, 0, TEXT)
    first, many = column[0], len(column)
    if many == 1 or column.count(first) == many:
        return _repeated(TEXT, None if first is None else text_of(first), many)
    length = _LENGTH.pack
    parts, nulls = [b""], 0
    for value in column:
        if value is None:
            nulls = 1
            parts.append(_NULL)
        else:
            data = text_of(value)
            parts += (length(len(data)), data)
    parts[0] = _HEAD.pack(1, nulls, TEXT, many, 1)
    return b"".join(parts)


def octets(column: Sequence[bytes | None]) -> bytes:
    """A column of bytes."""
    if not column:
        return _NONE.pack(0, 0, BYTEA)
    first, many = column[0], len(column)
    if many == 1 or column.count(first) == many:
        return _repeated(BYTEA, first, many)
    length = _LENGTH.pack
    parts, nulls = [b""], 0
    for data in column:
        if data is None:
            nulls = 1
            parts.append(_NULL)
        else:
            parts += (length(len(data)), data)
    parts[0] = _HEAD.pack(1, nulls, BYTEA, many, 1)
    return b"".join(parts)


def integers(column: Sequence[int | None]) -> bytes:
    """A column of integers."""
    if not column:
        return _NONE.pack(0, 0, INT8)
    first, many = column[0], len(column)
    if many == 1 or column.count(first) == many:
        return _repeated(INT8, None if first is None else _INT8.pack(first), many)
    pack = _ONE.pack
    body = b"".join([_NULL if value is None else pack(8, value) for value in column])
    return _HEAD.pack(1, int(None in column), INT8, many, 1) + body


def _repeated(kind: int, data: bytes | None, many: int) -> bytes:
    element = _NULL if data is None else _LENGTH.pack(len(data)) + data
    return _HEAD.pack(1, int(data is None), kind, many, 1) + element * many


ARRAYS: Final[dict[str, Encoder]] = {"text": texts, "bigint": integers, "bytea": octets}
"""What makes an array of a type that a statement names."""
