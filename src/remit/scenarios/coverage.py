"""What scenarios may claim to cover, and whether a played one did.

A label is no promise: each is a question to the events of the trace. ``row-7`` needs a verdict that row
7 of admission decided, ``table-absent`` a look-up that came to ABSENT, a boundary a comparison whose
figures lie exactly on it. A label that the trace never reached makes the scenario fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from remit.core.checks import Check, Result
from remit.core.effect_events import (
    AdmissionDecided,
    EffectIntended,
    EffectObserved,
    IntentReceived,
    RetryDecided,
    WorkerTerminated,
)
from remit.core.events import Recorded
from remit.core.retrying import Retry

ROWS: Final = {
    "PRIOR_EFFECT_UNRECONCILED": 0,
    "PRIOR_EFFECT_PRESENT": 0,
    "INVALID_ENVELOPE": 1,
    "CANCELLED": 1,
    "CANCELLATION_UNOBSERVABLE": 1,
    "OPERATION_FORBIDDEN": 2,
    "CLASS_FORBIDDEN": 2,
    "REPLAY_CLASS_FORBIDDEN": 2,
    "PAYLOAD_TOO_LARGE": 2,
    "SAME_EFFECT": 3,
    "EFFECT_CONFLICT": 3,
    "EFFECT_UNCERTAIN": 3,
    "DEADLINE_PASSED": 4,
    "MARGIN_IMPOSSIBLE": 4,
    "NOT_BEFORE": 5,
    "RETRY_BACKOFF": 5,
    "UNMET_DEPENDENCY": 6,
    "DESTINATION_UNKNOWN": 6,
    "HUMAN_DECISION_MISSING": 6,
    "CAPACITY_EVIDENCE_MISSING": 7,
    "STALE_CAPACITY_EVIDENCE": 7,
    "CAPACITY_EVIDENCE_FROM_FUTURE": 7,
    "INCOMPLETE_CAPACITY_EVIDENCE": 7,
    "NO_FREE_WORKER": 7,
    "MARGIN_NOT_PRESERVED": 8,
    "DEADLINE_UNREACHABLE": 8,
    "ELIGIBLE": 9,
}
"""The row of admission that gives a verdict its reason."""

TABLE: Final = {
    "present": "EFFECT_PRESENT",
    "absent": "EFFECT_ABSENT",
    "may-arrive": "REQUEST_MAY_ARRIVE",
    "contradicted": "EFFECT_MISMATCH",
    "more-than-one": "MORE_THAN_ONE_OBJECT",
    "present-after-absent": "PRESENT_AFTER_ABSENT",
    "none-after-present": "NONE_AFTER_PRESENT",
    "unavailable": "RECORD_UNAVAILABLE",
    "no-bound": "NO_BOUND",
    "no-look-up": "NO_LOOKUP",
}
"""The rows of reconciliation's table, by the reason of the retry decision or of the record."""

Events = list[Recorded]


def _of(events: Events, kind: type[Any]) -> Iterator[Any]:
    return (r.event for r in events if isinstance(r.event, kind))


def _checks(events: Events, name: str) -> Iterator[Check]:
    for event in _of(events, AdmissionDecided):
        yield from (check for check in event.checks if check.check == name)


def _figures(check: Check) -> tuple[int, int] | None:
    """What was observed and required, where both are figures."""
    wanted = check.required.lstrip("<>=")
    try:
        return int(check.observed), int(wanted)
    except ValueError:
        return None


def _at(name: str, result: Result, off: int, reason: str = "") -> Callable[[Events], bool]:
    """A check with this result whose figure lies so far from what was required."""

    def asked(events: Events) -> bool:
        for check in _checks(events, name):
            found = _figures(check)
            said = check.result is result and (not reason or check.reason == reason)
            if found and said and found[0] - found[1] == off:
                return True
        return False

    return asked


def _figure(name: str, result: Result, wanted: Callable[[int], bool], reason: str = "") -> Any:
    def asked(events: Events) -> bool:
        return any(
            check.result is result and check.observed.lstrip("-").isdigit()
            and wanted(int(check.observed)) and (not reason or check.reason == reason)
            for check in _checks(events, name)
        )  # fmt: skip

    return asked


def _reason(reason: str) -> Callable[[Events], bool]:
    """A verdict with this reason, or a retry decision that holds work for it."""
    return lambda events: (
        any(e.reason == reason for e in _of(events, AdmissionDecided))
        or any(e.hold_reason == reason for e in _of(events, RetryDecided))
    )


def _row(number: int) -> Callable[[Events], bool]:
    return lambda events: (
        any(ROWS.get(e.reason) == number for e in _of(events, AdmissionDecided))
        or (
            number == 0
            and any(e.reason == "PRIOR_EFFECT_UNRECONCILED" for e in _of(events, RetryDecided))
        )
    )


