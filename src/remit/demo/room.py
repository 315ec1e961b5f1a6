"""The room that a demo plays in: one directory with everything, and an environment of its own.

Nothing of the person's plays a part: not their git configuration, identity, hooks or HOME, and no
REMIT_ or GIT_ variable. Processes of the demo get an environment built here; the demo's own process
wears it while it plays and has its own back afterwards. Commands of the program get even less, so
that they see the program and nothing of remit.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import remit
from remit.core.refusals import Code
from remit.ports import RemitError

_LIMIT_SECONDS: Final = 120
"""Longest that one command of the demo may run."""

_GITCONFIG: Final = """\
[init]
\tdefaultBranch = main
[safe]
\tdirectory = *
[gc]
\tauto = 0
[advice]
\tdetachedHead = false
"""


class DemoTrouble(Exception):  # noqa: N818  # what went wrong with the play, not with remit
    """Something that the demo rests on did not work; the message says what, and what it said."""


@dataclass(frozen=True, slots=True)
class Room:
    """The directories and files of one play."""

    path: Path

    @property
    def home(self) -> Path:
        """An empty HOME with the demo's own git configuration."""
        return self.path / "home"

    @property
    def ledger(self) -> Path:
        """The ledger, where remit finds it from within the repository too."""
        return self.path / ".remit" / "ledger.db"

    @property
    def origin(self) -> Path:
        """The bare repository whose main is observed."""
        return self.path / "origin.git"

    @property
    def repository(self) -> Path:
        """The owner's clone, which is the host of observations and taken commits."""
        return self.path / "repository"

    @property
    def beads(self) -> Path:
        """The backlog."""
        return self.path / "backlog.jsonl"

    @property
    def plan(self) -> Path:
        """The plan, as it was applied last."""
        return self.path / "plan.yaml"

    def key(self, name: str) -> Path:
        """Where a key of the owner, or something that it signs, lies."""
        return self.path / "keys" / name

    @property
    def half_done(self) -> Path:
        """What the worker that will be killed leaves behind of its attempt."""
        return self.path / "half-done.json"

    @property
    def late(self) -> Path:
        """What the ledger answered to that worker's late report."""
        return self.path / "late-report.json"

    @property
    def stop(self) -> Path:
        """Agents finish once this file is there."""
        return self.path / "stop"

    def clone(self, name: str) -> Path:
        """Where a clone goes."""
        return self.path / "clones" / name

    def log(self, name: str) -> Path:
        """What a process of the demo wrote."""
        return self.path / "logs" / f"{name}.log"

    def furnish(self) -> None:
        """Make what must be there before anything is played; refuses a room in use (``BAD_INPUT``)."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            fault = "it is not empty" if any(self.path.iterdir()) else ""
        except OSError as error:
            fault = str(error.strerror)
        if fault:
            raise RemitError(
                f"cannot play the demo in {self.path}: {fault}",
                "give --keep a new or empty directory",
                {"path": str(self.path)},
                code=Code.BAD_INPUT,
            )
        for folder in (self.home, self.ledger.parent, self.path / "clones", self.path / "logs"):
            folder.mkdir()
        self.key("").mkdir(mode=0o700)
        (self.home / "gitconfig").write_text(_GITCONFIG, encoding="utf-8")

    def environment(self) -> dict[str, str]:
        """The environment of the demo's processes."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "REMIT_"))}
        package = Path(remit.__file__).resolve().parents[1]
        named = [part for part in kept.get("PYTHONPATH", "").split(os.pathsep) if part]
        modules = [str(package), *(str(Path(part).absolute()) for part in named)]
        return kept | {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home),
            "XDG_CACHE_HOME": kept.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(modules)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def plain_environment(self) -> dict[str, str]:
        """The environment of the program's own commands."""
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        return kept | {"HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}

    def git(self, actor: str, where: Path, *args: str) -> str:
        """Run git as an actor and return what it wrote; raises ``DemoTrouble`` where it fails."""
        done = self.git_try(actor, where, *args)
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-500:]
            raise DemoTrouble(f"git {args[0]} in {where.name} failed: {said}")
        return done.stdout.strip()

    def git_try(self, actor: str, where: Path, *args: str) -> subprocess.CompletedProcess[str]:
        """Run git as an actor, whatever it answers."""
        who: dict[str, str] = {}
        for role in ("AUTHOR", "COMMITTER"):
            who[f"GIT_{role}_NAME"] = actor
            who[f"GIT_{role}_EMAIL"] = f"{actor}@demo.invalid"
        return run(["git", *args], where, self.environment() | who)

    def check(self, argv: Sequence[str], where: Path) -> subprocess.CompletedProcess[str]:
        """Run a command of the program."""
        return run(argv, where, self.plain_environment())

    def remove(self) -> None:
        """Remove everything, also what git wrote as read-only."""
        for folder, names, _ in os.walk(self.path):
            for name in names:
                inner = Path(folder, name)
                if not inner.is_symlink():
                    inner.chmod(inner.stat().st_mode | stat.S_IRWXU)
        shutil.rmtree(self.path)


def run(
    argv: Sequence[str], where: Path, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, bounded in time; its output is text, whatever bytes it wrote."""
    try:
        return subprocess.run(
            list(argv),
            cwd=where,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LIMIT_SECONDS,
        )
    except FileNotFoundError as missing:
        raise DemoTrouble(f"cannot run {argv[0]}: it is not on PATH") from missing
    except subprocess.TimeoutExpired as slow:
        raise DemoTrouble(f"{argv[0]} did not end within {_LIMIT_SECONDS} s") from slow


@contextmanager
def wearing(environment: Mapping[str, str]) -> Iterator[None]:
    """Have this process see an environment, and put its own back afterwards."""
    own = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(environment)
        yield
    finally:
        os.environ.clear()
        os.environ.update(own)


def shown(text: str, limit: int = 200) -> str:
    """Text for a terminal: one line, bounded, and no character that could steer it."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return plain if len(plain) <= limit else plain[: limit - 3] + "..."
