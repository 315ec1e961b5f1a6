"""Reading what somebody handed in, and saying everything that is wrong with it.

Nothing of a document is used before all of it could be read. Each problem names line and column, so
that an editor can go there. No command-line framework is loaded here: the quick way in uses it too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Stop, stop

_ENTRY = re.compile(r"[a-z][a-z_-]{0,40}=")

SHOWN = 3
"""Problems that the message itself names; ``details`` holds all."""


def read_bytes(file: Path, limit: int) -> bytes:
    """A file's bytes, or standard input's for ``-``, at most so many.

    Raises ``INPUT_PROBLEM`` where it cannot be read or is longer.
    """
    try:
        if str(file) == "-":
            import sys

            data = sys.stdin.buffer.read(limit + 1)
        else:
            with file.open("rb") as opened:
                data = opened.read(limit + 1)
    except OSError as error:
        raise stop(
            Code.INPUT_PROBLEM, f"cannot read {file}: {error.strerror}", "see that it can be read"
        ) from error
    if len(data) > limit:
        raise stop(
            Code.INPUT_PROBLEM,
            f"cannot read {file}: it has more than {limit} bytes",
            "split it into several files",
        )
    return data


def entries_of(given: Sequence[str] | None) -> tuple[str, ...]:
    """Evidence as people write it, ``NAME=VALUE``, as the ledger holds it, ``NAME:VALUE``."""
    return tuple(_ENTRY.sub(lambda m: f"{m[0][:-1]}:", text, count=1) if _ENTRY.match(text) else text
                 for text in given or ())  # fmt: skip


def told(problems: Sequence[Any]) -> list[dict[str, Any]]:
    """Problems as programs read them."""
    return [
        {"line": p.line, "column": p.column, "path": p.path, "message": p.message} for p in problems
    ]


def wrong(what: str, file: Path, problems: Sequence[Any]) -> Stop:
    """The refusal of a document with problems, all of them in its details."""
    lines = "; ".join(f"{file}:{problem}" for problem in problems[:SHOWN])
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return stop(
        Code.INPUT_PROBLEM,
        f"cannot read the {what}: {lines}{more}",
        "correct every one and repeat",
        problems=told(problems),
    )
