"""Lifetimes: when time alone gives admission something to decide.

Work that is held for a time says when. Work that is ready has until its message's deadline, less the
margin that it asks for; from then on nobody may lease it, so it is looked at again and expires, by the
next command that notices, like a lease that has run out.
"""

from __future__ import annotations

from remit.core.effect_facts import Envelope
from remit.core.facts import Item
from remit.core.status import Status


def lapses_at(envelope: Envelope) -> int:
    """When a lifetime ends, less its margin; 0 where there is none, or none that is ever admitted."""
    margin_ms = max(0, envelope.minimum_completion_margin_ms or 0)
    return max(0, (envelope.deadline or 0) - margin_ms * 1_000)


def wakes_at(item: Item) -> int:
    """When an item is to be looked at because of the time, 0 where time changes nothing."""
    if item.hold is not None:
        return item.hold.at
    return item.lapses_at if item.status is Status.READY else 0
