"""Whether a key signs unprompted, tried with real files and real agents.

INV-15 rests on it.
"""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.ground.people import Key, make_key, typing

from remit.core.checks import Result
from remit.ports.signing import PublicKey
from remit.signatures import reach
from remit.signatures.keys import read_line
from remit.signatures.reach import MOST_FILES, MOST_SOCKETS, Surroundings, here, try_key


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / "proc" / "net").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def agent(home: Path) -> Iterator[Path]:
    socket = home / "agent.sock"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    while not socket.exists():
        assert process.poll() is None
    yield socket
    process.terminate()
    process.wait()


def public(key: Key) -> PublicKey:
    found = read_line(key.line)
    assert isinstance(found, PublicKey)
    return found


def around(home: Path, *files: Path, socket: str = "") -> Surroundings:
    return Surroundings((home,), files, socket, proc=home / "proc")


def unlock(key: Key, socket: Path) -> None:
    env = {**typing(key), "SSH_AUTH_SOCK": str(socket)}
    subprocess.run(["ssh-add", "-q", str(key.path)], env=env, check=True, capture_output=True)


class Listed(list[Any]):
    """What ``os.scandir`` gives, in an order of our own."""

    def __enter__(self) -> Listed:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open."""


def test_a_folder_that_goes_away_hides_no_socket_behind_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look at the usual places ended there, so an agent might not have been asked."""
    real = os.scandir

    def scandir(path: Any = ".") -> Any:
        if "ssh-0gone" in str(path):
            raise FileNotFoundError(path)
        if str(path) == "/tmp":
            with real(path) as entries:
                return Listed(sorted(entries, key=lambda entry: entry.name))
        return real(path)

    with (
        tempfile.TemporaryDirectory(prefix="ssh-0gone", dir="/tmp") as gone,
        tempfile.TemporaryDirectory(prefix="ssh-1there", dir="/tmp") as there,
        socket.socket(socket.AF_UNIX) as listening,
        monkeypatch.context() as patch,
    ):
        listening.bind(f"{there}/agent.1")
        patch.setattr(os, "scandir", scandir)
        found = list(reach._usual(around(home)))
    assert f"{there}/agent.1" in found
    assert not any(name.startswith(gone) for name in found)


def test_a_key_with_a_passphrase_is_out_of_reach(home: Path) -> None:
    key = make_key(home / ".ssh", "id_ed25519")
    assert try_key(public(key), around(home)).result is Result.PASS


@pytest.mark.parametrize("kind", [("-t", "ed25519"), ("-t", "rsa", "-b", "2048", "-m", "PEM")])
def test_a_plain_file_is_in_reach(home: Path, kind: tuple[str, ...]) -> None:
    key = make_key(home / ".ssh", "id_x", *kind, passphrase="")
    found = try_key(public(key), around(home))
    assert (found.result, found.where) == (Result.FAIL, str(key.path))


def test_a_plain_file_elsewhere_is_in_reach_where_it_was_named(home: Path, tmp_path: Path) -> None:
    key = make_key(tmp_path, "elsewhere", passphrase="")
    assert try_key(public(key), around(home)).result is Result.PASS
    named = around(home, Path(f"{key.path}.pub"))
    assert try_key(public(key), named).result is Result.FAIL


def test_permissions_that_openssh_refuses_do_not_hide_a_plain_file(home: Path) -> None:
    key = make_key(home / ".ssh", "id_open", passphrase="")
    key.path.chmod(0o644)
    assert try_key(public(key), around(home)).result is Result.FAIL


def test_an_unlocked_agent_is_in_reach(home: Path, agent: Path) -> None:
    key = make_key(home, "kept")
    assert try_key(public(key), around(home, socket=str(agent))).result is Result.PASS
    unlock(key, agent)
    found = try_key(public(key), around(home, socket=str(agent)))
    assert (found.result, found.where) == (Result.FAIL, str(agent))


def test_an_agent_that_the_environment_hides_is_found(home: Path, agent: Path) -> None:
    """Leaving SSH_AUTH_SOCK out is no way around it."""
    key = make_key(home, "kept")
    unlock(key, agent)
    table = home / "proc" / "net" / "unix"
    table.write_text(f"Num RefCount\n0000: 00000002 00000000 00010000 0001 01 7 {agent}\n")
    assert try_key(public(key), around(home)).result is Result.FAIL


