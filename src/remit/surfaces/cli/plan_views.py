"""Plans as they stand on the ledger: all of them, one with its records, one as a file.

Nothing here loads the command-line framework.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from remit.surfaces.cli.answers import Answer
from remit.surfaces.cli.plan_files import (
    LISTS,
    bundle_in,
    counts,
    free,
    is_file,
    on_ledger,
    write_text,
)
from remit.surfaces.cli.plan_reads import check
from remit.surfaces.cli.session import Session, required

if TYPE_CHECKING:
    from remit.core.facts import Planned, PlanRevision
    from remit.core.planning.bundle import Record
    from remit.service.proposing import Proposed

MOST_PLANS: Final = 10_000
"""Plans of one ledger that are looked at."""


def listed(session: Session, *, limit: int = 50) -> Answer:
    """``plan list``: the plans of a ledger."""
    from remit.core.facts import PlanRevision

    with session.reading() as tx:
        ids = tx.names("plan", "", MOST_PLANS)
        facts = tx.load([("plan", name) for name in ids]).values()
    plans = [_told(fact) for fact in facts if isinstance(fact, PlanRevision)]
    shown = plans[:limit] if limit else plans
    return Answer({"plans": shown, "total": len(plans), "truncated": len(shown) < len(plans)})


def _told(fact: PlanRevision) -> dict[str, Any]:
    return {
        "id": fact.id,
        "plan": fact.label,
        "revision": f"{fact.id}@{fact.revision}",
        "digest": fact.digest,
        "goal": fact.goal_revision,
        "counts": dict(zip(("goals", *LISTS), fact.counts, strict=False)),
        "decisions": list(fact.decisions),
        "shut": list(fact.shut),
        "closing_seq": fact.closing_seq,
        "open": fact.open is not None,
    }


def show(session: Session, *, name: str) -> Answer:
    """``plan show``: a plan with its records, and what keeps gates shut; of the ledger, or a file's."""
    from remit.core.planning.difference import name_of
    from remit.service.planned import entries, read_plan
    from remit.service.proposing import proposed_on

    if is_file(name):
        bundle = bundle_in(name)
        with_problems = check(session, file=name).data
        head = {"id": "", "open": False, "shut": []} | dict(with_problems)
        return Answer(head | {"records": [_record(*name_of(r), r) for r in bundle.records()]})
    with session.reading() as tx:
        bundle = required(read_plan(tx, name))
        known = entries(tx, name)
        proposed: Proposed = required(proposed_on(tx, bundle))
    assert known.plan is not None
    records = [
        _record(*named, record, known.here[named])
        for record in bundle.records()
        for named in [name_of(record)]
    ]
    problems = [
        {
            "code": str(f.code), "kind": f.kind, "label": f.label, "path": f.field,
            "message": f.message, "gate": str(f.gate), "blocking": f.blocking,
        }
        for f in proposed.findings
    ]  # fmt: skip
    found = {"total": len(problems), "truncated": False, "problems": problems, "records": records}
    return Answer(_told(known.plan) | found)


def _record(kind: str, label: str, record: Record, known: Planned | None = None) -> dict[str, Any]:
    from remit.core.planning.bundle import record_digest

    return {
        "kind": kind,
        "label": label,
        "id": known.id if known else "",
        "revision": known.revision if known else 0,
        "digest": known.digest if known else record_digest(record),
        "text": _text(record),
    }


def _text(record: Record) -> str:
    """One line that says what a record is about."""
    for name in ("objective", "statement", "title", "boundary"):
        if hasattr(record, name):
            return str(getattr(record, name)).partition("\n")[0]
    return ", ".join(record.requirements) if hasattr(record, "requirements") else ""


def export(session: Session, *, name: str, out: str = "", force: bool = False) -> Answer:
    """``plan export``: a plan of the ledger as a file that reads back as it is there."""
    from remit.wiring.plans import SCHEMA_FILE, digest, plan_lines

    bundle, revision = on_ledger(session, name)
    text = "".join(plan_lines(bundle, SCHEMA_FILE))
    data = {
        "plan": bundle.name,
        "revision": revision,
        "digest": digest(bundle),
        "counts": counts(bundle),
    }
    if not out:
        return Answer(data | {"text": text})
    free(Path(out), force)
    write_text(Path(out), text)
    return Answer(data | {"path": out})
