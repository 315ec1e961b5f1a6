"""The third door: ``evolve(get, recorded)`` folds one event into the facts it changes.

It is pure: it reads facts through ``get``, and returns the new ones as a small mapping (None removes
a fact) instead of a whole new view, because copying a view of a thousand items for each event would
cost more than the decision. The caller applies the mapping. Live decisions, replay, reads of the
past and the explorer all run this same function, so what is verified is what ran (INV-21).

An event that does not fit (a gap in a stream, a move that the table does not have, an entity that
is not there) raises ``FoldError``: the ledger holds something that no decision made.
"""

from __future__ import annotations

from remit.core.events import Recorded
from remit.core.evolve import (
    authority,
    decisions,
    documents,
    effects,
    entities,
    intents,
    items,
    limits,
    planned,
    plans,
    runs,
    tracing,
)
from remit.core.evolve.moves import Get, Out
from remit.core.fold import FoldError

__all__ = ["FoldError", "Get", "Out", "evolve"]

_HANDLERS = {
    **entities.HANDLERS,
    **items.HANDLERS,
    **documents.HANDLERS,
    **intents.HANDLERS,
    **limits.HANDLERS,
    **effects.HANDLERS,
    **plans.HANDLERS,
    **planned.HANDLERS,
    **decisions.HANDLERS,
    **tracing.HANDLERS,
    **authority.HANDLERS,
    **runs.HANDLERS,
}


def evolve(get: Get, recorded: Recorded) -> Out:
    """Facts that this event changes.

    ``get(kind, id)`` gives the present fact, or None where there is none. Raises ``FoldError`` where
    the event cannot follow on them.
    """
    out: Out = {}
    handler = _HANDLERS.get(type(recorded.event))
    if handler is None:
        raise FoldError(recorded, f"no fold for an event of type {type(recorded.event).__name__}")
    if recorded.assurance.startswith("signature"):
        authority.demand_signed(get, recorded)
    handler(get, recorded, recorded.event, out)
    return out
