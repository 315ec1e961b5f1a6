"""Whether names beside a ledger may mean other files than when they were last looked at.

Before each write the store has to know that the ledger and its log are still the files that it has
open. Asking the log itself is dear: since Linux 6.13 a file whose times were asked for gets new ones
with its next write, and ``fdatasync`` then has to write its inode as well, which is one more write to
the disk for each commit. So the folder is asked. Whoever removes, replaces or renames a file in it
changes the folder's own times, and writing to a file in it does not.

Times have a grain (a tick of the kernel, or two seconds on old file systems), so two changes close to
each other may leave the same time. A folder is therefore believed only once its last change lies
``SETTLED_NS`` back when it is looked at; until then, and wherever it differs, the caller looks at the
files. A folder with other busy files in it costs nothing but that look.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

SETTLED_NS: Final = 3_000_000_000
"""How far back the last change of a folder must lie to be told from a later one: over two seconds."""


class Folder:
    """The folder of one ledger; use within one thread at a time.

    ``changed`` is asked first, then the caller looks at its files, and says ``looked`` where all of
    them are what they should be. A change between the two is seen by the next ``changed``.
    """

    __slots__ = ("_found", "_name", "_trusted")

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        self._found: tuple[int, ...] = ()
        self._trusted: tuple[int, ...] = ()

    def changed(self) -> bool:
        """Whether some name in it may have changed since the last look.

        Raises ``OSError`` where the folder cannot be looked at.
        """
        self._found = ()
        there = os.stat(self._name)  # noqa: PTH116  # each write asks: a path costs more
        self._found = (there.st_dev, there.st_ino, there.st_mtime_ns, there.st_ctime_ns)
        return self._found != self._trusted

    def looked(self) -> None:
        """Believe the folder as ``changed`` found it, if it had settled by then."""
        newest = max(self._found[2:], default=0)
        if time.time_ns() - newest > SETTLED_NS:
            self._trusted = self._found
