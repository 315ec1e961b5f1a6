"""Rows of a ledger that an older version wrote, made anew from its events.

A row holds a fact as it was encoded when it was written. A later version may know more of the same fact,
and not always what a default would say: a row of an engaged kill switch did not name its event once. So a
migration does not mend rows field by field; the events are folded again, as ``ledger replay --swap`` does,
and the rows become what today's fold makes of them (INV-21). Every step of a schema that comes with new
fields of facts asks for this.

Events that cannot be folded leave the rows as they are: ``ledger verify`` then says which event it is, and
a ledger that cannot be opened could not be looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.core.events import Recorded
from remit.core.facts import Fact, Key
from remit.core.fold import FoldError
from remit.ports import LedgerCorrupt

CHUNK = 1_000
"""Events that are read at a time."""


def folded(events: Iterable[Recorded]) -> dict[Key, Fact] | None:
    """The facts that all events of a ledger lead to, with its moments.

    None where there are none, or none can be said.
    """
    from remit.core.evolve import evolve  # opening a ledger of today needs no fold
    from remit.core.moments import Standing, apply

    facts: dict[Key, Fact] = {}
    standing = Standing()

    def get(kind: str, name: str) -> Fact | None:
        return facts.get((kind, name))

    try:
        for recorded in events:
            apply(facts, evolve(get, recorded), standing, recorded.seq)
    except (FoldError, LedgerCorrupt):
        return None
    return facts or None
