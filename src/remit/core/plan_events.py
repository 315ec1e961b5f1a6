"""The events of plans: of their revisions, and of the goal, requirements, graph, rows and items.

Each revision of a record holds the record as it was applied, with its digest and that of the revision
that it follows; nothing is overwritten. ``texts`` names the blobs of texts that are too long for an
event, by their paths (``remit.core.planning.texts``). ``plan_revision_id`` is the revision under
which it was written, such as ``P-1@3``; it is in force once that revision is closed.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.events import Event, event
from remit.core.planning.bundle import PlanGoal, PlanItem, PlanNode, PlanRequirement, PlanRow

__all__ = [
    "GoalRetired",
    "GoalRevised",
    "ItemPlanned",
    "ItemReplanned",
    "ItemSucceeded",
    "ItemUnplanned",
    "NodeRetired",
    "NodeRevised",
    "PlanClosed",
    "PlanOpened",
    "PlanPartSealed",
    "RequirementRetired",
    "RequirementRevised",
    "RowPlanned",
    "RowRetired",
    "RowRevised",
]

Edges = tuple[tuple[str, str, str, str, bool], ...]
"""Edges of an item as (target, kind, state, via, inner)."""


@event("plan")
@dataclass(frozen=True, slots=True)
class PlanOpened(Event):
    """An apply begins: what it brings stays behind a gate until ``PlanClosed``.

    ``digest`` is that of the plan that it leads to. One that was killed goes on under the same digest;
    another digest begins anew from what is there.
    """

    label: str
    revision: int
    digest: str
    proposal_digest: str
    previous_digest: str


@event("plan")
@dataclass(frozen=True, slots=True)
class PlanPartSealed(Event):
    """The digests of the next records in the order of names were taken from the ledger.

    ``after`` is the last name of the part, ``count`` how many came so far, ``complete`` that there are
    no more.
    """

    after: str
    count: int
    chain: str
    proposal_chain: str
    complete: bool


@event("plan")
@dataclass(frozen=True, slots=True)
class PlanClosed(Event):
    """A revision is whole and in force: its records are exactly those that were checked.

    ``checked_version`` is the version of this stream at which they were sealed, ``shut`` what keeps the
    goal's gate shut all the same, ``decisions`` those that the revision consumed.
    """

    plan_revision_id: str
    revision: int
    digest: str
    previous_digest: str
    proposal_digest: str
    checked_version: int
    goal_id: str
    goal_revision_id: str
    counts: tuple[int, ...]
    shut: tuple[str, ...]
    decisions: tuple[str, ...]


@event("goal")
@dataclass(frozen=True, slots=True)
class GoalRevised(Event):
    """A revision of a goal; ``shut`` is what is wrong with it by itself."""

    plan_revision_id: str
    revision: int
    goal_revision_id: str
    digest: str
    previous_digest: str
    proposal_digest: str
    record: PlanGoal
    texts: tuple[tuple[str, str], ...]
    shut: tuple[str, ...]


@event("goal")
@dataclass(frozen=True, slots=True)
class GoalRetired(Event):
    """The plan has another goal from here on."""

    plan_revision_id: str
    revision: int
    previous_digest: str


@event("requirement")
@quick
@dataclass(frozen=True, slots=True)
class RequirementRevised(Event):
    """A revision of a requirement; ``meaning`` is the one in which more than decisions changed."""

    plan_revision_id: str
    goal_revision_id: str
    revision: int
    meaning: int
    digest: str
    previous_digest: str
    proposal_digest: str
    record: PlanRequirement
    texts: tuple[tuple[str, str], ...]
    shut: tuple[str, ...]


@event("requirement")
@dataclass(frozen=True, slots=True)
class RequirementRetired(Event):
    """The plan has this requirement no longer; what proved it stays on the ledger."""

    plan_revision_id: str
    revision: int
    previous_digest: str


@event("node")
@quick
@dataclass(frozen=True, slots=True)
class NodeRevised(Event):
    """A revision of a node of the dependency graph."""

    plan_revision_id: str
    revision: int
    digest: str
    previous_digest: str
    proposal_digest: str
    record: PlanNode
    requirement_refs: tuple[str, ...]


@event("node")
@dataclass(frozen=True, slots=True)
class NodeRetired(Event):
    """The graph has this node no longer."""

    plan_revision_id: str
    revision: int
    previous_digest: str


@event("row")
@quick
@dataclass(frozen=True, slots=True)
class RowPlanned(Event):
    """A verification row, registered before the work starts.

    A row that asks for something else is a new one; ``predecessor`` is the one whose place it takes.
    ``proposal_digest`` is what a result is bound to.
    """

    plan_revision_id: str
    requirement_id: str
    work_item_id: str
    digest: str
    previous_digest: str
    proposal_digest: str
    predecessor: str
    record: PlanRow
    texts: tuple[tuple[str, str], ...]


@event("row")
@dataclass(frozen=True, slots=True)
class RowRevised(Event):
    """The same row with another decision: what it asks for is what it was."""

    plan_revision_id: str
    digest: str
    previous_digest: str
    waived: str


@event("row")
@dataclass(frozen=True, slots=True)
class RowRetired(Event):
    """The row counts no more; ``successor`` took its place where there is one."""

    plan_revision_id: str
    previous_digest: str
    successor: str


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class ItemPlanned(Event):
    """A plan made an item, in draft, with everything that it rests on.

    ``graph_refs`` are its node and what that waits for, ``waits`` the labels of the items that stand
    there. ``predecessor`` is the item that it goes on
    from, whose brief could not change any more.
    """

    plan_revision_id: str
    goal_revision_id: str
    graph_version: int
    digest: str
    previous_digest: str
    proposal_digest: str
    record: PlanItem
    texts: tuple[tuple[str, str], ...]
    text_ref: str
    alias: str
    predecessor: str
    node: str
    requirement_refs: tuple[str, ...]
    dependency_refs: tuple[str, ...]
    verification_plan_refs: tuple[str, ...]
    graph_refs: tuple[str, ...]
    waits: tuple[str, ...]
    edges: Edges


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class ItemReplanned(Event):
    """A plan changed an item that nobody works on, or only what does not touch its brief.

    ``brief`` says whether the brief changed; then the item was made by this revision from here on.
    """

    plan_revision_id: str
    goal_revision_id: str
    graph_version: int
    brief: bool
    revision: int
    digest: str
    previous_digest: str
    proposal_digest: str
    record: PlanItem
    texts: tuple[tuple[str, str], ...]
    text_ref: str
    node: str
    requirement_refs: tuple[str, ...]
    dependency_refs: tuple[str, ...]
    verification_plan_refs: tuple[str, ...]
    graph_refs: tuple[str, ...]
    orphaned_refs: tuple[str, ...]
    waits: tuple[str, ...]
    edges: Edges


@event("item")
@dataclass(frozen=True, slots=True)
class ItemUnplanned(Event):
    """The plan has this item no longer, or no longer what it was made for; its refs are orphaned."""

    plan_revision_id: str
    graph_version: int
    previous_digest: str
    orphaned_refs: tuple[str, ...]
    successor: str


@event("item")
@dataclass(frozen=True, slots=True)
class ItemSucceeded(Event):
    """What the item was verified for has changed: its results are stale, and another goes on."""

    plan_revision_id: str
    graph_version: int
    successor: str
    orphaned_refs: tuple[str, ...]
    stale_rows: tuple[str, ...]
