"""Who is there in a world of effect work: documents, works that may be wanted, and one destination.

A world names what it needs in an ``EffectCast``; everything else is plain and the same in all of them.
One step of time is a second here too: an observation is fresh for two steps, a request is under way
for one at most, a retry waits for one at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from remit.core import commands as c
from remit.core.effect_facts import (
    AdmissionPolicy,
    Capacity,
    Comparison,
    Destination,
    Envelope,
    Validation,
)

STEP_MS: Final = 1_000
FRESH_MS: Final = 2 * STEP_MS
SKEW_MS: Final = STEP_MS
CLASS: Final = "EXPORT"
RECORD: Final = "index"
DIGEST: Final = "A"
TEST: Final = (
    Comparison("one", "object_count", "count", "1"),
    Comparison("digest", "digest", "equals", DIGEST),
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """One work that may be submitted; points in time are steps after the world's beginning."""

    effect: str = "E-1"
    replay_class: str = "RECONCILABLE"
    deadline: int | None = None
    margin: int | None = None
    not_before: int | None = None
    cancellation: str = "NOT_REQUESTED"
    digest: str = DIGEST
    spend: int | None = None
    depends_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EffectCast:
    """What a world of effect work has beside people and time.

    ``capacity`` are the kinds of observations that are posted, ``looks`` how look-ups may go beside
    the true one, ``bound`` the spend and rate that the ledger allows (0: none), ``budget`` how much
    the holder may say that an attempt has cost.
    """

    works: tuple[Wanted, ...] = (Wanted(),)
    rows: tuple[str, ...] = ("deadline", "cancellation", "destination")
    attempts: int = 2
    looks: int = 3
    within: int = 8
    capacity: tuple[str, ...] = ()
    modes: tuple[str, ...] = ("",)
    key: bool = False
    fence: bool = False
    expiry: bool = False
    in_flight: int | None = STEP_MS
    rate: int = 0
    spend: int = 0
    states: tuple[str, ...] = ("REQUESTED",)

    @property
    def destination(self) -> Destination:
        """The one destination."""
        return Destination(
            "THERE-1", 0, "there", "d" * 64, "", RECORD, self.key, None, self.fence, True, True, 0,
            self.expiry, self.in_flight, False, "", 0,
        )  # fmt: skip

    @property
    def policy(self) -> AdmissionPolicy:
        """The one admission policy."""
        return AdmissionPolicy(
            label="POLICY-1", version=0, digest="b" * 64, document="", validation="RULES-1",
            classes=("*",), operations=("*",),
            replay_classes=("PURE", "IDEMPOTENT", "RECONCILABLE", "COMPENSATABLE", "IRREVERSIBLE"),
            max_payload_bytes=0, storage_limit=0, storage_retry_ms=0, freshness_limit_ms=FRESH_MS,
            clock_skew_ms=SKEW_MS, capacity_fields=(), rows=self.rows, human_decision=(),
            recheck_horizon=100, attempts=self.attempts, looks=self.looks,
            backoff_base_ms=2 * STEP_MS, backoff_cap_ms=2 * STEP_MS,
            retry_within_ms=self.within * STEP_MS, admission_owner="", retry_owner="", seq=0,
        )  # fmt: skip

    def documents(self) -> tuple[c.Command, ...]:
        """What is registered before anything is submitted."""
        made: list[c.Command] = [
            c.RegisterValidation(Validation("RULES-1", 0, "c" * 64, "", (), 0, 0, 0)),
            c.RegisterPolicy(self.policy),
            c.RegisterDestination(self.destination),
        ]
        if self.rate or self.spend:
            made.append(
                c.SetLimit(
                    "ledger",
                    rate=self.rate or None,
                    per_ms=4 * STEP_MS,
                    spend_micros=self.spend or None,
                    reserve_micros=2 if self.spend else 0,
                )
            )
        return tuple(made)


def submission(cast: EffectCast, number: int, begin: int, *, changed: bool = False) -> c.Command:
    """The command that hands in the work of this number, or the same message with other content."""
    wanted = cast.works[number - 1]

    def at(steps: int | None) -> int | None:
        return None if steps is None else begin + steps * STEP_MS * 1_000

    envelope = Envelope(
        work_id=f"WORK-{number}",
        message_id=f"M-{number}",
        operation_id="EXPORT",
        effect_id=wanted.effect,
        replay_class=wanted.replay_class,
        completion_test=TEST,
        payload_digest=wanted.digest,
        priority_class=CLASS,
        not_before=at(wanted.not_before),
        deadline=at(wanted.deadline),
        minimum_completion_margin_ms=None if wanted.margin is None else wanted.margin * STEP_MS,
        cancellation_id=f"CANCEL-{number}",
        cancellation_state=wanted.cancellation,
        destination="there",
        decision="D-1" if wanted.replay_class == "IRREVERSIBLE" else "",
        spend_micros=wanted.spend,
        depends_on=wanted.depends_on,
    )
    return c.SubmitIntent(envelope, ("f" if changed else "e") * 63 + str(number))


def capacity(kind: str, now: int) -> c.Command:
    """An observation of one kind, made now."""
    observed = {
        "stale": now - FRESH_MS * 1_000 - 1,
        "old": now - FRESH_MS * 1_000,
        "future": now + SKEW_MS * 1_000 + 1,
    }.get(kind, now)
    duration = None if kind == "incomplete" else STEP_MS
    workers = 0 if kind == "none-free" else 1
    return c.ObserveCapacity(
        Capacity(
            "", 0, CLASS, observed, 0, duration, None, None, None, None, None, None, None, None,
            workers, 0, "", "", "", 0,
        )
    )  # fmt: skip
