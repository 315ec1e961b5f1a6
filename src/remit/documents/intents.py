"""Documents of effect work itself: intents and observations of capacity.

An envelope that is wrong is not refused here: it is stored as it was submitted and then found
invalid, with every fault by its path, so that who sent it can be told and the record shows it. So
faults of shape travel with the intent; only a text that cannot be read at all is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from remit.core.effect_facts import Capacity, Comparator, Comparison, Envelope, Fault
from remit.documents.fields import (
    Faults,
    Field,
    duration_ms,
    number,
    one_of,
    taken,
    text,
    texts,
    time_us,
)
from remit.documents.marked import Marked, Problem, read, shown

MAX_INTENTS: Final = 100_000

COMPARISON: Final = {
    "name": Field(text, required=True, absent=""),
    "field": Field(text, required=True, absent=""),
    "comparator": Field(one_of(*Comparator), absent="equals"),
    "required": Field(lambda v: str(v.value) if isinstance(v.value, int) else text(v), absent=""),
}


def _whole(value: Marked) -> int:
    if isinstance(value.value, int) and not isinstance(value.value, bool):
        return value.value
    raise ValueError("a whole number")


INTENT: Final = {
    **{
        name: Field(text, absent="")
        for name in (
            "work_id", "message_id", "operation_id", "effect_id", "replay_class",
            "candidate_revision", "payload_digest", "manifest_id", "authoritative_effect_record",
            "priority_class", "tenant", "cancellation_id", "cancellation_state", "destination",
            "admission_owner", "execution_owner", "retry_owner", "blast_radius", "compensation",
            "decision",
        )
    },
    **{name: Field(time_us) for name in ("requested_at", "not_before", "deadline")},
    "minimum_completion_margin": Field(duration_ms, "minimum_completion_margin_ms"),
    "payload_bytes": Field(number),
    "spend_micros": Field(number),
    "priority": Field(_whole, absent=2),
    "depends_on": Field(texts, absent=()),
}  # fmt: skip

CAPACITY: Final = {
    "id": Field(text, absent=""),
    "class": Field(text, "work_class", required=True, absent=""),
    "observed_at": Field(time_us, required=True, absent=0),
    "start_delay": Field(duration_ms, "start_delay_ms"),
    "duration": Field(duration_ms, "duration_ms"),
    "oldest_eligible_age": Field(duration_ms, "oldest_eligible_age_ms"),
    "arrival_window": Field(duration_ms, "arrival_window_ms"),
    "completion_window": Field(duration_ms, "completion_window_ms"),
    **{
        name: Field(number)
        for name in (
            "queued_items", "queued_bytes", "arrivals", "completions", "in_flight", "worker_limit",
            "reserved",
        )
    },
    "dependency_state": Field(text, absent=""),
    "destination_revision": Field(text, absent=""),
    "observer": Field(text, absent=""),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Submission:
    """One intent as it was read: what it says, its size, and its faults of shape."""

    envelope: Envelope
    document: str
    size: int
    faults: tuple[Fault, ...]


def submissions(data: bytes) -> tuple[list[Submission], list[Problem]]:
    """The intents of a text: one, a list, ``intents:`` with a list, or several documents."""
    documents, problems = read(data)
    found: list[Submission] = []
    wrong = Faults()
    for at in documents:
        for one in _each(at, "intents"):
            if isinstance(one.value, dict):
                found.append(_submission(one))
            else:
                wrong.add(one, "$", f"found {one.kind}, expected an intent")
    if len(found) > MAX_INTENTS:
        problems.append(Problem(1, 1, "", f"found {len(found)} intents, at most {MAX_INTENTS}"))
    if not found and not problems and not wrong.problems:
        problems.append(Problem(1, 1, "", "found no intent"))
    return found, sorted([*problems, *wrong.problems], key=lambda p: (p.line, p.column))


def _each(at: Marked, name: str) -> list[Marked]:
    value = at.value
    if isinstance(value, dict) and set(value) == {name} and isinstance(value[name].value, list):
        value = value[name].value
    return value if isinstance(value, list) else [at]


def _submission(at: Marked) -> Submission:
    from remit.core.canonical import canonical

    faults = Faults()
    parts = dict(at.value)
    test = parts.pop("completion_test", None)
    said = taken(Marked(parts, at.line, at.column), INTENT, faults)
    said["completion_test"] = _test(test, faults)
    document = canonical(at.plain()).decode("utf-8", "replace")
    codes = tuple(
        Fault(problem.path, "SHAPE", shown(problem.message), f"line {problem.line}")
        for problem in faults.problems
    )
    return Submission(Envelope(**said), document, len(document.encode()), codes)


def _test(at: Marked | None, faults: Faults) -> tuple[Comparison, ...]:
    if at is None:
        return ()
    if not isinstance(at.value, list):
        faults.add(at, "$.completion_test", f"found {at.kind}, expected a list of comparisons")
        return ()
    found = []
    for i, one in enumerate(at.value):
        parts: dict[str, Any] = taken(one, COMPARISON, faults, f"$.completion_test[{i}]")
        found.append(Comparison(**parts))
    return tuple(found)


def observations(data: bytes) -> tuple[list[Capacity], list[Problem]]:
    """The observations of a text: one, a list, ``observations:`` with a list, or several documents."""
    documents, problems = read(data)
    faults = Faults()
    found = []
    for at in documents:
        for one in _each(at, "observations"):
            parts = taken(one, CAPACITY, faults)
            found.append(Capacity(version=0, seq=0, **parts))
    if not found and not problems:
        problems.append(Problem(1, 1, "", "found no observation"))
    return found, sorted([*problems, *faults.problems], key=lambda p: (p.line, p.column))
