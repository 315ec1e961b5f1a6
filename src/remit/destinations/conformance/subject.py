"""What is tried: a destination, and what its tester can do to it.

A destination alone shows little: whether a look-up tells an outage from an absence is seen only in an
outage. So a subject brings, beside the destination, whatever its tester can arrange: an outage,
answers that get lost, requests that arrive late, a count that does not go through the look-up. What
it does not bring is NOT_TESTED, never passed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from remit.ports.destination import Destination, LookUp

Arranged = Callable[[], AbstractContextManager[object]]


def plain_payload(number: int) -> bytes:
    """A payload for a destination that takes any."""
    return f"conformance {number} {uuid.uuid4().hex}\n".encode()


@dataclass(frozen=True, slots=True)
class Subject:
    """A destination under trial. It must be one where test objects may stay.

    ``payload`` makes a new valid payload each time. ``count`` says how many objects an effect has
    without the adapter's look-up. ``outage`` and ``lost_answers`` are contexts in which the record
    cannot be reached, and in which requests arrive but answers do not. ``delayed`` is a context in
    which each request arrives so many milliseconds after it was sent, whoever still waits for it.
    ``secrets`` must appear in no text. ``patience_ms`` bounds each wait that a check makes, and
    ``timeout_ms`` each call that shall succeed.
    """

    destination: Destination
    payload: Callable[[int], bytes] = plain_payload
    count: Callable[[LookUp], int] | None = None
    outage: Arranged | None = None
    lost_answers: Arranged | None = None
    delayed: Callable[[int], AbstractContextManager[object]] | None = None
    secrets: tuple[str, ...] = ()
    prefix: str = "CONFORMANCE"
    first_fence: int = 1_000
    patience_ms: int = 5_000
    timeout_ms: int = 10_000
