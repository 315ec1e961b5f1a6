"""Endings: how an agent's work ended, as a checkpoint keeps it, and the record that it leads to.

A drain that dies between the end of an agent and what follows from it must be able to say the same
later, so all that a triage record needs stands in the detail of the step ``ended``: words with a value,
codes and figures only. What the agent said is not among them; it lies in the attempt's own stream.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from remit.core import triage_records as records
from remit.core.checks import Result
from remit.core.triage_records import Evidence
from remit.drain import words
from remit.drain.agents.outcomes import TRIAGE, Came


@dataclass(frozen=True, slots=True)
class Ending:
    """How an agent's work ended. Numbers below zero are not known.

    ``figured`` says that the agent told what it had cost. ``killed`` says that something other than
    remit or the agent itself ended it.
    """

    came: Came
    code: str
    exit: int = -1
    signal: int = -1
    bound: str = ""
    limit_ms: int = 0
    elapsed_ms: int = 0
    terminated: Result = Result.BLOCKED
    figured: bool = False
    killed: bool = False

    def detail(self, starts: int) -> str:
        """The words of a checkpoint."""
        told = [f"starts={starts}"]
        for field in fields(self):
            told.append(f"{field.name}={_plain(getattr(self, field.name))}")
        return " ".join(told)


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, bool | int) else str(value)


def read(detail: str) -> Ending:
    """The ending that a checkpoint's detail says; one that says none was a crash that nobody saw."""
    told = dict(word.partition("=")[::2] for word in detail.split())

    def number(name: str, otherwise: int) -> int:
        found = told.get(name, "")
        return int(found) if found.lstrip("-").isdigit() and len(found) < 16 else otherwise

    came = told.get("came", "")
    known = came in set(Came)
    ended = told.get("terminated", "")
    return Ending(
        Came(came) if known else Came.CRASHED,
        told.get("code") or "AGENT_LOST",
        number("exit", -1),
        number("signal", -1),
        told.get("bound", ""),
        number("limit_ms", 0),
        number("elapsed_ms", 0),
        Result(ended) if ended in set(Result) else Result.BLOCKED,
        number("figured", 0) > 0,
        number("killed", 0) > 0,
    )


def starts_in(detail: str) -> int:
    """How often the agent was started, as a checkpoint's detail says."""
    told = dict(word.partition("=")[::2] for word in detail.split())
    found = told.get("starts", "")
    return int(found) if found.isdigit() and len(found) < 10 else 0


def record_of(ending: Ending, attempt: str, rescue: tuple[str, ...]) -> Evidence:
    """The triage record that an ending leads to, with the refs that keep what the agent left."""
    kind = TRIAGE[ending.came]
    if kind == "refusal":
        return records.refusal(code=ending.code)
    if kind == "timeout":
        return records.timeout(
            attempt=attempt,
            bound=ending.bound or "wall",
            limit_ms=ending.limit_ms,
            elapsed_ms=ending.elapsed_ms,
            terminated=ending.terminated,
            rescue=rescue,
        )
    return records.agent_crash(
        attempt=attempt,
        code=ending.code,
        terminated=ending.terminated,
        exit_status=ending.exit if ending.exit >= 0 else None,
        signal=ending.signal if ending.signal >= 0 else None,
        rescue=rescue,
    )


def crashed(code: str, attempt: str, rescue: tuple[str, ...], terminated: Result) -> Evidence:
    """A record of the kind ``agent-crash`` for what the host found, such as a claim that is not so."""
    return records.agent_crash(attempt=attempt, code=code, terminated=terminated, rescue=rescue)


def reason_of(code: str, said: str) -> str:
    """What stands in a record beside its code: what the host found, else the agent's own words."""
    found = words.REASONS.get(code.partition(":")[0], "")
    # Only of an agent that did not start are the words of whoever started it better.
    return said if said and (not found or code == words.NO_START) else found or code
