"""Rows of a file as a stream: bounded memory, every line end, and proof that the file stood still.

An import reads its file twice, so it must know that both readings saw the same bytes. The first
reading leaves a `Fingerprint`: size, modification time, and a digest for each block. The second
compares each block before it hands out a row of it, so no row of a changed file ever gets out;
it raises `InputProblem` INPUT_CHANGED instead. (An end cut off is noticed at the end; the rows
before it were those of the first reading.)

A line is held whole only up to ROW_LIMIT_BYTES. A longer one is skipped block by block and handed
out as its size. Line ends are LF, CRLF and CR, mixed as they come: JSON text cannot hold a bare
one. Lines of white space alone are not rows. What is no text of this kind at all (a directory, a
database, UTF-16, an archive) is refused with one line that says what to do.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

from remit.exchange.backlog import ROW_LIMIT_BYTES

BLOCK_BYTES = 256 * 1024
_MARK_BYTES = 16  # of the SHA-256 of each block


class InputCode(StrEnum):
    """Why a whole input was refused."""

    COMPRESSED = "COMPRESSED"
    DATABASE = "DATABASE"
    DIRECTORY = "DIRECTORY"
    EMPTY = "EMPTY"
    INPUT_CHANGED = "INPUT_CHANGED"
    MISSING = "MISSING"
    NOT_A_FILE = "NOT_A_FILE"
    UNREADABLE = "UNREADABLE"
    UTF_16 = "UTF_16"


class InputProblem(Exception):  # noqa: N818 - it says what the input is
    """The input as a whole cannot be read.

    `code` is stable; `what` says what was found, `where` is the path as given, and `hint` says
    what to do next. The message is one line.
    """

    def __init__(self, code: InputCode, what: str, where: str, hint: str) -> None:
        super().__init__(f"{code}: {where!r}: {what}; {hint}")
        self.code = code
        self.what = what
        self.where = where
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a reading saw: size in bytes, modification time, and a mark for each block."""

    size: int
    mtime_ns: int
    blocks: bytes