def _table(name: str) -> Callable[[Events], bool]:
    reason = TABLE[name]

    def asked(events: Events) -> bool:
        decided = any(e.reason == reason for e in _of(events, RetryDecided))
        if name in ("present", "absent"):
            return any(e.state == name.upper() for e in _of(events, EffectObserved))
        evidence = any(reason in getattr(r.event, "evidence", ()) for r in events)
        return decided or evidence or (name == "none-after-present" and _gone(events))

    return asked


def _gone(events: Events) -> bool:
    """A look-up that saw nothing where something was; on work that is finished nothing is decided."""
    return any(
        e.result == "NONE" and e.state == "CONTRADICTED" for e in _of(events, EffectObserved)
    )


def _retry(decision: str) -> Callable[[Events], bool]:
    return lambda events: any(e.decision == decision for e in _of(events, RetryDecided))


def _untested(name: str) -> Callable[[Events], bool]:
    return lambda events: any(c.result is Result.NOT_TESTED for c in _checks(events, name))


def _begins_now(events: Events) -> bool:
    begin = {
        r.stream: r.event.envelope.not_before for r in events if isinstance(r.event, IntentReceived)
    }
    return any(
        isinstance(r.event, AdmissionDecided) and begin.get(r.stream) == r.at
        and any(c.check == "not-before" and c.result is Result.PASS for c in r.event.checks)
        for r in events
    )  # fmt: skip


def _looked_at_the_bound(events: Events) -> bool:
    """A look-up that began at the very last moment at which a request may still arrive."""
    until: dict[str, int | None] = {}
    for r in events:
        if isinstance(r.event, EffectIntended | WorkerTerminated):
            until[r.entity] = r.event.arrives_until
        elif isinstance(r.event, EffectObserved) and r.event.looked_at == until.get(r.entity):
            return r.event.result == "NONE" and r.event.state == "UNCERTAIN"
    return False


def _stored_at_limit(events: Events) -> bool:
    found = [_figures(c) for e in _of(events, IntentReceived) for c in e.checks]
    return any(figures is not None and figures[0] == figures[1] for figures in found)


LABELS: Final[dict[str, Callable[[Events], bool]]] = {
    **{f"row-{number}": _row(number) for number in range(10)},
    **{f"reason-{reason}": _reason(reason) for reason in ROWS if reason != "PRIOR_EFFECT_PRESENT"},
    **{f"table-{name}": _table(name) for name in TABLE},
    **{f"retry-{decision}": _retry(decision) for decision in Retry},
    "boundary-age-at-limit": _at("capacity-freshness", Result.PASS, 0),
    "boundary-age-over-limit": _at("capacity-freshness", Result.FAIL, 1, "STALE_CAPACITY_EVIDENCE"),
    "boundary-skew-allowed": _figure("capacity-freshness", Result.PASS, lambda n: n < 0),
    "boundary-skew-too-far": _figure(
        "capacity-freshness", Result.FAIL, lambda n: n < 0, "CAPACITY_EVIDENCE_FROM_FUTURE"
    ),
    "boundary-margin-at-limit": _at("margin", Result.PASS, 0),
    "boundary-margin-under-limit": _at("margin", Result.FAIL, -1),
    "boundary-zero-delay-margin-at-limit": _at("margin-zero-delay", Result.PASS, 0),
    "boundary-deadline-now": _figure("deadline", Result.FAIL, lambda n: n == 0),
    "boundary-completion-at-deadline": _at("expected-completion", Result.PASS, 0),
    "boundary-completion-over-deadline": _at("expected-completion", Result.FAIL, 1),
    "boundary-not-before-now": _begins_now,
    "boundary-zero-delay": _figure("start-delay", Result.PASS, lambda n: n == 0),
    "boundary-zero-workers": _figure("capacity-workers", Result.FAIL, lambda n: n == 0),
    "boundary-evidence-missing": _reason("CAPACITY_EVIDENCE_MISSING"),
    "boundary-evidence-incomplete": _reason("INCOMPLETE_CAPACITY_EVIDENCE"),
    "boundary-no-deadline": _untested("deadline"),
    "boundary-no-margin": _untested("margin-zero-delay"),
    "boundary-storage-at-limit": _stored_at_limit,
    "boundary-in-flight-bound": _looked_at_the_bound,
}
"""Every label, with the question that it is to a trace."""


def row_of(reason: str) -> int | None:
    """The row of admission behind a reason, None where it is no verdict's."""
    return ROWS.get(reason)


def reached(label: str, traces: Iterable[Events]) -> bool:
    """Whether any branch reached what a label names."""
    return any(LABELS[label](events) for events in traces)
