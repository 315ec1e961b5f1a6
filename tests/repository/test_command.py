"""How git is run: its environment, its bounds, and what becomes of its failures."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, redact_text, redact_url
from remit.machine.git import Trust
from remit.machine.processes import ending_with_us
from remit.repository import Git, GitLimits, GitRepository


def fake_git(root: Path, body: str) -> str:
    program = root / "fake-git"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return str(program)


def test_refuses_a_missing_git(lab: Any, refused: Any) -> None:
    repo = GitRepository(lab.host, git=Git(program=str(lab.root / "no-git")))
    refused(repo.observe_main(), RepositoryCode.GIT_MISSING)


def test_a_git_that_hangs_and_ignores_signals_is_ended(lab: Any, refused: Any) -> None:
    program = fake_git(lab.root, "trap '' TERM\nsleep 90 &\nwait\nsleep 90")
    repo = GitRepository(lab.host, git=Git(program, GitLimits(local_ms=200)))
    started = time.monotonic()
    refused(repo.observe_main(), RepositoryCode.GIT_TIMEOUT)
    assert time.monotonic() - started < 60


def test_a_remote_that_hangs_is_a_timeout(lab: Any, refused: Any) -> None:
    slow = lab.root / "slow.sh"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    lab.git("config", "remote.origin.uploadpack", str(slow))
    repo = GitRepository(lab.host, git=Git(limits=GitLimits(network_ms=300)))
    refused(repo.observe_main(), RepositoryCode.GIT_TIMEOUT)


def test_output_without_end_is_refused_in_bounded_memory(lab: Any, refused: Any) -> None:
    program = fake_git(lab.root, "head -c 20000000 /dev/zero")
    git = Git(program, GitLimits(output_bytes=1_000))
    found = git.run(["anything"], cwd=lab.host, operation="test")
    refused(found, RepositoryCode.OUTPUT_TOO_LARGE)


def test_the_isolated_environment_holds_nothing_of_the_persons(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "REMIT_TOKEN", "SSH_AUTH_SOCK", "GIT_DIR", "HOME"):
        monkeypatch.setenv(name, "x")
    isolated = Git().environment(Trust.ISOLATED)
    assert not {"AWS_SECRET_ACCESS_KEY", "REMIT_TOKEN", "SSH_AUTH_SOCK", "GIT_DIR", "HOME"} & set(
        isolated
    )
    assert isolated["GIT_CONFIG_NOSYSTEM"] == "1"
    assert Path(isolated["GIT_CONFIG_GLOBAL"]).is_file()
    for environment in (isolated, Git().environment(Trust.PERSON)):
        assert environment["GIT_TERMINAL_PROMPT"] == "0"
        assert environment["GIT_OPTIONAL_LOCKS"] == "0"
        assert environment["LC_ALL"] == "C"


@pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_TRACE"])
def test_variables_that_move_git_are_dropped(
    lab: Any, repo: GitRepository, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, str(lab.root / "elsewhere"))
    assert not isinstance(repo.observe_main(), RepositoryRefusal)
    assert not (lab.root / "elsewhere").exists()


def test_ssh_never_prompts_unless_the_person_chose_a_command(lab: Any, refused: Any) -> None:
    log = lab.root / "ssh.log"
    ssh = lab.root / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{log}'\nexit 255\n")
    ssh.chmod(0o755)
    lab.git("remote", "set-url", "origin", "ssh://git@h.example/x.git")
    inherited = dict(os.environ) | {"PATH": f"{ssh.parent}:{os.environ['PATH']}"}
    repo = GitRepository(lab.host, git=Git(inherited=inherited))
    refused(repo.observe_main(), RepositoryCode.REMOTE_UNREACHABLE)
    assert "BatchMode=yes" in log.read_text()
    log.unlink()
    lab.git("config", "core.sshCommand", f"{ssh} -o Mine=yes")
    refused(repo.observe_main(), RepositoryCode.REMOTE_UNREACHABLE)
    assert "Mine=yes" in log.read_text()
    assert "BatchMode" not in log.read_text()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://ada:pw@h.example/x.git", "https://h.example/x.git"),
        ("https://t0ken@h.example/x.git?a=b#c", "https://h.example/x.git"),
        ("ssh://git:pw@h.example:22/x.git", "ssh://git@h.example:22/x.git"),
        ("ssh://git@h.example/x.git", "ssh://git@h.example/x.git"),
        ("git@h.example:x.git", "git@h.example:x.git"),
        ("https://a@b:p@h.example/x", "https://h.example/x"),
        ("file:///srv/x#1.git", "file:///srv/x#1.git"),
        ("/srv/x.git", "/srv/x.git"),
        ("https://h.example", "https://h.example"),
    ],
)
def test_urls_lose_their_credentials(url: str, shown: str) -> None:
    assert redact_url(url) == shown
    assert redact_text(f"fatal: '{url}' is away") == f"fatal: '{shown}' is away"


def test_no_dialogue_opens_for_a_password(lab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_ASKPASS", "/usr/bin/some-dialogue")
    assert Git().environment(Trust.PERSON)["GIT_ASKPASS"] == ""
    monkeypatch.setenv("GIT_ASKPASS", "/opt/ci/token")
    assert Git().environment(Trust.PERSON)["GIT_ASKPASS"] == "/opt/ci/token"


def gits_of(folder: Path) -> list[int]:
    """The processes of git that work for a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().split(b"\0")
            if words[0].endswith(b"git") and any(os.fsencode(folder) in word for word in words):
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(
    not ending_with_us(), reason="this system has no setpriv that asks a child to end"
)
def test_a_git_at_a_remote_ends_with_whoever_started_it(lab: Any) -> None:
    slow = lab.root / "slow.sh"
    slow.write_text("#!/bin/sh\ntrap 'exit 0' HUP TERM\nwhile :; do sleep 1; done\n")
    slow.chmod(0o755)
    lab.git("config", "remote.origin.uploadpack", str(slow))
    script = (
        "import pathlib, sys; from remit.repository import GitRepository;"
        " GitRepository(pathlib.Path(sys.argv[1])).observe_main()"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(lab.host)]) as process:
        until(lambda: bool(gits_of(lab.host)))
        found = gits_of(lab.host)
        process.kill()
    try:
        until(lambda: not gits_of(lab.host))
    finally:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def until(holds: Callable[[], bool]) -> None:
    """Wait for something, with patience."""
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come")


def test_a_missing_git_is_said_also_where_another_program_would_start_it(
    lab: Any, refused: Any
) -> None:
    git = Git(program=str(lab.root / "no-git"))
    found = git.run(["fetch"], cwd=lab.host, operation="test", network=True, trust=Trust.PERSON)
    assert "No such file" in refused(found, RepositoryCode.GIT_MISSING).message
