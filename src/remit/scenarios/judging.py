"""The oracle: every line of a scenario with what the ledger says, and whether that was expected.

Expectations of steps and labels of coverage are lines like all others. A line without a branch must
come out alike in each branch. ``actual`` is always what probes answered.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.checks import Result
from remit.scenarios import coverage
from remit.scenarios.model import Line, Probe, Scenario
from remit.scenarios.probes import PROBES
from remit.scenarios.running import Played

ABSENT: Final = "not on the ledger"


def lines(scenario: Scenario, played: list[Played]) -> list[dict[str, Any]]:
    """Every line, in the order of the file: steps, oracle, coverage."""
    found = []
    for taken, branch in unique(played):
        where = taken.step.at or f"line {taken.step.line}"
        for fault in taken.faults:
            name = f"{where}, {taken.step.verb}: {fault['check']}"
            found.append(
                _said(name, "steps", branch, fault["expected"], fault["actual"], taken.step.line)
            )
    found += [_judged(line, played, scenario) for line in scenario.oracle]
    traces = [one.world.events() for one in played]
    for label in scenario.covers:
        reached = "reached" if coverage.reached(label, traces) else "not reached"
        found.append(_said(f"covers {label}", "coverage", "", "reached", reached, 1))
    return found


def unique(played: list[Played]) -> list[tuple[Any, str]]:
    """Every step once: those that branches share belong to none of them."""
    seen: set[int] = set()
    found = []
    for one in played:
        for taken in one.taken:
            if id(taken.step) in seen:
                continue
            seen.add(id(taken.step))
            shared = all(any(t.step is taken.step for t in other.taken) for other in played)
            found.append((taken, "" if shared else one.branch))
    return found


def _said(
    check: str, section: str, branch: str, expected: str, actual: str, line: int
) -> dict[str, Any]:
    return {
        "check": check,
        "section": section,
        "branch": branch or None,
        "expected": expected,
        "actual": actual,
        "pass": expected == actual,
        "line": line,
    }


def _judged(line: Line, played: list[Played], scenario: Scenario) -> dict[str, Any]:
    branches = [line.branch] if line.branch else [one.branch for one in played]
    if all(probe.branch for probe in line.probes):
        branches = branches[:1]
    answers = {branch: _actual(line, branch, played, scenario) for branch in branches}
    same = set(answers.values())
    actual = same.pop() if len(same) == 1 else ", ".join(f"{b}: {a}" for b, a in answers.items())
    return _said(line.check, line.section, line.branch, line.expected, actual, line.line)


def _actual(line: Line, branch: str, played: list[Played], scenario: Scenario) -> str:
    answers = [_answer(probe, branch, played, scenario) for probe in line.probes]
    if not line.holds:
        return line.join.join(answers)
    wanted = [probe.wanted for probe in line.probes]
    if any(a == Result.NOT_TESTED and w != a for a, w in zip(answers, wanted, strict=True)):
        return str(Result.NOT_TESTED)
    return str(Result.PASS if answers == wanted else Result.FAIL)


def _answer(probe: Probe, branch: str, played: list[Played], scenario: Scenario) -> str:
    name = probe.branch or branch
    world = next(one.world for one in played if one.branch == name)
    work = probe.of or next(iter(scenario.works), "")
    story = world.story(work, probe.at)
    if story is None:
        return ABSENT
    return PROBES[probe.ask].ask(story, probe.name, world.label)
