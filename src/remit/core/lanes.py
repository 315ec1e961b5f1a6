"""The order of leases: ranks within lanes, and stride passes between them (INV-12).

A rank is stored when an item becomes ready and never changes with time: ``ready_at`` plus one
``age_step`` for each step of priority, in microseconds. Later arrivals of a higher priority go
first only until they are younger by that much, so nothing waits for ever.

Lanes of class and tenant take turns: the one with the lowest pass is next. A class has its share
among classes, and a lane its share of its class. So each class keeps a *turn*, which every one of its
leases moves on by ``STRIDE / weight``: a class with many tenants gets no more than one with few. A
lane that was served comes next when its class has gone round its other lanes, and one that had
nothing joins behind them. A class that had nothing starts at the ledger's virtual time, and one that
could not be served (for a limit) catches up on ``LAG`` leases at most: nobody saves turns up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from remit.core.facts import Lane

STRIDE: Final = 1 << 20
"""What one lease of a lane of weight 1 costs; weights are 1 to 1,000."""


@dataclass(frozen=True, slots=True)
class Turns:
    """A class's turn and weight, and the sum of weights of its lanes that have something ready."""

    turn: int = 0
    weight: int = 1
    active: int = 0


NO_TURNS: Final[Mapping[str, Turns]] = MappingProxyType({})


def rank_of(ready_at: int, priority: int, age_step_ms: int) -> int:
    """The stored order key of an item that became ready at ``ready_at`` (microseconds)."""
    return ready_at + priority * age_step_ms * 1_000


LAG: Final = 64
"""Leases that a class catches up on after it could not be served."""


def turn_after(turn: int, vtime: int, weight: int) -> int:
    """The turn of a class of this weight after one more lease."""
    step = STRIDE // weight
    return max(turn, vtime - LAG * step) + step


def round_of(weight: int, lane_weight: int, active: int) -> int:
    """How long a class goes round its lanes before one of them is next, beyond its own lease.

    ``active`` sums the weights of the class's lanes that have something ready, this one's too.
    """
    return STRIDE * max(0, active - lane_weight) // (weight * lane_weight)


def in_turn(lanes: Iterable[Lane]) -> list[Lane]:
    """Lanes that have something ready, the next in turn first."""
    return sorted((lane for lane in lanes if lane.ready > 0), key=lambda x: (x.passed, x.id))


def merge(
    heads: dict[str, list[str]],
    lanes: Iterable[Lane],
    limit: int,
    classes: Mapping[str, Turns] = NO_TURNS,
) -> list[str]:
    """Item ids in the order in which leases would be given: the lanes' turns, simulated.

    ``heads`` holds each lane's first ready items by rank.
    """
    turns = {lane.id: lane for lane in lanes if heads.get(lane.id)}
    passes = {lane_id: lane.passed for lane_id, lane in turns.items()}
    queues = {lane_id: iter(heads[lane_id]) for lane_id in turns}
    left = {lane_id: lane.ready for lane_id, lane in turns.items()}
    state = {class_of(lane_id): classes.get(class_of(lane_id), Turns()) for lane_id in turns}
    order: list[str] = []
    while passes and len(order) < limit:
        lane_id = min(passes, key=lambda x: (passes[x], x))
        head = next(queues[lane_id], None)
        if head is None:
            del passes[lane_id]
            continue
        order.append(head)
        lane, its = turns[lane_id], state[class_of(lane_id)]
        turn = turn_after(its.turn, passes[lane_id], its.weight)
        passes[lane_id] = turn + round_of(its.weight, lane.weight, its.active)
        left[lane_id] -= 1
        gone = lane.weight if left[lane_id] == 0 else 0
        state[class_of(lane_id)] = Turns(turn, its.weight, its.active - gone)
    return order


def class_of(lane: str) -> str:
    """The class of a lane's id."""
    return lane.partition("|")[0]
