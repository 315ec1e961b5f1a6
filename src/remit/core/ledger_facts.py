"""Facts of the ledger itself: its policy, what it carries on with, and who may act on it.

``remit.core.facts`` gives them as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    """What an enrolled actor is."""

    HUMAN = "human"
    AGENT = "agent"
    SERVICE = "service"


class Assurance(StrEnum):
    """How well it was proved that an event comes from its actor."""

    ASSERTED = "asserted"
    TOKEN = "token"  # noqa: S105  # a kind of proof, not a secret
    SIGNATURE = "signature"
    PRESENCE = "signature+presence"


@dataclass(frozen=True, slots=True)
class Policy:
    """The figures that decisions use; a new revision is an event, and leases name the revision."""

    revision: int = 1
    ttl_ms: int = 15 * 60 * 1000
    longest_lease_ms: int = 8 * 60 * 60 * 1000
    attempts: int = 5
    age_step_ms: int = 60 * 60 * 1000
    ledger_leases: int = 10_000
    class_leases: int = 10_000
    tenant_leases: int = 10_000
    actor_leases: int = 1_000
    accept_unproved: bool = True
    imported_closed_satisfies: bool = True


@dataclass(frozen=True, slots=True)
class DueRecheck:
    """A trigger whose holds are being looked at again: how far it came, and how many may follow."""

    trigger: str
    through: str
    left: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """What holds for the whole ledger.

    ``adopted_at`` is when its present epoch began, or 0. ``served`` says that agents reach it through
    a server alone, ``engaged_seq`` is the event that last engaged the kill switch.
    """

    version: int
    ledger_id: str
    epoch: int
    kill_switch: bool
    policy: Policy
    unsettled: tuple[str, ...]
    rechecks: tuple[DueRecheck, ...] = ()
    adopted_at: int = 0
    served: bool = False
    engaged_seq: int = 0


@dataclass(frozen=True, slots=True)
class ActorKey:
    """A public key of an actor. ``expires_at`` is in microseconds, None for never."""

    fingerprint: str
    kind: str
    hardware: bool
    expires_at: int | None
    enrolled_seq: int
    revoked: bool = False


@dataclass(frozen=True, slots=True)
class Actor:
    """Somebody who is enrolled to act. A person counts once, however many keys."""

    name: str
    version: int
    kind: ActorKind
    revoked: bool
    keys: tuple[ActorKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Token:
    """A token of an agent or service, kept as a digest of its secret."""

    id: str
    version: int
    actor: str
    digest: str
    item: str
    lease: str
    expires_at: int | None
    revoked: bool


@dataclass(frozen=True, slots=True)
class Signed:
    """A nonce that was used, by whom, and the event that holds the signature."""

    nonce: str
    version: int
    actor: str
    fingerprint: str
    seq: int
