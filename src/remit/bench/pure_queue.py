"""remit as a queue of PURE effect work: intents in, admitted on evidence, leased, reported, shipped.

The whole of a job stays on the ledger: its receipt, its validation, the verdict with every check, the
lease, the result with its digest, the look at what is stored, shipped and verified. Submitting is one
commit, leasing another, the report a third; and because a report is evidence and no observation, the
look that ships the work is a commit of its own, made by the reconciler once the result is durable.
Admission is asked of real evidence: one observation of capacity, a deadline, a margin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from remit.bench.ledger_queue import OWNER, WORKER, done, fresh, settings_of
from remit.bench.queues import Holds
from remit.bench.rounds import REMIT, DoesNotAddUp
from remit.core import commands as c
from remit.core.effect_commands import ReportEffect
from remit.core.effect_facts import AdmissionPolicy, Capacity, Comparison, Envelope, Validation
from remit.core.facts import Lease
from remit.core.status import Status
from remit.service.operations import lease_of
from remit.service.submitting import intent_of
from remit.wiring.reaching import reconciler

CLASS: Final = "STANDARD"
HOUR_MS: Final = 3_600_000
RULES: Final = Validation("BENCH-RULES-1", 0, "a" * 64, "", ("deadline", "payload_digest"), 0, 0, 0)
POLICY: Final = AdmissionPolicy(
    label="BENCH-POLICY-1",
    version=0,
    digest="b" * 64,
    document="",
    validation=RULES.label,
    classes=(CLASS,),
    operations=("RENDER",),
    replay_classes=("PURE",),
    max_payload_bytes=1_000_000,
    storage_limit=10_000_000,
    storage_retry_ms=1_000,
    freshness_limit_ms=HOUR_MS,
    clock_skew_ms=1_000,
    capacity_fields=(),
    rows=("capacity", "deadline"),
    human_decision=(),
    recheck_horizon=1_000,
    attempts=3,
    looks=3,
    backoff_base_ms=1_000,
    backoff_cap_ms=60_000,
    retry_within_ms=HOUR_MS,
    admission_owner="",
    retry_owner="",
    seq=0,
)
LOOKED_AT: Final = 100
"""How many results a worker's reconciler looks at in one round (``remit.workers.watching``)."""

TEST: Final = (Comparison("one result", "object_count", "count", "1"),)


class PureQueue:
    """A ledger that is driven like a queue of PURE effect work."""

    peer = REMIT
    store = "sqlite"

    def __init__(self, folder: Path) -> None:
        self.ledger = fresh(folder)
        self.owner = self.ledger.acting(OWNER)
        self.worker = self.ledger.acting(WORKER)
        self.reconciler = reconciler(self.ledger)
        for command in (c.RegisterValidation(RULES), c.RegisterPolicy(POLICY)):
            done(self.owner.run(command))
        with self.ledger.reading() as tx:
            self.began = tx.now()
        done(self.owner.observe_capacity(c.ObserveCapacity(_plenty(self.began))))
        self._effects: dict[str, str] = {}
        self._handed_in: list[str] = []
        self.settings = settings_of(folder)

    def insert(self, first: int, count: int) -> None:
        """Submit intents in one commit: each is stored, validated and admitted."""
        wanted = [intent_of(self._envelope(n)) for n in range(first, first + count)]
        for n, answer in enumerate(self.owner.submit(wanted), first):
            made = done(answer).events[0].stream
            self._effects[made] = f"RESULT-{n}"

    def take(self, count: int) -> list[Lease]:
        """Lease the next in one commit."""
        return [lease_of(done(a)) for a in self.worker.lease([c.GrantLease()] * count)]

    def finish(self, claims: Sequence[Lease]) -> None:
        """Hand the results in, in one commit, and have them looked at and shipped in the next."""
        for lease, answer in zip(claims, self.worker.report_effect(_results(claims)), strict=True):
            done(answer)
            self._handed_in.append(self._effects.pop(lease.item))
        self._look()

    def turn(self, claim: Lease) -> Lease:
        """Hand one in and lease the next in the same commit; looks are made by the hundred."""
        first, second = self.worker.run([*_results([claim]), c.GrantLease()])
        done(first)
        self._handed_in.append(self._effects.pop(claim.item))
        if len(self._handed_in) >= LOOKED_AT:
            self._look()
        return lease_of(done(second))

    def _look(self) -> None:
        """Let the reconciler read the stored results again, which ships and verifies the work."""
        names, self._handed_in = self._handed_in, []
        looked = self.reconciler.these(names)
        if [name for name, _ in looked] != names:
            raise DoesNotAddUp(f"benchmark of {REMIT}: {len(looked)} of {len(names)} looked at")
        for _, answer in looked:
            done(answer)

    def _envelope(self, number: int) -> Envelope:
        return Envelope(
            work_id=f"JOB-{number}",
            message_id=f"MESSAGE-{number}",
            operation_id="RENDER",
            effect_id=f"RESULT-{number}",
            replay_class="PURE",
            completion_test=TEST,
            payload_digest=f"JOB-{number}",
            payload_bytes=100,
            priority_class=CLASS,
            deadline=self.began + HOUR_MS * 1_000,
            minimum_completion_margin_ms=1_000,
        )

    def holds(self) -> Holds:
        """Works on the ledger, and those that are not shipped and verified."""
        with self.ledger.reading() as tx:
            facts = tx.small()
        made, over = facts.get(("counter", "work-item")), facts.get(("count", Status.VERIFIED))
        total = made if isinstance(made, int) else 0
        return Holds(total, total - (over if isinstance(over, int) else 0))

    def close(self) -> None:
        """Close the ledger."""
        self.ledger.close()


def _plenty(now: int) -> Capacity:
    """An observation of many free workers with short jobs, so that it supports a whole run."""
    return Capacity(
        id="",
        version=0,
        work_class=CLASS,
        observed_at=now,
        start_delay_ms=0,
        duration_ms=10,
        queued_items=None,
        queued_bytes=None,
        oldest_eligible_age_ms=None,
        arrival_window_ms=None,
        arrivals=None,
        completion_window_ms=None,
        completions=None,
        in_flight=None,
        worker_limit=1_000,
        reserved=0,
        dependency_state="",
        destination_revision="",
        observer="",
        seq=0,
    )


def _results(leases: Sequence[Lease]) -> list[ReportEffect]:
    texts = [(lease, f"result of {lease.item}") for lease in leases]
    return [ReportEffect(x.item, x.fence, "", _digest(text), c.Text(text)) for x, text in texts]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
