"""What a room may show, which commands it starts, and what is looked at before work."""

from __future__ import annotations

import contextlib
import fcntl
import stat
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.ground.signals import marks
from tests.isolation.conftest import SECRET, Cells, Host, guest, python

from remit.core.checks import Result
from remit.isolation import remains
from remit.isolation.bubblewrap import BubblewrapSandbox
from remit.isolation.elsewhere import NoSandbox
from remit.isolation.secrets import before_work
from remit.ports.sandbox import Room, SandboxCode, SandboxRefusal, refused


@pytest.mark.parametrize(
    "path", ["/", "/etc", "/usr", "/usr/bin", "/tmp", "/run", "/var", "/proc/self", "relative", "~"]
)
def test_a_room_that_shows_too_much_is_refused(sandbox: BubblewrapSandbox, path: str) -> None:
    where = Path.home() if path == "~" else Path(path)
    refusal = sandbox.prepare(Room("W-1.1", where))
    assert isinstance(refusal, SandboxRefusal)
    assert refusal.code is SandboxCode.ROOM_UNFIT
    assert refusal.hint


def test_links_files_and_absent_folders_are_refused(
    sandbox: BubblewrapSandbox, host: Host, tmp_path: Path
) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(host.clone)
    file.write_text("")
    for path in (link, file, tmp_path / "absent"):
        refusal = sandbox.prepare(Room("W-1.1", host.clone, writable=(path,)))
        assert isinstance(refusal, SandboxRefusal)
        assert refusal.details["path"] == str(path)


def test_a_path_that_the_guest_could_exchange_is_refused(
    sandbox: BubblewrapSandbox, host: Host
) -> None:
    inner = host.clone / "inner"
    inner.mkdir()
    for room in (
        Room("W-1.1", host.clone, read_only=(inner,)),
        Room("W-1.1", host.clone, writable=(inner,)),
        Room("W-1.1", inner, writable=(host.clone,)),
    ):
        refusal = sandbox.prepare(room)
        assert isinstance(refusal, SandboxRefusal)
        assert "the guest may write" in refusal.message


def test_what_is_granted_stands_in_no_list_of_processes(cells: Cells, host: Host) -> None:
    cell = cells(environment={"GRANTED": SECRET}, granted=("GRANTED",))
    argv = cell.command(["sh", "-c", "echo $GRANTED; sleep 600"])
    assert not isinstance(argv, SandboxRefusal)
    assert SECRET not in " ".join(argv)
    assert stat.S_IMODE(cell.folder.stat().st_mode) == 0o700
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().decode().strip() == SECRET
        lines = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # others come and go
                lines.append(path.read_bytes())
        assert any(b"sleep 600" in line for line in lines)
        assert not any(SECRET.encode() in line for line in lines)
        process.kill()


def test_other_systems_refuse_and_say_so(host: Host) -> None:
    nowhere = NoSandbox("win32")
    refusal = nowhere.prepare(Room("W-1.1", host.clone))
    assert isinstance(refusal, SandboxRefusal)
    assert refusal.code is SandboxCode.SANDBOX_MISSING
    assert [probe.result for probe in nowhere.examine()] == [Result.BLOCKED]


