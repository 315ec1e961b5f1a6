"""Closes the cell from inside and becomes the guest: its arguments are `FIGURES SOCKET PATH... -- ARGV...`.

Bubblewrap has built the walls. What must be done within them is done here, in this order: limits;
Landlock, which holds even if a mount were wrong; a filter on system calls; a forwarder from a TCP
port of the cell to the proxy's socket, where egress is allowed. Then this process executes the
command in place, with every signal as it is by default: this interpreter ignores some, and whoever
started remit may have ignored or blocked others, which would outlive each step until here.

Landlock is three system calls, made with ctypes: the libraries for it on the package index are
young or unfinished, and none can be imported here. The filter is built by libseccomp, which knows
the numbers on every machine. Each is used where the kernel has it; probes say whether it holds.

FIGURES are five numbers with commas between: the most processes, bytes of memory, bytes of a file and
open files, and the port of the forwarder, 0 for none. SOCKET is the proxy's, each PATH one that may be
written. Anything that fails but for want of kernel support ends here, before the guest: exit 125, with a
line on stderr.

It starts with every command in a cell, so it imports little, and is imported by a line of its own
(`layout.closing`) under `-I -S`: what is imported is not compiled anew each time.
"""

import ctypes
import os
import resource
import struct
import sys
from itertools import product

NOT_CLOSED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

_PR_SET_NO_NEW_PRIVS = 38
_PATH_BENEATH = 1
_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same nearly everywhere; elsewhere: not present
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE, _IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
_SCOPES = 0b11
_HANDLED = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
_HANDLED_SINCE_5 = (1 << 16) - 1

