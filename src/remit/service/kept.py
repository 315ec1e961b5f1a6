"""What one transaction leaves to the next of the same process: the view, as it is after an event.

State is a function of the events. So what was known after event 17 is true whenever the head of the
ledger is at 17, whoever wrote in between, and need not be asked again: facts, that something is not
there, the lanes in their order and the first ready items of each. The next transaction goes on as
if it were one with the one before.

A view is handed on to one transaction, which changes it; so it is taken out of here at the start,
under the writer's lock, and put back only after the commit. Where it has become large, only the
facts that nearly every call needs are handed on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from remit.core.change import quick
from remit.core.events import Recorded
from remit.core.facts import Item
from remit.core.item_events import LeaseGranted, LeaseRenewed
from remit.core.lifetimes import wakes_at
from remit.core.view import View

MOST: Final = 4_000
"""Most facts that are kept; a ledger with more lanes and actors at work keeps none."""

FRESH: Final = 32
"""Most items that became ready since a window was read; each lease looks through all of them."""

SHARED: Final = frozenset(
    (
        "counter",
        "count",
        "ledger",
        "actor",
        "lane",
        "load",
        "rule",
        "goal",
        "active",
        "lane-turn",
        "limit",
        "spend",
        "rate",
        "current",
        "policy",
        "validation",
        "capacity",
        "debit",
        "destination",
    )
)
"""Kinds of facts that one call after the other needs; they are kept when single items are not."""

LEASED: Final = (LeaseGranted, LeaseRenewed)

NEVER: Final = (1 << 63) - 1
"""Later than any lease can run out."""


@quick
@dataclass(frozen=True, slots=True)
class Kept:
    """A view after event ``seq``, if any; nothing falls due before ``quiet_until`` (microseconds)."""

    seq: int
    view: View | None
    quiet_until: int


NOTHING: Final = Kept(0, None, 0)


def keep(view: View, events: Sequence[Recorded], quiet_until: int) -> Kept:
    """What to keep of a view after its transaction has committed these events."""
    facts = view.facts
    if len(view.facts) > MOST:
        shared = {key: fact for key, fact in view.facts.items() if key[0] in SHARED}
        if len(shared) > MOST:
            return NOTHING
        view = View(shared, view.seq)
    elif view.fresh and sum(map(len, view.fresh.values())) > FRESH:
        view = View(view.facts, view.seq)
    else:
        view.carry_on()
    for recorded in events:
        event = recorded.event
        if isinstance(event, LEASED):
            quiet_until = min(quiet_until, event.lease.expires_at)
        else:
            item = facts.get(("item", recorded.stream))
            if isinstance(item, Item) and (wake := wakes_at(item)):
                quiet_until = min(quiet_until, wake)
    return Kept(view.seq, view, quiet_until)
