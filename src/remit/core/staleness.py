"""Stale results: what was verified, of something that is not what is registered now.

A result covers a row and a requirement revision by their digests. When either changes, or a waiver
that stood for a result falls, the result is stale: the item stays verified at its commit, as a fact,
but nothing relies on it any more. Its dependents wait again, its requirement is open again, and work
goes on in a linked successor, for which the verified item has one place. What was marked stale stays
so, also where the old digest comes back.

Whatever changes a row, a requirement or a waiver calls ``mark`` for the items that own it, in the
same transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from remit.core.binding import Get, requirement_digest, row_digest
from remit.core.facts import Item, Row
from remit.core.item_events import ResultsMarkedStale, SuccessorLinked
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.core.view import Draft
from remit.core.waivers import waiver_of


def causes(get: Get, item: Item, now: int) -> dict[str, list[str]]:
    """Rows of an item whose results no longer cover what is registered, each with what changed."""
    found: dict[str, list[str]] = {}
    for outcome in item.results:
        pairs = (
            (outcome.row, outcome.digest, row_digest(get, outcome.row)),
            (outcome.requirement, outcome.covers, requirement_digest(get, outcome.requirement)),
        )
        changed = [name for name, bound, present in pairs if not bound or bound != present]
        if changed:
            found[outcome.row] = changed
    for row, decision in item.work.waived if item.work is not None else ():
        fact = get("row", row)
        if not isinstance(fact, Row) or waiver_of(get, fact, now) != decision:
            found.setdefault(row, []).append(decision)
    return found


def mark(draft: Draft, items: Iterable[str], by: str = "") -> None:
    """Mark what is stale among the results of these items; others and what is marked are left alone.

    Only verified items rely on results for good. Work that has shipped is asked again when it is
    verified, and work before that is bound by its approval.
    """
    for name in items:
        item = draft.item(name)
        if item is None or item.status is not Status.VERIFIED:
            continue
        found = causes(draft.get, item, draft.now)
        rows = tuple(row for row in found if row not in item.stale)
        if rows:
            changed = dict.fromkeys(each for row in rows for each in found[row])
            draft.emit("item", name, ResultsMarkedStale(rows, tuple(changed)), by)


def link(draft: Draft, item: Item, successor: Item, reason: str, ref: str = "") -> Refused | None:
    """Let work on a verified item with stale results go on in a successor, once.

    The caller has seen that the successor can stand for the item. Refuses ``RESULTS_CURRENT``.
    """
    if item.status is Status.VERIFIED and item.stale and not item.successor:
        event = SuccessorLinked(successor.id, item.stale, reason, ref)
        draft.emit("item", item.id, event)
        return None
    if item.successor:
        found = f"{item.successor} stands for it already"
    elif item.status is not Status.VERIFIED:
        found = f"it is {item.status}, not verified"
    else:
        found = "none of its results is stale"
    return Refused(
        Code.RESULTS_CURRENT,
        f"cannot let {successor.id} go on from {item.id}: {found}",
        "'remit close ID --superseded-by' closes an item that is not verified; 'remit recheck ID'"
        " looks whether results are stale",
        {"item": item.id, "status": str(item.status), "successor": item.successor},
    )
