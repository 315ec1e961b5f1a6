"""Supervision: a foreign program is started within bounds, watched, and ended with all that it started.

``start`` puts a warden (``remit.drain.warden``) between this process and the program, and one thread of
this process reads what the program writes. The program is in a session of its own, in a control group
where there is one, and its identity is on disk before it runs, so that a supervisor that is killed
leaves nothing that the next one would not find (``remit.drain.leftovers``).

Nothing here waits without a bound. A warden that does not answer in time is killed, and its tree is
swept as if the supervisor had died. An exit status is reported as what it is and means nothing more.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import select
import selectors
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from remit.drain import groups, leftovers
from remit.drain.groups import in_group
from remit.drain.leftovers import TOKEN, Record
from remit.drain.limits import Limits
from remit.drain.output import Line, Lines
from remit.drain.processes import Identity, WardenLost, boot_id, look, refused
from remit.drain.warden import FORK, READY
from remit.drain.wardens import WARDENS, within
from remit.machine.processes import Captured, HeadAndTail, absolute_path

OnLine = Callable[[str, Line], None]
"""Is told of each line, with ``stdout`` or ``stderr``, on the thread that reads."""

_READ_BYTES: Final = 65_536
_LOOK_S: Final = 0.2
_GREETING_S: Final = 10.0
_SAYING_S: Final = 1.0
_DRAIN_S: Final = 1.0
_PATIENCE_S: Final = 1.0
"""How long after its bound a warden may take to answer before it is given up."""


class Reason(StrEnum):
    """Why a run ended. What a caller asked for with ``stop`` stands beside it in ``asked``."""

    EXITED = "exited"
    WALL = "wall"
    IDLE = "idle"
    MEMORY = "memory"
    PROCESSES = "processes"
    CPU = "cpu"
    STOPPED = "stopped"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Usage:
    """What the whole tree used. Memory and processes are the largest that was sampled."""

    wall_ms: int = 0
    cpu_ms: int = 0
    memory_peak_bytes: int = 0
    processes_peak: int = 0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended.

    ``exit_code`` and ``signal`` are the program's own, at most one of them set. ``strays`` counts the
    processes that it left behind, which were ended. ``left`` counts what could not be ended, which
    should be none. ``asked`` is what ``stop`` was called with. ``fault`` is what ``on_line`` raised.
    """

    reason: Reason
    exit_code: int | None
    signal: int | None
    strays: int
    left: int
    asked: str
    usage: Usage
    stdout: Captured
    stderr: Captured
    fault: Exception | None = None


def start(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    cwd: Path,
    limits: Limits,
    records: Path,
    name: str,
    stdin: bytes = b"",
    on_line: OnLine | None = None,
    watch: Sequence[Path] = (),
) -> Process:
    """Start a program under supervision.

    ``environment`` is all that it gets, and a token. ``records`` is the folder of identity records and
    ``name`` this tree's name in it. ``watch`` are files whose growth counts as a sign of life.

    Raises ``OSError`` where the program cannot be started; nothing is left then. ``StartRefused`` among
    them says that the system gave no process for it, and ``WardenLost`` that somebody killed its warden.
    """
    record = Record(name, boot_id(), secrets.token_hex(16))
    group = groups.make(f"remit-{record.token}", limits)
    record = replace(record, group=str(group.path) if group else "")
    leftovers.keep(records, record)
    try:
        return Process(
            record, records, group, limits, on_line, watch,
            {
                "argv": list(argv),
                "environment": _environment(environment, record.token),
                "cwd": str(cwd),
                "limits": asdict(limits),
                "group": record.group,
                "seen": str(leftovers.seen_path(records, name).absolute()),
            },
            stdin,
        )  # fmt: skip
    except BaseException:
        swept = leftovers.sweep(record, records)
        if not swept.left:
            leftovers.forget(records, name)
        raise


def _environment(given: Mapping[str, str], token: str) -> dict[str, str]:
    made = dict(given) | {TOKEN: token}
    if "PATH" in made:
        made["PATH"] = absolute_path(made["PATH"])
    return made


