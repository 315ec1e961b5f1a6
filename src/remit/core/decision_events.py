"""Events of a decision's own stream, in the past tense.

They hold every option, the rejected ones with their reasons, and the rationale, so that no summary
ever stands for the record. ``record`` is the digest of all that was proposed; whoever accepts or
rejects names it, so that what was looked at is what was decided on.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.decisions import Option
from remit.core.events import Event, event


@event("decision")
@quick
@dataclass(frozen=True, slots=True)
class DecisionProposed(Event):
    """Somebody asks for a human's decision. It allows nothing yet.

    ``plan`` and ``proposal`` are the plan's label and digest, or empty and an effect's digest.
    ``recommended`` is the option that is proposed. ``expires_at`` is in microseconds.
    """

    kind: str
    title: str
    question: str
    options: tuple[Option, ...]
    recommended: str
    rationale: str
    scope: tuple[str, ...]
    plan: str
    proposal: str
    supersedes: str
    expires_at: int | None
    record: str


@event("decision")
@quick
@dataclass(frozen=True, slots=True)
class DecisionAccepted(Event):
    """A human chose one option; the others are rejected, each for a reason.

    ``choice`` is the digest of the chosen option's text, ``permits`` whether it allows what the kind
    is about.
    """

    record: str
    chosen: str
    choice: str
    permits: bool
    rejected: tuple[tuple[str, str], ...]
    rationale: str
    plan: str
    proposal: str


@event("decision")
@dataclass(frozen=True, slots=True)
class DecisionRejected(Event):
    """A human wants none of the options."""

    record: str
    reason: str


@event("decision")
@dataclass(frozen=True, slots=True)
class DecisionSuperseded(Event):
    """Another accepted decision took its place."""

    by: str


@event("decision")
@dataclass(frozen=True, slots=True)
class DecisionConsumed(Event):
    """Exactly this revision (``P-1@3``, ``EFFECT#1``, ``W-4``) rests on the decision."""

    revision: str
    digest: str
