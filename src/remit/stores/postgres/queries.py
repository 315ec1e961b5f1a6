"""The statements of this store's ``queries.sql``, by name, and the two scripts that make its schema.

Names that are not in the file fail at import, where ``q`` is asked for them, never in the middle of a
transaction.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from remit.stores.statements import parse

HERE: Final = Path(__file__).parent

QUERIES: Final = parse(HERE.joinpath("queries.sql").read_text("utf-8"))

BOOTSTRAP: Final = HERE.joinpath("bootstrap.sql").read_text("utf-8")


def q(name: str) -> str:
    """The statement of this name; a name that is not there is a bug."""
    return QUERIES[name]
