"""Commands of whoever judges work: review, ship, verify, go on.

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
from remit.surfaces.cli.declare import WORK, writes
from remit.surfaces.cli.groups import app
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
    'remit review W-4 --approve --reason "as read" --bound 9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab',
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
    bound: Annotated[
        str,
        typer.Option(
            "--bound",
            metavar="HEX",
            help="The rows and requirements looked at: 'bound' of 'remit show'.",
        ),
    ] = "",
) -> Answer:
    """Approve or reject what was handed in; whoever held a lease on it may not.

    An approval is bound to the commit, its tree, the rows and the requirements. Where one of them is
    another by the time it would ship, it counts no more, and --reject sends the item back.
    """
    if approve == reject:
        raise stop(
            Code.BAD_INPUT,
            f"cannot review {item}: expected --approve or --reject, one of them",
            "say which",
        )
    name = session.exact(item)
    command = c.ReviewWork(name, approve, c.Text(reason), head, bound)
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
    """Observe the remote's main, and ship the item if the reviewed change is on it.

    Nothing ships on an approval that is no longer about what there is: rows and requirements must be
    those that were approved, and nothing else may have been pushed to the attempt's branch since.
    """
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
    for name in ("missing_artifacts", "out_of_scope", "changed"):
        if data[name]:
            screen.line(f"{name.replace('_', ' ')}: {', '.join(data[name])}")
    for waived in data["waived"]:
        screen.line(f"{waived['row']} is waived by {waived['decision']}, not verified")
    said(screen, data)


@writes(
    app,
    "verify",
    WORK,
    "remit verify W-4",
    "remit verify W-4 --repeat 3",
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
    digest: Annotated[
        str,
        typer.Option("--digest", metavar="HEX", help="Score only if the rubric is this one."),
    ] = "",
    repeat: Annotated[
        int,
        typer.Option("--repeat", metavar="N", min=1, max=10, help="Run each command so often."),
    ] = 1,
    repository: Repository = None,
) -> Answer:
    """Run all rows at exactly the shipped commit, in clean checkouts, and compare the artifacts.

    Exits 6 unless the item is verified by it. Each command must be green there and red under its
    control: on the base, or on the shipped commit with its mutation. Two answers of one command on
    one commit are a contradiction for good. With --row a human scores a rubric by its own text.
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
            name,
            row,
            passed=passed,
            reason=reason,
            digest=digest,
            command_id=session.command_id,
        )
    else:
        with shown(session) as report:
            answer = delivery.verify(
                name,
                progress=lambda what, step: report(f"{what} {step}", 0, 0),
                repeats=repeat,
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
        "waived": [{"row": row, "decision": decision} for row, decision in event.waived],
        "changed": list(event.changed),
        "triage": event.record or None,
    }


def _check(check: Any) -> Any:
    from remit.service.reading.rendering import plain

    return plain(check)


@writes(app, "succeed", WORK, 'remit succeed W-4 W-9 --reason "the requirement changed"')
def succeed(
    session: Session,
    item: Exact,
    successor: Annotated[str, typer.Argument(metavar="SUCCESSOR", help="The item that goes on.")],
    reason: Why = "",
) -> Answer:
    """Let work on a verified item whose results are stale go on in another item.

    The verified item stays what it was at its commit. What waited for it waits for its successor, and
    its requirement is closed again by what the successor proves.
    """
    name = session.exact(item)
    command = c.SucceedItem(name, session.exact(successor), c.Text(reason))
    done = accepted(session.operations.succeed(command, command_id=session.command_id))
    return Answer(after(session, name, done), said)
