"""Reading a file that a guest wrote, without being led anywhere else.

A guest may put a symbolic link where a report should be, a pipe that never ends, a device, or a file
without end. So each part of the way is opened without following links, from the folder that is
known, and only a plain file is read, up to a bound. What is not there or not plain is a reason, as
text, and never an exception: the guest would like to choose where we stop.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path, PurePosixPath


def read_beneath(folder: Path, relative: str, limit_bytes: int) -> bytes | str:
    """Read a plain file beneath `folder`; its bytes, or the reason why there are none.

    `relative` is a path with `/` between its parts, none of them `..`. More than `limit_bytes` is
    a reason too: half a report is no report.
    """
    parts = PurePosixPath(relative).parts
    if not parts or relative.startswith("/") or ".." in parts or "\0" in relative:
        return f"{relative!r} is no path beneath a folder"
    with contextlib.ExitStack() as opened:
        try:
            at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            opened.callback(os.close, at)
            for part in parts[:-1]:
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                at = os.open(part, flags, dir_fd=at)
                opened.callback(os.close, at)
            # Without O_NONBLOCK the opening of a pipe waits for somebody to write to it.
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
            at = os.open(parts[-1], flags, dir_fd=at)
            opened.callback(os.close, at)
            if not stat.S_ISREG(os.fstat(at).st_mode):
                return f"{relative} is no plain file"
            return _bounded(at, relative, limit_bytes)
        except OSError as error:
            return f"{relative}: {error.strerror}"


def _bounded(at: int, relative: str, limit_bytes: int) -> bytes | str:
    held = bytearray()
    while block := os.read(at, 65_536):
        held += block
        if len(held) > limit_bytes:
            return f"{relative} has over {limit_bytes} bytes"
    return bytes(held)
