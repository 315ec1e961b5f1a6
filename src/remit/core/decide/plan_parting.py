"""Taking leave of an item: what its plan has no longer, or goes on with in another item.

Its references are orphaned and its successor is linked. It is closed where that is still possible,
by the ordinary moves; what is verified or shipped stays a fact.
"""

from __future__ import annotations

from typing import Any

from remit.core import plan_events as e
from remit.core.asking import Text
from remit.core.decide.asking import at_rest
from remit.core.decide.closing import finish
from remit.core.facts import Item, Planned
from remit.core.refusals import Refused
from remit.core.status import Outcome, Status
from remit.core.triage import put_aside
from remit.core.triage_records import scope_changed
from remit.core.view import Draft


def retire_item(draft: Draft, known: Planned, revision_id: str) -> Refused | None:
    """The plan has an item no longer: it is closed where that is still possible."""
    item = draft.item(known.id)
    if item is not None:
        part(draft, item, revision_id, "")
    return None


def part(draft: Draft, item: Item, revision_id: str, successor: str) -> None:
    """Take leave of an item: its references are orphaned, and its successor is linked."""
    governed = item.plan.governed
    assert governed is not None
    version = int(revision_id.partition("@")[2])
    orphaned = (*governed.graph_refs, *governed.requirement_refs, *item.plan.rows)
    if item.status is Status.VERIFIED and successor and not item.successor:
        stale = tuple(result.row for result in item.results)
        event: Any = e.ItemSucceeded(revision_id, version, successor, orphaned, stale)
        draft.emit("item", item.id, event)
        return
    event = e.ItemUnplanned(revision_id, version, governed.digest, orphaned, successor)
    draft.emit("item", item.id, event)
    kept = item.terminal or (not successor and not at_rest(item) and _shipped(item))
    if kept:
        return
    now = draft.item(item.id) or item
    if now.status not in (Status.DRAFT, Status.HELD, Status.READY):
        evidence = scope_changed(
            old=governed.plan_revision, new=revision_id, changed=orphaned, successor=successor
        )
        put_aside(draft, now, evidence, reason="the plan changed what it was made for")
        now = draft.item(item.id) or now
    outcome = Outcome.SUPERSEDED if successor else Outcome.CANCELLED
    finish(draft, now, outcome, Text(f"changed by {revision_id}"), successor)


def _shipped(item: Item) -> bool:
    return item.work is not None and bool(item.work.shipped)
