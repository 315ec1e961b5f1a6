"""Probes: tries to get out of a cell, from inside, judged on both sides of its wall.

Traps are laid on the host: a file to write to, a secret to read, a repository to plant a hook in, a
process to signal, listeners on TCP, UDP and UNIX sockets, a variable in the environment that the
cell is started with. `inside/escapes.py` then tries each of them in the very cell that the guest
will have. A probe passes only where the try inside was held and the trap outside was not touched;
a try that is missing from the answer is BLOCKED. Anything but PASS and NOT_TESTED refuses a lease.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import secrets
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from remit.core.checks import Result
from remit.isolation import layout, remains
from remit.isolation.inside import escapes
from remit.ports.sandbox import Probe

if TYPE_CHECKING:
    from remit.isolation.cell import BubblewrapCell

PLANTED_VARIABLE: Final = {"REMIT_PROBE_PLANTED": "a secret of the host's"}
TIMEOUT_MS: Final = 60_000
_OUTPUT_BYTES: Final = 262_144
_EVIDENCE_CHARS: Final = 600
_CREATE_RULESET: Final = 444
_DENIED: Final = ("setting up uid map", "No permissions to create", "namespace", "RTM_NEWADDR")
_WHERE_PRESENT: Final = ("landlock", "seccomp")


@dataclass(slots=True)
class Traps:
    """What lies on the host for the tries to find, and what touched it."""

    folder: Path
    plan: dict[str, Any]
    victim: subprocess.Popen[bytes]
    touched: dict[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def laid(cell: BubblewrapCell) -> Iterator[Traps]:
    """Lay the traps for one cell, and clear them away."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(remains.held("traps"))
        mark = f"remit-probe-{secrets.token_hex(8)}"
        (folder / "canary").write_text("untouched\n")
        (folder / "secret").write_text(f"{mark}\n")
        for part in ("repository/hooks", "repository/objects"):
            (folder / part).mkdir(parents=True)
        # It waits for input that never comes; its name is what the tries look for.
        victim = subprocess.Popen([mark], executable="/bin/cat", stdin=subprocess.PIPE)
        stack.callback(_end, victim)
        room = cell.room
        plan: dict[str, Any] = {
            "canary": str(folder / "canary"),
            "secret": str(folder / "secret"),
            "repository": str(folder / "repository"),
            # Tries that need a folder to write in get one that the guest has.
            "clone": str(room.writable[0] if room.sealed and room.writable else room.clone),
            "read_only": [str(path) for path in room.read_only],
            "homes": {
                str(home): _leading(cell, home)
                for home in (layout.own_home(), Path("/root"))
                if home is not None
            },
            "variable": next(iter(PLANTED_VARIABLE)),
            "victim": victim.pid,
            "mark": mark,
            "unix": str(folder / "s"),
            "abstract": mark,
            "proxy": layout.SOCKET if room.egress.hosts else "",
            "limits": {
                "processes": room.limits.processes,
                "memory_bytes": room.limits.memory_bytes,
                "file_bytes": room.limits.file_bytes,
                "scratch_bytes": room.limits.scratch_bytes,
            },
        }
        traps = Traps(folder, plan, victim)
        with _watched(_listeners(plan, stack), traps.touched, stack):
            yield traps


def _leading(cell: BubblewrapCell, home: Path) -> list[str]:
    """The names in a home that lead to something the cell shows on purpose."""
    paths = [path for path, _ in layout.mounts(cell.room)]
    paths.append(cell.tools.library)
    return [p.relative_to(home).parts[0] for p in paths if p.is_relative_to(home) and p != home]


def _end(victim: subprocess.Popen[bytes]) -> None:
    victim.kill()
    victim.communicate()


def _listeners(plan: dict[str, Any], stack: contextlib.ExitStack) -> dict[socket.socket, str]:
    """Sockets of the host's that nobody in a cell should reach, each with its try's name."""
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    plan["tcp"] = tcp.getsockname()[1]
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    plan["udp"] = udp.getsockname()[1]
    found = {tcp: "tcp", udp: "dns"}
    for trap, address in (("unix-socket", plan["unix"]), ("abstract-socket", f"\0{plan['mark']}")):
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(address)
        listening.listen()
        found[listening] = trap
    return found


