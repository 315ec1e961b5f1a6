"""Outcomes: how a run of an agent is judged, from how its process ended and what it said.

One pure function. Who says ``done`` must have ended by itself, with a status that is declared to mean
so, and with a readable report where one is required; everything else is something less. ``done`` is
still only a claim: whether there is a commit, in scope, is for whoever looks at the clone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.drain.supervision import Ended, Reason
from remit.ports.agent import Agent, Outcome, Report, ReportWay


class Came(StrEnum):
    """What came of a run."""

    DONE = "done"
    DECLINED = "declined"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    STOPPED = "stopped"


TRIAGE: Final = {
    Came.DECLINED: "refusal",
    Came.FAILED: "refusal",
    Came.CRASHED: "agent-crash",
    Came.TIMED_OUT: "timeout",
}
"""The kind of record that each calls for; what was stopped is its stopper's to settle."""


@dataclass(frozen=True, slots=True)
class Result:
    """The judgement. ``code`` is stable, ``said`` is the agent's own text and foreign.

    ``head`` is the commit that it claims. ``spent_micros`` is the figure that it told, None for none; ``charge``
    says what settles spend.
    """

    came: Came
    code: str
    said: str = ""
    head: str = ""
    spent_micros: int | None = None
    session: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent said, by all its ways."""

    report: Report | None = None
    problems: tuple[str, ...] = ()
    text: str = ""
    session: str = ""
    failed: str | None = None
    costs: tuple[int | None, ...] = ()


def spent(costs: Sequence[int | None]) -> int | None:
    """The largest figure that was told, None where there is none: no figure takes another one back."""
    return max((cost for cost in costs if cost is not None), default=None)


def charge(told: int | None, reserved: int) -> int:
    """What settles spend, in micro-units: the figure that was told, else the whole reservation."""
    return reserved if told is None else told


def judge(agent: Agent, ended: Ended, said: Said) -> Result:
    """How a run is to be taken."""
    came, code, text = _judged(agent, ended, said)
    return Result(
        came,
        code,
        text[:4_000],
        said.report.head if said.report is not None else "",
        spent(said.costs),
        said.session,
        said.problems,
    )


def _judged(agent: Agent, ended: Ended, said: Said) -> tuple[Came, str, str]:
    match ended.reason:
        case Reason.WALL | Reason.IDLE:
            return Came.TIMED_OUT, f"AGENT_{ended.reason.name}", said.text
        case Reason.MEMORY | Reason.PROCESSES | Reason.CPU | Reason.LOST:
            return Came.CRASHED, f"AGENT_{ended.reason.name}", said.text
        case Reason.STOPPED:
            return Came.STOPPED, "AGENT_STOPPED", ended.asked
        case Reason.EXITED:
            pass
    status = ended.exit_code
    report = said.report
    if status is None:
        return Came.CRASHED, "AGENT_SIGNAL", f"signal {ended.signal}"
    if status in agent.exits.declined or (report and report.outcome is Outcome.DECLINED):
        return Came.DECLINED, "AGENT_DECLINED", report.reason if report else said.text
    if status in agent.exits.failed or (report and report.outcome is Outcome.FAILED):
        return Came.FAILED, "AGENT_FAILED", report.reason if report else said.text
    if said.failed is not None:
        return Came.FAILED, "AGENT_FAILED", said.failed
    if status not in agent.exits.done:
        return Came.CRASHED, "AGENT_STATUS", f"exit status {status}; {said.text}"
    if said.problems:
        return Came.CRASHED, "REPORT_INVALID", said.problems[0]
    if report is None and agent.report is ReportWay.REQUIRED:
        return Came.CRASHED, "REPORT_MISSING", said.text
    return Came.DONE, "AGENT_DONE", report.summary if report and report.summary else said.text
