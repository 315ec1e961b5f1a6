"""Properties of states: what must hold wherever the search comes, each under its invariant.

A property is a name, the invariant that it keeps, and a way to be false: ``demand`` counts how often
each was asked and raises ``Violation`` with the facts that show it broken. ``check_state`` looks at
one state; what a single step may do is judged in ``steps``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from remit.core.facts import Item, Lane
from remit.core.status import Status
from remit.proofs import oracle
from remit.proofs.effect_cast import CLASS
from remit.proofs.effect_properties import EFFECT_PROPERTIES, check_effects
from remit.proofs.keys import stage_ledger
from remit.proofs.plan_properties import PLAN_PROPERTIES, check_plans
from remit.proofs.push_steps import PUSH_PROPERTIES
from remit.proofs.triage_steps import TRIAGE_PROPERTIES
from remit.proofs.world import HUMAN, IMPLEMENTERS, Stage, State

PROPERTIES: Final[dict[str, str]] = {
    "one-live-lease": "INV-8",
    "fences-up": "INV-7",
    "fence-guards-writes": "INV-7",
    "expiry-when-due": "INV-7",
    "renewal-bounded": "INV-7",
    "late-report-moves-nothing": "INV-7",
    "refusal-writes-nothing": "INV-6",
    "lease-checks-all": "INV-6",
    "status-by-table": "INV-4",
    "terminal-stays": "INV-4",
    "one-owner": "INV-5",
    "hold-explained": "INV-3",
    "within-limits": "INV-11",
    "attempts-counted": "INV-10",
    "attempts-bounded": "INV-10",
    "different-actors": "INV-16",
    "holders-remembered": "INV-16",
    "approval-of-this-head": "INV-2",
    "shipped-by-observation": "INV-2",
    "verified-by-evidence": "INV-1",
    "triage-explained": "INV-19",
    "resolve-never-forward": "INV-4",
    "edges-as-recounted": "CONTRACT-5",
    "ready-means-met": "CONTRACT-5",
    "dead-edge-triaged": "CONTRACT-5",
    "no-wait-cycle": "CONTRACT-5",
    "kill-switch-holds": "CONTRACT-15",
    "epoch-ends-leases": "CONTRACT-14",
    "fold-equals-decision": "INV-21",
    "figures-as-recounted": "INV-21",
    "streams-dense": "INV-20",
    "same-id-same-answer": "INV-9",
    "batch-equals-restart": "INV-9",
    "crash-writes-nothing": "INV-22",
    "way-to-the-end": "LIVENESS",
    **TRIAGE_PROPERTIES,
    **PUSH_PROPERTIES,
    **EFFECT_PROPERTIES,
    **PLAN_PROPERTIES,
}
"""Every property by name, with the invariant or section of the contract that it keeps."""


class Violation(Exception):  # noqa: N818  # what a search looks for, not an error of its own
    """A property does not hold."""

    def __init__(self, name: str, found: str) -> None:
        super().__init__(f"{name} ({PROPERTIES[name]}): {found}")
        self.name = name
        self.found = found


@dataclass(slots=True)
class Tally:
    """How often each property was asked."""

    checked: Counter[str]

    def demand(self, name: str, holds: object, *found: object) -> None:
        """Count one check, and raise where it does not hold."""
        self.checked[name] += 1
        if not holds:
            raise Violation(name, " ".join(str(part) for part in found))


def check_state(tally: Tally, stage: Stage, state: State) -> None:
    """Check everything that must hold of a state by itself."""
    items = stage.items(state)
    ledger = stage_ledger(stage, state)
    policy = ledger.policy
    fences = [i.lease.fence for i in items.values() if i.lease is not None]
    demand = tally.demand
    for item in items.values():
        _check_item(tally, stage, state, item)
        if item.dependencies:
            _check_edges(tally, items, item, stage, bool(ledger.unsettled))
    demand("one-live-lease", len(fences) == len(set(fences)), "two leases share a fence:", fences)
    exceeded = oracle.over_limit(items, policy)
    demand("within-limits", not exceeded, exceeded)
    if any(i.dependencies for i in items.values()):
        ring = oracle.wait_cycle(items)
        demand("no-wait-cycle", not ring, "a ring:", *ring)
    _check_figures(tally, stage, state, items)
    if stage.world.effects is not None:
        check_effects(demand, stage, state)
    if stage.world.plans is not None:
        check_plans(demand, stage, state)


def _check_item(tally: Tally, stage: Stage, state: State, item: Item) -> None:
    demand, name, status = tally.demand, item.id, str(item.status)
    lease, owner, hold = item.lease, item.owner, item.hold
    demand("one-live-lease", (lease is not None) == (status == "leased"), name, status, lease)
    if lease is not None:
        demand("one-live-lease", lease.item == name, name, "under the lease of", lease.item)
    if status in oracle.TERMINAL:
        demand("one-owner", owner is None, name, status, "is owned by", owner)
        demand("one-owner", item.outcome is not None or status == "verified", name, "no outcome")
    else:
        kinds = oracle.OWNERS[status]
        fits = owner is not None and str(owner.kind) in kinds and bool(owner.identity)
        demand("one-owner", fits, name, status, "is owned by", owner)
    if status == "held":
        whole = hold is not None and hold.reason and hold.owner and hold.trigger
        demand("hold-explained", whole, name, "is held for", hold)
    else:
        demand("hold-explained", hold is None, name, status, "has a hold:", hold)
    if status == "draft":
        demand("hold-explained", item.gate, name, "is a draft behind no gate")
    open_records = [
        getattr(stage.get(state, "triage", record), "open", False) for record in item.triage
    ]
    fits = bool(item.triage) == (status == "triaged") and all(open_records)
    demand("triage-explained", fits, name, status, "has records", item.triage, open_records)
    limit = stage.world.policy.attempts
    demand("attempts-bounded", 0 <= item.counted <= limit, name, item.counted, "of", limit)
    if status == "in-review":
        fresh = item.work is not None and not item.work.reviewer and not item.work.shipped
        demand("approval-of-this-head", fresh, name, "comes to review with", item.work)
    if status == "leased":
        demand("approval-of-this-head", item.work is None, name, "is leased with", item.work)
    if status == "approved":
        approved = state.ghosts[name].approved if name in state.ghosts else ""
        fits = item.work is not None and item.work.head == approved and item.work.reviewer != ""
        demand("approval-of-this-head", fits, name, "approved", approved, "stands as", item.work)


def _check_edges(
    tally: Tally, items: oracle.Items, item: Item, stage: Stage, unsettled: bool
) -> None:
    demand, name, status = tally.demand, item.id, str(item.status)
    policy = stage.world.policy
    unmet = sum(d.state != "met" for d in item.dependencies)
    demand("edges-as-recounted", item.unmet == unmet, name, "counts", item.unmet, "of", unmet)
    if status in oracle.TERMINAL:
        return
    true = [(d, oracle.worth(items, d, policy)) for d in item.dependencies]
    if not unsettled:
        for d, state in true:
            last = oracle.last_of(items, d.target)
            demand("edges-as-recounted", d.state == state, name, d, "should be", state)
            demand("edges-as-recounted", last is None or d.via == last.id, name, d, "via", last)
            beneath = oracle.inner(items, name, d)
            fits = d.inner == beneath or d.state == "met"
            demand("edges-as-recounted", fits, name, d, "inner:", beneath)
    if status == "ready" and not unsettled:
        good = all(state == "met" for _, state in true)
        demand("ready-means-met", good, name, "is ready and waits on", true)
    if status in oracle.QUEUED and not unsettled:
        dead = [d.via for d, state in true if state == "dead"]
        demand("dead-edge-triaged", not dead, name, status, "waits on", dead, "for ever")


def _check_figures(tally: Tally, stage: Stage, state: State, items: oracle.Items) -> None:
    """Counts, loads and lanes are kept by carrying; here they are counted."""
    tables = (("count", _STATUSES, oracle.counts(items)), ("load", _LOADS, oracle.loads(items)))
    for kind, names, counted in tables:
        for name in names:
            kept = stage.get(state, kind, name) or 0
            fits = kept == counted[name]
            tally.demand("figures-as-recounted", fits, kind, name, kept, "not", counted[name])
    lane = stage.get(state, "lane", "delivery|default")
    if isinstance(lane, Lane):
        found, counts = (lane.ready, lane.leased), oracle.counts(items)
        fits = found == (counts["ready"], counts["leased"])
        tally.demand("figures-as-recounted", fits, "lane", found, "of", counts)


_STATUSES: Final = tuple(status.value for status in Status)
_LOADS: Final = (
    *(f"actor/{name}" for name in (*IMPLEMENTERS, HUMAN, "remit-verifier")),
    "class/delivery",
    f"class/{CLASS}",
    "tenant/default",
)
