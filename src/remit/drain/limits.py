"""Limits of one supervised process tree: each is a number, and none can be left out.

What the kernel can enforce it enforces (rlimits on each process, a control group where there is one);
what it cannot is sampled by the warden over the whole tree. A sampled bound is passed for as long as
one sample takes before it acts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

_MOST: Final = 1 << 53
STOP_MS: Final = 5_000
"""Within this a tree is ended, however it behaves."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a tree of processes.

    ``wall_ms`` is time since the start, ``idle_ms`` time without output and without a change of a
    watched file. ``output_bytes`` is what is kept of each of the two outputs; more is counted and cut.
    ``memory_bytes`` is what all processes together hold in memory, ``processes`` how many there may be
    at once, ``cpu_ms`` the processor time of all of them, ``file_bytes`` the largest file that one may
    write. ``stop_ms`` is within what time the tree is ended: a third of it for SIGTERM, then SIGKILL.

    Raises ``ValueError`` for a bound that is not positive.
    """

    wall_ms: int = 3_600_000
    idle_ms: int = 900_000
    output_bytes: int = 1 << 20
    memory_bytes: int = 4 << 30
    processes: int = 256
    cpu_ms: int = 7_200_000
    file_bytes: int = 1 << 30
    stop_ms: int = STOP_MS

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0 < value < _MOST:
                raise ValueError(f"{field.name} is {value}, expected 1 to 2**53 - 1")
