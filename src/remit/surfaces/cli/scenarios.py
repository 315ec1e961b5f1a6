"""``scenario run``: play declared traces on a ledger of their own, and say what the oracle found.

The work is done in ``remit.scenarios``; no ledger is opened. A file with faults is refused whole, with
every fault of every file; a line that does not come out as expected is a "no" (6).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, Stop, stop
from remit.surfaces.cli.declare import LOOK, stands
from remit.surfaces.cli.groups import scenario
from remit.surfaces.cli.inputs import read_bytes
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.visible import visible

if TYPE_CHECKING:
    from remit.scenarios.main import Problem
    from remit.surfaces.cli.screen import Screen

SHOWN: Final = 5
"""Faults that the message itself names; ``details`` holds all."""

FEW: Final = 2
"""So many scenarios are shown with every line; of more, only what failed."""


@stands(
    scenario,
    "run",
    LOOK,
    "remit scenario run examples/scenarios/stale-capacity.yaml",
    "remit scenario run policies/*.yaml --json",
)
def run(
    session: Session,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Scenarios in YAML; - reads standard input."),
    ],
) -> Answer:
    """Play scenarios through the real decisions, under a clock of their own; exits 6 where one fails.

    A scenario has what is given, steps, and an oracle of expected lines. No ledger is read or written.
    """
    from remit.scenarios.main import read_all
    from remit.scenarios.main import run as play
    from remit.scenarios.reading import MAX_BYTES

    found, problems = read_all([(str(file), read_bytes(file, MAX_BYTES)) for file in files])
    if problems:
        raise _wrong(problems)
    data = play(found, _progress(session) if len(files) > FEW else lambda _line: None)
    return Answer(data, _shown, 0 if data["ok"] else 6)


def _progress(session: Session) -> Callable[[str], None]:
    options = session.options
    if options.quiet or sys.stderr is None or not sys.stderr.isatty():
        return lambda _line: None
    return lambda line: print(visible(line), file=sys.stderr, flush=True)


def _wrong(problems: list[tuple[str, Problem]]) -> Stop:
    lines = "; ".join(f"{file}:{problem}" for file, problem in problems[:SHOWN])
    more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
    return stop(
        Code.INPUT_PROBLEM,
        f"cannot read the scenario: {lines}{more}",
        "correct every one and repeat",
        problems=[
            {"file": file, "line": p.line, "column": p.column, "path": p.path, "message": p.message}
            for file, p in problems
        ],
    )


def _shown(screen: Screen, data: Any) -> None:
    every = data["total"] <= FEW
    for one in data["scenarios"]:
        lines = [line for line in data["oracle"] if line["scenario"] == one["scenario"]]
        if every or not one["ok"]:
            screen.line(f"{one['scenario']}: {one['about']}", "bold")
            _lines(screen, lines if every else [line for line in lines if not line["pass"]])
            for step in data["steps"]:
                if step["scenario"] == one["scenario"] and step["message"] and not one["ok"]:
                    screen.line(f"line {step['line']}, {step['step']}: {step['message']}", "dim")
    for one in data["scenarios"]:
        state = "ok" if one["ok"] else f"{one['failed']} of {one['checks']} lines FAILED"
        if not every:
            screen.line(f"{one['scenario']}: {state}", "" if one["ok"] else "bold red")
    number = len(data["oracle"])
    screen.line(
        f"{data['total']} scenarios, {number} lines,"
        f" {'all as expected' if data['ok'] else str(data['failed']) + ' scenarios FAILED'}",
        "bold",
    )


def _lines(screen: Screen, lines: list[dict[str, Any]]) -> None:
    rows = [
        (
            "ok" if line["pass"] else "FAIL",
            line["actual"],
            line["expected"] if not line["pass"] else "",
            line["branch"] or "",
            line["check"],
        )
        for line in lines
    ]
    screen.table(("", "ACTUAL", "EXPECTED", "BRANCH", "LINE"), rows)
