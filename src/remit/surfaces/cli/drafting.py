"""Drafting a plan from what is there: a backlog, a table of requirements, a goal in Markdown.

A draft is a file and nothing more; the ledger is not touched. It says of everything that the source
does not tell that it is open, so that a check of it is a list of what to ask.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop, write_out
from remit.surfaces.cli.declare import PLAN, stands
from remit.surfaces.cli.groups import plan
from remit.surfaces.cli.inputs import no_pipe
from remit.surfaces.cli.plan_files import counts, free, write_text
from remit.surfaces.cli.session import Session

LEFT: Final = 100
"""Rows left out that a drafted file names at its top; the answer names all."""

if TYPE_CHECKING:  # it loads the tables, which --json does without
    from remit.core.planning.bundle import Bundle
    from remit.surfaces.cli.screen import Screen


def _drafted(screen: Screen, data: Any) -> None:
    if "text" in data:
        write_out(data["text"].encode())
        return
    screen.table(
        ("ROWS", "DRAFTED", "QUARANTINED"),
        [(data["rows"], data["drafted"], data["quarantined_total"])],
    )
    for code, number in Counter(one["code"] for one in data["quarantined"]).most_common():
        screen.line(f"{code}: {number}")
    for note in data["notes"]:
        screen.line(note)
    screen.line(f"{data['gaps']} gaps are marked as ambiguities in {data['path']}")
    screen.line(f"next: remit plan check {data['path']}")


@stands(
    plan,
    "draft",
    PLAN,
    "remit plan draft beads .beads/issues.jsonl -o plan.yaml",
    'remit plan draft csv requirements.csv --map statement=Summary --map "label=Req. ID" -o plan.yaml',
    "remit plan draft markdown goal.md --name search -o plan.yaml",
)
def draft(
    session: Session,
    fmt: Annotated[str, typer.Argument(metavar="FORMAT", help="beads, csv or markdown.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file; - reads standard input.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where the bundle goes; else it is shown."
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="The plan's name; default: the file's.")
    ] = "",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="PART=COLUMN",
            help="Of csv: label, statement, title, acceptance, rationale, source, risk, clause,"
            " parent, after or priority.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
) -> Answer:
    """Draft a bundle; each row is drafted or quarantined with a code, and every gap is marked.

    Nothing is made up and nothing is admitted: what the source does not say stands in the bundle as
    an open ambiguity, and 'plan check' lists them.
    """
    from remit.wiring import input_file
    from remit.wiring.plans import SCHEMA_FILE, plan_lines
    from remit.wiring.plans import draft as drafted

    no_pipe(path)
    if out is not None:
        free(out, force)
    named = name or ("plan" if str(path) == "-" else path.stem)
    with input_file(path) as file:
        found = drafted(fmt, file, named, _map(columns or []))
    bundle = found.bundle
    told = f"drafted from {path.name}: {found.rows} rows, {found.drafted} drafted"
    text = "".join(plan_lines(bundle, SCHEMA_FILE, (told, *found.notes, *_left(found.left))))
    data: dict[str, Any] = {
        "format": fmt,
        "plan": bundle.name,
        "rows": found.rows,
        "drafted": found.drafted,
        "quarantined": [asdict(one) for one in found.left],
        "quarantined_total": len(found.left),
        "truncated": False,
        "counts": counts(bundle),
        "gaps": _gaps(bundle),
        "notes": list(found.notes),
    }
    if out is None:
        return Answer(data | {"text": text}, _drafted)
    write_text(out, text)
    return Answer(data | {"path": str(out)}, _drafted)


def _gaps(bundle: Bundle) -> int:
    """How many ambiguities a draft marks."""
    beneath = sum(len(each.ambiguities) for each in bundle.requirements)
    return len(bundle.goal.ambiguities) + beneath


def _left(rows: Sequence[Any]) -> tuple[str, ...]:
    """What is not in the draft, as it stands at the top of its file."""
    more = [f"and {len(rows) - LEFT} more"] if len(rows) > LEFT else []
    said = (f"left out, row {one.row} {one.id}: {one.code}" for one in rows[:LEFT])
    return (*said, *more)


def _map(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        part, equals, column = one.partition("=")
        if not equals or not part.strip() or not column.strip():
            raise stop(
                Code.BAD_INPUT,
                f"--map is {one!r}, expected PART=COLUMN",
                "such as --map statement=Description",
            )
        found[part.strip()] = column
    return found
