"""Facts: the folded state that the core decides on, as frozen values.

Every stream of events folds into one fact, and each event changes only its own stream's fact (and
the ledger's small counters), so one item can be folded alone at any past seq. Facts are addressed
by ``Key``, a pair of kind and id. Stores keep them as rows, written in the transaction of the
events that made them, and compare them with a fresh fold in ``ledger verify`` (INV-21).

A fact never holds foreign text: titles and bodies from outside live in blobs, so that redaction
needs no change of state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NewType

from remit.core.change import quick
from remit.core.decision_facts import Decided, Decision
from remit.core.edges import Dependency, DependencyKind, EdgeState
from remit.core.effect_facts import (
    AdmissionPolicy,
    Capacity,
    Destination,
    Effect,
    Intent,
    Message,
    Validation,
)
from remit.core.ledger_facts import (
    Actor,
    ActorKey,
    ActorKind,
    Assurance,
    DueRecheck,
    Ledger,
    Policy,
    Signed,
    Token,
)
from remit.core.limit_facts import Limit, Rate, Spend
from remit.core.moment_facts import Moment
from remit.core.plan_facts import (
    Attempt,
    ClearedLink,
    Goal,
    Governed,
    GraphNode,
    ImportRun,
    OpenApply,
    Plan,
    Planned,
    PlanRevision,
    Redaction,
    Requirement,
    Row,
    Rule,
    Source,
    Triage,
)
from remit.core.run_facts import Proof, Run, RunEntry, RunUse
from remit.core.status import TERMINAL, Kind, Outcome, Owner, OwnerKind, Status, owner_kind
from remit.core.work_facts import Push, RowOutcome, Work

__all__ = [
    "COUNTERS",
    "COUNTS",
    "FACT_TYPES",
    "LEDGER",
    "Actor",
    "ActorKey",
    "ActorKind",
    "Assurance",
    "Attempt",
    "ClearedLink",
    "Decided",
    "Decision",
    "Dependency",
    "DependencyKind",
    "DueRecheck",
    "EdgeState",
    "Fact",
    "Goal",
    "Governed",
    "GraphNode",
    "Hold",
    "ImportRun",
    "Item",
    "Key",
    "Lane",
    "LaneId",
    "Lease",
    "Ledger",
    "Moment",
    "OpenApply",
    "Plan",
    "PlanRevision",
    "Planned",
    "Policy",
    "Proof",
    "Push",
    "Redaction",
    "Requirement",
    "Row",
    "RowOutcome",
    "Rule",
    "Run",
    "RunEntry",
    "RunUse",
    "Signed",
    "Source",
    "Token",
    "Triage",
    "Work",
    "lane_of",
]

Key = tuple[str, str]
"""Kind and id of a fact, such as ``("item", "W-104")``."""

LaneId = NewType("LaneId", str)

LEDGER: Final[Key] = ("ledger", "ledger")

COUNTERS: Final = (
    "work-item",
    "goal",
    "requirement",
    "row",
    "triage",
    "import",
    "fence",
    "vtime",
    "receipt",
    "capacity",
    "observation",
    "limits",
    "plan",
    "node",
    "decision",
    "human-keys",
    "signed-through",
    "run",
)
"""Counters of the ledger, each an integer fact ``("counter", name)``; absent means zero."""

COUNTS: Final = tuple(("count", str(status)) for status in Status)
"""How many items stand in each status, kept up to date so that no list has to count.

