"""What the ledger says of the decisions that a plan names, and what consuming them writes.

The one place where plans meet decisions: an apply asks here before it begins and again at its end, and
the gates of planned work ask whenever admission looks. A decision covers a step of exactly the proposal
that it is about; what the plan in force rests on already has to be in force still, and consumed by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from remit.core.decision_events import DecisionConsumed
from remit.core.decisions import Decision, contested, covers, in_force, rivals
from remit.core.facts import Ledger, PlanRevision
from remit.core.planning.authority import Need
from remit.core.view import Draft

_PLANNED: Final = ("goal", "clause", "requirement", "node", "row", "item")
"""Kinds of things that a plan has; an effect is none of them."""


@dataclass(frozen=True, slots=True)
class LedgerDecisions:
    """The decisions of a ledger as one proposal at one moment asks for them.

    ``get`` reads a fact, ``proposal`` is the digest that a decision must be about, ``now`` is the
    ledger's time in microseconds, ``plan`` the id of the plan (empty before its first revision),
    ``named`` the decisions that it names, and ``label`` the plan's name, where no revision says it yet.
    """

    get: Callable[[str, str], Any]
    proposal: str
    now: int
    plan: str = ""
    named: tuple[str, ...] = ()
    label: str = ""

    def fault(self, ref: str, need: Need | None) -> str:
        """Why a decision does not cover a need; empty where it does."""
        decision = self.get("decision", ref)
        if not isinstance(decision, Decision):
            return f"no decision {ref!r} is on the ledger"
        ledger = self.get("ledger", "ledger")
        unproved = isinstance(ledger, Ledger) and ledger.policy.accept_unproved
        if need is None:
            refused = in_force(decision, self.now, accept_unproved=unproved)
        else:
            proposal = self.proposal
            if need.kept and any(r.partition("@")[0] == self.plan for r in decision.consumed_by):
                proposal = decision.proposal
            refused = covers(decision, need, proposal, self.now, accept_unproved=unproved)
        return refused.message if refused is not None else ""

    def conflicts(self) -> Iterable[tuple[str, ...]]:
        """Current decisions that contradict one another, each conflict by all its ids.

        Those that the plan names, and every pair on the ledger that is about the plan, though it
        names neither.
        """
        found: dict[tuple[str, ...], None] = {}
        for ref in self.named:
            decision = self.get("decision", ref)
            if isinstance(decision, Decision):
                for other in rivals(self.get, decision, self.now):
                    found[tuple(sorted((ref, other.id)))] = None
        pairs = contested(self.get, self.now)
        names = self._names() if pairs else ()
        for one, other in pairs:
            if self._about(one, other, names):
                found[tuple(sorted((one.id, other.id)))] = None
        return tuple(found)

    def _names(self) -> tuple[str, ...]:
        plan = self.get("plan", self.plan) if self.plan else None
        label = plan.label if isinstance(plan, PlanRevision) else self.label
        return tuple(name for name in (self.plan, label) if name)

    def _about(self, one: Decision, other: Decision, names: tuple[str, ...]) -> bool:
        """Whether a conflict stops this plan: one of the two says so, or neither names any plan.

        The same label in two plans is two things. Where nobody says whose it is, it may be this one.
        """
        if one.plan in names or other.plan in names:
            return True
        common = set(one.scope) & set(other.scope)
        nobodys = not one.plan and not other.plan
        return nobodys and any(about.partition("/")[0] in _PLANNED for about in common)


def consume(draft: Draft, refs: Iterable[str], revision_id: str, digest: str) -> None:
    """Say on each decision's own stream that exactly this revision rests on it."""
    for ref in refs:
        decision = draft.get("decision", ref)
        if isinstance(decision, Decision) and revision_id not in decision.consumed_by:
            draft.emit("decision", ref, DecisionConsumed(revision_id, digest))
