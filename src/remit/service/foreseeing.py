"""Foreseeing: what the ledger would answer to a command now, with nothing written.

The command is decided on a snapshot by the same rules, and what it would lead to is thrown away. The
answer holds for that snapshot alone: whoever asks for real is decided anew.
"""

from __future__ import annotations

from remit.core.asking import Ask
from remit.core.commands import Command
from remit.core.decide import NeedMore, decide
from remit.core.facts import LEDGER
from remit.core.needs import needs
from remit.core.refusals import Refused
from remit.core.view import View
from remit.service.engine import ASSERTED, ROUNDS
from remit.service.loading import Loader
from remit.service.operations import Operations


def would_refuse(operations: Operations, command: Command) -> Refused | None:
    """The refusal that this command would get from this caller; None where it would be accepted."""
    with operations.store.read() as tx:
        view = View(tx.small(), tx.head().seq)
        view.facts.setdefault(LEDGER, None)
        loader = Loader(tx, view, 0)
        ask = Ask(tx.now(), operations.caller.actor, ASSERTED, token=operations.token)
        loader.load(needs(command, ask))
        for rounds in range(ROUNDS):
            found = decide(view, command, ask)
            if not isinstance(found, NeedMore):
                return found if isinstance(found, Refused) else None
            loader.load(found.keys, rounds)
    raise AssertionError(f"{command!r} keeps asking for what is not there")
