"""What a human signs, and what the core is told of a signature.

A statement is canonical JSON: who does which act to what, on which ledger and in which epoch of it,
under a nonce that is used once, until when, and the digest of exactly the events that will be written.
So a signature is good for one act and nothing else: not for another act (each has a namespace of its
own), another person, ledger, epoch, revision or time, and never twice.

The core knows no cryptography. It is told that a key signed a statement, and compares that statement
with the one that it makes itself from the command and the facts. ``ledger verify`` makes it again from
the events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Final

from remit.core.canonical import canonical, digest_of
from remit.core.change import quick
from remit.core.checks import Result
from remit.core.events import Event

LONGEST_VALIDITY_US: Final = 7 * 24 * 60 * 60 * 1_000_000
"""How far ahead a statement may be valid: seven days, so that nothing signed lies in wait for long."""

NAMESPACES: Final[dict[str, str]] = {
    "DecisionAccepted": "remit-decision",
    "DecisionRejected": "remit-decision",
    "ReviewApproved": "remit-review",
    "VerificationRecorded": "remit-verdict",
    "RuleAccepted": "remit-rule",
    "KillSwitchReleased": "remit-kill-switch",
    "ActorEnrolled": "remit-actor",
    "ActorRevoked": "remit-actor",
    "KeyEnrolled": "remit-actor",
    "KeyRevoked": "remit-actor",
    "TokenIssued": "remit-actor",
    "BlobRedacted": "remit-redact",
    "PolicySet": "remit-policy",
    "LimitSet": "remit-policy",
    "ValidationRegistered": "remit-policy",
    "AdmissionPolicyRegistered": "remit-policy",
    "DestinationRegistered": "remit-policy",
    "EpochAdopted": "remit-adopt",
}
"""The namespace in which each act is signed, by the first event that it writes."""

PARTS: Final = ("ledger", "epoch", "actor", "act", "subject", "nonce", "until", "content")
"""Parts of a statement, in the order in which a difference is named."""


@quick
@dataclass(frozen=True, slots=True)
class Proof:
    """A signature that was found good, and what was seen of its key; or the wish to sign.

    Without ``signature`` it asks for the statement that has to be signed. ``statement`` is what was
    signed, ``reach`` whether the key signed unprompted when it was tried, ``where`` that was.
    """

    nonce: str
    until: int
    statement: str = ""
    signature: str = ""
    namespace: str = ""
    fingerprint: str = ""
    hardware: bool = False
    presence: bool = False
    verification: bool = False
    counter: int = 0
    reach: Result = Result.NOT_TESTED
    where: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Shown:
    """A token that was shown: its id, and the digest of its secret."""

    id: str
    digest: str


def content_of(events: Iterable[tuple[str, Event]]) -> str:
    """The digest of events by their streams, in order: what an act comes to."""
    return digest_of([[stream, type(event).__name__, asdict(event)] for stream, event in events])


def statement_of(
    *, ledger: str, epoch: int, actor: str, act: str, subject: str, nonce: str, until: int, content: str
) -> str:  # fmt: skip
    """The text that is signed."""
    parts = {
        "act": act,
        "actor": actor,
        "content": content,
        "epoch": epoch,
        "ledger": ledger,
        "nonce": nonce,
        "remit": 1,
        "subject": subject,
        "until": until,
    }
    return canonical(parts).decode()


def parts_of(statement: str) -> dict[str, Any]:
    """The parts of a statement that somebody signed; nothing where it is none."""
    try:
        found = json.loads(statement)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def differing(signed: str, wanted: str) -> str:
    """The first part in which two statements differ; empty where they are the same text."""
    if signed == wanted:
        return ""
    ours, theirs = parts_of(wanted), parts_of(signed)
    return next((name for name in PARTS if ours.get(name) != theirs.get(name)), "content")
