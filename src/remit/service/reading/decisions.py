"""Decisions as people read them: the whole record, from the events that hold it.

What is shown before a human signs is exactly what the signature covers: everything that was proposed,
with its digest. A summary never stands for it.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.decision_events import (
    DecisionAccepted,
    DecisionConsumed,
    DecisionProposed,
    DecisionRejected,
)
from remit.core.decisions import Decision, effect_proposal, effect_scope, rivals
from remit.core.effect_facts import Intent
from remit.ports import ReadTx
from remit.service.reading.rendering import rfc3339

PAGE: Final = 1_000


def decision(tx: ReadTx, name: str) -> dict[str, Any] | None:
    """One decision with everything that was proposed and decided; None where there is none."""
    fact = tx.load([("decision", name)])["decision", name] if name else None
    if not isinstance(fact, Decision):
        return None
    found = summary(tx, fact)
    for recorded in tx.stream(name, 0, PAGE):
        event = recorded.event
        if isinstance(event, DecisionProposed):
            found |= {
                "question": event.question,
                "rationale": event.rationale,
                "recommended": event.recommended or None,
                "options": [
                    {
                        "label": option.label,
                        "text": option.text,
                        "permits": option.permits,
                        "against": option.against or None,
                    }
                    for option in event.options
                ],
                "proposed_at": rfc3339(recorded.at),
            }
        elif isinstance(event, DecisionAccepted):
            found["rejected_options"] = [
                {"label": label, "reason": reason} for label, reason in event.rejected
            ]
            found["accepted_rationale"] = event.rationale or None
        elif isinstance(event, DecisionRejected):
            found["rejected_because"] = event.reason
        elif isinstance(event, DecisionConsumed):
            found["consumed"].append(
                {"revision": event.revision, "digest": event.digest, "seq": recorded.seq}
            )
    return found


def summary(tx: ReadTx, fact: Decision) -> dict[str, Any]:
    """What is known of a decision without reading its texts."""

    def get(kind: str, name: str) -> Any:
        return tx.load([(kind, name)])[kind, name]

    return {
        "id": fact.id,
        "kind": str(fact.kind),
        "title": fact.title,
        "state": str(fact.state),
        "scope": list(fact.scope),
        "plan": fact.plan or None,
        "proposal": fact.proposal,
        "record": fact.record,
        "chosen": fact.chosen or None,
        "permits": fact.permits,
        "proposed_by": fact.proposed_by,
        "proposed_seq": fact.proposed_seq,
        "decided_by": fact.accepted_by or None,
        "assurance": fact.assurance or None,
        "unproved": bool(fact.assurance) and not fact.proved,
        "decided_seq": fact.settled_seq or None,
        "decided_at": rfc3339(fact.settled_at) if fact.settled_at else None,
        "expires_at": rfc3339(fact.expires_at) if fact.expires_at is not None else None,
        "supersedes": fact.supersedes or None,
        "superseded_by": fact.superseded_by or None,
        "consumed_by": list(fact.consumed_by),
        "consumed": [],
        "conflicts_with": [other.id for other in rivals(get, fact, tx.now())],
    }


def decisions(tx: ReadTx, state: str = "", limit: int = 0) -> dict[str, Any]:
    """All decisions by number, or those in one state; ``limit`` 0 means all."""
    found: list[Decision] = []
    after = ""
    while names := tx.names("decision", after, PAGE):
        facts = tx.load([("decision", name) for name in names]).values()
        found += [f for f in facts if isinstance(f, Decision) and state in ("", f.state)]
        after = names[-1]
    found.sort(key=lambda fact: int(fact.id[2:]))
    shown = found[:limit] if limit else found
    return {
        "decisions": [summary(tx, fact) for fact in shown],
        "total": len(found),
        "truncated": len(found) > len(shown),
    }


def effect_of(tx: ReadTx, item: str) -> tuple[str, str] | None:
    """Scope and digest of the effect that a work wants; None where it is no effect work."""
    intent = tx.load([("intent", item)])["intent", item]
    if not isinstance(intent, Intent) or not intent.envelope.effect_id:
        return None
    return effect_scope(intent.envelope.effect_id), effect_proposal(intent.envelope)
