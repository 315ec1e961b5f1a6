"""The ledger's clock: it never runs backwards, and never stands still (INV-24).

The database keeps where its clock stood at a commit: which boot of the machine, how long that boot
had lasted, and the ledger's time. Within one boot, time advances by what the kernel counts (sleep
included), whatever anybody does to the wall clock; so a later commit of the same boot has nothing new
to keep, unless time had to be held up (``says_so``). After a boot, or on another machine, the wall
clock is believed where it is ahead; where it is behind, time goes on from the last commit: from what
was kept or from the newest event, whichever is later.

``Clock`` turns that anchor into now. How far the wall clock is away from the ledger's is kept too:
a change of more than ``JUMP_US`` since it was last recorded is a jump, which the service writes down
as an event before anything that depends on a duration is decided.

The readings come from ``Readings``, so that tests can set any clock to anything.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from remit.core.change import quick
from remit.ports import ClockJump

JUMP_US: Final = 5_000_000
"""A wall clock that moved further than this against the ledger's clock has jumped."""


class Readings(Protocol):
    """The machine's clocks."""

    def boot_id(self) -> str:
        """Which boot this is; empty where the system does not tell."""
        ...

    def boot_us(self) -> int:
        """Microseconds since that boot, sleep included."""
        ...

    def wall_us(self) -> int:
        """Microseconds since 1970 UTC, as the wall clock has it."""
        ...


class Machine:
    """The clocks of this machine."""

    def __init__(self) -> None:
        self._boot_id = _boot_id()
        self._clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

    def boot_id(self) -> str:
        """The kernel's boot id and the time namespace, whose boot clock may be shifted."""
        return self._boot_id

    def boot_us(self) -> int:
        """The kernel's boot clock."""
        return time.clock_gettime_ns(self._clock) // 1000

    def wall_us(self) -> int:
        """The wall clock."""
        return time.time_ns() // 1000


def _boot_id() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        namespace = str(Path("/proc/self/ns/time").readlink())
    except OSError:
        return ""
    return f"{boot} {namespace}"


@quick
@dataclass(frozen=True, slots=True)
class Anchor:
    """Where the ledger's clock stood at a commit; all but ``boot_id`` in microseconds."""

    boot_id: str
    boot_us: int
    ledger_us: int
    offset_us: int

    def says_so(self, other: Anchor) -> bool:
        """Whether each moment of this boot is the same by either, and what else they keep."""
        return (
            self.boot_id != ""
            and self.boot_id == other.boot_id
            and self.boot_us <= other.boot_us
            and other.ledger_us - self.ledger_us == other.boot_us - self.boot_us
            and self.offset_us == other.offset_us
        )


@quick
@dataclass(frozen=True, slots=True)
class Moment:
    """One reading: the ledger's time now, and what a commit has to keep of it."""

    boot_id: str
    boot_us: int
    wall_us: int
    ledger_us: int

    @property
    def offset_us(self) -> int:
        """How far the wall clock is ahead of the ledger's."""
        return self.wall_us - self.ledger_us


class Clock:
    """Ledger time for one process.

    What it read first of an earlier boot is its own anchor until a commit makes a new one, so that
    time also advances before the first commit of a boot.
    """

    def __init__(self, readings: Readings | None = None) -> None:
        self._readings: Readings = readings or Machine()
        self._own: tuple[Anchor, Moment] | None = None

    def moment(self, anchor: Anchor, newest_us: int = 0) -> Moment:
        """Ledger time now, after the commit that left this anchor; never before its time.

        ``newest_us`` is the time of the newest event: after a boot, time goes on from there.
        """
        boot_id, boot_us = self._readings.boot_id(), self._readings.boot_us()
        wall_us = self._readings.wall_us()
        if boot_id and anchor.boot_id == boot_id:
            ledger_us = anchor.ledger_us + max(0, boot_us - anchor.boot_us)
            return Moment(boot_id, boot_us, wall_us, ledger_us)
        if self._own is None or self._own[0] != anchor:
            start = Moment(boot_id, boot_us, wall_us, max(anchor.ledger_us, newest_us, wall_us))
            self._own = (anchor, start)
        start = self._own[1]
        return Moment(boot_id, boot_us, wall_us, start.ledger_us + max(0, boot_us - start.boot_us))


def first_anchor(readings: Readings) -> Anchor:
    """The anchor of a new ledger: the wall clock is all that there is to believe."""
    return Anchor(readings.boot_id(), readings.boot_us(), max(0, readings.wall_us()), 0)


def jump(anchor: Anchor, moment: Moment) -> ClockJump | None:
    """The jump that has to be recorded, if the wall clock moved by more than the bound."""
    difference = moment.offset_us - anchor.offset_us
    if abs(difference) <= JUMP_US:
        return None
    return ClockJump(moment.wall_us, moment.ledger_us, difference)
