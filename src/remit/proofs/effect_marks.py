"""Marks of effect work: rare branches of admission, of effects, and of the outside.

A reason that no verdict ever gave was not explored, and neither was a request that never came late.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remit.core.effect_facts import Effect
from remit.core.facts import Item
from remit.core.refusals import Code
from remit.proofs.effect_moves import cast_of
from remit.proofs.outside import accepted
from remit.proofs.world import Stage, State, Taken

OF_CODES: Final = {
    Code.EFFECT_UNRECONCILED: "refused-unreconciled",
    Code.EFFECT_NOT_INTENDED: "refused-not-intended",
    Code.EFFECT_CONFLICT: "refused-other-payload",
    Code.WORK_CANCELLED: "refused-cancelled",
    Code.DEADLINE_PASSED: "refused-after-deadline",
    Code.OBSERVATION_STALE: "refused-stale-observation",
    Code.MESSAGE_CHANGED: "refused-changed-message",
    Code.RATE_LIMIT: "rate-reached",
    Code.BUDGET_EXHAUSTED: "budget-reached",
}
"""Marks that a refusal leaves by its code."""

REASONS: Final = frozenset(
    (
        "eligible", "cancelled", "cancellation-unobservable", "same-effect", "effect-conflict",
        "effect-uncertain", "deadline-passed", "margin-impossible", "not-before",
        "unmet-dependency", "human-decision-missing", "capacity-evidence-missing",
        "stale-capacity-evidence", "capacity-evidence-from-future",
        "incomplete-capacity-evidence", "no-free-worker", "margin-not-preserved",
        "deadline-unreachable", "retry-backoff",
    )
)  # fmt: skip
"""Reasons of verdicts, as their marks."""

EFFECT_MARKS: Final = (
    frozenset(OF_CODES.values())
    | REASONS
    | {
        "seen-present",
        "seen-absent",
        "seen-contradicted",
        "seen-nothing-for-sure",
        "record-away",
        "higher-fence-confirmed",
        "in-flight-bound-passed",
        "decided-retry",
        "decided-hold",
        "decided-suppress",
        "decided-quarantine",
        "went-on-for-another",
        "overrun",
        "older-epoch",
        "admitted-after-another",
        "same-message-again",
        "sent-after-its-lease",
        "arrived-after-its-lease",
        "refused-where-it-arrived",
        "arrived-while-looked-up",
        "restored",
        "strange-object",
    }
)
"""All marks that worlds of effect work must leave together."""


def of_outside(stage: Stage, state: State, what: tuple[str, ...]) -> Iterator[str]:
    """Marks that something outside leaves."""
    request = state.outside.of(what[1]) if len(what) > 1 else None
    if what[0] == "restore":
        yield "restored"
    if what[0] == "strange":
        yield "strange-object"
    if request is None or what[0] not in ("send", "arrive"):
        return
    effect = stage.get(state, "effect", request.effect)
    item = stage.get(state, "item", effect.item) if isinstance(effect, Effect) else None
    lease = item.lease if isinstance(item, Item) else None
    over = lease is None or lease.fence != request.fence
    if what[0] == "send" and over:
        yield "sent-after-its-lease"
    if what[0] == "arrive":
        if over:
            yield "arrived-after-its-lease"
        if not accepted(state.outside, request, cast_of(stage).destination, state.now):
            yield "refused-where-it-arrived"
        elif state.outside.look is not None:
            yield "arrived-while-looked-up"


def of_taken(stage: Stage, state: State, taken: Taken) -> Iterator[str]:
    """Marks that a step on the ledger leaves."""
    if taken.refused is not None and taken.refused.code in OF_CODES:
        yield OF_CODES[taken.refused.code]
    for decided in taken.decided:
        name = type(decided.command).__name__
        if name == "SubmitIntent" and not decided.events:
            yield "same-message-again"
        for rec in decided.events:
            yield from _of_event(type(rec.event).__name__, rec.event, state)


_SEEN: Final = {
    "PRESENT": "seen-present",
    "ABSENT": "seen-absent",
    "CONTRADICTED": "seen-contradicted",
}


def _of_event(name: str, event: Any, state: State) -> Iterator[str]:
    match name:
        case "AdmissionDecided":
            mark = event.reason.lower().replace("_", "-")
            if mark in REASONS:
                yield mark
            admits = state.books.get(f"admits/{event.observation}", 0)
            if event.verdict == "ADMIT" and event.observation and admits:
                yield "admitted-after-another"
        case "EffectObserved":
            if event.result == "UNAVAILABLE":
                yield "record-away"
            elif event.state in _SEEN:
                yield _SEEN[event.state]
            elif event.result == "NONE":
                yield "seen-nothing-for-sure"
            if event.basis:
                yield event.basis
        case "RetryDecided":
            yield f"decided-{event.decision.lower()}"
        case "FollowerReleased":
            yield "went-on-for-another"
        case "SpendSettled":
            if event.overrun:
                yield "overrun"
        case "EffectUncertain":
            if event.reason == "EPOCH_CHANGED":
                yield "older-epoch"
        case _:
            return
