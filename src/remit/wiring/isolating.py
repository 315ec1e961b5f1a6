"""Builds the sandbox and the secret scanner of this machine.

A module of its own, since nothing but supervised work and `doctor` needs either, and looking for
them costs a start.
"""

from __future__ import annotations

import os
from pathlib import Path

from remit.ports.sandbox import Probe, Room, Sandbox, SecretScanner


def sandbox() -> Sandbox:
    """The sandbox of this machine; whether it has one is said by whatever is asked of it."""
    from remit.isolation.bubblewrap import BubblewrapSandbox

    return BubblewrapSandbox()


def secret_scanner() -> SecretScanner:
    """The secret scanner, in cells of its own; its compiled rules lie in the person's cache."""
    from remit.isolation.secrets import Kingfisher

    home = os.environ.get("XDG_CACHE_HOME", "")
    cache = Path(home) if Path(home).is_absolute() else Path.home() / ".cache"
    return Kingfisher(sandbox(), cache / "remit" / "kingfisher")


def before_work(room: Room) -> tuple[Probe, ...]:
    """Whether a room holds credentials, before anything is started in it."""
    from remit.isolation.secrets import before_work as look

    return look(room)
