"""What a cell shows and hides, as arguments for bubblewrap.

Everything is hidden but what is named: the system's programs and libraries, read-only; a few files
of /etc that programs cannot do without; the interpreter that closes the cell; what the room lists.
/tmp, /run, the home folder and /dev/shm are new, bounded and empty, so that neither the host's
sockets nor anybody's home are there. Folders that only lead to a mount are not writable either.

Host paths keep their names inside. A path that a room names is refused where it would show more than
its owner meant: the root, a system folder, a whole home, one that leads through a symbolic link.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remit.ports.sandbox import Room, SandboxCode, SandboxRefusal

HOME = "/home/guest"
INSIDE = "/run/remit"
FORWARD_PORT = 3128
SOCKET = f"{INSIDE}/egress.sock"
GUEST_ID = 1000

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "debian_version", "fonts",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types", "os-release",
    "pki", "protocols", "services", "ssl/certs", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
_NEVER = ("/", "/boot", "/dev", "/etc", "/proc", "/run", "/sys", "/tmp", "/var", *_SYSTEM)
_HOMES = ("/home", "/root", "/Users")
_RUN_BYTES = 1_048_576
_RUN = (
    f"import sys; sys.path.insert(0, '{INSIDE}/inside'); from {{name}} import main;"
    " sys.exit(main())"
)

_FILES = {
    "passwd": f"guest:x:{GUEST_ID}:{GUEST_ID}:guest:{HOME}:/bin/sh\n",
    "group": f"guest:x:{GUEST_ID}:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


@dataclass(frozen=True, slots=True)
class Tools:
    """The programs a cell is built with: bubblewrap, and the interpreter with its library."""

    bwrap: Path
    python: Path
    library: Path


def interpreter() -> tuple[Path, Path]:
    """The interpreter behind any virtual environment, and the folder that its library lies in."""
    prefix = Path(sys.base_prefix).resolve()
    named = f"python{sys.version_info.major}.{sys.version_info.minor}"
    inside = prefix / "bin" / named
    return (inside if inside.exists() else Path(sys.executable).resolve()), prefix


def unfit(room: Room) -> SandboxRefusal | None:
    """Refuse a room with a path that is no plain folder or shows more than it should."""
    home = own_home()
    written = {*room.writable} if room.sealed else {room.clone, *room.writable}
    for path, writable in mounts(room):
        fault = ""
        try:
            if not path.is_absolute() or path.resolve(strict=True) != path:
                fault = "is no absolute path without symbolic links"
            elif not path.is_dir() and (writable or not path.is_file()):
                fault = "is no plain folder"
        except OSError as error:
            fault = f"cannot be read ({error.strerror})"
        if str(path) in _NEVER or str(path) in _HOMES or path == home:
            fault = "would show a system folder or a whole home"
        elif any(path.is_relative_to(top) for top in _SYSTEM) and writable:
            fault = "lies in a system folder and may not be written"
        elif any(path.is_relative_to(top) for top in ("/proc", "/sys", INSIDE)):
            fault = "lies where a cell has its own"
        elif not written.isdisjoint(path.parents):
            # The guest could put a link in its place, and the next cell would show where it leads.
            fault = "lies in a path that the guest may write"
        if fault:
            return SandboxRefusal(
                SandboxCode.ROOM_UNFIT,
                f"prepare a cell for {room.attempt}: {path} {fault}; expected a folder of its own",
                "name the folder itself, by its real path",
                {"path": str(path)},
            )
    return None


def own_home() -> Path | None:
    """The home of whoever runs remit; None for a user of whom the system knows none."""
    try:
        return Path.home().resolve()
    except RuntimeError:
        return None


def mounts(room: Room) -> Iterator[tuple[Path, bool]]:
    """Every path that the room shows, and whether it may be written; outer ones first."""
    listed = dict.fromkeys(room.read_only, False)
    listed |= {room.clone: not room.sealed} | dict.fromkeys(room.writable, True)
    yield from sorted(listed.items(), key=lambda entry: len(entry[0].parts))


def write_files(folder: Path) -> None:
    """Lay the files of /etc that the cell has of its own."""
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def namespaces() -> list[str]:
    """A namespace of its own for everything, and no way to make another."""
    return [
        "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
        "--unshare-cgroup-try", "--disable-userns",
        "--uid", str(GUEST_ID), "--gid", str(GUEST_ID), "--hostname", "cell",
    ]  # fmt: skip


def powers() -> list[str]:
    """No capability, no terminal of the host's, and no life beyond its parent."""
    # Without a session of its own the guest could type into the terminal that remit runs in.
    return ["--cap-drop", "ALL", "--new-session", "--die-with-parent"]


