"""The writer's lock: one writer a ledger, in fair order, and urgent ones first.

SQLite's own busy handler polls, and under load some processes never get a turn. So a writer takes an
exclusive ``flock`` before ``BEGIN IMMEDIATE``: the kernel queues the waiters and frees the lock of a
process that dies. Three files stand beside the database:

- ``.lock`` is held for the transaction;
- ``.queue`` is held by the one writer that is next, while it waits for ``.lock``. Whoever has just
  finished has to stand behind it, so nobody is overtaken for long;
- ``.urgent`` is held, shared, by urgent writers while they wait. They go straight for ``.lock``, and
  a writer that got there before one of them hands it back.

An urgent writer therefore waits for the transaction in progress and for other urgent ones, and for
nothing else. Every wait is bounded. A writer that would have to wait does so in a thread of its own,
which is the only way to leave a kernel's queue: if it gets its turn too late, it hands it back.

A process that is forked while a lock is held does not prolong it (``remit.machine.flocks``).
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

from remit.machine.flocks import free, kept
from remit.ports import StoreUnavailable

WAIT_MS = 10_000
"""How long a writer waits before it gives up."""


class _Turn:
    """One attempt to lock one file within a bound; the file's descriptor is the lock."""

    def __init__(self, descriptor: int, operation: int) -> None:
        self._descriptor = descriptor
        self._operation = operation
        self._settled = threading.Lock()
        self._arrived = threading.Event()
        self._abandoned = False

    def wait(self, seconds: float) -> bool:
        """Whether the lock was had in time; if not, or if interrupted, the descriptor is closed."""
        threading.Thread(target=self._take, name="remit-lock", daemon=True).start()
        arrived = False
        try:
            arrived = self._arrived.wait(seconds)
        finally:
            if not arrived:
                self._abandon()
        return arrived

    def _abandon(self) -> None:
        with self._settled:
            self._abandoned = True
            if self._arrived.is_set():
                free(self._descriptor)

    def _take(self) -> None:
        fcntl.flock(self._descriptor, self._operation)
        with self._settled:
            if self._abandoned:
                free(self._descriptor)
            self._arrived.set()


class WriterLock:
    """The lock files of one ledger.

    ``wait_ms`` bounds every wait. Raises ``StoreUnavailable`` where a lock file cannot be opened or
    the wait was too long, naming the process that holds the lock where the system tells.
    """

    def __init__(self, path: Path, wait_ms: int = WAIT_MS) -> None:
        self._path = path
        self._wait_ms = wait_ms
        self._lock, self._queue, self._urgent = (
            f"{path}.{name}" for name in ("lock", "queue", "urgent")
        )

    def held(self, *, urgent: bool = False) -> Held:
        """Hold the lock within a ``with``, which gives its file's descriptor.

        Waits for at most ``wait_ms``.
        """
        return Held(self, urgent)

    def take(self, *, urgent: bool) -> int:
        """The locked descriptor; ``Held`` frees it."""
        until = time.monotonic() + self._wait_ms / 1000
        return self._first(until) if urgent else self._next(until)

    def _next(self, until: float) -> int:
        """The lock, for a writer that stands in the queue and lets urgent ones pass."""
        queue = self._flock(self._queue, fcntl.LOCK_EX, until)
        try:
            while True:
                mine = self._flock(self._lock, fcntl.LOCK_EX, until)
                alone = False
                try:
                    alone = self._nobody_urgent()
                finally:
                    if not alone:
                        free(mine)
                if alone:
                    return mine
                free(self._flock(self._urgent, fcntl.LOCK_EX, until))
        finally:
            free(queue)

    def _nobody_urgent(self) -> bool:
        descriptor = self._open(self._urgent)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            free(descriptor)
        return True

    def _first(self, until: float) -> int:
        """The lock, for an urgent writer that keeps others back while it waits."""
        urgent = self._flock(self._urgent, fcntl.LOCK_SH, until)
        try:
            return self._flock(self._lock, fcntl.LOCK_EX, until)
        finally:
            free(urgent)

    def _flock(self, name: str, operation: int, until: float) -> int:
        descriptor = self._open(name)
        try:
            fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            if not _Turn(descriptor, operation).wait(max(0.0, until - time.monotonic())):
                raise self._too_long(name) from None
        return descriptor

    def _open(self, name: str) -> int:
        try:
            descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreUnavailable(
                f"cannot write {self._path}: its lock file {name} cannot be opened ({error})",
                "see that the folder can be written",
                {"path": str(self._path)},
            ) from error
        return kept(descriptor)

    def _too_long(self, name: str) -> StoreUnavailable:
        holder = holder_of(self._lock)
        return StoreUnavailable(
            f"cannot write {self._path}: waited {self._wait_ms} ms for {name},"
            f" held by {f'process {holder}' if holder else 'another process'}",
            "see what that process does, and end it if it hangs; nothing was written",
            {"path": str(self._path), "holder": holder, "waited_ms": self._wait_ms},
        )


class Held:
    """The lock for the length of a ``with``; see ``WriterLock.held``."""

    __slots__ = ("_descriptor", "_lock", "_urgent")

    def __init__(self, lock: WriterLock, urgent: bool) -> None:
        self._lock = lock
        self._urgent = urgent
        self._descriptor = -1

    def __enter__(self) -> int:
        self._descriptor = self._lock.take(urgent=self._urgent)
        return self._descriptor

    def __exit__(self, *_: object) -> None:
        free(self._descriptor)


def holder_of(lock_file: str, table: str = "/proc/locks") -> int:
    """The process that holds a ``flock`` on a file, 0 where the system does not tell."""
    try:
        found = Path(lock_file).stat()
        lines = Path(table).read_text("ascii").splitlines()
    except OSError:
        return 0
    inode = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    for line in lines:
        cells = line.split()
        if len(cells) == 8 and cells[1] == "FLOCK" and cells[5] == inode:
            return max(0, int(cells[4]))
    return 0
