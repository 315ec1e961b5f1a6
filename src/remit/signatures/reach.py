"""Whether a key signs for this user without anybody being asked: tried, not assumed.

An agent session runs as the same user. What it can sign with while nobody looks proves nothing about a
person, so each place from which it could do that is tried: private key files that open without a
passphrase, and every ssh-agent whose socket this user can reach, also one that the caller's environment
does not name. An agent is asked to sign a text of no meaning; private keys are never taken out.

A key is FAIL where a signature came back. An agent that holds the key and does not sign within the
bound asks somebody, and passes. A place that could not be tried is BLOCKED: what is not known is never
a pass.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import glob
import os
import pwd
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.core.checks import Result
from remit.machine.processes import Finished, run_bounded
from remit.ports.signing import PublicKey, Reach
from remit.signatures import agent
from remit.signatures.keys import read_line
from remit.signatures.sshsig import signed_data
from remit.signatures.wire import Reader, WireError

PROBE: Final = b"remit tries whether this key signs without asking\n"
NAMESPACE: Final = "remit-probe"
"""No act is signed in this namespace, so what a probe signs is of no use."""

BOUND_MS: Final = 3_000
"""How long an agent may take to sign before it counts as asking somebody."""

MOST_FILES: Final = 1_000
"""Most files of a person that are looked into."""

MOST_SOCKETS: Final = 64
"""Most sockets that are asked; where there are more of either, the key's reach is not known."""

_MOST_PROCESSES: Final = 20_000
_TABLE: Final = 4 * 1024 * 1024
_TOO_MANY: Final = "more places than are tried"
_LOOKS_LIKE_AGENT: Final = re.compile(r"ssh|agent|keyring|gcr|gnupg|1password", re.IGNORECASE)
BEGIN: Final = b"-----BEGIN OPENSSH PRIVATE KEY-----"
FORMAT: Final = b"openssh-key-v1\0"
_OUTPUT: Final = 65_536
"""Most bytes that are looked at of a file or an output."""


SYSTEM: Final = ("/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin")
"""Where a system keeps OpenSSH; only whoever runs the system writes there."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where to look: homes with keys, files and a socket that were named, and programs.

    Nothing that the environment says takes a place away: it only adds some.
    """

    homes: tuple[Path, ...]
    files: tuple[Path, ...] = ()
    socket: str = ""
    programs: tuple[str, ...] = SYSTEM
    proc: Path = Path("/proc")


def here(files: tuple[Path, ...] = ()) -> Surroundings:
    """The surroundings of this process: the user's home by the system's own word, and by ``HOME``."""
    homes = [Path.home()]
    with contextlib.suppress(KeyError):
        homes.insert(0, Path(pwd.getpwuid(os.getuid()).pw_dir))
    return Surroundings(tuple(homes), files, os.environ.get("SSH_AUTH_SOCK", ""))


def try_key(key: PublicKey, around: Surroundings) -> Reach:
    """Try every place; the first that signs decides."""
    blocked, seen = "", {True: 0, False: 0}
    for place in (*_files(around), *_sockets(around)):
        seen[place.file] += 1
        if seen[place.file] > (MOST_FILES if place.file else MOST_SOCKETS):
            blocked = blocked or _TOO_MANY
            continue
        found = _by_file(key, place, around) if place.file else _by_agent(key, place)
        if found is Result.FAIL:
            return Reach(Result.FAIL, str(place.path))
        if found is Result.BLOCKED:
            blocked = blocked or str(place.path)
    return Reach(Result.BLOCKED, blocked) if blocked else Reach(Result.PASS, "")


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    file: bool


def _files(around: Surroundings) -> Iterator[_Place]:
    own: list[Path] = []
    for home in around.homes:
        with contextlib.suppress(OSError):
            own += sorted(path for path in (home / ".ssh").iterdir() if path.is_file())
    named = [path for given in around.files for path in (given, given.with_suffix(""))]
    for path in dict.fromkeys((*named, *own)):
        yield _Place(path, file=True)


def _sockets(around: Surroundings) -> Iterator[_Place]:
    """Sockets of agents: the one that was named, those that other processes name, those that are open.

    What others of this user have in their environment is the person's own word on where the agent is,
    whatever it is called; a caller that hides its own hides none of theirs.
    """
    found: dict[str, None] = {}
    if around.socket:
        found[around.socket] = None
    found.update(dict.fromkeys(_named_by_others(around.proc)))
    found.update(dict.fromkeys(_usual(around)))
    try:
        with (around.proc / "net" / "unix").open("rb") as table:
            lines = table.read(_TABLE).splitlines()
    except OSError:
        lines = []
    for line in lines:
        path = os.fsdecode(line.rpartition(b" ")[2])
        if path.startswith("/") and _LOOKS_LIKE_AGENT.search(path):
            found[path] = None
    for path in found:
        if _is_socket(Path(path)):
            yield _Place(Path(path), file=False)


