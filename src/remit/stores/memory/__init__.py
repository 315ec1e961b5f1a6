"""The memory store: the same ledger over dictionaries, for models and for reads of the past.

It passes the suite that every store passes, encodes events with the same codec, and so gives the
same digests; it raises on the same misuse. It has no constraints on rows, so a fault of the core is
caught by the stores that have. Nothing outlives the process.
"""

from remit.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
