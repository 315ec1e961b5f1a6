"""Taking a restored or copied ledger into use: a new epoch, then every lease of an earlier one ends.

Adoption is a human's statement that no other copy is in use. The epoch is above every one that the
ledger, the note kept outside it and the caller know of, so fences given elsewhere never come again.
Leases of earlier epochs are dead from that event on; they are recorded as expired in chunks, and a
process that dies between two of them leaves the rest to the next adoption or lease.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core.decide.leases import QUEUE
from remit.core.events import EpochAdopted
from remit.core.ids import fence_of
from remit.core.refusals import Refused
from remit.service.engine import Call
from remit.service.operations import Operations

CHUNK: Final = 100
"""Leases that one transaction ends."""


def adopt(
    operations: Operations,
    reason: str,
    above: int = 0,
    *,
    command_id: str = "",
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any] | Refused:
    """Adopt the ledger above ``above`` and every epoch known, and end earlier leases.

    Returns epoch, previous epoch, the event's seq and how many leases ended. Refuses
    ``ACTOR_KIND_REFUSED`` and ``EPOCH_TOO_LOW``.
    """
    caller, store = operations.caller, operations.store
    repeated = None
    if command_id:
        with store.read() as tx:
            repeated = tx.commands([command_id]).get(command_id)
    known = max(above, store.epoch_known())
    if repeated and isinstance(repeated[0].event, EpochAdopted):
        known = repeated[0].event.epoch - 1
    command = c.AdoptEpoch(known, reason)
    call = Call(command, caller.actor, command_id)
    [answer] = operations.engine.run([call], adopting=True)
    if isinstance(answer, Refused):
        return answer
    recorded = answer.events[0]
    assert isinstance(recorded.event, EpochAdopted), "adopting leads to this event"
    return {
        "epoch": recorded.event.epoch,
        "previous": recorded.event.previous,
        "seq": recorded.seq,
        "expired": _end_leases(operations, recorded.event.epoch, progress),
    }


def _end_leases(operations: Operations, epoch: int, progress: Callable[[int], None] | None) -> int:
    ended = 0
    while True:
        with operations.store.read() as tx:
            items = tx.leased_before(fence_of(epoch, 0), CHUNK)
        if not items:
            return ended
        operations.engine.run([Call(c.ExpireLease(item), QUEUE) for item in items])
        ended += len(items)
        if progress is not None:
            progress(ended)
