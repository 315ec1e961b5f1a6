"""What one process remembers of a repository, so that it does not ask git the same thing twice.

Three things only. Answers that follow from objects alone: who is whose ancestor, which tree a commit
has, how two commits differ; an object never becomes another, so such an answer holds for good. The
person's settings, for as long as no file that they were or might have been read from has changed: one
that is included counts also while it is not there. And the look at main that is under way: who asks for one while another one runs shares the next, which begins after it asked.

Nothing that git refused is remembered, and nothing of where a ref stands. What is kept is bounded.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit.core.gitfacts import MainObservation, RepositoryRefusal
from remit.machine.git import GitRun, Trust

if TYPE_CHECKING:
    from remit.repository.host import Host

ANSWERS: Final = 4_096
ANSWER_BYTES: Final = 65_536
"""So many answers are kept, and none that is longer; the oldest goes first."""

_INCLUDED_IF: Final = re.compile(r"includeif\..+\.path\Z", re.DOTALL)
_OPTIONAL: Final = ":(optional)"

Key = tuple[str, ...]
Stamp = tuple[tuple[str, int, int, int], ...]
Observed = MainObservation | RepositoryRefusal


class Answers:
    """Answers of git that follow from objects alone."""

    def __init__(self) -> None:
        self._kept: dict[Key, GitRun] = {}
        self._guard = threading.Lock()

    def get(self, key: Key) -> GitRun | None:
        """What was answered before."""
        return self._kept.get(key)

    def keep(self, key: Key, answer: GitRun) -> None:
        """Remember an answer, unless it is too long."""
        if len(answer.stdout) > ANSWER_BYTES:
            return
        with self._guard:
            while len(self._kept) >= ANSWERS:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = answer


class Settings:
    """The person's settings of one repository, every value of each name, in the order of git."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._stamp: Stamp = ()
        self._files: tuple[Path, ...] = ()
        self._found: dict[str, tuple[str, ...]] = {}

    def read(self, host: Host, operation: str) -> Mapping[str, tuple[str, ...]] | RepositoryRefusal:
        """All settings, asked of git where they may be others than before."""
        with self._guard:
            if self._files and _stamp(self._files) == self._stamp:
                return self._found
            args = ["config", "--list", "-z", "--show-origin"]
            before = _stamp(_usual(host))
            done = host.run(args, operation, trust=Trust.PERSON)
            if isinstance(done, RepositoryRefusal):
                return done
            self._found, named = _parsed(done.text, host)
            self._files = (*_usual(host), *sorted(named))
            self._stamp = _stamp(self._files)
            if self._stamp[: len(before)] != before:
                self._files = ()  # one was written while git read: the next call reads again
            return self._found


def _parsed(text: str, host: Host) -> tuple[dict[str, tuple[str, ...]], set[Path]]:
    """Settings by name, and the files that they stand in or that these include, there or not."""
    found: dict[str, tuple[str, ...]] = {}
    files: set[Path] = set()
    home = host.git.environment(Trust.PERSON).get("HOME", "")
    fields = text.split("\0")
    for origin, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = entry.partition("\n")
        found[name] = (*found.get(name, ()), value)
        file = host.top / origin.removeprefix("file:") if origin.startswith("file:") else None
        files |= {file} if file else set()
        if name == "include.path" or _INCLUDED_IF.match(name):
            files.add((file or host.top / "command line").parent / _expanded(value, home))
    return found, files


def _expanded(path: str, home: str) -> str:
    """A path as git reads it in a setting."""
    path = path.removeprefix(_OPTIONAL)
    if path.startswith("~/") and home:
        return f"{home}{path[1:]}"
    return os.path.expanduser(path) if path.startswith("~") else path  # noqa: PTH111  # it never raises


def _usual(host: Host) -> tuple[Path, ...]:
    """Where settings may appear that were not there; a branch decides on what some include."""
    own = [host.common_dir / name for name in ("config", "config.worktree", "HEAD")]
    given = host.git.environment(Trust.PERSON)
    home = Path(given.get("HOME") or os.devnull)
    shared = Path(given.get("XDG_CONFIG_HOME") or home / ".config")
    named = [given.get(name) or os.devnull for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")]
    usual = [home / ".gitconfig", shared / "git" / "config", Path("/etc/gitconfig")]
    return (*own, *usual, *(Path(name) for name in named))


def _stamp(files: Sequence[Path]) -> Stamp:
    found = []
    for path in files:
        try:
            seen = path.stat()
        except OSError:
            found.append((str(path), 0, 0, 0))
            continue
        found.append((str(path), seen.st_ino, seen.st_size, seen.st_mtime_ns))
    return tuple(found)


class Looks:
    """Looks at main that are shared: each caller gets one that began after it asked."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._begun = 0
        self._busy = False
        self._last: tuple[int, object, Observed] | None = None

    def look(self, at: object, observe: Callable[[], Observed]) -> Observed:
        """Observe, or take what another caller observes in the same way from now on."""
        with self._turn:
            needed = self._begun + 1
            while True:
                if self._last is not None and self._last[0] >= needed and self._last[1] == at:
                    return self._last[2]
                if not self._busy:
                    break
                self._turn.wait()
            self._busy = True
            self._begun += 1
            number = self._begun
        try:
            found = observe()
            self._last = (number, at, found)
        finally:
            with self._turn:
                self._busy = False
                self._turn.notify_all()
        return found
