"""Places: a folder, a cell, an agent that runs in it under supervision, and the end of it.

What an attempt and a review have in common. The cell is built and probed before anything starts in it,
nothing is started without one unless a human decided just that, and it is closed when the agent is
gone. What a guest said is bounded, and is withheld where it looks like a credential; its transcript is
also read by the scanner that reads its commits, and withheld where that found something or could not look.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from remit.core.checks import Check, Result
from remit.core.refusals import Refused
from remit.drain import words
from remit.drain.agents.exchange import Exchange
from remit.drain.agents.outcomes import Came
from remit.drain.agents.outcomes import Result as AgentResult
from remit.drain.agents.running import Run, run
from remit.drain.agents.starting import CannotStart, Job, argv_of, environment_of
from remit.drain.endings import Ending
from remit.drain.processes import StartRefused, WardenLost
from remit.drain.renewal import Renewal, boot_s
from remit.drain.supervision import Ended, Reason
from remit.drain.workplace import Keep, Ready, Task, Worked
from remit.machine.directories import remove_tree
from remit.ports.agent import Agent, Progress
from remit.ports.sandbox import Cell, Egress, Probe, Room, SandboxRefusal
from remit.wiring.agents import Files

if TYPE_CHECKING:
    from remit.wiring.workplace import Ground

_TURN_MS: Final = 100
_BREACH_S: Final = 1.0
_TRANSCRIPT_BYTES: Final = 16_384
_WITHHELD: Final = "[withheld: it looks like it holds a credential]"
_RULES: Final = 5
"""Rules of the scanner that are named where a transcript is withheld."""
STARTED: Final = "started"
"""Marks a folder in which an agent may have run."""
_KILLED_CODES: Final = (137, 128 + 9)


class Place:
    """What sites have in common: a folder, a cell, an agent that runs in it, and its end."""

    def __init__(self, ground: Ground, task: Task, agent: Agent, folder: Path) -> None:
        self.ground = ground
        self.task = task
        self.agent = agent
        self.folder = folder
        self.clone = folder / "clone"
        self.desk: Path | None = None
        self.exchange = Exchange(folder / "exchange")
        self._cell: Cell | None = None
        self._run: Run | None = None
        self._stopped = ""
        self._lock = threading.Lock()

    # The cell.

    def job(self) -> Job:
        """The attempt as the agent is told of it."""
        return Job(
            self.task.item,
            self.task.attempt,
            self.clone,
            self.exchange,
            self.task.scope,
            self.task.spend_micros,
            self.ground.model,
            self.ground.command,
            self.ground.extra,
            self.desk,
        )

    def room(self, *, sealed: bool) -> Room | Refused:
        """The room of this attempt: its clone or desk, its exchange, and what everybody may see."""
        objects = self.ground.objects()
        if isinstance(objects, Refused):
            return objects
        environment = environment_of(self.agent, self.job())
        argv = argv_of(self.agent, self.job(), "")
        named = (*self.agent.environment, *(name for name, _ in self.agent.set))
        return Room(
            self.task.attempt,
            (self.desk or self.clone).resolve(),
            writable=(self.exchange.folder.resolve(),),
            read_only=(
                objects,
                *self.ground.shown,
                *((self.clone.resolve(),) if self.desk else ()),
            ),
            commands=(argv[0],),
            egress=Egress(self.agent.egress),
            environment=environment,
            granted=named,
            limits=self.ground.cell_limits,
            sealed=sealed,
        )

    def build(self, *, sealed: bool) -> Ready:
        """Build the cell, look for credentials, and probe it from inside."""
        self._close()
        (self.exchange.folder / "home").mkdir(parents=True, exist_ok=True)
        if self.ground.without_sandbox:
            said = f"decision {self.ground.without_sandbox}"
            return Ready((Check("sandbox", Result.NOT_TESTED, "none", "", said, "NO_SANDBOX"),))
        try:
            room = self.room(sealed=sealed)
        except CannotStart as error:
            return Ready((Check("agent", Result.BLOCKED, str(error)[:300], "", "", "NO_START"),))
        if isinstance(room, Refused):
            return Ready((blocked("room", room.code.value, room.message),))
        looked = (
            Check("commands", Result.PASS, room.commands[0][:300], "these and no others"),
            Check("egress", Result.PASS, ",".join(room.egress.hosts)[:300] or "none", "these only"),
            *(_check(probe) for probe in self.ground.before_work(room)),
        )
        if Ready(looked).unfit:
            return Ready(looked)
        try:
            cell = self.ground.sandbox.prepare(room)
            if isinstance(cell, SandboxRefusal):
                return Ready((*looked, blocked("cell", cell.code.value, cell.message)))
            self._cell = cell
            return Ready((*looked, *self._probes(cell, room)))
        except OSError as error:
            return Ready((*looked, blocked("cell", "CELL_FAILED", str(error))))

    def _probes(self, cell: Cell, room: Room) -> tuple[Check, ...]:
        """What the probes found. Where nobody works but only looks, a room of one shape is tried once.

        What was not tried in this very cell is NOT_TESTED, and names the attempt whose cell was.
        """
        shown = tuple(path for path in room.read_only if path != self.clone.resolve())
        shape = (
            room.sealed, room.commands, room.egress, room.limits, shown,
            tuple(sorted(room.environment)),
        )  # fmt: skip
        if not room.sealed:
            return tuple(_check(probe) for probe in cell.probe())
        with self.ground.probing:  # who comes meanwhile waits for what the first one finds
            tried = self.ground.probed.get(shape, "")
            if tried:
                said = f"a room of this shape was probed for {tried}"
                return (Check("probes", Result.NOT_TESTED, said, "held", tried, "SAME_SHAPE"),)
            checks = tuple(_check(probe) for probe in cell.probe())
            if not Ready(checks).unfit:
                self.ground.probed[shape] = self.task.attempt
            return checks

    def _wrap(self, argv: list[str]) -> list[str]:
        if self._cell is None:
            if self.ground.without_sandbox:
                return argv
            raise CannotStart("there is no cell, and nothing runs without one")
        found = self._cell.command(argv)
        if isinstance(found, SandboxRefusal):
            raise CannotStart(found.message)
        return list(found)

    # The agent.

    def work(self, brief: str, keep: Keep, told: Callable[[Progress], None]) -> Worked:
        """Run the agent to its end, its lease kept alive; see ``workplace.Site``."""
        asked = boot_s()
        holds = keep.holds_ms()
        (self.folder / STARTED).touch()
        try:
            started = run(
                self.agent,
                self.job(),
                brief,
                Files(),
                limits=self.ground.limits,
                records=self.ground.records,
                wrap=self._wrap,
            )
        except (CannotStart, OSError) as error:
            self._close()
            return _not_started(str(error), isinstance(error, WardenLost | StartRefused))
        try:
            renewal = Renewal(
                holds, asked, renew=keep.renew, killed=keep.killed, stop=started.process.stop
            )
        except RuntimeError as error:  # nothing works under a lease that nobody keeps alive
            started.process.stop(words.NO_START)
            started.process.wait()
            self._close()
            return _not_started(str(error), killed=True)
        try:
            worked = self._worked(started, self._watch(started, told))
        finally:
            renewal.let_go()
        self._close()
        return replace(worked, refused=renewal.refused)

    def _watch(self, started: Run, told: Callable[[Progress], None]) -> Check | None:
        """Until it has ended: pass progress on, and look at what it fills the disk with."""
        with self._lock:
            self._run = started
        if self._stopped:
            started.process.stop(self._stopped)
        looked, breach = time.monotonic(), None
        while True:
            ended = started.process.wait(_TURN_MS)
            for line in started.news():
                told(replace(line, text=self.plain(line.text)))
            if ended is not None:
                break
            if self._cell is not None and time.monotonic() - looked > _BREACH_S:
                looked = time.monotonic()
                over = self._cell.breach()
                if over is not None:
                    breach = Check(over.limit, Result.FAIL, str(over.found), str(over.allowed))
                    started.process.stop(words.DISK_BREACH)
        with self._lock:
            self._run = None
        return breach

    def _worked(self, started: Run, breach: Check | None) -> Worked:
        result = started.result(0)
        ended = started.process.wait(0)
        assert result is not None, "it has ended"
        assert ended is not None, "it has ended"
        if breach is not None:
            result = replace(result, came=Came.CRASHED, code=words.DISK_BREACH)
        result = replace(result, said=self.plain(result.said))
        captured = started.transcript()
        kept = b"" if captured is None else captured.whole()
        text = (kept[: _TRANSCRIPT_BYTES // 2] + kept[-_TRANSCRIPT_BYTES // 2 :]).decode(
            "utf-8", "replace"
        )
        if len(kept) <= _TRANSCRIPT_BYTES:
            text = kept.decode("utf-8", "replace")
        text, looked = self.transcript(text)
        checks = [_termination(ended), *((breach,) if breach else ()), *self._egress(), *looked]
        ending = _ending(result, ended, self.ground.limits.wall_ms, self.ground.limits.idle_ms)
        figures = (
            ("reason", ended.reason.value),
            ("wall_ms", str(ended.usage.wall_ms)),
            ("cpu_ms", str(ended.usage.cpu_ms)),
            ("memory_peak_bytes", str(ended.usage.memory_peak_bytes)),
            ("processes_peak", str(ended.usage.processes_peak)),
            ("held_by", ",".join(started.process.confinement)),
        )
        return Worked(result, ending, tuple(checks), figures, None, text)

    def _egress(self) -> tuple[Check, ...]:
        if self._cell is None or not self.agent.egress:
            return ()
        tries = self._cell.tries()
        let = sum(one.allowed for one in tries)
        targets = ",".join(sorted({one.target for one in tries}))[:300]
        return (
            Check("egress", Result.PASS, f"{let} let through, {len(tries) - let} not: {targets}",
                  ",".join(self.agent.egress)[:300]),
        )  # fmt: skip

    def plain(self, text: str) -> str:
        """Text of a guest's that may be written down: withheld where a credential may be in it.

        What no store keeps is replaced, or a guest could have the record of it refused.
        """
        kept = text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")
        return _WITHHELD if self.ground.suspicious(kept) else kept

    def transcript(self, text: str) -> tuple[str, tuple[Check, ...]]:
        """A transcript as it may be kept, and what the scanner said of it where it was asked."""
        kept = self.plain(text)
        if not kept.strip() or kept == _WITHHELD:
            return kept, ()
        scan = self.ground.read(kept)
        if isinstance(scan, Refused):
            return _withheld("it could not be scanned"), (
                blocked("transcript", scan.code.value, scan.message),
            )
        check = Check("transcript", scan.result, scan.evidence[:300], "no secrets")
        if scan.result is Result.FAIL:
            rules = sorted({one.rule for one in scan.findings})[:_RULES]
            return _withheld(f"the scanner found {', '.join(rules) or 'a secret'}"), (check,)
        if scan.result is Result.BLOCKED:
            return _withheld("it could not be scanned"), (check,)
        return kept, (check,)

    def stop(self, why: str) -> None:
        """Ask for the end of what runs; what is started later is stopped at once."""
        self._stopped = self._stopped or why
        with self._lock:
            running = self._run
        if running is not None:
            running.process.stop(why)

    def _close(self) -> None:
        cell, self._cell = self._cell, None
        if cell is not None:
            cell.close()

    def clear(self) -> str:
        """Close the cell and remove the folder; names it where some of it stays."""
        self._close()
        return "" if remove_tree(self.folder) else str(self.folder)


def _withheld(why: str) -> str:
    return f"[withheld: {why}]"


def _check(probe: Probe) -> Check:
    return Check(probe.name, probe.result, probe.evidence[:300], "held", "", "")


def blocked(name: str, code: str, said: str) -> Check:
    """A check that could not be made, and why."""
    return Check(name, Result.BLOCKED, said[:300], "", "", code)


def _termination(ended: Ended) -> Check:
    gone = Result.PASS if not ended.left else Result.FAIL
    return Check("termination", gone, f"{ended.left} left, {ended.strays} strays", "0 left")


def _ending(result: AgentResult, ended: Ended, wall_ms: int, idle_ms: int) -> Ending:
    bound = ended.reason.value if ended.reason is not Reason.EXITED else ""
    outside = ended.reason is Reason.LOST or (
        ended.reason is Reason.EXITED
        and (ended.signal == 9 or ended.exit_code in _KILLED_CODES)
        and result.came is Came.CRASHED
    )
    return Ending(
        result.came,
        result.code,
        -1 if ended.exit_code is None else ended.exit_code,
        -1 if ended.signal is None else ended.signal,
        bound,
        idle_ms if ended.reason is Reason.IDLE else wall_ms,
        ended.usage.wall_ms,
        Result.PASS if not ended.left else Result.BLOCKED,
        result.spent_micros is not None,
        outside,
    )


def _not_started(said: str, killed: bool) -> Worked:
    result = AgentResult(Came.CRASHED, words.NO_START, said[:500])
    ending = Ending(
        Came.CRASHED, words.NO_START, terminated=Result.PASS, figured=True, killed=killed
    )
    return Worked(result, ending)
