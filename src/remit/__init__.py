"""remit: one ledger, one queue and one lifecycle for work whose outcome matters.

``remit.open(url)`` opens a ledger; ``ledger.acting("ann")`` gives the canonical operations for one
actor, each taking one command or many; ``ledger.reading()`` gives a snapshot to read from.
``remit.App()`` takes handlers for effect work, which ``remit worker`` runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from remit.wiring import Ledger

__version__ = "0.1.0"
__all__ = ["App", "__version__", "open"]  # App is made below when it is asked for


def open(url: str) -> Ledger:
    """Open the ledger that a URL names, such as ``sqlite:///home/me/.remit/ledger.db``.

    Raises ``remit.ports.RemitError`` with the codes ``LEDGER_MISSING``, ``STORE_UNAVAILABLE``,
    ``LEDGER_TOO_NEW``, ``LEDGER_CORRUPT`` or ``BAD_INPUT``.
    """
    from remit.wiring import open_ledger

    return open_ledger(url)


def __getattr__(name: str) -> Any:
    """``App`` is loaded when it is asked for: most programs read a ledger and need no worker.

    It is named and not imported, since a worker stands above much that uses this package.
    """
    if name == "App":
        return import_module("remit.workers").App
    raise AttributeError(f"module 'remit' has no attribute {name!r}")
