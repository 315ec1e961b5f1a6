"""What this process sees of an attempt on effect work that goes through an adapter of its own.

A holder's word is a claim. Two things are more than that, and only remit's own sending code can know
them: that an answer came back through the adapter, which is a receipt where the destination declares
so, and that the one send of an attempt is over, from which its in-flight bound counts. They are
written here, by the operations that no surface calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.core import effect_commands as k
from remit.core.commands import Command
from remit.core.effect_facts import Effect
from remit.ports import Store
from remit.service.engine import Answer
from remit.service.operations import Operations


def send_over(store: Store, name: str, fence: int, evidence: str) -> list[Command]:
    """That no request of this fence's attempt can leave any more, as of now.

    Nothing where the effect is not that attempt's. Ask once and repeat what comes of it: the time in
    it is that of the asking.
    """
    with store.read() as tx:
        effect, now = tx.load([("effect", name)])["effect", name], tx.now()
    if not isinstance(effect, Effect) or effect.fence != fence:
        return []
    return [k.NoteTermination(name, effect.attempt, evidence, now)]


def record(operations: Operations, commands: Sequence[Command], command_id: str) -> list[Answer]:
    """Write what was seen of a send, in one transaction; the ids are ``command_id/index``."""
    refused = operations.caller.built_in()
    if refused is not None:
        return [refused] * len(commands)
    ids = [f"{command_id}/{index}" for index in range(len(commands))]
    return operations.observed(commands, ids)
