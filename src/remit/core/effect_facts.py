"""Facts of effect work: intents, messages, effects, capacity, and the documents that rule them.

An intent is folded from its item's stream, beside the item. An effect has a stream of its own: it is
one consequence outside, whoever works on it, and outlives items, leases and attempts. Identities are
never merged: work, message, operation, effect, attempt, lease, fence, cancellation, receipt and
observation each have their own field (CONTRACT 1).

Documents (validation rules, admission policies, destinations) are registered under a label that
stands for exactly one content. A change is a new label; what a verdict used is named by label.
Durations are milliseconds, points in time microseconds; None means absent, which is never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from remit.core.change import quick


class ReplayClass(StrEnum):
    """What a second send of the same effect could do (CONTRACT 2)."""

    PURE = "PURE"
    IDEMPOTENT = "IDEMPOTENT"
    RECONCILABLE = "RECONCILABLE"
    COMPENSATABLE = "COMPENSATABLE"
    IRREVERSIBLE = "IRREVERSIBLE"
    UNCLASSIFIED = "UNCLASSIFIED"


class EffectState(StrEnum):
    """What is known of a consequence outside.

    ``NOT_STARTED`` until it is intended. Only an authoritative observation leads to ``PRESENT``,
    ``ABSENT`` or ``CONTRADICTED``; a missing response leads to ``UNCERTAIN`` and no further (INV-13).
    """

    NOT_STARTED = "NOT_STARTED"
    INTENDED = "INTENDED"
    UNCERTAIN = "UNCERTAIN"
    PRESENT = "PRESENT"
    ABSENT = "ABSENT"
    CONTRADICTED = "CONTRADICTED"


OPEN_EFFECT = frozenset((EffectState.INTENDED, EffectState.UNCERTAIN, EffectState.CONTRADICTED))
"""While an effect is one of these, nothing is admitted, leased or closed for it (INV-4, INV-14)."""


class Comparator(StrEnum):
    """How a completion test compares what was observed with what is required."""

    EQUALS = "equals"
    COUNT = "count"
    PRESENT = "present"


@quick
@dataclass(frozen=True, slots=True)
class Comparison:
    """One typed comparison of a completion test.

    ``field`` names what is observed (``effect_id``, ``object_count``, ``digest``, ``manifest_id`` or
    a name that the destination declares); ``required`` is the wanted value as text.
    """

    name: str
    field: str
    comparator: str
    required: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of an envelope: where (``$.completion_test[0].field``), a code, what was found."""

    path: str
    code: str
    found: str
    expected: str


@quick
@dataclass(frozen=True, slots=True)
class Envelope:
    """What was submitted, typed; a part that was absent or of the wrong type is None or empty.

    ``priority_class`` is the work class that capacity is observed for. ``cancellation_state`` is what
    was observed of the cancellation identity: ``NOT_REQUESTED``, ``REQUESTED``, ``UNOBSERVABLE``, or
    empty where nobody looked.
    """

    work_id: str = ""
    message_id: str = ""
    operation_id: str = ""
    effect_id: str = ""
    replay_class: str = ""
    completion_test: tuple[Comparison, ...] = ()
    candidate_revision: str = ""
    payload_digest: str = ""
    payload_bytes: int | None = None
    manifest_id: str = ""
    authoritative_effect_record: str = ""
    requested_at: int | None = None
    not_before: int | None = None
    deadline: int | None = None
    minimum_completion_margin_ms: int | None = None
    priority_class: str = ""
    priority: int = 2
    tenant: str = ""
    cancellation_id: str = ""
    cancellation_state: str = ""
    destination: str = ""
    admission_owner: str = ""
    execution_owner: str = ""
    retry_owner: str = ""
    spend_micros: int | None = None
    blast_radius: str = ""
    compensation: str = ""
    decision: str = ""
    depends_on: tuple[str, ...] = ()


