"""Whether a gate may rely on a result, by who judged it (INV-15).

A command is run by a service, and nothing on a ledger that everybody here can write to proves that it
did; such results are listed as unproved and are what the lifecycle rests on. What only a human can
judge is another matter: a score that no human signed counts for nothing where policy asks for
signatures, however it came to be on the ledger. Verification asks here before it closes an item, the
fold when an item says that it was closed, and the closure of a requirement whenever it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from remit.core.facts import Ledger, Row, RowOutcome
from remit.core.rows import RowKind, Verdict


def believed(row: Row | None, outcome: RowOutcome, *, accept_unproved: bool) -> bool:
    """Whether a result may be relied on: a human's judgement only with that human's proof."""
    judged = row is not None and row.kind == RowKind.RUBRIC and outcome.result == Verdict.VERIFIED
    return not judged or accept_unproved or outcome.proof.startswith("signature")


def doubted(get: Callable[[str, str], Any], outcomes: Iterable[RowOutcome]) -> tuple[str, ...]:
    """Rows whose good results no gate believes, as policy stands in these facts."""
    ledger = get("ledger", "ledger")
    if isinstance(ledger, Ledger) and ledger.policy.accept_unproved:
        return ()
    found = []
    for outcome in outcomes:
        row = get("row", outcome.row)
        row = row if isinstance(row, Row) else None
        if not believed(row, outcome, accept_unproved=False):
            found.append(outcome.row)
    return tuple(dict.fromkeys(found))
