"""What a run is made of: the works, where their effects come about, and what may befall everybody.

Three destinations, each a process of its own that enforces one thing: ``keyed`` an idempotency key,
``plain`` nothing but a bound of how long a request is under way, ``fenced`` fences and no bound. All
can be looked up. All times are short, so that leases end, bounds pass and retries come in seconds.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from remit.core import commands as c
from remit.core.effect_facts import AdmissionPolicy, Capacity, Comparison, Envelope, Validation
from remit.core.facts import LEDGER, Ledger
from remit.ports import ReadTx
from remit.ports.destination import digest_of
from remit.service.submitting import intent_of
from remit.wiring import enforced

HUMAN: Final = "ada"
MODES: Final = ("keyed", "plain", "fenced")
TTL_MS: Final = 1_000
IN_FLIGHT_MS: Final = 1_500
"""What is declared; the service drops what is older than ``DROPPED_MS``, so that clocks may differ."""
DROPPED_MS: Final = 1_200
DELAY_MS: Final = 1_150
"""The longest delay of a request: beyond a lease, within the bound."""
TIMEOUT_MS: Final = 500
FRESH_MS: Final = 1_500

BEHAVIOUR: Final[dict[str, dict[str, Any]]] = {
    "keyed": {"ignores_fence": True, "in_flight_ms": DROPPED_MS},
    "plain": {"ignores_key": True, "ignores_fence": True, "in_flight_ms": DROPPED_MS},
    "fenced": {"ignores_key": True, "no_bound": True},
}
"""How the service of each mode is set; each refuses no more than its document says."""

CHAOS: Final[dict[str, float]] = {
    "lost": 0.08, "unanswered": 0.08, "delayed": 0.12, "twin": 0.05, "delay_ms": DELAY_MS,
}  # fmt: skip
"""How likely it is that something befalls a request."""

LOOKUP: Final = {"lookup": True, "lookup_consistent": True}
ENFORCES: Final[dict[str, dict[str, Any]]] = {
    "keyed": {**LOOKUP, "idempotency_key": True, "in_flight_ms": IN_FLIGHT_MS},
    "plain": {**LOOKUP, "in_flight_ms": IN_FLIGHT_MS},
    "fenced": {**LOOKUP, "fence": True},
}

RULES: Final = Validation("RULES-1", 0, "a" * 64, "", (), 0, 0, 0)
POLICY: Final = AdmissionPolicy(
    label="POLICY-1", version=0, digest="b" * 64, document="", validation="RULES-1",
    classes=("*",), operations=("*",),
    replay_classes=("IDEMPOTENT", "RECONCILABLE", "COMPENSATABLE", "IRREVERSIBLE"),
    max_payload_bytes=0, storage_limit=0, storage_retry_ms=0, freshness_limit_ms=FRESH_MS,
    clock_skew_ms=500, capacity_fields=("worker_limit",),
    rows=("capacity", "cancellation", "destination"), human_decision=(), recheck_horizon=1_000,
    attempts=12, looks=60, backoff_base_ms=20, backoff_cap_ms=200, retry_within_ms=3_600_000,
    admission_owner="ADMISSION-1", retry_owner="RETRY-1", seq=0,
)  # fmt: skip


class Plan(msgspec.Struct):
    """One run. ``restores`` are shares of settled works: when a backup is made, when it is put back.

    ``kills`` is how many processes are to be killed before the last part, in which nothing befalls
    anybody any more; ``plant`` is a fault planted in every worker and controller. ``patience_s`` is
    when a run fails that has not come to rest, or ends where a fault is planted. ``timeout_ms`` is
    how long workers wait for an answer.
    """

    folder: str
    seed: int
    effects: int
    workers: int
    kills: int
    restores: list[tuple[float, float]]
    url: str = ""
    urls: list[str] = []
    """More databases, one for each time that a ledger on a server is put back."""
    ports: dict[str, int] = {}
    modes: tuple[str, ...] = MODES
    plant: str = ""
    chaos: dict[str, float] = msgspec.field(default_factory=lambda: dict(CHAOS))
    patience_s: float = 100
    timeout_ms: int = TIMEOUT_MS


def mode_of(plan: Plan, number: int) -> str:
    """Where the effect of a work comes about."""
    return plan.modes[number % len(plan.modes)]


def effect_of(plan: Plan, number: int) -> str:
    """The name of an effect, which tells its mode to whoever reads a record."""
    return f"{mode_of(plan, number)}-{number}"


def payload_of(effect: str) -> bytes:
    """What is sent for an effect, whoever sends it and whenever."""
    return f"the package of {effect}".encode()


def envelope(plan: Plan, number: int) -> Envelope:
    """The message of one work."""
    mode, effect = mode_of(plan, number), effect_of(plan, number)
    digest = digest_of(payload_of(effect))
    replay = {"keyed": "IDEMPOTENT", "plain": "RECONCILABLE", "fenced": "COMPENSATABLE"}[mode]
    if mode == "plain" and number % 11 == 1:
        replay = "IRREVERSIBLE"
    return Envelope(
        work_id=f"WORK-{number}",
        message_id=f"MESSAGE-{number}",
        operation_id="EXPORT",
        effect_id=effect,
        replay_class=replay,
        completion_test=(
            Comparison("one object", "object_count", "count", "1"),
            Comparison("digest", "digest", "equals", digest),
        ),
        payload_digest=digest,
        destination=mode,
        cancellation_state="NOT_REQUESTED",
        authoritative_effect_record=record_of(mode),
        blast_radius="one package",
        compensation="remove the package" if mode == "fenced" else "",
        decision="D-1" if replay == "IRREVERSIBLE" else "",
    )


def message(plan: Plan, number: int) -> c.SubmitIntent:
    """The command that hands a work in."""
    return intent_of(envelope(plan, number))


def record_of(mode: str) -> str:
    """The authoritative record of a destination."""
    return f"index of {mode}"


def document(mode: str, port: int) -> dict[str, Any]:
    """The document of a destination; each send says its own id and when it was made."""
    base = f"http://127.0.0.1:{port}"
    settings: dict[str, Any] = {
        "send_url": f"{base}/effects",
        "lookup_url": f"{base}/records/{{key}}",
        "absent_header": "Remit-Key",
        "objects": "objects",
        "headers_env": {"X-Send": "SEND_ID", "X-Sent-At": "SENT_AT"},
    }
    if mode == "fenced":
        settings["fence_url"] = f"{base}/fences/{{key}}"
    return {
        "name": mode,
        "kind": "http",
        "record": record_of(mode),
        "settings": settings,
        "enforces": ENFORCES[mode],
    }


def registrations(plan: Plan) -> list[c.Command]:
    """What is registered on a new ledger."""
    found: list[c.Command] = [c.RegisterValidation(RULES), c.RegisterPolicy(POLICY)]
    found += [c.EnrolActor(f"w{n}", "agent") for n in range(plan.workers)]
    for mode in plan.modes:
        said = document(mode, plan.ports[mode])
        there = enforced(said).registered(f"{mode.upper()}-1", mode, digest_of(mode.encode()), "")
        found.append(c.RegisterDestination(there))
    return found


def capacity(now: int, workers: int) -> c.ObserveCapacity:
    """What the controller observes of the workers: room for a few more."""
    figures: dict[str, Any] = dict.fromkeys(Capacity.__slots__)
    figures |= {
        "id": "", "version": 0, "work_class": "default", "observed_at": now, "start_delay_ms": 0,
        "duration_ms": 10, "worker_limit": workers, "reserved": 0, "dependency_state": "",
        "destination_revision": "", "observer": "controller", "seq": 0,
    }  # fmt: skip
    return c.ObserveCapacity(Capacity(**figures))


def epoch_of(tx: ReadTx) -> int:
    """The ledger's epoch."""
    ledger = tx.load([LEDGER])[LEDGER]
    return ledger.epoch if isinstance(ledger, Ledger) else 0
