"""Folds of decisions, and of the registers that say what is decided about a thing.

A register lists accepted decisions by kind and thing, so that two which conflict are found without a
scan, and one more lists the pairs that do. Both follow from the decisions alone, as counters follow from
what they count. A pair leaves the list when one of the two is superseded, or at the next acceptance after
one of them ran out: time alone is no event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import decision_events as e
from remit.core.change import changed
from remit.core.decisions import (
    CONTESTED,
    Decided,
    Decision,
    DecisionKind,
    DecisionState,
    contested,
    decided_key,
    opposed,
)
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, add, first, read
from remit.core.fold import FoldError
from remit.core.stated import misstated

Handler = Callable[[Get, Recorded, Any, Out], None]


def _proposed(get: Get, rec: Recorded, ev: e.DecisionProposed, out: Out) -> None:
    first(get, rec, "decision")
    if misstated(rec) is not None:
        raise FoldError(rec, f"{rec.entity} is not what its own digest says")
    if add(get, out, "counter", "decision", 1) != int(rec.entity.partition("-")[2]):
        raise FoldError(rec, f"{rec.entity} is not the next decision")
    out["decision", rec.entity] = Decision(
        id=rec.entity,
        version=1,
        kind=DecisionKind(ev.kind),
        title=ev.title,
        state=DecisionState.PROPOSED,
        scope=ev.scope,
        plan=ev.plan,
        proposal=ev.proposal,
        record=ev.record,
        options=ev.options,
        recommended=ev.recommended,
        proposed_by=rec.actor,
        proposed_seq=rec.seq,
        expires_at=ev.expires_at,
        supersedes=ev.supersedes,
    )


def _next(get: Get, rec: Recorded, *states: DecisionState) -> Decision:
    decision = get("decision", rec.entity)
    if not isinstance(decision, Decision) or decision.version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} of {rec.entity} does not follow")
    if decision.state not in states:
        raise FoldError(rec, f"{rec.entity} is {decision.state}")
    return decision


def _settled(
    decision: Decision, rec: Recorded, record: str, state: DecisionState, **more: Any
) -> Decision:
    if record != decision.record:
        raise FoldError(rec, f"{decision.id} is another record than the one that was decided on")
    settled = {"accepted_by": rec.actor, "assurance": rec.assurance, "settled_seq": rec.seq}
    return changed(decision, version=rec.version, state=state, settled_at=rec.at, **settled, **more)


def _accepted(get: Get, rec: Recorded, ev: e.DecisionAccepted, out: Out) -> None:
    decision = _next(get, rec, DecisionState.PROPOSED)
    if (ev.plan, ev.proposal) != (decision.plan, decision.proposal):
        raise FoldError(rec, f"{decision.id} is about another proposal")
    accepted = _settled(
        decision,
        rec,
        ev.record,
        DecisionState.ACCEPTED,
        chosen=ev.chosen,
        choice=ev.choice,
        permits=ev.permits,
    )
    out["decision", decision.id] = accepted
    met: dict[str, None] = {}
    for about in decision.scope:
        key = decided_key(decision.kind, about)
        known = read(get, out, "decided", key)
        names = known.decisions if isinstance(known, Decided) else ()
        met.update(dict.fromkeys(names))
        out["decided", key] = Decided(key, (*names, decision.id))
    _contest(get, rec, out, accepted, met)


def _contest(get: Get, rec: Recorded, out: Out, accepted: Decision, met: dict[str, None]) -> None:
    """Note whom this one contradicts; what is over by now is noted no more."""
    pairs = [f"{one.id} {other.id}" for one, other in contested(get, rec.at)]
    for name in met:
        other = get("decision", name)
        if isinstance(other, Decision) and opposed(other, accepted, rec.at):
            pairs.append(f"{other.id} {accepted.id}")
    _keep(get, out, pairs)


def _keep(get: Get, out: Out, pairs: list[str]) -> None:
    if pairs or get("decided", CONTESTED) is not None:
        out["decided", CONTESTED] = Decided(CONTESTED, tuple(pairs)) if pairs else None


def _rejected(get: Get, rec: Recorded, ev: e.DecisionRejected, out: Out) -> None:
    decision = _next(get, rec, DecisionState.PROPOSED)
    out["decision", decision.id] = _settled(decision, rec, ev.record, DecisionState.REJECTED)


def _superseded(get: Get, rec: Recorded, ev: e.DecisionSuperseded, out: Out) -> None:
    decision = _next(get, rec, DecisionState.PROPOSED, DecisionState.ACCEPTED)
    out["decision", decision.id] = changed(
        decision, version=rec.version, state=DecisionState.SUPERSEDED, superseded_by=ev.by
    )
    if decision.state is not DecisionState.ACCEPTED:
        return
    for about in decision.scope:
        key = decided_key(decision.kind, about)
        known = read(get, out, "decided", key)
        if isinstance(known, Decided):
            rest = tuple(name for name in known.decisions if name != decision.id)
            out["decided", key] = Decided(key, rest) if rest else None
    register = get("decided", CONTESTED)
    if isinstance(register, Decided):
        left = [pair for pair in register.decisions if decision.id not in pair.split(" ")]
        _keep(get, out, left)


def _consumed(get: Get, rec: Recorded, ev: e.DecisionConsumed, out: Out) -> None:
    decision = _next(get, rec, DecisionState.ACCEPTED)
    if ev.revision in decision.consumed_by:
        raise FoldError(rec, f"{ev.revision} rests on {decision.id} already")
    out["decision", decision.id] = changed(
        decision, version=rec.version, consumed_by=(*decision.consumed_by, ev.revision)
    )


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.DecisionProposed: _proposed,
    e.DecisionAccepted: _accepted,
    e.DecisionRejected: _rejected,
    e.DecisionSuperseded: _superseded,
    e.DecisionConsumed: _consumed,
}
