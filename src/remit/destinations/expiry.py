"""The end of a request, as the sender can keep it: past it, nothing is sent.

This is no promise of a destination. A request that left in time may still come late, so only a
destination that compares the end itself declares ``request_expiry``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from remit.ports.destination import NotSent, Request

Clock = Callable[[], int]


def wall_us() -> int:
    """The wall clock in UTC microseconds."""
    return time.time_ns() // 1_000


def refuse_ended(request: Request, now: int, name: str) -> None:
    """Raise ``NotSent`` for a request whose end has come."""
    if request.expires_at is not None and now >= request.expires_at:
        raise NotSent(
            f"{request.effect_id} was not sent to {name}: the request ended at"
            f" {request.expires_at}",
            "look the effect up before anything is sent again",
        )
