"""Tries to get out of a cell, and prints what came of it; run inside with `-I -S`.

Each try is a function that raises `Out` where it got out, and returns what held it; an error of the
operating system is what holding looks like. Nothing here harms a host that it does reach: it writes
a line into a file made for it, connects to listeners made for it, and asks nothing of any network.

Standard input is JSON with the traps that `probes.py` laid on the host; it is not an argument, since
arguments can be seen and a try looks for one of the host's. The answer is one JSON object on
stdout: the name of each try, `out` true or false, and the evidence. What is missing from it could
not be tried, and counts as such.
"""

from __future__ import annotations

import _thread
import ctypes
import json
import os
import resource
import socket
import stat
import sys
from pathlib import Path

_MS_REMOUNT, _MS_BIND = 32, 4096
_NEW_USER, _NEW_MOUNT = 0x10000000, 0x00020000
_SEIZE = 0x4206  # traces without stopping; who is traced goes on when the tracer ends
_VSOCK, _PACKET = 40, 17
_HOST_CID = 2
_WAIT_S = 2.0
_SHOWN = 200

_libc = ctypes.CDLL(None, use_errno=True)

TYPE_CHECKING = False  # for whoever checks types; importing what they need takes time in each cell
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Plan = dict[str, Any]


class Out(Exception):  # noqa: N818  # it is what a try found, and no error of this program
    """The try got out; what it says is the evidence."""


def _blocked(path: Path, text: str) -> str:
    """Write a line where nothing may be written."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        return f"{path}: {error.strerror}"
    raise Out(f"{path} was written")


def write_outside(plan: Plan) -> str:
    """Write to the host: at a path of its own, in system folders, through links."""
    said = [_blocked(Path(plan["canary"]), "written from a cell\n")]
    said += [
        _blocked(Path(name) / "remit-probe", "") for name in ("/", "/usr", "/etc", "/dev", "/var")
    ]
    clone = Path(plan["clone"])
    link = clone / ".remit-probe-link"
    link.unlink(missing_ok=True)
    link.symlink_to(plan["canary"])
    try:
        said.append(_blocked(link, "written through a link\n"))
    finally:
        link.unlink(missing_ok=True)
    hard = clone / ".remit-probe-hard"
    try:
        hard.hardlink_to(sys.executable)
    except OSError as error:
        return "; ".join([*said, f"hard link: {error.strerror}"])
    hard.unlink()
    raise Out("a file of the system was linked into the clone")


def plant_hook(plan: Plan) -> str:
    """Plant a hook or a setting in a repository of the host's, and beside each read-only path."""
    places = [Path(plan["repository"]), *(Path(path) for path in plan["read_only"])]
    places += [path.parent for path in places[1:]]
    said = []
    for place in places:
        if (place / "hooks").exists() or place == places[0]:
            said.append(_blocked(place / "hooks" / "post-checkout", "#!/bin/sh\n"))
            said.append(_blocked(place / "config", "[core]\n\tfsmonitor = false\n"))
        elif str(place) in plan["read_only"] and place.is_dir():
            said.append(_blocked(place / "remit-probe", ""))
    return "; ".join(said)


