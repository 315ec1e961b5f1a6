"""Laying an empty repository: without template, so without hooks, and in the host's hash.

git looks at a file system while it makes the first one (whether it keeps modes and case) and writes what
it found into the settings. So git makes the first repository on each file system, and those after it are
laid as that one was: a handful of folders and two small files, which are no reason to start a program.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.core.gitfacts import RepositoryRefusal
from remit.repository.host import Host

_FILES: Final = ("HEAD", "config")
_FOLDERS: Final = ("objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags")
_ATTRIBUTES: Final = (
    "text", "crlf", "eol", "working-tree-encoding", "ident", "filter", "diff", "merge", "whitespace",
    "export-ignore", "export-subst", "delta", "encoding",
)  # fmt: skip
"""What git lets a tree say of its files."""


@dataclass(frozen=True, slots=True)
class _Laid:
    """What an empty repository holds."""

    files: tuple[tuple[str, bytes], ...]


_LAID: dict[tuple[str, str, int], _Laid] = {}
"""By program, hash and file system; an entry is written whole."""


def new_repository(host: Host, directory: Path, operation: str) -> RepositoryRefusal | None:
    """Lay an empty repository in a directory that is there and has none."""
    hash_name = "sha256" if len(host.zero) == 64 else "sha1"
    kind = (host.git.program, hash_name, directory.stat().st_dev)
    git_dir = directory / ".git"
    known = _LAID.get(kind)
    if known is not None:
        for name in ("", *_FOLDERS):
            (git_dir / name).mkdir()
        for name, content in known.files:
            (git_dir / name).write_bytes(content)
        return None
    args = ["init", "--quiet", "--template=", f"--object-format={hash_name}"]
    args += ["--initial-branch=remit", "--", str(directory)]
    done = host.git.run(args, cwd=directory, operation=operation)
    if isinstance(done, RepositoryRefusal):
        return done
    found = _read(git_dir)
    if found is not None:
        _LAID[kind] = found
    return None


def _read(git_dir: Path) -> _Laid | None:
    """What git laid, where that is what this module can lay as well."""
    made = {
        (Path(folder) / name).relative_to(git_dir).as_posix()
        for folder, folders, names in os.walk(git_dir)
        for name in (*folders, *names)
    }
    if made != {*_FILES, *_FOLDERS}:
        return None
    return _Laid(tuple((name, (git_dir / name).read_bytes()) for name in _FILES))


def borrow(objects: Path, lender: Path) -> None:
    """Let a repository's objects be read from a lender's as well."""
    (objects / "info").mkdir(exist_ok=True)
    (objects / "info" / "alternates").write_bytes(os.fsencode(lender) + b"\n")


def ignore_attributes(git_dir: Path) -> None:
    """Let no attribute of a tree apply in a repository: what stands here comes before all others."""
    (git_dir / "info").mkdir(exist_ok=True)
    said = " ".join(f"!{name}" for name in _ATTRIBUTES)
    (git_dir / "info" / "attributes").write_text(f"* {said}\n", encoding="ascii")


def quoted(text: str) -> str:
    """A value of a setting as a configuration file holds it."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f'"{text}"'
