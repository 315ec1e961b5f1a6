"""Wiring for simulations on a real store: a ledger in a file, under a clock of the caller's.

Everything is what production uses (the file, its transactions, its syncs) except that time passes as
the caller says. Such a ledger must never be opened under the machine's own clock afterwards.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from remit.core.commands import CreateLedger
from remit.core.refusals import Refused
from remit.ports import RemitError
from remit.service.operations import Caller, Operations
from remit.stores.sqlite.store import create_store
from remit.wiring import Ledger

if TYPE_CHECKING:
    from remit.stores.clock import Readings


def in_file(path: Path, ledger_id: str, human: str, readings: Readings) -> Ledger:
    """Make a ledger under a free name, with its built-in services and its first human.

    ``readings`` are the clocks that it goes by. Raises ``LEDGER_EXISTS`` and ``STORE_REFUSED``.
    """
    ledger = Ledger(create_store(path, ledger_id, readings=readings))
    answer = Operations(ledger.store, Caller(human), ledger.engine).run(
        CreateLedger(ledger_id, human)
    )
    if isinstance(answer, Refused):
        ledger.close()
        raise RemitError(answer.message, answer.hint, answer.details, answer.code)
    return ledger
