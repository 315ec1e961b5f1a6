"""Commands that ask the ledger: lists, one item, its trace, its worksheet, what waits and why.

The answers come from ``reads``, which the quick way in shares; here they get their options, their
help and their look for people.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from remit.surfaces.cli import reads, sheets, showing
from remit.surfaces.cli.answers import Answer
from remit.surfaces.cli.declare import LOOK, OPERATE
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.groups import actor, app, dep, policy, rule
from remit.surfaces.cli.session import Session

Item = Annotated[
    str, typer.Argument(metavar="ID", help="An item: its id, its work id, or a beginning of one.")
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="Most entries; 0 means all.")]
Statuses = Annotated[
    list[str] | None,
    typer.Option("--status", metavar="STATUS", help="Only items in this status; may be repeated."),
]
After = Annotated[str, typer.Option("--after", metavar="ID", help="Only items after this one.")]


@read(app, "list", LOOK, "remit list --status draft --status held", "remit list --newest --limit 5")
def list_items(
    session: Session,
    status: Statuses = None,
    gate: Annotated[
        str, typer.Option("--gate", metavar="GATE", help="Only drafts behind this gate.")
    ] = "",
    hold: Annotated[
        str, typer.Option("--hold", metavar="REASON", help="Only items held for this reason.")
    ] = "",
    after: After = "",
    newest: Annotated[bool, typer.Option("--newest", help="The newest first.")] = False,
    limit: Limit = reads.LIMIT,
) -> Answer:
    """List items, oldest first."""
    found = reads.list_items(
        session,
        status=tuple(status or ()),
        gate=gate,
        hold=hold,
        after=after,
        newest=newest,
        limit=limit,
    )
    return replace(found, show=showing.items)


@read(app, "ready", LOOK, "remit ready", "remit ready --limit 1 --json")
def ready(session: Session, limit: Limit = reads.LIMIT) -> Answer:
    """List what may be leased, in the order in which leases would be given."""
    return replace(reads.ready(session, limit=limit), show=showing.ready)


@read(app, "blocked", LOOK, "remit blocked", "remit blocked --after W-50 --limit 20")
def blocked(session: Session, after: After = "", limit: Limit = reads.LIMIT) -> Answer:
    """List what cannot be leased yet: the gate or hold that stops it, and how to open that."""
    return replace(reads.blocked(session, after=after, limit=limit), show=showing.blocked)


@read(app, "search", LOOK, "remit search parser", "remit search 'time zone' --status ready")
def search(
    session: Session,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for.")],
    status: Statuses = None,
    limit: Limit = reads.LIMIT,
) -> Answer:
    """Find items whose id, work id, title or body holds a text, in any case of letters."""
    found = reads.search(session, text=text, status=tuple(status or ()), limit=limit)
    return replace(found, show=showing.items)


@read(app, "show", LOOK, "remit show W-4", "remit show W-4 --at 120 --json")
def show(session: Session, item: Item) -> Answer:
    """Show one item whole: state, owner, plan, dependencies, records and history."""
    return replace(reads.show(session, item=item), show=showing.item)


@read(app, "inbox", LOOK, "remit inbox", "remit inbox --as bea")
def inbox(session: Session, limit: Limit = reads.LIMIT) -> Answer:
    """List what waits for you: leases, reviews that you may do, and for humans records and rules."""
    return replace(reads.inbox(session, limit=limit), show=showing.inbox)


@read(
    app,
    "explain",
    LOOK,
    "remit explain W-4",
    "remit explain WORK-104 --at 120",
    "remit explain WORK-104 --format markdown",
)
def explain(
    session: Session,
    item: Item,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="For people: text or markdown.")
    ] = reads.FORMS[0],
) -> Answer:
    """Say why an item may be leased or not: the decision worksheet, with every check.

    For effect work it is drawn from the ledger alone: envelopes, states, evidence, verdict, ownership,
    attempt, retry and reconciliation.
    """
    show = sheets.text if form == reads.FORMS[0] else sheets.markdown
    return replace(reads.explain(session, item=item, form=form), show=show)


@read(dep, "tree", LOOK, "remit dep tree W-4")
def dep_tree(session: Session, item: Item) -> Answer:
    """Show what an item waits on, and what those wait on."""
    return replace(reads.dep_tree(session, item=item), show=showing.tree)


@read(actor, "list", OPERATE, "remit actor list")
def actor_list(session: Session, limit: Limit = 0) -> Answer:
    """List who is enrolled."""
    return replace(reads.actor_list(session, limit=limit), show=showing.actors)


@read(rule, "list", OPERATE, "remit rule list")
def rule_list(session: Session, limit: Limit = 0) -> Answer:
    """List the default rules that the ledger knows."""
    return replace(reads.rule_list(session, limit=limit), show=showing.rules)


@read(policy, "show", OPERATE, "remit policy show")
def policy_show(session: Session) -> Answer:
    """Show the figures that decisions use."""
    return replace(reads.policy_show(session), show=showing.policy)
