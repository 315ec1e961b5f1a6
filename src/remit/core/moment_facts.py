"""The fact of a moment: what reads of the past start from; ``remit.core.moments`` says what is in it.

It is apart so that a cold read of facts loads no fold.
"""

from __future__ import annotations

from dataclasses import dataclass

from remit.core.change import quick
from remit.core.ledger_facts import Ledger
from remit.core.run_facts import Run


@quick
@dataclass(frozen=True, slots=True)
class Moment:
    """A ledger just after event ``seq``.

    ``counts`` are the items by status, ``standing`` the numbers of those in some statuses as ranges,
    ``triage`` the numbers of open records, ``ledger`` what holds for all of it, ``run_count`` how many runs
    had begun and ``runs`` those that were not over.
    """

    id: str
    seq: int
    counts: tuple[tuple[str, int], ...]
    standing: tuple[tuple[str, str], ...]
    triage: str
    ledger: Ledger | None
    run_count: int
    runs: tuple[Run, ...]