@contextlib.contextmanager
def _watched(
    listening: dict[socket.socket, str], touched: dict[str, str], stack: contextlib.ExitStack
) -> Iterator[None]:
    """Note whatever reaches a socket of the host's while the tries run, and answer it."""
    wake, sleep = socket.socketpair()
    for part in (wake, sleep):
        stack.callback(part.close)

    def watch() -> None:
        while True:
            ready, _, _ = select.select([*listening, sleep], [], [])
            for reached in ready:
                if reached is sleep:  # the last: what came before the end was noted
                    return
                touched[listening[reached]] = "the host's listener was reached"
                with contextlib.suppress(OSError):  # whoever reached it may be gone again
                    if reached.type == socket.SOCK_DGRAM:
                        data, sender = reached.recvfrom(512)
                        reached.sendto(data, sender)
                    else:
                        reached.accept()[0].close()

    thread = threading.Thread(target=watch, name="remit-traps", daemon=True)
    thread.start()
    try:
        yield
    finally:
        wake.send(b"x")
        thread.join()


def run(cell: BubblewrapCell) -> tuple[Probe, ...]:
    """Make every try in the cell and judge it."""
    try:
        with laid(cell) as traps:
            return _tried(cell, traps)
    except OSError as error:
        return (Probe("cell", Result.BLOCKED, f"cannot be probed: {error}", _hint("")),)


def _tried(cell: BubblewrapCell, traps: Traps) -> tuple[Probe, ...]:
    argv = layout.program(str(cell.tools.python), "escapes")
    plan = json.dumps(traps.plan).encode()
    done = cell.run(argv, timeout_ms=TIMEOUT_MS, output_limit_bytes=_OUTPUT_BYTES, stdin=plan)
    said = done.stderr.whole().decode("utf-8", "replace").strip()
    if done.exit_code != 0:
        ended = "ran out of time" if done.timed_out else f"exit {done.exit_code}"
        return (Probe("cell", Result.BLOCKED, f"{ended}: {_plain(said)}", _hint(said)),)
    _look(traps)
    return _judged(_answers(done.stdout.whole()), traps)


def _look(traps: Traps) -> None:
    """What was touched on the host beside its sockets."""
    if (traps.folder / "canary").read_text() != "untouched\n":
        traps.touched["write-outside"] = "the host's file was changed"
    if traps.victim.poll() is not None:
        traps.touched["process"] = "the host's process is gone"
    hooks = traps.folder / "repository" / "hooks"
    if any(hooks.iterdir()) or (traps.folder / "repository" / "config").exists():
        traps.touched["git-hook"] = "the host's repository was changed"


def _answers(stdout: bytes) -> dict[str, Any]:
    try:
        found = json.loads(stdout)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _judged(answers: dict[str, Any], traps: Traps) -> tuple[Probe, ...]:
    found = [Probe("cell", Result.PASS, "started, closed and ended")]
    for name in escapes.TRIES:
        answer = answers.get(name)
        answer = answer if isinstance(answer, dict) else {}
        evidence = _plain(str(answer.get("evidence", "no answer came")))
        out = answer.get("out")
        result = Result.PASS if out is False else Result.FAIL if out is True else Result.BLOCKED
        if name in traps.touched:
            result, evidence = Result.FAIL, f"{traps.touched[name]}; {evidence}"
        if result is Result.FAIL and name in _WHERE_PRESENT and not kernel_has(name):
            result, evidence = (
                Result.NOT_TESTED,
                f"this kernel has no {name}; the rest stands alone",
            )
        found.append(Probe(name, result, evidence, "" if result is Result.PASS else _hint(name)))
    return tuple(found)


def kernel_has(part: str) -> bool:
    """Whether the running kernel has Landlock, or a filter for system calls."""
    if part == "seccomp":
        return Path("/proc/sys/kernel/seccomp/actions_avail").exists()
    if not sys.platform.startswith("linux") or platform.machine() == "":
        return False
    return int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)) > 0


def _plain(text: str) -> str:
    """Evidence as plain, bounded text: what a guest could print is never shown raw."""
    return "".join(c if c.isprintable() else "?" for c in text)[:_EVIDENCE_CHARS]


def denied_namespaces(said: str) -> bool:
    """Whether what bubblewrap said means that this process may not make namespaces."""
    return any(sign in said for sign in _DENIED)


def _hint(said: str) -> str:
    if denied_namespaces(said):
        return restricted_hint()
    if "Unknown option" in said:
        return "install bubblewrap 0.8 or later"
    if said == "process-limit" and os.geteuid() == 0:
        return "run as an ordinary user, or let this process make control groups with pids"
    return "do not run unattended work on this machine until this holds"


def restricted_hint() -> str:
    """What to do where the system keeps ordinary processes from making user namespaces."""
    if Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").exists():
        return (
            "AppArmor restricts user namespaces: give bwrap a profile with `userns,` in"
            " /etc/apparmor.d, then reload it; or sysctl kernel.apparmor_restrict_unprivileged_userns=0"
        )
    return "let processes make user namespaces: sysctl user.max_user_namespaces (or ask the host's owner)"
