"""The port to isolation: a room for one attempt, the cell built for it, and what probes found.

Isolation prepares; it never starts the work itself. A cell turns an argument list into another one,
and whoever supervises starts that. There is one way in: what cannot be prepared is a
`SandboxRefusal`, a value, and no method here runs anything without the cell.

Paths in a room are those of the host, and they mean the same inside. Results are the four of
`remit.core.checks`; a probe that found a way out is FAIL, one that could not look is BLOCKED, and
either of them refuses the lease (`refused`). NOT_TESTED says that this machine has nothing to look
at, such as a kernel without Landlock, and names what stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from remit.core.checks import Result

_MIB = 1_048_576


class SandboxCode(StrEnum):
    """Why there is no cell, or no command in it."""

    SANDBOX_MISSING = "SANDBOX_MISSING"
    SANDBOX_UNUSABLE = "SANDBOX_UNUSABLE"
    ROOM_UNFIT = "ROOM_UNFIT"
    COMMAND_NOT_ALLOWED = "COMMAND_NOT_ALLOWED"
    EGRESS_UNUSABLE = "EGRESS_UNUSABLE"


@dataclass(frozen=True, slots=True)
class SandboxRefusal:
    """What was asked, what was found and expected, and what to do next."""

    code: SandboxCode
    message: str
    hint: str
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellLimits:
    """What a cell may use at most.

    `processes` counts threads too. `memory_bytes` bounds one process's data, and all of them where
    there is a control group. `file_bytes` bounds one file, `scratch_bytes` each folder that lives in
    memory (/tmp, home, /dev/shm), `disk_bytes` what the writable paths hold; the last is watched
    and not enforced by the system, so it is kept only as often as `Cell.breach` is asked.
    """

    processes: int = 512
    memory_bytes: int = 4_096 * _MIB
    file_bytes: int = 1_024 * _MIB
    scratch_bytes: int = 512 * _MIB
    disk_bytes: int = 4_096 * _MIB
    open_files: int = 4_096


@dataclass(frozen=True, slots=True)
class Egress:
    """Where a cell may connect to: nowhere, or to exactly these `host:port`, by CONNECT.

    A host that is known to lie on a private address must be in `private` as well (by its name);
    for every other, an answer of the name service that is not a public address is refused.
    """

    hosts: tuple[str, ...] = ()
    private: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Room:
    """What one attempt gets: its clone, other paths, commands, egress, environment and limits.

    `clone` and `writable` may be written; `read_only` are seen. `commands` are the programs that
    may be started (names on the cell's path, or absolute paths that the cell shows). `environment`
    is all that passes, beside the few variables that the cell sets itself. `granted` names those
    of them that are credentials on purpose; the guest can keep what it is given. In a `sealed` room
    the clone is only seen as well.
    """

    attempt: str
    clone: Path
    writable: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    commands: tuple[str, ...] = ()
    egress: Egress = Egress()
    environment: Mapping[str, str] = field(default_factory=dict)
    granted: tuple[str, ...] = ()
    limits: CellLimits = CellLimits()
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Probe:
    """One look at the isolation: its name, its result, what was seen, and what would help."""

    name: str
    result: Result
    evidence: str
    hint: str = ""


def refused(probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """The probes that refuse a lease: those that got out and those that could not look."""
    return tuple(p for p in probes if p.result in (Result.FAIL, Result.BLOCKED))


@dataclass(frozen=True, slots=True)
class EgressTry:
    """One attempt to connect through the proxy: where to, whether it was let through, and why."""

    target: str
    allowed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that the cell's files are over: its name, what was found and what is allowed."""

    limit: str
    found: int
    allowed: int


class Cell(Protocol):
    """A prepared room. Closing it ends what serves it and removes what was made for it."""

    def command(self, argv: Sequence[str]) -> tuple[str, ...] | SandboxRefusal:
        """The argument list that starts `argv` inside; refuses what is not allowed."""
        ...

    def prefix(self) -> tuple[str, ...]:
        """What is put before a command that no guest chose, such as a registered row."""
        ...

    def probe(self) -> tuple[Probe, ...]:
        """Try to get out, from inside, and say what each try found."""
        ...

    def tries(self) -> tuple[EgressTry, ...]:
        """What tried to connect through the proxy so far; the first and last of very many."""
        ...

    def breach(self) -> Breach | None:
        """Look at what the writable paths hold; to be asked while the work runs."""
        ...

    def close(self) -> None:
        """End the proxy and whatever still runs in the cell's group; remove the cell's files."""
        ...


Walls = Callable[[Path], AbstractContextManager[Sequence[str] | SandboxRefusal]]
"""Gives, for a checkout, what is put before a registered command so that it runs in a cell."""


class Sandbox(Protocol):
    """Builds cells, and says what this machine has for them."""

    def prepare(self, room: Room) -> Cell | SandboxRefusal:
        """Build the cell for one attempt; nothing is started in it yet."""
        ...

    def examine(self) -> tuple[Probe, ...]:
        """What this machine has of each part, for `doctor`."""
        ...


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """Where a secret was found, and which rule found it; never the secret itself."""

    rule: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class SecretScan:
    """What a scan found. PASS: looked, none found. FAIL: found. BLOCKED: could not look."""

    result: Result
    findings: tuple[SecretFinding, ...]
    evidence: str
    hint: str = ""


class SecretScanner(Protocol):
    """Looks for secrets in what came back."""

    def scan(self, folder: Path) -> SecretScan:
        """Scan every file beneath a folder."""
        ...
