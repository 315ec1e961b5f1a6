"""A real sandbox, a host with something worth stealing, and guests that try."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import stat
import string
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from remit.isolation import secrets
from remit.isolation.bubblewrap import BubblewrapSandbox
from remit.isolation.cell import BubblewrapCell
from remit.isolation.probes import denied_namespaces
from remit.isolation.secrets import Kingfisher
from remit.machine.processes import Finished, run_bounded
from remit.ports.sandbox import CellLimits, Room, SandboxRefusal

MIB = 1_048_576
SMALL = CellLimits(
    processes=64,
    memory_bytes=512 * MIB,
    file_bytes=8 * MIB,
    scratch_bytes=4 * MIB,
    disk_bytes=16 * MIB,
)
SECRET = "the host's own secret"

PRELUDE = """
import ctypes, os, pathlib, signal, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def held(act, *args, **named):
    try:
        answer = act(*args, **named)
    except OSError as error:
        print("held", error.strerror or error)
    else:
        print("OUT", answer)
def call(name, *args):
    answer = getattr(libc, name)(*args)
    print("held" if answer < 0 else "OUT", name, os.strerror(ctypes.get_errno()))
"""


def python() -> str:
    from remit.isolation.layout import interpreter

    return str(interpreter()[0])


@dataclass
class Host:
    """What lies on the host beside the clone, and whether it is as it was."""

    root: Path
    clone: Path
    secret: Path
    before: dict[str, Any] = field(default_factory=dict)

    def look(self) -> dict[str, Any]:
        """Everything beneath the root but the clone: kind, mode, owner, links, content."""
        found: dict[str, Any] = {}
        for folder, names, files in os.walk(self.root, followlinks=False):
            if Path(folder) == self.clone:
                names.clear()
                continue
            for name in [*names, *files]:
                path = Path(folder, name)
                seen = path.lstat()
                content = ""
                if stat.S_ISREG(seen.st_mode):
                    content = hashlib.sha256(path.read_bytes()).hexdigest()
                found[str(path)] = (seen.st_mode, seen.st_uid, seen.st_nlink, content)
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        mine = [
            x for x in lines if " - tmpfs remit-small-disk " not in x
        ]  # of tests beside this one
        return {"files": found, "mounts": sorted(mine), "cwd": str(Path.cwd())}

    def as_it_was(self) -> bool:
        now = self.look()
        now["files"].pop(str(self.clone), None)
        self.before["files"].pop(str(self.clone), None)
        return now == self.before


@pytest.fixture(scope="session")
def sandbox() -> BubblewrapSandbox:
    if not sys.platform.startswith("linux"):
        pytest.skip("the sandbox is bubblewrap's, which needs Linux")
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed: install the package bubblewrap")
    tried = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True, text=True
    )
    if tried.returncode and denied_namespaces(tried.stderr):
        pytest.skip(f"this system lets nobody make namespaces: {tried.stderr.strip()}")
    return BubblewrapSandbox()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    root = tmp_path.resolve()
    clone, secret = root / "clone", root / "home" / ".ssh" / "id_ed25519"
    clone.mkdir()
    secret.parent.mkdir(parents=True)
    secret.write_text(SECRET)
    repository = root / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True)
    (repository / "kept.txt").write_text("kept\n")
    made = Host(root, clone, secret)
    made.before = made.look()
    return made


Cells = Callable[..., BubblewrapCell]


@pytest.fixture
def cells(sandbox: BubblewrapSandbox, host: Host) -> Iterator[Cells]:
    made: list[BubblewrapCell] = []

    def build(**changes: Any) -> BubblewrapCell:
        room = Room(
            **{
                "attempt": "W-1.1",
                "clone": host.clone,
                "commands": (python(), "sh", "git", "printf"),
                "limits": SMALL,
                **changes,
            }
        )
        cell = sandbox.prepare(room)
        assert not isinstance(cell, SandboxRefusal), cell
        made.append(cell)
        return cell

    yield build
    for cell in made:
        cell.close()


def guest(
    cell: BubblewrapCell, *argv: str, timeout_ms: int = 60_000, limit: int = 65_536
) -> Finished:
    """Start a command as a supervisor would, from a host whose environment is not clean."""
    wrapped = cell.command(argv)
    assert not isinstance(wrapped, SandboxRefusal), wrapped
    return run_bounded(
        wrapped,
        cwd=Path("/"),
        environment={**os.environ, "PLANTED_TOKEN": SECRET},
        timeout_ms=timeout_ms,
        output_limit_bytes=limit,
        merge_stderr=True,
    )


def hostile(cell: BubblewrapCell, script: str, **named: Any) -> str:
    """Run a script of a hostile guest to its end; its output, in which OUT means that it got out."""
    done = guest(cell, python(), "-c", PRELUDE + script, **named)
    said = done.stdout.whole().decode("utf-8", "replace")
    assert done.exit_code == 0, said
    assert "held" in said, said
    return said


needs_scanner = pytest.mark.skipif(
    secrets.find() is None, reason="kingfisher is not installed; remit[drain] brings it"
)


def token(seed: int = 5) -> str:
    """A token in the form of a real one, made up here."""
    chance = random.Random(seed)
    return "ghp_" + "".join(chance.choice(string.ascii_letters + string.digits) for _ in range(36))


@pytest.fixture(scope="session")
def scanner(sandbox: BubblewrapSandbox, tmp_path_factory: pytest.TempPathFactory) -> Kingfisher:
    """A scanner whose rules are compiled once for all tests."""
    return Kingfisher(sandbox, tmp_path_factory.mktemp("cache"))
