"""The warden: a small process between the supervisor and an agent, and the parent of all strays.

It makes itself the one to whom orphans below it fall (``PR_SET_CHILD_SUBREAPER``), so whatever an
agent starts stays below it: double forks, new sessions, daemons. It is gone when it has no child left,
and that is the proof that nothing of the agent is. The supervisor speaks to it by a pipe; when that
pipe ends, the supervisor is dead and the warden ends the tree by itself.

Whom it sees below it, it writes down, for the case that it is killed together with its supervisor.

It is forked from the nursery (``remit.drain.nursery``), has one thread, and writes nothing else but its report.
It never signals a process that is not below it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import select
import signal
import time
from pathlib import Path
from typing import Any, Final, NoReturn

from remit.drain.groups import Group
from remit.drain.processes import Identity, Seen, below, look, send

SAMPLE_S: Final = 0.1
ORPHAN_GRACE_S: Final = 0.3
"""What is left when the agent itself has ended gets this long after SIGTERM."""

DEAD_GRACE_S: Final = 1.0
"""What the agent gets after SIGTERM when the supervisor is dead."""

FINAL_S: Final = 10.0
"""After SIGKILL, so long is waited for the kernel to let go of everything."""

NOTED: Final = 4_000
"""So many processes may be written down before those that are gone are left out."""

FORK: Final = "fork"
READY: Final = "warden"
"""What a warden could not get from the system, beside what it says of the program itself."""

_SUBREAPER: Final = 36
_PDEATHSIG: Final = 1
_PASSES: Final = 200
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PIPE_BYTES: Final = 65_536


def prctl(option: int, value: int) -> None:
    """Set one property of this process. Raises ``OSError``."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


