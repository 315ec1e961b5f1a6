"""Locks on files that end when they are given up, whoever was forked meanwhile.

A ``flock`` belongs to an open file and not to a process. A process that is forked while it is held has
it as well and keeps it for as long as it lives, so a child that some handler started could keep
everybody from a ledger or a destination. So a lock is undone before its file is closed, and a forked
process closes the files that were open. A program that is started (``exec``) inherits none of them.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

_held: set[int] = set()
"""The lock files that this process has open."""


def kept(descriptor: int) -> int:
    """Take note of an open lock file; returns it. Give it up with ``free`` and nothing else."""
    _held.add(descriptor)
    return descriptor


def free(descriptor: int) -> None:
    """Undo the lock of a file that was noted, and close the file."""
    _held.discard(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _forked() -> None:
    """Close in a forked process what its parent had open: the locks are the parent's."""
    for descriptor in _held:
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_forked)