def remount(plan: Plan) -> str:
    """Make a read-only mount writable, mount something new, or get the power to."""
    said = []
    for name in ("/usr", "/etc/passwd", "/"):
        if _libc.mount(None, name.encode(), None, _MS_REMOUNT | _MS_BIND, None) == 0:
            raise Out(f"{name} was remounted")
        said.append(f"remount {name}: {os.strerror(ctypes.get_errno())}")
    if _libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0:
        raise Out("a file system was mounted")
    if _libc.umount2(b"/etc/passwd", 2) == 0:
        raise Out("a mount of the cell was taken away")
    child = os.fork()
    if child == 0:
        os._exit(1 if _libc.unshare(_NEW_USER | _NEW_MOUNT) == 0 else 0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise Out("a user namespace was made, with all powers in it")
    return "; ".join([*said, "no new user namespace"])


def change_machine(plan: Plan) -> str:
    """Open a setting of the whole machine's for writing; nothing is written where that works."""
    said = []
    for name in ("sys/kernel/core_pattern", "sys/kernel/hostname", "sysrq-trigger", "self/comm"):
        try:
            os.close(os.open(f"/proc/{name}", os.O_WRONLY | os.O_CLOEXEC))
        except OSError as error:
            said.append(f"/proc/{name}: {error.strerror}")
            continue
        raise Out(f"/proc/{name} can be written")
    return "; ".join(said)


def reach_tcp(plan: Plan) -> str:
    """Reach a listener on the host's loopback, or find a network beside the cell's own."""
    names = [name for _, name in socket.if_nameindex()]
    if names != ["lo"]:
        raise Out(f"the cell has the interfaces {', '.join(names)}")
    try:
        with socket.create_connection(("127.0.0.1", plan["tcp"]), _WAIT_S):
            pass
    except OSError as error:
        return f"only lo; 127.0.0.1:{plan['tcp']}: {error.strerror or error}"
    raise Out(f"connected to 127.0.0.1:{plan['tcp']} of the host")


def reach_names(plan: Plan) -> str:
    """Send a question to a name server of the host's, and look for one that is configured."""
    if Path("/etc/resolv.conf").exists():
        raise Out("/etc/resolv.conf names a server")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(_WAIT_S)
        try:
            asking.connect(("127.0.0.1", plan["udp"]))
            asking.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\5probe\7invalid\0\0\1\0\1")
            asking.recv(512)
        except OSError as error:
            return f"no resolv.conf; 127.0.0.1:{plan['udp']}: {error.strerror or error}"
    raise Out("a name server of the host answered")


def reach_socket(plan: Plan) -> str:
    """Connect to a UNIX socket of the host's by its path, and look for any in the usual places."""
    found = _found(stat.S_ISSOCK, "/run", "/tmp", "/var")
    if strange := [name for name in found if name != plan["proxy"]]:
        raise Out(f"sockets are visible: {', '.join(strange)}")
    return _connect(plan["unix"], plan["unix"])


def _found(of_kind: Callable[[int], bool], *tops: str) -> list[str]:
    """Every file of a kind beneath these folders; what goes away while they are walked is none."""
    found = []
    for top in tops:
        for folder, _, names in os.walk(top):
            for path in (Path(folder) / name for name in names):
                try:
                    mode = path.lstat().st_mode
                except OSError:
                    continue
                if of_kind(mode):
                    found.append(str(path))
    return found


def reach_abstract(plan: Plan) -> str:
    """Connect to an abstract UNIX socket of the host's, which no file system hides."""
    return _connect("\0" + plan["abstract"], f"@{plan['abstract']}")


def _connect(address: str, shown: str) -> str:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(_WAIT_S)
        try:
            link.connect(address)
        except OSError as error:
            return f"{shown}: {error.strerror or error}"
    raise Out(f"connected to {shown}")


def reach_kernel(plan: Plan) -> str:
    """Open sockets that no network namespace holds: to the machine's host, and of raw packets."""
    said = []
    for name, family, kind in (
        ("vsock", _VSOCK, socket.SOCK_STREAM),
        ("packet", _PACKET, socket.SOCK_RAW),
    ):
        try:
            socket.socket(family, kind).close()
        except OSError as error:
            said.append(f"{name}: {error.strerror}")
            continue
        raise Out(f"a {name} socket was opened")
    return "; ".join(said)


def read_secret(plan: Plan) -> str:
    """Read a secret that lies in a folder of the host's, and usual places of others."""
    try:
        found = Path(plan["secret"]).read_text(encoding="utf-8")
    except OSError as error:
        said = f"{plan['secret']}: {error.strerror}"
    else:
        raise Out(f"read: {found.strip()}")
    for home, leading in plan["homes"].items():
        if names := [n for n in _names(Path(home)) if n not in leading]:
            raise Out(f"{home} shows {', '.join(names)[:_SHOWN]}")
    return said


def _names(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def read_environment(plan: Plan) -> str:
    """Find the variable that was planted in the environment the cell was started with."""
    looked = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                held = (entry / "environ").read_bytes()
            except OSError:
                continue
            looked += 1
            if plan["variable"].encode() in held:
                raise Out(f"/proc/{entry.name}/environ has {plan['variable']}")
    if plan["variable"] in os.environ:
        raise Out(f"the environment has {plan['variable']}")
    return f"{looked} environments without it; own: {', '.join(sorted(os.environ))}"


def touch_process(plan: Plan) -> str:
    """See, signal and trace processes: the host's by its number, and the cell's first one."""
    seen = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    for number in seen:
        if plan["mark"].encode() in _read(Path(f"/proc/{number}/cmdline")):
            raise Out(f"process {number} of the host is visible")
    if plan["victim"] not in seen:
        try:
            os.kill(plan["victim"], 0)
        except OSError as error:
            said = f"signal {plan['victim']}: {error.strerror}"
        else:
            raise Out(f"process {plan['victim']} takes signals")
    else:
        said = f"{plan['victim']} is a process of the cell's own"
    for number in (1, os.getppid()):
        if number and _libc.ptrace(_SEIZE, number, None, None) == 0:
            raise Out(f"process {number} can be traced")
    return f"{len(seen)} processes seen; {said}; trace: {os.strerror(ctypes.get_errno())}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def hold_powers(plan: Plan) -> str:
    """Find a capability, a way to gain one, or a device."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    held = {name: status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")}
    if any(int(value, 16) for value in held.values()):
        raise Out(f"capabilities: {held}")
    if status["NoNewPrivs"] != "1":
        raise Out("a program may gain powers by being executed")
    if devices := _found(stat.S_ISBLK, "/dev"):
        raise Out(f"block devices: {', '.join(devices)}")
    try:
        os.mknod("/tmp/remit-probe-device", stat.S_IFBLK | 0o600, os.makedev(7, 0))
    except OSError as error:
        return f"no capability; no new privileges; mknod: {error.strerror}"
    raise Out("a block device was made")


def type_into_terminal(plan: Plan) -> str:
    """Reach the terminal that the cell was started from."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError as error:
        return f"/dev/tty: {error.strerror}"
    raise Out("the terminal of the host can be opened")


def exceed_processes(plan: Plan) -> str:
    """Start threads beyond the limit; they count as processes do.

    They wait for a lock until this program ends, and what is tried after them starts none. A thread with
    all that Python puts around one would take three times as long.
    """
    most, started = plan["limits"]["processes"], 0
    gate = _thread.allocate_lock()
    gate.acquire()
    _thread.stack_size(65_536)
    try:
        while started < most + 32:
            _thread.start_new_thread(gate.acquire, ())
            started += 1
    except RuntimeError:
        return f"stopped after {started} of at most {most}"
    raise Out(f"{started} threads ran, allowed are {most}")


def exceed_room(plan: Plan) -> str:
    """Take more memory, a longer file and more room in memory than allowed."""
    limits = plan["limits"]
    if resource.getrlimit(resource.RLIMIT_DATA)[1] > limits["memory_bytes"]:
        raise Out("memory is not bounded")
    long = Path(plan["clone"]) / ".remit-probe-long"
    at = os.open(long, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(at, b"x", limits["file_bytes"])
    except OSError as error:
        said = f"file: {error.strerror}"
    else:
        raise Out(f"a file grew beyond {limits['file_bytes']} bytes")
    finally:
        os.close(at)
        long.unlink()
    for name in ("/tmp", "/home/guest", "/dev/shm", "/run"):
        found = os.statvfs(name)
        if (
            found.f_blocks * found.f_frsize > max(limits["scratch_bytes"], 1 << 21)
            or not found.f_blocks
        ):
            raise Out(f"{name} has {found.f_blocks * found.f_frsize} bytes")
    return f"{said}; folders in memory within {limits['scratch_bytes']} bytes"


def landlock(plan: Plan) -> str:
    """Write where the mount allows it and Landlock alone does not."""
    return _blocked(Path("/run/remit-probe"), "")


def system_calls(plan: Plan) -> str:
    """Find out whether a filter stands before the kernel's calls."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    mode = next((line.split()[1] for line in lines if line.startswith("Seccomp:")), "0")
    if mode != "2":
        raise Out(f"seccomp mode {mode}")
    return "seccomp mode 2"


TRIES = {
    "write-outside": write_outside,
    "git-hook": plant_hook,
    "remount": remount,
    "machine-settings": change_machine,
    "tcp": reach_tcp,
    "dns": reach_names,
    "unix-socket": reach_socket,
    "abstract-socket": reach_abstract,
    "kernel-socket": reach_kernel,
    "secret": read_secret,
    "environment": read_environment,
    "process": touch_process,
    "powers": hold_powers,
    "terminal": type_into_terminal,
    "room-limit": exceed_room,
    "landlock": landlock,
    "seccomp": system_calls,
    "process-limit": exceed_processes,  # the last: nothing can be started after it
}


def main() -> int:
    """Make every try and print what came of each."""
    plan = json.load(sys.stdin)
    found = {}
    for name, attempt in TRIES.items():
        try:
            found[name] = {"out": False, "evidence": attempt(plan)}
        except Out as out:
            found[name] = {"out": True, "evidence": str(out)}
        except OSError as error:
            found[name] = {"evidence": f"could not be tried: {error}"}
    sys.stdout.write(json.dumps(found))
    return 0
