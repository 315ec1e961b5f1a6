"""Commands about the ledger, its actors, rules and policy, about imports, and about attempts.

``remit.core.commands`` gives them as well, beside those about items.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from remit.core.actor_commands import KeySpec
from remit.core.asking import Command
from remit.core.facts import Policy


@dataclass(frozen=True, slots=True)
class EnrolActor(Command):
    """Let somebody act; a human may come with a key."""

    name: str
    kind: str
    key: KeySpec | None = None


@dataclass(frozen=True, slots=True)
class RevokeActor(Command):
    """Accept nothing new from an actor."""

    name: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RegisterRule(Command):
    """Put a default rule of the configuration on the ledger; the same content changes nothing."""

    name: str
    digest: str
    argv: tuple[str, ...]
    rubric: str
    expected_exit: int = 0
    junit: str = ""
    red_reason: str = ""
    timeout_ms: int = 600_000


@dataclass(frozen=True, slots=True)
class AcceptRule(Command):
    """A human lets the present revision of a rule count."""

    name: str
    digest: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SetPolicy(Command):
    """Write a new policy revision (its ``revision`` is set by the decision)."""

    policy: Policy


@dataclass(frozen=True, slots=True)
class SetLimit(Command):
    """Say what a scope may use; None is no limit of that sort."""

    scope: str
    concurrency: int | None = None
    rate: int | None = None
    per_ms: int = 60_000
    spend_micros: int | None = None
    reserve_micros: int = 0
    weight: int = 1


@dataclass(frozen=True, slots=True)
class EngageKillSwitch(Command):
    """Stop new leases and renewals."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseKillSwitch(Command):
    """Let leases be given again; only a human may."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class CreateLedger(Command):
    """Write the first events: the ledger, its built-in services and its first human.

    With a ``key`` of that human's, unproved acts are refused from the beginning. ``served`` says that
    agents will reach the ledger through a server alone.
    """

    ledger_id: str
    human: str
    key: KeySpec | None = None
    served: bool = False


@dataclass(frozen=True, slots=True)
class AdoptEpoch(Command):
    """Take a restored or copied ledger into use, above every epoch known outside it."""

    above: int
    reason: str


@dataclass(frozen=True, slots=True)
class RecordClockJump(Command):
    """Record that wall clock and ledger clock came apart."""

    wall_us: int
    ledger_us: int


@dataclass(frozen=True, slots=True)
class Settle(Command):
    """Tell the next dependents of an item whose news was deferred."""

    item: str


@dataclass(frozen=True, slots=True)
class RedactBlob(Command):
    """Erase a blob's bytes; only a human may."""

    digest: str
    reason: str


@dataclass(frozen=True, slots=True)
class StartImport(Command):
    """Open an import and draft the goal that its items hang on."""

    format: str
    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class ImportItem(Command):
    """One row of a foreign backlog; ``text_ref`` is the blob that holds its text.

    ``edges`` are (kind, alias); an alias that is not on the ledger yet is resolved when it comes.
    """

    import_id: str
    row: int
    alias: str
    digest: str
    text_ref: str
    priority: int
    foreign_status: str
    unconfirmed: bool = False
    closed: bool = False
    satisfies: bool = True
    failed: bool = False
    created_at: int = 0
    closed_at: int = 0
    edges: tuple[tuple[str, str], ...] = ()
    cycle: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    notices: tuple[str, ...] = ()
    rule: str = "default"
    work_class: str = "delivery"
    tenant: str = "default"


@dataclass(frozen=True, slots=True)
class QuarantineRow(Command):
    """A row that could not be imported."""

    import_id: str
    row: int
    alias: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class CloseImport(Command):
    """All rows are there; their items may be admitted."""

    import_id: str
    rows: int
    imported: int
    unchanged: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class RecordClone(Command):
    """The attempt of a live lease got its clone."""

    item: str
    fence: int
    branch: str
    base: str


@dataclass(frozen=True, slots=True)
class RecordTakeover(Command):
    """The host holds the attempt's commits."""

    item: str
    fence: int
    head: str
    base: str
    tree: str
    ref: str
    commits: tuple[str, ...] = field(default=())