class RowReader:
    """Iterate over (line number from 1, row bytes) of a file, or (line number, size) of a row
    over ROW_LIMIT_BYTES.

    With `expected`, the fingerprint of an earlier reading, each block is compared before its rows
    come out. After a complete iteration `fingerprint` holds what was seen.

    Raises InputProblem: all codes but EMPTY, which is for the caller to decide.
    """

    def __init__(self, path: Path, expected: Fingerprint | None = None) -> None:
        self.path = path
        self.expected = expected
        self.fingerprint: Fingerprint | None = None
        self._line = 0
        self._tail: list[bytes] = []
        self._tail_bytes = 0

    def __iter__(self) -> Iterator[tuple[int, bytes | int]]:
        self._line = 0
        self._tail, self._tail_bytes = [], 0
        with _opened(self.path) as file:
            before = os.fstat(file.fileno())
            if self.expected is not None and (before.st_size, before.st_mtime_ns) != (
                self.expected.size,
                self.expected.mtime_ns,
            ):
                raise self._changed("size or modification time differs")
            marks = bytearray()
            after_cr = False
            for block in self._blocks(file, marks):
                split_pair = after_cr and block.startswith(b"\n")
                after_cr = block.endswith(b"\r")
                yield from self._rows(block[1:] if split_pair else block)
            if self._tail_bytes:
                yield from self._finish(b"")
            after = os.fstat(file.fileno())
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise self._changed("written to while it was read")
        if self.expected is not None and bytes(marks) != self.expected.blocks:
            raise self._changed("it ends before the content that was seen first")
        self.fingerprint = Fingerprint(after.st_size, after.st_mtime_ns, bytes(marks))

    def _blocks(self, file: BinaryIO, marks: bytearray) -> Iterator[bytes]:
        """Blocks of the file, each compared or recorded first; the byte order mark taken off."""
        while True:
            try:
                block = file.read(BLOCK_BYTES)
            except OSError as error:
                raise _unreadable(self.path, error) from error
            if not block:
                return
            mark = hashlib.sha256(block).digest()[:_MARK_BYTES]
            at = len(marks)
            marks += mark
            if self.expected is not None and self.expected.blocks[at : at + _MARK_BYTES] != mark:
                raise self._changed(f"content differs near byte {at // _MARK_BYTES * BLOCK_BYTES}")
            if at == 0:
                _refuse_foreign(self.path, block)
                block = block.removeprefix(b"\xef\xbb\xbf")
            yield block

    def _rows(self, block: bytes) -> Iterator[tuple[int, bytes | int]]:
        """Rows that end within this block; the rest of it is kept as the tail."""
        parts = block.splitlines(keepends=True)
        rest = b""
        if parts and not parts[-1].endswith((b"\n", b"\r")):
            rest = parts.pop()
        if parts and self._tail_bytes:
            yield from self._finish(parts[0])
            del parts[0]
        line = self._line
        for part in parts:
            line += 1
            if not part.isspace():
                self._line = line
                yield line, part
        self._line = line
        if rest:
            self._tail_bytes += len(rest)
            if self._tail_bytes <= ROW_LIMIT_BYTES:
                self._tail.append(rest)
            else:
                self._tail.clear()

    def _finish(self, end: bytes) -> Iterator[tuple[int, bytes | int]]:
        """The line that began in an earlier block, now that its last bytes are here."""
        size = self._tail_bytes + len(end.rstrip(b"\r\n"))
        self._tail.append(end)
        row: bytes | int = size if size > ROW_LIMIT_BYTES else b"".join(self._tail)
        self._tail, self._tail_bytes = [], 0
        self._line += 1
        if isinstance(row, int) or not row.isspace():
            yield self._line, row

    def _changed(self, what: str) -> InputProblem:
        return InputProblem(
            InputCode.INPUT_CHANGED, what, str(self.path), "import again once nothing writes to it"
        )


@contextmanager
def spooled(stream: BinaryIO) -> Iterator[Path]:
    """A file with everything that `stream` (a pipe, say) had to give, gone afterwards.

    Two passes need a file. It is copied in bounded memory and is readable by its owner alone.
    """
    with tempfile.TemporaryDirectory(prefix="remit-spool-") as folder:
        path = Path(folder) / "input"
        with path.open("xb") as file:
            shutil.copyfileobj(stream, file, BLOCK_BYTES)
        yield path


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file, open for reading, once it is known to be one."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputProblem(
                InputCode.DIRECTORY,
                "it is a directory",
                str(path),
                "name the file inside it, such as issues.jsonl",
            )
        if not stat.S_ISREG(mode):
            raise InputProblem(
                InputCode.NOT_A_FILE,
                "it is not a regular file and cannot be read twice",
                str(path),
                "give it on standard input, or save it first",
            )
        file = path.open("rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputProblem(
            InputCode.MISSING, "no such file", str(path), "check the path"
        ) from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    with file:
        yield file


def _unreadable(path: Path, error: Exception) -> InputProblem:
    what = getattr(error, "strerror", None) or "the path is not usable"
    return InputProblem(
        InputCode.UNREADABLE, f"cannot read it: {what}", str(path), "check permissions and disk"
    )


def _refuse_foreign(path: Path, head: bytes) -> None:
    """Refuse what is recognisably not a UTF-8 text of rows."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff", b"{\0", b"\0{", b"\0\0\0{")):
        raise InputProblem(
            InputCode.UTF_16, "it is UTF-16 or UTF-32", str(path), "convert it to UTF-8"
        )
    if head.startswith(b"SQLite format 3\0"):
        raise InputProblem(
            InputCode.DATABASE,
            "it is a SQLite database",
            str(path),
            "export it first: bd export -o issues.jsonl",
        )
    if head.startswith((b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")):
        raise InputProblem(InputCode.COMPRESSED, "it is compressed", str(path), "unpack it first")
