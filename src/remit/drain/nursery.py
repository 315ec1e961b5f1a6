"""The nursery: a small process from which wardens are forked, so that none has to start an interpreter.

It serves one supervisor over a socket. Each message brings the five descriptors of a warden: its orders,
its two outputs, what it reports on, and the input of the program that it shall start. The nursery forks,
closes its own copies, and answers with the number of the warden and a handle on it; or, where the system
gives it none, with why: `errno what`. It supervises nothing itself and knows nothing of any agent: a warden leads a session of its own, ends its tree when the pipe of
its orders ends, and goes on if the nursery is killed. When the socket ends, the nursery does.

It runs ``python -I -S`` like a warden, has one thread, and holds no descriptor between two messages but
the socket.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import sys
from typing import Final, NoReturn

from remit.drain import warden

GIVEN: Final = 5
MESSAGE_BYTES: Final = 64


def serve(at: int) -> None:
    """Fork wardens for whoever holds the other end, until that ends."""
    link = socket.socket(fileno=at)
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    while True:
        said, given, _, _ = socket.recv_fds(link, MESSAGE_BYTES, GIVEN, socket.MSG_CMSG_CLOEXEC)
        if not said:
            return
        # A warden that ends at once keeps its number until there is a handle on it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        try:
            answer, handles = _forked(link, given)
        finally:
            for number in given:
                os.close(number)
        socket.send_fds(link, [answer], handles)
        for handle in handles:
            os.close(handle)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _forked(link: socket.socket, given: list[int]) -> tuple[bytes, list[int]]:
    """A warden's number and the handle on it, or why there is none."""
    if len(given) != GIVEN:  # the kernel drops those for which there is no room
        return f"{errno.EMFILE} descriptors".encode(), []
    try:
        pid = os.fork()
    except OSError as error:
        return f"{error.errno} fork".encode(), []
    if pid == 0:
        _be_warden(link, given)
    try:
        return str(pid).encode(), [os.pidfd_open(pid)]
    except OSError as error:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return f"{error.errno} handle".encode(), []


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _be_warden(link: socket.socket, given: list[int]) -> NoReturn:
    """In the child: stand where a program of its own would, and keep watch to the end."""
    status = 1
    try:
        link.close()
        os.setsid()
        warden.reset_signals()
        for number, one in enumerate(given[:3]):
            os.dup2(one, number)
            os.close(one)
        warden.main(*given[3:])
        status = 0
    except Exception:  # noqa: BLE001  # it is said where a program of its own would say it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)
