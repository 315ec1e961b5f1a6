"""Stops a process that writes to a ledger in a file, and never within a write.

Whoever is stopped while it holds a lock of the writers keeps everybody else from writing, and finishes
later what it began in time. A test that stops a process at some moment means neither: so it takes the
locks itself, in the writers' order, and gives them back once the process stands still.
"""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import ExitStack
from pathlib import Path


def stop_between_writes(pid: int, ledger: Path) -> None:
    """Stop a child of this process while it holds no lock of this ledger."""
    with ExitStack() as held:
        for name in ("queue", "lock"):
            file = held.enter_context(open(f"{ledger}.{name}", "a"))
            fcntl.flock(file, fcntl.LOCK_EX)
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED)
