"""Commands of an apply: remit itself makes them from a plan that it has checked.

Together they are the one way in which a plan gets on the ledger; ``remit.service.planning`` runs them
in chunks, and none is taken from a caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core.asking import Command
from remit.core.change import quick
from remit.core.planning.authority import Need
from remit.core.planning.bundle import (
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
)

Texts = tuple[tuple[str, str], ...]
"""Paths of long texts with the digests of the blobs that hold them."""


@dataclass(frozen=True, slots=True)
class OpenPlan(Command):
    """Begin an apply, or go on with one: compare-and-set on the revision in force."""

    label: str
    base_revision: int
    digest: str
    proposal_digest: str


@quick
@dataclass(frozen=True, slots=True)
class ApplyPlanRecord(Command):
    """One goal, requirement or node as the plan has it now; ``goal`` is the label of its goal."""

    plan: str
    digest: str
    record: PlanGoal | PlanRequirement | PlanNode
    goal: str = ""
    texts: Texts = ()


@quick
@dataclass(frozen=True, slots=True)
class ApplyPlanItem(Command):
    """One work item with all of its rows; ``waits`` are the items that its node has it wait for.

    ``row_texts`` are those of its rows, each path behind the row's label and a colon.
    """

    plan: str
    digest: str
    record: PlanItem
    goal: str
    rows: tuple[PlanRow, ...] = ()
    waits: tuple[str, ...] = ()
    texts: Texts = ()
    row_texts: Texts = ()


@dataclass(frozen=True, slots=True)
class RetirePlanRecord(Command):
    """One record that the plan has no longer."""

    plan: str
    digest: str
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class SealPlanPart(Command):
    """Take the digests of the next records after a name; the first part begins after nothing."""

    plan: str
    digest: str
    after: str


@dataclass(frozen=True, slots=True)
class ClosePlan(Command):
    """Put the revision in force: its sealed records are those that were checked.

    ``needs`` are the decisions that the change needs, each with those that it names; ``named`` are all
    that the plan names; ``shut`` what keeps the goal's gate shut.
    """

    plan: str
    digest: str
    proposal_digest: str
    goal: str
    counts: tuple[int, ...]
    needs: tuple[Need, ...]
    named: tuple[str, ...]
    shut: tuple[str, ...]


APPLYING: Final = (
    OpenPlan,
    ApplyPlanRecord,
    ApplyPlanItem,
    RetirePlanRecord,
    SealPlanPart,
    ClosePlan,
)
"""The steps of an apply, all of which only remit itself takes."""
