"""What is asked of a plan bundle before it is applied: is it sound, what would it change, its graph.

Each function answers with the interface's object alone; ``plans`` adds what people see. Nothing here
loads the command-line framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from remit.core.refusals import Code
from remit.surfaces.cli.answers import Answer, Stop
from remit.surfaces.cli.inputs import read_bytes
from remit.surfaces.cli.plan_files import (
    at_once,
    bundle_in,
    bundle_of,
    counts,
    has_ledger,
    sound,
    write_text,
)
from remit.surfaces.cli.session import Session, required

if TYPE_CHECKING:
    from remit.core.planning.bundle import Bundle
    from remit.core.planning.check import Finding
    from remit.core.planning.difference import Changed, Difference, FieldChange
    from remit.service.proposing import Proposed
    from remit.wiring.plans import Judged

USAGE: Final = 2
REFUSED: Final = 3


def proposed_in(session: Session, bundle: Bundle) -> Proposed:
    """A plan beside what the ledger has of it. Raises ``Stop`` where nothing can be said of it."""
    from remit.service.proposing import proposed_on

    with session.reading() as tx:
        found: Proposed = required(proposed_on(tx, bundle))
    return found


class Asked:
    """Asks a ledger for findings, and keeps what else it said."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.proposed: Proposed | None = None

    def __call__(self, bundle: Bundle) -> tuple[Finding, ...]:
        """The findings about a plan."""
        self.proposed = proposed_in(self.session, bundle)
        return self.proposed.findings


@at_once()
def check(session: Session, *, file: str, limit: int = 0) -> Answer:
    """``plan check``: every problem of a bundle; 2 where the file is at fault, 3 where the plan is."""
    from remit.core.planning.bundle import proposal_digest
    from remit.wiring import shown
    from remit.wiring.plans import FILE_LIMIT_BYTES, digest, judge

    data = read_bytes(Path(file), FILE_LIMIT_BYTES)
    asked = Asked(session) if has_ledger(session) else None
    judged = judge(data, asked) if asked else judge(data)
    bundle = judged.bundle
    proposed = asked.proposed if asked else None
    known = proposed.known.plan if proposed else None
    whole = bundle is not None and not judged.malformed
    found = {
        "file": file,
        "plan": bundle.name if bundle else "",
        "ledger": shown(session.url) if asked else "",
        "revision": f"{known.id}@{known.revision}" if known else "",
        "in_force": proposed is not None and proposed.in_force,
        "digest": digest(bundle) if bundle and whole else "",
        "proposal_digest": proposal_digest(bundle) if bundle and whole else "",
        "counts": counts(bundle) if bundle else {},
        **problems_of(judged, limit),
    }
    status = USAGE if judged.malformed else REFUSED if judged.blocking else 0
    return Answer(found, exit_status=status)


def problems_of(judged: Judged, limit: int = 0) -> dict[str, Any]:
    """The problems of a bundle, how many there are, and whether an apply would take it all the same."""
    from remit.service.proposing import DRAFTED

    problems = [problem.as_data() for problem in judged.problems]
    part = problems[:limit] if limit else problems
    stops = [p for p in judged.problems if p.blocking and p.code not in DRAFTED]
    return {
        "problems": part,
        "total": len(problems),
        "truncated": len(part) < len(problems),
        "blocking": sum(problem["blocking"] for problem in problems),
        "admissible": judged.bundle is not None and not stops,
    }


@at_once()
def diff(session: Session, *, file: str, other: str = "") -> Answer:
    """``plan diff``: what leads from one plan to another, and the human decisions that this needs."""
    from remit.core.planning.authority import needed
    from remit.core.planning.bundle import proposal_digest
    from remit.core.planning.difference import difference
    from remit.wiring.plans import digest

    old: Bundle | None
    if other:
        (old, revision), new = bundle_of(session, file), bundle_in(other)
        needs = needed(old, new)
    else:
        new = bundle_in(file)
        proposed = proposed_in(session, new)
        old, needs, known = proposed.base, proposed.needs, proposed.known.plan
        revision = f"{known.id}@{known.revision}" if known else ""
    found = difference(old, new)
    data = {
        "plan": new.name,
        "revision": revision,
        "old": digest(old) if old else "",
        "digest": digest(new),
        "proposal_digest": proposal_digest(new),
        "empty": found.empty,
        "added": [_named(each.kind, each.label) for each in _added(found)],
        "changed": [
            _named(each.kind, each.label) | {"fields": [_change(change) for change in each.fields]}
            for each in found.changed
        ],
        "removed": [_named(kind, label) for kind, label in found.removed],
        "renamed": _change(found.name) if found.name and old else None,
        "needs": [asdict(need) for need in needs],
        "problems": [],
    }
    return Answer(data)


@at_once()
def applied(session: Session, file: str, report: Callable[[str, int, int], None]) -> dict[str, Any]:
    """``plan apply``: put the plan of a file in force. Raises ``Stop`` where it is refused."""
    from remit.core.refusals import Refused
    from remit.service.planning import apply_plan
    from remit.wiring.plans import FILE_LIMIT_BYTES, judged, read_plan

    path = Path(file)
    reading = read_plan(read_bytes(path, FILE_LIMIT_BYTES))
    bundle = sound(path, reading)
    found = apply_plan(session.operations, bundle, progress=report)
    if isinstance(found, Refused):
        if found.code is Code.PLAN_INADMISSIBLE:
            placed = problems_of(judged(reading, Asked(session)))
            found = replace(found, details={**found.details, **placed})
        raise Stop(found)
    return {
        "file": file,
        "plan": found.label,
        "id": found.plan,
        "revision": found.revision_id,
        "digest": found.digest,
        "proposal_digest": found.proposal_digest,
        "changed": found.changed,
        "added": [_named(*name) for name in found.added],
        "revised": [_named(*name) for name in found.revised],
        "removed": [_named(*name) for name in found.removed],
        **problems_of(judged(reading, lambda _: found.findings)),
    }


def _added(found: Difference) -> list[Changed]:
    from remit.core.planning.difference import Changed, name_of

    return [Changed(*name_of(record), ()) for record in found.added]


def _named(kind: str, label: str) -> dict[str, Any]:
    return {"kind": kind, "label": label}


def _change(change: FieldChange) -> dict[str, Any]:
    return {"field": change.field, "old": _built(change.old), "new": _built(change.new)}


def _built(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def graph(
    session: Session, *, file: str, form: str = "text", around: str = "", out: str = ""
) -> Answer:
    """``plan graph``: the dependency graph as a drawing."""
    from remit.wiring.plans import digest, draw

    bundle, revision = bundle_of(session, file)
    text, nodes, arrows = draw(bundle, form, around)
    data: dict[str, Any] = {
        "plan": bundle.name,
        "revision": revision,
        "digest": digest(bundle),
        "format": form,
        "nodes": nodes,
        "edges": arrows,
        "problems": [],
    }
    if out:
        write_text(Path(out), text)
        return Answer(data | {"path": out})
    return Answer(data | {"graph": text})


def schema(session: Session) -> Answer:
    """``plan schema``: the JSON Schema of a bundle's file."""
    from remit.wiring.plans import plan_schema

    return Answer({"schema": plan_schema()})


def lines_of(data: Mapping[str, Any]) -> list[str]:
    """The problems of a check as an editor takes them: file, line, column, what is wrong."""
    return [
        f"{data['file']}:{p['line']}:{p['column']}: {p['path']}: {p['message']}"
        + (f" [{p['code']}]" if p["blocking"] else f" [{p['code']}, advice]")
        for p in data["problems"]
    ]
