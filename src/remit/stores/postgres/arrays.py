"""Columns of integers on their way to the server: always ``bigint[]``, whatever the figures are.

psycopg picks the narrowest array that fits the values, so that one statement would be prepared once for
each width. An array of 64-bit integers in PostgreSQL's binary form is simple enough to write at once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final

from psycopg import pq
from psycopg.adapt import Dumper

_HEAD: Final = struct.Struct(">iiIii")
_NULL: Final = struct.pack(">i", -1)
_ONE: Final = struct.Struct(">iq")
_INT8: Final = 20
_INT8_ARRAY: Final = 1016


class Integers(list[int | None]):
    """A column of integers or nulls."""


class IntegersDumper(Dumper):
    """Writes a column in PostgreSQL's binary form of ``bigint[]``."""

    format = pq.Format.BINARY
    oid = _INT8_ARRAY

    def dump(self, obj: list[int | None]) -> bytes:
        """Dimensions, whether there are nulls, the type, the length, the first index, the values."""
        if not obj:
            return _HEAD.pack(0, 0, _INT8, 0, 1)[:12]
        nulls = None in obj
        pack = _ONE.pack
        body = b"".join(_NULL if value is None else pack(8, value) for value in obj)
        return _HEAD.pack(1, int(nulls), _INT8, len(obj), 1) + body


def columns_of_rows(rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Rows turned into columns that a statement takes as arrays."""
    columns: list[Any] = []
    for column in zip(*rows, strict=True):
        first = next((value for value in column if value is not None), None)
        columns.append(Integers(column) if isinstance(first, int) else list(column))
    return columns
