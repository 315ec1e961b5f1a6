"""Whether a command may open a triage record: its kind, where the item stands, and its evidence.

A holder that gives up and anybody who puts an item aside are asked the same (INV-19): a kind that rests
on what the ledger itself found is opened by no command, a kind is opened only from where it can come
about, and a record without its evidence is refused with what is missing. What only a human may say of a
record is asked here too, whether the record is settled by itself or by closing its item.
"""

from __future__ import annotations

from typing import Final

from remit.core.claims import shipped_by
from remit.core.decide.asking import bad, human_only
from remit.core.facts import Item, Triage
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.core.triage import CLOSING, Resolution, TriageKind, origin_of
from remit.core.triage_records import Evidence
from remit.core.triage_rules import RULES
from remit.core.triage_shapes import faults
from remit.core.view import Draft

DECLINED: Final = "code:DECLINED"
"""What a refusal says that names no code of its own."""

_CLOSED_BY: Final = {outcome: how for how, outcome in CLOSING.items()}


def evidence_for(
    draft: Draft, item: Item, kind_name: str, entries: tuple[str, ...]
) -> Evidence | Refused:
    """The evidence of a record that a command opens, or why it may not.

    Refuses ``TRIAGE_KIND_REFUSED`` and ``TRIAGE_EVIDENCE``.
    """
    kinds = [kind.value for kind in TriageKind]
    if kind_name not in kinds:
        return bad("triage kind", kind_name, "one of " + ", ".join(kinds))
    kind = TriageKind(kind_name)
    refused = _misplaced(draft, item, kind)
    if refused is not None:
        return refused
    if kind is TriageKind.REFUSAL and not any(e.startswith("code:") for e in entries):
        entries = (DECLINED, *entries)
    wrong = faults(kind, entries)
    if not wrong:
        return Evidence(kind, entries)
    return Refused(
        Code.TRIAGE_EVIDENCE,
        f"cannot put {item.id} aside as {kind}: {'; '.join(wrong[:10])}",
        f"give each field as NAME=VALUE with --evidence; 'remit triage kinds {kind}' names them",
        {"item": item.id, "kind": kind.value, "faults": wrong[:50]},
    )


def may_settle(draft: Draft, record: Triage, how: Resolution) -> Refused | None:
    """Refuse an agent or a service what only a human may say of a record of this kind."""
    if how not in RULES[TriageKind(record.kind)].human:
        return None
    return human_only(draft, f"settle {record.id} ({record.kind}) by {how}")


def may_close(draft: Draft, item: Item, outcome: str) -> Refused | None:
    """The same of every open record of an item that is closed by its outcome."""
    how = _CLOSED_BY.get(outcome, Resolution.CANCEL)
    for name in item.triage:
        record = draft.get("triage", name)
        refused = may_settle(draft, record, how) if isinstance(record, Triage) else None
        if refused is not None:
            return refused
    return None


def _misplaced(draft: Draft, item: Item, kind: TriageKind) -> Refused | None:
    rule = RULES[kind]
    origin = Status.SHIPPED if shipped_by(draft, item) else origin_of(item)
    if not rule.core and origin in rule.origins:
        return None
    if rule.core:
        found = "the ledger itself opens such records, from what it found"
    else:
        found = f"it is {item.status}, expected " + ", ".join(
            s for s in Status if s in rule.origins
        )
    return Refused(
        Code.TRIAGE_KIND_REFUSED,
        f"cannot put {item.id} aside as {kind}: {found}",
        "say what you saw with a kind that fits; 'remit triage kinds' lists them",
        {"item": item.id, "kind": kind.value, "status": item.status.value},
    )
