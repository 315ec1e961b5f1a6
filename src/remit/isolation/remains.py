"""What a cell keeps on the host while it lives, and clearing away what a killed process left of one.

What else holds foreign bytes for a moment, such as a change that is scanned, lies in such a folder too.

Each cell has a folder that only its owner may enter, with a lock held for as long as the process
that made the cell lives. Whoever makes the next cell looks at the other folders: one whose lock can
be had is nobody's any more, and its control groups are emptied and removed with it. A lock and not a
process number, because numbers come back, and mean something else in another container that shares
the same temporary folder.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from remit.isolation.groups import PREFIX, Groups

_LOCK, _GROUPS = "lock", "groups"
_UNLOCKED_S: Final = 60.0
"""How long a folder may be without its lock: its maker is about to take it, or died first."""

_CLAIMS: Final = 100
"""How often a folder is made where others clear it away before it is held."""


def claim(closing: ExitStack) -> Path:
    """Make a cell's folder and hold it until the stack is closed.

    Raises ``OSError`` where none can be made.
    """
    for _ in range(_CLAIMS):
        with ExitStack() as making:
            folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
            making.callback(shutil.rmtree, folder, ignore_errors=True)
            at = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            making.callback(os.close, at)
            fcntl.flock(at, fcntl.LOCK_EX)
            # Another one may have found the lock free before it was taken, and cleared it away.
            if (folder / _LOCK).exists():
                closing.push(making.pop_all())
                return folder
    raise OSError(errno.EAGAIN, "others clear away each folder that is made", tempfile.gettempdir())


@contextlib.contextmanager
def held(name: str) -> Iterator[Path]:
    """A new folder of this name in a folder that is cleared away with its process, whatever ends that.

    Raises ``OSError`` where none can be made.
    """
    with ExitStack() as closing:
        folder = claim(closing) / name
        folder.mkdir()
        yield folder


def note(folder: Path, groups: Groups) -> None:
    """Write down which control groups a cell has, for whoever may have to clear them away."""
    (folder / _GROUPS).write_text("".join(f"{path}\n" for path in groups.folders))


def clear() -> int:
    """Clear away what killed processes left; say how many cells that was."""
    found = 0
    for folder in Path(tempfile.gettempdir()).resolve().glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # its owner is clearing it away at this moment
            found += _clear(folder)
    return found


def _clear(folder: Path) -> bool:
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid():
        return False
    with ExitStack() as held:
        try:
            at = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            if time.time() - seen.st_mtime < _UNLOCKED_S:
                return False
        else:
            held.callback(os.close, at)
            try:
                fcntl.flock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        noted = folder / _GROUPS
        lines = noted.read_text().splitlines() if noted.exists() else []
        Groups(tuple(Path(line) for line in lines if Path(line).name.startswith(PREFIX))).close()
        shutil.rmtree(folder, ignore_errors=True)
    return True
