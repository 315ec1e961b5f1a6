"""Commands of effect work: documents, observations, intents, and what is sent and seen outside.

``remit.core.commands`` gives them as well. Those that only remit itself can have seen (a look-up, a
worker's end) are marked ``seen``: no surface passes on what a caller merely says of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.asking import NO_TEXT, Command, Text
from remit.core.change import quick
from remit.core.effect_facts import (
    AdmissionPolicy,
    Capacity,
    Destination,
    Envelope,
    Fault,
    Validation,
)


@dataclass(frozen=True, slots=True)
class RegisterValidation(Command):
    """Register a revision of validation rules (its ``version`` and ``seq`` are set on the way)."""

    rules: Validation


@dataclass(frozen=True, slots=True)
class RegisterPolicy(Command):
    """Register a revision of an admission policy and put it in force for its classes."""

    policy: AdmissionPolicy


@dataclass(frozen=True, slots=True)
class RegisterDestination(Command):
    """Register a revision of a destination and put it in force for its name."""

    destination: Destination


@dataclass(frozen=True, slots=True)
class ObserveCapacity(Command):
    """Post an observation of a work class; an empty id is given by the ledger (``CAP-7``)."""

    capacity: Capacity
    basis: str = ""


@quick
@dataclass(frozen=True, slots=True)
class SubmitIntent(Command):
    """Store a message, validate it and decide: up to three events and one receipt.

    ``document`` is the blob of what was submitted, ``digest`` that of its canonical bytes.
    ``faults`` are those of shape that parsing found; the rules' own are found by the decision.
    """

    envelope: Envelope
    digest: str
    document: str = ""
    size: int = 0
    faults: tuple[Fault, ...] = ()
    decide: bool = True


@dataclass(frozen=True, slots=True)
class DecideIntent(Command):
    """Validate and decide a message that was only stored (scenarios keep the two apart)."""

    item: str
    validate: bool = True


@dataclass(frozen=True, slots=True)
class RecheckHolds(Command):
    """Look again at holds that a trigger has freed, in lease order, at most ``limit`` of them.

    ``trigger`` is one such as ``capacity:EXPORT``; empty takes whatever time has freed.
    """

    trigger: str = ""
    limit: int = 0
    after: str = ""


@dataclass(frozen=True, slots=True)
class CancelWork(Command):
    """Ask that work is not done, or say what was seen of its cancellation identity."""

    item: str
    state: str = "REQUESTED"
    reason: Text = NO_TEXT


@dataclass(frozen=True, slots=True)
class IntendEffect(Command):
    """Record under a live lease that the effect is about to be sent."""

    item: str
    fence: int
    payload_digest: str = ""
    request_expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class NoteSent(Command):
    """Say that the request left; a claim."""

    item: str
    fence: int
    payload_digest: str = ""


@quick
@dataclass(frozen=True, slots=True)
class ReportEffect(Command):
    """The holder's completion report on effect work: its response, or for PURE work its result."""

    item: str
    fence: int
    response: str = ""
    result_digest: str = ""
    text: Text = NO_TEXT
    authoritative: bool = False
    spent_micros: int | None = None


@dataclass(frozen=True, slots=True)
class NoteUncertain(Command):
    """The holder got no answer: the outcome is unknown, which is no failure."""

    item: str
    fence: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NoteTermination(Command):
    """A supervisor saw that an attempt's worker is gone; ``seen``."""

    effect: str
    attempt: str
    evidence: str
    terminated_at: int


@dataclass(frozen=True, slots=True)
class RepeatRequest(Command):
    """Record that the identical request is about to be repeated under its key; ``seen``.

    ``version`` is the effect's as the reconciler knows it. What may be sent is written down before.
    """

    effect: str
    version: int


@quick
@dataclass(frozen=True, slots=True)
class ObserveEffect(Command):
    """What a look-up in the authoritative record found; ``seen``, by an enrolled reconciler.

    ``consistent`` says that the look-up showed everything that had arrived by then. ``looked_at`` is
    the ledger's time when it began and ``version`` the effect's version then: what has changed since
    makes it worth nothing. ``replayed`` says that the identical request was repeated meanwhile, under
    a key that the destination enforces, and that this repetition is over.
    """

    effect: str
    record: str
    result: str
    looked_at: int
    version: int
    objects: int | None = None
    values: tuple[tuple[str, str], ...] = ()
    differences: tuple[str, ...] = ()
    consistent: bool = True
    confirmed_fence: int = 0
    replayed: bool = False
    replacement: str = ""
    jitter: int = 0


@dataclass(frozen=True, slots=True)
class CarryEpoch(Command):
    """Hold an item whose effect a new epoch has made uncertain; ``seen``."""

    item: str


@dataclass(frozen=True, slots=True)
class CompensateEffect(Command):
    """Bring about the declared inverse of a PRESENT effect, as a new linked effect."""

    item: str
    envelope: Envelope
    digest: str
    document: str = ""
    reason: Text = NO_TEXT
