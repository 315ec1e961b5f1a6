"""A folder with a ledger, and a repository with an origin, to call the command line in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cli.calling import IDENTITY, Cli, git


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests plays a part."""
    for name in ("REMIT_LEDGER", "REMIT_ACTOR", "REMIT_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("COLUMNS", "120")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A ledger in a folder that is no repository; ann is its first human, bot an agent."""
    here = tmp_path / "here"
    here.mkdir()
    found = Cli(here)
    found.json("init")
    found.json("actor", "add", "bot")
    return found


@pytest.fixture
def repo(tmp_path: Path) -> Cli:
    """A repository with one commit on the main of its origin, and a ledger of its own."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(tmp_path, "clone", "-q", "origin.git", "work")
    work = tmp_path / "work"
    git(work, "checkout", "-q", "-b", "main")
    (work / "prog.py").write_text("def f(): return 1\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    git(work, "push", "-q", "origin", "main")
    found = Cli(work)
    found.json("init")
    for name, kind in (("bot", "agent"), ("bea", "human"), ("cid", "human")):
        found.json("actor", "add", name, "--kind", kind)
    return found
