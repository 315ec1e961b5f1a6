"""A world of effect work: validation rules, a policy, envelopes and observations, in a few words.

Everything has a plain default that is admitted once there is capacity; a test names what it changes.
"""

from __future__ import annotations

from typing import Any, Final

from tests.core.world import HUMAN, World

from remit.core import commands as c
from remit.core.canonical import digest_of
from remit.core.change import changed
from remit.core.checks import Check
from remit.core.effect_events import AdmissionDecided
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
from remit.core.events import Recorded
from remit.service.engine import Done
from remit.service.submitting import intent_of

MINUTE: Final = 60_000
"""Milliseconds."""

MINUTE_US: Final = MINUTE * 1_000

RULES: Final = Validation("VALIDATION-3", 0, "a" * 64, "", (), 0, 0, 0)

POLICY: Final = AdmissionPolicy(
    label="POLICY-8",
    version=0,
    digest="b" * 64,
    document="",
    validation="VALIDATION-3",
    classes=("*",),
    operations=("*",),
    replay_classes=("PURE", "IDEMPOTENT", "RECONCILABLE", "COMPENSATABLE", "IRREVERSIBLE"),
    max_payload_bytes=0,
    storage_limit=0,
    storage_retry_ms=1_000,
    freshness_limit_ms=2 * MINUTE,
    clock_skew_ms=1_000,
    capacity_fields=(),
    rows=("capacity", "deadline"),
    human_decision=("IRREVERSIBLE",),
    recheck_horizon=1_000,
    attempts=5,
    looks=5,
    backoff_base_ms=1_000,
    backoff_cap_ms=MINUTE,
    retry_within_ms=60 * MINUTE,
    admission_owner="",
    retry_owner="",
    seq=0,
)

TEST: Final = (Comparison("one object", "object_count", "count", "1"),)


def envelope(number: int, **parts: Any) -> Envelope:
    """An envelope with identities of its own."""
    values: dict[str, Any] = {
        "work_id": f"WORK-{number}",
        "message_id": f"MESSAGE-{number}",
        "operation_id": "EXPORT",
        "effect_id": f"PACKAGE-{number}",
        "replay_class": "RECONCILABLE",
        "completion_test": TEST,
        "payload_digest": "SYNTHETIC-DIGEST-A",
        "priority_class": "STANDARD",
    }
    return Envelope(**{**values, **parts})


def capacity(**parts: Any) -> Capacity:
    """An observation of plenty."""
    values: dict[str, Any] = {
        "id": "",
        "version": 0,
        "work_class": "STANDARD",
        "observed_at": 1,
        "start_delay_ms": 0,
        "duration_ms": MINUTE,
        "queued_items": None,
        "queued_bytes": None,
        "oldest_eligible_age_ms": None,
        "arrival_window_ms": None,
        "arrivals": None,
        "completion_window_ms": None,
        "completions": None,
        "in_flight": None,
        "worker_limit": 2,
        "reserved": 0,
        "dependency_state": "",
        "destination_revision": "",
        "observer": "",
        "seq": 0,
    }
    return Capacity(**{**values, **parts})


class Effects(World):
    """One ledger with validation rules and a policy for effect work."""

    def __init__(self, **policy: Any) -> None:
        super().__init__()
        self.ok(HUMAN, c.RegisterValidation(RULES))
        self.policies = 0
        self.govern(**policy)

    def govern(self, **parts: Any) -> str:
        """Register another revision of the policy; returns its label."""
        self.policies += 1
        label = f"POLICY-{self.policies}"
        policy = changed(POLICY, label=label, digest=digest_of([label, repr(parts)]), **parts)
        self.ok(HUMAN, c.RegisterPolicy(policy))
        return label

    def message(self, number: int, **parts: Any) -> c.SubmitIntent:
        """The command that hands an envelope in."""
        return intent_of(envelope(number, **parts))

    def submit(self, number: int, actor: str = "bob", **parts: Any) -> str:
        """Hand an envelope in; returns its item."""
        answer = self.ok(actor, self.message(number, **parts))
        return next(r.stream for r in answer.events if r.stream.startswith("W-"))

    def observe(self, ago_us: int = 0, **parts: Any) -> Done:
        """Post an observation, some time old."""
        seen = capacity(**{"observed_at": self.now - ago_us, **parts})
        return self.ok("bob", c.ObserveCapacity(seen))

    def destination(self, label: str = "INDEX-1", name: str = "INDEX", **parts: Any) -> None:
        """Register a revision of a destination."""
        values: dict[str, Any] = {
            "record": "index", "idempotency_key": False, "key_retention_ms": None, "fence": False,
            "lookup": True, "lookup_consistent": True, "lookup_lag_ms": 0, "request_expiry": False,
            "in_flight_ms": None, "receipt_authoritative": False, "compensation": "", **parts,
        }  # fmt: skip
        there = Destination(label, 0, name, digest_of([label, parts]), "", seq=0, **values)
        self.ok(HUMAN, c.RegisterDestination(there))

    def intent(self, item: str) -> Intent:
        """The intent of an item."""
        found = self.fact("intent", item)
        assert isinstance(found, Intent)
        return found

    def effect(self, number: int) -> Effect | None:
        """The effect of an envelope made here."""
        found = self.fact("effect", f"PACKAGE-{number}")
        assert found is None or isinstance(found, Effect)
        return found

    def put_effect(self, number: int, **parts: Any) -> None:
        """Let the store hold another state of an effect, as what was sent and seen would leave it."""
        old = self.effect(number)
        assert old is not None
        self.overwrite(("effect", old.id), changed(old, **parts))

    def overwrite(self, key: tuple[str, str], fact: Any) -> None:
        """Put a fact in place of one that is there, past every decision."""
        self.store._state.put(key, fact)
        self.engine = type(self.engine)(self.store)

    def verdicts(self, item: str) -> list[tuple[str, str]]:
        """Every verdict and reason on an item, in order."""
        return [(r.event.verdict, r.event.reason) for r in self._decided(item)]  # type: ignore[attr-defined]  # of this type

    def verdict(self, item: str) -> AdmissionDecided:
        """The newest verdict on an item."""
        event = self._decided(item)[-1].event
        assert isinstance(event, AdmissionDecided)
        return event

    def check(self, item: str, name: str) -> Check:
        """One check of the newest verdict."""
        return next(check for check in self.verdict(item).checks if check.check == name)

    def _decided(self, item: str) -> list[Recorded]:
        found = [r for r in self.events() if r.stream == item]
        return [r for r in found if isinstance(r.event, AdmissionDecided)]
