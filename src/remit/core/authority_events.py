"""Events of human authority: keys, tokens, signatures, and how the ledger is served.

Public keys and signatures lie here in full, so that ``ledger verify`` can check each of them again with
nothing but the ledger. Of a token only a digest does.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.events import Event, event


@event("actor")
@quick
@dataclass(frozen=True, slots=True)
class KeyEnrolled(Event):
    """A public key counts for this actor from here on.

    ``blob`` is base64 of SSH's encoding. ``reach`` is what was found when the key was tried.
    """

    fingerprint: str
    kind: str
    blob: str
    hardware: bool
    expires_at: int | None
    reach: str


@event("actor")
@dataclass(frozen=True, slots=True)
class KeyRevoked(Event):
    """Nothing new is taken from this key; what it signed before stays signed."""

    fingerprint: str
    reason: str


@event("token")
@dataclass(frozen=True, slots=True)
class TokenIssued(Event):
    """A token stands for an agent or service, for an item, a lease and a time where they are named."""

    actor: str
    digest: str
    item: str
    lease: str
    expires_at: int | None


@event("token")
@dataclass(frozen=True, slots=True)
class TokenRevoked(Event):
    """A token counts no more."""

    reason: str


@event("signature")
@quick
@dataclass(frozen=True, slots=True)
class ActSigned(Event):
    """A human signed the next ``count`` events, under a nonce that is this stream's name.

    ``statement`` is the text that was signed and ``signature`` the SSH signature in one line of base64;
    presence, verification and counter are what a security key signed along.
    """

    act: str
    namespace: str
    fingerprint: str
    statement: str
    signature: str
    count: int
    presence: bool
    verification: bool
    counter: int
    reach: str


@event("ledger")
@dataclass(frozen=True, slots=True)
class ModeDeclared(Event):
    """Agents reach this ledger through a server alone, so tokens prove who they are."""

    served: bool
