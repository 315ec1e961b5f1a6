"""What should hold of effect work, said a second time: the machine of effects, and who may say what.

``verdicts`` has the table of admission; here is the rest of CONTRACT 4 and 7, as tables and recounts.
Nothing of ``remit.core`` is called but the shapes of its values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from remit.core.effect_facts import AdmissionPolicy, Capacity, Effect, EffectState, Intent
from remit.core.evidence import Evidence, Rival
from remit.core.facts import Fact, Item, Ledger
from remit.proofs.effect_cast import CLASS

Get = Callable[[str, str], Fact | None]

OPEN: Final = ("INTENDED", "UNCERTAIN", "CONTRADICTED")
STARTABLE: Final = ("NOT_STARTED", "ABSENT")

AFTER: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "EffectClaimed": {
        "": ("NOT_STARTED",),
        "NOT_STARTED": ("NOT_STARTED",),
        "ABSENT": ("ABSENT", "NOT_STARTED"),
    },
    "EffectIntended": {"NOT_STARTED": ("INTENDED",), "ABSENT": ("INTENDED",)},
    "EffectSent": {"INTENDED": ("INTENDED",), "UNCERTAIN": ("UNCERTAIN",)},
    "EffectAnswered": {
        "INTENDED": ("INTENDED",),
        "UNCERTAIN": ("UNCERTAIN",),
        "NOT_STARTED": ("NOT_STARTED",),
    },
    "WorkerTerminated": {"INTENDED": ("INTENDED",), "UNCERTAIN": ("UNCERTAIN",)},
    "EffectUncertain": {"INTENDED": ("UNCERTAIN",), "UNCERTAIN": ("UNCERTAIN",)},
    "EffectObserved": {
        "INTENDED": ("UNCERTAIN", "PRESENT", "ABSENT", "CONTRADICTED"),
        "UNCERTAIN": ("UNCERTAIN", "PRESENT", "ABSENT", "CONTRADICTED"),
        "ABSENT": ("ABSENT", "CONTRADICTED"),
        "PRESENT": ("PRESENT", "CONTRADICTED"),
        "CONTRADICTED": ("CONTRADICTED", "PRESENT", "ABSENT"),
        "NOT_STARTED": ("NOT_STARTED", "PRESENT", "CONTRADICTED"),
    },
}
"""CONTRACT 4: what each event of an effect's stream may lead to. A new epoch leads to UNCERTAIN."""

TRIGGERS: Final = (
    "capacity", "time", "dependency", "reconcile", "recovery", "destination", "decision",
    "cancellation", "policy",
)  # fmt: skip
"""Kinds of triggers that a hold may name."""


def standing(effect: Effect | None, ledger: Ledger) -> str:
    """What is known of an effect: after an adoption nothing, until it was looked up."""
    if effect is None:
        return "NOT_STARTED"
    lost = effect.epoch < ledger.epoch and effect.replay_class != "PURE"
    return "UNCERTAIN" if lost else effect.state.value


def evidence(get: Get, item: Item, items: dict[str, Item], retry_at: int) -> Evidence:
    """What a verdict on this work should rest on, gathered once more.

    ``retry_at`` is the time before which no other attempt may be admitted, by the books.
    """
    intent, ledger = get("intent", item.id), get("ledger", "ledger")
    assert isinstance(intent, Intent)
    assert isinstance(ledger, Ledger)
    envelope = intent.envelope
    fact = get("effect", envelope.effect_id)
    effect = fact if isinstance(fact, Effect) else None
    own = effect if effect is not None and effect.item == item.id else None
    state = standing(own, ledger)
    if effect is None and ledger.epoch and envelope.replay_class != "PURE":
        state = "UNCERTAIN"
    rival = _rival(effect, ledger, items) if effect is not own and effect is not None else None
    if rival is not None and effect is not None and rival.standing == "closed":
        gone = effect.epoch < ledger.epoch and envelope.replay_class != "PURE"
        if gone and rival.state in STARTABLE:
            state = "UNCERTAIN"
    name = get("current", f"capacity/{CLASS}")
    seen = get("capacity", name) if isinstance(name, str) else None
    return Evidence(
        work_class=item.work_class,
        faults=len(intent.faults),
        own=EffectState(state),
        intents=effect.intents if effect is not None else 0,
        rival=rival,
        unmet=tuple(d.via for d in item.dependencies if d.state != "met"),
        destination=str(get("current", f"destination/{envelope.destination}") or ""),
        authorized_by=intent.authorized_by,
        seen=seen if isinstance(seen, Capacity) else None,
        retry_at=retry_at,
        eligible=item.status == "ready",
    )


def _rival(effect: Effect, ledger: Ledger, items: dict[str, Item]) -> Rival:
    other = items[effect.item]
    state = EffectState(standing(effect, ledger))
    status = str(other.status)
    done = status in ("shipped", "verified") or state == "PRESENT"
    where = "completed" if done else "closed" if status == "closed" else "live"
    return Rival(other.id, where, state, effect.operation, effect.payload_digest)


def wakes_at(intent: Intent, policy: AdmissionPolicy, trigger: str, reason: str) -> int:
    """The time trigger that a hold by admission must have beside its other one, 0 for none."""
    if reason in EARLY:
        return 0
    times = [int(trigger[5:])] if trigger.startswith("time:") else []
    envelope = intent.envelope
    if envelope.deadline is not None and "deadline" in policy.rows:
        times.append(envelope.deadline - 1_000 * (envelope.minimum_completion_margin_ms or 0))
    return min(times, default=0)


EARLY: Final = (
    "PRIOR_EFFECT_UNRECONCILED",
    "PRIOR_EFFECT_PRESENT",
    "CANCELLATION_UNOBSERVABLE",
    "EFFECT_UNCERTAIN",
)
"""Holds of rows before the one that looks at lifetimes."""


def fits(seen: Capacity, before: int, now: int, deadline: int | None, margin: int) -> bool:
    """Whether one more may start on an observation of one worker, after those ``before``."""
    if deadline is None:
        return True
    each = 1_000 * (seen.duration_ms or 0)
    start = max(now, seen.observed_at + 1_000 * (seen.start_delay_ms or 0) + before * each)
    return start + max(each, margin * 1_000) <= deadline
