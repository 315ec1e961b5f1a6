"""Where a process may be struck: named points of its way, and what it writes down of its life.

A process knows its fate from its birth: at the n-th time that it reaches one point it is killed with
SIGKILL or stopped with SIGSTOP, by itself, so that no signal comes late. A point is the operation and
its step: those of the store (``intend:before commit``) and those beside it (``send:before``). Whoever
reaches a point for the first time says so, so that a list of points that left one out would show.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

STEPS: Final = ("begin", "begun", "before events", "after rows", "before commit", "after commit")
"""The steps of a write, in both stores."""


def _points(operations: tuple[str, ...], *named: str) -> tuple[str, ...]:
    return (*(f"{operation}:{step}" for operation in operations for step in STEPS), *named)


POINTS: Final = {
    "worker": _points(
        ("lease", "intend", "over", "report", "uncertain", "release"),
        "leased", "intended", "send:before", "send:fenced", "send:under way", "send:after", "reported",
    ),
    "controller": _points(
        ("submit", "capacity", "note", "look-up", "recheck"),
        "submitted", "look-up:asks", "look-up:seen", "repeat:before", "repeat:after",
    ),
}  # fmt: skip
"""Every point at which a process of each role may be struck."""


class Fate(msgspec.Struct, frozen=True):
    """What befalls a process: ``verb`` is kill, stop or nothing."""

    verb: str = ""
    point: str = ""
    nth: int = 1
    after_ms: int = 0


class Log:
    """The lines that one process writes, each by one call to the system."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, what: str, **said: Any) -> None:
        """Keep a line."""
        line = {"what": what, "at": time.time_ns() // 1_000, **said}
        os.write(self._file, json.dumps(line).encode() + b"\n")


def lines(path: Path) -> list[dict[str, Any]]:
    """All whole lines of a log; none where there is none."""
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.split(b"\n") if line]


class Points:
    """The points of one process, its fate, and its log."""

    def __init__(self, fate: Fate, log: Log) -> None:
        self.fate = fate
        self.log = log
        self.doing = ""
        self.stopped = False
        self._met: dict[str, int] = {}

    @contextmanager
    def during(self, operation: str) -> Iterator[None]:
        """What the store does until then is of this operation."""
        before, self.doing = self.doing, operation
        try:
            yield
        finally:
            self.doing = before

    def step(self, name: str) -> None:
        """A step of the store."""
        self.reach(f"{self.doing}:{name}")

    def reach(self, point: str) -> None:
        """Be here, and take what comes."""
        met = self._met[point] = self._met.get(point, 0) + 1
        if met == 1:
            self.log.note("met", point=point)
        fate = self.fate
        if (fate.point, fate.nth) != (point, met):
            return
        if fate.after_ms:
            self.log.note("doomed", point=point)
            timer = threading.Timer(fate.after_ms / 1_000, self._struck, (point,))
            timer.daemon = True
            timer.start()
        else:
            self._struck(point)

    def _struck(self, point: str) -> None:
        self.log.note("struck", verb=self.fate.verb, point=point)
        if self.fate.verb == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        self.stopped = True
        os.kill(os.getpid(), signal.SIGSTOP)
