"""Where the scanner's compiled rules lie between scans: whole or not there, and no more than a few sets.

Compiling takes seconds and may be killed in any of them, so a set is made under a name of its own and gets
the one that scans look for when it is whole. Who compiles holds a lock, and the lock ends with its process:
whoever has it next knows that what is unfinished is nobody's, and takes it away. Each version of the
scanner has a set; the ones that were used last are kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remit.machine.directories import remove_tree

KEPT: Final = 3
"""So many sets are kept."""

OLD_S: Final = 3_600.0
"""An unfinished set of a version that held no lock is left alone for so long."""

_LOCK: Final = ".lock"
_LOOK_S: Final = 0.1
_WHOLE: Final = re.compile(r"\d+-\d+\Z")
_PART: Final = ".part"
_UNLOCKED: Final = re.compile(r"\d+-\d+\.[a-z0-9_]{8}\Z")


@contextlib.contextmanager
def turn(cache: Path, seconds: float) -> Iterator[None]:
    """Be the only one who compiles. Raises ``TimeoutError`` after so long, and ``OSError``."""
    cache.mkdir(parents=True, mode=0o700, exist_ok=True)
    at = os.open(cache / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        until = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TimeoutError("another process compiles and does not end") from None
            time.sleep(_LOOK_S)
        yield
    finally:
        os.close(at)


def begin(rules: Path) -> Path:
    """An empty folder to compile a set in, for whose turn it is; what others left unfinished goes away."""
    for entry in list(rules.parent.iterdir()):
        unlocked = _UNLOCKED.match(entry.name) and time.time() - entry.lstat().st_mtime > OLD_S
        if entry.name.endswith(_PART) or unlocked:
            remove_tree(entry)
    made = rules.with_name(f"{rules.name}{_PART}")
    made.mkdir(mode=0o700)
    return made


def end(made: Path, rules: Path) -> None:
    """A set is whole: give it its name, and take away those that were not used for longest."""
    made.rename(rules)
    used(rules)
    whole = [entry for entry in rules.parent.iterdir() if _WHOLE.match(entry.name)]
    whole.sort(key=lambda entry: entry.lstat().st_mtime_ns, reverse=True)
    for entry in whole[KEPT:]:
        remove_tree(entry)


def used(rules: Path) -> None:
    """Note that a set was used just now."""
    with contextlib.suppress(OSError):
        os.utime(rules)