Beside them, ``("load", "actor/NAME")``, ``("load", "class/NAME")`` and ``("load", "tenant/NAME")``
count live leases for the limits of CONTRACT 6, and ``("load", "stored/CLASS")`` the effect work of a
class that is not finished.
"""


@quick
@dataclass(frozen=True, slots=True)
class Lease:
    """Permission for one actor to work on one item until ``expires_at`` (microseconds).

    ``spend_micros`` is what was reserved for it.
    """

    id: str
    item: str
    attempt: int
    actor: str
    acquired_at: int
    ttl_ms: int
    expires_at: int
    fence: int
    spend_micros: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Hold:
    """Why an item waits, who owns the wait, and what will lead to another decision (INV-3).

    ``identity`` names the owner where a policy or an intent does. ``at`` is the time trigger beside
    the other one (0: none), ``rank`` the place in line in which holds are looked at again.
    """

    reason: str
    owner: str
    trigger: str
    identity: str = ""
    at: int = 0
    rank: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Item:
    """A work item: the fold of its own stream.

    ``stale`` names the rows whose results cover something that has changed since. ``lapses_at``: see
    ``lifetimes``.
    """

    id: str
    version: int
    number: int
    kind: Kind
    status: Status
    title: str
    text: str
    priority: int
    work_class: str
    tenant: str
    alias: str
    plan: Plan
    gate: str
    hold: Hold | None
    dependencies: tuple[Dependency, ...]
    links: tuple[tuple[str, str], ...]
    unmet: int
    ready_at: int
    rank: int
    attempt: int
    counted: int
    reported: bool
    lease: Lease | None
    holders: tuple[str, ...]
    work: Work | None
    results: tuple[RowOutcome, ...]
    triage: tuple[str, ...]
    triaged_from: Status | None
    outcome: Outcome | None
    successor: str
    source: Source | None
    created_at: int
    changed_at: int
    lapses_at: int = 0
    stale: tuple[str, ...] = ()

    @property
    def terminal(self) -> bool:
        """Whether no further change of status is possible."""
        return self.status in TERMINAL

    @property
    def lane(self) -> LaneId:
        """The lane that it queues in."""
        return lane_of(self.work_class, self.tenant)

    @property
    def owner(self) -> Owner | None:
        """Who has to act next; none when terminal (INV-5)."""
        kind = owner_kind(
            self.status, retrying=self.hold is not None and self.hold.owner == "retry"
        )
        if kind is None:
            return None
        identity = self.lease.actor if kind is OwnerKind.EXECUTION and self.lease else None
        if self.status is Status.HELD and self.hold is not None:
            identity = self.hold.identity
        return Owner(kind, identity or f"remit-{kind}")


def lane_of(work_class: str, tenant: str) -> LaneId:
    """The lane of a class and a tenant."""
    return LaneId(f"{work_class}|{tenant}")


@quick
@dataclass(frozen=True, slots=True)
class Lane:
    """One queue of one class and tenant: its stride pass, its weight and its live figures.

    ``weight`` is its share of its class. ``("active", CLASS)`` is the sum of weights of the lanes of a
    class that have something ready, ``("lane-turn", CLASS)`` how far the class is; see ``core.lanes``.
    It lies beside the loads in the order of kinds, so that a lease writes one page for both.
    """

    id: LaneId
    weight: int
    passed: int
    ready: int
    leased: int


Fact = (
    Item
    | Lane
    | Ledger
    | Actor
    | Goal
    | Requirement
    | Row
    | Rule
    | ImportRun
    | Attempt
    | Triage
    | Redaction
    | GraphNode
    | PlanRevision
    | Planned
    | ClearedLink
    | Intent
    | Message
    | Effect
    | Capacity
    | Validation
    | AdmissionPolicy
    | Destination
    | Limit
    | Spend
    | Rate
    | Decision
    | Decided
    | Token
    | Signed
    | Run
    | RunEntry
    | RunUse
    | Proof
    | Moment
    | int
    | str
)
"""Any folded state. Integers are counters and counts; a string is the id behind an alias or label."""

FACT_TYPES: Final[dict[str, type]] = {
    "item": Item,
    "lane": Lane,
    "ledger": Ledger,
    "actor": Actor,
    "goal": Goal,
    "requirement": Requirement,
    "row": Row,
    "rule": Rule,
    "import": ImportRun,
    "attempt": Attempt,
    "triage": Triage,
    "redaction": Redaction,
    "node": GraphNode,
    "plan": PlanRevision,
    "planned": Planned,
    "link": ClearedLink,
    "label": str,
    "counter": int,
    "count": int,
    "load": int,
    "alias": str,
    "import-digest": str,
    "intent": Intent,
    "message": Message,
    "effect": Effect,
    "capacity": Capacity,
    "validation": Validation,
    "policy": AdmissionPolicy,
    "destination": Destination,
    "current": str,
    "debit": int,
    "limit": Limit,
    "spend": Spend,
    "rate": Rate,
    "charge": int,
    "active": int,
    "lane-turn": int,
    "decision": Decision,
    "decided": Decided,
    "token": Token,
    "signature": Signed,
    "key": str,
    "run": Run,
    "run-entry": RunEntry,
    "run-use": RunUse,
    "proof": Proof,
    "moment": Moment,
}
"""Which type a kind of fact has; stores decode by it."""