def test_an_agent_that_asks_first_is_no_reach(home: Path, agent: Path) -> None:
    key = make_key(home, "asked")
    env = {**typing(key), "SSH_AUTH_SOCK": str(agent)}
    subprocess.run(["ssh-add", "-q", "-c", str(key.path)], env=env, check=True, capture_output=True)
    assert try_key(public(key), around(home, socket=str(agent))).result is Result.PASS


def test_an_agent_of_any_name_is_found_where_another_process_names_it(home: Path) -> None:
    """The person's shell says where the agent is, though its socket looks like none."""
    socket = home / "s"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    while not socket.exists():
        assert process.poll() is None
    try:
        key = make_key(home, "kept")
        unlock(key, socket)
        assert try_key(public(key), around(home)).result is Result.PASS
        shell = home / "proc" / "4711"
        shell.mkdir()
        (shell / "environ").write_bytes(f"A=1\0SSH_AUTH_SOCK={socket}\0B=2\0".encode())
        found = try_key(public(key), around(home))
        assert (found.result, found.where) == (Result.FAIL, str(socket))
    finally:
        process.terminate()
        process.wait()


def test_a_socket_that_nobody_listens_at_stops_nobody(home: Path) -> None:
    key = make_key(home, "kept")
    path = home / "agent.dead"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
    assert try_key(public(key), around(home, socket=str(path))).result is Result.PASS


def test_a_flood_of_sockets_hides_no_agent(home: Path, agent: Path) -> None:
    """Whoever makes more of them than are asked does not get its key past this."""
    key = make_key(home, "kept")
    unlock(key, agent)
    decoys = [home / f"agent.{n}" for n in range(MOST_SOCKETS + 1)]
    table = home / "proc" / "net" / "unix"
    lines = [f"0000: 00000002 00000000 00010000 0001 01 7 {path}\n" for path in (*decoys, agent)]
    table.write_text("".join(lines))
    for path in decoys:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
    assert try_key(public(key), around(home)).result is Result.BLOCKED
    for path in decoys[2:]:
        path.unlink()
    assert try_key(public(key), around(home)).result is Result.FAIL


def test_a_flood_of_files_hides_no_open_key(home: Path) -> None:
    key = make_key(home / ".ssh", "zz", passphrase="")
    for n in range(100):
        (home / ".ssh" / f"decoy-{n:04}").write_text("")
    assert try_key(public(key), around(home)).result is Result.FAIL
    for n in range(100, MOST_FILES + 1):
        (home / ".ssh" / f"decoy-{n:04}").write_text("")
    assert try_key(public(key), around(home)).result is Result.BLOCKED


@pytest.mark.parametrize("answer", [b"", b"\x00\x00\x00\x01\x05", b"\x7f\xff\xff\xff", b"\x00"])
def test_an_agent_that_makes_no_sense_is_blocked(home: Path, answer: bytes) -> None:
    """It hangs up, says no to a list, or lies about lengths: nothing is known of what it holds."""
    key = make_key(home, "kept")
    path = home / "odd.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            line, _ = listening.accept()
            with line:
                line.recv(64)
                line.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        assert try_key(public(key), around(home, socket=str(path))).result is Result.BLOCKED
        thread.join()


def test_a_file_that_cannot_be_tried_is_blocked(home: Path) -> None:
    """Without the system's own program nothing is known of an old file without passphrase."""
    key = make_key(home / ".ssh", "id_rsa", "-t", "rsa", "-b", "2048", "-m", "PEM", passphrase="")
    blind = Surroundings((home,), programs=("/nowhere",), proc=home / "proc")
    assert try_key(public(key), blind).result is Result.BLOCKED


def test_nothing_that_the_environment_says_hides_a_place(
    home: Path, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of the same names first in the path, and another home, change nothing."""
    fake = home / "bin"
    fake.mkdir()
    for name in ("ssh-add", "ssh-keygen"):
        (fake / name).write_text("#!/bin/sh\nexit 1\n")
        (fake / name).chmod(0o700)
    key = make_key(home, "kept")
    unlock(key, agent)
    monkeypatch.setenv("PATH", str(fake))
    monkeypatch.setenv("HOME", str(fake))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    found = try_key(public(key), here())
    assert (found.result, found.where) == (Result.FAIL, str(agent))
    assert Path(pwd.getpwuid(os.getuid()).pw_dir) in here().homes
