"""Taking a restored or copied ledger into use: a new epoch, then every lease of an earlier one ends.

No effect is known any more from that event on, whatever is written of it: what was lost may have sent
it. Work that waits is held for a look-up, in chunks as well; until its turn comes the effect alone
keeps it from being leased.

Adoption is a human's statement that no other copy is in use. The epoch is above every one that the
ledger, the note kept outside it and the caller know of, so fences given elsewhere never come again.
Leases of earlier epochs are dead from that event on; they are recorded as expired in chunks, and a
process that dies between two of them leaves the rest to the next adoption or lease.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from remit.core import commands as c
from remit.core.decide.leases import QUEUE
from remit.core.effect_commands import CarryEpoch
from remit.core.events import EpochAdopted
from remit.core.facts import Item
from remit.core.ids import fence_of
from remit.core.refusals import Refused
from remit.core.status import Kind, Status
from remit.ports import ItemQuery
from remit.service.engine import Call, Done
from remit.service.operations import Operations

CHUNK: Final = 100
"""Leases that one transaction ends, and items that one holds."""

WAITING: Final = (Status.DRAFT, Status.HELD, Status.READY, Status.APPROVED, Status.TRIAGED)


def adopt(
    operations: Operations,
    reason: str,
    above: int = 0,
    *,
    command_id: str = "",
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any] | Refused:
    """Adopt the ledger above ``above`` and every epoch known, and end earlier leases.

    Returns epoch, previous epoch, the event's seq, how many leases ended and how many items
    are held for a look-up. Refuses
    ``ACTOR_KIND_REFUSED`` and ``EPOCH_TOO_LOW``.
    """
    store = operations.store
    repeated = None
    if command_id:
        with store.read() as tx:
            repeated = tx.commands([command_id]).get(command_id)
    known = max(above, store.epoch_known())
    for before in repeated or ():
        if isinstance(before.event, EpochAdopted):
            known = before.event.epoch - 1
    command = c.AdoptEpoch(known, reason)
    answer = operations.adopting(command, command_id)
    if isinstance(answer, Refused):
        return answer
    recorded = next(r for r in answer.events if isinstance(r.event, EpochAdopted))
    assert isinstance(recorded.event, EpochAdopted), "adopting leads to this event"
    return {
        "epoch": recorded.event.epoch,
        "previous": recorded.event.previous,
        "seq": recorded.seq,
        "expired": _end_leases(operations, recorded.event.epoch, progress),
        "held": _carry(operations),
    }


def _carry(operations: Operations) -> int:
    """Hold effect work of which the new epoch knows nothing, and put open pushes aside; how many."""
    carried = 0
    query = ItemQuery(statuses=WAITING, limit=CHUNK)
    while True:
        with operations.store.read() as tx:
            names = tx.items(query)
            facts = tx.load([("item", name) for name in names])
        items = [fact for fact in facts.values() if isinstance(fact, Item)]
        calls = [
            Call(CarryEpoch(i.id), QUEUE) for i in items if i.kind is Kind.EFFECT or _pushed(i)
        ]
        if calls:
            answers = operations.engine.run(calls)
            carried += sum(isinstance(a, Done) and bool(a.events) for a in answers)
        if len(names) < CHUNK or not items:
            return carried
        query = replace(query, after=max(item.number for item in items))


def _pushed(item: Item) -> bool:
    """Whether a push of approved work was intended, so that it may be open."""
    work = item.work if item.status is Status.APPROVED else None
    return work is not None and (work.push is not None or work.request is not None)


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
