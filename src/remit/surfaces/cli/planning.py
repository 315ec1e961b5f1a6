"""Commands that write work down: create, edit, note, close, cancel, and what waits on what.

A command that changes an item names it exactly, by id or whole work id. The text that comes in is
data: it is bounded by the core and never interpreted.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core import commands as c
from remit.core import facts
from remit.core.refusals import Code
from remit.core.status import Kind
from remit.service.engine import Done
from remit.service.operations import item_of
from remit.service.reading.items import load_items, summaries
from remit.service.reading.waiting import how_to_open
from remit.surfaces.cli import rules
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import PLAN, writes
from remit.surfaces.cli.groups import app, dep
from remit.surfaces.cli.row_options import Mutation, RedReason, Verify, read_text, rows_of
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

Exact = Annotated[str, typer.Argument(metavar="ID", help="An item: its id or its whole work id.")]
Shown = Annotated[
    list[str] | None,
    typer.Option("--evidence", metavar="NAME=VALUE", help="A field of the kind; may be repeated."),
]
Why = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; kept on the ledger.")]
Scope = Annotated[
    list[str] | None,
    typer.Option("--scope", metavar="PATHS", help="Paths that may change, comma-separated."),
]
Artifacts = Annotated[
    list[str] | None,
    typer.Option("--artifact", metavar="PATHS", help="Paths that must be among the changes."),
]
BodyText = Annotated[str | None, typer.Option("--body", metavar="TEXT", help="What is wanted.")]
BodyFile = Annotated[
    Path | None,
    typer.Option(
        "--body-file", metavar="FILE", help="A file with the body; - reads standard input."
    ),
]

MOST_BODY: Final = 16 * 1024 * 1024
"""Longest body that is read, in bytes."""


def paths(values: list[str] | None) -> tuple[str, ...] | None:
    """Patterns that were given, one option or comma-separated; None where none was."""
    if values is None or not values:
        return None
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def body_of(text: str | None, file: Path | None) -> str | None:
    """The body that was given, if any. Raises ``BAD_INPUT`` where the file cannot be read."""
    if text is not None or file is None:
        return text
    return read_text(file, MOST_BODY)


def after(session: Session, name: str, done: Done | None = None) -> dict[str, Any]:
    """The item as it is now, and the event that a command led to."""
    with session.ledger.reading() as tx:
        found = load_items(tx, [name])
        [shown] = summaries(tx, found)
        shown["how_to_open"] = how_to_open(found[0]) if _waits(shown) else ""
    return {"item": shown, "event": event_of(done), "repeated": done.repeated if done else False}


def _waits(shown: dict[str, Any]) -> bool:
    return shown["status"] in ("draft", "held", "triaged")


def event_of(done: Done | None) -> dict[str, Any] | None:
    """The last event that a command led to; None where nothing had to change."""
    from remit.service.reading.rendering import event

    return event(done.events[-1]) if done is not None and done.events else None


def said(screen: Screen, data: Any) -> None:
    """One line about an item, and how to open what still stops it."""
    item = data["item"]
    screen.line(f"{item['id']} is {item['status']}: {item['title']}")
    if item["how_to_open"]:
        stopper = item["gate"] or (item["hold"] or {}).get("reason") or item["status"]
        screen.line(f"stopped by {stopper}; {item['how_to_open']}")


@writes(
    app,
    "create",
    PLAN,
    'remit create "Fix the parser" --verify "pytest -q tests/test_parser.py"',
    'remit create "Say hello" --scope "src/**,docs/" --after W-3 --priority 1',
    'remit create "Keep the lock" --verify "make test" --mutation no-lock.patch --red-reason "two at once"',
)
def create(
    session: Session,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="One line: what is wanted.")],
    verify: Verify = None,
    mutation: Mutation = None,
    red_reason: RedReason = "",
    rubric: Annotated[
        str, typer.Option("--rubric", metavar="TEXT", help="What a human judges it by.")
    ] = "",
    body: BodyText = None,
    body_file: BodyFile = None,
    scope: Scope = None,
    artifact: Artifacts = None,
    priority: Annotated[
        int, typer.Option("--priority", "-p", metavar="0-4", help="0 is the most urgent.")
    ] = 2,
    work_class: Annotated[
        str, typer.Option("--class", metavar="NAME", help="The class of its lane.")
    ] = "",
    tenant: Annotated[
        str, typer.Option("--tenant", metavar="NAME", help="The tenant of its lane.")
    ] = "",
    work_id: Annotated[
        str, typer.Option("--id", metavar="WORK_ID", help="A name of your own for it.")
    ] = "",
    goal: Annotated[
        str, typer.Option("--goal", metavar="GOAL", help="A goal that it serves, such as G-1.")
    ] = "",
    after_items: Annotated[
        list[str] | None,
        typer.Option("--after", metavar="ID", help="An item that must be done first."),
    ] = None,
    rule: Annotated[
        str,
        typer.Option("--rule", metavar="NAME", help="The default rule to use without --verify."),
    ] = "default",
) -> Answer:
    """Write an item down; goal, requirement and check are drafted from what you say.

    With --verify it can be leased at once. Without it and without an accepted rule it stays a
    draft, and the answer says what opens it. Without --scope any path may change.
    """
    rows = rows_of(verify, mutation, red_reason, rubric)
    rules.register(session)
    command = c.CreateItem(
        title,
        body_of(body, body_file) or "",
        priority=priority,
        work_class=work_class or session.config.work_class,
        tenant=tenant or session.config.tenant,
        alias=work_id,
        goal=goal,
        rows=rows,
        scope=paths(scope) or ("**",),
        artifacts=paths(artifact) or (),
        rule=rule,
        depends_on=tuple((session.exact(name), "blocks") for name in after_items or ()),
    )
    done = accepted(session.operations.create(command, command_id=session.command_id))
    return Answer(after(session, item_of(done), done), said)


@writes(
    app,
    "edit",
    PLAN,
    'remit edit W-4 --title "Fix the lexer" --priority 0',
    'remit edit W-4 --verify "make test"',
    "remit edit W-4 --confirm-import",
)
def edit(
    session: Session,
    item: Exact,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="A new title.")
    ] = None,
    body: BodyText = None,
    body_file: BodyFile = None,
    priority: Annotated[
        int | None, typer.Option("--priority", "-p", metavar="0-4", help="0 is the most urgent.")
    ] = None,
    scope: Scope = None,
    artifact: Artifacts = None,
    verify: Verify = None,
    mutation: Mutation = None,
    red_reason: RedReason = "",
    clarify: Annotated[
        bool, typer.Option("--clarify", help="The requirement is clear as it stands.")
    ] = False,
    confirm_import: Annotated[
        bool, typer.Option("--confirm-import", help="Nobody is at work on it elsewhere.")
    ] = False,
    reason: Why = "",
) -> Answer:
    """Change the brief of an item that nobody works on."""
    name = session.exact(item)
    command = c.ReviseItem(
        name,
        title=title,
        body=body_of(body, body_file),
        priority=priority,
        scope=paths(scope),
        artifacts=paths(artifact),
        rows=rows_of(verify, mutation, red_reason),
        clarify=clarify,
        confirm_import=confirm_import,
        reason=c.Text(reason),
    )
    if command == c.ReviseItem(name, reason=c.Text(reason)):
        raise stop(
            Code.BAD_INPUT, f"cannot edit {name}: nothing to change", "see 'remit edit --help'"
        )
    done = accepted(session.operations.revise(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


@writes(app, "note", PLAN, 'remit note W-4 "The fault is in the lexer"')
def note(
    session: Session,
    item: Exact,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The remark.")],
) -> Answer:
    """Add a remark to an item; it changes nothing else."""
    name = session.exact(item)
    command = c.AddNote(name, c.Text(text))
    done = accepted(session.operations.note(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


def _close(
    session: Session, item: str, outcome: str, reason: str, successor: str = "", decision: str = ""
) -> Answer:
    name = session.exact(item)
    follows = session.exact(successor) if successor else ""
    command = c.CloseItem(name, outcome, c.Text(reason), follows, decision)
    done = accepted(session.operations.close(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


@writes(
    app,
    "close",
    PLAN,
    'remit close W-4 --outcome rejected --reason "not wanted"',
    "remit close W-4 --superseded-by W-9",
)
def close(
    session: Session,
    item: Exact,
    outcome: Annotated[
        str,
        typer.Option(
            "--outcome",
            metavar="OUTCOME",
            help="rejected, expired, coalesced, cancelled, superseded or failed.",
        ),
    ] = "",
    superseded_by: Annotated[
        str, typer.Option("--superseded-by", metavar="ID", help="The item that takes its place.")
    ] = "",
    decision: Annotated[
        str,
        typer.Option("--decision", metavar="D-N", help="Records its open effect as unresolved."),
    ] = "",
    reason: Why = "",
) -> Answer:
    """Finish an item without verifying it; the outcome is named and stays."""
    if not outcome and not superseded_by:
        raise stop(
            Code.BAD_INPUT,
            f"cannot close {item}: no outcome was named",
            "name one with --outcome, or its successor with --superseded-by",
        )
    return _close(session, item, outcome or "superseded", reason, superseded_by, decision)


@writes(app, "cancel", PLAN, 'remit cancel W-4 --reason "no longer needed"')
def cancel(session: Session, item: Exact, reason: Why = "") -> Answer:
    """Close an item as cancelled; work on it that is under way is put aside with a record.

    Effect work whose effect was intended stays open until somebody has looked what came of it.
    """
    name = session.exact(item)
    with session.ledger.reading() as tx:
        found = tx.load([("item", name)])["item", name]
    if not isinstance(found, facts.Item) or found.kind is not Kind.EFFECT:
        return _close(session, item, "cancelled", reason)
    command = c.CancelWork(name, reason=c.Text(reason))
    done = accepted(session.operations.cancel(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


Target = Annotated[str, typer.Argument(metavar="TARGET", help="The item that it waits on.")]


@writes(dep, "add", PLAN, "remit dep add W-4 W-3", "remit dep add W-4 W-1 --kind parent-child")
def dep_add(
    session: Session,
    item: Exact,
    target: Target,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="blocks, parent-child, conditional-blocks or waits-for.",
        ),
    ] = "blocks",
) -> Answer:
    """Let an item wait on another; an edge that would close a cycle is refused."""
    name, other = session.exact(item), session.exact(target)
    command = c.AddDependency(name, other, kind)
    done = accepted(session.operations.add_dependency(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


@writes(dep, "rm", PLAN, "remit dep rm W-4 W-3")
def dep_rm(
    session: Session,
    item: Exact,
    target: Target,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Only the edge of this kind.")
    ] = "",
    reason: Why = "",
) -> Answer:
    """End a wait; the target may also be a work id that is not on this ledger."""
    name = session.exact(item)
    with session.ledger.reading() as tx:
        alias = tx.load([("alias", target)])["alias", target] if target else None
    other = alias if isinstance(alias, str) else target
    command = c.RemoveDependency(name, other, kind, reason)
    done = accepted(session.operations.remove_dependency(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)
