"""The statements of this store's ``queries.sql``, by name, and the script that makes its roles.

Names that are not in the file fail at import, where they are asked for, never in the middle of a
transaction. ``q`` gives the text as psycopg takes it; ``statement`` gives what a ``Line`` sends: the
text with numbered parameters, and how each of them is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.stores.postgres.arrays import ARRAYS, Encoder, scalar
from remit.stores.statements import parse

HERE: Final = Path(__file__).parent

QUERIES: Final = parse(HERE.joinpath("queries.sql").read_text("utf-8"))

BOOTSTRAP: Final = HERE.joinpath("bootstrap.sql").read_text("utf-8")

_PARAMETER: Final = re.compile(r"%s(?:::(\w+)\[\])?")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its name on a session that it is prepared on, its text, its parameters' form."""

    name: bytes
    text: bytes
    encoders: tuple[Encoder, ...]


def q(name: str) -> str:
    """The text of the statement of this name; a name that is not there is a bug."""
    return QUERIES[name]


def statement(name: str) -> Statement:
    """The statement of this name, ready to be sent; a name that is not there is a bug."""
    parts = _PARAMETER.split(QUERIES[name])
    text = parts[0]
    for number, (cast, rest) in enumerate(zip(parts[1::2], parts[2::2], strict=True), 1):
        text += f"${number}{f'::{cast}[]' if cast else ''}{rest}"
    encoders = tuple(ARRAYS[cast] if cast else scalar for cast in parts[1::2])
    return Statement(f"remit_{name}".encode(), text.encode(), encoders)
