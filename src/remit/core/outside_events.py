"""The events of an effect's own stream: what is said, done and seen of one consequence outside.

None of them rests on a worker's word alone but those that say so. They outlive items, leases and
attempts; ``effect_states.after`` says which may follow on which.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.checks import Check
from remit.core.events import Event, event


@event("effect")
@quick
@dataclass(frozen=True, slots=True)
class EffectClaimed(Event):
    """A logical effect belongs to an item from here on; the first claim opens the stream."""

    item: str
    operation: str
    payload_digest: str
    destination: str
    replay_class: str
    key: str
    compensates: str


@event("effect", "effect:intend")
@dataclass(frozen=True, slots=True)
class EffectIntended(Event):
    """It will be sent, under this lease and fence: written before anything leaves (INV-13)."""

    item: str
    attempt: str
    lease: str
    fence: int
    candidate: str
    payload_digest: str
    key: str
    destination: str
    request_expires_at: int | None
    arrives_until: int | None
    blast_radius: str
    confirmation: str
    reversal: str
    decision: str
    checks: tuple[Check, ...]


@event("effect", "effect:sent")
@dataclass(frozen=True, slots=True)
class EffectSent(Event):
    """The worker says that it sent the request; noted afterwards, so its absence proves nothing."""

    attempt: str
    fence: int
    payload_digest: str


@event("effect")
@quick
@dataclass(frozen=True, slots=True)
class EffectAnswered(Event):
    """A response arrived, as the worker or remit's own adapter recorded it.

    ``text`` is the whole of it where that is short, else ``response_ref`` names its blob; for PURE
    work it is the result, of which ``result_digest`` is the digest.
    """

    attempt: str
    fence: int
    response: str
    text: str
    response_ref: str
    result_digest: str
    authoritative: bool


@event("effect")
@dataclass(frozen=True, slots=True)
class EffectUncertain(Event):
    """No response, or a lease that ended, or a new epoch: nothing more is known than before."""

    reason: str
    epoch: int
    arrives_until: int | None


@event("effect")
@dataclass(frozen=True, slots=True)
class WorkerTerminated(Event):
    """Somebody observed that the worker of this attempt is gone; until then that is BLOCKED."""

    attempt: str
    evidence: str
    terminated_at: int
    arrives_until: int | None


@event("effect", "effect:repeat")
@dataclass(frozen=True, slots=True)
class RequestRepeated(Event):
    """The identical request is about to be repeated under its key, by a reconciler.

    Written before it leaves. From then on it may arrive, until an observation says that it is over.
    """

    attempt: str
    key: str


@event("effect", "effect:observe")
@quick
@dataclass(frozen=True, slots=True)
class EffectObserved(Event):
    """One look-up in the authoritative record, and what it makes of the effect.

    ``result`` is FOUND, NONE or UNAVAILABLE. ``objects`` is None where nothing could be seen.
    ``values`` pairs each observed field with its value. ``basis`` says why nothing can arrive any
    more, empty where that cannot be said. ``looked_at`` is when the look-up began: what could still
    arrive is judged by that moment, not by the later one at which this was written. ``look_at`` is when it is
    worth looking again. ``replayed`` ends a repetition, which may arrive until ``repeat_until``.
    """

    observation: str
    record: str
    result: str
    objects: int | None
    values: tuple[tuple[str, str], ...]
    differences: tuple[str, ...]
    state: str
    basis: str
    confirmed_fence: int
    looked_at: int
    replayed: bool
    look_at: int
    checks: tuple[Check, ...]
    repeat_until: int = 0
