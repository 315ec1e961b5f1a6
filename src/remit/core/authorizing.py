"""Which human decision lets effect work begin, if one does (CONTRACT 4, row 6; CONTRACT 9).

An accepted decision authorizes exactly one effect with exactly its payload, destination and reach. It is
asked for when admission looks, again at the lease, and again when the effect is intended, since it may have
expired or been superseded in between. Where two decisions in force say different things, none of them does.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.decisions import (
    Decided,
    Decision,
    DecisionKind,
    conflicting,
    covers,
    decided_key,
    effect_proposal,
    effect_scope,
    rivals,
)
from remit.core.effect_facts import AdmissionPolicy, Envelope, Intent, ReplayClass
from remit.core.facts import Key
from remit.core.refusals import Code, Refused
from remit.core.view import Draft


@dataclass(frozen=True, slots=True)
class EffectNeed:
    """What a decision about an effect has to be: its kind, and what it names."""

    kind: str
    scope: tuple[str, ...]


def needs_decision(envelope: Envelope, policy: AdmissionPolicy) -> bool:
    """Whether a human has to decide before this begins."""
    return (
        envelope.replay_class == ReplayClass.IRREVERSIBLE
        or envelope.replay_class in policy.human_decision
    )


def register_key(envelope: Envelope) -> Key:
    """Where it stands what was decided about an effect."""
    about = effect_scope(envelope.effect_id)
    return ("decided", decided_key(DecisionKind.IRREVERSIBLE, about))


def authorization(draft: Draft, envelope: Envelope) -> Decision | Refused:
    """The decision that authorizes this effect as it is, or why none does."""
    need = EffectNeed(DecisionKind.IRREVERSIBLE, (effect_scope(envelope.effect_id),))
    digest = effect_proposal(envelope)
    register = draft.get(*register_key(envelope)) if envelope.effect_id else None
    names = register.decisions if isinstance(register, Decided) else ()
    refused = covers(None, need, digest, draft.now)
    assert refused is not None, "nothing covers nothing"
    for name in reversed(names):
        decision = draft.get("decision", name)
        if not isinstance(decision, Decision):
            continue
        others = rivals(draft.get, decision, draft.now)
        if others:
            return conflicting(decision, others)
        unproved = draft.policy.accept_unproved
        found = covers(decision, need, digest, draft.now, accept_unproved=unproved)
        if found is None:
            return decision
        refused = found
    return refused


def authorized(draft: Draft, intent: Intent, policy: AdmissionPolicy) -> tuple[str, str]:
    """What admission may rest on: the decision, with how it is proved, and why there is none."""
    envelope = intent.envelope
    if not needs_decision(envelope, policy):
        return "", ""
    found = authorization(draft, envelope)
    if isinstance(found, Refused):
        missing = found.code is Code.DECISION_MISSING
        name = str(found.details.get("decision", "")) or ",".join(
            found.details.get("decisions", ())
        )
        return "", "" if missing else f"{name}:{found.code}"
    return (found.id if found.proved else f"unproved:{found.id}"), ""


def demand(draft: Draft, intent: Intent, policy: AdmissionPolicy) -> Decision | Refused | None:
    """The decision that lets an attempt begin now, why it may not, or None where none is needed.

    Where policy accepts unproved acts, the word of the human who handed the message in suffices.
    """
    if not needs_decision(intent.envelope, policy):
        return None
    found = authorization(draft, intent.envelope)
    said = intent.envelope.decision and intent.authorized_by and draft.policy.accept_unproved
    if isinstance(found, Refused) and found.code is Code.DECISION_MISSING and said:
        return None
    return found
