"""Looking at a clone that a guest wrote in, without running git in it.

Its configuration may name programs, its hooks are programs, its attributes may name filters, its
links may lead anywhere. So its HEAD is read as a file, its objects are looked over for anything but
plain files before git may read them, and what it left uncommitted is asked of a repository of
remit's own that borrows the guest's objects and is pointed at its work tree.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, is_full_sha
from remit.machine.reading import read_beneath
from remit.repository.host import Host

OBJECTS_LIMIT_COUNT = 1_000_000
_FILE_LIMIT_BYTES = 4_194_304
_ALTERNATES_LIMIT_BYTES = 65_536
_UNTRUSTED = "\n[core]\n\tcommitGraph = false\n\tmultiPackIndex = false\n\tworktree = {}\n"


def guest_head(clone_dir: Path, branch: str) -> str | RepositoryRefusal:
    """The commit that a guest's branch names, read from plain files.

    Refuses TAKEOVER_FAILED where the clone does not say: no such branch, a link, a pipe, nonsense.
    """
    ref = f"refs/heads/{branch}"
    loose = read_beneath(clone_dir, f".git/{ref}", _FILE_LIMIT_BYTES)
    found = loose.decode("ascii", "replace").strip() if isinstance(loose, bytes) else ""
    if not found:
        packed = read_beneath(clone_dir, ".git/packed-refs", _FILE_LIMIT_BYTES)
        lines = packed.decode("utf-8", "replace").splitlines() if isinstance(packed, bytes) else []
        found = next((line[: -len(ref) - 1] for line in lines if line.endswith(f" {ref}")), "")
    if is_full_sha(found):
        return found
    why = loose if isinstance(loose, str) else f"{found[:80]!r} is no commit name"
    return RepositoryRefusal(
        RepositoryCode.TAKEOVER_FAILED,
        f"read the head of {clone_dir}: {why}; expected {ref} as a plain file",
        "look at the clone; what it holds is kept as it is",
        {"path": str(clone_dir), "ref": ref},
    )


def guest_objects(host: Host, clone_dir: Path) -> Path | str:
    """A guest's object directory, or what is wrong with it.

    Nothing in it may be a link, a pipe or a device: git would follow it, or wait for it.
    """
    try:
        git_dir = clone_dir / ".git"
        if not os.path.lexists(git_dir):
            git_dir = clone_dir
        objects = git_dir / "objects"
        for part in (git_dir, objects):
            if not stat.S_ISDIR(part.lstat().st_mode):
                return f"{part} is no plain directory"
        if strange := _strange(objects):
            return strange
        alternates = objects / "info" / "alternates"
        if os.path.lexists(alternates):
            with alternates.open("rb") as file:
                lenders = file.read(_ALTERNATES_LIMIT_BYTES).split(b"\n")
            allowed = {b"", os.fsencode(host.common_dir / "objects")}
            if not set(lenders) <= allowed:
                return f"{alternates} names a store other than the host's"
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return objects.resolve()


def _strange(objects: Path) -> str:
    """The first thing in an object directory that does not belong in one."""
    count = 0
    folders = [objects]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif not entry.is_file(follow_symlinks=False):
                    return f"{entry.path} is no plain file"
                if count > OBJECTS_LIMIT_COUNT:
                    return f"{objects} holds over {OBJECTS_LIMIT_COUNT} files"
    return ""


def distrust(staging: Path, work_tree: Path | None = None) -> None:
    """Set a staging repository to ignore indexes that a guest may have made up."""
    # A commit graph says what parents a commit has, and git believes it before the commit itself.
    with (staging / ".git" / "config").open("a", encoding="utf-8") as file:
        text = _UNTRUSTED if work_tree else _UNTRUSTED.replace("\tworktree = {}\n", "")
        file.write(text.format(_quoted(work_tree)))


def _quoted(path: Path | None) -> str:
    escaped = str(path or "").replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def left_behind(
    host: Host,
    clone_dir: Path,
    head: str,
    stage: Callable[[Path, Path], RepositoryRefusal | None],
) -> tuple[str, ...] | RepositoryRefusal:
    """Paths in a guest's work tree that differ from its head, new ones included.

    `stage` makes the repository of remit's own, given its directory and the guest's objects.
    """
    operation = f"look at what is left in {clone_dir}"
    objects = guest_objects(host, clone_dir)
    if isinstance(objects, str):
        return RepositoryRefusal(
            RepositoryCode.TAKEOVER_FAILED,
            f"{operation}: {objects}",
            "look at the clone; what it holds is kept as it is",
            {"path": str(clone_dir)},
        )
    with tempfile.TemporaryDirectory(prefix="remit-left-") as name:
        staging = Path(name)
        if refusal := stage(staging, objects):
            return refusal
        distrust(staging, clone_dir.resolve())
        status = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"]
        status.append("--ignore-submodules=all")
        git_dir = staging / ".git"
        (git_dir / "HEAD").write_text(f"{head}\n", encoding="ascii")
        args = ["read-tree", head]
        done = host.git.run(args, cwd=clone_dir, operation=operation, git_dir=git_dir)
        if isinstance(done, RepositoryRefusal):
            return done
        shown = host.git.run(status, cwd=clone_dir, operation=operation, git_dir=git_dir)
        if isinstance(shown, RepositoryRefusal):
            return shown
    return tuple(entry[3:] for entry in shown.text.split("\0") if entry)
