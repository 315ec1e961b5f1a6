"""What stops a fold.

Folding is total over what decisions can write. Anything else on the ledger was put there by other
means or by a fault, and is reported with its seq, never skipped.
"""

from __future__ import annotations

from remit.core.events import Recorded


class FoldError(Exception):
    """An event that cannot follow on the events before it."""

    def __init__(self, recorded: Recorded, reason: str) -> None:
        super().__init__(f"event {recorded.seq} ({type(recorded.event).__name__}): {reason}")
        self.seq = recorded.seq
        self.reason = reason
