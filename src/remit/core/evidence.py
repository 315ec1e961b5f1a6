"""What a verdict on effect work rests on, and what it says.

Values, nothing else: ``core/verdict.py`` makes the one from the other, whoever gathered the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from remit.core.change import quick
from remit.core.checks import Check
from remit.core.effect_facts import Capacity, EffectState

DECISION: Final = "irreversible-action-authorization"
"""The kind of human decision that an irreversible action needs (CONTRACT 9)."""

RETRY_BACKOFF: Final = "RETRY_BACKOFF"
"""Held until a retry may be admitted again; its trigger is that time, and its owner retry."""

ALL_CLASSES: Final = "*"


class Verdict(StrEnum):
    """What admission says."""

    ADMIT = "ADMIT"
    REJECT = "REJECT"
    EXPIRE = "EXPIRE"
    COALESCE = "COALESCE"
    HOLD = "HOLD"


OUTCOMES: Final = {
    Verdict.REJECT: "rejected",
    Verdict.EXPIRE: "expired",
    Verdict.COALESCE: "coalesced",
}
"""How work is closed by a verdict; a cancelled one is closed as such."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another work that the same effect belongs to.

    ``standing`` is ``live``, ``completed`` or ``closed``. ``waits`` says that it waits, by whatever
    way, for the work that is decided on.
    """

    item: str
    standing: str
    state: EffectState
    operation: str
    payload_digest: str
    waits: bool = False


@quick
@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a decision rests on beside the envelope and the policy.

    ``own`` is the state of the work's own effect, ``intents`` how often the effect was intended. ``admitted``
    is how many were admitted on the observation before. ``retry_at`` is when a retry may come back.
    ``eligible`` says that it was admitted before and not taken back: capacity is not asked again.
    ``decision`` is the human decision that authorizes it, ``undecided`` why one that is there does not.
    """

    work_class: str = ""
    stored_seq: int = 0
    stored: int = 0
    validated_seq: int = 0
    faults: int = 0
    own: EffectState = EffectState.NOT_STARTED
    own_seq: int = 0
    intents: int = 0
    rival: Rival | None = None
    cancellation_seq: int = 0
    unmet: tuple[str, ...] = ()
    destination: str = ""
    authorized_by: str = ""
    seen: Capacity | None = None
    admitted: int = 0
    retry_at: int = 0
    eligible: bool = False
    decision: str = ""
    undecided: str = ""


@quick
@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict with its reason, what a HOLD needs, and every check.

    ``observation`` is the capacity observation that was looked at, where it decided.
    """

    verdict: Verdict
    reason: str
    owner: str
    trigger: str
    recheck_at: int
    outcome: str
    survivor: str
    observation: str
    checks: tuple[Check, ...]
