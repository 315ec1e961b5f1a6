"""Properties of states with a plan: what stands on the ledger is what the plan in force says.

What a single event may do is judged in ``plan_steps``; here each item of the plan is held to its
record, each successor to what it goes on from, and each decision to what rests on it. On a share of the
states the apply that is open is carried on to its end, which has to come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core.facts import Item, Planned
from remit.core.planning.suspicion import suspects
from remit.proofs import plan_oracle as oracle
from remit.proofs.plan_moves import ID, decisions_of, in_force, plan_of
from remit.proofs.world import Stage, State

PLAN_PROPERTIES: Final[dict[str, str]] = {
    "no-gate-before-close": "CONTRACT-8",
    "gates-hold": "CONTRACT-8",
    "gates-open-when-due": "CONTRACT-8",
    "chain-complete-when-ready": "CONTRACT-10",
    "record-in-open-apply": "CONTRACT-8",
    "plan-as-checked": "CONTRACT-8",
    "nothing-overwritten": "INV-2",
    "brief-never-changes": "CONTRACT-8",
    "stale-reopens": "CONTRACT-8",
    "successor-linked": "CONTRACT-8",
    "apply-carries-on": "INV-22",
    "removal-needs-decision": "CONTRACT-9",
    "conflict-stops-planning": "CONTRACT-9",
    "consumed-by-exact-revision": "CONTRACT-9",
    "undone-decision-shuts": "CONTRACT-9",
    "decision-settles-once": "CONTRACT-9",
    "decision-by-human-only": "INV-15",
    "proof-fits-the-act": "INV-15",
    "nonce-used-once": "INV-15",
    "suspect-until-looked-at": "CONTRACT-10",
}
"""Every property of planning by name, with the invariant or section that it keeps."""

Demand = Callable[..., None]


def check_plans(demand: Demand, stage: Stage, state: State) -> None:
    """Check everything that must hold of planning in a state by itself."""
    items = stage.items(state)
    plan, bundle = plan_of(stage, state), in_force(stage, state)
    whole = plan is not None and plan.open is None
    if whole and bundle is not None:
        for record in bundle.items:
            entry = stage.get(state, "planned", f"{ID}/item/{record.label}")
            carrier = items.get(entry.id) if isinstance(entry, Planned) else None
            _carried(demand, state, bundle, record.label, carrier)
        for item in items.values():
            _left(demand, items, item)
        if stage.world.has("clear"):
            _suspected(demand, stage, state, bundle)
    if plan is not None:
        _consumed(demand, stage, state, plan)


def _suspected(demand: Demand, stage: Stage, state: State, bundle: Any) -> None:
    """Exactly those links are suspect at whose ends nobody has looked since the upper one changed."""
    found = {
        ((each.upper.kind, each.upper.label), (each.lower.kind, each.lower.label))
        for item in stage.items(state).values()
        for each in suspects(lambda kind, name: stage.get(state, kind, name), item)
    }
    wanted = oracle.suspected(bundle, state.books)
    demand("suspect-until-looked-at", found == wanted, "suspect are", found, "not", wanted)


def _carried(demand: Demand, state: State, bundle: Any, label: str, carrier: Item | None) -> None:
    """Whoever carries a record was made for what the plan says now, also where it is done."""
    governed = carrier.plan.governed if carrier is not None else None
    fits = governed is not None and not governed.left
    demand("stale-reopens", fits, label, "is carried by", carrier)
    assert carrier is not None
    noted, wanted = state.books.get(f"brief/{carrier.id}"), oracle.number_of(bundle, label)
    demand(
        "stale-reopens", noted == wanted, carrier.id, carrier.status, "was made for another", label
    )


def _left(demand: Demand, items: dict[str, Item], item: Item) -> None:
    """What the plan left has ended or is done, and leads to what goes on."""
    governed, status = item.plan.governed, str(item.status)
    if governed is None:
        return
    if governed.left:
        ended = status in ("closed", "verified", "shipped")
        demand("successor-linked", ended, item.id, "was left and is", status)
    before = items.get(governed.predecessor)
    if before is not None:
        closed = str(before.status) == "closed" and before.outcome != "superseded"
        fits = before.successor == item.id or closed
        demand("successor-linked", fits, before.id, "does not lead to", item.id)


def _consumed(demand: Demand, stage: Stage, state: State, plan: Any) -> None:
    """What a revision rests on says so itself, and nothing else does."""
    for decision in decisions_of(stage, state).values():
        mine = f"{ID}@{plan.revision}" in decision.consumed_by
        fits = mine == (decision.id in plan.decisions) and len(set(decision.consumed_by)) == len(
            decision.consumed_by
        )
        demand(
            "consumed-by-exact-revision", fits, decision.id, decision.consumed_by, plan.decisions
        )
        revisions = all(int(r.partition("@")[2]) <= plan.revision for r in decision.consumed_by)
        demand("consumed-by-exact-revision", revisions, decision.id, decision.consumed_by)
