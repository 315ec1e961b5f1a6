"""Triage records for people and programs: what was put aside, on which evidence, and what settles it.

Evidence is laid out by the shape of its kind, so that every surface shows the same fields. What an older
version wrote and no shape knows is a note. The ways that are shown are those that the core would take
now, each with the exact command; where an effect has to be looked up first there is none but that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from remit.core.effect_facts import OPEN_EFFECT, Effect
from remit.core.effect_states import standing
from remit.core.events import Recorded
from remit.core.facts import LEDGER, Item, Ledger, Triage
from remit.core.item_events import ItemClosed, ItemTriaged, TriageResolved, VerificationRecorded
from remit.core.status import Status
from remit.core.triage_kinds import Resolution, TriageKind
from remit.core.triage_records import Evidence, contradicted, scope_changed, verifier_gap
from remit.core.triage_rules import EFFECT_KINDS, RULES, Role, ways_of
from remit.core.triage_shapes import SHAPES, laid_out, notes
from remit.ports import ReadTx
from remit.service.reading import rendering

RECORDS: Final = 1_000_000
"""Most triage records that are counted."""

HISTORY: Final = 200
"""Most events of its item that a record is shown with."""

_CLOSING: Final = (Resolution.SUPERSEDE, Resolution.CANCEL, Resolution.FAIL)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records a list shows; empty fields ask for nothing.

    ``older_us`` is the least age in microseconds. ``run`` finds what a run opened, by its commands.
    """

    open_only: bool = True
    kind: str = ""
    owner: str = ""
    item: str = ""
    run: str = ""
    older_us: int = 0


def triage_list(
    tx: ReadTx, *, open_only: bool = True, limit: int, wanted: Wanted | None = None
) -> dict[str, Any]:
    """Triage records, oldest first; a ``limit`` of 0 means all."""
    wanted = wanted or Wanted(open_only)
    names = tx.triage(open_only=wanted.open_only, limit=RECORDS)
    if wanted != Wanted(wanted.open_only):
        names = _fitting(tx, names, wanted)
    shown = names[:limit] if limit else names
    facts = tx.load([("triage", name) for name in shown])
    found = [triage_record(tx, f) for f in facts.values() if isinstance(f, Triage)]
    return {"records": found, "total": len(names), "truncated": len(names) > len(shown)}


def _fitting(tx: ReadTx, names: list[str], wanted: Wanted) -> list[str]:
    facts = [f for f in tx.load([("triage", n) for n in names]).values() if isinstance(f, Triage)]
    facts = [
        f
        for f in facts
        if wanted.kind in ("", f.kind)
        and wanted.item in ("", f.item)
        and wanted.owner in ("", RULES[TriageKind(f.kind)].owner.value)
    ]
    if wanted.older_us or wanted.run:
        opened = tx.at_seq([f.opened_seq for f in facts])
        latest = tx.now() - wanted.older_us
        facts = [f for f in facts if _opened_so(opened[f.opened_seq], wanted.run, latest)]
    return [f.id for f in facts]


def _opened_so(opened: Recorded, run: str, latest: int) -> bool:
    """Commands of a run are named after it: ``RUN-2/W-7/1/integrated``."""
    return opened.at <= latest and (not run or opened.command_id.startswith(f"{run}/"))


def triage_record(tx: ReadTx, record: Triage, *, whole: bool = False) -> dict[str, Any]:
    """A record: its evidence by the shape of its kind, who owns it, and what settles it now.

    ``whole`` adds how it came about and what became of it: the item's events since.
    """
    opened = tx.at_seq([record.opened_seq])[record.opened_seq]
    payload = rendering.plain(opened.event)
    kind = TriageKind(record.kind)
    rule = RULES[kind]
    item = tx.load([("item", record.item)])["item", record.item]
    evidence = _evidence(opened, kind, item)
    found = _findings(payload) if isinstance(opened.event, VerificationRecorded) else []
    ways = _ways(tx, record, kind, item) if record.open and isinstance(item, Item) else []
    shown = {
        "id": record.id,
        "item": record.item,
        "kind": record.kind,
        "meaning": rule.meaning,
        "owner": rule.owner.value,
        "open": record.open,
        "resolution": record.resolution or None,
        "opened_at": rendering.rfc3339(opened.at),
        "opened_by": opened.actor,
        "seq": record.opened_seq,
        "origin": payload.get("from") if payload.get("from") != Status.TRIAGED else None,
        "evidence": found or payload.get("evidence", []),
        "fields": _fields(evidence),
        "notes": notes(evidence.kind, evidence.entries),
        "resolutions": [way["resolution"] for way in ways if way["resolution"]]
        if record.open
        else payload.get("resolutions", []),
        "ways": ways,
        "next": rule.next if record.open else None,
        "reason": payload.get("reason", "") or "; ".join(found),
        "payload": payload,
    }
    return shown | (_history(tx, record) if whole else {})


def _evidence(opened: Recorded, kind: TriageKind, item: Any) -> Evidence:
    event = opened.event
    if isinstance(event, ItemTriaged):
        return Evidence(kind, event.evidence)
    assert isinstance(event, VerificationRecorded), "nothing else opens a record"
    if kind is TriageKind.SCOPE_CHANGED:
        work = item.work if isinstance(item, Item) else None
        approved = f"as approved at seq {work.review_seq}" if work is not None else "as approved"
        new = f"as registered at seq {opened.seq}"
        return scope_changed(old=approved, new=new, changed=event.changed)
    bad = [r for r in event.results if r.result != "verified"]
    rows, logs = [r.row for r in bad], [r.log for r in bad if r.log]
    if kind is TriageKind.CONTRADICTED:
        told = [r.row for r in bad if r.result == "contradicted"]
        return contradicted(commit=event.observed_commit_sha, row=told or rows, log=logs)
    return verifier_gap(
        commit=event.observed_commit_sha,
        row=rows,
        missing=event.missing_artifacts,
        outside=event.out_of_scope,
        diff=event.artifact_diff,
        log=logs,
    )


