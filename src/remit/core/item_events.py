"""The events of a work item's own stream.

Together they are all that an item's state is folded from. Those with ``transition_id``, ``from_``
and ``to`` are the twelve moves of ``status``; the others record evidence and change no status. A
dependency's news reaches its dependents as events on the dependents' own streams, so that each
item folds alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.checks import Check
from remit.core.events import Event, event
from remit.core.facts import Lease
from remit.core.work_events import (
    CompletionReported,
    IntegrationTested,
    ItemClosed,
    ItemReopened,
    ItemTriaged,
    LateReportRecorded,
    ResultsMarkedStale,
    ReviewApproved,
    RowResultRecord,
    ShipObserved,
    SuccessorLinked,
    TriageResolved,
    VerificationRecorded,
)

__all__ = [
    "CompletionReported",
    "DependenciesSet",
    "DependencyAdded",
    "DependencyRemoved",
    "DependencySettled",
    "ImportConfirmed",
    "IntegrationTested",
    "ItemAdmitted",
    "ItemClosed",
    "ItemCreated",
    "ItemHeld",
    "ItemImported",
    "ItemReopened",
    "ItemRevised",
    "ItemTriaged",
    "LateReportRecorded",
    "LeaseExpired",
    "LeaseGranted",
    "LeaseReleased",
    "LeaseRenewed",
    "NoteAdded",
    "ProgressReported",
    "ResultsMarkedStale",
    "ReviewApproved",
    "RowResultRecord",
    "RowsAttached",
    "ShipObserved",
    "SuccessorLinked",
    "TriageResolved",
    "VerdictRecorded",
    "VerificationRecorded",
]


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class ItemCreated(Event):
    """An item exists, in draft, with the goal, requirements and rows that were drafted with it."""

    kind: str
    title: str
    body: str
    text_ref: str
    priority: int
    work_class: str
    tenant: str
    alias: str
    goal: str
    requirement_refs: tuple[str, ...]
    verification_plan_refs: tuple[str, ...]
    scope: tuple[str, ...]
    artifacts: tuple[str, ...]
    rule: str
    ambiguous: bool


@event("item")
@dataclass(frozen=True, slots=True)
class ItemImported(Event):
    """A row of a foreign backlog became an item, in draft or in closed as *imported*.

    ``foreign_status`` is what the source called it. ``unconfirmed`` says that somebody may be at
    work on it elsewhere. ``gate`` is what keeps it in draft beside the open import. ``satisfies`` and ``failed`` say what a closed one means to dependents.
    """

    import_id: str
    row: int
    text_ref: str
    priority: int
    work_class: str
    tenant: str
    alias: str
    goal: str
    requirement_refs: tuple[str, ...]
    rule: str
    gate: str
    digest: str
    foreign_status: str
    unconfirmed: bool
    closed: bool
    satisfies: bool
    failed: bool
    outcome: str
    owner: str
    foreign_created_at: int
    foreign_closed_at: int
    edges: tuple[tuple[str, str, str, str, bool], ...]
    links: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]


@event("item")
@dataclass(frozen=True, slots=True)
class ItemRevised(Event):
    """A new revision of the brief while nobody works on it; earlier ones stay on the ledger.

    With ``source_digest`` it comes from the item's source, and says how the source has it now.
    """

    revision: int
    title: str
    body: str
    text_ref: str
    priority: int
    scope: tuple[str, ...]
    artifacts: tuple[str, ...]
    source_digest: str
    foreign_status: str
    unconfirmed: bool


@event("item")
@dataclass(frozen=True, slots=True)
class RowsAttached(Event):
    """Rows were registered for an item after its creation; ``clears`` drops its drafting mark."""

    verification_plan_refs: tuple[str, ...]
    clears: bool


@event("item")
@dataclass(frozen=True, slots=True)
class ImportConfirmed(Event):
    """Somebody stated that nobody works on the imported item elsewhere."""

    reason: str


@event("item")
@dataclass(frozen=True, slots=True)
class NoteAdded(Event):
    """A remark; long text is in the blob ``text_ref``."""

    text: str
    text_ref: str


@event("item")
@dataclass(frozen=True, slots=True)
class DependenciesSet(Event):
    """An import gave an item other edges than it had, all at once.

    Each edge is (target, kind, state, via, inner), here and in ``ItemImported``.
    """

    edges: tuple[tuple[str, str, str, str, bool], ...]


@event("item")
@dataclass(frozen=True, slots=True)
class DependencyAdded(Event):
    """The item waits on another from here on."""

    target: str
    kind: str
    state: str
    via: str
    inner: bool


@event("item")
@dataclass(frozen=True, slots=True)
class DependencyRemoved(Event):
    """The item no longer waits on another."""

    target: str
    kind: str
    reason: str


@event("item")
@dataclass(frozen=True, slots=True)
class DependencySettled(Event):
    """News of what the item waits on: the edge's new state, and the item that it is judged by."""

    target: str
    kind: str
    state: str
    via: str
    inner: bool
    resolved: str


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class VerdictRecorded(Event):
    """Admission looked again and changed no status: the gate, reason or trigger is another one."""

    verdict: str
    reason: str
    gate: str
    owner: str
    trigger: str
    checks: tuple[Check, ...]


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class ItemAdmitted(Event):
    """T01: permission to join eligible demand, nothing more."""

    transition_id: str
    from_: str
    to: str
    verdict: str
    reason: str
    rank: int
    policy_revision: int
    checks: tuple[Check, ...]


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class ItemHeld(Event):
    """T02: a HOLD with a typed reason, an owner and a trigger (INV-3)."""

    transition_id: str
    from_: str
    to: str
    verdict: str
    reason: str
    owner: str
    trigger: str
    checks: tuple[Check, ...]


@event("item", "lease")
@quick
@dataclass(frozen=True, slots=True)
class LeaseGranted(Event):
    """T03: one actor holds the item until the lease expires."""

    transition_id: str
    from_: str
    to: str
    lease: Lease
    counted: int
    policy_revision: int
    checks: tuple[Check, ...]


@event("item", "lease")
@dataclass(frozen=True, slots=True)
class LeaseRenewed(Event):
    """The same attempt and fence, longer."""

    lease: Lease


@event("item", "lease")
@quick
@dataclass(frozen=True, slots=True)
class LeaseReleased(Event):
    """T04 by the holder: handed back before a result.

    ``returned`` says that the attempt is given back to the count (its number is not).
    """

    transition_id: str
    from_: str
    to: str
    lease: Lease
    reason: str
    returned: bool
    hold_reason: str
    trigger: str


@event("item", "lease")
@dataclass(frozen=True, slots=True)
class LeaseExpired(Event):
    """T04 by time: the lease ended; nothing is known of its worker."""

    transition_id: str
    from_: str
    to: str
    lease: Lease
    hold_reason: str
    trigger: str


@event("item", "report:progress")
@dataclass(frozen=True, slots=True)
class ProgressReported(Event):
    """What the holder says of its work: a claim, not evidence."""

    lease: str
    fence: int
    text: str
    text_ref: str
