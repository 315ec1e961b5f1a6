"""Ports: what the services need from the world, as Protocols, and the failures they may meet.

``failures`` has the exceptions, ``store`` the ledger's store and what it hands over, ``outside`` the
repository, verifier and backlogs. Names of the first two are given here as well, since nearly
everything needs them; a cold read of a list loads no more than those.
"""

from remit.ports.failures import LedgerCorrupt, OutcomeUnknown, RemitError, StoreUnavailable
from remit.ports.store import (
    Blob,
    Change,
    ClockJump,
    Codec,
    Difference,
    Edge,
    Head,
    ItemQuery,
    ReadTx,
    Store,
    StoredEvent,
    WriteTx,
)

__all__ = [
    "Blob",
    "Change",
    "ClockJump",
    "Codec",
    "Difference",
    "Edge",
    "Head",
    "ItemQuery",
    "LedgerCorrupt",
    "OutcomeUnknown",
    "ReadTx",
    "RemitError",
    "Store",
    "StoreUnavailable",
    "StoredEvent",
    "WriteTx",
]
