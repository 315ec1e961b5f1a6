"""A lease as its holder knows it: until when it surely holds, and what the holder was told of it.

The end is reckoned on the worker's own clock from the moment before the lease was asked for, so a
holder never believes that it holds what has run out (INV-7). A tenure ends in one of two ways and
once: it is *over* when the ledger took its end, and *lost* when it ran out or was refused. ``told``
is the token that running work looks at: it is set when work ought to come to an end, whatever the
reason.
"""

from __future__ import annotations

import threading

from remit.core.facts import Lease
from remit.workers.clock import boot_s

MARGIN_S = 0.05
"""A lease that holds no longer than this is not worth beginning anything under."""


class Tenure:
    """One lease in this process. ``asked_s`` is the clock just before it was asked for."""

    def __init__(self, lease: Lease, asked_s: float, given_at: int) -> None:
        self.lease = lease
        self.told = threading.Event()
        self.why = ""
        self.over = False
        self._lost = False
        self._lock = threading.Lock()
        self._ends_s = 0.0
        self._offset_us = 0
        self.extend(lease, asked_s, given_at)

    def extend(self, lease: Lease, asked_s: float, given_at: int) -> None:
        """It was given, or renewed, by an event of the ledger's time ``given_at``."""
        with self._lock:
            self.lease = lease
            self._ends_s = max(self._ends_s, asked_s + (lease.expires_at - given_at) / 1_000_000)
            self._offset_us = given_at - int(asked_s * 1_000_000)

    @property
    def now_us(self) -> int:
        """The ledger's time as far as it can be told from here; not before what it is."""
        return self._offset_us + int(boot_s() * 1_000_000)

    @property
    def ends_s(self) -> float:
        """Until when it surely holds, by the worker's clock."""
        return self._ends_s

    @property
    def left_s(self) -> float:
        """How long it surely holds yet."""
        return self._ends_s - boot_s()

    @property
    def lost(self) -> bool:
        """Whether it may have run out, or was refused."""
        if not self._lost and not self.over and self.left_s <= 0:
            self.lose("LEASE_EXPIRED")
        return self._lost

    @property
    def live(self) -> bool:
        """Whether something may be begun under it."""
        return not self.over and not self.lost and self.left_s > MARGIN_S

    def lose(self, why: str) -> None:
        """It is no longer ours."""
        with self._lock:
            if self.over or self._lost:
                return
            self._lost = True
        self.tell(why)

    def end(self) -> None:
        """The ledger recorded its end."""
        with self._lock:
            self.over = True

    def tell(self, why: str) -> None:
        """Tell the work that it ought to come to an end; the first reason stands."""
        if not self.told.is_set():
            self.why = why
            self.told.set()
