"""Run one program to its end, within bounds, and leave nothing of it behind.

Git and verification commands are both foreign programs: each may hang, fork, ignore a signal, or
write without end. So each gets an argument list (never a shell), a session and process group of
its own, no inherited descriptors, a wall-time bound, and a bounded capture that keeps the head and
the tail of its output and counts what lies between. When the program ends, what is left of its
group is killed; the leader is reaped only afterwards, so that the group's number cannot have gone
to somebody else in between.

It must never wait without a bound: a grandchild that fled into another session may hold the output
pipe open, and then reading stops soon after the program itself has ended. On systems without
process groups only the program itself is killed.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_READ_BYTES = 65_536
_DRAIN_S = 1.0
_KILL_WAIT_S = 10.0
_TRIED_S = 10.0
DEFAULT_GRACE_MS = 2_000


@dataclass(frozen=True, slots=True)
class Captured:
    """What was kept of one output: the first bytes, the last bytes, and how many were cut."""

    head: bytes
    tail: bytes
    cut_bytes: int

    def whole(self) -> bytes:
        """Return head and tail joined; complete only where `cut_bytes` is 0."""
        return self.head + self.tail


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended.

    `exit_code` is negative where a signal ended it. Where `timed_out`, the bound ended it and the
    exit code says nothing. `duration_ms` is by the monotonic clock.
    """

    exit_code: int
    timed_out: bool
    duration_ms: int
    stdout: Captured
    stderr: Captured


class HeadAndTail:
    """Keeps the first and the last bytes of a stream, half of `limit_bytes` each, from any thread."""

    def __init__(self, limit_bytes: int) -> None:
        self._head_room = limit_bytes - limit_bytes // 2
        self._tail_room = limit_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._seen = 0
        self._guard = threading.Lock()

    def keep(self, chunk: bytes) -> None:
        """Take what came next."""
        with self._guard:
            self._seen += len(chunk)
            room = self._head_room - len(self._head)
            self._head += chunk[:room]
            self._tail += chunk[room:] if room else chunk
            if len(self._tail) > self._tail_room + 4 * _READ_BYTES:
                del self._tail[: len(self._tail) - self._tail_room]

    def captured(self) -> Captured:
        """Return what was kept so far."""
        with self._guard:
            tail = bytes(self._tail[max(0, len(self._tail) - self._tail_room) :])
            cut = self._seen - len(self._head) - len(tail)
            return Captured(bytes(self._head), tail, cut)


class _Reading:
    """Reads what a program writes, and waits for its end, on the thread that asks.

    A thread for each pipe and one that waits would cost more than a short program does.
    """

    def __init__(self, process: subprocess.Popen[bytes], limit_bytes: int) -> None:
        pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
        self._open = {pipe.fileno(): (pipe, HeadAndTail(limit_bytes)) for pipe in pipes}
        self._kept = [kept for _, kept in self._open.values()]
        self._end = _end_of(process)
        self.ended = False
        self._poll = select.poll()
        for at in (self._end, *self._open):
            self._poll.register(at, select.POLLIN)

    def until_ended(self, seconds: float) -> bool:
        """Read until the program itself has ended; False where it has not after so long."""
        return self._go_on(seconds, lambda: self.ended)

    def until_closed(self, seconds: float) -> None:
        """Read until the last writer closes each pipe, and not longer than that; then close them."""
        self._go_on(seconds, lambda: not self._open)
        for at in list(self._open):
            self._close(at)
        os.close(self._end)

    def captured(self) -> list[Captured]:
        """Return what was kept so far of each output."""
        return [kept.captured() for kept in self._kept]

    def _go_on(self, seconds: float, done: Callable[[], bool]) -> bool:
        until = time.monotonic() + seconds
        while not done():
            left_ms = math.ceil((until - time.monotonic()) * 1000)
            if left_ms <= 0:
                return False
            for at, _ in self._poll.poll(left_ms):
                if at == self._end:
                    self.ended = True
                    self._poll.unregister(at)
                else:
                    self._read(at)
        return True

    def _read(self, at: int) -> None:
        chunk = b""
        with contextlib.suppress(OSError):
            chunk = os.read(at, _READ_BYTES)
        if chunk:
            self._open[at][1].keep(chunk)
        else:
            self._close(at)

    def _close(self, at: int) -> None:
        self._poll.unregister(at)
        self._open.pop(at)[0].close()