def _usual(around: Surroundings) -> Iterator[str]:
    """Where ``ssh-agent`` puts its socket by itself: a caller in a network namespace sees no table."""
    for pattern, folder in [("ssh-*/agent*", Path("/tmp"))] + [  # noqa: S108  # its place, not ours
        ("agent/*", home / ".ssh") for home in around.homes
    ]:
        # Others make and remove such folders meanwhile: one that went away may not hide the rest.
        for name in glob.iglob(pattern, root_dir=folder, include_hidden=True):  # noqa: PTH207  # Path.glob ends there
            yield str(folder / name)


def _named_by_others(proc: Path) -> Iterator[str]:
    """What processes that this user may look into have as ``SSH_AUTH_SOCK``."""
    with contextlib.suppress(OSError):
        entries = (entry for entry in os.scandir(proc) if entry.name.isdigit())
        for _, entry in zip(range(_MOST_PROCESSES), entries, strict=False):
            with contextlib.suppress(OSError), Path(entry.path, "environ").open("rb") as file:
                for variable in file.read(_OUTPUT * 4).split(b"\0"):
                    name, _, value = variable.partition(b"=")
                    if name == b"SSH_AUTH_SOCK" and value.startswith(b"/"):
                        yield os.fsdecode(value)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode) and os.access(path, os.W_OK)
    except OSError:
        return False


def _by_file(key: PublicKey, place: _Place, around: Surroundings) -> Result:
    """Whether a private key file opens without a passphrase and holds this key.

    A file that this user cannot read is no way for a session of this user either.
    """
    try:
        with place.path.open("rb") as file:
            text = file.read(_OUTPUT)
    except OSError:
        return Result.PASS
    if b"PRIVATE KEY-----" not in text[:256] or b"ENCRYPTED" in text[:512]:
        return Result.PASS
    if BEGIN in text[:256]:
        open_ = _unlocked(text, key)
    else:
        done = _run(["-y", "-P", "", "-f", str(place.path)], around)
        if done is None or b"permissions" in done.stderr.whole():
            return Result.BLOCKED
        held = read_line(done.stdout.whole().decode("utf-8", "replace"))
        open_ = isinstance(held, PublicKey) and held.blob == key.blob
    if not open_:
        return Result.PASS
    # The handle of a security key lies in a plain file: only the device says whether it asks.
    return _signs(str(place.path), around) if key.hardware else Result.FAIL


def _unlocked(text: bytes, key: PublicKey) -> bool:
    """Whether OpenSSH's own file format holds this key without a passphrase, by its open part.

    What the file's permissions are is no matter: whoever can read it can copy it.
    """
    try:
        body = text.partition(BEGIN)[2].partition(b"-----END")[0]
        reader = Reader(base64.b64decode(b"".join(body.split()), validate=True))
        if reader.raw(len(FORMAT)) != FORMAT:
            return False
        cipher, _, _ = reader.name(), reader.name(), reader.string()
        number = reader.number()
        public = reader.string() if number == 1 else b""
    except (WireError, binascii.Error):
        return False
    return cipher == "none" and base64.b64encode(public).decode() == key.blob


def _by_agent(key: PublicKey, place: _Place) -> Result:
    """Whether an agent signs with this key at once."""
    blob = base64.b64decode(key.blob)
    held = agent.holds(place.path, blob, BOUND_MS / 1_000)
    if held is None:
        return Result.BLOCKED
    if not held:
        return Result.PASS
    data = signed_data(PROBE, NAMESPACE, "sha512")
    signed = agent.signs(place.path, blob, data, BOUND_MS / 1_000)
    if signed is None:
        return Result.BLOCKED
    return Result.FAIL if signed else Result.PASS


def _signs(path: str, around: Surroundings) -> Result:
    """Whether the device behind a security key's file signs with nobody there."""
    argv = ["-Y", "sign", "-q", "-n", NAMESPACE, "-f", path]
    done = _run(argv, around, PROBE)
    if done is None:
        return Result.BLOCKED
    signed = b"BEGIN SSH SIGNATURE" in done.stdout.whole()
    return Result.FAIL if signed and not done.timed_out else Result.PASS


def _run(argv: list[str], around: Surroundings, stdin: bytes = b"") -> Finished | None:
    """Run the system's own ``ssh-keygen`` with nobody to ask; None where there is none.

    It is never taken from the caller's search path, where anybody may have put another one.
    """
    found = (Path(folder) / "ssh-keygen" for folder in around.programs)
    program = next((path for path in found if path.is_file()), None)
    if program is None:
        return None
    environment = {
        "PATH": os.pathsep.join(around.programs),
        "HOME": str(around.homes[0]),
        "LC_ALL": "C",
        "SSH_ASKPASS_REQUIRE": "never",
    }
    try:
        return run_bounded(
            [str(program), *argv],
            cwd=Path("/"),
            environment=environment,
            timeout_ms=BOUND_MS,
            output_limit_bytes=_OUTPUT,
            stdin=stdin,
            grace_ms=200,
        )
    except OSError:
        return None
