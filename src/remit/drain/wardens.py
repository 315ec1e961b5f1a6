"""Wardens as a supervisor has them: asked of a nursery, with pipes to each and a handle on it.

One nursery serves this process for as long as it lives; where it was killed, the next call starts another
one. What goes wrong while a warden is asked for is never asked again with the same pipes: a warden that
was forked all the same finds its orders ended, and ends.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from remit.drain.nursery import MESSAGE_BYTES
from remit.drain.processes import StartRefused, WardenLost, refused

ANSWER_S: Final = 10.0
BOOT: Final = (
    "import sys; sys.path.append(sys.argv[1]);"
    " from remit.drain.nursery import serve; serve(int(sys.argv[2]))"
)
_SOURCE: Final = str(Path(__file__).resolve().parents[2])


def within(at: int, event: int, seconds: float) -> bool:
    """Whether something comes to a descriptor in so long; unlike ``select`` it takes any number of it."""
    waiting = select.poll()
    waiting.register(at, event)
    return bool(waiting.poll(max(0.0, seconds) * 1_000))


@dataclass(frozen=True, slots=True)
class Warden:
    """A warden of this process: its number, a handle that no other can get, and the pipes to it.

    ``stdin`` takes its orders; at its end the warden ends its tree. ``status`` is a descriptor.
    """

    pid: int
    handle: int
    stdin: IO[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]
    status: int

    def kill(self) -> None:
        """End the warden at once, if it is there."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False where it has not ended after so long."""
        return within(self.handle, select.POLLIN, seconds)

    def close(self) -> None:
        """Let go of its pipes."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()
        os.close(self.status)


class Wardens:
    """Forks wardens for one process; may be asked from any thread."""

    def __init__(self, boot: str = BOOT) -> None:
        self._boot = boot
        self._guard = threading.Lock()
        self._nursery: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._owner = 0

    def fork(self, stdin: bytes) -> Warden:
        """A new warden, whose program will read ``stdin``.

        Raises ``WardenLost`` where what should make it was killed, and ``StartRefused``, with the number
        of the system's error, where the system does not give what it takes.
        """
        try:
            return self._fork(stdin)
        except (WardenLost, StartRefused):
            raise
        except OSError as error:
            raise refused(error.errno or 0, "warden", sys.executable) from error

    def _fork(self, stdin: bytes) -> Warden:
        with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
            feed = theirs.enter_context(tempfile.TemporaryFile())
            feed.write(stdin)
            feed.seek(0)
            given, kept = [], []
            for place in range(4):  # it reads its orders, and writes on the others
                reading, writing = os.pipe()
                given.append(writing if place else reading)
                kept.append(reading if place else writing)
                theirs.callback(os.close, given[-1])
                ours.callback(os.close, kept[-1])
            given.append(feed.fileno())
            pid, handle = self._asked(given)
            ours.pop_all()
        pipes = [
            os.fdopen(at, "rb" if place else "wb", buffering=0) for place, at in enumerate(kept[:3])
        ]
        return Warden(pid, handle, pipes[0], pipes[1], pipes[2], kept[3])

    def end(self) -> None:
        """End the nursery; wardens that are at work stay."""
        with self._guard:
            self._give_up()

    def _asked(self, given: list[int]) -> tuple[int, int]:
        with self._guard:
            try:
                link = self._ready()
                socket.send_fds(link, [b"w"], given)
                said, handles, _, _ = socket.recv_fds(
                    link, MESSAGE_BYTES, 1, socket.MSG_CMSG_CLOEXEC
                )
            except (ConnectionError, TimeoutError) as error:
                self._give_up()
                raise WardenLost(0, f"the warden ended at once: {error}", sys.executable) from error
            except BaseException:
                self._give_up()  # the answer to this would be taken for that to the next
                raise
            number, _, what = said.decode("ascii").partition(" ")
            if what:
                raise refused(int(number), what, sys.executable)
            if number and not handles:  # there was no room for it here; without orders it ends
                raise refused(errno.EMFILE, "handle", sys.executable)
            if not number:
                self._give_up()
                raise WardenLost(0, "the warden ended at once: it said nothing", sys.executable)
            return int(number), handles[0]

    def _ready(self) -> socket.socket:
        """The link to a nursery that lives, as far as can be told."""
        if self._owner != os.getpid():
            self._nursery = self._link = None  # a fork of the process that it belongs to
        if self._link is not None and self._nursery is not None and self._nursery.poll() is None:
            return self._link
        self._give_up()
        with contextlib.ExitStack() as failing:
            link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            failing.callback(link.close)
            link.settimeout(ANSWER_S)
            with theirs:
                self._nursery = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", self._boot, _SOURCE, str(theirs.fileno())],
                    cwd="/",
                    env={},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
            failing.pop_all()
        self._link, self._owner = link, os.getpid()
        return link

    def _give_up(self) -> None:
        if self._link is not None:
            self._link.close()
        if self._nursery is not None:
            self._nursery.kill()
            self._nursery.wait()
        self._link = self._nursery = None


WARDENS: Final = Wardens()
"""Those of this process."""

atexit.register(WARDENS.end)
