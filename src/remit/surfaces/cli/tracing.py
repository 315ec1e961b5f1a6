"""Commands of traceability: the chain from any link, coverage of a plan, and clearing suspect links.

``remit trace`` has several forms of one question, so they are options of one command; what is asked
for wrongly is said at once, and nothing is guessed from two forms together.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from remit.core.asking import Text
from remit.core.refusals import Code
from remit.core.trace_commands import ClearLink
from remit.surfaces.cli import reads, trace_reads, trace_views
from remit.surfaces.cli.answers import Answer, stop, write_out
from remit.surfaces.cli.declare import LOOK, WORK, writes
from remit.surfaces.cli.declare import reads as read
from remit.surfaces.cli.groups import app
from remit.surfaces.cli.planning import Why
from remit.surfaces.cli.session import Session, accepted

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.surfaces.cli.screen import Screen

SHOW = {
    "matrix": trace_views.matrix,
    "orphans": trace_views.orphans,
    "suspect": trace_views.suspect,
    "delta": trace_views.delta,
}


Link = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Any link: item, goal, requirement, node, row, plan or decision by id, event by"
        " seq, commit by 7 or more digits, result as V-1@SEQ, record as KIND/LABEL.",
        show_default=False,
    ),
]
Matrix = Annotated[
    bool, typer.Option("--matrix", help="Every requirement of a plan with what covers it.")
]
Orphans = Annotated[
    bool, typer.Option("--orphans", help="What hangs on nothing; exits 6 where there is any.")
]
Suspect = Annotated[
    bool,
    typer.Option("--suspect", help="Links whose upper end changed; exits 6 where there are any."),
]
Delta = Annotated[
    tuple[str, str],
    typer.Option("--delta", metavar="FROM TO", help="What changed in coverage, as P-1@2 P-1@3."),
]
Needs = Annotated[bool, typer.Option("--needs", help="A plan as needs.json, for sphinx-needs.")]
PlanName = Annotated[
    str, typer.Option("--plan", metavar="PLAN", help="Which plan; the only one by default.")
]
Form = Annotated[
    str, typer.Option("--format", metavar="FORM", help="Of a matrix: text, csv or html.")
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it to this file.")
]
Limit = Annotated[
    int, typer.Option("--limit", metavar="N", help="Most chains or lines; 0 means all.")
]


def _written(_: Screen, data: Any) -> None:
    if not data.get("file"):
        write_out(data["text"].encode())


@read(
    app,
    "trace",
    LOOK,
    "remit trace W-4",
    "remit trace R-12 --at 4711",
    "remit trace 0123456",
    "remit trace --matrix --plan P-1 --format html --out coverage.html",
    "remit trace --suspect --json",
    "remit trace --delta P-1@2 P-1@3",
    "remit trace --needs --out needs.json",
)
def trace(
    session: Session,
    item: Link = "",
    matrix: Matrix = False,
    orphans: Orphans = False,
    suspect: Suspect = False,
    delta: Delta = ("", ""),
    needs: Needs = False,
    plan: PlanName = "",
    form: Form = "text",
    out: Out = None,
    limit: Limit = reads.TRACED,
) -> Answer:
    """Follow the chain from goal to verification, from any link; exits 6 where it is broken.

    Coverage of a requirement is one of orphan, suspect, outdated, shallow (planned, not proved),
    justified (waived by an accepted decision) and deep (verified at the commit that shipped).
    """
    asked = {"matrix": matrix, "orphans": orphans, "suspect": suspect, "needs": needs}
    forms = [one for one, wanted in asked.items() if wanted] + ["delta"] * any(delta)
    if len(forms) + bool(item) != 1:
        raise stop(
            Code.BAD_INPUT,
            "cannot trace: expected an id, or one of --matrix, --orphans, --suspect, --delta and"
            " --needs",
            "give exactly one",
        )
    if item:
        return replace(reads.trace(session, item=item, limit=limit), show=trace_views.trace)
    file = str(out) if out is not None else ""
    if needs or (matrix and (file or form != "text")):
        form = "needs" if needs else form
        return replace(trace_reads.written(session, plan=plan, form=form, out=file), show=_written)
    if delta != ("", ""):
        return replace(trace_reads.delta(session, old=delta[0], new=delta[1]), show=SHOW["delta"])
    answer: Answer = getattr(trace_reads, forms[0])(session, plan=plan, limit=limit)
    return replace(answer, show=SHOW[forms[0]])


Upper = Annotated[str, typer.Argument(metavar="UPPER", help="The end that changed, such as R-1.")]
Lower = Annotated[str, typer.Argument(metavar="LOWER", help="The end beneath it, such as V-3.")]


@writes(
    app,
    "clear-suspect",
    WORK,
    'remit clear-suspect R-1 V-3 --reason "the same command still proves it"',
)
def clear_suspect(
    session: Session,
    upper: Upper,
    lower: Lower,
    reason: Why = "",
    upper_digest: Annotated[
        str, typer.Option("--upper-digest", metavar="HEX", help="What was looked at, above.")
    ] = "",
    lower_digest: Annotated[
        str, typer.Option("--lower-digest", metavar="HEX", help="What was looked at, beneath.")
    ] = "",
) -> Answer:
    """Say that both ends of a suspect link still belong together; kept with who said so.

    It holds for exactly what both ends mean now. Whoever held a lease on the work may not say so.
    """
    command = ClearLink(upper, lower, Text(reason), upper_digest, lower_digest)
    done = accepted(session.operations.run(command, command_id=session.command_id))
    recorded = done.events[0]
    data = {
        "link": f"{upper}>{lower}",
        "by": recorded.actor,
        "assurance": recorded.assurance,
        "seq": recorded.seq,
        "repeated": done.repeated,
    }
    return Answer(data, trace_views.cleared)
