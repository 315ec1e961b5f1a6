"""The folder behind a filesystem destination: locks, records, and files that appear whole.

Everything is reached from an open descriptor of the root, one part at a time and never through a
symbolic link, so that nobody who swaps a folder for a link leads a write or a read astray. Records and
files reach the disk before their names do.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from remit.machine.flocks import free, kept
from remit.ports.destination import Request

HOME = ".remit"
_RECORD_LIMIT = 65_536
_READ_BYTES = 1_048_576
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Record:
    """What is noted of one effect; ``path`` is empty until a file is about to be written.

    ``aside`` marks the compensation that moved the file away.
    """

    fence: int = 0
    key: str = ""
    effect_id: str = ""
    digest: str = ""
    manifest_id: str = ""
    path: str = ""
    aside: str = ""

    def with_fence(self, fence: int) -> Record:
        """The record under a fence that is no lower."""
        return replace(self, fence=max(fence, self.fence))

    def about(self, request: Request, path: str) -> Record:
        """The record of the file that a request brings."""
        return replace(
            self,
            key=request.key,
            effect_id=request.effect_id,
            digest=request.digest,
            manifest_id=request.manifest_id,
            path=path,
        )

    def moved(self, mark: str) -> Record:
        """The record of a file that a compensation moved aside."""
        return replace(self, aside=mark)


class Folder:
    """An open root. ``close`` gives up the lock with it."""

    def __init__(self, root: Path) -> None:
        self._open: list[int] = []
        self._locks: list[int] = []
        try:
            self._root = self._kept(os.open(root, _DIRECTORY))
            self._home = self._kept(_child(self._root, HOME, create=True))
        except BaseException:
            self.close()
            raise

    def _kept(self, descriptor: int) -> int:
        self._open.append(descriptor)
        return descriptor

    def close(self) -> None:
        """Close everything; a lock that was held is free."""
        while self._locks:
            free(self._locks.pop())
        while self._open:
            os.close(self._open.pop())

    def lock(self, name: str) -> bool:
        """Take the exclusive lock of a name if nobody else has it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = kept(os.open(f"{name}.lock", flags, 0o600, dir_fd=self._home))
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            free(descriptor)
            return False
        self._locks.append(descriptor)
        return True

    def read(self, name: str) -> Record:
        """The record of a name, an empty one where none is. Raises ``ValueError`` for nonsense."""
        try:
            descriptor = os.open(
                f"{name}.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._home
            )
        except FileNotFoundError:
            return Record()
        with os.fdopen(descriptor, "rb") as file:
            said = json.loads(file.read(_RECORD_LIMIT))
        plain = isinstance(said, dict) and isinstance(said.get("fence"), int)
        if not plain:
            raise ValueError(f"{HOME}/{name}.json is no record of remit's")
        return Record(**{str(k): v for k, v in said.items() if k in Record.__slots__})

    def keep(self, name: str, record: Record) -> None:
        """Put a record in the place of the earlier one, on the disk before this returns."""
        text = json.dumps(asdict(record), sort_keys=True).encode()
        _write(self._home, f"{name}.new", text, 0o600)
        os.rename(f"{name}.new", f"{name}.json", src_dir_fd=self._home, dst_dir_fd=self._home)
        os.fsync(self._home)

    def write(self, parts: list[str], payload: bytes, name: str, mode: int) -> None:
        """Make a file appear whole; raises ``FileExistsError`` where something stands there."""
        with self._parent(parts, create=True) as parent:
            _write(self._home, f"{name}.part", payload, mode)
            try:
                os.link(f"{name}.part", parts[-1], src_dir_fd=self._home, dst_dir_fd=parent)
                os.fsync(parent)
            finally:
                os.unlink(f"{name}.part", dir_fd=self._home)

    def digest(self, parts: list[str]) -> str | None:
        """The digest of a regular file, None where there is no such name."""
        try:
            with self._parent(parts, create=False) as parent:
                descriptor = os.open(
                    parts[-1],
                    os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC,
                    dir_fd=parent,
                )
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError(f"{'/'.join(parts)} is no regular file")
            found = hashlib.sha256()
            while chunk := file.read(_READ_BYTES):
                found.update(chunk)
        return found.hexdigest()

    def move_aside(self, parts: list[str], mark: str) -> bool:
        """Move a file to ``aside/MARK``; whether it is there now, by this or an earlier call."""
        with self._parent([HOME, "aside", mark], create=True) as aside:
            try:
                with self._parent(parts, create=False) as parent:
                    os.rename(parts[-1], mark, src_dir_fd=parent, dst_dir_fd=aside)
                    os.fsync(parent)
                    os.fsync(aside)
            except FileNotFoundError:
                return self.digest([HOME, "aside", mark]) is not None
        return True

    @contextlib.contextmanager
    def _parent(self, parts: list[str], *, create: bool) -> Iterator[int]:
        """The folder that holds the last part, opened link by link from the root."""
        descriptor = os.dup(self._root)
        try:
            for part in parts[:-1]:
                below = _child(descriptor, part, create=create)
                os.close(descriptor)
                descriptor = below
            yield descriptor
        finally:
            os.close(descriptor)


def _child(parent: int, name: str, *, create: bool) -> int:
    """Open a folder in a folder, made where it is absent; a link in its place is refused."""
    if create:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o750, dir_fd=parent)
            os.fsync(parent)
    return os.open(name, _DIRECTORY, dir_fd=parent)


def _write(folder: int, name: str, data: bytes, mode: int) -> None:
    descriptor = os.open(name, _WRITE, mode, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
