"""The command that brings approved work onto main: tested as it will land, pushed once, and seen there.

What it says of a push is what the remote showed, never what the push answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core.pushes import REQUEST
from remit.core.refusals import Code
from remit.service.engine import Answer as AnswerOf
from remit.service.integrated import Integrated
from remit.surfaces.cli.answers import Answer, Stop, stop
from remit.surfaces.cli.declare import WORK, writes
from remit.surfaces.cli.groups import app
from remit.surfaces.cli.planning import Exact, after
from remit.surfaces.cli.progress import shown
from remit.surfaces.cli.session import Session
from remit.surfaces.cli.visible import visible
from remit.surfaces.cli.working import Repository

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

DONE = ("shipped", "pushed", "planned", "open", "merged", "closed")
"""Outcomes that are no refusal of what would land."""


def _shown(screen: Screen, data: Any) -> None:
    rows = [(r["row"], r["result"], r["reason"], r["requirement"]) for r in data["results"]]
    if rows:
        screen.table(("ROW", "RESULT", "REASON", "REQUIREMENT"), rows)
    item, detail = data["item"]["id"], visible(data["detail"])
    match data["outcome"]:
        case "shipped":
            screen.line(f"{item} shipped: {data['commit']} by {data['way']}")
            screen.line(f"next: remit verify {item}")
        case "planned":
            screen.line(f"{item} would land as {data['commit']} by {data['way']}; not tested")
        case "clash":
            screen.line(f"{item} clashes with main at {data['main_before']} in {detail}")
        case "triaged":
            screen.line(f"{item} is put aside as {data['triage']}: {detail}")
            screen.line("next: remit triage list")
        case "pushed":
            screen.line(f"{item} is on main: {data['commit']}")
        case state:
            screen.line(f"{item} is proposed, {state}: {detail}")
            screen.line(f"it ships where main has it: 'remit integrate {item} --pr' looks again")


@writes(
    app,
    "integrate",
    WORK,
    "remit integrate W-4",
    "remit integrate W-4 --rebase",
    "remit integrate W-4 --dry-run",
    "remit integrate W-4 --pr",
)
def integrate(
    session: Session,
    item: Exact,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge it onto main; the default.")
    ] = False,
    rebase: Annotated[
        bool, typer.Option("--rebase", help="Put each of its commits onto main.")
    ] = False,
    pr: Annotated[
        bool, typer.Option("--pr", help="Open a pull request, and only look from then on.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Make what would land, and neither test nor push it.")
    ] = False,
    repository: Repository = None,
) -> Answer:
    """Bring approved work onto the remote's main: test exactly what would land, and push it once.

    What goes on from main is pushed as it is; else it is merged, or rebased. Its rows run on that
    commit before anything leaves. A clash or a red row puts the item aside and exits 6. What became of a
    push is asked of the remote: where nobody knows, nothing is pushed again, it exits 5 or 9, and the
    same command goes on from what is seen then. Main that moved meanwhile is followed a few times.
    """
    if merge + rebase + pr > 1:
        raise stop(
            Code.BAD_INPUT,
            f"cannot integrate {item}: expected one of --merge, --rebase and --pr",
            "say which",
        )
    way = "rebase" if rebase else "pr" if pr else "merge"
    name = session.exact(item)
    integration = session.integration(repository)
    if dry_run:
        found = integration.plan(name, way="merge" if pr else way)
    else:
        with shown(session) as report:
            found = integration.integrate(
                name,
                way=way,
                command_id=session.command_id,
                progress=lambda what, step: report(f"{what} {step}", 0, 0),
            )
    if not isinstance(found, Integrated):
        raise Stop(found)
    return Answer(_data(session, found), _shown, 0 if found.outcome in DONE else 6)


def looked_up(session: Session, effect: str) -> list[tuple[str, AnswerOf]]:
    """Look a push or pull request up by its name, or without one all of which nobody knows.

    Empty where there is none: then the effect, if it is one, is that of effect work.
    """
    from remit.service.pushing import due, is_push

    with session.ledger.reading() as tx:
        names = due(tx) if not effect else [effect] if is_push(tx, effect) else []
    if not names:
        return []
    from remit.wiring.integrating import pushes, requests

    observed = session.observed()
    there = pushes(session.ledger, observed), requests(session.ledger, observed)
    return [(name, there[name.startswith(REQUEST)].one(name)) for name in names]


def _data(session: Session, found: Integrated) -> dict[str, Any]:
    from remit.service.reading.rendering import plain

    return {
        **after(session, found.item, found.answer),
        "outcome": found.outcome,
        "shipped": found.outcome == "shipped",
        "way": found.way,
        "commit": found.commit,
        "main_before": found.main_before,
        "main_after": found.main_after,
        "effect": {"id": found.effect, "state": found.state} if found.effect else None,
        "results": [
            {
                "row": r.row,
                "requirement": r.requirement,
                "result": r.result,
                "reason": r.reason,
                "executed": r.executed,
                "skipped": r.skipped,
                "checks": [plain(check) for check in r.checks],
                "evidence": {"log": r.log or None, "digest": r.digest},
            }
            for r in found.results
        ],
        "triage": found.triage,
        "detail": found.detail,
    }