_ALLOW, _EPERM = 0x7FFF0000, 1
_ERRNO = 0x00050000
_NO_FAMILY, _NO_CALL = 97, 38
_EQUAL, _GREATER, _MASKED = 4, 6, 7
_FAMILIES = (1, 2, 10, 16)  # UNIX, IPv4, IPv6, and netlink for `ip` and getifaddrs; all of Linux
_MODES = (
    ("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("creat", 1), ("mkdir", 1),
    ("mkdirat", 2), ("mknod", 1), ("mknodat", 2),
)  # fmt: skip
_MODES_IF_MADE = (("open", 1), ("openat", 2))  # the mode follows these flags, and means something
_MADE = (os.O_CREAT, os.O_TMPFILE & ~os.O_DIRECTORY)  # with one of them only
_BORROWED = (0o4000, 0o2000)  # a program so marked runs as its owner, who is the host's user
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX put characters into a terminal's input
_DENIED = (
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    "mount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr", "setns", "unshare", "add_key", "request_key",
    "keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "kexec_load", "kexec_file_load", "init_module", "finit_module",
    "delete_module", "reboot", "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog",
    "open_by_handle_at", "iopl", "ioperm", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex", "nfsservctl", "lookup_dcookie", "vhangup",
)  # fmt: skip


_libc = ctypes.CDLL(None, use_errno=True)


class _Argument(ctypes.Structure):
    """One comparison of libseccomp's `scmp_arg_cmp`."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


def limit(processes: int, memory_bytes: int, file_bytes: int, open_files: int) -> None:
    """Set the limits that the kernel keeps for each process, hard and soft alike."""
    wanted = (
        # 0 would still start the host's handler of core dumps, where it has one; 1 does not.
        (resource.RLIMIT_CORE, 1),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_DATA, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, open_files),
    )
    for which, most in wanted:
        _, hard = resource.getrlimit(which)
        value = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (value, value))


def landlock(writable: list[str]) -> bool:
    """Let this process and its children write beneath `writable` alone; False where not present."""
    abi = _libc.syscall(_CREATE, None, ctypes.c_size_t(0), 1)
    if abi < 1:
        return False
    handled = _HANDLED.get(abi, _HANDLED_SINCE_5)
    fields = [handled, 0, _SCOPES][: 3 if abi >= 6 else 2 if abi >= 4 else 1]
    attribute = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _called(_libc.syscall(_CREATE, attribute, ctypes.c_size_t(len(attribute)), 0))
    seen = _EXECUTE | _READ_FILE | _READ_DIR
    _rule(ruleset, "/", seen & handled)
    _rule(ruleset, "/dev", (seen | _WRITE_FILE | _TRUNCATE | _IOCTL) & handled)
    for path in writable:
        _rule(ruleset, path, handled)
    _called(_libc.syscall(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    return True


def _rule(ruleset: int, path: str, allowed: int) -> None:
    at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    rule = struct.pack("=Qi", allowed, at)
    _called(_libc.syscall(_ADD, ruleset, _PATH_BENEATH, rule, 0))
    os.close(at)


def _called(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def filter_calls() -> bool:
    """Refuse the system calls that serve escapes and no build; False where not present."""
    try:
        library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    except OSError:
        return False
    library.seccomp_init.restype = ctypes.c_void_p
    handle = library.seccomp_init(ctypes.c_uint32(_ALLOW))
    if not handle:
        return False
    context = ctypes.c_void_p(handle)

    def deny(name: str, number: int, *arguments: _Argument) -> None:
        call = library.seccomp_syscall_resolve_name(name.encode())
        if call < 0:
            return  # this architecture, or this library, has no such call
        array = (_Argument * len(arguments))(*arguments)
        action = ctypes.c_uint32(_ERRNO | number)
        done = library.seccomp_rule_add_array(context, action, call, len(arguments), array)
        if done:
            raise OSError(-done, f"libseccomp: {name}: {os.strerror(-done)}")

    for name in _DENIED:
        deny(name, _EPERM)
    deny("openat2", _NO_CALL)  # its mode lies in memory, where a filter cannot look
    for name, place in _MODES:
        for bit in _BORROWED:
            deny(name, _EPERM, _Argument(place, _MASKED, bit, bit))
    for name, place in _MODES_IF_MADE:
        for bit, made in product(_BORROWED, _MADE):
            flags = _Argument(place, _MASKED, made, made)
            deny(name, _EPERM, flags, _Argument(place + 1, _MASKED, bit, bit))
    for request in _TERMINAL_INPUT:
        deny("ioctl", _EPERM, _Argument(1, _MASKED, 0xFFFFFFFF, request))
    last = max(_FAMILIES)
    deny("socket", _NO_FAMILY, _Argument(0, _GREATER, last, 0))
    for family in set(range(last + 1)) - set(_FAMILIES):
        deny("socket", _NO_FAMILY, _Argument(0, _EQUAL, family, 0))
    done = library.seccomp_load(context)
    library.seccomp_release(context)
    if done:
        raise OSError(-done, f"libseccomp: load: {os.strerror(-done)}")
    return True


def reset_signals() -> None:
    """Have every signal do what it does by default, and block none."""
    made = __import__("_signal")  # what `signal` is made of, without what that imports
    for number in made.valid_signals() - {made.SIGKILL, made.SIGSTOP}:
        made.signal(number, made.SIG_DFL)
    made.pthread_sigmask(made.SIG_SETMASK, ())


def main() -> int:
    """Close the cell, then become the guest; return only where that fails."""
    figures, proxy, *rest = sys.argv[1:]
    at = rest.index("--")
    writable, argv = rest[:at], rest[at + 1 :]
    *limits, port = [int(figure) for figure in figures.split(",")]
    try:
        limit(*limits)
        _called(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        landlock(writable)
        filter_calls()
        if port:
            __import__("forward").forward(port, proxy)  # a neighbour, found where this one was
    except OSError as error:
        sys.stderr.write(f"remit: the cell cannot be closed: {error}\n")
        return NOT_CLOSED
    reset_signals()
    try:
        os.execvp(argv[0], argv)  # noqa: S606  # it becomes the command that it was given
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        found = not isinstance(error, FileNotFoundError | NotADirectoryError)
        return NOT_EXECUTABLE if found else NOT_FOUND
