"""remit: one ledger, one queue and one lifecycle for work whose outcome matters.

``remit.open(url)`` opens a ledger; ``ledger.acting("ann")`` gives the canonical operations for one
actor, each taking one command or many; ``ledger.reading()`` gives a snapshot to read from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.wiring import Ledger

__version__ = "0.1.0"
__all__ = ["__version__", "open"]


def open(url: str) -> Ledger:
    """Open the ledger that a URL names, such as ``sqlite:///home/me/.remit/ledger.db``.

    Raises ``remit.ports.RemitError`` with the codes ``LEDGER_MISSING``, ``STORE_UNAVAILABLE``,
    ``LEDGER_TOO_NEW``, ``LEDGER_CORRUPT`` or ``BAD_INPUT``.
    """
    from remit.wiring import open_ledger

    return open_ledger(url)