class Process:
    """A running program; made by ``start``."""

    def __init__(
        self,
        record: Record,
        records: Path,
        group: groups.Group | None,
        limits: Limits,
        on_line: OnLine | None,
        watch: Sequence[Path],
        config: dict[str, Any],
        stdin: bytes,
    ) -> None:
        self.record = record
        self.limits = limits
        self.group = group
        self._records = records
        self._on_line = on_line
        self._watch = tuple(watch)
        self._lock = threading.Lock()
        self._asked: tuple[str, str, float] | None = None
        self._fault: Exception | None = None
        self._ended: Ended | None = None
        self._done = threading.Event()
        self._status_lines = Lines()
        self._told: dict[str, Any] = {}
        self._kept = {n: HeadAndTail(limits.output_bytes) for n in ("stdout", "stderr")}
        self._lines = {n: Lines() for n in ("stdout", "stderr")}
        self._launch(config, stdin)
        self._began = self._active = time.monotonic()
        thread = threading.Thread(target=self._run, name=f"remit-{record.name}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # Python keeps the number to itself; there is but one
            self._close()
            raise refused(errno.EAGAIN, "thread", config["argv"][0]) from error

    @property
    def confinement(self) -> tuple[str, ...]:
        """By what the tree is held, as evidence; a control group only where the program is in it."""
        held: tuple[str, ...] = ("session", "rlimits", "warden")
        if self.group is not None and self._joined:
            held += ("cgroup", *(f"cgroup-{bound}" for bound in self.group.bounds))
        return held

    @property
    def pid(self) -> int:
        """The program's process id."""
        assert self.record.agent is not None
        return self.record.agent.pid

    def stop(self, why: str = "stopped") -> None:
        """Ask for the end, within ``limits.stop_ms``; the first reason that is given counts."""
        self._ask(Reason.STOPPED, why)

    def wait(self, timeout_ms: int | None = None) -> Ended | None:
        """How it ended, or None if it still runs after so long."""
        self._done.wait(None if timeout_ms is None else timeout_ms / 1000)
        return self._ended

    def _ask(self, reason: Reason, why: str) -> None:
        with self._lock:
            if self._asked is None:
                self._asked = (reason, why, time.monotonic())
                with contextlib.suppress(OSError):
                    os.write(self._control, f"{reason}\n".encode())

    def _launch(self, config: dict[str, Any], stdin: bytes) -> None:
        """Start the warden, and through it the program. Raises ``OSError``."""
        self._warden = WARDENS.fork(stdin)
        self._control = self._warden.stdin.fileno()
        self._status = self._warden.status
        try:
            self._greet(config)
        except BaseException:
            self._close()
            raise

    def _greet(self, config: dict[str, Any]) -> None:
        """Hand the warden its orders, and write down whom it started."""
        until = time.monotonic() + _GREETING_S
        with contextlib.suppress(BrokenPipeError):
            self._write_all(json.dumps(config).encode() + b"\n", until)
        while not self._told:
            # A program may stop its warden as the first thing that it does.
            if not within(self._status, select.POLLIN, until - time.monotonic()):
                raise TimeoutError(errno.ETIMEDOUT, "the warden does not answer", config["argv"][0])
            chunk = os.read(self._status, _READ_BYTES)
            if not chunk:
                raise WardenLost(0, f"the warden ended at once: {self._said()}", config["argv"][0])
            self._take_status(chunk)
        failed = self._told.get("failed")
        if failed is not None:
            subject = config["cwd"] if failed["what"] == "cwd" else config["argv"][0]
            number = failed["errno"]
            if failed["what"] in (FORK, READY):
                raise refused(number, failed["what"], config["argv"][0])
            raise OSError(number, f"{os.strerror(number)} ({failed['what']})", subject)
        seen = look(self._warden.pid)
        agent = Identity(self._told["started"]["pid"], self._told["started"]["start"])
        self.record = replace(self.record, warden=seen.identity if seen else None, agent=agent)
        self._joined = self.group is not None and in_group(agent.pid, self.group)
        leftovers.keep(self._records, self.record)

    def _write_all(self, data: bytes, until: float) -> None:
        os.set_blocking(self._control, False)
        while data:
            if not within(self._control, select.POLLOUT, until - time.monotonic()):
                raise TimeoutError(errno.ETIMEDOUT, "the warden takes no orders")
            data = data[os.write(self._control, data) :]

    def _said(self) -> str:
        at = self._warden.stderr.fileno()
        # Whoever it left behind may hold its output open and say nothing.
        data = os.read(at, 4096) if within(at, select.POLLIN, _SAYING_S) else b""
        said = data.decode("utf-8", "replace").strip()
        return said.splitlines()[-1][:300] if said else "it said nothing"

    def _run(self) -> None:
        """Read until the warden has told how it ended, or is given up."""
        try:
            with selectors.DefaultSelector() as selector:
                self._register(selector)
                while "ended" not in self._told and not self._overdue():
                    if not self._turn(selector):
                        break
                swept = self._swept() if "ended" not in self._told else 0
                until = time.monotonic() + _DRAIN_S
                while time.monotonic() < until and len(selector.get_map()) > 1:
                    self._turn(selector, final=True)
            for stream, lines in self._lines.items():
                self._tell(stream, lines.close())
            self._finish(swept)
        finally:
            self._close()
            self._done.set()

    def _register(self, selector: selectors.BaseSelector) -> None:
        selector.register(self._status, selectors.EVENT_READ, "status")
        for stream in ("stdout", "stderr"):
            pipe = getattr(self._warden, stream)
            selector.register(pipe.fileno(), selectors.EVENT_READ, stream)

    def _turn(self, selector: selectors.BaseSelector, *, final: bool = False) -> bool:
        """Read once what is there; say whether the warden still speaks."""
        for key, _ in selector.select(_LOOK_S / 10 if final else _LOOK_S):
            chunk = os.read(key.fd, _READ_BYTES)
            if not chunk:
                selector.unregister(key.fd)
                if key.data == "status":
                    return False
            elif key.data == "status":
                self._take_status(chunk)
            else:
                self._active = time.monotonic()
                self._kept[key.data].keep(chunk)
                self._tell(key.data, self._lines[key.data].feed(chunk))
        if not final and self._idle():
            self._ask(Reason.IDLE, "idle")
        return True

    def _take_status(self, chunk: bytes) -> None:
        for line in self._status_lines.feed(chunk):
            self._told |= json.loads(line.data)

    def _tell(self, stream: str, lines: Sequence[Line]) -> None:
        if self._on_line is None or self._fault is not None:
            return
        try:
            for line in lines:
                self._on_line(stream, line)
        except Exception as fault:  # noqa: BLE001  # reading must go on; who waits is told
            self._fault = fault
            self._ask(Reason.STOPPED, "fault")

    def _idle(self) -> bool:
        for path in self._watch:
            with contextlib.suppress(OSError):
                quiet_s = time.time() - path.lstat().st_mtime
                self._active = max(self._active, time.monotonic() - max(0.0, quiet_s))
        return (time.monotonic() - self._active) * 1000 > self.limits.idle_ms

    def _overdue(self) -> bool:
        """Whether the warden had its time: since it was asked, or since the run's own bound."""
        stop_s = self.limits.stop_ms / 1000 + _PATIENCE_S
        now = time.monotonic()
        asked = self._asked is not None and now > self._asked[2] + stop_s
        return asked or now > self._began + self.limits.wall_ms / 1000 + stop_s

    def _swept(self) -> int:
        """End a tree whose warden is lost; how many would not end."""
        self._warden.kill()
        return leftovers.sweep(self.record, self._records).left

    def _finish(self, swept: int) -> None:
        told = self._told.get("ended", {"reason": Reason.LOST, "left": swept})
        left = told["left"]
        reason = Reason.STOPPED if told["reason"] == "supervisor-gone" else Reason(told["reason"])
        if self.group is not None and not left:
            self.group.kill()
            self.group.remove()
        if not left:
            leftovers.forget(self._records, self.record.name)
        self._ended = Ended(
            reason,
            told.get("exit"),
            told.get("signal"),
            told.get("strays", 0),
            left,
            self._asked[1] if self._asked is not None else "",
            Usage(
                told.get("wall_ms", int((time.monotonic() - self._began) * 1000)),
                told.get("cpu_ms", 0),
                told.get("memory_peak", 0),
                told.get("processes_peak", 0),
            ),
            self._kept["stdout"].captured(),
            self._kept["stderr"].captured(),
            self._fault,
        )

    def _close(self) -> None:
        """Let go of the warden: at the end of its pipe it ends by itself."""
        with self._lock:
            self._asked = self._asked or (Reason.STOPPED, "", time.monotonic())
            self._warden.close()
        if not self._warden.wait(self.limits.stop_ms / 1000 + _PATIENCE_S):
            self._warden.kill()
            self._warden.wait(_PATIENCE_S)
        os.close(self._warden.handle)