def test_a_user_without_a_home_has_a_sandbox_too(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert refused(cells().probe()) == ()


@pytest.mark.parametrize("name", ["LD_PRELOAD", "A=B", "", "ä", "A B"])
def test_variables_that_cannot_be_are_refused(
    sandbox: BubblewrapSandbox, host: Host, name: str
) -> None:
    refusal = sandbox.prepare(Room("W-1.1", host.clone, environment={name: "x"}))
    assert isinstance(refusal, SandboxRefusal)
    assert "variable" in refusal.message


@pytest.mark.parametrize("argv", [[], ["bash"], ["/bin/sh"], ["sh\0x"], ["sh", "a\0b"], ["SH"]])
def test_only_allowed_commands_start(cells: Cells, argv: list[str]) -> None:
    refusal = cells().command(argv)
    assert isinstance(refusal, SandboxRefusal)
    assert refusal.code is SandboxCode.COMMAND_NOT_ALLOWED


def test_paths_mean_the_same_inside(cells: Cells, host: Host, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "seen.txt").write_text("seen\n")
    cell = cells(read_only=(shared.resolve(),))
    script = f"cat {shared}/seen.txt; echo done > here.txt; pwd; touch {shared}/x"
    done = guest(cell, "sh", "-c", script)
    said = done.stdout.whole().decode()
    assert said.startswith(f"seen\n{host.clone}\n")
    assert "Read-only file system" in said
    assert (host.clone / "here.txt").read_text() == "done\n"
    assert (host.clone / "here.txt").stat().st_uid == host.clone.stat().st_uid


def test_git_works_in_a_clone_inside(cells: Cells, host: Host) -> None:
    subprocess.run(["git", "init", "-q", host.clone], check=True)
    commit = "echo 1 > a && git add a && git -c user.name=a -c user.email=a@b commit -q -m one"
    done = guest(cells(), "sh", "-c", f"{commit} && git rev-parse HEAD")
    assert done.exit_code == 0, done.stdout.whole()
    assert len(done.stdout.whole().strip()) == 40


def test_exit_codes_and_missing_programs(cells: Cells) -> None:
    cell = cells(commands=("sh", "absent"))
    assert guest(cell, "sh", "-c", "exit 7").exit_code == 7
    assert guest(cell, "absent").exit_code == 127


def test_a_cell_that_cannot_be_closed_starts_nothing(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.isolation import layout

    whole = layout.closing
    monkeypatch.setattr(
        layout,
        "closing",
        lambda room, tools: [w.replace("/dev/shm", "/absent") for w in whole(room, tools)],
    )
    done = guest(cells(), "sh", "-c", "echo started")
    assert done.exit_code == 125
    assert b"started" not in done.stdout.whole()
    assert b"cannot be closed" in done.stdout.whole()


def results(room: Room) -> dict[str, Result]:
    return {probe.name: probe.result for probe in before_work(room)}


def test_a_clean_room_has_no_credentials(host: Host) -> None:
    room = Room("W-1.1", host.clone, environment={"CI": "1", "PYTHONPATH": "src"})
    assert set(results(room).values()) == {Result.PASS}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "x"),
        ("AWS_SECRET_ACCESS_KEY", "x"),
        ("MY_API_KEY", "x"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("HARMLESS", "ghp_0123456789abcdef0123456789abcdef0123"),
        ("REMOTE", "https://ada:word@example.org/repo.git"),
    ],
)
def test_a_credential_in_the_environment_is_found_and_may_be_granted(
    host: Host, name: str, value: str
) -> None:
    room = Room("W-1.1", host.clone, environment={name: value})
    first = before_work(room)[0]
    assert first.result is Result.FAIL
    assert name in first.evidence
    assert value not in first.evidence or len(value) == 1
    granted = Room("W-1.1", host.clone, environment={name: value}, granted=(name,))
    first = before_work(granted)[0]
    assert first.result is Result.PASS
    assert f"granted by name: {name}" in first.evidence


def test_credentials_in_what_is_shown_are_found(host: Host) -> None:
    room = Room("W-1.1", host.clone, read_only=(host.secret.parent.parent,))
    assert results(room)["no-credentials-in-home"] is Result.FAIL


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("credential.helper", "store"),
        ("http.https://example.org/.extraHeader", "Authorization: Basic x"),
        ("include.path", "~/.gitconfig"),
        ("core.sshCommand", "ssh -i key"),
        ("remote.origin.url", "https://ada:word@example.org/repo.git"),
    ],
)
def test_credentials_in_git_settings_are_found(host: Host, name: str, value: str) -> None:
    subprocess.run(["git", "init", "-q", host.clone], check=True)
    assert set(results(Room("W-1.1", host.clone)).values()) == {Result.PASS}
    subprocess.run(["git", "config", name, value], cwd=host.clone, check=True)
    found = before_work(Room("W-1.1", host.clone))
    assert found[2].result is Result.FAIL
    assert "word" not in found[2].evidence


def test_settings_that_cannot_be_read_are_blocked(host: Host) -> None:
    (host.clone / ".git").mkdir()
    (host.clone / ".git" / "config").write_text("[broken\n")
    assert before_work(Room("W-1.1", host.clone))[2].result is Result.BLOCKED


