"""Builds the sandbox and the secret scanner of this machine.

A module of its own, since nothing but supervised work and `doctor` needs either, and looking for
them costs a start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from remit.ports.outside import Verifier
from remit.ports.sandbox import (
    CellLimits,
    Probe,
    Room,
    Sandbox,
    SandboxRefusal,
    Walls,
)

if TYPE_CHECKING:
    from remit.isolation.secrets import Kingfisher


def sandbox() -> Sandbox:
    """The sandbox of this machine; whether it has one is said by whatever is asked of it."""
    if not sys.platform.startswith("linux"):
        from remit.isolation.elsewhere import NoSandbox

        return NoSandbox(sys.platform)
    from remit.isolation.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox()


def secret_scanner() -> Kingfisher:
    """The secret scanner, in cells of its own; its compiled rules lie in the person's cache."""
    from remit.isolation.secrets import Kingfisher

    home = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    return Kingfisher(sandbox(), cache / "remit" / "kingfisher")


def before_work(room: Room) -> tuple[Probe, ...]:
    """Whether a room holds credentials, before anything is started in it."""
    from remit.isolation.secrets import before_work as look

    return look(room)


def row_walls(read_only: Sequence[Path] = (), limits: CellLimits | None = None) -> Walls:
    """Walls for registered rows: a cell for each checkout, without egress or credentials.

    What a row runs was written by whoever did the work, so where that was a guest the row needs a
    cell as the guest did. `read_only` shows what rows need beside the system, such as a tool chain.
    """

    @contextmanager
    def walls(checkout: Path) -> Iterator[Sequence[str] | SandboxRefusal]:
        checkout = checkout.resolve()
        lent = checkout / ".git" / "objects" / "info" / "alternates"
        lenders = lent.read_text(encoding="utf-8").split("\n") if lent.exists() else []
        shown = (*read_only, *(Path(name).resolve() for name in lenders if name))
        room = Room("row", checkout, read_only=shown, limits=limits or CellLimits())
        cell = sandbox().prepare(room)
        if isinstance(cell, SandboxRefusal):
            yield cell
            return
        try:
            yield cell.prefix()
        finally:
            cell.close()

    return walls


def walled_verifier(repository: Path, remote: str, main: str, walls: Walls) -> Verifier:
    """The built-in verifier of a repository, with its rows behind walls."""
    from remit.repository.repository import GitRepository
    from remit.verify.builtin import BuiltInVerifier

    return BuiltInVerifier(GitRepository(repository, remote, main), walls)
