"""The five states, the envelopes and the verdict of effect work, each on evidence of its own (INV-2).

STORED rests on the receipt, VALID on the validation, ELIGIBLE on a verdict, LEASED on a lease that
nothing has ended, COMPLETED on an authoritative observation. None is inferred from another: without
an event of its own a state is NOT_TESTED.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.checks import Result
from remit.core.effect_events import (
    EffectAnswered,
    EffectIntended,
    EffectShipped,
    EffectUncertain,
    EffectVerified,
)
from remit.core.effect_facts import EffectState
from remit.core.evidence import Verdict
from remit.core.status import Status
from remit.service.reading.rendering import plain
from remit.service.reading.sheets import claims
from remit.service.reading.sheets.story import ABSENT, Story, at, check_of, line, ms, section

PASS, FAIL, BLOCKED, NOT_TESTED = Result.PASS, Result.FAIL, Result.BLOCKED, Result.NOT_TESTED

STATES: Final = ("STORED", "VALID", "ELIGIBLE", "LEASED", "COMPLETED")

State = tuple[Result, str, str]
"""A result, what was observed, and the evidence."""


def states(story: Story) -> dict[str, State]:
    """The five states; each names its own evidence."""
    return {
        "STORED": _stored(story),
        "VALID": _valid(story),
        "ELIGIBLE": _eligible(story),
        "LEASED": _leased(story),
        "COMPLETED": _completed(story),
    }


def _stored(story: Story) -> State:
    told = story.received
    if told is None:
        return NOT_TESTED, ABSENT, ""
    return PASS, told.event.receipt, told.evidence


def _valid(story: Story) -> State:
    told = story.validated
    if told is None:
        return NOT_TESTED, ABSENT, ""
    return Result(told.event.result), told.event.validation, told.evidence


def _eligible(story: Story) -> State:
    told, item = story.admission, story.item
    if told is None:
        return NOT_TESTED, "no verdict", ""
    if item.status is Status.HELD and item.hold is not None:
        since = max((r.seq for r in story.events if _held(r.event)), default=told.seq)
        return BLOCKED, f"HOLD {item.hold.reason}", f"seq:{max(since, told.seq)}"
    found = f"{told.event.verdict} {told.event.reason}"
    if told.event.verdict == Verdict.ADMIT:
        return PASS, found, told.evidence
    return (BLOCKED if told.event.verdict == Verdict.HOLD else FAIL), found, told.evidence


def _held(event: object) -> bool:
    return getattr(event, "to", "") == Status.HELD or bool(getattr(event, "hold_reason", ""))


def _leased(story: Story) -> State:
    granted = story.granted
    if granted is None:
        return NOT_TESTED, "no attempt", ""
    lease = granted.event.lease
    ended = story.lease_ended
    if ended is None:
        return PASS, f"{lease.id} fence {lease.fence}", granted.evidence
    return FAIL, f"{lease.id} {_ended(ended.recorded.event)}", ended.evidence


def _ended(event: object) -> str:
    return type(event).__name__


def _completed(story: Story) -> State:
    verified = story.last(EffectVerified)
    if verified is not None:
        return PASS, verified.event.observation, verified.evidence
    shipped = story.last(EffectShipped)
    if shipped is not None:
        return BLOCKED, f"{shipped.event.observation}, not verified", shipped.evidence
    seen, state = story.observed, story.state
    if seen is not None:
        settled = state in (EffectState.ABSENT, EffectState.CONTRADICTED)
        found = f"{seen.event.observation} {state}"
        return (FAIL if settled else BLOCKED), found, seen.evidence
    if state is EffectState.NOT_STARTED:
        return NOT_TESTED, "no effect observed", ""
    known = story.last(EffectIntended, EffectUncertain, EffectAnswered)
    return BLOCKED, f"{state}, not observed", known.evidence if known else ""


# Sections.


def envelope(story: Story) -> dict[str, Any]:
    """What was handed in, with the result of its validation."""
    given, told = story.envelope, story.received
    test = [
        line(f"completion test {n}", f"{c.name}: {c.field} {c.comparator} {c.required}".strip())
        for n, c in enumerate(given.completion_test, 1)
    ]
    lines = [
        line("work", given.work_id),
        line("message", given.message_id),
        line("operation", given.operation_id),
        line("effect", given.effect_id),
        line("payload digest", given.payload_digest),
        line("manifest", given.manifest_id),
        line("authoritative record", given.authoritative_effect_record),
        line("requested at", at(given.requested_at)),
        line("not before", at(given.not_before)),
        line("deadline", at(given.deadline)),
        line("minimum completion margin", ms(given.minimum_completion_margin_ms)),
        line("priority class", given.priority_class),
        line("tenant", given.tenant),
        line("cancellation", given.cancellation_id),
        line("cancellation state", given.cancellation_state or NOT_TESTED),
        line("replay class", given.replay_class),
        line("destination", given.destination),
        line("depends on", ", ".join(given.depends_on)),
        line("blast radius", given.blast_radius),
        line("compensation", given.compensation),
        line("received", told.evidence if told else ""),
        *test,
    ]
    validated = story.validated
    faults = [
        check_of(f.path, FAIL, f.found, f.expected, validated.evidence if validated else "", f.code)
        for f in (validated.event.faults if validated else story.intent.faults)
    ]
    lifetime = [
        _given("not-before", given.not_before),
        _given("deadline", given.deadline),
        _given("minimum-completion-margin", given.minimum_completion_margin_ms),
        _given("cancellation-state", given.cancellation_state or None),
    ]
    return section(
        "Intent envelope",
        states(story)["VALID"][0],
        lines=lines,
        checks=[*faults, *lifetime],
        claims=plain(claims.STATES["VALID"]),
    )


def _given(name: str, value: object) -> dict[str, Any]:
    """Whether a part was given at all: one that was not is NOT_TESTED and never without end."""
    return check_of(
        name, NOT_TESTED if value is None else PASS, "absent" if value is None else "given"
    )


def separation(story: Story) -> dict[str, Any]:
    """The five states beside one another."""
    found = states(story)
    checks = [check_of(name, r, seen, "", evidence) for name, (r, seen, evidence) in found.items()]
    told = story.received
    boundary = line("stored within", told.event.boundary if told else "")
    return section(
        "State separation",
        separate(found),
        lines=[boundary],
        checks=checks,
        claims=plain(claims.STATES["STORED"]),
    )


def separate(found: dict[str, State]) -> Result:
    """Whether each state that says anything names an event of its own."""
    named = [evidence for result, _, evidence in found.values() if result is not NOT_TESTED]
    if not named:
        return NOT_TESTED
    return PASS if all(named) and len(set(named)) == len(named) else FAIL


def decision(story: Story) -> dict[str, Any]:
    """The newest verdict: boxes, reason, owner, trigger, and what it does not support."""
    told = story.admission
    if told is None:
        return section("Admission decision", NOT_TESTED, boxes=_boxes(Verdict, ""))
    event, found = told.event, states(story)
    lines = [
        line("verdict", event.verdict),
        line("typed reason", event.reason),
        line("decided", f"{told.evidence} at {at(told.recorded.at)}"),
        line("storage state", _word("STORED", found["STORED"][0])),
        line("validation state", _word("VALID", found["VALID"][0])),
        line("eligibility state", found["ELIGIBLE"][0]),
        line("execution state", execution(story)),
        line("owner", f"{event.owner}: {event.owner_id}" if event.owner else ""),
        line("recheck trigger", event.trigger),
        line("decided again at the latest", at(event.recheck_at or None)),
        line("follows", event.survivor),
        line("outcome", event.outcome),
    ]
    return section(
        "Admission decision",
        event.verdict,
        lines=lines,
        checks=[plain(check) for check in event.checks],
        boxes=_boxes(Verdict, event.verdict),
        claims=plain(claims.of_verdict(event.reason)),
    )


def _boxes(kinds: Any, chosen: str) -> list[dict[str, Any]]:
    return [{"name": str(kind), "chosen": str(kind) == chosen} for kind in kinds]


def _word(name: str, result: Result) -> str:
    return name if result is PASS else str(result)


def execution(story: Story) -> str:
    """Whether any attempt was ever begun."""
    return "NOT STARTED" if story.granted is None else "STARTED"


def verdicts(story: Story) -> dict[str, Any]:
    """Every verdict in its order; none is rewritten by a later one."""
    from remit.core.effect_events import AdmissionDecided, RetryDecided

    lines = []
    for told in story.all(AdmissionDecided, RetryDecided):
        event = told.event
        said = event.verdict if isinstance(event, AdmissionDecided) else f"retry {event.decision}"
        lines.append(line(told.evidence, f"{at(told.recorded.at)} {said} {event.reason}"))
    return section("Decisions so far", "" if lines else NOT_TESTED, lines=lines)
