"""Registered rows behind walls: what a guest's commit makes them do stays in a cell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.isolation.conftest import SECRET, Host

from remit.core.gitfacts import RepositoryRefusal
from remit.core.rows import RowKind, RowSpec, Verdict
from remit.isolation.bubblewrap import BubblewrapSandbox
from remit.ports.outside import Found
from remit.repository import GitRepository
from remit.verify.builtin import BuiltInVerifier
from remit.wiring import isolating


@pytest.fixture
def commits(host: Host, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A base on which the check fails, and a guest's commit that makes it pass, and tries more."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    mine = host.root / "repository"

    def commit(script: str) -> str:
        (mine / "check.sh").write_text(script)
        subprocess.run(["git", "add", "-A"], cwd=mine, check=True)
        subprocess.run(["git", "commit", "-q", "-m", "c"], cwd=mine, check=True)
        shown = subprocess.run(["git", "rev-parse", "HEAD"], cwd=mine, stdout=-1, check=True)
        return shown.stdout.decode().strip()

    base = commit("exit 1\n")
    shipped = commit(
        f"cat {host.secret}; touch {host.root}/owned; env; git log -1 --format=%s;"
        f" echo x > {mine}/.git/hooks/post-checkout; echo ran; exit 0\n"
    )
    return base, shipped


def verify(host: Host, commits: tuple[str, str]) -> Found:
    base, shipped = commits
    verifier = isolating.walled_verifier(
        host.root / "repository", "origin", "main", isolating.row_walls()
    )
    row = RowSpec(RowKind.COMMAND, argv=("sh", "check.sh"))
    found = verifier.verify(shipped, base, [("r", row)], ("**",), ())
    assert not isinstance(found, RepositoryRefusal), found
    return found


def test_a_row_runs_in_a_cell(
    sandbox: BubblewrapSandbox,
    host: Host,
    commits: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", SECRET)
    row = verify(host, commits).rows[0]
    assert row.result.result is Verdict.VERIFIED, row.log
    assert b"ran" in row.log
    assert SECRET.encode() not in row.log
    assert b"\nc\n" in row.log  # git works in the checkout, which borrows the host's objects
    assert not (host.root / "owned").exists()
    assert not (host.root / "repository" / ".git" / "hooks" / "post-checkout").exists()


def test_without_a_cell_no_row_is_started(
    host: Host, commits: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    monkeypatch.setattr(isolating, "sandbox", lambda: BubblewrapSandbox(search=str(nothing)))
    row = verify(host, commits).rows[0]
    assert row.result.result is not Verdict.VERIFIED
    assert b"no bwrap" in row.log
    assert b"\nran\n" not in row.log
    assert not (host.root / "owned").exists()


def test_the_same_row_without_walls_reaches_the_host(host: Host, commits: tuple[str, str]) -> None:
    """The control of the tests above: what the row tries does work where nothing holds it."""
    base, shipped = commits
    verifier = BuiltInVerifier(GitRepository(host.root / "repository"))
    row = RowSpec(RowKind.COMMAND, argv=("sh", "check.sh"))
    found = verifier.verify(shipped, base, [("r", row)], ("**",), ())
    assert isinstance(found, Found)
    assert SECRET.encode() in found.rows[0].log
    assert (host.root / "owned").exists()
