"""The statements of a ``queries.sql``, by name, for every store that speaks SQL.

A block opens with ``-- name: NAME``; comment lines are for people, the rest is one statement. SQL
stands in ``.sql`` files so that it can be read, reviewed and explained as SQL.
"""

from __future__ import annotations


def parse(text: str) -> dict[str, str]:
    """Name -> statement, comments left out; the text before the first name is the file's essay."""
    found: dict[str, str] = {}
    for block in text.split("\n-- name: ")[1:]:
        name, _, body = block.partition("\n")
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        statement = "\n".join(lines).strip().rstrip(";")
        if not statement or name.strip() in found:
            raise AssertionError(f"queries.sql: block {name.strip()!r} is empty or there twice")
        found[name.strip()] = statement
    return found
