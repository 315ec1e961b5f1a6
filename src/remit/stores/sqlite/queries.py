"""The statements of ``queries.sql``, by name.

SQL lives in the ``.sql`` file so that it can be read, reviewed and explained as SQL. A block opens
with ``-- name: NAME``; comment lines are for people, the rest is one statement. Names that are not
in the file fail at import, where ``q`` is asked for them, never in the middle of a transaction.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from remit.stores.statements import parse

__all__ = ["QUERIES", "parse", "q"]


QUERIES: Final = parse(Path(__file__).with_name("queries.sql").read_text("utf-8"))


def q(name: str) -> str:
    """The statement of this name; a name that is not there is a bug."""
    return QUERIES[name]
