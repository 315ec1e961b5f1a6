"""The events of a work item's own stream.

Together they are all that an item's state is folded from. Those with ``transition_id``, ``from_``
and ``to`` are the twelve moves of ``status``; the others record evidence and change no status. A
dependency's news reaches its dependents as events on the dependents' own streams, so that each
item folds alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.checks import Check
from remit.core.events import Event, event
from remit.core.facts import Lease


@event("item")
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


@event("item", "report:completion")
@dataclass(frozen=True, slots=True)
class CompletionReported(Event):
    """T05: the holder says that it is done and hands in commits; approval is another matter."""

    transition_id: str
    from_: str
    to: str
    lease: Lease
    branch: str
    commits: tuple[str, ...]
    base: str
    head: str
    tree: str
    taken_over: bool
    pr_url: str
    text: str
    text_ref: str


@event("item")
@dataclass(frozen=True, slots=True)
class LateReportRecorded(Event):
    """A report under a fence that is no longer current: kept as evidence, changing no status."""

    fence: int
    phase_reported: str
    branch: str
    head: str
    reason: str
    text: str
    text_ref: str


@event("item", "review")
@dataclass(frozen=True, slots=True)
class ReviewApproved(Event):
    """T06: somebody who never held a lease on the item approves exactly this tree."""

    transition_id: str
    from_: str
    to: str
    head: str
    tree: str
    row_digests: tuple[str, ...]
    reason: str
    text_ref: str


@event("item", "review")
@dataclass(frozen=True, slots=True)
class ItemReopened(Event):
    """T07: back to work, with the reason; admission decided where to."""

    transition_id: str
    from_: str
    to: str
    reason: str
    text_ref: str
    hold_reason: str
    trigger: str
    rank: int


@event("item", "ship")
@dataclass(frozen=True, slots=True)
class ShipObserved(Event):
    """T08: the commit was seen on the remote's main; no report can make this event."""

    transition_id: str
    from_: str
    to: str
    observed_commit_sha: str
    main_sha: str
    remote: str
    ref: str
    base: str
    matched_by: str
    patch_id: str


@dataclass(frozen=True, slots=True)
class RowResultRecord:
    """The result of one row: what was run, where, what came out, and the log that shows it."""

    row: str
    requirement: str
    digest: str
    result: str
    reason: str
    executed: int
    skipped: int
    log: str
    checks: tuple[Check, ...]


@event("item", "verify")
@dataclass(frozen=True, slots=True)
class VerificationRecorded(Event):
    """A verifier's results; with T09 or T10 where they decide, without a move where more is due."""

    transition_id: str
    from_: str
    to: str
    verification_result_id: str
    observed_commit_sha: str
    results: tuple[RowResultRecord, ...]
    artifact_diff: str
    missing_artifacts: tuple[str, ...]
    out_of_scope: tuple[str, ...]
    requested_by: str
    record: str
    triage_kind: str


@event("item")
@dataclass(frozen=True, slots=True)
class ItemTriaged(Event):
    """T10, or one more record on an item that is triaged already (then without a move)."""

    transition_id: str
    from_: str
    to: str
    record: str
    triage_kind: str
    evidence: tuple[str, ...]
    resolutions: tuple[str, ...]
    lease: str
    reason: str
    text_ref: str


@event("item")
@dataclass(frozen=True, slots=True)
class TriageResolved(Event):
    """One record is settled by name; with T11 where it was the last open one."""

    transition_id: str
    from_: str
    to: str
    record: str
    resolution: str
    reason: str
    hold_reason: str
    trigger: str
    rank: int


@event("item")
@dataclass(frozen=True, slots=True)
class ItemClosed(Event):
    """T12: finished without being verified, and by whom the outcome was owned."""

    transition_id: str
    from_: str
    to: str
    outcome: str
    owner: str
    reason: str
    text_ref: str
    successor: str
    satisfies: bool
    failed: bool
    resolved: tuple[str, ...]
