"""Signatures of people as the service needs them: read a key, examine a signature, try a key's reach.

The adapter is ``remit.signatures``. Whatever it is given was written by somebody else, so what cannot
be read is a fault with a reason, never an exception. Whether a key is enrolled, whose it is and whether
the statement is the right one is not asked here: the core decides that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from remit.core.checks import Result


@dataclass(frozen=True, slots=True)
class SignatureFault:
    """Why a key or a signature cannot be used; ``reason`` is one printable line."""

    reason: str


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key: its kind, its fingerprint as ``ssh-keygen -l`` prints it, and its bytes.

    ``blob`` is base64 of SSH's encoding, ``bits`` the size of an RSA modulus or the curve's.
    ``hardware`` says that it lives in a security key.
    """

    kind: str
    fingerprint: str
    blob: str
    bits: int
    hardware: bool


@dataclass(frozen=True, slots=True)
class Examined:
    """A signature that is sound over the statement, by the key that it holds.

    ``text`` is the signature in one canonical base64 line. Presence, verification and counter are
    what a security key signed; they are False and 0 for other keys.
    """

    key: PublicKey
    namespace: str
    text: str
    presence: bool
    verification: bool
    counter: int


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a key signs for this user without anybody being asked.

    FAIL: it did, at ``where``. PASS: each place that is known was tried and none did. BLOCKED: a
    place could not be tried.
    """

    result: Result
    where: str


class Signatures(Protocol):
    """Reads and verifies signatures, and tries keys."""

    def key(self, line: str) -> PublicKey | SignatureFault:
        """Read a public key as OpenSSH writes it: kind, base64 and perhaps a comment."""

    def examine(self, statement: bytes, signature: str) -> Examined | SignatureFault:
        """Verify a signature, armoured or in one base64 line, over these bytes."""

    def reach(self, key: PublicKey) -> Reach:
        """Try whether the key signs for this user unprompted. Takes at most some seconds."""
