"""The events of limits and of money.

A limit has a stream of its own for each scope. What an attempt costs stands on its item's stream, since
it is a fact about that work whatever the limits are.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.events import Event, event


@event("limit")
@dataclass(frozen=True, slots=True)
class LimitSet(Event):
    """What a scope may use from here on; every figure is written out, None where there is no limit."""

    concurrency: int | None
    rate: int | None
    per_ms: int
    spend_micros: int | None
    reserve_micros: int
    weight: int


@event("item", "spend")
@dataclass(frozen=True, slots=True)
class SpendSettled(Event):
    """What an attempt has cost so far, as its holder says, beyond what was charged before.

    ``fence`` is that of its lease. ``charged_micros`` is what this event adds; ``overrun`` says that the total is above what was
    reserved, which is recorded in full all the same.
    """

    fence: int
    actor: str
    reserved_micros: int
    spent_micros: int
    charged_micros: int
    overrun: bool
