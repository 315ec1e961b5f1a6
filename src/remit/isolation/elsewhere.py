"""The sandbox of systems that have none: it refuses, and says so.

Everything but supervised work goes on there. A module of its own, since the rest of this room imports
what only Linux has.
"""

from __future__ import annotations

from remit.core.checks import Result
from remit.ports.sandbox import Cell, Probe, Room, SandboxCode, SandboxRefusal

_HINT = "run supervised work on Linux"


class NoSandbox:
    """Prepares nothing."""

    def __init__(self, system: str) -> None:
        """Take the system's name, to be said."""
        self.system = system

    def prepare(self, room: Room) -> Cell | SandboxRefusal:
        """Refuse SANDBOX_MISSING."""
        message = f"prepare a cell for {room.attempt}: {self.system} has no sandbox; expected Linux"
        return SandboxRefusal(SandboxCode.SANDBOX_MISSING, message, _HINT)

    def examine(self) -> tuple[Probe, ...]:
        """Say that there is none."""
        return (Probe("sandbox", Result.BLOCKED, f"{self.system} has no sandbox", _HINT),)
