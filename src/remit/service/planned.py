"""Plans as they stand on the ledger: which records, by which digests, and what each of them says.

``entries`` answers with one query what an apply has to compare. ``read_plan`` gives back a whole plan
as it was applied; on a snapshot of the past, as it was then. ``base_of`` gives the plan in force while
an apply is open, so that what the change needs is known however often the apply was begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from remit.core.evolve.plans import GONE
from remit.core.facts import Planned, PlanRevision, Row
from remit.core.plan_events import RowRevised
from remit.core.planning.bundle import Bundle, PlanRow, Record
from remit.core.planning.difference import Name, bundle_of
from remit.core.planning.texts import with_texts
from remit.core.refusals import Code, Refused
from remit.ports import ReadTx

CHUNK: Final = 1_000
REDACTED: Final = "[redacted]"
"""What stands where the bytes of a text were erased."""

STREAM: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Entries:
    """The records of a plan on the ledger by kind and label, and those that it has no longer."""

    plan: PlanRevision | None
    here: Mapping[Name, Planned]
    gone: Mapping[Name, Planned]


def plan_fact(tx: ReadTx, name: str) -> PlanRevision | None:
    """A plan by its id or its name."""
    known = tx.load([("plan", name), ("label", f"plan/{name}")])
    found = known["plan", name]
    if found is None:
        carrier = known["label", f"plan/{name}"]
        found = tx.load([("plan", carrier)])["plan", carrier] if isinstance(carrier, str) else None
    return found if isinstance(found, PlanRevision) else None


def entries(tx: ReadTx, name: str) -> Entries:
    """Every record of a plan with its digest; nothing where there is no such plan."""
    plan = plan_fact(tx, name)
    here: dict[Name, Planned] = {}
    gone: dict[Name, Planned] = {}
    if plan is not None:
        prefix = f"{plan.id}/"
        after = prefix
        while names := [n for n in tx.names("planned", after, CHUNK) if n.startswith(prefix)]:
            found = tx.load([("planned", n) for n in names])
            for (_, each), fact in found.items():
                if isinstance(fact, Planned):
                    _, kind, label = each.split("/", 2)
                    to = gone if kind.startswith(GONE) else here
                    to[kind.removeprefix(GONE), label] = fact
            after = names[-1]
    return Entries(plan, here, gone)


def read_plan(tx: ReadTx, name: str) -> Bundle | Refused:
    """A plan as it stands on this snapshot, its records sorted by label.

    While an apply is open it is what has been applied so far. Refuses ``PLAN_UNKNOWN``, and
    ``PLAN_DIFFERS`` where the records make no whole plan yet.
    """
    known = entries(tx, name)
    if known.plan is None:
        return _unknown(name)
    names = sorted(known.here)
    found = [_record for _, _record in records(tx, {n: known.here[n] for n in names})]
    try:
        return bundle_of(known.plan.label, found)
    except ValueError as fault:
        return Refused(
            Code.PLAN_DIFFERS,
            f"cannot read {known.plan.id}: {fault}",
            "an apply of it has not ended: run the same apply again",
            {"plan": known.plan.id},
        )


def _unknown(name: str) -> Refused:
    return Refused(
        Code.PLAN_UNKNOWN,
        f"there is no plan {name[:80]!r}",
        "apply one with 'remit plan apply FILE'",
        {"plan": name[:80]},
    )


def records(tx: ReadTx, wanted: Mapping[Name, Planned]) -> Iterator[tuple[Name, Record]]:
    """Records as their newest events hold them, with long texts put back."""
    pairs = iter(wanted.items())
    while part := list(islice(pairs, CHUNK)):
        events = tx.at_seq([planned.seq for _, planned in part])
        rows = tx.load([("row", p.id) for (kind, _), p in part if kind == "row"])
        blobs = tx.blobs([ref for e in events.values() for _, ref in _texts(e.event)])
        for name, planned in part:
            record = _whole(events[planned.seq].event, blobs)
            row = rows.get(("row", planned.id))
            if isinstance(record, PlanRow) and isinstance(row, Row):
                record = replace(record, waived=row.waived)
            yield name, record


def _texts(event: Any) -> Iterable[tuple[str, str]]:
    return getattr(event, "texts", ())


def _whole(event: Any, blobs: Mapping[str, bytes]) -> Record:
    record: Record = event.record
    texts = {path: blobs[ref].decode() if ref in blobs else REDACTED for path, ref in _texts(event)}
    return with_texts(record, texts) if texts else record


def base_of(tx: ReadTx, known: Entries, new: Bundle, digests: Mapping[Name, str]) -> Bundle | None:
    """The plan in force, as an apply of ``new`` finds it; None before the first revision.

    What the new plan has as well is taken from it, since equal digests mean equal records.
    """
    plan = known.plan
    if plan is None or not plan.revision:
        return None
    named: dict[Name, Record] = dict(zip(digests, new.records(), strict=True))
    found: dict[Name, Record] = {}
    stale: dict[Name, Planned] = {}
    moved: dict[Name, Planned] = {}
    for name, entry in known.here.items():
        if entry.revision > plan.revision:
            moved[name] = entry
        elif digests.get(name) == entry.digest:
            found[name] = named[name]
        else:
            stale[name] = entry
    found.update(records(tx, stale))
    moved |= {n: e for n, e in known.gone.items() if e.revision > plan.revision and n not in found}
    for name, entry in moved.items():
        before = _before(tx, entry.id, plan.closing_seq)
        if before is not None:
            found[name] = before
    return bundle_of(plan.label, found.values())


def _before(tx: ReadTx, carrier: str, seq: int) -> Record | None:
    """A record as it was just after an event, followed back to what carried it then."""
    seen: set[str] = set()
    while carrier and carrier not in seen:
        seen.add(carrier)
        events = tx.stream(carrier, 0, STREAM)
        held = [r.event for r in events if r.seq <= seq and hasattr(r.event, "record")]
        held = [e for e in held if not isinstance(e.record, str)]
        if held:
            last = held[-1]
            record = _whole(last, tx.blobs([ref for _, ref in _texts(last)]))
            revised = [r.event for r in events if r.seq <= seq and isinstance(r.event, RowRevised)]
            if revised and isinstance(record, PlanRow):
                record = replace(record, waived=revised[-1].waived)
            return record
        first = events[0].event if events else None
        carrier = getattr(first, "predecessor", "") if events else ""
    return None
