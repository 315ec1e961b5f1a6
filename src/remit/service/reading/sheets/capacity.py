"""The capacity table of a worksheet: the observation that the newest verdict looked at.

A stale observation is shown whole and counts for nothing: what depends on it is BLOCKED. Room in
storage is a comparison of its own and repairs no freshness.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.checks import Result
from remit.service.reading.rendering import plain
from remit.service.reading.sheets.story import Story, at, line, ms, section

NAMES: Final = (
    "capacity-freshness",
    "storage-limit",
    "capacity-completeness",
    "capacity-workers",
    "start-delay",
    "expected-start",
    "margin",
    "expected-completion",
)
"""Checks that this section shows, in the order in which one reads them."""

GATES: Final = ("capacity-freshness", "capacity-completeness", "capacity-workers")


def result(story: Story) -> Result:
    """What the evidence of capacity came to in the newest verdict."""
    gates = [story.result(name) for name in GATES]
    if gates[0] is Result.NOT_TESTED:
        return Result.NOT_TESTED
    if any(gate in (Result.FAIL, Result.BLOCKED) for gate in gates):
        return Result.BLOCKED
    fits = [story.result(name) for name in ("margin", "expected-completion")]
    return Result.FAIL if Result.FAIL in fits else Result.PASS


def cause(story: Story) -> str:
    """The reason code of the first gate that did not pass."""
    for name in GATES:
        check = story.check(name)
        if check is not None and check.reason:
            return check.reason
    return ""


def capacity(story: Story) -> dict[str, Any]:
    """The table with its comparisons."""
    seen, told = story.capacity, story.admission
    lines = []
    if seen is not None:
        current = story.result("capacity-freshness") is Result.PASS
        age = story.check("capacity-freshness")
        lines = [
            line("observation", seen.id),
            line("observed at", at(seen.observed_at)),
            line("age at decision time", ms(int(age.observed)) if age and age.observed else ""),
            line("freshness limit", _limit(story)),
            line("work class", seen.work_class),
            line("queued items", seen.queued_items),
            line("queued bytes", seen.queued_bytes),
            line("oldest eligible age", ms(seen.oldest_eligible_age_ms)),
            line("arrival window", ms(seen.arrival_window_ms)),
            line("arrivals", seen.arrivals),
            line("completion window", ms(seen.completion_window_ms)),
            line("completions", seen.completions),
            line("in flight", seen.in_flight),
            line("worker limit", seen.worker_limit),
            line("reserved", seen.reserved),
            line("expected start delay", _figure(seen.start_delay_ms, current)),
            line("expected completion duration", _figure(seen.duration_ms, current)),
            line("dependency state", seen.dependency_state),
            line("destination revision", seen.destination_revision),
            line("observer", seen.observer),
        ]
    deadline = story.envelope.deadline
    if told is not None and deadline is not None:
        left = (deadline - told.recorded.at) // 1_000
        lines.append(line("remaining useful lifetime", ms(left)))
        lines.append(line("remaining at expected start", _remaining(story)))
    checks = [plain(check) for name in NAMES if (check := story.check(name)) is not None]
    return section("Capacity evidence", result(story), lines=lines, checks=checks)


def _limit(story: Story) -> str:
    return ms(story.policy.freshness_limit_ms) if story.policy is not None else ""


def _figure(value: int | None, current: bool) -> str:
    """A figure of an observation; one that is stale is no current evidence."""
    if not current:
        return f"{Result.BLOCKED}: no current evidence" + (
            "" if value is None else f" ({value} ms)"
        )
    return ms(value)


def _remaining(story: Story) -> str:
    margin = story.check("margin")
    if margin is None or margin.result in (Result.BLOCKED, Result.NOT_TESTED):
        return f"{margin.result if margin else Result.NOT_TESTED}"
    return ms(int(margin.observed))
