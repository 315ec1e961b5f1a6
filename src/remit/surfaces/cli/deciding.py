"""Commands of whoever judges work: review, ship, verify, settle.

Nothing ships because somebody says so: ``ship`` looks at the remote. Nothing is verified because
somebody says so: ``verify`` runs what was registered before the work began, in clean checkouts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core import commands as c
from remit.core.item_events import ShipObserved, VerificationRecorded
from remit.core.refusals import Code
from remit.service.engine import Done
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.declare import LOOK, WORK, writes
from remit.surfaces.cli.groups import app, triage
from remit.surfaces.cli.planning import Exact, Why, after, said
from remit.surfaces.cli.progress import shown
from remit.surfaces.cli.session import Session, accepted
from remit.surfaces.cli.working import Repository

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen


@writes(
    app,
    "review",
    WORK,
    'remit review W-4 --approve --reason "reads well"',
    'remit review W-4 --reject --reason "no test for the empty file"',
)
def review(
    session: Session,
    item: Exact,
    approve: Annotated[bool, typer.Option("--approve", help="It may ship.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="Back to work.")] = False,
    reason: Why = "",
    head: Annotated[
        str, typer.Option("--head", metavar="SHA", help="The commit that was looked at.")
    ] = "",
) -> Answer:
    """Approve or reject what was handed in; whoever held a lease on it may not."""
    if approve == reject:
        raise stop(
            Code.BAD_INPUT,
            f"cannot review {item}: expected --approve or --reject, one of them",
            "say which",
        )
    name = session.exact(item)
    command = c.ReviewWork(name, approve, c.Text(reason), head)
    done = accepted(session.operations.review(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)


def _shipped(screen: Screen, data: Any) -> None:
    screen.line(f"{data['item']['id']} shipped: {data['observed_commit_sha']} on {data['ref']}")
    screen.line(f"next: remit verify {data['item']['id']}")


@writes(app, "ship", WORK, "remit ship W-4 --commit 0123456789abcdef0123456789abcdef01234567")
def ship(
    session: Session,
    item: Exact,
    commit: Annotated[
        str, typer.Option("--commit", metavar="SHA", help="The commit on main, in full.")
    ],
    accept_rewrite: Annotated[
        bool,
        typer.Option("--accept-rewrite", help="Main was rewritten since, and that is known."),
    ] = False,
    repository: Repository = None,
) -> Answer:
    """Observe the remote's main, and ship the item if the reviewed change is on it."""
    name = session.exact(item)
    done = accepted(
        session.delivery(repository).mark_shipped(
            name, commit, accept_rewrite=accept_rewrite, command_id=session.command_id
        )
    )
    seen = next(r.event for r in done.events if isinstance(r.event, ShipObserved))
    data = {
        "observed_commit_sha": seen.observed_commit_sha,
        "main_sha": seen.main_sha,
        "remote": seen.remote,
        "ref": seen.ref,
        "matched_by": seen.matched_by,
        **after(session, name, done),
    }
    return Answer(data, _shipped)


def _verified(screen: Screen, data: Any) -> None:
    rows = [(r["row"], r["result"], r["reason"], r["requirement"]) for r in data["results"]]
    screen.table(("ROW", "RESULT", "REASON", "REQUIREMENT"), rows)
    if data["artifact_diff"]:
        screen.line(f"artifact diff: {data['artifact_diff']}")
    for name in ("missing_artifacts", "out_of_scope"):
        if data[name]:
            screen.line(f"{name.replace('_', ' ')}: {', '.join(data[name])}")
    said(screen, data)


@writes(
    app,
    "verify",
    WORK,
    "remit verify W-4",
    'remit verify W-4 --row V-7 --pass --reason "does what the title says"',
)
def verify(
    session: Session,
    item: Exact,
    row: Annotated[
        str, typer.Option("--row", metavar="ROW", help="Score this rubric row, as a human.")
    ] = "",
    passed: Annotated[bool, typer.Option("--pass", help="The rubric is met.")] = False,
    failed: Annotated[bool, typer.Option("--fail", help="The rubric is not met.")] = False,
    reason: Why = "",
    repository: Repository = None,
) -> Answer:
    """Run all rows at exactly the shipped commit, in clean checkouts, and compare the artifacts.

    Exits 6 unless the item is verified by it. With --row a human scores a rubric.
    """
    if bool(row) != (passed or failed) or (passed and failed):
        raise stop(
            Code.BAD_INPUT,
            f"cannot verify {item}: --row goes with --pass or --fail, one of them",
            "leave all three out to run the commands",
        )
    name = session.exact(item)
    delivery = session.delivery(repository)
    if row:
        answer = delivery.score(
            name, row, passed=passed, reason=reason, command_id=session.command_id
        )
    else:
        with shown(session) as report:
            answer = delivery.verify(
                name,
                progress=lambda what, step: report(f"{what} {step}", 0, 0),
                command_id=session.command_id,
            )
    done = accepted(answer)
    data = {**_results(done), **after(session, name, done)}
    return Answer(data, _verified, 0 if data["item"]["status"] == "verified" else 6)


def _results(done: Done) -> dict[str, Any]:
    recorded = next(r for r in done.events if isinstance(r.event, VerificationRecorded))
    event = recorded.event
    assert isinstance(event, VerificationRecorded)
    return {
        "verification_result_id": event.verification_result_id,
        "observed_commit_sha": event.observed_commit_sha,
        "results": [
            {
                "row": r.row,
                "requirement": r.requirement,
                "result": r.result,
                "reason": r.reason,
                "executed": r.executed,
                "skipped": r.skipped,
                "checks": [_check(check) for check in r.checks],
                "evidence": {"seq": recorded.seq, "log": r.log or None, "digest": r.digest},
            }
            for r in event.results
        ],
        "artifact_diff": event.artifact_diff,
        "missing_artifacts": list(event.missing_artifacts),
        "out_of_scope": list(event.out_of_scope),
        "triage": event.record or None,
    }


def _check(check: Any) -> Any:
    from remit.service.reading.rendering import plain

    return plain(check)


@writes(
    triage,
    "resolve",
    LOOK,
    'remit triage resolve T-1 requeue --reason "the disk was full"',
    "remit triage resolve T-1 supersede --successor W-9",
)
def resolve(
    session: Session,
    record: Annotated[str, typer.Argument(metavar="RECORD", help="Such as T-1.")],
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
    from remit.service.reading.items import triage_record

    with session.ledger.reading() as tx:
        fact = tx.load([("triage", record)])["triage", record]
        assert isinstance(fact, Triage), "it was settled just now"
        records = [triage_record(tx, fact)]
    return Answer({"records": records, **after(session, fact.item, done)}, said)
