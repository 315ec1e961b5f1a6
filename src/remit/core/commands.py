"""Commands, imperative: what somebody asks for. The core decides them, one at a time.

A command carries only what its caller said or observed outside. Who asks, when, and how well that
was proved travel beside it in ``Ask``. The service has bounded every part of it before it gets here
(``service.fitting``, ``service.texts``), and long text is already a blob digest (``text_ref``).
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.actor_commands import EnrolKey, IssueToken, RevokeKey, RevokeToken
from remit.core.asking import NO_TEXT, Ask, Command, Text
from remit.core.change import quick
from remit.core.decision_commands import AcceptDecision, ProposeDecision, RejectDecision
from remit.core.effect_commands import (
    CancelWork,
    CarryEpoch,
    CompensateEffect,
    DecideIntent,
    IntendEffect,
    NoteSent,
    NoteTermination,
    NoteUncertain,
    ObserveCapacity,
    ObserveEffect,
    RecheckHolds,
    RegisterDestination,
    RegisterPolicy,
    RegisterValidation,
    RepeatRequest,
    ReportEffect,
    SubmitIntent,
)
from remit.core.integration_commands import FailIntegration, IntendPush, NotePush
from remit.core.ledger_commands import (
    AcceptRule,
    AdoptEpoch,
    CloseImport,
    CreateLedger,
    EngageKillSwitch,
    EnrolActor,
    ImportItem,
    QuarantineRow,
    RecordClockJump,
    RecordClone,
    RecordTakeover,
    RedactBlob,
    RegisterRule,
    ReleaseKillSwitch,
    RevokeActor,
    SetLimit,
    SetPolicy,
    Settle,
    StartImport,
)
from remit.core.outcome_commands import (
    CloseItem,
    ObserveShip,
    OpenTriage,
    RecordVerification,
    ResolveTriage,
    ReviewWork,
    RowFinding,
    SucceedItem,
)
from remit.core.rows import RowSpec
from remit.core.run_commands import (
    AskRunStop,
    CheckpointRun,
    ChooseItem,
    NoteRefusal,
    RecordAttempt,
    RecordParityProof,
    ResumeRun,
    RunFigures,
    SettleRunItem,
    StartRun,
    StopRun,
)

__all__ = [
    "NO_TEXT",
    "AcceptDecision",
    "AcceptRule",
    "AddDependency",
    "AddNote",
    "AdoptEpoch",
    "Ask",
    "AskRunStop",
    "CancelWork",
    "CarryEpoch",
    "CheckpointRun",
    "ChooseItem",
    "CloseImport",
    "CloseItem",
    "Command",
    "CompensateEffect",
    "CreateItem",
    "CreateLedger",
    "DecideIntent",
    "DraftGoal",
    "EngageKillSwitch",
    "EnrolActor",
    "EnrolKey",
    "ExpireLease",
    "FailIntegration",
    "FailWork",
    "GrantLease",
    "ImportItem",
    "IntendEffect",
    "IntendPush",
    "IssueToken",
    "NotePush",
    "NoteRefusal",
    "NoteSent",
    "NoteTermination",
    "NoteUncertain",
    "ObserveCapacity",
    "ObserveEffect",
    "ObserveShip",
    "OpenTriage",
    "ProposeDecision",
    "QuarantineRow",
    "Recheck",
    "RecheckHolds",
    "RecordAttempt",
    "RecordClockJump",
    "RecordClone",
    "RecordLateReport",
    "RecordParityProof",
    "RecordTakeover",
    "RecordVerification",
    "RedactBlob",
    "RegisterDestination",
    "RegisterPolicy",
    "RegisterRule",
    "RegisterValidation",
    "RejectDecision",
    "ReleaseKillSwitch",
    "ReleaseLease",
    "RemoveDependency",
    "RenewLease",
    "RepeatRequest",
    "ReportCompletion",
    "ReportEffect",
    "ReportProgress",
    "ResolveTriage",
    "ResumeRun",
    "ReviewWork",
    "ReviseItem",
    "RevokeActor",
    "RevokeKey",
    "RevokeToken",
    "RowFinding",
    "RunFigures",
    "SetLimit",
    "SetPolicy",
    "Settle",
    "SettleRunItem",
    "StartImport",
    "StartRun",
    "StopRun",
    "SubmitIntent",
    "SucceedItem",
    "Text",
]


@quick
@dataclass(frozen=True, slots=True)
class CreateItem(Command):
    """Create an item with the goal, requirement and rows that are drafted from it.

    ``goal`` names an existing goal; empty drafts one from the title. ``rule`` names the default
    rule that may give it rows later. ``depends_on`` pairs a reference with a dependency kind.
    """

    title: str
    body: str = ""
    text_ref: str = ""
    priority: int = 2
    work_class: str = "delivery"
    tenant: str = "default"
    alias: str = ""
    goal: str = ""
    rows: tuple[RowSpec, ...] = ()
    scope: tuple[str, ...] = ("**",)
    artifacts: tuple[str, ...] = ()
    rule: str = "default"
    depends_on: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DraftGoal(Command):
    """Draft a goal that several items will share."""

    objective: str
    provenance: str


@dataclass(frozen=True, slots=True)
class ReviseItem(Command):
    """Change the brief of an item that nobody works on; None leaves a part as it is."""

    item: str
    title: str | None = None
    body: str | None = None
    text_ref: str | None = None
    priority: int | None = None
    scope: tuple[str, ...] | None = None
    artifacts: tuple[str, ...] | None = None
    rows: tuple[RowSpec, ...] = ()
    clarify: bool = False
    confirm_import: bool = False
    reason: Text = NO_TEXT


@dataclass(frozen=True, slots=True)
class AddNote(Command):
    """Add a remark to an item."""

    item: str
    text: Text


@dataclass(frozen=True, slots=True)
class AddDependency(Command):
    """Let an item wait on another."""

    item: str
    target: str
    kind: str = "blocks"


@dataclass(frozen=True, slots=True)
class RemoveDependency(Command):
    """End a wait."""

    item: str
    target: str
    kind: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Recheck(Command):
    """Let admission look at an item again."""

    item: str


@quick
@dataclass(frozen=True, slots=True)
class GrantLease(Command):
    """Lease an item; an empty ``item`` takes the next in lease order.

    ``spend_micros`` is what to set aside for it (0: what its limits say).
    """

    item: str = ""
    ttl_ms: int = 0
    work_class: str = ""
    tenant: str = ""
    spend_micros: int = 0


@dataclass(frozen=True, slots=True)
class RenewLease(Command):
    """Extend a live lease to ``ttl_ms`` from now (0: the ttl that it was given)."""

    item: str
    fence: int
    ttl_ms: int = 0


@dataclass(frozen=True, slots=True)
class ReleaseLease(Command):
    """Hand an item back. ``spent_micros`` is what the attempt has cost so far, None if not known."""

    item: str
    fence: int
    reason: str = ""
    spent_micros: int | None = None


@dataclass(frozen=True, slots=True)
class ExpireLease(Command):
    """Record that a lease has run out."""

    item: str


@dataclass(frozen=True, slots=True)
class ReportProgress(Command):
    """Say how work goes, and what it has cost so far."""

    item: str
    fence: int
    text: Text = NO_TEXT
    spent_micros: int | None = None


@quick
@dataclass(frozen=True, slots=True)
class ReportCompletion(Command):
    """Hand in work. ``taken_over`` says that the host holds the commits under a ref of its own."""

    item: str
    fence: int
    head: str
    base: str
    branch: str = ""
    tree: str = ""
    commits: tuple[str, ...] = ()
    taken_over: bool = False
    pr_url: str = ""
    text: Text = NO_TEXT
    spent_micros: int | None = None


@dataclass(frozen=True, slots=True)
class FailWork(Command):
    """Give an item up with a typed triage record."""

    item: str
    fence: int
    triage_kind: str = "refusal"
    reason: Text = NO_TEXT
    evidence: tuple[str, ...] = ()
    spent_micros: int | None = None


@dataclass(frozen=True, slots=True)
class RecordLateReport(Command):
    """Keep a report that came under a fence that is no longer current."""

    item: str
    fence: int
    phase: str
    branch: str
    head: str
    reason: str
    text: Text
    spent_micros: int | None = None
