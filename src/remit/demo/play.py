"""The play itself: agents as processes, one of them killed, and everything that they hand in landed.

The conductor decides nothing about items. It starts processes, kills the one that stopped half way,
lets it come back late, and hands each item that is in review to ``Landing``. It ends when nothing
moves any more. Whatever happens, every process that it started is gone when it returns.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any, Final

from remit.core.facts import Item
from remit.core.status import Status
from remit.demo import plan
from remit.demo.landing import Landing
from remit.demo.room import DemoTrouble, Room
from remit.demo.telling import Teller
from remit.ports import ItemQuery
from remit.service.reading.items import load_items
from remit.wiring import Ledger

TTL_MS: Final = 6_000
"""Length of the lease whose holder is killed: long enough to get half way on a slow machine."""

LONGEST_SECONDS: Final = 150
"""When the play is broken off, far beyond what it takes."""

PAIR_SECONDS: Final = 20
"""How long the reviewer waits for two heads from the same main, so that one must be rebased."""

PAUSE_SECONDS: Final = 0.05
GRACE_SECONDS: Final = 10

MOVING: Final = (
    Status.READY,
    Status.LEASED,
    Status.IN_REVIEW,
    Status.APPROVED,
    Status.SHIPPED,
)


@dataclass(slots=True)
class Witness:
    """What only the conductor saw: process ids, how the killed one ended, what the late one heard."""

    pids: dict[str, list[int]] = field(default_factory=dict)
    half_done: dict[str, Any] = field(default_factory=dict)
    killed_exit: int | None = None
    late: dict[str, Any] = field(default_factory=dict)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let an interrupt wait until this is over: a process that nobody noted down would never be ended."""
    handled = callable(signal.getsignal(signal.SIGINT))
    if not handled or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt


@dataclass(slots=True)
class Cast:
    """The processes of the play. As a context it ends what still lives when it is left."""

    room: Room
    url: str
    running: dict[str, tuple[subprocess.Popen[bytes], IO[bytes]]] = field(default_factory=dict)

    def start(self, role: str, name: str, *more: str) -> subprocess.Popen[bytes]:
        """Start an agent in a process group of its own, with its output in a log."""
        with uninterrupted():
            return self._start(role, name, *more)

    def _start(self, role: str, name: str, *more: str) -> subprocess.Popen[bytes]:
        log = self.room.log(role).open("ab")
        argv = [sys.executable, "-m", "remit.demo.agent", "--ledger", self.url]
        argv += ["--room", str(self.room.path), "--name", name, *more]
        process = subprocess.Popen(
            argv,
            cwd=self.room.path,
            env=self.room.environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.running[role] = (process, log)
        return process

    def broken(self) -> str:
        """Which agent ended by itself with a failure, and its last words; empty if none did."""
        for role, (process, _) in self.running.items():
            if process.poll() not in (None, 0, -signal.SIGKILL):
                said = self.room.log(role).read_text("utf-8", "replace").strip()
                return f"{role} ended with {process.returncode}: {said[-500:]}"
        return ""

    def kill(self, role: str) -> int:
        """SIGKILL a process with all that it started, and see it gone."""
        process, _ = self.running[role]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait(GRACE_SECONDS)

    def dismiss(self) -> None:
        """Tell the agents to finish, and wait for it."""
        self.room.stop.touch()
        for role, (process, _) in self.running.items():
            try:
                process.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired as slow:
                raise DemoTrouble(f"{role} did not finish within {GRACE_SECONDS} s") from slow

    def __enter__(self) -> Cast:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        what: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        for role, (process, log) in self.running.items():
            if process.poll() is None:
                self.kill(role)
            log.close()


@dataclass(slots=True)
class Play:
    """The conductor of one play."""

    room: Room
    ledger: Ledger
    url: str
    teller: Teller
    landing: Landing
    witness: Witness = field(default_factory=Witness)
    landed: int = 0
    first_seen: float = 0.0

    def run(self) -> Witness:
        """Play until nothing moves; raises ``DemoTrouble`` where an agent broke or time is up."""
        self.landing.prepare()
        first, second = plan.AGENTS
        until = time.monotonic() + LONGEST_SECONDS
        with Cast(self.room, self.url) as cast:
            more = ["--first", plan.KILLED, "--ttl-ms", str(TTL_MS)]
            self._note(second, cast.start(second, second, *more))
            while not self.room.half_done.exists():
                self._wait(cast, until)
            self._note(first, cast.start(first, first))
            self._kill(cast, second)
            while not self._over():
                self._revive(cast, second)
                if not self._land_one():
                    self._wait(cast, until)
            cast.dismiss()
            self.teller.follow(self.ledger)
        return self.witness

    def _note(self, name: str, process: subprocess.Popen[bytes]) -> None:
        self.witness.pids.setdefault(name, []).append(process.pid)

    def _wait(self, cast: Cast, until: float) -> None:
        self.teller.follow(self.ledger)
        broken = cast.broken()
        if broken:
            raise DemoTrouble(broken)
        if time.monotonic() > until:
            raise DemoTrouble(f"not at an end after {LONGEST_SECONDS} s; see {self.room.path}/logs")
        time.sleep(PAUSE_SECONDS)

    def _kill(self, cast: Cast, role: str) -> None:
        """Kill the agent that stopped in the middle of its work."""
        seen = json.loads(self.room.half_done.read_text(encoding="utf-8"))
        self.witness.half_done = seen
        self.teller.follow(self.ledger)
        self.witness.killed_exit = cast.kill(role)
        self.teller.at(f"{role} (process {seen['pid']}) is killed in the middle of {seen['item']}")

    def _revive(self, cast: Cast, name: str) -> None:
        """Let the killed agent come back once somebody else holds a lease on its item."""
        if len(self.witness.pids[name]) == 1:
            [item] = self._items([self.witness.half_done["item"]])
            if item.attempt > self.witness.half_done["attempt"]:
                self._note(name, cast.start(f"{name}-late", name, "--late"))
        elif not self.witness.late and self.room.late.exists():
            self.witness.late = json.loads(self.room.late.read_text(encoding="utf-8"))

    def _items(self, names: list[str]) -> list[Item]:
        with self.ledger.reading() as tx:
            return load_items(tx, names)

    def _named(self, *statuses: Status) -> list[str]:
        with self.ledger.reading() as tx:
            return tx.items(ItemQuery(statuses=tuple(s.value for s in statuses), limit=0))

    def _over(self) -> bool:
        return bool(self.witness.late) and not self._named(*MOVING)

    def _land_one(self) -> bool:
        """Land the item that was handed in first; the very first only once there are two."""
        waiting = self._items(self._named(Status.IN_REVIEW))
        if not waiting:
            return False
        self.first_seen = self.first_seen or time.monotonic()
        early = time.monotonic() - self.first_seen < PAIR_SECONDS
        if not self.landed and len(waiting) < 2 and early:
            return False
        waiting.sort(key=lambda item: item.work.completed_seq if item.work else 0)
        self.landing.take(waiting[0].id)
        self.landed += 1
        self.teller.follow(self.ledger)
        return True
