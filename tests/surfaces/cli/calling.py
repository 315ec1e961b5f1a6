"""Calling the command line in tests: in this process, with its streams captured, or as a process."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.surfaces.cli.main import main

SRC = Path(__file__).parents[3] / "src"
IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
}


@dataclass(frozen=True)
class Ran:
    """What a call left behind."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        found = json.loads(self.out)
        assert found["schema_version"] == 1
        assert set(found) == {"schema_version", "data"}
        return found["data"]

    @property
    def error(self) -> Any:
        found = json.loads(self.err)
        assert set(found) == {"schema_version", "error"}
        assert set(found["error"]) == {"code", "message", "hint", "details"}
        return found["error"]


class Cli:
    """Calls in one folder, as one actor unless a call says otherwise."""

    def __init__(self, cwd: Path, actor: str = "ann") -> None:
        self.cwd = cwd
        self.actor = actor

    def run(self, *argv: str, cwd: Path | None = None) -> Ran:
        """Any call in this process, as it is."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "strict") for _ in range(2))
        with (
            contextlib.chdir(cwd or self.cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = main(list(argv))
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())
        return Ran(status, *texts)

    def text(self, *argv: str, status: int = 0, actor: str = "", cwd: Path | None = None) -> str:
        """What people see of a call that ends with this status."""
        ran = self.run(*argv, "--as", actor or self.actor, cwd=cwd)
        assert ran.status == status, f"{argv}: {ran}"
        assert "Traceback" not in ran.err
        return ran.out

    def json(self, *argv: str, status: int = 0, actor: str = "", cwd: Path | None = None) -> Any:
        """The data of a call that ends with this status."""
        ran = self.run(*argv, "--json", "--as", actor or self.actor, cwd=cwd)
        assert ran.status == status, f"{argv}: {ran}"
        return ran.data

    def refused(
        self, *argv: str, status: int, code: str, actor: str = "", cwd: Path | None = None
    ) -> Any:
        """The error of a call, which is said in one line to people as well."""
        ran = self.run(*argv, "--json", "--as", actor or self.actor, cwd=cwd)
        assert (ran.status, ran.out) == (status, ""), f"{argv}: {ran}"
        error = ran.error
        assert error["code"] == code, f"{argv}: {error}"
        assert error["message"]
        return error

    def line(self, *argv: str, status: int, actor: str = "", cwd: Path | None = None) -> str:
        """The one line that people get of a failed call."""
        ran = self.run(*argv, "--as", actor or self.actor, cwd=cwd)
        assert ran.status == status, f"{argv}: {ran}"
        assert ran.out == ""
        assert ran.err.count("\n") == 1, f"{argv}: more than a line: {ran.err!r}"
        assert "Traceback" not in ran.err
        return ran.err.rstrip("\n")


def environment(**more: str) -> dict[str, str]:
    """The environment of a real process: this interpreter's, the sources, nothing of a person."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    return {**kept, "PYTHONPATH": str(SRC), "LC_ALL": "C.UTF-8", **IDENTITY, **more}


def process(
    cwd: Path, *argv: str, env: dict[str, str] | None = None, **how: Any
) -> subprocess.CompletedProcess[bytes]:
    """A call as a real process."""
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60, **how}
    return subprocess.run(
        [sys.executable, "-m", "remit", *argv], cwd=cwd, env=env or environment(), **how
    )


def git(cwd: Path, *argv: str) -> str:
    """A git command that has to succeed."""
    env = {**os.environ, **IDENTITY}
    done = subprocess.run(["git", *argv], cwd=cwd, env=env, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()
