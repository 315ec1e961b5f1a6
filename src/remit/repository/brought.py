"""Laying out what a change brings, as plain files, for a scanner to read.

A secret that one commit adds and the next one takes away is published with both, so what is laid out
is every blob and every message of every commit in the change, and not the last tree. File names are
made here from what the guest called them: none leads elsewhere, and none, such as `.gitignore`,
means anything to whoever reads the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal
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
    names = dict(line.partition(" ")[::2] for line in listed.text.splitlines())
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
    for sha, kind, content in _objects(read.stdout):
        if kind in ("blob", "commit"):
            place = folder / sha
            place.mkdir()
            (place / _name(names.get(sha, ""), kind)).write_bytes(content)
            count += 1
    paths = "\n".join(path for path in names.values() if path)
    (folder / "paths.txt").write_text(paths, encoding="utf-8", errors="backslashreplace")
    return count


def _objects(output: bytes) -> Iterator[tuple[str, str, bytes]]:
    """Name, kind and content of each object that git printed."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        sha, kind, size = output[at:end].decode("ascii").split(" ")
        at = end + 1
        yield sha, kind, output[at : at + int(size)]
        at += int(size) + 1


def _name(path: str, kind: str) -> str:
    if kind == "commit":
        return "commit.txt"
    plain = _UNSAFE.sub("_", path.rpartition("/")[2])[-_NAME_CHARS:]
    return f"_{plain}" if plain.startswith(".") or not plain else plain
