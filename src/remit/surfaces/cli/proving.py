"""``prove``: explore small worlds, replay a counterexample, judge a recorded history.

The work is done in ``remit.proofs``; here are its options, its exit status and what people see of it.
A property that is broken is a "no" (6); a history that no sequence of rules can have made is damage
(7).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, Stop, stop
from remit.surfaces.cli.declare import OPERATE, stands
from remit.surfaces.cli.groups import prove
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.visible import visible

if TYPE_CHECKING:
    from remit.surfaces.cli.screen import Screen


def progress(session: Session) -> Callable[[str], None]:
    """Lines as the work goes on: on standard error, and beside JSON only where a person looks."""
    options = session.options
    if options.quiet or sys.stderr is None or (options.json and not sys.stderr.isatty()):
        return lambda _line: None
    return lambda line: print(visible(line), file=sys.stderr, flush=True)


def _explored(screen: Screen, data: Any) -> None:
    for broken in data["counterexamples"]:
        screen.line(f"{broken['world']}: {broken['property']} is broken: {broken['found']}", "red")
        for number, step in enumerate(broken["steps"], 1):
            screen.line(
                f"  {number}. {step.get('actor') or 'time'} {step.get('command', 'goes on')}"
            )
    for name in data["missing_marks"]:
        screen.line(f"vacuous: the search never came to {name}")
    for name in data["never_checked"]:
        screen.line(f"vacuous: {name} was never asked")
    for mutant in data["mutants"]:
        if mutant["caught_by"] != mutant["expected"]:
            by = mutant["caught_by"] or "nothing"
            screen.line(f"{mutant['name']} was caught by {by}, expected {mutant['expected']}")
    held = sum(one["held"] for one in data["properties"])
    caught = sum(one["caught_by"] == one["expected"] for one in data["mutants"])
    planted = f" {caught} of {len(data['mutants'])} faults caught," if data["mutants"] else ""
    screen.line(
        f"{data['states']} states, {data['transitions']} steps, {held} of"
        f" {len(data['properties'])} properties held,{planted} {len(data['marks'])} marks, {data['seconds']} s:"
        f" {'ok' if data['ok'] else 'BROKEN'}",
        "bold",
    )
    if data["trace"]:
        screen.line(f"run it again: remit prove replay {data['trace']}")


@stands(
    prove,
    "model",
    OPERATE,
    "remit prove model --quick",
    "remit prove model queue --limit 20000 --trace found.json",
    "remit prove model --mutants --json",
)
def model(
    session: Session,
    worlds: Annotated[
        list[str] | None, typer.Argument(metavar="[WORLD]...", help="Some worlds; default: all.")
    ] = None,
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Plant every seeded fault as well; each must be caught."),
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Look at a twentieth of each world.")
    ] = False,
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=0, help="States of each world; 0: its own limit."),
    ] = 0,
    processes: Annotated[
        int, typer.Option("--processes", metavar="N", min=1, help="How many search together.")
    ] = 2,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", metavar="FILE", help="Keep the first counterexample here."),
    ] = None,
) -> Answer:
    """Explore every state of small worlds through the real decisions; exits 6 where a property breaks.

    So it does where a planted fault is not caught by the property that is named for it, and where a
    whole run never came to some rare branch. No ledger is read or written.
    """
    from remit.proofs.main import run_model

    try:
        data = run_model(
            worlds=worlds or (),
            processes=processes,
            limit=limit,
            quick=quick,
            mutants=mutants,
            say=progress(session),
        )
    except ValueError as unknown:
        raise stop(Code.BAD_INPUT, f"cannot explore: {unknown}", "name one of these") from unknown
    found = data["counterexamples"]
    if trace is not None and found:
        _keep(trace, found[0])
    data["trace"] = str(trace) if trace is not None and found else None
    return Answer(data, _explored, 0 if data["ok"] else 6)


def _keep(path: Path, trace: dict[str, Any]) -> None:
    import msgspec

    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(trace), indent=1) + b"\n")
    except OSError as error:
        raise _unreadable("keep the counterexample in", path, error.strerror) from error


def _unreadable(operation: str, path: Path, found: str | None) -> Stop:
    return stop(
        Code.INPUT_PROBLEM,
        f"cannot {operation} {path}: {found}",
        "name a file that can be used",
        path=str(path),
    )


def _replayed(screen: Screen, data: Any) -> None:
    screen.lines(data["lines"])


@stands(prove, "replay", OPERATE, "remit prove replay found.json")
def replay(
    session: Session,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What --trace kept.")],
) -> Answer:
    """Take the steps of a counterexample again and say what each led to; exits 6 where it breaks."""
    import msgspec

    from remit.proofs.main import replay as again

    lines: list[str] = []
    try:
        trace = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        broken = again(trace, lines.append)
    except OSError as error:
        raise _unreadable("replay", file, error.strerror) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        found = f"{type(error).__name__}: {error}"
        raise _unreadable("replay", file, f"found {found}, expected a counterexample") from error
    data = {
        "world": trace["world"],
        "mutant": trace.get("mutant") or None,
        "steps": len(trace["steps"]),
        "broken": broken or None,
        "lines": lines,
    }
    return Answer(data, _replayed, 6 if broken else 0)


def _judged(screen: Screen, data: Any) -> None:
    for one in data["problems"]:
        screen.line(f"seq {one['seq']}, {one['subject']}: {one['kind']}: {one['found']}")
    state = "possible" if not data["problems"] else "impossible"
    screen.line(f"the history is {state}: {data['events']} events", "bold")


@stands(prove, "history", OPERATE, "remit prove history", "remit prove history ../ledger.jsonl")
def history(
    session: Session,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="What 'remit ledger export' wrote; default: the ledger."
        ),
    ] = None,
) -> Answer:
    """Judge a ledger's whole history by books of its own; exits 7 where it is impossible.

    Named are two live leases, a fence that went back, a write under a dead lease, a limit exceeded, a
    move that no rule allows, and rows that are not what the events fold to.
    """
    from remit.proofs.main import run_history_of
    from remit.wiring import held_lines

    if file is None:
        data = run_history_of(session.ledger)
    else:
        try:
            with file.open("rb") as lines:
                data = run_history_of(held_lines(lines))
        except OSError as error:
            raise _unreadable("judge", file, error.strerror) from error
    return Answer(data, _judged, 0 if data["ok"] else 7)
