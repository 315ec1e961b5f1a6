"""Control groups: one a process tree, where the machine lets us have one.

A control group (version 2) knows its members whatever they do about sessions, parents and
environments, and ends them all in one step. Memory and number of processes are bounded there too,
where those controllers were handed down. Nothing depends on it: where there is none, ``make`` says
so, and the warden's walk over the tree is all there is.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.drain.limits import Limits

_REAPED_S: Final = 3.0


@dataclass(frozen=True, slots=True)
class Group:
    """A control group of our own, and which bounds it holds."""

    path: Path
    bounds: tuple[str, ...] = ()

    def kill(self) -> bool:
        """End every member at once; say whether the kernel took it."""
        try:
            (self.path / "cgroup.kill").write_text("1")
        except OSError:
            return False
        return True

    def remove(self) -> bool:
        """Take an empty group away; say whether it is gone.

        Whoever was killed is in it until somebody has reaped it, so this is tried for a while.
        """
        until = time.monotonic() + _REAPED_S
        while True:
            with contextlib.suppress(OSError):
                self.path.rmdir()
            if not self.path.exists() or time.monotonic() > until:
                return not self.path.exists()
            time.sleep(0.01)


def in_group(pid: int, group: Group) -> bool:
    """Whether a process is in a control group now."""
    try:
        found = Path(f"/proc/{pid}/cgroup").read_text("utf-8", "replace")
    except OSError:
        return False
    return any(line.endswith(f"/{group.path.name}") for line in found.splitlines())


def own_group() -> Path | None:
    """The folder of the control group that this process is in; None where version 2 is not here."""
    mount = ""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
            before, _, after = line.partition(" - ")
            if after.startswith("cgroup2 "):
                mount = before.split()[4]
    if not mount:
        return None
    for line in Path("/proc/self/cgroup").read_text("utf-8", "replace").splitlines():
        if line.startswith("0::"):
            return Path(mount) / line.removeprefix("0::").lstrip("/")
    return None


def make(name: str, limits: Limits) -> Group | None:
    """Make a control group below our own; None where that is not to be had.

    A group that cannot end its members in one step (before Linux 5.14) is of no use here.
    """
    above = own_group()
    if above is None or not os.access(above, os.W_OK):
        return None
    path = above / name
    try:
        path.mkdir()
    except OSError:
        return None
    if not (path / "cgroup.kill").exists():
        Group(path).remove()
        return None
    bounds = []
    for file, value in (("memory.max", limits.memory_bytes), ("pids.max", limits.processes)):
        with contextlib.suppress(OSError):
            if (path / file).exists():
                (path / file).write_text(str(value))
                bounds.append(file.partition(".")[0])
    return Group(path, tuple(bounds))
