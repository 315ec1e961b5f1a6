"""What the ledger tells of work that was handed in, beside the item itself.

A hand-in names commits and a branch. Only commits that remit took over itself may ship, since only
then did it work out head and base itself; and where something is pushed after the approval, it shows
on a branch of the attempt, whatever the holder called it.
"""

from __future__ import annotations

from typing import Final

from remit.core.events import CloneMade, stream_of
from remit.core.facts import Item, Work
from remit.core.item_events import CompletionReported
from remit.core.refusals import Code, Refused
from remit.ports import ReadTx

_CLONES: Final = 1_000
"""Most events of an attempt that are looked through for its clones."""


def taken_over(tx: ReadTx, work: Work) -> bool:
    """Whether remit took the commits of this round over itself."""
    event = tx.at_seq([work.completed_seq])[work.completed_seq].event
    return isinstance(event, CompletionReported) and event.taken_over


def not_taken(item: Item, work: Work, doing: str) -> Refused:
    """``COMMIT_ABSENT``: head and base of the work are only what somebody said."""
    return Refused(
        Code.COMMIT_ABSENT,
        f"cannot {doing} {item.id}: the commits of {work.head} were reported, never taken over",
        "hand the work in from its clone: 'remit report completion'",
        {"item": item.id, "head": work.head},
    )


def branches_of(tx: ReadTx, work: Work) -> tuple[str, ...]:
    """Every branch of the attempt that the ledger knows: reported, cloned on, or its own by name."""
    attempt = work.lease.replace("L-", "A-", 1)
    made = tx.stream(stream_of("attempt", attempt), 0, _CLONES)
    cloned = [r.event.branch for r in made if isinstance(r.event, CloneMade)]
    return tuple(dict.fromkeys(n for n in (work.branch, *cloned, f"remit/{attempt}") if n))
