"""Running scenario files: what ``remit scenario run`` answers.

All files are read before any is played, so a fault in the last one stops the first one too. The data
has one entry for each scenario, and their steps and oracle lines once more in one list each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from remit.core.refusals import Refused
from remit.documents.marked import Problem
from remit.scenarios.judging import lines, unique
from remit.scenarios.model import Scenario
from remit.scenarios.reading import MAX_BYTES, Fetch
from remit.scenarios.reading import scenario as read
from remit.scenarios.running import Taken, play
from remit.service.engine import Done
from remit.service.reading.rendering import rfc3339


def read_all(
    files: Sequence[tuple[str, bytes]],
) -> tuple[list[tuple[str, Scenario]], list[tuple[str, Problem]]]:
    """The scenarios of these files, and every problem of all of them.

    Documents that one takes from a file are looked for beside it.
    """
    found, problems = [], []
    for name, data in files:
        one, wrong = read(data, _beside(name))
        problems += [(name, problem) for problem in wrong]
        if one is not None:
            found.append((name, one))
    return found, problems


def _beside(name: str) -> Fetch:
    """Reads files whose names are relative to a scenario's own."""
    folder = Path(name).parent if name != "-" else Path()

    def fetch(other: str) -> bytes | str:
        try:
            with (folder / other).open("rb") as opened:
                data = opened.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or str(error)
        return data if len(data) <= MAX_BYTES else f"it has more than {MAX_BYTES} bytes"

    return fetch


def run(
    scenarios: Sequence[tuple[str, Scenario]], say: Callable[[str], None] = lambda _line: None
) -> dict[str, Any]:
    """Play scenarios and judge them."""
    found = []
    for file, scenario in scenarios:
        found.append(run_one(file, scenario))
        say(f"{file}: {'ok' if found[-1]['ok'] else 'FAILED'}")
    return {
        "scenarios": [
            {k: v for k, v in one.items() if k not in ("steps", "oracle")} for one in found
        ],
        "steps": [step for one in found for step in one["steps"]],
        "oracle": [line for one in found for line in one["oracle"]],
        "total": len(found),
        "failed": sum(not one["ok"] for one in found),
        "ok": all(one["ok"] for one in found),
    }


def run_one(file: str, scenario: Scenario) -> dict[str, Any]:
    """Play one scenario and judge it."""
    played = play(scenario)
    oracle = [{"scenario": scenario.name, **line} for line in lines(scenario, played)]
    steps = [
        {"scenario": scenario.name, **_step(taken, branch)} for taken, branch in unique(played)
    ]
    return {
        "file": file,
        "scenario": scenario.name,
        "about": scenario.about,
        "question": scenario.question or None,
        "covers": list(scenario.covers),
        "branches": [one.branch for one in played if one.branch],
        "ok": all(line["pass"] for line in oracle),
        "checks": len(oracle),
        "failed": sum(not line["pass"] for line in oracle),
        "steps": steps,
        "oracle": oracle,
    }


def _step(taken: Taken, branch: str) -> dict[str, Any]:
    step, answer = taken.step, taken.answer
    refused = answer if isinstance(answer, Refused) else None
    return {
        "branch": branch or None,
        "line": step.line,
        "at": step.at or None,
        "step": step.verb,
        "work": step.args.get("work") or None,
        "by": step.by or None,
        "note": step.note or None,
        "time": rfc3339(taken.at_us),
        "seq": taken.seq,
        "accepted": refused is None,
        "repeated": isinstance(answer, Done) and not taken.events,
        "refused": refused.code.value if refused else None,
        "message": refused.message if refused else None,
        "events": [type(recorded.event).__name__ for recorded in taken.events],
        "expected": taken.faults,
    }


__all__ = ["Problem", "read_all", "run", "run_one"]