def _fields(evidence: Evidence) -> list[dict[str, Any]]:
    return [
        {
            "name": field.name,
            "form": field.form.name.lower(),
            "meaning": field.meaning,
            "values": values,
            "more": more,
        }
        for field, values, more in laid_out(evidence.kind, evidence.entries)
    ]


def _ways(tx: ReadTx, record: Triage, kind: TriageKind, item: Item) -> list[dict[str, Any]]:
    """Each resolution that would be taken now, whether only a human may give it, and its command."""
    effect = _unknown_effect(tx, kind, item)
    if effect:
        close = f"remit close {item.id} --outcome cancelled --decision D-N --reason WHY"
        return [_way("", f"remit reconcile {effect}"), _way("", close, human=True)]
    found = []
    for way in ways_of(kind, item.triaged_from, shipped_by(tx, item)):
        more = " --successor ID" if way is Resolution.SUPERSEDE else ""
        command = f"remit triage resolve {record.id} {way}{more} --reason WHY"
        found.append(_way(way.value, command, human=way in RULES[kind].human))
    return found


def _way(resolution: str, command: str, *, human: bool = False) -> dict[str, Any]:
    closes = resolution in _CLOSING or command.startswith("remit close")
    return {"resolution": resolution, "human": human, "closes": closes, "command": command}


def _unknown_effect(tx: ReadTx, kind: TriageKind, item: Item) -> str:
    """The effect that has to be looked up before anybody may settle the record; or empty."""
    if kind not in EFFECT_KINDS:
        return ""
    intent = tx.load([("intent", item.id)])["intent", item.id]
    name = intent.envelope.effect_id if intent is not None else ""  # type: ignore[union-attr]  # an intent
    facts = tx.load([("effect", name), LEDGER])
    effect, ledger = facts["effect", name], facts[LEDGER]
    if not isinstance(effect, Effect) or effect.item != item.id:
        return ""
    epoch = ledger.epoch if isinstance(ledger, Ledger) else 0
    return name if standing(effect, epoch) in OPEN_EFFECT else ""


def shipped_by(tx: ReadTx, item: Item) -> str:
    """The commit or the observation that made an item shipped for good."""
    if item.work is not None and item.work.shipped:
        return item.work.shipped
    intent = tx.load([("intent", item.id)])["intent", item.id] if item.kind == "effect" else None
    return getattr(intent, "shipped", "")


def _findings(payload: dict[str, Any]) -> list[str]:
    """What a verification found missing, each in a few words."""
    rows = [f"{r['row']} {r['reason']}" for r in payload["results"] if r["result"] != "verified"]
    missing = [f"missing artifact {path}" for path in payload["missing_artifacts"]]
    return [*rows, *missing, *(f"out of scope {path}" for path in payload["out_of_scope"])]


def _history(tx: ReadTx, record: Triage) -> dict[str, Any]:
    """The event before it, and all of its item's since; ``settled`` is the one that ended it."""
    opened = tx.at_seq([record.opened_seq])[record.opened_seq]
    events = tx.stream(opened.stream, max(0, opened.version - 2), HISTORY)
    settled = next((r for r in events if r.seq > opened.seq and _settles(r, record.id)), None)
    told: dict[str, Any] | None = None
    if settled is not None:
        payload = rendering.plain(settled.event)
        told = {
            "seq": settled.seq,
            "at": rendering.rfc3339(settled.at),
            "by": settled.actor,
            "resolution": record.resolution,
            "reason": payload.get("reason", ""),
            "to": payload.get("to"),
        }
    last = settled.seq if settled is not None else 0
    shown = [r for r in events if not last or r.seq <= last]
    return {"settled": told, "history": [rendering.event(r) for r in shown]}


def _settles(recorded: Recorded, record: str) -> bool:
    event = recorded.event
    if isinstance(event, ItemClosed):
        return record in event.resolved
    return isinstance(event, TriageResolved) and event.record == record


def kinds(name: str = "") -> dict[str, Any]:
    """The table of kinds: meaning, owner, evidence, resolutions, next step; all, or one."""
    wanted = [kind for kind in TriageKind if name in ("", kind.value)]
    return {"kinds": [kind_row(kind) for kind in wanted], "roles": [role.value for role in Role]}


def kind_row(kind: TriageKind) -> dict[str, Any]:
    """One kind, from the tables of the core."""
    rule, shape = RULES[kind], SHAPES[kind]
    fields = [
        {
            "name": field.name,
            "form": field.form.value,
            "meaning": field.meaning,
            "required": field.least > 0,
            "many": field.most > 1,
        }
        for field in shape.fields
        if not field.own
    ]
    ways = {
        status.value: [way.value for way in ways_of(kind, status, "")]
        for status in Status
        if status in rule.origins
    }
    return {
        "kind": kind.value,
        "meaning": rule.meaning,
        "owner": rule.owner.value,
        "opened_by_ledger_alone": rule.core,
        "fields": fields,
        "any_of": list(shape.any_of),
        "resolutions": ways,
        "human": sorted(way.value for way in rule.human),
        "next": rule.next,
    }
