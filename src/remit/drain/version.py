"""Which code this is: one digest over every file that has a say in what happens to an item.

A parity proof is a proof of code, not of a version number: somebody may change a line and leave the
number as it is. So the record of a proof names this digest, and a run is started only under a proof
that names the very bytes that are about to work. What only measures, draws, tells or parses a
command line is left out, so that a better table does not make yesterday's proof worthless.

Nothing is cached between processes: a stale digest would be a proof of code that is gone.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Final

LEFT_OUT: Final = ("bench", "demo", "drawing", "exchange", "scenarios", "surfaces")
"""Rooms that no run goes through."""

_MADE: Final = "__pycache__"
"""What the interpreter makes of the rest."""

_PACKAGE: Final = Path(__file__).resolve().parents[1]


@lru_cache(maxsize=1)
def code_digest() -> str:
    """SHA-256, in hexadecimal, over name and bytes of each file of this package that decides.

    Taken once in a process, from the files as they are then. Raises ``OSError`` where one cannot be
    read: code that cannot be named is not proved.
    """
    return digest_of(_PACKAGE)


def digest_of(package: Path) -> str:
    """The digest of a package that lies in a folder; see ``code_digest``."""
    found = hashlib.sha256()
    for path in files_of(package):
        data = path.read_bytes()
        found.update(f"{path.relative_to(package).as_posix()}\0{len(data)}\0".encode())
        found.update(data)
    return found.hexdigest()


def files_of(package: Path) -> list[Path]:
    """The files that the digest covers, in the order of their names."""
    rooms = [p for p in package.iterdir() if p.is_dir() and p.name not in LEFT_OUT]
    below = [path for room in rooms for path in room.rglob("*") if _MADE not in path.parts]
    return sorted(
        (path for path in (*below, *package.iterdir()) if path.is_file()),
        key=lambda path: path.relative_to(package).as_posix(),
    )
