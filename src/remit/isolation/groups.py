"""Control groups for cells: how many processes, and how much memory all of them together.

The kernel does not hold root's own processes to RLIMIT_NPROC, and a guest that root started counts
as root's. So where remit runs as root, or the system still has the first version of control groups,
a cell gets groups of its own. Elsewhere the limits of `inside/launch.py` and whatever group the
supervisor has stand alone. Whether a limit holds is not believed from here: a probe tries it.

A group is made where this process may make one, and nowhere else; there is nothing to install.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from remit.ports.sandbox import CellLimits

PREFIX = "remit-cell-"
"""How the names of groups, and of the folders of cells, begin."""

_REMOVE_TRIES = 100
_REMOVE_WAIT_S = 0.02


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of one cell, empty where this machine gives none."""

    folders: tuple[Path, ...] = ()

    @property
    def joins(self) -> str:
        """The files that a process joins them by, one a line, which no group's name can hold."""
        return "\n".join(str(folder / "cgroup.procs") for folder in self.folders)

    def close(self) -> None:
        """Kill whatever is still inside, and remove the groups."""
        for _ in range(_REMOVE_TRIES):
            left = [folder for folder in self.folders if _end(folder)]
            if not left:
                return
            time.sleep(_REMOVE_WAIT_S)


def _end(folder: Path) -> bool:
    """Kill and remove once; say whether the group is still there."""
    with contextlib.suppress(OSError):
        for line in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(line), signal.SIGKILL)
    with contextlib.suppress(OSError):
        folder.rmdir()
    return folder.exists()


def make(limits: CellLimits) -> Groups:
    """Make the groups of a cell, as far as this machine lets us."""
    name = f"{PREFIX}{secrets.token_hex(8)}"
    made: list[Path] = []
    for parent, settings in _parents(limits):
        folder = parent / name
        try:
            folder.mkdir()
        except OSError:
            continue
        made.append(folder)
        try:
            for setting, value in settings.items():
                (folder / setting).write_text(str(value))
        except OSError:
            _end(made.pop())
    return Groups(tuple(made))


def _parents(limits: CellLimits) -> list[tuple[Path, dict[str, int]]]:
    """Where groups may be made: the folder of this process's own group, and what to set below."""
    own: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            own |= dict.fromkeys(controllers.split(","), path)
    found = []
    first = {
        "pids": {"pids.max": limits.processes},
        "memory": {"memory.limit_in_bytes": limits.memory_bytes},
    }
    for controller, settings in first.items():
        mount = Path("/sys/fs/cgroup") / controller
        if controller in own and mount.is_dir():
            found.append((mount / own[controller].lstrip("/"), settings))
    second = Path("/sys/fs/cgroup") / own.get("", "").lstrip("/")
    # Moving a process between groups of the second version takes it out of the supervisor's.
    if not found and os.geteuid() == 0 and (second / "cgroup.subtree_control").exists():
        both = {"pids.max": limits.processes, "memory.max": limits.memory_bytes}
        with contextlib.suppress(OSError):
            (second / "cgroup.subtree_control").write_text("+pids +memory")
        found.append((second, both))
    return found
