"""The cursor file of a follower: how far its output went, kept so that it can go on there.

It is written whole or not at all, and only after what it counts was handed over, so whoever is killed
in between sees events twice and never misses one. It names ledger, epoch and the digest of the last
event: ``service.feed`` refuses it where the ledger is another one, or was put back.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from remit.core.refusals import Code
from remit.service.feed import Position, kept_bytes, kept_position
from remit.surfaces.cli.answers import Stop, stop

LONGEST: Final = 4_096
"""Bytes of a cursor file that are read; one that is longer is none."""


def load(path: Path) -> Position | None:
    """The position in a cursor file, None where there is no file. Raises ``BAD_INPUT``."""
    try:
        with path.open("rb") as file:
            return kept_position(file.read(LONGEST))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable("read", path, error) from error
    except ValueError as error:
        raise stop(
            Code.BAD_INPUT,
            f"cannot use the cursor {path}: found {error}, expected what 'remit ledger follow' keeps",
            "name another file, or remove this one and say with --after where to begin",
            path=str(path),
        ) from error


def save(path: Path, position: Position) -> None:
    """Keep a position durably, in place of the one before. Raises ``BAD_INPUT`` where it cannot."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            file.write(kept_bytes(position))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unusable("keep", path, error) from error


def _unusable(operation: str, path: Path, error: OSError) -> Stop:
    return stop(
        Code.BAD_INPUT,
        f"cannot {operation} the cursor {path}: {error.strerror}",
        "see that it is a file in a folder that can be written and has room",
        path=str(path),
    )
