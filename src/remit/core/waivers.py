"""Waivers: whether a row may go unproved, because a human decided so.

A row that is waived counts as waived, never as verified, and only while a decision of the kind
``verification-waiver`` that covers it stands accepted. The plan names the decision; a name alone
waives nothing.
"""

from __future__ import annotations

from remit.core.binding import Get
from remit.core.decisions import DecisionKind
from remit.core.facts import PlanRevision, Row
from remit.core.planning.authority import Need
from remit.core.planning.deciding import LedgerDecisions


def waiver_need(label: str) -> Need:
    """What a decision must cover that lets the row of this label go unproved."""
    return Need(
        DecisionKind.WAIVER,
        (f"row/{label}",),
        "it goes unproved",
        ("row", label),
        "waived",
        (),
        kept=True,
    )


def waiver_of(get: Get, row: Row, now: int) -> str:
    """The decision that lets a row go unproved at ``now`` (microseconds), or empty."""
    return row.waived if row.waived and accepted(get, row.waived, row, now) else ""


def accepted(get: Get, decision: str, row: Row, now: int) -> bool:
    """Whether this decision is an accepted waiver that covers this row of its plan."""
    plan = get("plan", row.plan) if row.plan else None
    if not isinstance(plan, PlanRevision):
        return False
    asked = LedgerDecisions(get, plan.proposal, now, plan.id, plan.decisions)
    return not asked.fault(decision, waiver_need(row.label))
