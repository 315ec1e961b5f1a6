"""Whether a key signs unprompted, tried with real files and real agents.

INV-15 rests on it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ground.people import Key, make_key, typing

from remit.core.checks import Result
from remit.ports.signing import PublicKey
from remit.signatures.keys import read_line
from remit.signatures.reach import Surroundings, try_key

PATH = (("PATH", "/usr/local/bin:/usr/bin:/bin"),)


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
    named = (("SSH_AUTH_SOCK", socket),) if socket else ()
    return Surroundings(home, files, (*PATH, *named), home / "proc")


def unlock(key: Key, socket: Path) -> None:
    env = {**typing(key), "SSH_AUTH_SOCK": str(socket)}
    subprocess.run(["ssh-add", "-q", str(key.path)], env=env, check=True, capture_output=True)


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


def test_a_place_that_cannot_be_tried_is_blocked(home: Path, agent: Path) -> None:
    """Without OpenSSH's programs nothing is known of an agent."""
    key = make_key(home, "kept")
    blind = Surroundings(home, (), (("PATH", "/nowhere"), ("SSH_AUTH_SOCK", str(agent))), home)
    assert try_key(public(key), blind).result is Result.BLOCKED
