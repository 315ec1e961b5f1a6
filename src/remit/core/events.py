"""Every event that a ledger can hold, in the past tense.

An event is what happened, in codes and figures; it is written once and never changed. Attribute
names are snake_case here and camelCase on the ledger (a trailing underscore is dropped), by one
rule in the codec. The registry ``EVENTS`` gives each stored name its class; a name that is not in
it stops the fold. A stored shape is frozen by the samples under ``tests/samples``: to change one,
add a new type and an upcaster, never edit what is stored.

``ENTITY`` says which kind of fact the event's stream folds into. Events that change an item's
status carry ``transition_id``, ``from_`` and ``to``. This module holds the events of ledger, actors,
plan, import and attempts; those of a work item are in ``item_events``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

from remit.core.change import quick

E = TypeVar("E")

EVENTS: Final[dict[str, type[Any]]] = {}
"""Stored name -> class."""


def event(kind: str, phase: str = "") -> Callable[[type[E]], type[E]]:
    """Register a class as an event of streams of this kind, under its own name.

    ``phase`` is written into the payload where it is not empty (CONTRACT 11 compares it).
    """

    def enter(cls: type[E]) -> type[E]:
        if cls.__name__ in EVENTS:
            raise AssertionError(f"two events are called {cls.__name__}")
        cls.ENTITY = kind  # type: ignore[attr-defined]  # declared by Event, set once here
        cls.PHASE = phase  # type: ignore[attr-defined]  # declared by Event, set once here
        EVENTS[cls.__name__] = cls
        return cls

    return enter


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all events."""

    ENTITY: ClassVar[str] = ""
    PHASE: ClassVar[str] = ""


@quick
@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with its place on the ledger: what the fold reads.

    ``at`` is the ledger's time in microseconds. ``version`` is the event's number in its stream,
    from 1.
    """

    seq: int
    stream: str
    version: int
    actor: str
    assurance: str
    at: int
    event: Event
    command_id: str = ""
    command_digest: bytes = b""
    conversation_ref: str = ""
    trace_context: str = ""

    @property
    def entity(self) -> str:
        """The id of the fact that the stream folds into: what follows the kind where that is named."""
        stream = self.stream
        return stream.partition("/")[2] if "/" in stream else stream


NAMED: Final = frozenset(
    (
        "actor",
        "rule",
        "redaction",
        "effect",
        "capacity",
        "validation",
        "policy",
        "destination",
        "limit",
        "link",
        "token",
        "signature",
        "run",
        "proof",
    )
)
"""Kinds whose ids are free names, so that their streams need the kind before them."""


def stream_of(kind: str, entity: str) -> str:
    """The stream of a fact: its id, with the kind before it where ids are free names."""
    return f"{kind}/{entity}" if kind in NAMED else entity


@event("ledger")
@dataclass(frozen=True, slots=True)
class LedgerCreated(Event):
    """The first event of every ledger. ``format`` is the version of the event format."""

    ledger_id: str
    format: int


@event("ledger")
@dataclass(frozen=True, slots=True)
class PolicySet(Event):
    """A new revision of the policy; every figure is written out, so old leases stay explainable."""

    revision: int
    ttl_ms: int
    longest_lease_ms: int
    attempts: int
    age_step_ms: int
    ledger_leases: int
    class_leases: int
    tenant_leases: int
    actor_leases: int
    accept_unproved: bool
    imported_closed_satisfies: bool


@event("ledger")
@dataclass(frozen=True, slots=True)
class EpochAdopted(Event):
    """A restored or copied ledger was taken into use: earlier leases died here."""

    epoch: int
    previous: int
    reason: str


@event("ledger")
@dataclass(frozen=True, slots=True)
class KillSwitchEngaged(Event):
    """No new lease and no renewal from here on."""

    reason: str


@event("ledger")
@dataclass(frozen=True, slots=True)
class KillSwitchReleased(Event):
    """Leases are given again. ``engaged_seq`` is the event that had stopped them."""

    reason: str
    engaged_seq: int


@event("ledger")
@dataclass(frozen=True, slots=True)
class ClockJumped(Event):
    """The wall clock and the ledger's clock came apart by more than the bound (INV-24)."""

    wall_us: int
    ledger_us: int
    difference_us: int


