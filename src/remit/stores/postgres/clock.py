"""The clock of a ledger on a server: the server's, watched by whoever writes (INV-24).

Writers on many machines share one clock, the server's, less how far it has been recorded to have
jumped (``offset_us``). No server tells how long it has been up, so each writer watches it with its own
boot clock: since the last commit where that came from this boot of this machine, else since this
process looked last. Where both advanced alike, the server's clock is the time. Where it went
more than ``JUMP_US`` away, time goes on by the writer's boot clock, and the jump is reported until it
is recorded. Where it fell behind by less, the boot clock bridges the gap, so time stands still for no longer than
``NOISE_US``.
A process that has nothing to compare with believes the server, but never goes behind a commit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remit.stores.clock import JUMP_US, Anchor, Machine, Moment, Readings

NOISE_US: Final = 100_000
"""What the way to the server and back may add to a comparison of clocks."""


class ServerClock:
    """Ledger time for one process. ``readings`` stand in for all clocks, the server's too."""

    def __init__(self, readings: Readings | None = None) -> None:
        self._readings: Readings = readings or Machine()
        self._told = readings is not None
        self._own: tuple[int, int] | None = None

    def wall_us(self, server_us: int) -> int:
        """The wall clock: the server's, unless a test gave another."""
        return self._readings.wall_us() if self._told else server_us

    def moment(self, anchor: Anchor, server_us: int, ask: Callable[[], int]) -> Moment:
        """Ledger time now, just after the server said ``server_us``.

        ``ask`` asks the server for its time once more: this process may have been stopped between
        the answer and now, which would look like a jump.
        """
        found = self._compare(anchor, self.wall_us(server_us))
        if abs(found.offset_us - anchor.offset_us) > JUMP_US:
            found = self._compare(anchor, self.wall_us(ask()))
        self._own = (found.boot_us, found.ledger_us)
        return found

    def _compare(self, anchor: Anchor, wall_us: int) -> Moment:
        boot_id, boot_us = self._readings.boot_id(), self._readings.boot_us()
        by_wall = wall_us - anchor.offset_us
        ledger_us = by_wall
        since = self._own
        if boot_id and boot_id == anchor.boot_id:
            since = (anchor.boot_us, anchor.ledger_us)
        if since is not None:
            by_boot = since[1] + max(0, boot_us - since[0])
            if not by_boot - NOISE_US <= by_wall <= by_boot + JUMP_US:
                ledger_us = by_boot
        return Moment(boot_id, boot_us, wall_us, max(ledger_us, anchor.ledger_us))
