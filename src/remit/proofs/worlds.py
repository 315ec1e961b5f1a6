"""The worlds that are explored, each small enough to be finished or cut off where it says.

Each looks at one part of the rules with few of the others around it, so that the search gets deep
where it matters; ``whole`` has everything at once. The limits are set so that all worlds together are
more than 200,000 states in a few minutes on two cores; together they must leave every mark.
"""

from __future__ import annotations

from typing import Final

from remit.core.change import changed
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

WORLDS: Final = {w.name: w for w in (QUEUE, DELIVERY, WAITS, FAMILY, IMPORT, MANY, WHOLE)}