def test_the_home_inside_is_empty(cells: Cells) -> None:
    script = "import os; print(sorted(os.listdir(os.environ['HOME'])), os.environ['HOME'])"
    done = guest(cells(), python(), "-c", script)
    assert done.stdout.whole() == b"[] /home/guest\n"


def test_what_a_command_prints_is_never_the_hosts(cells: Cells, host: Host) -> None:
    done = guest(cells(), "sh", "-c", f"cat {host.secret}; env")
    said: Any = done.stdout.whole().decode()
    assert SECRET not in said


def test_a_folder_is_held_before_anybody_could_take_it_for_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Cells that are made side by side: none is cleared away between its making and its lock."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lock = fcntl.flock
    cleared: list[int] = []

    def slow(at: int, how: int) -> None:
        if how == fcntl.LOCK_EX:
            cleared.append(remains.clear())
        lock(at, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with ExitStack() as closing:
        folder = remains.claim(closing)
        assert (cleared, folder.is_dir()) == ([0], True)
        assert remains.clear() == 0
    assert list(tmp_path.iterdir()) == []


def test_in_a_sealed_room_the_clone_is_only_seen(cells: Cells, host: Host, tmp_path: Path) -> None:
    exchange = tmp_path / "exchange"
    exchange.mkdir()
    (host.clone / "there").write_text("as it was\n")
    cell = cells(writable=(exchange,), sealed=True)
    tried = (
        f"cat there; echo x > there; echo x > {host.clone}/new; mkdir sub; echo ok > {exchange}/out"
    )
    argv = cell.command(["sh", "-c", tried])
    assert not isinstance(argv, SandboxRefusal)
    done = subprocess.run(argv, capture_output=True, check=False, timeout=60)
    assert done.stdout == b"as it was\n"
    assert done.stderr.count(b"Read-only file system") == 3
    assert sorted(p.name for p in host.clone.iterdir() if p.name != ".git") == ["there"]
    assert (exchange / "out").read_text() == "ok\n"
    assert refused(cell.probe()) == ()


HOSTILE = {
    "OPTIND": "junk",
    "BASH_FUNC_printf%%": "() { echo planted; }",
    "BASH_FUNC_exec%%": "() { echo planted; }",
    "ENV": "/planted",
    "BASH_ENV": "/planted",
    "SHELLOPTS": "xtrace:noexec",
    "PS4": "$(echo planted >&2)",
    "IFS": "/",
    "CDPATH": "/",
    "PATH": "/planted",
    "GLOBIGNORE": "*",
    "POSIXLY_CORRECT": "1",
}


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_the_door_takes_nothing_from_the_environment(
    cells: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    if not Path(shell).exists():
        pytest.skip(f"there is no {shell}")
    link = tmp_path / "sh"  # by that name bash is a shell of the system's
    link.symlink_to(shell)
    monkeypatch.setattr("remit.isolation.cell.SHELL", str(link))
    argv = cells().command(["sh", "-c", "echo in; env"])
    assert not isinstance(argv, SandboxRefusal)
    done = subprocess.run(argv, env=HOSTILE, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("in\n")
    assert "planted" not in done.stdout


def test_a_guest_has_every_signal_as_it_is_by_default(cells: Cells) -> None:
    argv = cells().command(["sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status"])
    assert not isinstance(argv, SandboxRefusal)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert marks(done.stdout) == {"SigBlk": set(), "SigIgn": set()}, done


def test_a_group_with_a_colon_in_its_name_is_joined(tmp_path: Path) -> None:
    from remit.isolation.cell import DOOR, EMPTY, SHELL
    from remit.isolation.groups import Groups

    made = tmp_path / "a:b c" / "remit-cell-x"
    other = tmp_path / "remit-cell-y"
    for folder in (made, other):
        folder.mkdir(parents=True)
        (folder / "cgroup.procs").touch()
    (tmp_path / "walls").touch()
    argv = [EMPTY, "-i", SHELL, "-c", DOOR, "remit-enter", Groups((made, other)).joins]
    argv += [str(tmp_path / "walls"), EMPTY, "/no/python", "/bin/true"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    for folder in (made, other):
        assert (folder / "cgroup.procs").read_text().isdecimal()
