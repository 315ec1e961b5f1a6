"""Coverage of a plan as the interface answers it: matrix, orphans, suspect links, changes, files.

What should not be there ends with exit status 6, so that a script need not read the answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.plan_files import write_text
from remit.surfaces.cli.session import Session, required

FOUND: Final = 6
"""The exit status where what should not be there is."""

FORMS: Final = ("csv", "html", "needs")


def matrix(session: Session, *, plan: str = "", limit: int = 0) -> Answer:
    """``trace --matrix``: every requirement with what covers it."""
    return Answer(_matrix(session, plan, limit))


def _matrix(session: Session, plan: str, limit: int) -> dict[str, Any]:
    from remit.service.reading.coverage import matrix as whole

    with session.reading() as tx:
        found: dict[str, Any] = required(whole(tx, plan, limit))
    return found


def orphans(session: Session, *, plan: str = "", limit: int = 0) -> Answer:
    """``trace --orphans``: 6 where anything hangs on nothing."""
    from remit.service.reading.coverage import orphans as whole

    with session.reading() as tx:
        found = required(whole(tx, plan))
    return Answer(found, exit_status=FOUND if found["total"] else 0)


def suspect(session: Session, *, plan: str = "", limit: int = 0) -> Answer:
    """``trace --suspect``: 6 where a link joins what changed with what did not."""
    from remit.service.reading.coverage import suspect_links

    with session.reading() as tx:
        found = required(suspect_links(tx, plan))
    return Answer(found, exit_status=FOUND if found["total"] else 0)


def delta(session: Session, *, old: str, new: str) -> Answer:
    """``trace --delta``: what changed in coverage between two revisions of one plan."""
    from remit.service.reading.coverage import closing_of
    from remit.service.reading.coverage import delta as between
    from remit.service.reading.coverage import matrix as whole

    found = []
    with session.reading() as tx:
        sides = [required(closing_of(tx, name)) for name in (old, new)]
    if sides[0][0] != sides[1][0]:
        raise stop(
            Code.BAD_INPUT,
            f"cannot compare {old} with {new}: they are revisions of two plans",
            "name two revisions of one plan",
        )
    for plan, seq in sides:
        at = seq or session.options.at
        with session.ledger.reading(at) as tx:
            found.append(required(whole(tx, plan)))
    return Answer(between(*found))


def written(session: Session, *, plan: str, form: str, out: str) -> Answer:
    """A matrix as CSV, HTML or needs.json: text to print, or a file."""
    from remit.surfaces.cli.trace_forms import as_csv, as_html

    if form not in FORMS:
        raise stop(
            Code.BAD_INPUT,
            f"cannot write the matrix as {form!r}: expected one of csv and html",
            "give one of these with --format",
        )
    data = _matrix(session, plan, 0)
    text = (
        _needs(session, data) if form == "needs" else {"csv": as_csv, "html": as_html}[form](data)
    )
    told = {"plan": data["plan"], "revision": data["revision"], "format": form}
    told |= {"requirements": data["total"], "file": out or None}
    if out:
        write_text(Path(out), text)
        return Answer(told)
    return Answer({**told, "text": text})


def _needs(session: Session, data: dict[str, Any]) -> str:
    from remit.service.reading.items import goal
    from remit.service.reading.rendering import rfc3339
    from remit.wiring.traces import needs

    with session.reading() as tx:
        found = goal(tx, data["goal"].partition("@")[0]) if data["goal"] else None
        created = rfc3339(tx.head().time)
    made = needs(data, found["objective"] if found else "", created, data["label"])
    return json.dumps(made, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
