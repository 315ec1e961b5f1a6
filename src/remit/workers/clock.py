"""The worker's own clock: how long a lease surely still holds, whatever the process went through.

It counts time in which the process was stopped and in which the machine slept, so a worker that was
paused knows so at its next step. It is compared with nothing but itself: a lease's end is reckoned
from the moment before it was asked for, which is never later than the ledger's own reckoning.
"""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def boot_s() -> float:
    """Seconds since the machine started, its sleep included where the system counts that."""
    return time.clock_gettime(_CLOCK)
