"""A world for effect work: a policy, a destination, fresh capacity, and what a destination shows.

Nothing of the core is faked. What a look-up shows is said by the test, which stands for the
destination here; ``tests/core/outside.py`` has one that answers by itself.
"""

from __future__ import annotations

from typing import Any

from tests.core.world import HUMAN, World

from remit.core import commands as c
from remit.core.change import changed
from remit.core.effect_events import EffectObserved, RetryDecided
from remit.core.effect_facts import (
    AdmissionPolicy,
    Capacity,
    Comparison,
    Destination,
    Effect,
    Envelope,
    Intent,
    Validation,
)
from remit.core.events import Event
from remit.core.facts import Lease
from remit.service.engine import Done

RECONCILER = "remit-reconciler"
MINUTE = 60_000_000
DIGEST = "SYNTHETIC-DIGEST-A"
RECORD = "DESTINATION-INDEX-8"
TEST = (
    Comparison("one-current-object", "object_count", "count", "1"),
    Comparison("digest", "digest", "equals", DIGEST),
    Comparison("manifest", "manifest_id", "equals", "MANIFEST-72"),
)
EXACT = (("effect_id", "E-1"), ("digest", DIGEST), ("manifest_id", "MANIFEST-72"))

POLICY = AdmissionPolicy(
    label="POLICY-12", version=0, digest="a" * 64, document="", validation="VALIDATION-5",
    classes=("*",), operations=("*",),
    replay_classes=("PURE", "IDEMPOTENT", "RECONCILABLE", "COMPENSATABLE", "IRREVERSIBLE"),
    max_payload_bytes=0, storage_limit=0, storage_retry_ms=0, freshness_limit_ms=3_600_000,
    clock_skew_ms=0, capacity_fields=(), rows=("deadline", "cancellation", "destination"),
    human_decision=(), recheck_horizon=1_000, attempts=3, looks=4, backoff_base_ms=1_000,
    backoff_cap_ms=60_000, retry_within_ms=3_600_000, admission_owner="ADMISSION-4",
    retry_owner="", seq=0,
)  # fmt: skip

THERE = Destination(
    label="OBJECT-DESTINATION-8", version=0, name="objects", digest="b" * 64, document="",
    record=RECORD, idempotency_key=False, key_retention_ms=None, fence=False, lookup=True,
    lookup_consistent=True, lookup_lag_ms=0, request_expiry=False, in_flight_ms=30_000,
    receipt_authoritative=False, compensation="", seq=0,
)  # fmt: skip


