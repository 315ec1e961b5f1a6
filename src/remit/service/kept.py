"""What one transaction leaves to the next of the same process: facts, as they were after an event.

State is a function of the events. So facts known after event 17 are true whenever the head of the
ledger is at 17, whoever wrote in between, and need not be read again. That includes that something is
not there. Where it has become much, only what nearly every call needs is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from remit.core.events import Recorded
from remit.core.facts import Fact, Key
from remit.core.item_events import LeaseGranted, LeaseRenewed
from remit.core.view import View

MOST: Final = 400
"""Most facts that are kept; a ledger with more lanes and actors at work keeps none."""

SHARED: Final = frozenset(("counter", "count", "ledger", "actor", "lane", "load", "rule", "goal"))
"""Kinds of facts that one call after the other needs; they are kept when single items are not."""

NEVER: Final = (1 << 63) - 1
"""Later than any lease can run out."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Facts after event ``seq``; no lease runs out before ``quiet_until`` (microseconds)."""

    seq: int
    facts: dict[Key, Fact | None]
    quiet_until: int


NOTHING: Final = Kept(0, {}, 0)


def keep(view: View, events: Sequence[Recorded], quiet_until: int) -> Kept:
    """What to keep of a view after its transaction has committed these events."""
    facts = view.facts
    if len(facts) > MOST:
        facts = {key: fact for key, fact in facts.items() if key[0] in SHARED}
    if len(facts) > MOST:
        return NOTHING
    given = (r.event for r in events if isinstance(r.event, LeaseGranted | LeaseRenewed))
    return Kept(view.seq, facts, min(quiet_until, NEVER, *(e.lease.expires_at for e in given)))
