"""Running an agent: brief in, process under supervision, progress while it goes, result at its end.

The reader of the two files is handed in, since how documents are read is an adapter's matter. The
command may be wrapped (a sandbox's cell does that) before it is started; it is started as it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

from remit.drain import supervision
from remit.drain.agents.exchange import REPORT, NotPlain, read_plain
from remit.drain.agents.listening import Listener
from remit.drain.agents.outcomes import Result, Said, judge
from remit.drain.agents.starting import Job, argv_of, environment_of
from remit.drain.limits import Limits
from remit.drain.output import Line
from remit.machine.processes import Captured
from remit.ports.agent import Agent, BriefWay, Progress, Report, Transcript

REPORT_BYTES: Final = 256 * 1024
_PROBLEMS: Final = 20

Told = Callable[[Progress], None]
"""Is told of each line of progress, once; its text is foreign."""


class Reader(Protocol):
    """Reads what an agent writes; ``remit.wiring.agents.Files`` is one."""

    def report(self, data: bytes) -> tuple[Report | None, list[str]]:
        """A report, or what is wrong with it."""

    def progress(self, data: bytes, line: int) -> tuple[Progress | None, list[str]]:
        """A line of progress, or what is wrong with it."""


class Run:
    """One agent at work; made by ``run``."""

    def __init__(self, agent: Agent, job: Job, reader: Reader) -> None:
        self.agent = agent
        self.job = job
        self.listener = Listener(agent)
        self._reader = reader
        self._lines = 0
        self._costs: list[int | None] = []
        self.faulty_lines = 0
        self.process: supervision.Process

    def heard(self, stream: str, line: Line) -> None:
        """A line of output, on the reading thread."""
        if stream == "stdout":
            self.listener.take(line)

    def news(self) -> list[Progress]:
        """The lines of progress that came since this was last asked."""
        lines = self.job.exchange.progress_lines()
        found = []
        for number, data in enumerate(lines[self._lines :], self._lines + 1):
            told, _ = self._reader.progress(data, number)
            if told is None:
                self.faulty_lines += 1
            else:
                found.append(told)
                self._costs.append(told.spent_micros)
        self._lines = max(self._lines, len(lines))
        return found

    def transcript(self) -> Captured | None:
        """What is kept of the output that is the transcript, head and tail; None while it runs."""
        ended = self.process.wait(0)
        if ended is None:
            return None
        return ended.stderr if self.agent.transcript is Transcript.STDERR else ended.stdout

    def result(self, timeout_ms: int | None = None) -> Result | None:
        """How it is to be taken, once it has ended; None while it runs after so long."""
        ended = self.process.wait(timeout_ms)
        if ended is None:
            return None
        self.news()
        self.listener.end()
        report, problems = self._report()
        own = report.spent_micros if report is not None else None
        costs = (*self._costs, self.listener.cost_micros, own)
        said = Said(
            report,
            tuple(problems[:_PROBLEMS]),
            self.listener.text,
            self.listener.session,
            self.listener.failed,
            costs,
        )
        return judge(self.agent, ended, said)

    def _report(self) -> tuple[Report | None, list[str]]:
        try:
            data = read_plain(self.job.exchange.report, REPORT_BYTES)
        except NotPlain as found:
            return None, [str(found)]
        if data is None:
            return None, []
        report, problems = self._reader.report(data)
        return report, [f"{REPORT}: {problem}" for problem in problems]


def run(
    agent: Agent,
    job: Job,
    brief: str,
    reader: Reader,
    *,
    limits: Limits,
    records: Path,
    wrap: Callable[[list[str]], list[str]] = list,
    host: Mapping[str, str] | None = None,
) -> Run:
    """Start an agent on an item.

    ``brief`` is Markdown; the rules of the protocol are added. ``wrap`` turns the argument list into
    the one that is started. Raises ``CannotStart`` and ``OSError``; nothing runs then.
    """
    import os

    whole = job.exchange.prepare(brief)
    (job.exchange.folder / "home").mkdir(exist_ok=True)
    made = Run(agent, job, reader)
    made.process = supervision.start(
        wrap(argv_of(agent, job, whole)),
        environment=environment_of(agent, job, os.environ if host is None else host),
        cwd=job.desk or job.clone,
        limits=limits,
        records=records,
        name=job.attempt,
        stdin=whole.encode() if agent.brief is BriefWay.STDIN else b"",
        on_line=made.heard,
        watch=(job.exchange.progress,),
    )
    return made
