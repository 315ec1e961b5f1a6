"""remit: one ledger, one queue and one lifecycle for work whose outcome matters.

``remit.open(url)`` opens a ledger; ``ledger.acting("ann")`` gives the canonical operations for one
actor, each taking one command or many; ``ledger.reading()`` gives a snapshot to read from.
``remit.App()`` takes handlers for effect work, which ``remit worker`` runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remit.wiring import Ledger
    from remit.workers import App as App

__version__ = "0.1.0"
__all__ = ["App", "__version__", "open"]


def open(url: str) -> Ledger:
    """Open the ledger that a URL names, such as ``sqlite:///home/me/.remit/ledger.db``.

    Raises ``remit.ports.RemitError`` with the codes ``LEDGER_MISSING``, ``STORE_UNAVAILABLE``,
    ``LEDGER_TOO_NEW``, ``LEDGER_CORRUPT`` or ``BAD_INPUT``.
    """
    from remit.wiring import open_ledger

    return open_ledger(url)


def __getattr__(name: str) -> object:
    """``App`` is loaded when it is asked for: most programs read a ledger and need no worker."""
    if name == "App":
        from remit.workers import App

        return App
    raise AttributeError(f"module 'remit' has no attribute {name!r}")
