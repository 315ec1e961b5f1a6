"""Laying out what a change brings, as plain files, for a scanner to read.

A secret that one commit adds and the next one takes away is published with both, so what is laid out
is every blob and every message of every commit in the change, and not the last tree. File names are
made here from what the guest called them: none leads elsewhere, and none, such as `.gitignore` or
`yarn.lock`, means anything to whoever reads the folder: each is a text by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, is_full_sha
from remit.machine.git import failed
from remit.repository.host import Host

OBJECTS_LIMIT_COUNT = 100_000
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_NAME_CHARS = 80


def lay_out(host: Host, base: str, head: str, folder: Path) -> int | RepositoryRefusal:
    """Write every blob and commit of `base..head` beneath a folder; say how many files that made."""
    operation = "lay out a change"
    for sha in (base, head):
        if refusal := host.require_commit(sha, operation):
            return refusal
    listed = host.run(["rev-list", "--objects", head, f"^{base}"], operation)
    if isinstance(listed, RepositoryRefusal):
        return listed
    # Git ends lines by LF alone; what else ends a line to some may stand in a guest's name.
    names = dict(line.partition(" ")[::2] for line in listed.text.split("\n") if line)
    if any(not is_full_sha(name) for name in names):
        return failed(operation, "a line of rev-list names no object", "")
    if len(names) > OBJECTS_LIMIT_COUNT:
        return RepositoryRefusal(
            RepositoryCode.OUTPUT_TOO_LARGE,
            f"{operation}: {len(names)} objects, expected at most {OBJECTS_LIMIT_COUNT}",
            "split the change; one that cannot be read whole cannot be judged",
            {"objects": str(len(names))},
        )
    stdin = "".join(f"{sha}\n" for sha in names).encode()
    read = host.run(["cat-file", "--batch", "--buffer"], operation, stdin=stdin, network=True)
    if isinstance(read, RepositoryRefusal):
        return read
    count = 0
    objects = list(objects_of(read.stdout))
    if len(objects) != len(names):
        return failed(operation, f"{len(objects)} of {len(names)} objects were read", "")
    paths = {path: None for path in names.values() if path}
    for sha, kind, content in objects:
        if kind in ("blob", "commit"):
            place = folder / sha
            place.mkdir()
            (place / _name(names.get(sha, ""), kind)).write_bytes(content)
            count += 1
        elif kind == "tree":
            try:
                paths |= dict.fromkeys(_entries(content, len(host.zero) // 2))
            except ValueError:
                return failed(operation, f"the tree {sha} cannot be read", "")
    text = "\n".join(paths)
    (folder / "paths.txt").write_text(text, encoding="utf-8", errors="backslashreplace")
    return count


def _entries(tree: bytes, hash_bytes: int) -> Iterator[str]:
    """The names in a tree. `rev-list` names each object once, and no further than to a line's end."""
    at = 0
    while at < len(tree):
        space, end = tree.index(b" ", at), tree.index(b"\0", at)
        yield tree[space + 1 : end].decode("utf-8", "surrogateescape")
        at = end + 1 + hash_bytes


def objects_of(output: bytes) -> Iterator[tuple[str, str, bytes]]:
    """Name, kind and content of each object that git printed."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        words = output[at:end].decode("ascii", "replace").split(" ")
        if len(words) != 3 or not words[2].isdecimal():
            return  # missing, or none that can be read: there are too few then
        sha, kind, size = words
        at = end + 1
        yield sha, kind, output[at : at + int(size)]
        at += int(size) + 1


def _name(path: str, kind: str) -> str:
    if kind == "commit":
        return "commit.txt"
    plain = _UNSAFE.sub("_", path.rpartition("/")[2])[-_NAME_CHARS:]
    return f"_{plain}.txt"
