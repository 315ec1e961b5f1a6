"""A small lab of real git repositories: a bare origin, and the person's clone of it.

Nothing of the machine's own git configuration plays a part: each test has an empty HOME, its own
global configuration file and a fixed identity.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal
from remit.repository import GitRepository


@dataclass
class Lab:
    root: Path
    origin: Path
    host: Path

    def git(self, *args: str, cwd: Path | None = None, ok: bool = True) -> str:
        done = subprocess.run(
            ["git", *args], cwd=cwd or self.host, capture_output=True, check=False, timeout=60
        )
        if ok and done.returncode:
            raise AssertionError(f"git {args} in {cwd}: {done.stderr.decode()}")
        return done.stdout.decode().strip()

    def commit(self, files: dict[str, str | bytes], cwd: Path | None = None, say: str = "c") -> str:
        where = cwd or self.host
        for name, content in files.items():
            path = where / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "-A", "-f", cwd=where)
        self.git("commit", "-q", "--allow-empty", "-m", say, cwd=where)
        return self.git("rev-parse", "HEAD", cwd=where)

    def push(self, *args: str, cwd: Path | None = None) -> None:
        self.git("push", "-q", *args, "origin", "HEAD:main", cwd=cwd)

    def other(self, name: str = "other") -> Path:
        """Another person's clone of the origin."""
        path = self.root / name
        self.git("clone", "-q", str(self.origin), str(path), cwd=self.root)
        return path

    def refs(self, cwd: Path | None = None) -> dict[str, str]:
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)", cwd=cwd).splitlines()
        return dict(line.split(" ", 1) for line in lines)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    (home / "gitconfig").write_text("[init]\n\tdefaultBranch = main\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")


@pytest.fixture
def lab(tmp_path: Path, alone: None) -> Lab:
    made = Lab(tmp_path, tmp_path / "origin.git", tmp_path / "host")
    made.git("init", "-q", "--bare", "-b", "main", str(made.origin), cwd=tmp_path)
    made.git("init", "-q", "-b", "main", str(made.host), cwd=tmp_path)
    made.git("remote", "add", "origin", str(made.origin))
    made.commit({"a.txt": "one\n", "src/app.py": "x = 1\n"})
    made.push()
    return made


@pytest.fixture
def repo(lab: Lab) -> GitRepository:
    return GitRepository(lab.host)


def refused(value: object, code: RepositoryCode) -> RepositoryRefusal:
    """Assert that a value is a refusal with this code, with words and a next step."""
    assert isinstance(value, RepositoryRefusal), value
    assert value.code is code, value
    assert value.message
    assert value.hint
    return value


@pytest.fixture(name="refused")
def _refused() -> object:
    return refused
