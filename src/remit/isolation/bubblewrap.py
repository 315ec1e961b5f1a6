"""Cells made with bubblewrap, the sandbox of Flatpak: found on this machine, never installed here.

It needs Linux, the program `bwrap` and user namespaces that an ordinary process may make. Which of
these is missing is said with what to do about it, and then there is no cell; no other path leads to
a guest's command. The program is taken from absolute entries of PATH, and not where others than its
owner can write it.
"""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from remit.core.checks import Result
from remit.isolation import examination, layout
from remit.isolation.cell import BubblewrapCell
from remit.machine.processes import absolute_path
from remit.ports.sandbox import Probe, Room, SandboxCode, SandboxRefusal


@dataclass(frozen=True, slots=True)
class BubblewrapSandbox:
    """Builds cells with the `bwrap` of this machine.

    `search` is the path to look for it on, the process's own where it is None.
    """

    search: str | None = None

    def prepare(self, room: Room) -> BubblewrapCell | SandboxRefusal:
        """Build a cell for a room.

        Refuses SANDBOX_MISSING where this machine has none, ROOM_UNFIT for a path or a variable
        that a room may not have, and EGRESS_UNUSABLE where the proxy cannot be had.
        """
        tools = self.tools()
        if isinstance(tools, SandboxRefusal):
            return tools
        refusal = layout.unfit(room) or _bad_names(room)
        return refusal or BubblewrapCell.build(room, tools)

    def tools(self) -> layout.Tools | SandboxRefusal:
        """Find what a cell is built with, or say what is missing."""
        search = os.environ.get("PATH", os.defpath) if self.search is None else self.search
        found = shutil.which("bwrap", path=absolute_path(search))
        if found is None:
            return _missing("there is no bwrap on PATH", "install the package bubblewrap")
        program = Path(found).resolve()
        if program.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return _missing(f"others may write {program}", "let only its owner write it")
        python, library = layout.interpreter()
        return layout.Tools(program, python, library)

    def examine(self) -> tuple[Probe, ...]:
        """Say what this machine has of each part; builds a cell and probes it."""
        tools = self.tools()
        if isinstance(tools, SandboxRefusal):
            gone = Probe("sandbox", Result.BLOCKED, tools.message, tools.hint)
            return (gone, *examination.parts())
        return (*examination.sandbox(self.prepare, tools), *examination.parts())


def _missing(found: str, hint: str) -> SandboxRefusal:
    message = f"prepare a cell: {found}; expected bubblewrap on Linux"
    return SandboxRefusal(SandboxCode.SANDBOX_MISSING, message, hint)


def _bad_names(room: Room) -> SandboxRefusal | None:
    bad = [name for name in room.environment if not _plain(name)]
    bad += [name for name, value in room.environment.items() if "\0" in value]
    if not bad:
        return None
    return SandboxRefusal(
        SandboxCode.ROOM_UNFIT,
        f"prepare a cell for {room.attempt}: the variable {bad[0]!r} cannot be set",
        "give names of letters, digits and underscores, none that steers the loader",
        {"variable": bad[0]},
    )


def _plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("LD_")
