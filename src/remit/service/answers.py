"""What a caller wants to know of an answer: the lease that it gave, the item that it is about.

``remit.service.operations`` gives both as well.
"""

from __future__ import annotations

from remit.core.facts import Lease
from remit.core.item_events import CompletionReported, LeaseGranted, LeaseRenewed
from remit.service.engine import Done


def lease_of(answer: Done) -> Lease:
    """The lease that an accepted grant or renewal gave; raises LookupError where there is none."""
    for recorded in answer.events:
        event = recorded.event
        if isinstance(event, LeaseGranted | LeaseRenewed | CompletionReported):
            return event.lease
    raise LookupError("the answer holds no lease")


def item_of(answer: Done) -> str:
    """The id of the work item that an accepted call is about."""
    for recorded in answer.events:
        if recorded.stream.startswith("W-"):
            return recorded.stream
    raise LookupError("the answer is about no work item")
