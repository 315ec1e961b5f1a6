"""A change as text for whoever judges it: every path is named, and no file can push another out of sight.

Whoever made the change would like to choose what of it is looked at. So it is compared in a blank
repository, where no attribute and no setting hides a file (`repository.blank`), and everything is shown
as text: a NUL byte makes nothing "binary". What a terminal or a reader would obey is escaped. Commits with
their messages and the names of all paths come first; then each file has its fair share of the room, and what is cut says so on a line
that no content can imitate, since lines of a difference begin with a sign of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal
from remit.machine.git import GitRun
from remit.repository.blank import compare
from remit.repository.brought import objects_of
from remit.repository.host import Host
from remit.repository.patches import PATCH, PLAIN

COMMITS: Final = 50
SAID_CHARS: Final = 6_000
"""So many commits are told, with their messages in about so many characters."""

TEXT_CHARS: Final = 42_000
"""About so many characters of differences are shown, of all files together."""

LEAST_CHARS: Final = 400
"""A file whose share would be smaller than that is named among those of which nothing is shown."""

NAMES_CHARS: Final = 10_000
"""The paths are named in about so many characters; of more it is said how many there are."""

PATH_CHARS: Final = 300
LINE_CHARS: Final = 2_000
"""A longer path or line is cut, and how much is missing is said."""

_FILE = re.compile(rb"^diff --git ", re.MULTILINE)


def change_text(host: Host, base: str, head: str) -> str | RepositoryRefusal:
    """The change of two commits as text; see `GitRepository.change_text`."""
    operation = "show a change"
    for sha in (base, head):
        if refusal := host.require_commit(sha, operation):
            return refusal
    listed = compare(
        host, ["diff-tree", "--raw", "--abbrev=12", "-z", *PLAIN, base, head], operation
    )
    if isinstance(listed, RepositoryRefusal):
        return listed
    args = ["diff-tree", *PLAIN, *PATCH, "--text", base, head]
    found = compare(host, args, operation)
    if isinstance(found, RepositoryRefusal) and found.code is not RepositoryCode.OUTPUT_TOO_LARGE:
        return found
    said = _commits(host, base, head, operation)
    if isinstance(said, RepositoryRefusal):
        return said
    lines = [*said, "", *_named(listed.stdout)]
    if isinstance(found, GitRun):
        lines += ["", *_differences(found.stdout)]
    else:
        lines += ["", f"[{found.code.value}: no difference is shown; look at each file]"]
    return "\n".join(lines) + "\n"


def _commits(host: Host, base: str, head: str, operation: str) -> list[str] | RepositoryRefusal:
    """Who made which commit and what its message says; it lands with the change."""
    args = ["rev-list", "--topo-order", f"--max-count={COMMITS + 1}", head, f"^{base}"]
    listed = host.ask(args, operation)
    if isinstance(listed, RepositoryRefusal):
        return listed
    names = listed.text.split()
    stdin = "".join(f"{name}\n" for name in names[:COMMITS]).encode()
    read = host.run(["cat-file", "--batch"], operation, stdin=stdin)
    if isinstance(read, RepositoryRefusal):
        return read
    lines = [f"{min(len(names), COMMITS)} commits, the newest first:"]
    each = SAID_CHARS // max(1, min(len(names), COMMITS))
    for name, _, content in objects_of(read.stdout):
        header, _, message = content.partition(b"\n\n")
        author = next((line for line in header.split(b"\n") if line.startswith(b"author ")), b"")
        lines += [f"{name} {visible(author, PATH_CHARS)}"]
        lines += [f"    {visible(line, each)}" for line in message[:each].split(b"\n") if line]
        if len(message) > each:
            lines.append(f"[cut; this message has {len(message)} bytes]")
    if len(names) > COMMITS:
        lines.append("[more commits are not told; list them yourself]")
    return lines


def _named(raw: bytes) -> list[str]:
    """Every changed path: how it changed, its modes and its objects."""
    fields = raw.split(b"\0")[:-1]
    pairs = list(zip(fields[::2], fields[1::2], strict=True))
    lines = [f"{len(pairs)} paths changed:"]
    left = NAMES_CHARS
    for number, (said, path) in enumerate(pairs):
        old, new, was, now, status = said.decode("ascii", "replace").lstrip(":").split(" ")
        line = f"{status} {old} {new} {was}..{now} {visible(path, PATH_CHARS)}"
        left -= len(line) + 1
        if left < 0:
            lines.append(f"[{len(pairs) - number} more paths are not named; list them yourself]")
            break
        lines.append(line)
    return lines


def _differences(text: bytes) -> list[str]:
    """The differences of each file, cut to its share."""
    starts = [found.start() for found in _FILE.finditer(text)]
    files = [text[at:end] for at, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    share = max(LEAST_CHARS, fair_share([len(file) for file in files], TEXT_CHARS))
    lines: list[str] = []
    left = TEXT_CHARS
    for number, file in enumerate(files):
        if left < min(len(file), LEAST_CHARS):
            lines.append(f"[{len(files) - number} more files are not shown; look at each of them]")
            break
        shown = _cut(file, min(share, left))
        left -= sum(len(line) + 1 for line in shown)
        lines += shown
    return lines


def fair_share(sizes: Iterable[int], room: int) -> int:
    """How much each may have so that all fit: who needs less leaves the rest to the others."""
    ordered = sorted(sizes)
    for place, size in enumerate(ordered):
        each = room // (len(ordered) - place)
        if size > each:
            return each
        room -= size
    return ordered[-1] if ordered else 0


def _cut(file: bytes, room: int) -> list[str]:
    """The first lines of a file's difference, and how much is missing."""
    lines = file.removesuffix(b"\n").split(b"\n")
    shown: list[str] = []
    for number, line in enumerate(lines):
        text = visible(line, min(LINE_CHARS, max(room, 80)))
        if room < len(text) and shown:
            shown.append(
                f"[{len(lines) - number} more lines of this file are not shown; look at the file]"
            )
            break
        room -= len(text) + 1
        shown.append(text)
    return shown


def visible(raw: bytes, limit: int) -> str:
    """Bytes as one printable line: what is no text and what a reader would obey is escaped."""
    cut = raw[: 4 * limit].decode("utf-8", "backslashreplace")
    if not cut.replace("\t", "").isprintable():
        cut = "".join(c if c == "\t" or c.isprintable() else _escaped(c) for c in cut)
    if len(cut) <= limit and len(raw) <= 4 * limit:
        return cut
    return f"{cut[:limit]}… [cut; this line has {len(raw)} bytes]"


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