class Warden:
    """Starts one program, watches all that comes of it, and ends it."""

    def __init__(self, config: dict[str, Any], rest: bytes) -> None:
        self.config = config
        self.limits: dict[str, int] = config["limits"]
        self.group = Group(Path(config["group"])) if config["group"] else None
        self.started = time.monotonic()
        self.leader = 0
        self.leader_status: int | None = None
        self.rest = rest
        self.noted: set[Identity] = set()
        self.memory_peak = self.processes_peak = 0

    def tell(self, **report: Any) -> None:
        """Write one line for the supervisor; that it is gone is found out by its own pipe."""
        line = json.dumps(report).encode() + b"\n"
        with contextlib.suppress(OSError):
            os.write(self.config["status_fd"], line)

    def start(self) -> bool:
        """Start the program; tell who it is, or why it could not be started."""
        try:
            told, telling = os.pipe()
            pid = os.fork()
        except OSError as error:
            self.tell(failed={"errno": error.errno, "what": FORK})
            return False
        if pid == 0:
            become(self.config, telling, self.group)
        os.close(telling)
        failure = os.read(told, 4096)
        os.close(told)
        if failure:
            os.waitpid(pid, 0)
            number, _, what = failure.decode("utf-8", "replace").partition(" ")
            self.tell(failed={"errno": int(number), "what": what})
            return False
        self.leader = pid
        seen = look(pid)
        self.tell(started={"pid": pid, "start": seen.identity.start if seen else 0})
        # What the agent writes to ends with the agent: the warden holds none of it open.
        empty = os.open(os.devnull, os.O_RDWR)
        for number_ in (1, 2):
            os.dup2(empty, number_)
        os.close(self.config["stdin_fd"])
        return True

    def reap(self) -> bool:
        """Collect what ended; say whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.leader:
                self.leader_status = status

    def run(self) -> None:
        """Watch to the end, and report it."""
        reason, grace_s = self._watch()
        strays = len(below(os.getpid())) if reason == "exited" else 0
        left = self.end(grace_s)
        status = self.leader_status
        code = os.waitstatus_to_exitcode(status) if status is not None else None
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.tell(
            ended={
                "reason": reason,
                "exit": code if code is not None and code >= 0 else None,
                "signal": -code if code is not None and code < 0 else None,
                "strays": strays,
                "left": left,
                "cpu_ms": int((used.ru_utime + used.ru_stime) * 1000),
                "memory_peak": self.memory_peak,
                "processes_peak": self.processes_peak,
                "wall_ms": int((time.monotonic() - self.started) * 1000),
            }
        )

    def _watch(self) -> tuple[str, float]:
        """Wait until something ends the run: why, and what time SIGTERM gets."""
        third = self.limits["stop_ms"] / 3000
        while True:
            self.reap()
            if self.leader_status is not None:
                return "exited", ORPHAN_GRACE_S
            passed = self._sample()
            if passed:
                return passed, third
            asked = self._asked()
            if asked is not None:
                return asked, DEAD_GRACE_S if asked == "supervisor-gone" else third

    def _asked(self) -> str | None:
        """What the supervisor wants; waits one sample for it, or until a child ends."""
        readable, _, _ = select.select([0, self.config["wake_fd"]], [], [], SAMPLE_S)
        if self.config["wake_fd"] in readable:
            os.read(self.config["wake_fd"], 4096)
        if 0 in readable:
            chunk = os.read(0, _PIPE_BYTES)
            if not chunk:
                return "supervisor-gone"
            self.rest += chunk
        line, newline, self.rest = self.rest.partition(b"\n")
        return line.decode("ascii", "replace") if newline else None

    def _sample(self) -> str:
        """Which bound of the whole tree is passed, or nothing."""
        seen = below(os.getpid())
        self._note({one.identity for one in seen})
        memory = sum(one.resident_bytes for one in seen)
        self.memory_peak = max(self.memory_peak, memory)
        self.processes_peak = max(self.processes_peak, len(seen))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = used.ru_utime + used.ru_stime + sum(one.cpu_ticks for one in seen) / _TICKS
        if len(seen) > self.limits["processes"]:
            return "processes"
        if memory > self.limits["memory_bytes"]:
            return "memory"
        if cpu_s * 1000 > self.limits["cpu_ms"]:
            return "cpu"
        if (time.monotonic() - self.started) * 1000 > self.limits["wall_ms"]:
            return "wall"
        return ""

    def _note(self, seen: set[Identity]) -> None:
        """Write down who is new; once the file is long, only who is there now."""
        new = seen - self.noted
        if not new:
            return
        again = len(self.noted) > NOTED
        self.noted = set(seen) if again else self.noted | new
        lines = "".join(f"{one.pid} {one.start}\n" for one in (seen if again else new))
        path = Path(self.config["seen"])
        with contextlib.suppress(OSError):
            if again:
                fresh = path.with_suffix(".new")
                fresh.write_text(lines)
                fresh.replace(path)
            else:
                with path.open("a") as opened:
                    opened.write(lines)

    def end(self, grace_s: float) -> int:
        """End all that is below: ask, then kill. Returns how many are left, which should be none."""
        until = time.monotonic() + grace_s
        if self.reap():
            # SIGCONT as well: who was stopped could not hear the other one.
            for number in (signal.SIGTERM, signal.SIGCONT):
                for one in below(os.getpid()):
                    send(one.identity, number)
        while self.reap() and time.monotonic() < until:
            time.sleep(0.01)
        until = time.monotonic() + FINAL_S
        while self.reap() and time.monotonic() < until:
            if self.group is not None:
                self.group.kill()
            for one in self._frozen():
                send(one.identity, signal.SIGKILL)
            time.sleep(0.005)
        return len(below(os.getpid()))

    def _frozen(self) -> list[Seen]:
        """All that is below, stopped: what is stopped starts no further one behind our back."""
        stopped: set[Identity] = set()
        seen: list[Seen] = []
        for _ in range(_PASSES):
            seen = below(os.getpid())
            new = [one for one in seen if one.identity not in stopped]
            if not new:
                break
            for one in new:
                send(one.identity, signal.SIGSTOP)
                stopped.add(one.identity)
        return seen


def become(config: dict[str, Any], telling: int, group: Group | None) -> NoReturn:
    """In the child: put on the bounds and become the program; on failure say why, and exit."""
    what = "start"
    try:
        os.setsid()
        prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != config["warden"]:
            os._exit(126)
        if group is not None:
            # Where it is not to be had after all, the walk over the tree is what there is.
            with contextlib.suppress(OSError):
                (group.path / "cgroup.procs").write_text("0")
        what = "limits"
        limit(config["limits"])
        reset_signals()
        os.dup2(config["stdin_fd"], 0)
        what = "cwd"
        os.chdir(config["cwd"])
        what = "program"
        os.execvpe(  # noqa: S606  # an argument list without a shell is the point
            config["argv"][0], config["argv"], config["environment"]
        )
    except OSError as error:
        os.write(telling, f"{error.errno or 0} {what}".encode())
    except (TypeError, ValueError):  # an argument or a variable that no program can be given
        os.write(telling, f"{errno.EINVAL} {what}".encode())
    finally:
        os._exit(127)


def reset_signals() -> None:
    """Have every signal do what it does by default, and block none: both outlive an exec."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def limit(limits: dict[str, int]) -> None:
    """The bounds that the kernel holds for each process: data, file size, processor time, no core."""
    wanted = {
        resource.RLIMIT_DATA: limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_CPU: limits["cpu_ms"] // 1000
        + 3,  # the sample, which can tell why, goes first
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))


def read_config() -> tuple[dict[str, Any], bytes]:
    """The first line of the supervisor's pipe, and what came after it."""
    found = b""
    while b"\n" not in found:
        chunk = os.read(0, _PIPE_BYTES)
        if not chunk:
            raise SystemExit(1)
        found += chunk
    line, _, rest = found.partition(b"\n")
    return json.loads(line), rest


def main(status_fd: int, stdin_fd: int) -> None:
    """Keep watch for the supervisor at the other end of these descriptors and the three standard ones."""
    config, rest = read_config()
    config |= {"warden": os.getpid(), "status_fd": status_fd, "stdin_fd": stdin_fd}
    warden = Warden(config, rest)
    try:
        config["wake_fd"] = _made_ready(status_fd, stdin_fd)
    except OSError as error:
        warden.tell(failed={"errno": error.errno, "what": READY})
        return
    if warden.start():
        warden.run()


def _made_ready(status_fd: int, stdin_fd: int) -> int:
    """Be the one to whom orphans fall; a descriptor that wakes the warden when a child ends."""
    prctl(_SUBREAPER, 1)
    wake, waking = os.pipe()
    for end in (wake, waking):
        os.set_blocking(end, False)
    os.set_inheritable(status_fd, False)
    os.set_inheritable(stdin_fd, False)
    signal.set_wakeup_fd(waking)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    return wake
