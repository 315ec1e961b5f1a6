"""Processes as the kernel tells of them: who they are, whose children, and how to signal no other.

A process id is a number that is given out again; a process is its id together with the moment at which
it started, within one boot of one machine. A signal goes through a handle on the process
(``pidfd``) that is taken first and compared then, so it cannot reach a stranger who got the number in
between. Everything here reads Linux's ``/proc``; a process that went away meanwhile is simply not
there.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
_ENVIRON_BYTES: Final = 1 << 20


class WardenLost(OSError):  # noqa: N818  # what happened, said by its name
    """A warden ended before it had started anything: something outside killed it, and no agent ran."""


class StartRefused(OSError):  # noqa: N818  # what happened, said by its name
    """The system gave no process or descriptor for it (EAGAIN, EMFILE, ENOMEM): no agent ran, and none is at fault."""


def refused(number: int, what: str, subject: str = "") -> StartRefused:
    """The error for what the system did not give: its number, and what was asked for."""
    return StartRefused(number, f"{os.strerror(number)} ({what})", subject or None)


@dataclass(frozen=True, slots=True)
class Identity:
    """One process of this boot: its id and its start, in clock ticks since the boot."""

    pid: int
    start: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A process at one moment. ``cpu_ticks`` counts it and its children that were reaped."""

    identity: Identity
    parent: int
    session: int
    state: str
    cpu_ticks: int
    resident_bytes: int

    @property
    def alive(self) -> bool:
        """Whether it can still do anything; one that only waits to be reaped cannot."""
        return self.state not in "ZX"


def boot_id() -> str:
    """The name of this boot of the machine."""
    return (PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()


def look(pid: int) -> Seen | None:
    """The process with this id now, or None where there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, parentheses and newlines included.
    parts = text[text.rindex(b")") + 2 :].split()
    return Seen(
        Identity(pid, int(parts[19])),
        int(parts[1]),
        int(parts[3]),
        parts[0].decode("ascii"),
        sum(int(part) for part in parts[11:15]),
        int(parts[21]) * os.sysconf("SC_PAGE_SIZE"),
    )


def children(pid: int) -> list[int]:
    """The ids of a process's children, by all of its threads."""
    found: list[int] = []
    try:
        threads = list((PROC / str(pid) / "task").iterdir())
    except OSError:
        return []
    for thread in threads:
        with contextlib.suppress(OSError):
            found += [int(word) for word in (thread / "children").read_bytes().split()]
    return found


def below(root: int) -> list[Seen]:
    """All living descendants of a process, children before grandchildren."""
    found: list[Seen] = []
    known = {root}
    waiting = [root]
    while waiting:
        for pid in children(waiting.pop(0)):
            if pid in known:
                continue
            known.add(pid)
            seen = look(pid)
            if seen is not None:
                waiting.append(pid)
                found += [seen] if seen.alive else []
    return found


def everything() -> list[Seen]:
    """Every process of this machine that can be seen."""
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [seen for seen in map(look, pids) if seen is not None]


def carries(pid: int, variable: str, value: str) -> bool:
    """Whether a process was started with this variable in its environment (it may have erased it)."""
    try:
        with (PROC / str(pid) / "environ").open("rb") as opened:
            found = opened.read(_ENVIRON_BYTES)
    except OSError:
        return False
    return f"{variable}={value}".encode() in found.split(b"\0")


def send(identity: Identity, number: int) -> bool:
    """Send a signal to exactly this process; say whether it was there and was sent it."""
    try:
        handle = os.pidfd_open(identity.pid)
    except OSError:
        return False
    try:
        seen = look(identity.pid)
        if seen is None or seen.identity != identity:
            return False
        signal.pidfd_send_signal(handle, number)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(handle)
