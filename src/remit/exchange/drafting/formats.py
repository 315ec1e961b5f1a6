"""The formats that a plan can be drafted from, by name; each reads a file and yields a ``Draft``.

What a file as a whole is unfit for is one exception here, ``UnfitError``, whatever the format's reader
calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from remit.exchange.drafting.backlog import draft_beads
from remit.exchange.drafting.draft import Draft
from remit.exchange.drafting.markdown import BadMarkdownError, draft_markdown
from remit.exchange.drafting.tables import BadTableError, draft_csv

FORMATS: Final = ("beads", "csv", "markdown")


class UnfitError(ValueError):
    """A file cannot be drafted from, or not in this way."""


def draft(fmt: str, path: Path, name: str, columns: Mapping[str, str]) -> Draft:
    """A draft. Raises ``UnfitError``, ``OSError``, and ``InputProblem`` of a backlog's reader."""
    if columns and fmt != "csv":
        raise UnfitError(f"a map of columns is for csv, not for {fmt}")
    try:
        if fmt == "csv":
            return draft_csv(path, name, columns)
        if fmt == "markdown":
            return draft_markdown(path, name)
    except (BadTableError, BadMarkdownError) as error:
        raise UnfitError(str(error)) from error
    return draft_beads(path, name)
