"""What the ledger knows of the decisions that a plan names, and what consuming them writes.

Decisions are not kept on the ledger yet, so none covers anything: whatever names or needs one fails
closed. This is the one place where that is asked, by an apply, by the end of one, and by the gates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from remit.core.facts import Fact
from remit.core.planning.authority import NO_DECISIONS, Need


@dataclass(frozen=True, slots=True)
class LedgerDecisions:
    """The decisions of a ledger as one proposal at one moment asks for them.

    ``get`` reads a fact, ``proposal`` is the digest that a decision must be about, ``now`` is the
    ledger's time in microseconds.
    """

    get: Callable[[str, str], Fact | None]
    proposal: str
    now: int

    def fault(self, ref: str, need: Need | None) -> str:
        """Why a decision does not cover a need; empty where it does."""
        return NO_DECISIONS.fault(ref, need)

    def conflicts(self) -> Iterable[tuple[str, ...]]:
        """Current decisions that contradict one another, each conflict by all its ids."""
        return NO_DECISIONS.conflicts()
