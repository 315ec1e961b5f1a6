"""The files in which an agent speaks: ``report.json`` and ``progress.jsonl``, by one table each.

They come from a program that nobody trusts. They are JSON and nothing else, bounded in bytes, depth
and number; each fault names its place; and what does not fit is no report at all. The JSON Schemas
that are published are made from the same tables.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from remit.documents.agents import AGENT, Pattern
from remit.documents.fields import Faults
from remit.documents.marked import Marked, Problem
from remit.documents.records import Part, Record
from remit.documents.shapes import Many, Text, Whole, Word
from remit.ports.agent import Outcome, Progress, Report

REPORT_BYTES: Final = 256 * 1024
PROGRESS_LINE_BYTES: Final = 16 * 1024
SCHEMA: Final = "remit.agent-report.v1"

_DEPTH: Final = 16
_NODES: Final = 10_000
_SHA: Final = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\Z")
_SPENT: Final = Whole(0, 1_000_000_000_000)


def _judged(parts: dict[str, Any]) -> list[tuple[str, str]]:
    found = []
    if parts["outcome"] is not Outcome.DONE and not parts["reason"].strip():
        found.append(("reason", "whoever does not get done says why"))
    if parts["outcome"] is Outcome.DONE and not parts["head"]:
        found.append(("head", "whoever is done names the commit that holds the work"))
    return found


REPORT: Final = Record(
    "a report",
    (
        Part("schema", Pattern(re.compile(r"remit\.agent-report\.v1\Z"), SCHEMA),
             "The version of this format.", required=True),
        Part("outcome", Word(Outcome), "What came of the work.", required=True),
        Part("head", Pattern(_SHA, "a full commit id"), "The commit that holds the work."),
        Part("summary", Text(4_000), "What was done, for the reviewer."),
        Part("reason", Text(2_000), "Why it was declined, or could not be done."),
        Part("evidence", Many(Text(500, null=False), 20), "What shows it."),
        Part("spent_micros", _SPENT, "What it cost in all, in micro-units.", absent=None),
    ),
    Report,
    judge=lambda parts: _judged(dict(parts)),
    about="What an agent says at its end. It is a claim: the clone is looked at.",
)  # fmt: skip

PROGRESS: Final = Record(
    "a line of progress",
    (
        Part("text", Text(2_000, null=False), "How it goes.", required=True),
        Part("percent", Whole(0, 100), "How far it thinks that it is.", absent=None),
        Part("spent_micros", _SPENT, "What it cost so far, in micro-units.", absent=None),
    ),
    Progress,
    about="One line of progress.jsonl.",
)

SCHEMAS: Final = {
    "agent": ("A declaration of an agent", AGENT),
    "report": ("report.json", REPORT),
    "progress": ("A line of progress.jsonl", PROGRESS),
}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of one of ``SCHEMAS``."""
    title, record = SCHEMAS[name]
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": title, **record.schema()}


def report(data: bytes) -> tuple[Report | None, list[Problem]]:
    """A report, or None and every problem."""
    found, problems = _read(data, REPORT_BYTES, REPORT, 1)
    return (found if isinstance(found, Report) else None), problems


def progress(data: bytes, line: int) -> tuple[Progress | None, list[Problem]]:
    """One line of progress, or None and every problem; ``line`` is where it stands."""
    found, problems = _read(data, PROGRESS_LINE_BYTES, PROGRESS, line)
    return (found if isinstance(found, Progress) else None), problems


def _read(data: bytes, limit: int, record: Record, line: int) -> tuple[Any, list[Problem]]:
    if len(data) > limit:
        return None, [Problem(line, 1, "$", f"found {len(data)} bytes, expected at most {limit}")]
    try:
        marked = _marked(msgspec.json.decode(data), line, 0, [0])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        return None, [Problem(line, 1, "$", f"this is not JSON that can be read: {said}")]
    except ValueError as bound:
        return None, [Problem(line, 1, "$", str(bound))]
    faults = Faults()
    found = record.take(marked, "$", faults)
    return (None if faults.problems else found), faults.problems


def _marked(value: Any, line: int, depth: int, count: list[int]) -> Marked:
    """Plain values with the one place that is known of them. Raises ``ValueError`` for too many."""
    count[0] += 1
    if depth > _DEPTH or count[0] > _NODES:
        raise ValueError(f"found more than {_DEPTH} levels or {_NODES} values")
    if isinstance(value, dict):
        inner = {str(k): _marked(v, line, depth + 1, count) for k, v in value.items()}
        return Marked(inner, line, 1)
    if isinstance(value, list):
        return Marked([_marked(one, line, depth + 1, count) for one in value], line, 1)
    if isinstance(value, float):
        return Marked(f"{value}", line, 1)
    return Marked(value, line, 1)
