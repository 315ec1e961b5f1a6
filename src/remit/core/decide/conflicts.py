"""Work that rests on decisions which conflict: it is put aside, with all of them by name (INV-19).

Neither recency nor confidence picks one of two decisions in force. What still waits for admission is
held by it, or stays behind its gate, until a human supersedes one. What was ready or under way when the
second one was accepted would run on or be refused over and over, so it goes to triage
``conflicting-decisions``. An effect that is on its way is for reconciliation, not for this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remit.core.authorizing import needs_decision
from remit.core.claims import intent_of, policy_of, state_of
from remit.core.decisions import Decision, rivals
from remit.core.effect_facts import OPEN_EFFECT, Effect
from remit.core.effect_states import own_effect
from remit.core.facts import Item, Planned, Row
from remit.core.status import Kind, Status
from remit.core.triage import put_aside
from remit.core.triage_records import conflicting_decisions
from remit.core.view import Draft

UNDER_WAY: Final = (Status.READY, Status.LEASED, Status.IN_REVIEW, Status.APPROVED)


def put_conflicts_aside(draft: Draft, name: str) -> None:
    """Put aside what rests on a decision that was accepted just now and conflicts with another."""
    decision = draft.get("decision", name)
    others = rivals(draft.get, decision, draft.now) if isinstance(decision, Decision) else ()
    if not isinstance(decision, Decision) or not others:
        return
    both = (decision, *others)
    names = tuple(each.id for each in both)
    shared = [s for s in decision.scope if any(s in other.scope for other in others)]
    plans = {ref.partition("@")[0] for each in both for ref in (each.plan, *each.consumed_by)}
    done: set[str] = set()
    for about in shared:
        for item in _resting(draft, about, names, sorted(plans - {""})):
            if item.id not in done and item.status in UNDER_WAY:
                done.add(item.id)
                found = conflicting_decisions(decision=names, about=shared)
                put_aside(draft, item, found, reason="decisions in force say different things")


def _resting(draft: Draft, about: str, names: tuple[str, ...], plans: list[str]) -> Iterator[Item]:
    """Items that rest on what these decisions say about one thing."""
    kind, _, label = about.partition("/")
    if kind == "effect":
        effect = draft.get("effect", label)
        item = draft.item(effect.item) if isinstance(effect, Effect) else None
        if item is not None and _unsent(draft, item):
            yield item
        return
    for plan in plans:
        known = draft.get("planned", f"{plan}/{kind}/{label}")
        if not isinstance(known, Planned) or kind not in ("item", "row"):
            continue
        row = draft.get("row", known.id) if kind == "row" else None
        item = draft.item(row.item if isinstance(row, Row) else known.id)
        governed = item.plan.governed if item is not None else None
        rests = row.waived if isinstance(row, Row) else governed.decision if governed else ""
        if item is not None and rests in names:
            yield item


def _unsent(draft: Draft, item: Item) -> bool:
    """Whether effect work needs a decision, and has nothing on its way."""
    intent = intent_of(draft, item.id) if item.kind is Kind.EFFECT else None
    policy = policy_of(draft, intent) if intent is not None else None
    if intent is None or policy is None or not needs_decision(intent.envelope, policy):
        return False
    effect = own_effect(draft.get, item)
    return effect is None or state_of(draft, effect) not in OPEN_EFFECT
