"""Waivers: whether a row may go unproved, because a human decided so.

A row that is waived counts as waived, never as verified, and only while a decision of the kind
``verification-waiver`` that covers it stands accepted. The plan names the decision; a name alone
waives nothing.
"""

from __future__ import annotations

from remit.core.binding import Get
from remit.core.facts import Row


def waiver_of(get: Get, row: Row, now: int) -> str:
    """The decision that lets a row go unproved at ``now`` (microseconds), or empty."""
    return row.waived if row.waived and accepted(get, row.waived, row, now) else ""


def accepted(get: Get, decision: str, row: Row, now: int) -> bool:
    """Whether this decision is an accepted waiver that covers this row.

    Ledgers hold no decisions yet, so none is: a row that names one has to be proved all the same.
    """
    return False
