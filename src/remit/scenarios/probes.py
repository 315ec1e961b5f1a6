"""Probes: named questions to the ledger, from which the oracle takes every ``actual``.

A probe reads the events and the worksheet of one work as of one moment, and answers in one word. None
of them knows what a scenario expects. Ids that the ledger made are shown by the label that the
scenario gave them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from remit.core.checks import Result
from remit.core.effect_events import EffectIntended, EffectSent, EffectVerified
from remit.service.reading.sheets import capacity, outside, states
from remit.service.reading.sheets.questions import QUESTIONS
from remit.service.reading.sheets.story import Story

NOT_TESTED: Final = str(Result.NOT_TESTED)

Label = Callable[[str, str], str]
"""The label of an id: its kind, and the id."""

Ask = Callable[[Story, str, Label], str]


@dataclass(frozen=True, slots=True)
class Known:
    """A probe: what it asks, and which names it takes; None where it takes none, empty for any."""

    ask: Ask
    about: str
    named: Sequence[str] | None = None


def _verdict(story: Story, name: str, label: Label) -> str:
    return story.admission.event.verdict if story.admission else "NOT_DECIDED"


def _decision(story: Story, name: str, label: Label) -> str:
    if story.admission is None:
        return NOT_TESTED
    return label("owner", str(getattr(story.admission.event, name)))


def _check(story: Story, name: str, label: Label) -> str:
    return str(story.result(name))


def _reason(story: Story, name: str, label: Label) -> str:
    found = story.check(name)
    return found.reason or "none" if found else NOT_TESTED


def _observed(story: Story, name: str, label: Label) -> str:
    found = story.check(name)
    return found.observed if found and found.observed else NOT_TESTED


def _required(story: Story, name: str, label: Label) -> str:
    found = story.check(name)
    return found.required if found and found.required else NOT_TESTED


def _state(story: Story, name: str, label: Label) -> str:
    return str(states.states(story)[name][0])


def _capacity(story: Story, name: str, label: Label) -> str:
    return str(capacity.result(story))


CAUSES: Final = {
    "STALE_CAPACITY_EVIDENCE": "staleness",
    "CAPACITY_EVIDENCE_MISSING": "absence",
    "CAPACITY_EVIDENCE_FROM_FUTURE": "a time ahead",
    "INCOMPLETE_CAPACITY_EVIDENCE": "incompleteness",
    "NO_FREE_WORKER": "no free worker",
}


def _cause(story: Story, name: str, label: Label) -> str:
    found = capacity.cause(story)
    return CAUSES.get(found, found) or "nothing"


def _effect(story: Story, name: str, label: Label) -> str:
    return str(story.state)


def _item(story: Story, name: str, label: Label) -> str:
    return story.item.status.value


def _outcome(story: Story, name: str, label: Label) -> str:
    return story.item.outcome.value if story.item.outcome else "none"


def _terminal(story: Story, name: str, label: Label) -> str:
    return outside.terminal(story)


RETRY_PARTS: Final = (
    "decision",
    "reason",
    "owner",
    "trigger",
    "effect_state",
    "prior_attempt",
    "candidate_attempt",
    "candidate_fence",
    "replacement",
    "execution",
    "attempt_result",
    "lease_state",
    "worker_termination",
    "acknowledgement",
    "observation",
)

_LABELLED: Final = {
    "prior_attempt": "attempt",
    "candidate_attempt": "attempt",
    "candidate_fence": "fence",
    "observation": "observation",
}


def _retry(story: Story, name: str, label: Label) -> str:
    if story.retry is None:
        return NOT_TESTED
    value = str(getattr(story.retry.event, name))
    return label(_LABELLED.get(name, ""), value) or "none"


def _compared(story: Story, name: str, label: Label) -> str:
    return str(outside.compared(story))


def _comparison(story: Story, name: str, label: Label) -> str:
    seen = story.observed
    checks = seen.event.checks if seen else ()
    return next((str(c.result) for c in checks if c.check == name), NOT_TESTED)


def _enforced(story: Story, name: str, label: Label) -> str:
    intended = story.intended
    checks = intended.event.checks if intended else ()
    return next((str(c.result) for c in checks if c.check == name), NOT_TESTED)


def _sends(story: Story, name: str, label: Label) -> str:
    return str(len(list(story.all(EffectIntended))))


def _first_send(story: Story, name: str, label: Label) -> str:
    return "observed" if story.first(EffectSent) is not None else "not recorded"


def _local(story: Story, name: str, label: Label) -> str:
    """Whether a newer fence could be had here, and whether it would be worth anything there."""
    retry, intended = story.retry, story.intended
    if retry is None or intended is None:
        return NOT_TESTED
    there = retry.event.candidate_fence > intended.event.fence
    had = "available" if there else "not available"
    held = retry.event.decision == "HOLD" and outside.external(story) is Result.BLOCKED
    return f"{had} but not effect authority" if held else had


def _completed_on(story: Story, name: str, label: Label) -> str:
    """The observation that completion rests on: of the event, and of every check in it."""
    told = story.last(EffectVerified)
    if told is None:
        return NOT_TESTED
    named = {c.evidence.partition(":")[2] for c in told.event.checks} | {told.event.observation}
    return ",".join(sorted(label("observation", one) for one in named))


def _question(story: Story, name: str, label: Label) -> str:
    return str(QUESTIONS[name](story))


def _owned(story: Story, name: str, label: Label) -> str:
    owner = story.item.owner
    return f"{owner.kind}:{owner.identity}" if owner else "nobody"


def _fence(story: Story, name: str, label: Label) -> str:
    granted = story.granted
    return label("fence", str(granted.event.lease.fence)) if granted else NOT_TESTED


def _lease(story: Story, name: str, label: Label) -> str:
    granted = story.granted
    return label("lease", granted.event.lease.id) if granted else NOT_TESTED


def _receipt(story: Story, name: str, label: Label) -> str:
    return label("receipt", story.intent.receipt)


def _section(story: Story, name: str, label: Label) -> str:
    """The result of a section of the worksheet."""
    from remit.service.reading.sheets.effect import sections

    return next((s["result"] for s in sections(story) if s["title"] == name), NOT_TESTED)


SECTIONS: Final = (
    "Intent envelope",
    "State separation",
    "Capacity evidence",
    "Admission decision",
    "Ownership",
    "Attempt",
    "Retry decision",
    "Reconciliation",
)

PROBES: Final[dict[str, Known]] = {
    "verdict": Known(_verdict, "the newest verdict"),
    "decision": Known(
        _decision,
        "a part of the newest verdict",
        ("reason", "owner", "owner_id", "trigger", "outcome", "survivor", "policy", "observation"),
    ),
    "check-result": Known(_check, "the result of a check of that verdict", ()),
    "check-reason": Known(_reason, "its reason", ()),
    "check-observed": Known(_observed, "what it observed", ()),
    "check-required": Known(_required, "what it required", ()),
    "state-result": Known(_state, "one of the five states", states.STATES),
    "section-result": Known(_section, "the result of a section of the worksheet", SECTIONS),
    "capacity-result": Known(_capacity, "what the evidence of capacity came to"),
    "capacity-cause": Known(_cause, "why it did not count"),
    "effect-state": Known(_effect, "what is known of the effect"),
    "item-status": Known(_item, "the status of the work"),
    "item-owner": Known(_owned, "who owns it now"),
    "item-outcome": Known(_outcome, "how it was closed"),
    "terminal-state": Known(_terminal, "COMPLETED, or what is known of the effect"),
    "retry": Known(_retry, "a part of the newest retry decision", RETRY_PARTS),
    "comparisons": Known(_compared, "what the completion test came to on the newest look-up"),
    "comparison": Known(_comparison, "one comparison of it", ()),
    "enforced": Known(_enforced, "what holds of the destination, as the intent recorded it", ()),
    "sends-counted": Known(_sends, "how often the effect was intended"),
    "first-send": Known(_first_send, "whether the request was noted as sent"),
    "local-ownership": Known(_local, "whether a newer fence can be had, and what it is worth"),
    "completed-on": Known(_completed_on, "the observation that completion rests on"),
    "lease": Known(_lease, "the newest lease"),
    "fence": Known(_fence, "its fence"),
    "receipt": Known(_receipt, "the receipt of the message"),
    "question": Known(_question, "a question to the whole history", tuple(QUESTIONS)),
}
