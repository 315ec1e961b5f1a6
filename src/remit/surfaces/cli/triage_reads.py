"""What the reads of triage answer: the list with its filters, one record whole, the table of kinds.

Both ways in call these, as those in ``reads``; what they need is loaded only where one is asked for.
"""

from __future__ import annotations

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, stop
from remit.surfaces.cli.reads import LIMIT, bound
from remit.surfaces.cli.session import Session, required


def triage_list(
    session: Session,
    *,
    every: bool = False,
    kind: str = "",
    owner: str = "",
    item: str = "",
    run: str = "",
    older: str = "",
    limit: int = LIMIT,
) -> Answer:
    """``triage list``: what somebody has to settle."""
    from remit.core.triage_kinds import TriageKind
    from remit.core.triage_rules import Role
    from remit.service.reading.items import find
    from remit.service.reading.triage import Wanted
    from remit.service.reading.triage import triage_list as records

    _known("--kind", kind, [each.value for each in TriageKind])
    _known("--owner", owner, [each.value for each in Role])
    older_us = 0
    if older:
        from remit.surfaces.cli.working import duration_ms

        older_us = duration_ms("--older", older) * 1_000
    with session.reading() as tx:
        name = required(find(tx, item)) if item else ""
        wanted = Wanted(not every, kind, owner, name, run, older_us)
        return Answer(records(tx, limit=bound(limit), wanted=wanted))


def triage_show(session: Session, *, record: str) -> Answer:
    """``triage show``: one record whole, with what became of it."""
    from remit.core.facts import Triage
    from remit.service.reading.triage import triage_record

    with session.reading() as tx:
        found = tx.load([("triage", record)])["triage", record] if record else None
        if not isinstance(found, Triage):
            raise stop(
                Code.TRIAGE_UNKNOWN,
                f"there is no triage record {record!r}",
                "see what there is with 'remit triage list --all'",
                record=record,
            )
        shown = triage_record(tx, found, whole=True)
        return Answer({"records": [shown], "total": 1, "truncated": False})


def triage_kinds(_session: Session, *, kind: str = "") -> Answer:
    """``triage kinds``: the table of kinds, or one of them."""
    from remit.core.triage_kinds import TriageKind
    from remit.service.reading.triage import kinds

    _known("KIND", kind, [each.value for each in TriageKind])
    return Answer(kinds(kind))


def _known(option: str, found: str, known: list[str]) -> None:
    if found and found not in known:
        raise stop(
            Code.BAD_INPUT,
            f"{option} is {found!r}, expected one of {', '.join(known)}",
            "correct it and repeat",
        )
