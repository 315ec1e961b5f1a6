"""Registration of verification rows: before the work starts, with a digest that results bind to.

Rows come with an item, or from a default rule that a human accepted. A row is never edited: a
changed one is a new row (CONTRACT 8, stage 4). Requirements that are drafted with an item get the
digest that approvals and results are bound to here as well.
"""

from __future__ import annotations

from collections.abc import Sequence

from remit.core.admission import ADMISSION
from remit.core.canonical import digest_of
from remit.core.change import changed
from remit.core.events import RequirementDrafted, RowRegistered
from remit.core.facts import ImportRun, Item, Rule
from remit.core.item_events import RowsAttached
from remit.core.plan_events import RowPlanned
from remit.core.rows import Control, RowKind, RowSpec
from remit.core.view import Draft

MAX_ROWS = 100
"""Most verification rows of one item."""


def register(
    draft: Draft, item: str, requirement: str, rows: Sequence[RowSpec], by: str = ""
) -> tuple[str, ...]:
    """Register rows for an item that may not exist yet; returns their ids."""
    ids = []
    for row in rows:
        row_id = f"V-{draft.counter('row') + 1}"
        draft.open("row", row_id, registered(requirement, item, row), by)
        ids.append(row_id)
    return tuple(ids)


def drafted(
    goal_revision: str, item: str, statement: str, statement_ref: str, *, ambiguous: bool
) -> RequirementDrafted:
    """The event of a requirement drafted from an item's text, with its digest."""
    parts = (goal_revision, item, statement, statement_ref)
    return RequirementDrafted(*parts, ambiguous, digest_of((*parts, ambiguous)))


def registered(requirement: str, item: str, row: RowSpec, *, direct: bool = True) -> RowRegistered:
    """The event of a row, with the digest over every other field of it."""
    parts = (
        str(row.kind),
        row.argv,
        row.rubric or "",
        row.expected_exit,
        row.junit or "",
        row.red_reason or "",
        row.scope,
        row.artifacts,
        str(row.control),
        row.timeout_ms,
        row.output_limit_bytes,
        row.origin,
        row.patch or "",
        row.patch_path or "",
        row.patch_digest or "",
        direct,
    )
    return RowRegistered(requirement, item, digest_of((requirement, item, *parts)), *parts)


def row_event(event: object) -> RowRegistered | None:
    """A row as it was registered, by whatever event; what a plan registered reads as any other."""
    if isinstance(event, RowPlanned):
        record = event.record
        found = registered(
            event.requirement_id, event.work_item_id, record.spec, direct=record.direct
        )
        return changed(found, digest=event.proposal_digest)
    return event if isinstance(event, RowRegistered) else None


def rows_of_rule(rule: Rule) -> tuple[RowSpec, ...]:
    """The rows that a rule gives: one for its command, one for its rubric."""
    origin = f"rule:{rule.name}@{rule.revision}"
    rows = []
    if rule.argv:
        rows.append(
            RowSpec(
                RowKind.COMMAND,
                argv=rule.argv,
                expected_exit=rule.expected_exit,
                junit=rule.junit or None,
                red_reason=rule.red_reason or None,
                timeout_ms=rule.timeout_ms,
                origin=origin,
            )
        )
    if rule.rubric:
        rows.append(
            RowSpec(RowKind.RUBRIC, rubric=rule.rubric, control=Control.NONE, origin=origin)
        )
    return tuple(rows)


def attach_rule(draft: Draft, item: Item) -> bool:
    """Give an item without rows those of its accepted rule; True where it did.

    An item whose import is still open waits for its end, as it does for everything else.
    """
    plan = item.plan
    if plan.rows or not plan.rule or not plan.requirements:
        return False
    run = draft.get("import", item.source.import_id) if item.source is not None else None
    if isinstance(run, ImportRun) and run.open:
        return False
    rule = draft.get("rule", plan.rule)
    if not isinstance(rule, Rule) or not rule.counts(accept_unproved=draft.policy.accept_unproved):
        return False
    ids = register(draft, item.id, plan.requirements[0], rows_of_rule(rule), ADMISSION)
    draft.emit("item", item.id, RowsAttached(ids, clears=True), ADMISSION)
    return True
