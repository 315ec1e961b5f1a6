"""What goals and requirements say, whether they were drafted from an item or applied with a plan.

Their facts keep what decisions need; the words stand in the events, and long ones in blobs.
"""

from __future__ import annotations

import json
from typing import Any, Final

from remit.core.events import GoalDrafted, RequirementDrafted
from remit.core.facts import Goal, Requirement
from remit.core.plan_events import GoalRevised, RequirementRevised
from remit.ports import ReadTx

REDACTED: Final = "[redacted]"
"""What stands where the bytes of a text were erased."""


def statement_of(tx: ReadTx, fact: Requirement, revision: int) -> str:
    """What a revision of a requirement states; the newest that says anything where it is gone."""
    event: Any = tx.at_seq([fact.seq])[fact.seq].event
    if fact.plan and not (fact.revision == revision and isinstance(event, RequirementRevised)):
        found = tx.stream(fact.id, revision - 1, 1)
        event = found[0].event if found else event
    if isinstance(event, RequirementRevised):
        return _text(tx, event.record.statement, dict(event.texts).get("statement", ""))
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
        return _text(tx, event.record.objective, dict(event.texts).get("objective", ""))
    return event.objective if isinstance(event, GoalDrafted) else ""


def _text(tx: ReadTx, inline: str, ref: str) -> str:
    if not ref:
        return inline
    data = tx.blobs([ref]).get(ref)
    return REDACTED if data is None else data.decode()


def _title(data: bytes) -> str:
    """The title of an imported text, which is a JSON object."""
    try:
        return str(json.loads(data)["title"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode("utf-8", "replace")