@event("ledger")
@dataclass(frozen=True, slots=True)
class SettlementDeferred(Event):
    """More dependents wait on these items than one transaction may touch; the rest follows."""

    items: tuple[str, ...]


@event("ledger")
@dataclass(frozen=True, slots=True)
class SettlementFinished(Event):
    """All dependents of these items have been told."""

    items: tuple[str, ...]


@event("redaction")
@dataclass(frozen=True, slots=True)
class BlobRedacted(Event):
    """Salt and bytes of a blob were erased; its digest, and every proof, stays."""

    digest: str
    reason: str


@event("actor")
@dataclass(frozen=True, slots=True)
class ActorEnrolled(Event):
    """Somebody may act from here on."""

    kind: str


@event("actor")
@dataclass(frozen=True, slots=True)
class ActorRevoked(Event):
    """Nothing new is accepted from this actor."""

    reason: str


@event("rule")
@dataclass(frozen=True, slots=True)
class RuleRegistered(Event):
    """A default rule as it stands in the configuration; it counts once a human accepted it."""

    revision: int
    digest: str
    argv: tuple[str, ...]
    rubric: str
    expected_exit: int
    junit: str
    red_reason: str
    timeout_ms: int


@event("rule")
@dataclass(frozen=True, slots=True)
class RuleAccepted(Event):
    """A human lets exactly this revision of a rule give rows to drafted items."""

    revision: int
    digest: str
    reason: str


@event("goal")
@dataclass(frozen=True, slots=True)
class GoalDrafted(Event):
    """A goal revision drafted from a backlog or a title, marked as such."""

    goal_revision_id: str
    objective: str
    provenance: str


@event("requirement")
@quick
@dataclass(frozen=True, slots=True)
class RequirementDrafted(Event):
    """A requirement drafted from an item's own text.

    ``statement`` is the text, or empty where ``statement_ref`` names the blob that holds it.
    ``ambiguous`` is the mark that drafting leaves and that an accepted rule clears. ``digest`` covers
    every field but itself; approvals and results are bound to it.
    """

    goal_revision_id: str
    item: str
    statement: str
    statement_ref: str
    ambiguous: bool
    digest: str


@event("row")
@quick
@dataclass(frozen=True, slots=True)
class RowRegistered(Event):
    """A row of the verification plan: what will be run or judged, before the work starts.

    ``digest`` covers every field but itself; a result is bound to it. ``patch``, or the file
    ``patch_path`` with SHA-256 ``patch_digest``, is the declared mutation. ``direct`` says that the
    row proves its requirement itself and nothing narrower.
    """

    requirement_id: str
    work_item_id: str
    digest: str
    kind: str
    argv: tuple[str, ...]
    rubric: str
    expected_exit: int
    junit: str
    red_reason: str
    scope: tuple[str, ...]
    artifacts: tuple[str, ...]
    control: str
    timeout_ms: int
    output_limit_bytes: int
    origin: str
    patch: str
    patch_path: str
    patch_digest: str
    direct: bool


@event("import")
@dataclass(frozen=True, slots=True)
class ImportStarted(Event):
    """An import begins; what it brings stays behind a gate until it closes."""

    format: str
    name: str
    digest: str
    goal: str


@event("import")
@dataclass(frozen=True, slots=True)
class RowQuarantined(Event):
    """A row of the source that could not be imported, and why; nothing is dropped in silence."""

    row: int
    alias: str
    code: str
    reason: str


@event("import")
@dataclass(frozen=True, slots=True)
class ImportClosed(Event):
    """The import is whole; its items may now be admitted."""

    rows: int
    imported: int
    unchanged: int
    quarantined: int


@event("attempt")
@dataclass(frozen=True, slots=True)
class CloneMade(Event):
    """An attempt got its own clone, made from a freshly observed main."""

    item: str
    lease: str
    branch: str
    base: str


@event("attempt")
@dataclass(frozen=True, slots=True)
class CommitsTaken(Event):
    """The host took the attempt's commits over by SHA, under a ref that nothing drops."""

    item: str
    lease: str
    head: str
    base: str
    tree: str
    ref: str
    commits: tuple[str, ...]
