"""The order of leases: ranks within lanes, and stride passes between them (INV-12).

A rank is stored when an item becomes ready and never changes with time: ``ready_at`` plus one
``age_step`` for each step of priority, in microseconds. Later arrivals of a higher priority go
first only until they are younger by that much, so nothing waits for ever. Lanes of class and tenant
take turns by a stride pass: each lease moves the lane on by ``STRIDE / weight``, and a lane that
was empty starts at the ledger's virtual time instead of saving up turns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from remit.core.facts import Lane

STRIDE: Final = 1 << 20
"""What one lease of a lane of weight 1 costs; weights are 1 to 1,000."""


def rank_of(ready_at: int, priority: int, age_step_ms: int) -> int:
    """The stored order key of an item that became ready at ``ready_at`` (microseconds)."""
    return ready_at + priority * age_step_ms * 1_000


def in_turn(lanes: Iterable[Lane]) -> list[Lane]:
    """Lanes that have something ready, the next in turn first."""
    return sorted((lane for lane in lanes if lane.ready > 0), key=lambda x: (x.passed, x.id))


def merge(heads: dict[str, list[str]], lanes: Iterable[Lane], limit: int) -> list[str]:
    """Item ids in the order in which leases would be given: the lanes' turns, simulated.

    ``heads`` holds each lane's first ready items by rank.
    """
    turns = {lane.id: lane for lane in lanes if heads.get(lane.id)}
    passes = {lane_id: lane.passed for lane_id, lane in turns.items()}
    queues = {lane_id: iter(heads[lane_id]) for lane_id in turns}
    order: list[str] = []
    while passes and len(order) < limit:
        lane_id = min(passes, key=lambda x: (passes[x], x))
        head = next(queues[lane_id], None)
        if head is None:
            del passes[lane_id]
            continue
        order.append(head)
        passes[lane_id] += STRIDE // turns[lane_id].weight
    return order