@quick
@dataclass(frozen=True, slots=True)
class Intent:
    """A message of effect work that was kept, with the newest verdict on it.

    ``validated_seq`` is 0 until it was validated, ``faults`` are those found so far.
    ``cancellation_seq`` is the event that last said how its cancellation stands. ``authorized_by``
    is the human whose decision came with it. ``follows`` is the item whose message is carried on.
    ``shipped`` is the observation that found the effect; from then on that is a fact of the item,
    whatever else becomes of it. ``retry_at`` is when another attempt may be admitted, whatever the work
    was held for since that was decided.
    """

    item: str
    receipt: str
    digest: str
    document: str
    envelope: Envelope
    stored_seq: int
    validated_seq: int
    valid: bool
    validation: str
    policy: str
    destination: str
    verdict: str
    reason: str
    verdict_seq: int
    observation: str
    retries: int
    retry_started_at: int
    follows: str
    faults: tuple[Fault, ...] = ()
    cancellation_seq: int = 0
    authorized_by: str = ""
    shipped: str = ""
    retry_at: int = 0


@quick
@dataclass(frozen=True, slots=True)
class Message:
    """A message that was stored: redelivered with the same content, it returns its receipt."""

    id: str
    receipt: str
    digest: str
    item: str


@quick
@dataclass(frozen=True, slots=True)
class Effect:
    """One logical effect: who may bring it about, and what is known of it.

    ``item`` is the work that it belongs to now. ``key`` is the idempotency key, which derives from
    the effect id alone. ``sent_seq`` is noted afterwards, so 0 proves nothing. ``arrives_until`` is
    the last moment at which a request may still arrive, None while that cannot be said.
    ``confirmed_fence`` is the highest fence that the destination itself confirmed.

    ``present_seq`` and ``absent_seq`` are the last observations that found it, and that found that
    nothing was there nor could come; ``epoch`` is the one that ``state`` was last known in: in a later
    one the effect is uncertain, whatever ``state`` says. ``ended`` is how the attempt's lease ended,
    as far as that is on record. ``receipt`` says that the answer is an authoritative receipt,
    ``confirmed_at`` by when ``confirmed_fence`` was confirmed. Before ``look_at`` it is not worth
    looking again. ``repeating`` counts repetitions of the request of which nobody saw the end, and
    ``repeat_until`` is the last moment at which one that ended may still arrive.
    """

    id: str
    version: int
    item: str
    operation: str
    payload_digest: str
    destination: str
    replay_class: str
    state: EffectState
    key: str
    attempt: str
    lease: str
    fence: int
    intents: int
    intended_at: int
    intended_seq: int
    sent_seq: int
    response: str
    response_seq: int
    terminated_at: int | None
    request_expires_at: int | None
    arrives_until: int | None
    confirmed_fence: int
    observed_seq: int
    observation: str
    looks: int
    epoch: int
    compensates: str
    present_seq: int = 0
    absent_seq: int = 0
    ended: str = ""
    receipt: bool = False
    result_digest: str = ""
    confirmed_at: int = 0
    look_at: int = 0
    repeating: int = 0
    repeat_until: int = 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """One observation of a work class (CONTRACT 3); what was not observed is None."""

    id: str
    version: int
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
    seq: int


@dataclass(frozen=True, slots=True)
class Validation:
    """A registered revision of validation rules."""

    label: str
    version: int
    digest: str
    document: str
    required: tuple[str, ...]
    max_bytes: int
    max_text: int
    seq: int


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """A registered revision of an admission policy; ``*`` in ``classes`` stands for all others.

    ``operations`` are shell patterns of allowed operations. ``capacity_fields`` are those optional
    parts of an observation that a decision may not do without. ``human_decision`` are the replay
    classes that need one. ``rows`` names which evidence applies (``capacity``, ``deadline``,
    ``cancellation``, ``destination``); what does not is NOT_TESTED. ``max_payload_bytes`` and
    ``storage_limit`` are 0 where there is no bound.
    """

    label: str
    version: int
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
    seq: int


@dataclass(frozen=True, slots=True)
class Destination:
    """A registered revision of a destination, and what it says it enforces (CONTRACT 7).

    What it does not enforce becomes a narrowed claim. ``in_flight_ms`` is the longest that a request
    may still be under way; None where nobody can say.
    """

    label: str
    version: int
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
    seq: int
