"""The worlds that are explored, each small enough to be finished or cut off where it says.

Each looks at one part of the rules with few of the others around it, so that the search gets deep
where it matters; ``whole`` has everything at once. The limits are set so that all worlds together are
more than 200,000 states in a few minutes on two cores; together they must leave every mark.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
from remit.proofs.effect_cast import EffectCast, Wanted
from remit.proofs.plan_worlds import PLANS
from remit.proofs.world import IMPLEMENTERS, POLICY, World

_WORK: Final = ("lease", "hold")
_FLOW: Final = (*_WORK, "review", "ship", "verify")

QUEUE: Final = World(
    "queue",
    frozenset((*_WORK, "next", "progress", "kill", "adopt")),
    policy=changed(POLICY, actor_leases=1),
    limit=45_000,
)
DELIVERY: Final = World(
    "delivery",
    frozenset((*_FLOW, "triage", "close", "supersede", "recheck")),
    items=2,
    made=2,
    worked=1,
    rows=2,
    heads=2,
    actors=(*IMPLEMENTERS, "remit-verifier"),
    alive=True,
)
LANDING: Final = World(
    "landing",
    frozenset(("lease", "hold", "review", "push", "ship", "triage", "close", "adopt")),
    items=1,
    made=1,
    actors=IMPLEMENTERS[:1],
    limit=15_000,
)
WAITS: Final = World(
    "waits",
    frozenset((*_FLOW, "waits", "close", "supersede", "triage", "recheck", "create")),
    items=3,
    made=2,
    actors=IMPLEMENTERS[:1],
    limit=45_000,
)
FAMILY: Final = World(
    "family",
    frozenset(("waits", "close", "supersede", "lease")),
    items=3,
    made=3,
    kinds=("blocks", "parent-child", "waits-for", "conditional-blocks"),
    actors=IMPLEMENTERS[:1],
    limit=30_000,
)
IMPORT: Final = World(
    "import",
    frozenset(("import", "lease", "close", "recheck")),
    items=3,
    made=0,
    actors=IMPLEMENTERS[:1],
    limit=25_000,
)
MANY: Final = World(
    "many",
    frozenset(("waits", "close", "supersede", "lease")),
    items=3,
    made=3,
    kinds=("blocks", "parent-child"),
    actors=IMPLEMENTERS[:1],
    fan_out=1,
    limit=25_000,
)
WHOLE: Final = World(
    "whole",
    frozenset(
        (
            *_FLOW,
            *("next", "progress", "kill", "adopt", "triage", "close", "supersede", "waits"),
            *("recheck", "create"),
        )
    ),
    items=2,
    made=1,
    heads=2,
    policy=changed(POLICY, tenant_leases=1),
    limit=60_000,
)

ADMIT_ROWS: Final = ("capacity", "deadline", "cancellation", "destination")
_EFFECT: Final = ("lease", "intend", "look", "recheck")

ADMIT: Final = World(
    "admit",
    frozenset(("submit", "recheck", "cancel", "lease")),
    items=3,
    made=0,
    effects=EffectCast(
        works=(
            Wanted("E-1", deadline=3, margin=1),
            Wanted("E-2", deadline=3, not_before=1, cancellation=""),
            Wanted("E-3", deadline=4, margin=1, depends_on=("WORK-1",)),
        ),
        rows=ADMIT_ROWS,
        capacity=("fresh", "old", "stale", "incomplete", "none-free", "future"),
        states=("REQUESTED", "NOT_REQUESTED", "UNOBSERVABLE"),
    ),
    limit=25_000,
)
SAME: Final = World(
    "same",
    frozenset((*_EFFECT, "submit", "cancel", "close", "triage")),
    items=3,
    made=0,
    effects=EffectCast(
        works=(Wanted(deadline=3), Wanted(), Wanted(digest="B")),
    ),
    limit=20_000,
)
EFFECT: Final = World(
    "effect",
    frozenset((*_EFFECT, "cancel", "say", "triage")),
    items=1,
    made=1,
    effects=EffectCast(modes=("", "away", "behind")),
    limit=30_000,
)
FENCED: Final = World(
    "fenced",
    frozenset((*_EFFECT, "strange", "adopt", "carry")),
    items=1,
    made=1,
    effects=EffectCast(fence=True, expiry=True),
    limit=20_000,
)
UNBOUND: Final = World(
    "unbound",
    frozenset(_EFFECT),
    items=1,
    made=1,
    effects=EffectCast(fence=True, in_flight=None, modes=("", "unconfirmed")),
    limit=10_000,
)
KEYED: Final = World(
    "keyed",
    frozenset((*_EFFECT, "adopt", "carry")),
    items=1,
    made=1,
    effects=EffectCast(key=True, in_flight=None),
    limit=10_000,
)
RESTORED: Final = World(
    "restored",
    frozenset((*_EFFECT, "restore", "carry", "cancel")),
    items=1,
    made=1,
    effects=EffectCast(),
    limit=20_000,
)
FINAL: Final = World(
    "final",
    frozenset((*_EFFECT, "triage", "cancel")),
    items=1,
    made=1,
    effects=EffectCast(works=(Wanted(replay_class="IRREVERSIBLE", deadline=4),)),
    limit=10_000,
)
BUDGET: Final = World(
    "budget",
    frozenset(("lease", "intend", "recheck", "triage")),
    items=2,
    made=2,
    effects=EffectCast(works=(Wanted("E-1", "PURE"), Wanted("E-2", spend=1)), rate=2, spend=4),
    limit=15_000,
)
AGAIN: Final = World(
    "again",
    frozenset(("lease", "intend", "look", "cancel")),
    items=1,
    made=1,
    effects=EffectCast(fence=True, states=("UNOBSERVABLE", "NOT_REQUESTED")),
    limit=10_000,
)

DELIVERIES: Final = (QUEUE, DELIVERY, LANDING, WAITS, FAMILY, IMPORT, MANY, WHOLE)
EFFECTS: Final = (ADMIT, SAME, EFFECT, FENCED, UNBOUND, KEYED, RESTORED, FINAL, BUDGET, AGAIN)
WORLDS: Final = {w.name: w for w in (*DELIVERIES, *EFFECTS, *PLANS)}
