"""The events of effect work: on an item's own stream, on an effect's, and on those of documents.

``AdmissionDecided`` is every verdict of section 4 on effect work, with the move that it leads to, if
any (T01, T02 or T12). It names all revisions that it used and holds every check that was made; a
later verdict never rewrites an earlier one. Receipt, validation and verdict are three events
(INV-2). Events of an effect's stream say what is known of one consequence outside; none of them
rests on a worker's word alone but those that say so.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.checks import Check
from remit.core.effect_facts import Comparison, Envelope, Fault
from remit.core.events import Event, event
from remit.core.facts import Lease
from remit.core.outside_events import (
    EffectAnswered,
    EffectClaimed,
    EffectIntended,
    EffectObserved,
    EffectSent,
    EffectUncertain,
    RequestRepeated,
    WorkerTerminated,
)

__all__ = [
    "Comparison",
    "EffectAnswered",
    "EffectClaimed",
    "EffectIntended",
    "EffectObserved",
    "EffectSent",
    "EffectUncertain",
    "RequestRepeated",
    "WorkerTerminated",
]


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class IntentReceived(Event):
    """STORED: a message was kept, under a receipt. Nothing else is claimed of it.

    ``faults`` are those of shape that parsing found. ``follows`` is the item whose message is carried
    on here, empty for one that came from outside. ``authorized_by`` is the human who handed the
    message in with a decision of their own, as far as that is proved.
    """

    receipt: str
    digest: str
    document: str
    envelope: Envelope
    work_class: str
    tenant: str
    boundary: str
    stored_count: int
    faults: tuple[Fault, ...]
    follows: str
    authorized_by: str
    checks: tuple[Check, ...]


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class IntentValidated(Event):
    """VALID, or not: the envelope was checked under a named rule revision."""

    result: str
    validation: str
    candidate: str
    faults: tuple[Fault, ...]
    checks: tuple[Check, ...]


@event("item")
@quick
@dataclass(frozen=True, slots=True)
class AdmissionDecided(Event):
    """A verdict on effect work; ``recheck_at`` is its time trigger, 0 where it has none.

    ``survivor`` is the item that it is coalesced onto. ``observation`` is the capacity observation
    that was used, debited where the verdict is ADMIT.
    """

    transition_id: str
    from_: str
    to: str
    verdict: str
    reason: str
    owner: str
    owner_id: str
    trigger: str
    recheck_at: int
    rank: int
    outcome: str
    survivor: str
    candidate: str
    policy: str
    validation: str
    destination: str
    observation: str
    checks: tuple[Check, ...]


@event("item")
@dataclass(frozen=True, slots=True)
class CancellationObserved(Event):
    """What was seen of a cancellation identity: requested, not requested, or not observable."""

    cancellation_id: str
    state: str
    by: str
    reason: str


@event("item", "report:completion")
@quick
@dataclass(frozen=True, slots=True)
class ResponseReported(Event):
    """T04 to held: the holder's completion report. A response is evidence, not an observation."""

    transition_id: str
    from_: str
    to: str
    lease: Lease
    effect: str
    response: str
    response_ref: str
    result_digest: str
    hold_reason: str
    owner: str
    trigger: str
    checks: tuple[Check, ...]


@event("item")
@dataclass(frozen=True, slots=True)
class RetryDecided(Event):
    """What happens after an attempt: RETRY, HOLD, SUPPRESS, QUARANTINE or COMPENSATE.

    ``recheck_at`` is when a RETRY may be admitted again, or when a HOLD looks again. ``hold_reason``
    is what a held item waits for from here on, empty where it does not wait. ``observation`` is the
    one that this rests on; SUPPRESS makes it a fact of the item that its effect is there.
    """

    decision: str
    reason: str
    hold_reason: str
    owner: str
    trigger: str
    recheck_at: int
    effect: str
    effect_state: str
    prior_attempt: str
    candidate_attempt: str
    candidate_fence: int
    replacement: str
    execution: str
    attempt_result: str
    lease_state: str
    worker_termination: str
    acknowledgement: str
    observation: str
    checks: tuple[Check, ...]


@event("item", "ship")
@quick
@dataclass(frozen=True, slots=True)
class EffectShipped(Event):
    """T08 of effect work: an authoritative observation found the effect; no report makes this."""

    transition_id: str
    from_: str
    to: str
    effect: str
    observation: str
    observed_seq: int


@event("item", "verify")
@quick
@dataclass(frozen=True, slots=True)
class EffectVerified(Event):
    """T09 of effect work: each comparison of the completion test passed on that observation."""

    transition_id: str
    from_: str
    to: str
    effect: str
    observation: str
    reconciler: str
    checks: tuple[Check, ...]


@event("item")
@dataclass(frozen=True, slots=True)
class FollowerReleased(Event):
    """The survivor closed without its effect: the follower goes on in a linked successor."""

    survivor: str
    successor: str


@event("capacity")
@dataclass(frozen=True, slots=True)
class CapacityObserved(Event):
    """Somebody looked at how much work of a class can be done (CONTRACT 3)."""

    work_class: str
    observed_at: int
    start_delay_ms: int | None
    duration_ms: int | None
    queued_items: int | None
    queued_bytes: int | None
    oldest_eligible_age_ms: int | None
    arrival_window_ms: int | None
    arrivals: int | None
    completion_window_ms: int | None
    completions: int | None
    in_flight: int | None
    worker_limit: int | None
    reserved: int | None
    dependency_state: str
    destination_revision: str
    observer: str
    basis: str


@event("ledger")
@dataclass(frozen=True, slots=True)
class HoldsRechecked(Event):
    """A batch of holds was looked at again; those whose verdict stayed are only counted here.

    ``through`` is the place in line of the last one. ``finished`` says that nothing is left to look
    at, or that the policy's horizon was reached.
    """

    trigger: str
    looked_at: int
    changed: int
    through: str
    finished: bool


@event("ledger")
@dataclass(frozen=True, slots=True)
class RechecksDue(Event):
    """Something came that holds wait for; they are looked at again from here on, in batches."""

    trigger: str
    horizon: int


@event("validation")
@dataclass(frozen=True, slots=True)
class ValidationRegistered(Event):
    """A revision of validation rules; its label stands for this content for ever."""

    digest: str
    document: str
    required: tuple[str, ...]
    max_bytes: int
    max_text: int


@event("policy")
@dataclass(frozen=True, slots=True)
class AdmissionPolicyRegistered(Event):
    """A revision of an admission policy, in force for its classes from here on."""

    digest: str
    document: str
    validation: str
    classes: tuple[str, ...]
    operations: tuple[str, ...]
    replay_classes: tuple[str, ...]
    max_payload_bytes: int
    storage_limit: int
    storage_retry_ms: int
    freshness_limit_ms: int
    clock_skew_ms: int
    capacity_fields: tuple[str, ...]
    rows: tuple[str, ...]
    human_decision: tuple[str, ...]
    recheck_horizon: int
    attempts: int
    looks: int
    backoff_base_ms: int
    backoff_cap_ms: int
    retry_within_ms: int
    admission_owner: str
    retry_owner: str


@event("destination")
@dataclass(frozen=True, slots=True)
class DestinationRegistered(Event):
    """A revision of a destination with what it enforces; in force for its name from here on."""

    name: str
    digest: str
    document: str
    record: str
    idempotency_key: bool
    key_retention_ms: int | None
    fence: bool
    lookup: bool
    lookup_consistent: bool
    lookup_lag_ms: int
    request_expiry: bool
    in_flight_ms: int | None
    receipt_authoritative: bool
    compensation: str
