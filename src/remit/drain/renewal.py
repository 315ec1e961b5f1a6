"""Renewal: a lease is kept alive while a process works under it, and the process ends with the lease.

Three things may not wait for one another, so each has a thread: renewing, which may hang in a store;
asking whether the kill switch is on, which may hang as well; and the clock, which touches nothing but
time and ends the process when the lease is over by it, whatever the other two do. The clock counts
from before the lease was asked for and does not stand still while the machine sleeps, so it is never
later than the ledger.

Nothing is decided here about the item: the process is stopped, and why is told.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown, StoreUnavailable

FRACTION: Final = 3
"""A lease is renewed when one part in so many of its time is gone."""

LOOK_MS: Final = 500
"""The kill switch is looked at so often; with the bound of a stop this stays within 5 s."""

_SOONEST_S: Final = 0.05
_AGAIN_S: Final = 0.5

Renew = Callable[[], int | Refused]
"""Renews the lease: for how many milliseconds it holds from the moment of asking, or the refusal."""


def boot_s() -> float:
    """Seconds since the machine started, those that it slept included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Renewal:
    """Keeps one lease alive until it is let go, refused, or over.

    ``holds_ms`` is how long the lease holds from ``asked_s`` (``boot_s`` before it was asked for).
    ``stop`` ends the process and is called once at most, with ``kill-switch``, ``lease-refused`` or
    ``lease-over``. ``renew`` and ``killed`` may raise ``StoreUnavailable`` or ``OutcomeUnknown``: they
    are asked again while the lease holds. What else they raise ends the process with ``fault``.

    Raises ``RuntimeError`` where the system gives no threads; nobody keeps the lease alive then.
    """

    def __init__(
        self,
        holds_ms: int,
        asked_s: float,
        *,
        renew: Renew,
        killed: Callable[[], bool],
        stop: Callable[[str], None],
        look_ms: int = LOOK_MS,
    ) -> None:
        self._renew = renew
        self._killed = killed
        self._stop = stop
        self._look_s = look_ms / 1000
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._ends_s = asked_s + holds_ms / 1000
        self._due_s = asked_s + holds_ms / 1000 / FRACTION
        self.refused: Refused | None = None
        self.fault: Exception | None = None
        self.renewals = 0
        try:
            for name, work in (
                ("renew", self._keep),
                ("switch", self._look),
                ("clock", self._count),
            ):
                threading.Thread(target=work, name=f"remit-{name}", daemon=True).start()
        except RuntimeError:  # the system gives no more threads; those that there are end
            self.let_go()
            raise

    def let_go(self) -> None:
        """The process is at its end: renew no more, and stop nothing."""
        self._over.set()

    def _end(self, why: str) -> None:
        with self._lock:
            if self._over.is_set():
                return
            self._over.set()
        self._stop(why)

    def _keep(self) -> None:
        while not self._over.wait(max(_SOONEST_S, self._due_s - boot_s())):
            asked = boot_s()
            try:
                found = self._renew()
            except (StoreUnavailable, OutcomeUnknown):
                self._due_s = boot_s() + _AGAIN_S
                continue
            except Exception as fault:  # noqa: BLE001  # whatever it is, the process ends and it is told
                self._broken(fault)
                return
            if isinstance(found, Refused):
                self.refused = found
                self._end("lease-refused")
                return
            self.renewals += 1
            self._due_s = asked + found / 1000 / FRACTION
            self._ends_s = asked + found / 1000

    def _look(self) -> None:
        while not self._over.wait(self._look_s):
            try:
                on = self._killed()
            except (StoreUnavailable, OutcomeUnknown):
                continue
            except Exception as fault:  # noqa: BLE001  # as above
                self._broken(fault)
                return
            if on:
                self._end("kill-switch")
                return

    def _count(self) -> None:
        while not self._over.wait(min(self._look_s, max(0.0, self._ends_s - boot_s()) + 0.001)):
            if boot_s() >= self._ends_s:
                self._end("lease-over")
                return

    def _broken(self, fault: Exception) -> None:
        self.fault = fault
        self._end("fault")
