"""Decisions on what a holder says of its work: progress, giving it up, and what came too late.

What a holder reports is a claim, and is recorded as one. A report under a fence that is no longer
current changes nothing; it is kept as evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.decide.asking import fenced, find, late_report
from remit.core.decide.putting_aside import evidence_for
from remit.core.facts import Lease
from remit.core.ids import attempt_id
from remit.core.limit_facts import charge_of
from remit.core.limits import misspent, put_over_budget, settle_spend
from remit.core.refusals import Code, Refused
from remit.core.triage import put_aside
from remit.core.view import Draft


def _progress(draft: Draft, cmd: c.ReportProgress) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    late = late_report(cmd.item, cmd.fence, "report:progress", cmd.text, cmd.spent_micros)
    lease = fenced(draft, item, cmd.fence, "report on", late)
    refused = lease if isinstance(lease, Refused) else misspent(cmd.spent_micros)
    if refused is not None or isinstance(lease, Refused):
        return refused
    stops = settle_spend(draft, item, lease.fence, lease.spend_micros, cmd.spent_micros)
    event = e.ProgressReported(lease.id, lease.fence, cmd.text.inline, cmd.text.ref)
    draft.emit("item", item.id, event)
    put_over_budget(draft, item.id, lease.fence, stops)
    return None


def _fail(draft: Draft, cmd: c.FailWork) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    late = late_report(cmd.item, cmd.fence, "fail", cmd.reason, cmd.spent_micros)
    lease = fenced(draft, item, cmd.fence, "give up", late)
    refused = lease if isinstance(lease, Refused) else misspent(cmd.spent_micros)
    if refused is not None or isinstance(lease, Refused):
        return refused
    evidence = evidence_for(draft, item, cmd.triage_kind, cmd.evidence)
    if isinstance(evidence, Refused):
        return evidence
    stops = settle_spend(draft, item, lease.fence, lease.spend_micros, cmd.spent_micros)
    put_aside(draft, item, evidence, reason=cmd.reason.inline, text_ref=cmd.reason.ref)
    put_over_budget(draft, item.id, lease.fence, stops)
    return None


def _late(draft: Draft, cmd: c.RecordLateReport) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if draft.ask.actor not in item.holders:
        return Refused(
            Code.LEASE_OF_ANOTHER,
            f"cannot record a late report on {item.id} as {draft.ask.actor}: it never held a lease",
            "leave a note instead: 'remit note'",
            {"item": item.id},
        )
    event = e.LateReportRecorded(
        cmd.fence,
        cmd.phase,
        cmd.branch,
        cmd.head,
        cmd.reason,
        cmd.text.inline,
        cmd.text.ref,
        cmd.spent_micros,
    )
    draft.emit("item", cmd.item, event)
    known = draft.get("charge", charge_of(item.id, cmd.fence))
    if isinstance(known, int) and misspent(cmd.spent_micros) is None:
        stops = settle_spend(draft, item, cmd.fence, known, cmd.spent_micros)
        put_over_budget(draft, item.id, cmd.fence, stops)
    return None


def attempt_of(draft: Draft, lease: Lease) -> str:
    """The id of the attempt that a lease began."""
    return attempt_id(draft.ledger.epoch, lease.item, lease.attempt)


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.ReportProgress: _progress,
    c.FailWork: _fail,
    c.RecordLateReport: _late,
}
