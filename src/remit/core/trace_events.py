"""Events of traceability: what people say of links between records.

A link itself follows from the records; only a judgement about one is an event of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.events import Event, event


@event("link")
@dataclass(frozen=True, slots=True)
class LinkCleared(Event):
    """Somebody looked at a suspect link and found that both ends still belong together.

    It holds for exactly these two digests. ``upper`` and ``lower`` are the ids of the ends,
    ``plan_revision_id`` is the revision in force at which it was looked at.
    """

    plan_revision_id: str
    upper_kind: str
    upper: str
    upper_digest: str
    lower_kind: str
    lower: str
    lower_digest: str
    reason: str
    text_ref: str
