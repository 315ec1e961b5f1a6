"""What a cell keeps on the host while it lives, and clearing away what a killed process left of one.

What else holds foreign bytes for a moment, such as a change that is scanned, lies in such a folder too.

Each cell has a folder that only its owner may enter, with a lock held for as long as the process
that made the cell lives. Whoever makes the next cell looks at the other folders: one whose lock can
be had is nobody's any more, and its control groups are emptied and removed with it. A lock and not a
process number, because numbers come back, and mean something else in another container that shares
the same temporary folder.

The name of a folder says nothing of who made it: anybody may call one `remit-cell-…`. So the lock file
says it, in the words that only the maker of this very folder writes, after it holds the lock. A folder
without them, a copy of one and one of another owner are somebody else's and are left alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from remit.isolation.groups import PREFIX, Groups

_LOCK, _GROUPS = "lock", "groups"
_MARK_BYTES: Final = 256


def claim(closing: ExitStack) -> Path:
    """Make a cell's folder and hold it until the stack is closed.

    Raises ``OSError`` where none can be made.
    """
    with ExitStack() as making:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
        making.callback(shutil.rmtree, folder, ignore_errors=True)
        at = os.open(folder / _LOCK, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        making.callback(os.close, at)
        fcntl.flock(at, fcntl.LOCK_EX)
        os.write(at, _mark(folder))  # held before it is marked, so nobody clears it away meanwhile
        closing.push(making.pop_all())
        return folder
    raise AssertionError("an exit stack swallows nothing")


def _mark(folder: Path) -> bytes:
    """What the maker of a folder writes into its lock file: no other folder has the same."""
    seen = folder.stat()
    return f"remit made {folder.name} {seen.st_dev} {seen.st_ino}\n".encode()


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
        with contextlib.suppress(
            OSError
        ):  # no lock, or its owner is clearing it away at this moment
            found += _clear(folder)
    return found


def _clear(folder: Path) -> bool:
    seen = folder.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.geteuid():
        return False
    with ExitStack() as held:
        at = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        held.callback(os.close, at)
        lock = os.fstat(at)
        if not stat.S_ISREG(lock.st_mode) or lock.st_uid != os.geteuid():
            return False
        if os.read(at, _MARK_BYTES) != _mark(folder):
            return False
        try:
            fcntl.flock(at, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        noted = folder / _GROUPS
        lines = noted.read_text().splitlines() if noted.exists() else []
        Groups(tuple(Path(line) for line in lines if Path(line).name.startswith(PREFIX))).close()
        shutil.rmtree(folder, ignore_errors=True)
    return True