def run_bounded(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_ms: int,
    output_limit_bytes: int,
    stdin: bytes = b"",
    merge_stderr: bool = False,
    grace_ms: int = DEFAULT_GRACE_MS,
    memory_bytes: int = 0,
) -> Finished:
    """Run `argv` in `cwd` with exactly `environment`, and return how it ended.

    `timeout_ms` is wall time; at its end the group gets SIGTERM, and SIGKILL after `grace_ms`.
    `output_limit_bytes` bounds what is kept of each output. `merge_stderr` sends both outputs to
    `stdout` in the order written. Without `stdin` the program reads an empty input. `memory_bytes`
    bounds the data of each of its processes, where the system can set that (0: no bound).

    Raises `OSError` where the program cannot be started at all.
    """
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        feed: IO[bytes] | int = subprocess.DEVNULL
        if stdin:
            feed = stack.enter_context(tempfile.TemporaryFile())
            feed.write(stdin)
            feed.seek(0)
        stack.enter_context(_unblocked())
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(environment),
            stdin=feed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
            start_new_session=True,
        )
    if memory_bytes:
        _bound_memory(process.pid, memory_bytes)
    reading = _Reading(process, output_limit_bytes)
    with _GUARD:
        _RUNNING.add(process)
    try:
        timed_out = not reading.until_ended(timeout_ms / 1000)
        if timed_out:
            _signal_group(process, signal.SIGTERM)
            reading.until_ended(grace_ms / 1000)
    finally:
        _signal_group(process, _KILL)
        reading.until_ended(_KILL_WAIT_S)
        with _GUARD:
            _RUNNING.discard(process)
        exit_code = _reap(process)
    duration_ms = int((time.monotonic() - started) * 1000)
    reading.until_closed(_DRAIN_S)
    kept = [*reading.captured(), Captured(b"", b"", 0)]
    return Finished(exit_code, timed_out, duration_ms, kept[0], kept[1])


def _bound_memory(pid: int, memory_bytes: int) -> None:
    """Bound the data of a process that was just started, and of whom it starts from now on."""
    with contextlib.suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        _, hard = resource.prlimit(pid, resource.RLIMIT_DATA)
        most = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
        resource.prlimit(pid, resource.RLIMIT_DATA, (most, hard))


@contextlib.contextmanager
def _unblocked() -> Iterator[None]:
    """Block no signal on this thread for a moment: who is started inherits what is blocked, for good."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_RUNNING: set[subprocess.Popen[bytes]] = set()
_GUARD = threading.Lock()


def end_running() -> int:
    """Kill every program that this process runs in here right now; how many those were.

    For a process that must end within a bound: whoever waits for one of them learns that a signal
    ended it.
    """
    with _GUARD:
        found = list(_RUNNING)
        for process in found:
            _signal_group(process, _KILL)
    return len(found)


def absolute_path(path: str) -> str:
    """The entries of a search path that are absolute.

    An empty or relative one means "where the program runs", and that is a folder whose files
    somebody else wrote: a file called ``git`` or ``python3`` in it would be taken for the program.
    """
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if entry.startswith(os.sep))


@functools.cache
def ending_with_us() -> tuple[str, ...]:
    """What, put before a command, has it asked to end (SIGTERM) when its starter is gone, killed or not.

    For what may hang for long, such as git at a remote: it costs one more ``exec``. Linux knows this of the
    thread that started it, so that thread has to wait for it, as ``run_bounded`` does. Empty where the system
    has no such program.
    """
    found = shutil.which("setpriv", path="/usr/local/bin:/usr/bin:/bin")
    if found is None:
        return ()
    words = (found, "--pdeathsig", "TERM", "--")
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        tried = subprocess.run(
            [*words, found, "--version"], capture_output=True, env={}, timeout=_TRIED_S, check=False
        )
        return words if tried.returncode == 0 else ()
    return ()


_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def _reap(process: subprocess.Popen[bytes]) -> int:
    """Collect the exit status; a process stuck in the kernel counts as killed, unreaped."""
    try:
        return process.wait(_KILL_WAIT_S)
    except subprocess.TimeoutExpired:
        return -int(_KILL)


def _end_of(process: subprocess.Popen[bytes]) -> int:
    """A descriptor that can be read once the process has ended, without reaping it where that can be."""
    with contextlib.suppress(AttributeError, OSError):
        return os.pidfd_open(process.pid)
    ended, ending = os.pipe()

    def wait() -> None:
        try:
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            else:
                process.wait()
        except ChildProcessError:
            pass  # somebody reaped it already, so it has ended
        finally:
            os.close(ending)

    threading.Thread(target=wait, name="remit-watch", daemon=True).start()
    return ended


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    """Signal the group that the process leads; it is not reaped yet, so its number is its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
