"""Ownership, the attempt, the retry decision and reconciliation: what is known of the outside, and what not.

Local ownership is shown beside what the destination does not enforce, as two results. The attempt,
its lease, the end of its worker, the effect and the acknowledgement are five answers, and none of them
is taken for another (INV-13).
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.checks import Result
from remit.core.effect_events import (
    EffectAnswered,
    EffectIntended,
    EffectObserved,
    EffectSent,
    EffectUncertain,
    EffectVerified,
    ResponseReported,
    WorkerTerminated,
)
from remit.core.effect_facts import EffectState
from remit.core.item_events import LeaseExpired, LeaseGranted, LeaseReleased
from remit.core.retrying import Retry
from remit.service.reading.rendering import plain
from remit.service.reading.sheets import claims
from remit.service.reading.sheets.states import execution, states
from remit.service.reading.sheets.story import ABSENT, Story, Told, at, check_of, line, section

PASS, FAIL, BLOCKED, NOT_TESTED = Result.PASS, Result.FAIL, Result.BLOCKED, Result.NOT_TESTED

EXTERNAL: Final = ("external-fencing", "external-duplicate-prevention")

_RESULTS: Final = {
    EffectState.NOT_STARTED: "NOT STARTED",
    EffectState.INTENDED: "UNCERTAIN",
    EffectState.UNCERTAIN: "UNCERTAIN",
    EffectState.PRESENT: "COMPLETED",
    EffectState.ABSENT: "NO EFFECT",
    EffectState.CONTRADICTED: "CONTRADICTED",
}


def ownership(story: Story) -> dict[str, Any]:
    """Who owns what, and how far that reaches."""
    given, policy, granted = story.envelope, story.policy, story.last(LeaseGranted)
    lease = granted.event.lease if granted else None
    intended = story.intended
    narrowed = [plain(c) for c in intended.event.checks] if intended else []
    narrowed = [c for c in narrowed if c["check"] == "local-fencing" or c["required"] == "enforced"]
    owner = story.item.owner
    lines = [
        line(
            "admission owner", given.admission_owner or (policy.admission_owner if policy else "")
        ),
        line("retry owner", given.retry_owner or (policy.retry_owner if policy else "")),
        line("execution owner", lease.actor if lease else given.execution_owner),
        line("owner now", f"{owner.kind}: {owner.identity}" if owner else "nobody: it is closed"),
        line("attempt", attempt(story)),
        line("lease", lease.id if lease else ""),
        line("fence", lease.fence if lease else ""),
        line("lease state", lease_state(story)),
        line("expires at", at(lease.expires_at) if lease else ""),
    ]
    return section(
        "Ownership",
        PASS if granted else NOT_TESTED,
        lines=lines,
        checks=[
            check_of(
                "local-ownership",
                PASS if granted else NOT_TESTED,
                lease.fence if lease else "",
                "the newest fence",
                granted.evidence if granted else "",
            ),
            *narrowed,
        ],
        claims=plain(claims.STATES["OWNERSHIP"]),
    )


def external(story: Story) -> Result:
    """Whether the destination itself prevents a duplicate; BLOCKED where it enforces nothing."""
    intended = story.intended
    if intended is None:
        return NOT_TESTED
    results = [c.result for c in intended.event.checks if c.check in EXTERNAL]
    return PASS if PASS in results else BLOCKED


def attempt(story: Story) -> str:
    """The id of the newest attempt."""
    from remit.core.ids import attempt_id

    told = story.last(LeaseGranted)
    if told is None:
        return ""
    lease = told.event.lease
    return attempt_id(lease.fence >> 32, lease.item, lease.attempt)


def lease_state(story: Story) -> str:
    """Whether the newest lease is current, or how it ended."""
    if story.granted is None:
        return ""
    ended = story.lease_ended
    if ended is None:
        return "CURRENT"
    match ended.event:
        case LeaseExpired():
            return "EXPIRED"
        case LeaseReleased():
            return "RELEASED"
        case ResponseReported():
            return "REPORTED"
        case _:
            return "EXPIRED" if _said(story, "LEASE_EXPIRED", ended.seq) else "ENDED"


def _said(story: Story, reason: str, near: int) -> bool:
    told = story.last(EffectUncertain)
    return told is not None and told.event.reason == reason and abs(told.seq - near) <= 3


def termination(story: Story) -> Result:
    """Whether anybody saw the worker of the newest attempt end."""
    intended = story.intended
    ended = story.last(WorkerTerminated)
    if intended is None:
        return NOT_TESTED
    return PASS if ended is not None and ended.seq > intended.seq else BLOCKED


def acknowledgement(story: Story) -> str:
    """Whether any answer is recorded of what the newest attempt sent."""
    effect = story.own
    if effect is None or not (effect.intents or effect.response_seq):
        return ""
    return "RECORDED" if effect.response_seq else "NOT RECORDED"


def attempted(story: Story) -> dict[str, Any]:
    """The newest attempt: what is known of it, and what is missing."""
    started, effect = story.last(LeaseGranted), story.own
    intended = story.intended
    lines = [
        line("attempt", attempt(story)),
        line("execution state", execution(story)),
        line("attempt result", _RESULTS[story.state] if started else "NOT STARTED"),
        line("lease state", lease_state(story)),
        line("worker termination", termination(story)),
        line("effect state", story.state),
        line("message acknowledgement", acknowledgement(story)),
        line("idempotency key", effect.key if effect else ""),
        line(
            "nothing arrives after",
            at(effect.arrives_until) if effect and effect.intents else "",
        ),
    ]
    checks = []
    if intended is not None:
        checks = [*known(story), *missing(story)]
    result: object = NOT_TESTED if started is None else _RESULTS[story.state]
    return section("Attempt", result, lines=lines, checks=checks)


def known(story: Story) -> list[dict[str, Any]]:
    """Evidence that is recorded, each with its event."""
    found = []
    for told in story.all(
        LeaseGranted, EffectIntended, EffectSent, EffectAnswered, EffectUncertain, WorkerTerminated
    ):
        found.append(check_of(*_known(told)))
    ended = story.lease_ended
    if ended is not None:
        found.append(check_of("lease-ended", PASS, lease_state(story), "", ended.evidence))
    return found


def _known(told: Told) -> tuple[str, Result, str, str, str]:
    event = told.event
    match event:
        case LeaseGranted():
            name, seen = "lease-granted", f"{event.lease.id} fence {event.lease.fence}"
        case EffectIntended():
            name, seen = "intended", event.payload_digest
        case EffectSent():
            name, seen = "request-sent", event.payload_digest
        case EffectAnswered():
            name, seen = "response", event.response
        case EffectUncertain():
            name, seen = "no-answer", event.reason
        case _:
            name, seen = "worker-terminated", event.evidence
    return name, PASS, seen, "", told.evidence


def missing(story: Story) -> list[dict[str, Any]]:
    """What would have to be seen, and was not."""
    effect, seen = story.own, story.observed
    if effect is None:
        return []
    lacking = []
    if not effect.sent_seq:
        lacking.append("request-sent")
    if not effect.response_seq:
        lacking.append("response")
    if effect.terminated_at is None:
        lacking.append("worker-terminated")
    unread = seen is None or seen.event.result == "UNAVAILABLE"
    if unread and story.state in (EffectState.INTENDED, EffectState.UNCERTAIN):
        lacking += ["effect-committed", "digest-matches", "duplicate-record"]
    return [check_of(name, BLOCKED, "not observed", "observed") for name in lacking]


def retry(story: Story) -> dict[str, Any]:
    """The newest retry decision."""
    told = story.retry
    boxes = [{"name": str(r), "chosen": bool(told and told.event.decision == r)} for r in Retry]
    if told is None:
        return section("Retry decision", NOT_TESTED, boxes=boxes)
    event = told.event
    lines = [
        line("decision", event.decision),
        line("typed reason", event.reason),
        line("decided", f"{told.evidence} at {at(told.recorded.at)}"),
        line("retry owner", event.owner),
        line("recheck trigger", event.trigger),
        line("looked at again", at(event.recheck_at or None)),
        line("replacement worker", event.replacement or "none named"),
        line("prior attempt", event.prior_attempt),
        line("candidate attempt", event.candidate_attempt),
        line("candidate fence", event.candidate_fence),
        line("prior external effect", event.effect_state),
        line("attempt result", event.attempt_result),
        line("lease state", event.lease_state),
        line("worker termination", event.worker_termination),
        line("message acknowledgement", event.acknowledgement),
        line("execution state of the candidate", event.execution),
        line("observation", event.observation),
    ]
    return section(
        "Retry decision",
        event.decision,
        lines=lines,
        checks=[plain(check) for check in event.checks],
        boxes=boxes,
        claims=plain(claims.of_retry(event.reason)),
    )


def reconciliation(story: Story) -> dict[str, Any]:
    """The newest look-up, compared with the completion test one by one."""
    told = story.observed
    if told is None:
        test = [
            check_of(c.name, NOT_TESTED, "", c.required or c.comparator)
            for c in story.envelope.completion_test
        ]
        return section("Reconciliation", NOT_TESTED, checks=test)
    event = told.event
    lines = [
        line("observation", event.observation),
        line("record", event.record),
        line("looked at", at(event.looked_at)),
        line("look-up result", event.result),
        line("objects", event.objects),
        *(line(f"observed {name}", value) for name, value in event.values),
        line("unresolved differences", ", ".join(event.differences) or _none(event)),
        line("nothing can arrive because", event.basis),
        line("terminal state", terminal(story)),
    ]
    return section(
        "Reconciliation", event.state, lines=lines, checks=[plain(c) for c in event.checks]
    )


def _none(event: EffectObserved) -> str:
    return ABSENT if event.result == "UNAVAILABLE" else "none"


def terminal(story: Story) -> str:
    """COMPLETED where the completion test passed on an observation, or what is known instead."""
    if states(story)["COMPLETED"][0] is PASS:
        return "COMPLETED"
    return str(story.state)


def compared(story: Story) -> Result:
    """What the comparisons of the newest look-up came to together."""
    told = story.observed
    if told is None:
        return NOT_TESTED
    results = {c.result for c in told.event.checks if c.check not in ("record",)}
    for worst in (FAIL, BLOCKED, NOT_TESTED):
        if worst in results:
            return worst
    return PASS


def oracle(story: Story) -> dict[str, Any]:
    """What this ledger can say of the questions that one asks last."""
    from remit.service.reading.sheets.questions import asked

    return section(
        "Oracle", "", checks=[check_of(name, result) for name, result in asked(story).items()]
    )


__all__ = [
    "EXTERNAL",
    "EffectVerified",
    "attempted",
    "oracle",
    "ownership",
    "reconciliation",
    "retry",
]
