"""Commands about what proves who acts: keys of humans, tokens of agents and services.

``remit.core.commands`` gives them as well. A key comes with what was found when it was tried; of a
token only the digest of its secret ever gets here.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.asking import Command


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A public key to enrol. ``reach`` is PASS, FAIL or BLOCKED: whether it signs unprompted."""

    fingerprint: str
    kind: str
    blob: str
    hardware: bool = False
    expires_at: int | None = None
    reach: str = "NOT_TESTED"
    where: str = ""


@dataclass(frozen=True, slots=True)
class EnrolKey(Command):
    """Let a key count for a human."""

    name: str
    key: KeySpec


@dataclass(frozen=True, slots=True)
class RevokeKey(Command):
    """Take nothing new from a key."""

    name: str
    fingerprint: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class IssueToken(Command):
    """Let a token stand for an agent or service; ``token`` is its id, ``digest`` of its secret."""

    name: str
    token: str
    digest: str
    item: str = ""
    lease: str = ""
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class RevokeToken(Command):
    """Let a token count no more."""

    token: str
    reason: str = ""
