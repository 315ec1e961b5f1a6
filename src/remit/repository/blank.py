"""A blank repository over the host's objects: where commits are compared, and nothing else is there to see.

Git lets a work tree, an index, `info/attributes` and settings say how a difference looks: `-diff` hides a
file, `diff=NAME` names a driver, `.gitmodules` may leave submodules out. Each of these may have been
written by whoever's change is looked at, as soon as one of theirs has landed and was pulled. No option of
git's turns all of them off in every version, so what compares commits runs where there are none: in an
empty repository of remit's own that reads the host's objects. What it answers follows from objects alone.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.core.gitfacts import RepositoryRefusal
from remit.machine.git import GitRun, failed
from remit.repository.host import Host
from remit.repository.laying import new_repository

_ROOM: Final = "make room in the folder for temporary files, and repeat"


@dataclass(frozen=True, slots=True)
class Blank:
    """An empty repository whose objects are the host's, to read and to write."""

    host: Host
    room: Path
    operation: str

    def run(
        self, args: Sequence[str], *, answers: Collection[int] = (0,), stdin: bytes = b""
    ) -> GitRun | RepositoryRefusal:
        """Run git here; see `Git.run`."""
        return self.host.git.run(
            args,
            cwd=self.room,
            operation=self.operation,
            git_dir=self.room / ".git",
            answers=answers,
            stdin=stdin,
            extra={"GIT_OBJECT_DIRECTORY": str(self.host.common_dir / "objects")},
        )


@contextlib.contextmanager
def blank(host: Host, operation: str) -> Iterator[Blank | RepositoryRefusal]:
    """A blank repository for as long as the block runs, or why none can be made."""
    with contextlib.ExitStack() as held:
        found: Blank | RepositoryRefusal
        try:
            room = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="remit-blank-")))
            found = new_repository(host, room, operation) or Blank(host, room, operation)
        except OSError as error:
            found = failed(operation, f"no folder for a moment: {error}", "", hint=_ROOM)
        yield found


def compare(host: Host, args: Sequence[str], operation: str) -> GitRun | RepositoryRefusal:
    """What git says of two commits that `args` name in full; it is asked once, as `Host.ask` is."""
    key = ("blank", *args)
    known = host.answers.get(key)
    if known is not None:
        return known
    with blank(host, operation) as made:
        done = made if isinstance(made, RepositoryRefusal) else made.run(args)
    if isinstance(done, GitRun) and not host.may_deepen():
        host.answers.keep(key, done)
    return done