class EffectWorld(World):
    """A world with a destination that enforces what the test says."""

    def __init__(self, *, policy: dict[str, Any] | None = None, **enforced: Any) -> None:
        super().__init__()
        self.made = 0
        rules = Validation("VALIDATION-5", 0, "c" * 64, "", (), 0, 0, 0)
        self.ok(HUMAN, c.RegisterValidation(rules))
        self.ok(HUMAN, c.RegisterPolicy(changed(POLICY, **(policy or {}), seq=0)))
        self.destination = changed(THERE, **enforced, seq=0)
        self.ok(HUMAN, c.RegisterDestination(self.destination))

    def envelope(self, **more: Any) -> Envelope:
        """An envelope of new work, for the effect E-1 unless it is said otherwise."""
        self.made += 1
        return Envelope(
            **{
                "work_id": f"WORK-{self.made}",
                "message_id": f"MESSAGE-{self.made}",
                "operation_id": "STORE-PACKAGE-72",
                "effect_id": "E-1",
                "replay_class": "RECONCILABLE",
                "completion_test": TEST,
                "payload_digest": DIGEST,
                "manifest_id": "MANIFEST-72",
                "cancellation_state": "NOT_REQUESTED",
                "destination": "objects",
                "retry_owner": "RETRY-3",
                "authoritative_effect_record": RECORD,
                **more,
            }
        )

    def submit(self, **more: Any) -> str:
        """Submit work; returns its id."""
        envelope = self.envelope(**more)
        answer = self.ok(HUMAN, c.SubmitIntent(envelope, f"{self.made:064x}"))
        return next(r.stream for r in answer.events if r.stream.startswith("W-"))

    def effect(self, name: str = "E-1") -> Effect:
        """An effect that was claimed."""
        found = self.fact("effect", name)
        assert isinstance(found, Effect), f"no effect {name}"
        return found

    def intent(self, item: str) -> Intent:
        """The intent of work."""
        found = self.fact("intent", item)
        assert isinstance(found, Intent)
        return found

    def waits(self, item: str) -> str:
        """What a held item waits for."""
        hold = self.item(item).hold
        return hold.reason if hold is not None else ""

    def intend(self, lease: Lease, **more: Any) -> None:
        """Intend under a lease."""
        self.ok(lease.actor, c.IntendEffect(lease.item, lease.fence, **more))

    def started(self, **more: Any) -> tuple[str, Lease]:
        """Work whose effect is intended under a live lease of bob."""
        item = self.submit(**more)
        lease = self.lease(item)
        self.intend(lease)
        return item, lease

    def until_over(self, lease: Lease) -> None:
        """Time passes to the end of a lease, and somebody notices."""
        self.pass_us(max(0, lease.expires_at - self.now))
        self.ok(HUMAN, c.ExpireLease(lease.item))

    def lost(self, **more: Any) -> tuple[str, Lease]:
        """Work whose effect was sent, with no answer, and whose lease ran out."""
        item, lease = self.started(**more)
        self.ok("bob", c.NoteSent(item, lease.fence))
        self.until_over(lease)
        return item, lease

    def ended(self, name: str = "E-1", ago: int = 0) -> None:
        """Somebody saw the worker end."""
        effect = self.effect(name)
        seen = c.NoteTermination(name, effect.attempt, "exit status seen", self.now - ago)
        self.ok(RECONCILER, seen)

    def seeing(self, result: str, name: str = "E-1", **more: Any) -> c.ObserveEffect:
        """A look-up that begins now."""
        effect = self.effect(name)
        record = more.pop("record", RECORD)
        at = more.pop("looked_at", self.now)
        version = more.pop("version", effect.version)
        if result == "FOUND":
            more = {"objects": 1, "values": EXACT, **more}
        return c.ObserveEffect(name, record, result, at, version, **more)

    def look(self, result: str, name: str = "E-1", **more: Any) -> list[Event]:
        """Record a look-up; returns the events that it led to."""
        answer = self.ok(RECONCILER, self.seeing(result, name, **more))
        return [r.event for r in answer.events]

    def pure(self, effect: str = "P-1", **more: Any) -> str:
        """PURE work."""
        test = (Comparison("effect", "effect_id", "equals", effect),)
        return self.submit(
            effect_id=effect, replay_class="PURE", completion_test=test, destination="", **more
        )

    def last(self, kind: type[Any]) -> Any:
        """The newest event of a kind."""
        found = [r.event for r in self.events() if isinstance(r.event, kind)]
        assert found, f"no {kind.__name__}"
        return found[-1]

    def retry(self) -> RetryDecided:
        """The newest retry decision."""
        found = self.last(RetryDecided)
        assert isinstance(found, RetryDecided)
        return found

    def seen(self) -> EffectObserved:
        """The newest observation."""
        found = self.last(EffectObserved)
        assert isinstance(found, EffectObserved)
        return found

    def counted(self, kind: str) -> int:
        """How many events of a kind there are."""
        return sum(type(r.event).__name__ == kind for r in self.events())

    def capacity(self, work_class: str = "default", **more: Any) -> Done:
        """Post fresh capacity."""
        figures: dict[str, Any] = dict.fromkeys(Capacity.__slots__)
        figures |= {
            "id": "", "version": 0, "work_class": work_class, "observed_at": self.now,
            "start_delay_ms": 0, "duration_ms": 0, "dependency_state": "",
            "destination_revision": "", "observer": "", "seq": 0, **more,
        }  # fmt: skip
        return self.ok(HUMAN, c.ObserveCapacity(Capacity(**figures)))
