"""Commands of triage: what was put aside, on which evidence, and settling it by name.

No command here picks a resolution by itself, and none settles more than the one record that it names
(INV-19).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from remit.core import commands as c
from remit.service.reading.items import load_items, records
from remit.surfaces.cli import reads, triage_reads, triage_views
from remit.surfaces.cli.answers import Answer
from remit.surfaces.cli.declare import LOOK, writes
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.groups import triage
from remit.surfaces.cli.inputs import entries_of
from remit.surfaces.cli.planning import Exact, Shown, Why, after, said
from remit.surfaces.cli.session import Session, accepted

Record = Annotated[str, typer.Argument(metavar="RECORD", help="Such as T-1.")]
KindName = Annotated[str, typer.Argument(metavar="KIND", help="A kind of 'remit triage kinds'.")]


@read(
    triage,
    "list",
    LOOK,
    "remit triage list",
    "remit triage list --kind secret-found --older 2h",
    "remit triage list --owner operator --run RUN-2",
    "remit triage list --all --limit 0",
)
def triage_list(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Settled records too.")] = False,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="Only records of this kind.")
    ] = "",
    owner: Annotated[
        str, typer.Option("--owner", metavar="ROLE", help="Only what this role settles.")
    ] = "",
    item: Annotated[
        str, typer.Option("--item", metavar="ID", help="Only records of this item.")
    ] = "",
    run: Annotated[
        str, typer.Option("--run", metavar="RUN", help="Only what this run of the drain opened.")
    ] = "",
    older: Annotated[
        str, typer.Option("--older", metavar="TIME", help="Only what is open for longer: 2h.")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", help="Most entries; 0 means all.")
    ] = reads.LIMIT,
) -> Answer:
    """List what somebody has to settle, oldest first."""
    found = triage_reads.triage_list(
        session,
        every=every,
        kind=kind,
        owner=owner,
        item=item,
        run=run,
        older=older,
        limit=limit,
    )
    return replace(found, show=triage_views.triage_records)


@read(triage, "show", LOOK, "remit triage show T-1", "remit triage show T-1 --at 120 --json")
def triage_show(session: Session, record: Record) -> Answer:
    """Show one record: its evidence, who settles it, each command that would, and its history."""
    found = triage_reads.triage_show(session, record=record)
    return replace(found, show=triage_views.triage_one)


@read(triage, "kinds", LOOK, "remit triage kinds", "remit triage kinds merge-conflict")
def triage_kinds(
    session: Session,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="Default: all of them.")] = "",
) -> Answer:
    """List the kinds of records: what each means, has to show and allows, and who settles it."""
    return replace(triage_reads.triage_kinds(session, kind=kind), show=triage_views.triage_kinds)


@writes(
    triage,
    "open",
    LOOK,
    'remit triage open W-4 ambiguity --evidence "unclear=which calendar" --evidence asks=planner',
)
def open_record(
    session: Session,
    item: Exact,
    kind: KindName,
    evidence: Shown = None,
    reason: Why = "",
) -> Answer:
    """Put an item aside with a typed record; it stays there until somebody settles it.

    A lease on it ends. A record without the evidence of its kind is refused with what is missing.
    """
    name = session.exact(item)
    command = c.OpenTriage(name, kind, c.Text(reason), entries_of(evidence))
    done = accepted(session.operations.triage(command, command_id=session.command_id))
    with session.ledger.reading() as tx:
        item_now = load_items(tx, [name])[0]
        opened = records(tx, item_now)
    return Answer({"records": opened, **after(session, name, done)}, said)


@writes(
    triage,
    "resolve",
    LOOK,
    'remit triage resolve T-1 requeue --reason "the disk was full"',
    "remit triage resolve T-1 supersede --successor W-9",
)
def resolve(
    session: Session,
    record: Record,
    resolution: Annotated[
        str, typer.Argument(metavar="RESOLUTION", help="One that the record allows.")
    ],
    reason: Why = "",
    successor: Annotated[
        str, typer.Option("--successor", metavar="ID", help="With supersede: what takes its place.")
    ] = "",
) -> Answer:
    """Settle one record by a resolution that it allows; the item goes on once all are settled."""
    follows = session.exact(successor) if successor else ""
    command = c.ResolveTriage(record, resolution, reason, follows)
    done = accepted(session.operations.resolve(command, command_id=session.command_id))
    from remit.core.facts import Triage
    from remit.service.reading.triage import triage_record

    with session.ledger.reading() as tx:
        fact = tx.load([("triage", record)])["triage", record]
        assert isinstance(fact, Triage), "it was settled just now"
        records = [triage_record(tx, fact, whole=True)]
    return Answer({"records": records, **after(session, fact.item, done)}, said)
