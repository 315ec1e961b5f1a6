"""Foreseeing: what the ledger would answer to a command now, with nothing written.

The command is decided on a snapshot by the same rules, and what it would lead to is thrown away. The
answer holds for that snapshot alone: whoever asks for real is decided anew.
"""

from __future__ import annotations

from typing import cast

from remit.core.commands import Command
from remit.core.refusals import Refused
from remit.ports.store import WriteTx
from remit.service.engine import Batch, Call
from remit.service.operations import Operations


def would_refuse(operations: Operations, command: Command) -> Refused | None:
    """The refusal that this command would get from this caller; None where it would be accepted."""
    call = Call(command, operations.caller.actor, token=operations.token)
    with operations.store.read() as tx:
        # A batch writes in ``store`` alone, which is not called here.
        [answer] = Batch(cast(WriteTx, tx), (call,)).decide_all(sweep=False)
    return answer if isinstance(answer, Refused) else None
