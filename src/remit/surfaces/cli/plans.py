"""Commands about whole plans: a bundle of goal, requirements, graph, evidence and work in one file.

A bundle is checked, compared and drawn before it is applied; drafting one is free.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.surfaces.cli import plan_reads, plan_views
from remit.surfaces.cli.answers import Answer, write_out
from remit.surfaces.cli.declare import PLAN, writes
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.documents import FileName
from remit.surfaces.cli.groups import plan
from remit.surfaces.cli.looking import Limit
from remit.surfaces.cli.progress import shown
from remit.surfaces.cli.session import Session

SHOWN: Final = 50
"""Records of each kind of change that people are shown."""

PlanName = Annotated[
    str,
    typer.Argument(metavar="PLAN", help="A bundle's file, or a plan of the ledger by id or name."),
]
Name = Annotated[
    str, typer.Argument(metavar="PLAN", help="A plan of the ledger: its id or its name.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]

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
    if data["proposal_digest"]:
        screen.line(f"proposal {data['proposal_digest']}")
    if data["in_force"]:
        screen.line(f"it is in force as {data['revision']}")
    elif data["digest"] and data["admissible"] and data["ledger"]:
        shut = "; what is open keeps gates shut" if data["blocking"] else ""
        screen.line(f"next: remit plan apply {data['file']}{shut}")


@read(plan, "check", PLAN, "remit plan check plan.yaml", "remit plan check plan.yaml --json")
def check(
    session: Session,
    file: FileName,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Most problems; 0 means all.")
    ] = 0,
) -> Answer:
    """Find everything that is wrong with a plan, by line and column, and write nothing.

    Exits 2 where the file cannot be read as a plan, 3 where something keeps a gate shut, and 0 where
    nothing is wrong but for advice. With a ledger in reach, the change is judged as well: which human
    decisions it needs, and whether those that the plan names are there.
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
    if data["needs"]:
        screen.line(f"proposal {data['proposal_digest']}, which is what is decided about")


@read(plan, "diff", PLAN, "remit plan diff plan.yaml", "remit plan diff before.yaml after.yaml")
def diff(
    session: Session,
    file: PlanName,
    other: Annotated[
        Path | None, typer.Argument(metavar="FILE2", help="A newer bundle, compared with FILE.")
    ] = None,
) -> Answer:
    """Say what a plan changes of the one in force, and which human decisions the change needs.

    With FILE2: what that changes of the first, which may be a plan of the ledger.
    """
    found = plan_reads.diff(session, file=file, other=str(other) if other else "")
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
    "remit plan graph search --format mermaid --around parser",
)
def graph(
    session: Session,
    file: PlanName,
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
        session, file=file, form=form, around=around, out=str(out) if out else ""
    )
    return replace(found, show=_drawn)


def _schema(screen: Screen, data: Any) -> None:
    import json

    write_out(json.dumps(data["schema"], indent=2).encode() + b"\n")


@read(plan, "schema", PLAN, "remit plan schema")
def schema(session: Session) -> Answer:
    """Print the JSON Schema of a plan's file, for editors."""
    return replace(plan_reads.schema(session), show=_schema)


def _applied(screen: Screen, data: Any) -> None:
    if not data["changed"]:
        screen.line(f"{data['revision']} is in force already; nothing was written")
    for sign, name, style in (
        ("+", "added", "green"),
        ("~", "revised", "yellow"),
        ("-", "removed", "red"),
    ):
        for each in data[name][:SHOWN]:
            screen.line(f"{sign} {each['kind']} {each['label']}", style)
        if len(data[name]) > SHOWN:
            screen.line(f"{sign} and {len(data[name]) - SHOWN} more")
    screen.line(f"{data['plan']}: {data['revision']} is in force, digest {data['digest']}")
    for line in plan_reads.lines_of(data):
        screen.line(line)


@writes(plan, "apply", PLAN, "remit plan apply plan.yaml")
def apply(session: Session, file: FileName) -> Answer:
    """Put a plan in force: each record that changed gets a new revision, and what went is retired.

    Nothing is written where the file or the plan is wrong. An apply that was interrupted is carried
    on by running it again, and opens no gate before its end. What is still open in a plan (a gap, an
    ambiguity) may be applied; it keeps the gates of its items shut.
    """
    with shown(session) as report:
        return Answer(plan_reads.applied(session, str(file), report), _applied)


def _listed(screen: Screen, data: Any) -> None:
    screen.table(
        ("PLAN", "REVISION", "ITEMS", "STATE"),
        [
            (
                each["plan"],
                each["revision"],
                each["counts"].get("items", 0),
                "apply not ended" if each["open"] else ", ".join(each["shut"]) or "in force",
            )
            for each in data["plans"]
        ],
    )


@read(plan, "list", PLAN, "remit plan list", "remit plan list --json")
def listed(session: Session, limit: Limit = 50) -> Answer:
    """List the plans of the ledger."""
    return replace(plan_views.listed(session, limit=limit), show=_listed)


def _shown(screen: Screen, data: Any) -> None:
    screen.line(f"{data['plan']} ({data['revision']}), digest {data['digest']}")
    if data["open"]:
        screen.line("an apply of it has not ended: run it again")
    screen.table(
        ("KIND", "LABEL", "ID", "SINCE", "ABOUT"),
        [(r["kind"], r["label"], r["id"], r["revision"], r["text"]) for r in data["records"]],
    )
    for each in data["problems"]:
        about = f"{each['kind']} {each['label']}" if each["kind"] else each["path"]
        screen.line(f"{each['gate']}: {about}: {each['message']} [{each['code']}]")


@read(plan, "show", PLAN, "remit plan show search", "remit plan show P-1 --at 120")
def show(session: Session, name: PlanName) -> Answer:
    """Show a plan, what carries its records on the ledger, and what keeps gates shut."""
    return replace(plan_views.show(session, name=name), show=_shown)


def _exported(screen: Screen, data: Any) -> None:
    if "text" in data:
        write_out(data["text"].encode())
        return
    screen.line(f"{data['path']}: {data['plan']}, digest {data['digest']}")


@read(
    plan, "export", PLAN, "remit plan export search -o plan.yaml", "remit plan export P-1 --at 120"
)
def export(
    session: Session,
    name: Name,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Else it is shown.")
    ] = None,
    force: Force = False,
) -> Answer:
    """Write a plan of the ledger as a bundle that reads back as it is there."""
    found = plan_views.export(session, name=name, out=str(out) if out else "", force=force)
    return replace(found, show=_exported)
