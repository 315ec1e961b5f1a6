"""Agents as they are declared, and the two files in which an agent speaks: plain values.

A declaration says how a command-line agent is started, how the brief goes in, and where result, cost
and transcript come out. It is data: nothing in it is run but its command, as an argument list, and
what it reads from an output are values by their place. A report is a claim of the agent; whoever
reads it looks at the clone itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BriefWay(StrEnum):
    """How the brief goes in; it lies in a file in any case."""

    FILE = "file"
    STDIN = "stdin"
    ARGUMENT = "argument"


class Speaks(StrEnum):
    """What standard output is."""

    TEXT = "text"
    JSON = "json"
    JSON_LINES = "json-lines"


class Transcript(StrEnum):
    """Which output is kept as the transcript of a run."""

    STDOUT = "stdout"
    STDERR = "stderr"


class ReportWay(StrEnum):
    """Whether an agent writes ``report.json``."""

    REQUIRED = "required"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class Reading:
    """What to take from an object of the output that matches.

    ``when`` holds places and the values that must stand there. The others are places: names, joined by
    dots. What a later object says replaces what an earlier one said.
    """

    when: tuple[tuple[str, str | int | bool], ...] = ()
    text: str = ""
    session: str = ""
    cost_usd: str = ""
    input_tokens: str = ""
    cached_tokens: str = ""
    output_tokens: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in micro-units. Cached tokens are part of the input tokens."""

    input: int
    output: int
    cached: int | None = None


@dataclass(frozen=True, slots=True)
class Exits:
    """What exit statuses mean; any other is a crash."""

    done: tuple[int, ...] = (0,)
    declined: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent as declared; ``docs/reference/agents.md`` says what each part means."""

    name: str
    command: tuple[str, ...]
    about: str = ""
    source: str = ""
    with_model: tuple[str, ...] = ()
    with_spend: tuple[str, ...] = ()
    brief: BriefWay = BriefWay.FILE
    output: Speaks = Speaks.TEXT
    report: ReportWay = ReportWay.REQUIRED
    transcript: Transcript = Transcript.STDOUT
    read: tuple[Reading, ...] = ()
    prices: Prices | None = None
    exits: Exits = Exits()
    environment: tuple[str, ...] = ()
    set: tuple[tuple[str, str], ...] = ()
    egress: tuple[str, ...] = ()
    needs_sandbox: bool = False


class Outcome(StrEnum):
    """What an agent says that came of its work."""

    DONE = "done"
    DECLINED = "declined"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Report:
    """``report.json``: the agent's claim at its end. ``spent_micros`` is None where it says none."""

    schema: str
    outcome: Outcome
    head: str = ""
    summary: str = ""
    reason: str = ""
    evidence: tuple[str, ...] = ()
    spent_micros: int | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """One line of ``progress.jsonl``."""

    text: str
    percent: int | None = None
    spent_micros: int | None = None
