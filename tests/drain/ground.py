"""What tests of supervision stand on: hostile programs, and a look at what still runs of them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remit.drain import supervision
from remit.drain.limits import Limits
from remit.drain.processes import everything
from remit.drain.supervision import Ended, Process

HOSTILE = Path(__file__).with_name("hostile.py")
FAST = Limits(wall_ms=30_000, idle_ms=20_000, stop_ms=3_000)


BOUND_S = 5
"""A stop takes so many seconds at most."""


def running(folder: Path) -> list[int]:
    """Processes of a test that still live, by what they were started with."""
    found = []
    for seen in everything():
        try:
            line = Path(f"/proc/{seen.identity.pid}/cmdline").read_bytes()
        except OSError:
            continue
        if seen.alive and {str(HOSTILE), str(folder)} <= set(os.fsdecode(line).split("\0")):
            found.append(seen.identity.pid)
    return found


class Ground:
    """Starts hostile programs in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Process] = []

    def start(self, *words: str, limits: Limits = FAST, **more: Any) -> Process:
        process = supervision.start(
            [sys.executable, str(HOSTILE), *words, str(self.folder)],
            environment={"PATH": os.environ["PATH"]},
            cwd=self.folder,
            limits=limits,
            records=self.folder,
            name=f"p{len(self.started)}",
            **more,
        )
        self.started.append(process)
        return process

    def run(self, *words: str, limits: Limits = FAST, **more: Any) -> Ended:
        ended = self.start(*words, limits=limits, **more).wait(60_000)
        assert ended is not None
        return ended


def until(true: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.02)
