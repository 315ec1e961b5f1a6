"""Commands about whole plans: a bundle of goal, requirements, graph, evidence and work in one file.

A bundle is checked, compared and drawn before it is applied; drafting one is free.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.surfaces.cli import plan_reads
from remit.surfaces.cli.answers import Answer, write_out
from remit.surfaces.cli.declare import PLAN
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.documents import FileName
from remit.surfaces.cli.groups import plan
from remit.surfaces.cli.session import Session

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen


def _checked(screen: Screen, data: Any) -> None:
    for line in plan_reads.lines_of(data):
        screen.line(line)
    if data["truncated"]:
        screen.line(f"and {data['total'] - len(data['problems'])} more; --limit 0 shows all")
    advice = data["total"] - data["blocking"]
    found = ", ".join(
        f"{number} {word if number == 1 else more}"
        for number, word, more in (
            (data["blocking"], "problem", "problems"),
            (advice, "piece of advice", "pieces of advice"),
        )
        if number
    )
    found = found or "nothing wrong"
    sizes = ", ".join(f"{number} {name}" for name, number in data["counts"].items())
    screen.line(f"{data['plan'] or data['file']}: {found}" + (f" ({sizes})" if sizes else ""))
    if data["digest"] and not data["blocking"]:
        screen.line(f"digest {data['digest']}")


@read(plan, "check", PLAN, "remit plan check plan.yaml", "remit plan check plan.yaml --json")
def check(
    session: Session,
    file: FileName,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Most problems; 0 means all.")
    ] = 0,
) -> Answer:
    """Find everything that is wrong with a plan, by line and column, and write nothing.

    Exits 2 where the file cannot be read as a plan, 3 where the plan would open no gate, and 0 where
    nothing is wrong but for advice.
    """
    return replace(plan_reads.check(session, file=str(file), limit=limit), show=_checked)


def _differs(screen: Screen, data: Any) -> None:
    if data["empty"]:
        screen.line("the plans say the same")
    if data["renamed"]:
        screen.line(f"name: {data['renamed']['old']} -> {data['renamed']['new']}")
    for each in data["added"]:
        screen.line(f"+ {each['kind']} {each['label']}", "green")
    for each in data["removed"]:
        screen.line(f"- {each['kind']} {each['label']}", "red")
    for each in data["changed"]:
        screen.line(f"~ {each['kind']} {each['label']}", "yellow")
        for change in each["fields"]:
            screen.line(f"    {change['field']}: {change['old']} -> {change['new']}")
    for need in data["needs"]:
        about = ", ".join(need["scope"][:10])
        named = f" (named: {', '.join(need['refs'])})" if need["refs"] else ""
        screen.line(f"needs {need['kind']} about {about}: {need['why']}{named}")


@read(plan, "diff", PLAN, "remit plan diff before.yaml after.yaml")
def diff(
    session: Session,
    file: FileName,
    other: Annotated[
        Path | None, typer.Argument(metavar="FILE2", help="A newer bundle to compare with.")
    ] = None,
) -> Answer:
    """Say what one plan changes of another, and which human decisions the change needs."""
    found = plan_reads.diff(session, file=str(file), other=str(other) if other else "")
    return replace(found, show=_differs)


def _drawn(screen: Screen, data: Any) -> None:
    if "path" in data:
        screen.line(f"{data['path']}: {data['nodes']} nodes, {data['edges']} edges")
        return
    write_out(data["graph"].encode())


@read(
    plan,
    "graph",
    PLAN,
    "remit plan graph plan.yaml",
    "remit plan graph plan.yaml --format svg --out plan.svg",
    "remit plan graph plan.yaml --format mermaid --around parser",
)
def graph(
    session: Session,
    file: FileName,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="text, svg, dot or mermaid.")
    ] = "text",
    around: Annotated[
        str, typer.Option("--around", metavar="NODE", help="Only what has to do with this node.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it to this file.")
    ] = None,
) -> Answer:
    """Draw the dependency graph of a plan; what closes a cycle is marked."""
    found = plan_reads.graph(
        session, file=str(file), form=form, around=around, out=str(out) if out else ""
    )
    return replace(found, show=_drawn)


def _schema(screen: Screen, data: Any) -> None:
    import json

    write_out(json.dumps(data["schema"], indent=2).encode() + b"\n")


@read(plan, "schema", PLAN, "remit plan schema")
def schema(session: Session) -> Answer:
    """Print the JSON Schema of a plan's file, for editors."""
    return replace(plan_reads.schema(session), show=_schema)
