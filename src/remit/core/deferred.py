"""News that more items wait for than one transaction may touch: carried on in chunks.

Until the last of them has been told, edges that lead through an unsettled item may be out of date.
They must never let anybody work too early: what waits may wait longer, and an item that is ready is
judged once more, edge by edge, before it is leased.
"""

from __future__ import annotations

from remit.core import settlement
from remit.core.admission import ADMISSION
from remit.core.beneath import MAX_LINEAGE, has_children
from remit.core.dependencies import state_of
from remit.core.events import SettlementFinished
from remit.core.facts import DependencyKind, EdgeState, Item
from remit.core.followers import ended_without
from remit.core.settlement import (
    go_on,
    judge,
    need,
    settle,
    standing_of,
    tell,
)
from remit.core.view import Draft
from remit.core.waiters import load_all


def overtaken(draft: Draft, item: Item) -> bool:
    """Whether news that has not reached a ready item yet makes it wait again.

    Asked at the lease while news is deferred (INV-6): a parent that came to wait holds back all
    beneath it at once, however many there are to be told.
    """
    seen: set[str] = set()
    queue = [item]
    while queue and len(seen) < MAX_LINEAGE:
        at = queue.pop()
        seen.add(at.id)
        for edge in at.dependencies:
            _, state, via = judge(draft, edge.kind, edge.target)
            above = draft.item(via) if not via.startswith("?") else None
            if edge.kind is DependencyKind.PARENT and above is not None:
                if not above.terminal and above.id not in seen:
                    queue.append(above)
            elif state is not EdgeState.MET and (at is item or not edge.inner):
                return True
    return False


def settle_more(draft: Draft, via: str) -> None:
    """One chunk of deferred news; the last one says that it is finished."""
    item = draft.item(via) if not via.startswith("?") else None
    if item is not None and ended_without(draft, item):
        known = len(draft.events)
        more = go_on(draft, item, [])
        if more or len(draft.events) > known:
            settle(draft)
            return
    target = standing_of(draft, item) if item is not None and not item.successor else None
    found = 0
    for kind in DependencyKind:
        children = kind is DependencyKind.WAITS_FOR and has_children(draft, via)
        wanted = state_of(kind, target, has_children=children).value if target else "-"
        edges = draft.query("waiting?", f"{via}|{kind}|{wanted}")
        names = dict.fromkeys(edge.dependent for edge in edges)
        load_all(draft, names)
        if target is None:
            need(draft, [("children?", name) for name in names])
        for name in names:
            tell(draft, name, via)
        found += len(names)
        if found >= settlement.FAN_OUT:
            break
    settle(draft)
    if not found:
        draft.emit("ledger", "ledger", SettlementFinished((via,)), ADMISSION)
