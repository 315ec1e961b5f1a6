"""One cell: the argument list that starts a command in it, its probes, its limits on disk, its end.

A cell starts nothing by itself but probes. It holds what serves it: a folder with the few files of
its own, the proxy's thread where egress is allowed, and control groups. `close` ends all of that;
the guest of a process that dies without closing dies with it, and the next cell clears away the rest.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from remit.isolation import groups, layout, probes, remains
from remit.isolation.egress import EgressProxy
from remit.isolation.inside import launch as _launch  # noqa: F401  # so it is compiled once for all cells
from remit.machine.processes import Finished, run_bounded
from remit.ports.sandbox import Breach, EgressTry, Probe, Room, SandboxCode, SandboxRefusal

PROGRAMS = Path(__file__).with_name("inside")
DOOR = (PROGRAMS / "enter.sh").read_text(encoding="utf-8")
SHELL, EMPTY = "/bin/sh", "/usr/bin/env"
WALLS = "walls"
"""The file of a cell that holds bubblewrap's arguments; its folder is the owner's alone."""
FILES_LIMIT = 200_000
"""How many files and folders the writable paths may hold."""
DEPTH_LIMIT = 128
"""How deep folders may be nested in them; a longer path than the system takes hides what is there."""


@dataclass(frozen=True, slots=True)
class BubblewrapCell:
    """A cell that bubblewrap builds anew each time a command is started in it."""

    room: Room
    tools: layout.Tools
    folder: Path
    groups: groups.Groups
    proxy: EgressProxy | None
    _closing: ExitStack

    @classmethod
    def build(cls, room: Room, tools: layout.Tools) -> BubblewrapCell | SandboxRefusal:
        """Lay the cell's files, start its proxy and make its groups."""
        with ExitStack() as closing:
            remains.clear()
            folder = remains.claim(closing)
            layout.write_files(folder)
            walls = layout.arguments(room, tools, folder, PROGRAMS)
            (folder / WALLS).write_bytes(b"".join(os.fsencode(word) + b"\0" for word in walls))
            proxy = None
            if room.egress.hosts:
                started = EgressProxy.start(room.egress, folder / "egress.sock")
                if isinstance(started, SandboxRefusal):
                    return started
                closing.callback(started.close)
                proxy = started
            made = groups.make(room.limits)
            closing.callback(made.close)
            remains.note(folder, made)
            return cls(room, tools, folder, made, proxy, closing.pop_all())
        raise AssertionError("an exit stack swallows nothing")

    def command(self, argv: Sequence[str]) -> tuple[str, ...] | SandboxRefusal:
        """The argument list that starts `argv` inside; refuses COMMAND_NOT_ALLOWED.

        The first word must stand in the room's commands, exactly. What that program starts in turn
        is held by the cell and not by the list.
        """
        if not argv or argv[0] not in self.room.commands or any("\0" in word for word in argv):
            named = argv[0][:200] if argv else ""
            return SandboxRefusal(
                SandboxCode.COMMAND_NOT_ALLOWED,
                f"start in the cell of {self.room.attempt}: {named!r} is not allowed; expected one"
                f" of {', '.join(self.room.commands) or 'none'}",
                "add the command to those that the room allows, or use one of them",
                {"command": named},
            )
        return (*self.prefix(), *argv)

    def prefix(self) -> tuple[str, ...]:
        """What starts a command that no guest chose: a registered row, a program of remit's own."""
        enter = [
            EMPTY,
            "-i",
            SHELL,
            "-c",
            DOOR,
            "remit-enter",
            self.groups.joins,
            str(self.folder / WALLS),
        ]
        enter += [EMPTY, sys.executable, str(self.tools.bwrap)]
        return (*enter, *layout.closing(self.room, self.tools))

    def run(
        self, argv: Sequence[str], *, timeout_ms: int, output_limit_bytes: int, stdin: bytes = b""
    ) -> Finished:
        """Run one of remit's own programs inside to its end, within bounds."""
        return run_bounded(
            (*self.prefix(), *argv),
            cwd=self.folder,
            environment={**os.environ, **probes.PLANTED_VARIABLE},
            timeout_ms=timeout_ms,
            output_limit_bytes=output_limit_bytes,
            stdin=stdin,
        )

    def probe(self) -> tuple[Probe, ...]:
        """Try to get out, from inside, and say what each try found."""
        return probes.run(self)

    def tries(self) -> tuple[EgressTry, ...]:
        """What tried to connect through the proxy so far."""
        return self.proxy.tries() if self.proxy else ()

    def breach(self) -> Breach | None:
        """Add up what the writable paths hold; None while that is within the limits."""
        room = self.room
        writable = [path for path, written in layout.mounts(room) if written]
        return measure(writable, room.limits.disk_bytes)

    def close(self) -> None:
        """End the proxy and whatever still runs in the cell's groups; remove the cell's files."""
        self._closing.close()


def measure(folders: Sequence[Path], disk_bytes: int) -> Breach | None:
    """Add up what folders hold, each file once whatever its names; None while that is within limits.

    What cannot be looked into could hold anything, so it is a breach as well: a folder without
    permissions, one nested deeper than `DEPTH_LIMIT`.
    """
    held = count = 0
    seen: set[tuple[int, int]] = set()
    waiting = [(str(folder), 0) for folder in folders]
    while waiting:
        folder, depth = waiting.pop()
        if depth > DEPTH_LIMIT:
            return Breach("depth", depth, DEPTH_LIMIT)
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((entry.path, depth + 1))
                    else:
                        held += _held(entry, seen)
        except (FileNotFoundError, NotADirectoryError):
            continue  # it went away while we looked
        except OSError:
            return Breach("unreadable", 1, 0)
        if count > FILES_LIMIT:
            return Breach("files", count, FILES_LIMIT)
        if held > disk_bytes:
            return Breach("disk_bytes", held, disk_bytes)
    return None


def _held(entry: os.DirEntry[str], seen: set[tuple[int, int]]) -> int:
    """Bytes on disk of a plain file that was not seen before."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return 0  # it went away while we looked
    if not stat.S_ISREG(found.st_mode) or (found.st_dev, found.st_ino) in seen:
        return 0
    seen.add((found.st_dev, found.st_ino))
    return found.st_blocks * 512
