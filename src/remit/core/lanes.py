"""The order of leases: ranks within lanes, and stride passes between them (INV-12).

A rank is stored when an item becomes ready and never changes with time: ``ready_at`` plus one
``age_step`` for each step of priority, in microseconds. Later arrivals of a higher priority go
first only until they are younger by that much, so nothing waits for ever. Lanes of class and tenant
take turns by a stride pass: each lease moves the lane on, and a lane that was empty starts at the
ledger's virtual time instead of saving up turns.

How far a lease moves its lane follows from two weights: a class has its share among classes, and a
lane its share of its class. A class with many tenants gets no more than one with few, since each of
its lanes moves on by the sum of all weights that are active in the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from remit.core.facts import Lane

STRIDE: Final = 1 << 20
"""What one lease of a lane of weight 1 costs; weights are 1 to 1,000."""

NO_WEIGHTS: Final[Mapping[str, int]] = MappingProxyType({})


def rank_of(ready_at: int, priority: int, age_step_ms: int) -> int:
    """The stored order key of an item that became ready at ``ready_at`` (microseconds)."""
    return ready_at + priority * age_step_ms * 1_000


def stride(class_weight: int, lane_weight: int, active: int) -> int:
    """How far one lease moves a lane; ``active`` sums the weights of its class's lanes with work."""
    return max(1, STRIDE * max(active, lane_weight) // (class_weight * lane_weight))


def in_turn(lanes: Iterable[Lane]) -> list[Lane]:
    """Lanes that have something ready, the next in turn first."""
    return sorted((lane for lane in lanes if lane.ready > 0), key=lambda x: (x.passed, x.id))


def merge(
    heads: dict[str, list[str]],
    lanes: Iterable[Lane],
    limit: int,
    weights: Mapping[str, int] = NO_WEIGHTS,
    working: Mapping[str, int] = NO_WEIGHTS,
) -> list[str]:
    """Item ids in the order in which leases would be given: the lanes' turns, simulated.

    ``heads`` holds each lane's first ready items by rank, ``weights`` those of classes that have one,
    ``working`` the sum of weights of all lanes of a class that have something ready.
    """
    turns = {lane.id: lane for lane in lanes if heads.get(lane.id)}
    passes = {lane_id: lane.passed for lane_id, lane in turns.items()}
    queues = {lane_id: iter(heads[lane_id]) for lane_id in turns}
    left = {lane_id: lane.ready for lane_id, lane in turns.items()}
    active = {class_of(lane_id): working.get(class_of(lane_id), 0) for lane_id in turns}
    order: list[str] = []
    while passes and len(order) < limit:
        lane_id = min(passes, key=lambda x: (passes[x], x))
        head = next(queues[lane_id], None)
        if head is None:
            del passes[lane_id]
            continue
        order.append(head)
        lane, work_class = turns[lane_id], class_of(lane_id)
        passes[lane_id] += stride(weights.get(work_class, 1), lane.weight, active[work_class])
        left[lane_id] -= 1
        if left[lane_id] == 0:
            active[work_class] -= lane.weight
    return order


def class_of(lane: str) -> str:
    """The class of a lane's id."""
    return lane.partition("|")[0]
