"""What every step must leave true of pushes of approved work, judged from events and facts alone.

No outside is played here: look-ups may find anything, in any order. What is judged is what the ledger
lets follow from them. Nothing is intended over a push that is open or there, nothing but what passed on
exactly that commit, and nothing of what nobody knows moves its item on (INV-4, INV-14).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import effect_events as v
from remit.core import item_events as e
from remit.core.effect_facts import Effect, Intent
from remit.core.events import Recorded
from remit.core.facts import Item
from remit.proofs.world import NO_GHOST, Decided, Stage, State

PUSH_PROPERTIES: Final = {
    "push-once": "INV-14",
    "push-as-tested": "INV-1",
    "push-bars-moves": "INV-4",
    "push-absent-for-a-reason": "INV-13",
}

_OPEN: Final = {"INTENDED", "UNCERTAIN", "CONTRADICTED"}
_BEGINS: Final = {
    *(("T01", "ready"), ("T03", "leased"), ("T07", "ready"), ("T07", "held")),
    *(("T04", "ready"), ("T11", "ready")),
}

Demand = Callable[..., None]


def shipped(stage: Stage, state: State, item: Item) -> bool:
    """Whether its commit was seen on main, or its effect in its destination."""
    if item.kind == "delivery":
        return item.work is not None and bool(item.work.shipped)
    intent = stage.get(state, "intent", item.id)
    return isinstance(intent, Intent) and bool(intent.shipped)


def pushed(stage: Stage, state: State, item: Item) -> Effect | None:
    """The push of an item's present round of work."""
    push = item.work.push if item.work is not None else None
    found = stage.get(state, "effect", push.effect) if push is not None else None
    return found if isinstance(found, Effect) else None


def landed(stage: Stage, state: State, item: Item) -> bool:
    """Whether it shipped, or its push was seen to be there."""
    effect = pushed(stage, state, item)
    return shipped(stage, state, item) or (effect is not None and effect.present_seq > 0)


class PushSteps:
    """Judges the events of items and of their pushes."""

    def __init__(self, stage: Stage, demand: Demand) -> None:
        self.stage = stage
        self.demand = demand

    def moved(self, state: State, event: Any, old: Item) -> None:
        """One event of an item, with the item before it."""
        effect = pushed(self.stage, state, old)
        tid = getattr(event, "transition_id", "")
        if effect is None or not tid:
            return
        known = str(effect.state)
        if tid == "T12":
            self.demand("push-bars-moves", known not in _OPEN, old.id, "closed over", known)
        if (tid, str(event.to)) in _BEGINS:
            free = known not in _OPEN and not effect.present_seq
            self.demand("push-bars-moves", free, old.id, tid, "over a push that is", known)

    def said(self, state: State, decided: Decided, rec: Recorded) -> None:
        """One event of a push, with the push before it."""
        event, demand = rec.event, self.demand
        before = self.stage.get(state, "effect", rec.entity)
        known = str(before.state) if isinstance(before, Effect) else "NOT_STARTED"
        if isinstance(event, v.EffectIntended):
            there = isinstance(before, Effect) and before.present_seq > 0
            fits = known in ("NOT_STARTED", "ABSENT") and not there
            demand("push-once", fits, rec.entity, "intended while", known)
            tests = [r.event for r in decided.events if isinstance(r.event, e.IntegrationTested)]
            passed = [t for t in tests if t.commit == event.candidate and _passed(t)]
            demand("push-as-tested", passed, rec.entity, "intended on", tests)
            heads = [state.ghosts.get(event.item, NO_GHOST).approved]
            demand("push-as-tested", [t.head for t in tests] == heads, tests, "approved", heads)
        if isinstance(event, v.EffectObserved) and str(event.state) == "ABSENT":
            told = bool(event.basis) or known == "ABSENT"
            demand("push-absent-for-a-reason", told, rec.entity, "absent, and", event)


def _passed(event: e.IntegrationTested) -> bool:
    """Whether all rows were green on that commit, and so was the artifact diff."""
    rows = [result.result == "verified" and result.executed for result in event.results]
    return bool(rows) and all(rows) and event.artifact_diff == "PASS"
