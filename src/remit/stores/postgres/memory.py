"""What a process remembers of a ledger's head, to notice a server that has forgotten it.

A failover that lost commits, or a restore to an earlier moment, looks like the ledger itself: same
database, same epoch, and a head that is a little older. Nothing inside the database can tell. A process
that saw a commit can, if it looks whether that commit is still there: whenever the head is behind it, and
on each new connection, since a failover ends the old ones. What was lost may have been an intent whose
request has left, so nothing may be written before a human adopts the ledger, which makes every effect
uncertain (INV-14).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

Place = tuple[int, int, int]
"""Epoch, seq and time of an event that was the newest."""


class Memory:
    """The newest head that this process has seen committed; used by several threads."""

    def __init__(self) -> None:
        self._newest: Place = (0, 0, 0)
        self._lock = threading.Lock()

    def saw(self, epoch: int, seq: int, at: int) -> None:
        """Take note of a head that is committed. An older one is what a slower thread saw."""
        with self._lock:
            self._newest = max(self._newest, (epoch, seq, at))

    def forgotten(
        self, epoch: int, seq: int, at: int, time_of: Callable[[int], int], *, fresh: bool
    ) -> int:
        """The seq of the event that the ledger no longer has as it was, 0 where it has all.

        ``epoch``, ``seq`` and ``at`` are its head. ``time_of`` asks for the time of an event by seq,
        and is asked only where the head has moved on and the connection is new. A higher epoch was
        adopted by a human, whatever went before.
        """
        known_epoch, known_seq, known_at = self._newest
        if epoch > known_epoch or not known_seq:
            return 0
        if seq < known_seq or (seq == known_seq and at != known_at):
            return known_seq
        if seq > known_seq and fresh and time_of(known_seq) != known_at:
            return known_seq
        return 0
