"""Time that only moves where the proof says so, and jobs that take turns in it.

A conductor hands out jobs that run beside it. Here each has a thread, but one thread at a time has the
baton, and gives it away only where it waits for a moment: so every run of a scenario is the same run.
``Turns.next`` is where the conductor waits; the clock goes to the earliest moment that anybody waits
for, and never by itself.

A conductor that is killed leaves its jobs behind in the middle of their waiting. ``Turns.bury`` ends
them there, as the end of a process would, and nothing of them runs again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

START_US: Final = 1_893_456_000_000_000
"""2030-01-01T00:00:00Z: where every scenario begins."""

PATIENCE_S: Final = 60.0
"""How long a turn may take on the machine's own clock; only a fault in this proof takes longer."""


class Clock:
    """The clocks of a ledger under proof; see ``stores.clock.Readings``."""

    def __init__(self) -> None:
        self.passed = 0

    def boot_id(self) -> str:
        """One boot for the whole scenario."""
        return "parity"

    def boot_us(self) -> int:
        """Time since the boot."""
        return 1_000_000 + self.passed

    def wall_us(self) -> int:
        """The wall clock, which agrees."""
        return START_US + self.passed


class Killed(BaseException):
    """The drain's process ends here, as by ``kill -9``: no handler of its own gets to run."""


class Buried(BaseException):
    """A job of a process that is gone: it ends where it waits."""


@dataclass(eq=False, slots=True)
class Turn:
    """One job: when it wants to go on, and what lets it."""

    ticket: str
    at: int
    number: int
    go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    thread: threading.Thread | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a job: its value or what it raised."""

    ticket: str
    value: Any = None
    error: Exception | None = None


class Turns:
    """The jobs of one process of a drain, on the world's clock.

    ``due`` says when something else happens next, if anything does, and ``happen`` lets it happen: what
    others do goes before a job of the same moment.
    """

    def __init__(
        self, clock: Clock, due: Callable[[], int | None], happen: Callable[[], None]
    ) -> None:
        self.clock = clock
        self._due = due
        self._happen = happen
        self._back = threading.Semaphore(0)
        self._waiting: list[Turn] = []
        self._news: list[Ended] = []
        self._local = threading.local()
        self._count = 0
        self._dead: BaseException | None = None

    def submit(self, ticket: str, job: Callable[[], Any]) -> None:
        """Let a job begin as soon as the conductor waits."""
        turn = self._turn(ticket)
        turn.thread = threading.Thread(target=self._run, args=(turn, job), daemon=True)
        self._waiting.append(turn)
        turn.thread.start()

    def wait_until(self, at: int) -> None:
        """Called within a job: wait for a moment, in microseconds since the beginning."""
        turn: Turn = self._local.turn
        turn.at = at
        self._waiting.append(turn)
        self._back.release()
        self._take(turn)

    def hurry(self) -> None:
        """Let everybody who waits look at the world now."""
        for turn in self._waiting:
            turn.at = min(turn.at, self.clock.passed)

    def next(self, until: int) -> Ended | None:
        """The next job that ended, or None once ``until`` has come and nobody waits for less.

        What a job raised that is no error ends whoever waits for news.
        """
        while not self._news:
            others = self._due()
            turn = min(self._waiting, key=lambda t: (t.at, t.number), default=None)
            first = min(
                (at for at in (others, turn.at if turn else None) if at is not None), default=until
            )
            if first > until:
                self.clock.passed = max(self.clock.passed, until)
                return None
            if others is None and turn is None:
                self.clock.passed = max(self.clock.passed, until)
                return None
            self.clock.passed = max(self.clock.passed, first)
            if others is not None and others <= first:
                self._happen()
                continue
            assert turn is not None
            self._waiting.remove(turn)
            turn.go.release()
            if not self._back.acquire(timeout=PATIENCE_S):
                raise AssertionError(f"the job {turn.ticket!r} keeps its turn")
            if self._dead is not None:
                raise self._dead
        return self._news.pop(0)

    def bury(self) -> None:
        """End all jobs where they are: their process is gone."""
        self._dead = Buried()
        for turn in list(self._waiting):
            turn.go.release()
            assert turn.thread is not None
            turn.thread.join(PATIENCE_S)
        self._waiting.clear()
        self._news.clear()

    @property
    def working(self) -> tuple[str, ...]:
        """The tickets of jobs that are not over."""
        return tuple(turn.ticket for turn in self._waiting)

    def _turn(self, ticket: str) -> Turn:
        self._count += 1
        return Turn(ticket, self.clock.passed, self._count)

    def _take(self, turn: Turn) -> None:
        if not turn.go.acquire(timeout=PATIENCE_S):
            raise Buried
        if self._dead is not None:
            raise Buried

    def _run(self, turn: Turn, job: Callable[[], Any]) -> None:
        self._local.turn = turn
        try:
            self._take(turn)
            ended = Ended(turn.ticket, job())
        except Buried:
            return
        except Exception as error:  # noqa: BLE001  # whoever waits for the news is told
            ended = Ended(turn.ticket, error=error)
        except BaseException as fatal:  # noqa: BLE001  # the process ends: so does whoever waits
            self._dead = fatal
            self._back.release()
            return
        self._news.append(ended)
        self._back.release()
