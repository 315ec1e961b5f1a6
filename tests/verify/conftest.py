"""One real repository with a base and a shipped commit, isolated from the machine's git settings."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from remit.repository import GitRepository


@dataclass
class Room:
    path: Path
    work: Path

    @property
    def repository(self) -> GitRepository:
        return GitRepository(self.path)

    def git(self, *args: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.path, capture_output=True, check=True, timeout=60
        )
        return done.stdout.decode().strip()

    def commit(self, files: dict[str, str]) -> str:
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "c")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    for name in list(os.environ):
        if name.startswith("GIT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    made = Room(tmp_path / "repo", tmp_path / "work")
    made.path.mkdir()
    made.work.mkdir()
    made.git("init", "-q", "-b", "main")
    return made
