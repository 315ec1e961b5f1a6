"""What goals and requirements say, whether they were drafted from an item or applied with a plan.

Their facts keep what decisions need; the words stand in the events, and long ones in blobs.
"""

from __future__ import annotations

import json
from typing import Any, Final

from remit.core.events import GoalDrafted, RequirementDrafted
from remit.core.facts import Goal, Item, Requirement
from remit.core.plan_events import GoalRevised, ItemPlanned, ItemReplanned, RequirementRevised
from remit.core.planning.texts import with_texts
from remit.ports import ReadTx
from remit.service.reading import rendering

REDACTED: Final = "[redacted]"
"""What stands where the bytes of a text were erased."""


def words_of(tx: ReadTx, fact: Requirement, revision: int) -> dict[str, Any]:
    """What a revision of a requirement states, how one would know, and what it leaves out."""
    event: Any = tx.at_seq([fact.seq])[fact.seq].event
    if fact.plan and not (fact.revision == revision and isinstance(event, RequirementRevised)):
        found = tx.stream(fact.id, revision - 1, 1)
        event = found[0].event if found else event
    said: dict[str, Any] = {"acceptance": [], "non_goals": []}
    if isinstance(event, RequirementRevised):
        record = whole(tx, event)
        said = {name: list(getattr(record, name)) for name in said}
        return {"statement": record.statement, **said}
    return {"statement": _drafted(tx, event), **said}


def bounds_of(tx: ReadTx, item: Item) -> dict[str, Any]:
    """What a planned item leaves out, and what would undo it; nothing of any other item."""
    recorded = tx.at_seq([item.plan.brief_seq]).get(item.plan.brief_seq)
    event = recorded.event if recorded is not None else None
    if not isinstance(event, ItemPlanned | ItemReplanned):
        return {"non_goals": [], "risk": None, "reversal": None}
    record = whole(tx, event)
    return {
        "non_goals": list(record.non_goals),
        "risk": str(record.risk),
        "reversal": rendering.plain(record.reversal),
    }


def whole(tx: ReadTx, event: Any) -> Any:
    """The record of an event with its long texts put back."""
    if not event.texts:
        return event.record
    blobs = tx.blobs([ref for _, ref in event.texts])
    texts = {path: blobs[ref].decode() if ref in blobs else REDACTED for path, ref in event.texts}
    return with_texts(event.record, texts)


def _drafted(tx: ReadTx, event: Any) -> str:
    if not isinstance(event, RequirementDrafted):
        return ""
    if event.statement or not event.statement_ref:
        return event.statement
    data = tx.blobs([event.statement_ref]).get(event.statement_ref)
    return REDACTED if data is None else _title(data)


def objective_of(tx: ReadTx, fact: Goal) -> str:
    """What the newest revision of a goal wants."""
    event = tx.at_seq([fact.seq])[fact.seq].event
    if isinstance(event, GoalRevised):
        return str(whole(tx, event).objective)
    return event.objective if isinstance(event, GoalDrafted) else ""


def _title(data: bytes) -> str:
    """The title of an imported text, which is a JSON object."""
    try:
        return str(json.loads(data)["title"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode("utf-8", "replace")
