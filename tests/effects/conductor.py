"""Runs it all: forks workers and a controller, strikes them, puts the ledger back, and waits for rest.

A process of its own without threads, so that it may fork; ``plan.json`` in the folder that it is
given says what to do. It is the supervisor too: what it sees end, it writes into ``deaths``, and the
controller notes it on the ledger. Each new life is struck at the point that was struck least so far,
of those that any life of its kind has reached. Before a ledger is put back everybody is killed, but
for a worker that is stopped before a send to the destination that enforces fences: it wakes up in
another epoch and sends all the same. Whoever adopts may be killed as well, and does it again.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.destinations.processes import Service
from tests.effects import plan as p
from tests.effects.controller import Controller
from tests.effects.points import POINTS, Fate, Log, Points, lines
from tests.effects.worker import Worker

from remit import wiring
from remit.core.refusals import Refused
from remit.ports import OutcomeUnknown
from remit.service.adoption import adopt
from remit.service.engine import Done

BETWEEN_S: Final = 2.0
PATIENT_S: Final = 3.0
"""How long a ledger is used at least after a backup before it is lost, and how much longer for somebody
to be stopped before a send who will go on in another epoch."""

DIES_WITH_PARENT: Final = 1
_LIBC: Final = ctypes.CDLL(None)

SENDING: Final = ("send:before", "send:under way", "intended", "send:after")
"""Where a worker is stopped most often: between its intent and its report, first of all before it
sends."""


@dataclass
class Living:
    """A process: its role, its life, what is to befall it, and since when it is stopped."""

    role: str
    life: str
    fate: Fate
    wakes_at: float = 0.0
    ends_at: float = 0.0


class Conductor:
    """One run."""

    def __init__(self, plan: p.Plan, services: dict[str, Service]) -> None:
        self.plan = plan
        self.folder = Path(plan.folder)
        self.services = services
        self.chance = random.Random(plan.seed)
        self.living: dict[int, Living] = {}
        self.lives: Counter[str] = Counter()
        self.struck: Counter[str] = Counter()
        self.did: Counter[str] = Counter()
        self.deaths = Log(self.folder / "deaths")
        self.calm = False
        self.losing = False
        self.unreadable_until: dict[str, float] = {}
        self.next_outage = time.monotonic() + 0.5
        self.slowness = 1.0
        self.epoch = 0

    # Processes.

    def fork(self, body: Callable[[], None], errors: str) -> int:
        """A process that does this and ends."""
        child = os.fork()
        if child:
            return child
        _LIBC.prctl(DIES_WITH_PARENT, signal.SIGKILL)  # a run that is broken off leaves nobody
        try:
            body()
            os._exit(0)
        except BaseException:
            with (self.folder / f"{errors}.errors").open("a") as file:
                traceback.print_exc(file=file)
            os._exit(1)

    def start(self, role: str, name: str) -> None:
        """Let a worker or a controller live, with a fate unless it is calm."""
        self.lives[name] += 1
        life = f"{name}.{self.lives[name]}"
        fate = Fate() if self.calm else self.fate(role)
        plan = self.plan

        def body() -> None:
            plant(plan.plant)
            points = Points(fate, Log(self.folder / f"{life}.log"))
            if role == "worker":
                Worker(plan, name, life, points).live()
            else:
                Controller(plan, life, points).live()

        life_s = self.chance.uniform(1, 4) * self.slowness
        ends_at = time.monotonic() + life_s if fate.verb else 0.0
        self.living[self.fork(body, life)] = Living(role, life, fate, ends_at=ends_at)

    def fate(self, role: str) -> Fate:
        """The point that was struck least, a stop at times; nothing once enough were killed."""
        chance = self.chance
        if self.losing and role == "worker" and chance.random() < 0.6:
            return Fate("stop", "send:fenced")
        missed = not all(self.struck[point] for point in POINTS[role])
        if self.did["killed"] >= self.plan.kills and not (missed and self.plan.kills):
            return Fate()
        if chance.random() < (0.25 if role == "worker" else 0.1):
            likely = SENDING if role == "worker" else ("look-up:seen", "repeat:before")
            point = chance.choice(likely if chance.random() < 0.7 else POINTS[role])
            return Fate("stop", point, chance.randint(1, 3))
        if role == "worker" and chance.random() < 0.15:
            return Fate("kill", "send:under way", chance.randint(1, 4), chance.randint(1, 40))
        aimed = Counter(one.fate.point for one in self.living.values())
        times = {point: self.struck[point] + aimed[point] for point in POINTS[role]}
        least = [point for point, n in times.items() if n == min(times.values())]
        point = chance.choice(least if chance.random() < 0.8 else POINTS[role])
        return Fate("kill", point, chance.randint(1, 3) if self.struck[point] else 1)

    def reap(self) -> None:
        """See who ended or stopped."""
        while self.living:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return
            if pid not in self.living:
                continue
            if os.WIFSTOPPED(status):
                self._stopped(self.living[pid])
            else:
                self._ended(pid, status)

    def _stopped(self, one: Living) -> None:
        self.did["stopped"] += 1
        one.ends_at = 0.0
        one.wakes_at = time.monotonic() + self.chance.uniform(1.2, 4.0) * p.TTL_MS / 1_000
        if one.role == "controller":
            self.start("controller", "controller")  # another takes over meanwhile

    def _ended(self, pid: int, status: int) -> None:
        one = self.living.pop(pid)
        self.deaths.note("ended", life=one.life, status=status)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL, f"{one.life}: {status}"
            self.did["killed"] += 1
            seen = lines(self.folder / f"{one.life}.log")
            for last in seen[-1:]:
                self.struck[last["point"] if last["what"] == "struck" else ""] += 1
            if not seen:  # on a busy machine a life must be longer to come to anything
                self.slowness = min(1.5 * self.slowness, 30.0)
        elif os.WEXITSTATUS(status):
            said = (self.folder / f"{one.life}.errors").read_text()
            raise AssertionError(f"{one.life} ended with {status}: {said}")
        name = one.life.rpartition(".")[0]
        heirs = [o for o in self.living.values() if o.role == one.role and not o.wakes_at]
        if (self.folder / "over").exists() or (one.role == "controller" and heirs):
            return
        self.start(one.role, name)

    def wake(self) -> None:
        """Let those go on that were stopped long enough, and end those that met no fate."""
        now = time.monotonic()
        for pid, one in self.living.items():
            if one.wakes_at and now > one.wakes_at:
                one.wakes_at = 0.0
                os.kill(pid, signal.SIGCONT)
            elif one.ends_at and now > one.ends_at and not self.calm:
                one.ends_at = 0.0
                self.did["killed at some moment"] += 1
                os.kill(pid, signal.SIGKILL)

    def done(self, body: Callable[[], None], what: str) -> bool:
        """Do something in a process of its own; whether it ended well."""
        _, status = os.waitpid(self.fork(body, what), 0)
        if os.WIFSIGNALED(status):
            return False
        assert status == 0, (self.folder / f"{what}.errors").read_text()
        return True

    # The outside.

    def outages(self) -> None:
        """Let records be away at times, and whole destinations."""
        now = time.monotonic()
        for mode, until in list(self.unreadable_until.items()):
            if now > until or self.calm:
                self.services[mode].control(unreadable="", out="")
                del self.unreadable_until[mode]
        if self.calm or now < self.next_outage:
            return
        mode = self.chance.choice(self.plan.modes)
        how = self.chance.choice(("503", "closed"))
        what = "out" if self.chance.random() < 0.2 else "unreadable"
        self.services[mode].control(**{what: how})
        self.unreadable_until[mode] = now + self.chance.uniform(0.1, 0.8)
        self.next_outage = now + self.chance.uniform(0.4, 1.5)
        self.did["outages"] += 1

    # Backup and restore.

    def back_up(self, number: int) -> None:
        """Copy the ledger while it is in use."""

        def body() -> None:
            ledger = wiring.open_ledger(self.plan.url)
            if self.plan.urls:
                with (self.folder / f"backup-{number}.lines").open("wb") as file:
                    file.writelines(wiring.export_lines(ledger))
            else:
                wiring.backup(ledger, self.folder / f"backup-{number}.db")
            ledger.close()

        assert self.done(body, "backup")
        self.did["backups"] += 1

    def put_back(self, number: int) -> None:
        """Lose the ledger, put the last copy of it in its place, and adopt that."""
        for pid, one in list(self.living.items()):
            if self._may_survive(one):
                self.did["stopped across a restore"] += 1
                one.wakes_at = time.monotonic() + 3.0
                continue
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            del self.living[pid]
            self.deaths.note("ended", life=one.life, status=9)
        self._exchange(number)
        dies_at = self.chance.randint(1, 12)
        if not self.done(lambda: self._adopt(number, dies_at), "adopt"):
            self.did["killed while adopting"] += 1
            assert self.done(lambda: self._adopt(number, 0), "adopt")
        self.epoch += 1
        self.did["restores"] += 1
        self.begin()

    def _may_survive(self, one: Living) -> bool:
        """Whether it is stopped before it sends to the destination that enforces fences."""
        last = lines(self.folder / f"{one.life}.log")[-1:] if one.wakes_at else []
        return bool(last) and last[0].get("point") == "send:fenced"

    def _exchange(self, number: int) -> None:
        """The lost ledger is kept, for whoever judges the run."""
        if self.plan.urls:
            (self.folder / "lost").open("a").write(self.plan.url + "\n")
            self.plan.url = self.plan.urls.pop(0)
            return
        lost = self.folder / f"lost-{number}"
        lost.mkdir()
        for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
            with suppress(FileNotFoundError):
                (self.folder / name).rename(lost / name)
        (self.folder / "lost").open("a").write(wiring.url_of(lost / "ledger.db") + "\n")

    def _adopt(self, number: int, dies_at: int) -> None:
        """Put the copy there unless it is there already, and adopt it under one command id."""
        steps = 0

        def pause(_step: str) -> None:
            nonlocal steps
            steps += 1
            if steps == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)

        if self.plan.urls or "postgres" in self.plan.url:
            with (self.folder / f"backup-{number}.lines").open("rb") as file:
                ledger, _ = wiring.import_lines(self.plan.url, file)
        elif (self.folder / "ledger.db").exists():
            ledger = wiring.open_ledger(self.plan.url)
        else:
            ledger = wiring.restore(self.folder / f"backup-{number}.db", self.plan.url)
        ledger.store.pause = pause  # type: ignore[attr-defined]  # of both stores
        acting = ledger.acting(p.HUMAN)
        while True:
            try:
                found = adopt(acting, "put back", self.epoch, command_id=f"adopt-{number}")
                break
            except OutcomeUnknown:
                continue
        assert not isinstance(found, Refused), found
        ledger.close()

    # The run.

    def lay(self) -> None:
        """Make the ledger, and say what is in force."""
        ledger = wiring.create_ledger(self.plan.url, p.HUMAN)
        for answer in ledger.acting(p.HUMAN).run(p.registrations(self.plan)):
            assert isinstance(answer, Done), answer
        ledger.close()

    def begin(self) -> None:
        """Let everybody live who does not."""
        self.start("controller", "controller")
        named = {one.life.rpartition(".")[0] for one in self.living.values()}
        for number in range(self.plan.workers):
            if f"w{number}" not in named:
                self.start("worker", f"w{number}")

    def progress(self) -> dict[str, Any]:
        """What the controller said last."""
        with suppress(FileNotFoundError):
            found: dict[str, Any] = json.loads((self.folder / "progress").read_text())
            return found
        return {"settled": 0, "rest": False, "counts": {}}

    def run(self) -> None:
        """Everything, until all has come to rest."""
        assert self.done(self.lay, "lay")
        for mode, service in self.services.items():
            seed = f"{self.plan.seed} {mode}"
            service.control(**p.BEHAVIOUR[mode], chaos={**self.plan.chaos, "seed": seed})
        self.begin()
        steps = [
            step
            for number, (backup, restore) in enumerate(self.plan.restores)
            for step in ((backup, self.back_up, number), (restore, self.put_back, number))
        ]
        until = time.monotonic() + self.plan.patience_s
        ready_at = 0.0
        while not (self.calm and self.progress()["rest"]):
            if time.monotonic() > until:
                if self.plan.plant:
                    break  # what a planted fault has spoilt need not come to rest
                raise AssertionError(f"no rest: {self.progress()} {self.did}")
            self.reap()
            self.wake()
            self.outages()
            done = self.progress()["settled"] / self.plan.effects
            late = time.monotonic() - ready_at
            if self.losing and late < PATIENT_S and not any(map(self._may_survive, self.living.values())):  # fmt: skip
                late = -1.0
            if steps and done >= steps[0][0] and late > 0:
                _, act, number = steps.pop(0)
                act(number)
                # Between a backup and the loss there is time for things that the copy lacks.
                self.losing = act == self.back_up
                ready_at = time.monotonic() + (BETWEEN_S if self.losing else 0)
                (self.folder / "progress").unlink(missing_ok=True)
            elif not steps and not self.calm and done >= (0.9 if self._struck_enough() else 0.97):
                self.rest()
            time.sleep(0.01)
        (self.folder / "over").touch()
        self.end()

    def _struck_enough(self) -> bool:
        """Whether somebody was killed at each point, where enough are to be killed for that."""
        points = [point for role in POINTS.values() for point in role]
        return self.plan.kills < len(points) or all(self.struck[point] for point in points)

    def rest(self) -> None:
        """From here on nothing befalls anybody."""
        self.calm = True
        for service in self.services.values():
            service.control(chaos={})
        for pid, one in self.living.items():
            if one.fate.verb and not one.wakes_at:
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """Wait for everybody, and keep what was done."""
        while self.living:
            self.wake()
            self.reap()
            time.sleep(0.005)
        said = {"did": self.did, "url": self.plan.url}
        (self.folder / "conducted.json").write_text(json.dumps(said))

    def close(self) -> None:
        """End what still lives."""
        for pid in self.living:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def plant(name: str) -> None:
    """Plant a fault in this process for as long as it lives; no name, no fault."""
    if name:
        import pytest
        from tests.core.outside_mutants import MUTANTS

        [mutant] = [one for one in MUTANTS if one.name == name]
        mutant.plant(pytest.MonkeyPatch())


def main() -> None:
    """Run the plan of a folder."""
    folder = Path(sys.argv[1])
    plan = msgspec.json.decode((folder / "plan.json").read_bytes(), type=p.Plan)
    services = {mode: Service(folder / f"record.{mode}") for mode in plan.modes}
    plan.ports = {mode: service.port for mode, service in services.items()}
    conductor = Conductor(plan, services)
    try:
        conductor.run()
    finally:
        conductor.close()
        for service in services.values():
            service.stop()


if __name__ == "__main__":
    main()