def system(tools: Tools) -> list[str]:
    """The system's folders, read-only, as links where the host has links."""
    said: list[str] = []
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            said += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            said += ["--ro-bind", name, name]
    for name in _ETC:
        said += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    if not any(tools.library.is_relative_to(name) for name in _SYSTEM):
        said += ["--ro-bind", str(tools.library), str(tools.library)]
    return said


def scratch(room: Room) -> list[str]:
    """New, bounded, empty folders where the host has its own."""
    size = str(room.limits.scratch_bytes)
    said = ["--proc", "/proc", "--dev", "/dev"]
    for path in ("/tmp", HOME, "/dev/shm"):
        said += ["--size", size, "--tmpfs", path]
    return [*said, "--dir", "/var", "--symlink", "/tmp", "/var/tmp"]


def shown(room: Room) -> list[str]:
    """The room's own paths."""
    said: list[str] = []
    for path, writable in mounts(room):
        said += ["--bind" if writable else "--ro-bind", str(path), str(path)]
    return said


def variables(room: Room, tools: Tools) -> list[str]:
    """Only these variables, whatever the host has."""
    folders = [str(path) for path in room.read_only if path.name == "bin"]
    usual = ["/usr/local/bin", "/usr/bin", "/bin"]
    own = {
        "PATH": ":".join([*folders, *usual]),
        "HOME": HOME,
        "USER": "guest",
        "LANG": "C.UTF-8",
        "TMPDIR": "/tmp",
        "TERM": "dumb",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }
    if room.egress.hosts:
        proxy = f"http://127.0.0.1:{FORWARD_PORT}"
        own |= {"HTTPS_PROXY": proxy, "https_proxy": proxy, "NO_PROXY": "localhost,127.0.0.1"}
    said = ["--clearenv"]
    for name, value in (own | dict(room.environment)).items():
        said += ["--setenv", name, value]
    return said


def arguments(room: Room, tools: Tools, folder: Path, programs: Path) -> list[str]:
    """Bubblewrap's arguments for a room; `folder` has the cell's own files, `programs` ours."""
    said = [*namespaces(), *powers(), *variables(room, tools), *system(tools), *scratch(room)]
    for name in _FILES:
        said += ["--ro-bind", str(folder / name), f"/etc/{name}"]
    said += ["--size", str(_RUN_BYTES), "--tmpfs", "/run"]
    said += ["--ro-bind", str(programs), f"{INSIDE}/inside"]
    if room.egress.hosts:
        said += ["--ro-bind", str(folder / "egress.sock"), SOCKET]
    said += shown(room)
    # What only leads to a mount is not for the guest to fill. /proc matters more: where remit runs
    # as root, the kernel takes the guest for root when it writes a setting of the whole machine's.
    for path in ("/proc", "/dev", "/"):
        said += ["--remount-ro", path]
    return [*said, "--chdir", str(room.clone)]


def closing(room: Room, tools: Tools) -> list[str]:
    """The command that closes the cell from inside and then becomes the guest's."""
    limits = room.limits
    figures = (
        limits.processes,
        limits.memory_bytes,
        limits.file_bytes,
        limits.open_files,
        FORWARD_PORT if room.egress.hosts else 0,
    )
    writable = (str(path) for path, written in mounts(room) if written)
    said = [
        ",".join(str(figure) for figure in figures),
        SOCKET,
        "/tmp",
        HOME,
        "/dev/shm",
        *writable,
    ]
    return [*program(str(tools.python), "launch"), *said, "--"]


def program(python: str, name: str) -> list[str]:
    """What runs a program of remit's own inside a cell, by its name and without compiling it again."""
    return [python, "-I", "-S", "-c", _RUN.format(name=name)]
