"""Making and removing the directories that clones, checkouts and runs live in.

A directory is made by remit or it is empty: nothing that somebody else put there is ever built
upon or removed. Removal copes with what foreign programs leave behind (directories without
permissions), and never follows a symbolic link out of the tree.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def claim_directory(directory: Path, operation: str) -> RepositoryRefusal | None:
    """Make `directory`, or take it where it is empty; its parent must exist.

    Refuses DIRECTORY_IN_USE where something is there already: a file, a symbolic link, a
    directory with content, or one that cannot be read or made.
    """
    try:
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        is_directory = stat.S_ISDIR(directory.lstat().st_mode)
        found = "content" if is_directory and any(directory.iterdir()) else ""
    except OSError as error:
        is_directory, found = True, str(error.strerror)
    if is_directory and not found:
        return None
    return RepositoryRefusal(
        RepositoryCode.DIRECTORY_IN_USE,
        f"{operation}: {directory} has {found or 'something that is no directory'}; expected a "
        "new or empty directory under an existing one",
        "give another directory, or move what is there away",
        {"path": str(directory)},
    )


def remove_tree(directory: Path) -> bool:
    """Remove a directory and all beneath it; say whether it is gone.

    A symbolic link is removed as a link. Directories without permissions are opened first. However
    deep a foreign program nested them, neither the stack nor the length of a path ends the removal.
    """
    if directory.is_symlink():
        directory.unlink()
        return True
    if not directory.exists():
        return True
    with contextlib.suppress(OSError):
        directory.chmod(0o700)
        top = os.open(directory, _FOLDER)
        try:
            _empty(top)
        finally:
            os.close(top)
        directory.rmdir()
    return not directory.exists()


def _empty(top: int) -> None:
    """Remove what lies beneath an open directory; what cannot be removed stays.

    A directory within another one is moved up to the top before it is looked into, under a name that
    nobody could have taken, so that no path has more than two parts.
    """
    mark = secrets.token_hex(8)
    numbers = itertools.count()
    waiting = _strip(top, top, mark, numbers)
    while waiting:
        name = waiting.pop()
        with contextlib.suppress(OSError):
            folder = os.open(name, _FOLDER, dir_fd=top)
            try:
                waiting += _strip(folder, top, mark, numbers)
            finally:
                os.close(folder)
        with contextlib.suppress(OSError):
            os.rmdir(name, dir_fd=top)


def _strip(folder: int, top: int, mark: str, numbers: Iterator[int]) -> list[str]:
    """Remove files and links of a directory, and move its directories up; their names there."""
    moved = []
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        with contextlib.suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=folder)
                continue
            os.chmod(name, 0o700, dir_fd=folder)
            target = name
            if folder != top:
                target = f"{mark}-{next(numbers)}"
                os.rename(name, target, src_dir_fd=folder, dst_dir_fd=top)
            moved.append(target)
    return moved
