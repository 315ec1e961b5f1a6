"""Answers given before, for operations that look outside before they decide.

The engine answers a command id that it knows by comparing what was asked then and now. An operation
that first looks at a repository or runs a verifier cannot be asked the same twice: what it sees has
moved on, and so has the item. It asks here before it looks, and is answered from the ledger if the
item, the actor and what the caller said are the same (INV-9).
"""

from __future__ import annotations

from typing import TypeVar

from remit.core.events import Event, Recorded
from remit.core.refusals import Code, Refused
from remit.service.engine import Done
from remit.service.operations import Operations

E = TypeVar("E", bound=Event)


def recorded_under(operations: Operations, command_id: str) -> list[Recorded]:
    """The events that a command id led to; none where it is empty or new.

    To answer with them is to acknowledge them. So it goes through a write, for which the store first
    makes sure that what it found is durable, whoever wrote it (INV-22).
    """
    if not command_id:
        return []
    with operations.store.read() as tx:
        known = command_id in tx.commands([command_id])
    if not known:
        return []
    with operations.store.write() as writer:
        return writer.commands([command_id]).get(command_id, [])


def event_under(operations: Operations, command_id: str, kind: type[E]) -> E | None:
    """The event of this kind that a command id led to."""
    events = (r.event for r in recorded_under(operations, command_id))
    return next((event for event in events if isinstance(event, kind)), None)


def answer_under(
    operations: Operations, command_id: str, item: str, kind: type[Event], **said: object
) -> Done | Refused | None:
    """The answer that this command id got before, or None where it is new.

    ``said`` is what the event of this kind must say. Refuses ``COMMAND_ID_REUSED`` where the id was
    used for another item or with other words.
    """
    events = recorded_under(operations, command_id)
    if not events:
        return None
    for recorded in events:
        same = all(getattr(recorded.event, name, None) == what for name, what in said.items())
        if isinstance(recorded.event, kind) and recorded.stream == item and same:
            return Done(tuple(events), repeated=True)
    return Refused(
        Code.COMMAND_ID_REUSED,
        f"the command id {command_id!r} was used for another command (seq {events[0].seq})",
        "use a new command id for a new command",
        {"command_id": command_id, "seq": events[0].seq},
    )
