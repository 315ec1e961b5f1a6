"""The events of an item from hand-in to its end: completion, review, ship, verification, triage, close.

They belong to the item's own stream like those of ``item_events``, which gives them as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.checks import Check
from remit.core.events import Event, event
from remit.core.facts import Lease


@event("item", "report:completion")
@quick
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
    spent_micros: int | None


@event("item", "review")
@dataclass(frozen=True, slots=True)
class ReviewApproved(Event):
    """T06: somebody who never held a lease on the item approves exactly this tree.

    The approval is bound to the rows and requirements as they are: each reference has its digest at
    the same place of the list after it.
    """

    transition_id: str
    from_: str
    to: str
    head: str
    tree: str
    row_refs: tuple[str, ...]
    row_digests: tuple[str, ...]
    requirement_refs: tuple[str, ...]
    requirement_digests: tuple[str, ...]
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
    """The result of one row: what was run, where, what came out, and the log that shows it.

    It covers the row with ``digest`` and the requirement with ``requirement_digest``, no others.
    """

    row: str
    requirement: str
    digest: str
    requirement_digest: str
    result: str
    reason: str
    executed: int
    skipped: int
    answered: bool
    log: str
    checks: tuple[Check, ...]


@event("item", "integrate")
@dataclass(frozen=True, slots=True)
class IntegrationTested(Event):
    """The approved head was brought onto an observed main, and exactly that commit was tested.

    ``effect`` is the push of it that is intended from here on, empty where a row failed and nothing
    may be pushed. ``commit`` was made by ``way`` from ``head`` onto ``main_before``; ``base`` is where
    the reviewed change began. ``approval`` is the event that approved it. ``waived`` is as in a
    verification. Nothing here verifies anything: that is said of what was seen on main.
    """

    effect: str
    way: str
    head: str
    base: str
    approval: int
    main_before: str
    commit: str
    tree: str
    remote: str
    ref: str
    markers: bool
    in_flight_ms: int | None
    results: tuple[RowResultRecord, ...]
    artifact_diff: str
    missing_artifacts: tuple[str, ...]
    out_of_scope: tuple[str, ...]
    waived: tuple[tuple[str, str], ...]


@event("item", "verify")
@dataclass(frozen=True, slots=True)
class VerificationRecorded(Event):
    """A verifier's results; with T09 or T10 where they decide, without a move where more is due.

    ``waived`` pairs rows that go unproved with the accepted decision that lets them. ``changed``
    names what is no longer what was approved.
    """

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
    waived: tuple[tuple[str, str], ...]
    changed: tuple[str, ...]


@event("item")
@dataclass(frozen=True, slots=True)
class ResultsMarkedStale(Event):
    """Results of a verified item cover what has changed since; nothing relies on them any more.

    ``changed`` names the rows, requirements and decisions that are no longer what was covered.
    """

    rows: tuple[str, ...]
    changed: tuple[str, ...]


@event("item")
@dataclass(frozen=True, slots=True)
class SuccessorLinked(Event):
    """Work on a verified item whose results are stale goes on in another, which stands for it."""

    successor: str
    stale: tuple[str, ...]
    reason: str
    text_ref: str


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
    decision: str
