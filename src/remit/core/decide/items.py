"""Decisions on items that nobody works on: create, revise, note, depend, recheck; ends are in ``closing``.

A live brief never changes under the one who works on it (CONTRACT 8, stage 5): what changes scope or
text is refused from lease to approval. Everything that may open a gate or meet a dependency ends
with admission looking at the item again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.admission import ADMISSION
from remit.core.deadlock import BEGIN, CLEAR, Wait
from remit.core.decide.asking import at_rest, bad, find, planned
from remit.core.decide.closing import HANDLERS as CLOSING
from remit.core.decide.waiting import HANDLERS as WAITING
from remit.core.decide.waiting import add_edge, closes
from remit.core.events import GoalDrafted
from remit.core.facts import DependencyKind, Item
from remit.core.ids import is_alias
from remit.core.refusals import Code, Refused
from remit.core.registration import MAX_ROWS, drafted, register
from remit.core.rows import RowSpec, problems
from remit.core.scopes import pattern_problem
from remit.core.settlement import resolve_alias, review
from remit.core.staleness import mark
from remit.core.status import Kind, Status
from remit.core.view import Draft

MAX_TITLE: Final = 500
"""Longest title, in characters."""

MAX_PATHS: Final = 1_000
"""Most scope patterns or expected artifacts of one item."""

PRIORITIES: Final = range(5)
"""0 is the most urgent."""


def _name(what: str, value: str) -> Refused | None:
    if 1 <= len(value) <= 64 and "|" not in value and value.isprintable():
        return None
    return bad(what, value, "1 to 64 printable characters without '|'")


def _brief(
    title: str, priority: int, scope: tuple[str, ...], artifacts: tuple[str, ...]
) -> Refused | None:
    if not 0 < len(title) <= MAX_TITLE or not title.isprintable() or not title.strip():
        return bad("title", title, f"1 to {MAX_TITLE} printable characters in one line")
    if priority not in PRIORITIES:
        return bad("priority", priority, "0 (most urgent) to 4")
    for what, paths in (("scope", scope), ("artifacts", artifacts)):
        if len(paths) > MAX_PATHS:
            return bad(what, len(paths), f"at most {MAX_PATHS} paths")
        for path in paths:
            fault = pattern_problem(path)
            if fault is not None:
                return bad(what, path, "a path or pattern within the repository", fault)
    return None


def _rows(rows: tuple[RowSpec, ...]) -> Refused | None:
    if len(rows) > MAX_ROWS:
        return bad("rows", len(rows), f"at most {MAX_ROWS} verification rows")
    for row in rows:
        found = problems(row)
        if found:
            return bad("verification row", found[0], "a row that can be run or judged")
    return None


def _create(draft: Draft, cmd: c.CreateItem) -> Refused | None:
    title = cmd.title if not cmd.text_ref else cmd.title or "-"
    refused = (
        _brief(title, cmd.priority, cmd.scope, cmd.artifacts)
        or _rows(cmd.rows)
        or _name("class", cmd.work_class)
        or _name("tenant", cmd.tenant)
        or _free_alias(draft, cmd.alias)
    )
    if refused is not None:
        return refused
    item = f"W-{draft.counter('work-item') + 1}"
    goal = cmd.goal
    if goal and draft.get("goal", goal) is None:
        return Refused(
            Code.NOT_FOUND, f"there is no goal {goal!r}", "leave --goal out to draft one"
        )
    if not goal:
        goal = draft_goal(draft, cmd.title, f"drafted from {item}")
    requirement = f"R-{draft.counter('requirement') + 1}"
    draft.open(
        "requirement",
        requirement,
        drafted(f"{goal}@1", item, cmd.title, cmd.text_ref, ambiguous=False),
    )
    rows = register(draft, item, requirement, cmd.rows)
    created = e.ItemCreated(
        Kind.DELIVERY,
        cmd.title,
        cmd.body,
        cmd.text_ref,
        cmd.priority,
        cmd.work_class,
        cmd.tenant,
        cmd.alias,
        goal,
        (requirement,),
        rows,
        cmd.scope,
        cmd.artifacts,
        "" if rows else cmd.rule,
        ambiguous=False,
    )
    draft.open("item", item, created)
    for target, kind in cmd.depends_on:
        refused = add_edge(draft, item, target, kind)
        if refused is not None:
            return refused
    if cmd.alias:
        awaited = _awaited(draft, item, cmd) if cmd.depends_on else None
        if awaited is not None:
            return awaited
        resolve_alias(draft, cmd.alias)
    review(draft, item)
    return None


def _awaited(draft: Draft, item: str, cmd: c.CreateItem) -> Refused | None:
    """Refuse a new item that would wait for those that wait for its alias already."""
    waits = []
    for edge in draft.query("dependents?", f"?{cmd.alias}"):
        need = CLEAR if edge.kind == DependencyKind.PARENT else BEGIN
        waits.append(Wait(edge.dependent, (item, need)))
    return closes(draft, waits, item, item, DependencyKind.BLOCKS)


def _free_alias(draft: Draft, alias: str) -> Refused | None:
    if not alias:
        return None
    if not is_alias(alias) or alias.startswith("-"):
        expected = "1 to 200 characters without blanks, not of the form W-1, no - in front"
        return bad("work id", alias, expected)
    taken = draft.get("alias", alias)
    if taken is None:
        return None
    return Refused(
        Code.ALIAS_TAKEN,
        f"the work id {alias!r} belongs to {taken}",
        f"see 'remit show {taken}', or choose another",
        {"alias": alias, "item": taken},
    )


def draft_goal(draft: Draft, objective: str, provenance: str) -> str:
    """Draft a goal; returns its id."""
    goal = f"G-{draft.counter('goal') + 1}"
    draft.open("goal", goal, GoalDrafted(f"{goal}@1", objective, provenance))
    return goal


def _goal(draft: Draft, cmd: c.DraftGoal) -> Refused | None:
    if not 0 < len(cmd.objective) <= 4_000:
        return bad("objective", cmd.objective, "1 to 4,000 characters")
    draft_goal(draft, cmd.objective, cmd.provenance)
    return None


def _recheck(draft: Draft, cmd: c.Recheck) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    review(draft, cmd.item)
    mark(draft, [cmd.item], ADMISSION)
    return None


def _live(item: Item) -> Refused | None:
    if item.kind is Kind.EFFECT:
        return Refused(
            Code.BRIEF_IS_LIVE,
            f"cannot change the brief of {item.id}: effect work is what its message says",
            "cancel it, and submit what is wanted instead",
            {"item": item.id, "kind": str(item.kind)},
        )
    if at_rest(item):
        return None
    done = item.terminal or item.status is Status.SHIPPED
    return Refused(
        Code.ITEM_FINISHED if done else Code.BRIEF_IS_LIVE,
        f"cannot change the brief of {item.id}: it is {item.status}",
        "create a linked successor instead"
        if done
        else "wait until it is handed back, or release it first",
        {"item": item.id, "status": str(item.status)},
    )


def _revise(draft: Draft, cmd: c.ReviseItem) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    title = item.title if cmd.title is None else cmd.title
    text = item.text if cmd.text_ref is None else cmd.text_ref
    priority = item.priority if cmd.priority is None else cmd.priority
    scope = item.plan.scope if cmd.scope is None else cmd.scope
    artifacts = item.plan.artifacts if cmd.artifacts is None else cmd.artifacts
    changes = (cmd.title, cmd.body, cmd.text_ref, cmd.priority, cmd.scope, cmd.artifacts)
    revises = any(part is not None for part in changes)
    if item.plan.governed is not None and (revises or cmd.rows or cmd.clarify):
        return planned(item, "change the brief of")
    refused = _live(item) or _brief(title or "-", priority, scope, artifacts) or _rows(cmd.rows)
    if refused is not None:
        return refused
    if cmd.confirm_import and item.source is not None and item.source.unconfirmed:
        draft.emit("item", item.id, e.ImportConfirmed(cmd.reason.inline))
    if revises:
        revised = e.ItemRevised(
            item.plan.brief_revision + 1,
            title,
            cmd.body or "",
            text,
            priority,
            scope,
            artifacts,
            "",
            "",
            unconfirmed=False,
        )
        draft.emit("item", item.id, revised)
    if cmd.rows or cmd.clarify:
        requirement = item.plan.requirements[0] if item.plan.requirements else ""
        ids = register(draft, item.id, requirement, cmd.rows)
        draft.emit("item", item.id, e.RowsAttached(ids, clears=cmd.clarify or bool(cmd.rows)))
    review(draft, item.id)
    return None


def _note(draft: Draft, cmd: c.AddNote) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if not cmd.text.inline and not cmd.text.ref:
        return bad("note", "", "some text")
    draft.emit("item", item.id, e.NoteAdded(cmd.text.inline, cmd.text.ref))
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.CreateItem: _create,
    c.DraftGoal: _goal,
    c.Recheck: _recheck,
    c.ReviseItem: _revise,
    c.AddNote: _note,
    **CLOSING,
    **WAITING,
}
