"""Making and removing the directories that clones, checkouts and runs live in.

A directory is made by remit or it is empty: nothing that somebody else put there is ever built
upon or removed. Removal copes with what foreign programs leave behind (directories without
permissions), and never follows a symbolic link out of the tree.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal


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

    A symbolic link is removed as a link. Directories without permissions are opened first.
    """
    if directory.is_symlink():
        directory.unlink()
        return True
    if not directory.exists():
        return True
    _open_up(directory)
    for folder, names, _ in os.walk(directory, followlinks=False):
        for name in names:
            _open_up(Path(folder, name))
    shutil.rmtree(directory, ignore_errors=True)
    return not directory.exists()


def _open_up(directory: Path) -> None:
    with contextlib.suppress(OSError):
        if not directory.is_symlink():
            directory.chmod(0o700)
