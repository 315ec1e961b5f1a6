"""The workplace of a run on this machine: its folder, its threads, the signals that it hears.

Clones lie in the run's folder, beside the ledger in the git common directory or in the user's state
folder, and borrow the host's objects. Jobs run in threads that are handed their result's ticket; each
is bounded by what it starts. Nothing here decides anything about an item.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from remit.core.checks import Check, Result
from remit.core.gitfacts import RepositoryRefusal
from remit.core.refusals import Code, Refused
from remit.drain import leftovers
from remit.drain.limits import Limits
from remit.drain.workplace import Job, News, Task
from remit.machine.processes import end_running
from remit.ports import RemitError
from remit.ports.agent import Agent
from remit.ports.sandbox import CellLimits, Probe, Room, Sandbox, SecretScan
from remit.repository.repository import GitRepository
from remit.service.outside import refused_by
from remit.wiring.scanning import Scans
from remit.wiring.sites import AttemptSite, ReviewPlace

POINT: Final = "REMIT_DRAIN_DIES_AT"
"""Names the point at which a drain kills itself, for tests of what it leaves."""

JOBS: Final = "remit-job-"
"""How the names of threads begin that do the jobs of a run."""

TERM_S: Final = 30.0
"""How long after SIGTERM a run may finish what it has, before it hands back."""


@dataclass(slots=True)
class Ground:
    """What all sites of a run share."""

    repository: GitRepository
    sandbox: Sandbox
    scans: Scans
    before_work: Callable[[Room], tuple[Probe, ...]]
    suspicious: Callable[[str], bool]
    records: Path
    limits: Limits
    cell_limits: CellLimits = field(default_factory=CellLimits)
    shown: tuple[Path, ...] = ()
    model: str = ""
    command: tuple[str, ...] = ()
    extra: tuple[tuple[str, str], ...] = ()
    without_sandbox: str = ""
    probed: dict[tuple[object, ...], str] = field(default_factory=dict)
    probing: threading.Lock = field(default_factory=threading.Lock)
    _objects: Path | None = None

    def objects(self) -> Path | Refused:
        """The host's objects, which clones borrow."""
        if self._objects is None:
            found = self.repository.objects()
            if isinstance(found, RepositoryRefusal):
                return refused_by(found)
            self._objects = found
        return self._objects

    def scan(self, base: str, head: str) -> SecretScan | Refused:
        """Scan every blob and message of a change for secrets, once more where it could not look."""
        return self._scanned(lambda: self.scans.scan(base, head))

    def read(self, text: str) -> SecretScan | Refused:
        """Scan a text that an agent printed for secrets, once more where it could not look."""
        return self._scanned(lambda: self.scans.read(text))

    def _scanned(self, scan: Callable[[], SecretScan | Refused]) -> SecretScan | Refused:
        if self.without_sandbox:
            return SecretScan(Result.NOT_TESTED, (), "the scanner needs a sandbox")
        found = scan()
        if isinstance(found, SecretScan) and found.result is Result.BLOCKED:
            return scan()
        return found


def python_shown() -> tuple[Path, ...]:
    """What an agent that is run by this interpreter needs to see: its environment and remit itself."""
    source = Path(__file__).resolve().parents[2]
    prefix = Path(sys.prefix).resolve()
    found = [] if prefix == Path(sys.base_prefix).resolve() else [prefix]
    if not any(source.is_relative_to(one) for one in (*found, Path(sys.base_prefix).resolve())):
        found.append(source)
    return tuple(found)


@dataclass(slots=True)
class Machine:
    """The workplace of one run; see ``drain.workplace.Workplace``."""

    folder: Path
    ground: Ground
    worker: Agent
    reviewer: Agent | None = None
    _news: queue.SimpleQueue[News] = field(default_factory=queue.SimpleQueue)
    _sites: dict[str, AttemptSite] = field(default_factory=dict)
    _asked: int = 0
    _term_s: float = 0.0
    _point: str = ""

    def __post_init__(self) -> None:
        self._point = os.environ.get(POINT, "")

    def recover(self) -> tuple[Check, ...]:
        """End what an earlier process of this run left running."""
        found = []
        for swept in leftovers.recover(self.ground.records):
            gone = Result.FAIL if swept.left else Result.PASS
            said = f"{swept.ended} ended, {swept.left} left"
            found.append(Check(f"leftovers {swept.name}", gone, said, "0 left"))
        return tuple(found)

    def site(self, task: Task) -> AttemptSite:
        """The place of an attempt."""
        if task.attempt not in self._sites:
            folder = self.folder / task.attempt
            self._sites[task.attempt] = AttemptSite(self.ground, task, self.worker, folder)
        return self._sites[task.attempt]

    def review_site(self, task: Task, head: str, base: str) -> ReviewPlace:
        """A place to review in; it is made anew each time."""
        assert self.reviewer is not None, "a run with a reviewer knows its agent"
        folder = self.folder / f"{task.attempt}.review"
        return ReviewPlace(self.ground, task, self.reviewer, folder, head, base)

    def submit(self, ticket: str, job: Job) -> None:
        """Run a job in a thread of its own."""

        def work() -> None:
            try:
                self._news.put(News(ticket, job()))
            except OSError as error:
                self._news.put(News(ticket, None, _trouble(ticket, error)))
            except Exception as error:  # noqa: BLE001  # the conductor raises it on its own thread
                self._news.put(News(ticket, None, error))

        threading.Thread(target=work, name=f"{JOBS}{ticket}", daemon=True).start()

    def next(self, wait_ms: int) -> News | None:
        """The next news."""
        try:
            return self._news.get(timeout=wait_ms / 1000) if wait_ms else self._news.get_nowait()
        except queue.Empty:
            return None

    def asked(self) -> str:
        """How the process was asked to end; who sent SIGTERM does not wait longer than its bound."""
        if self._term_s and time.monotonic() - self._term_s > TERM_S:
            return "now"
        return ("", "finish", "now")[min(self._asked, 2)]

    def end_all(self) -> None:
        """Kill git, rows and scanners that still run."""
        end_running()

    def reached(self, point: str) -> None:
        """Die here, if a test asked for it."""
        if self._point and point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)

    def finish(self) -> tuple[str, ...]:
        """Remove the run's folder where nothing is in it any more."""
        left = []
        for path in sorted(self.folder.glob("*")) if self.folder.exists() else ():
            if path != self.ground.records:
                left.append(str(path))
        for folder in (self.ground.records, self.folder):
            try:
                folder.rmdir()
            except OSError:
                continue
        return tuple(left)

    @contextmanager
    def hearing(self) -> Iterator[None]:
        """Take Ctrl-C and SIGTERM for requests, for the time of a run; only on the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def heard(number: int, _frame: FrameType | None) -> None:
            self._asked += 1
            if number == signal.SIGTERM and not self._term_s:
                self._term_s = time.monotonic()

        before: dict[int, Any] = {}
        for caught in (signal.SIGINT, signal.SIGTERM):
            before[caught] = signal.signal(caught, heard)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _trouble(ticket: str, error: OSError) -> RemitError:
    """What the machine refused a job, in the terms of all other trouble."""
    return RemitError(
        f"cannot go on with {ticket}: {error.strerror or error} ({error.filename or 'no file'})",
        "make room, or mend what is named",
        {"entry": ticket},
        code=Code.WORKPLACE_FAILED,
    )
