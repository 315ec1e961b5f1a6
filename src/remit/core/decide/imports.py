"""Decisions on rows of a foreign backlog.

An import opens, brings its items in draft (or closed, as *imported*) with their edges, closes, and
only then may admission look at them: an import that was killed in the middle opens no gate, and
running it again carries on. An edge to a row that has not come yet is resolved when it comes. A row whose content is the same writes
nothing. A row that changed is a new revision while nobody works on it, and is refused afterwards,
so that the import can quarantine it (INTERFACE, on Beads).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import gates
from remit.core import item_events as e
from remit.core.admission import ADMISSION, dead_edge
from remit.core.beneath import is_inner
from remit.core.deadlock import own_cycle
from remit.core.decide.asking import bad, find
from remit.core.decide.closing import finish
from remit.core.decide.items import draft_goal
from remit.core.decide.waiting import adopt
from remit.core.dependencies import MAX_DEPENDENCIES, unresolved
from remit.core.events import ImportClosed, ImportStarted, RowQuarantined
from remit.core.facts import DependencyKind, EdgeState, ImportRun, Item, Rule
from remit.core.ids import is_alias
from remit.core.refusals import Code, Refused
from remit.core.registration import drafted
from remit.core.settlement import judge, regroup, resolve_alias, review
from remit.core.status import Outcome, Status
from remit.core.triage import put_aside
from remit.core.triage_records import import_inconsistent
from remit.core.view import Draft

EDITABLE: Final = (Status.DRAFT, Status.HELD, Status.READY)
"""Where a changed row still becomes a new revision."""


def _start(draft: Draft, cmd: c.StartImport) -> Refused | None:
    run = f"I-{draft.counter('import') + 1}"
    objective = f"Finish the backlog imported from {cmd.name}"[:4_000]
    goal = draft_goal(draft, objective, f"import:{cmd.format}:{cmd.digest}")
    draft.open("import", run, ImportStarted(cmd.format, cmd.name, cmd.digest, goal))
    return None


def _run(draft: Draft, import_id: str) -> ImportRun | Refused:
    run = draft.get("import", import_id)
    if isinstance(run, ImportRun) and run.open:
        return run
    return Refused(
        Code.IMPORT_CLOSED,
        f"there is no open import {import_id!r}",
        "start the import again",
        {"import": import_id},
    )


def _import(draft: Draft, cmd: c.ImportItem) -> Refused | None:
    run = _run(draft, cmd.import_id)
    if isinstance(run, Refused):
        return run
    if not is_alias(cmd.alias):
        return bad("id", cmd.alias, "1 to 200 characters without blanks, not of the form W-1")
    known = draft.get("alias", cmd.alias)
    if isinstance(known, str):
        item = find(draft, known)
        return item if isinstance(item, Refused) else _again(draft, item, cmd)
    if len(cmd.edges) > MAX_DEPENDENCIES:
        return bad("edges", len(cmd.edges), f"at most {MAX_DEPENDENCIES}")
    item_id = f"W-{draft.counter('work-item') + 1}"
    edges = _edges(draft, item_id, cmd)
    requirement = f"R-{draft.counter('requirement') + 1}"
    required = drafted(f"{run.goal}@1", item_id, "", cmd.text_ref, ambiguous=True)
    draft.open("requirement", requirement, required)
    event = e.ItemImported(
        cmd.import_id,
        cmd.row,
        cmd.text_ref,
        cmd.priority,
        cmd.work_class,
        cmd.tenant,
        cmd.alias,
        run.goal,
        (requirement,),
        cmd.rule,
        "" if cmd.closed else _gate(draft, cmd),
        cmd.digest,
        cmd.foreign_status,
        cmd.unconfirmed,
        cmd.closed,
        cmd.satisfies,
        cmd.failed,
        Outcome.IMPORTED.value if cmd.closed else "",
        "import" if cmd.closed else "",
        cmd.created_at,
        cmd.closed_at,
        edges,
        cmd.links,
        cmd.notices,
    )
    draft.open("item", item_id, event)
    resolve_alias(draft, cmd.alias)
    cycle = cmd.cycle
    if not cycle and cmd.edges and _foreign_waiters(draft, cmd):
        cycle = own_cycle(draft, item_id)
    _linked(draft, item_id, cycle)
    return None


def _gate(draft: Draft, cmd: c.ImportItem) -> str:
    """What will keep the item in draft once its import has closed.

    It is named at once, because most rows of a backlog wait for their rule for a while, and a
    second event on each of them would say no more.
    """
    if cmd.unconfirmed:
        return gates.IMPORT_STATUS
    rule = draft.get("rule", cmd.rule) if cmd.rule else None
    if not isinstance(rule, Rule):
        return gates.VERIFICATION_PLAN
    return (
        gates.IMPORT_OPEN
        if rule.counts(accept_unproved=draft.policy.accept_unproved)
        else f"{gates.RULE}/{rule.name}"
    )


def _again(draft: Draft, item: Item, cmd: c.ImportItem) -> Refused | None:
    source = item.source
    if source is not None and source.digest == cmd.digest:
        return Refused(Code.UNCHANGED, f"{cmd.alias} is on the ledger as {item.id}, unchanged")
    if source is None or item.status not in EDITABLE:
        where = item.status if source is not None else "not from an import"
        return Refused(
            Code.CHANGED_UPSTREAM,
            f"{cmd.alias} changed in its source after {item.id} moved on: it is {where}",
            f"compare both, then 'remit edit {item.id}' or a linked successor",
            {"item": item.id, "status": str(item.status)},
        )
    event = e.ItemRevised(
        item.plan.brief_revision + 1,
        "",
        "",
        cmd.text_ref,
        cmd.priority,
        item.plan.scope,
        item.plan.artifacts,
        cmd.digest,
        cmd.foreign_status,
        cmd.unconfirmed,
    )
    draft.emit("item", item.id, event)
    if cmd.closed:
        revised = draft.item(item.id) or item
        said = c.Text("closed in its source")
        finish(
            draft,
            revised,
            Outcome.IMPORTED,
            said,
            satisfies=cmd.satisfies,
            failed=cmd.failed,
        )
        return None
    edges = _edges(draft, item.id, cmd)
    own = (d for d in item.dependencies if d.kind is not DependencyKind.WAITS_FOR_CHILD)
    if {(d.target, d.kind.value) for d in own} != {(edge[0], edge[1]) for edge in edges}:
        draft.emit("item", item.id, e.DependenciesSet(edges))
        for d in item.dependencies:
            if d.kind is DependencyKind.PARENT and not d.via.startswith("?"):
                adopt(draft, item.id, d.target, d.via, left=True)
    _linked(draft, item.id, cmd.cycle or own_cycle(draft, item.id))
    review(draft, item.id)
    return None


def _foreign_waiters(draft: Draft, cmd: c.ImportItem) -> bool:
    """Whether rows of another import wait for this one: their cycles its source cannot know."""
    waiters = [draft.item(x.dependent) for x in draft.query("dependents?", f"?{cmd.alias}")]
    return any(
        w is not None and w.source is not None and w.source.import_id != cmd.import_id
        for w in waiters
    )


def _edges(
    draft: Draft, item: str, cmd: c.ImportItem
) -> tuple[tuple[str, str, str, str, bool], ...]:
    """The row's edges as things stand; those to ids that are not there yet stay unresolved."""
    found = []
    for name, alias in cmd.edges:
        kind = DependencyKind(name)
        target, state, via = (
            (item, EdgeState.UNMET, item)
            if alias == cmd.alias
            else judge(draft, kind, unresolved(alias))
        )
        inner = is_inner(draft, item, kind, target, alias=cmd.alias)
        found.append((target, kind.value, state.value, via, inner))
    return tuple(found)


def _linked(draft: Draft, name: str, cycle: tuple[str, ...]) -> None:
    """What a row's edges lead to at once: children to wait for, waiters to tell, dead ends."""
    item = draft.item(name)
    for edge in item.dependencies if item is not None else ():
        if edge.kind is DependencyKind.PARENT and edge.via[0] != "?" and edge.via != name:
            adopt(draft, name, edge.target, edge.via)
    regroup(draft, name)
    _deadlocked(draft, name, cycle)
    item = draft.item(name)
    if item is not None and (item.status is not Status.DRAFT or dead_edge(item)):
        review(draft, name)


def _deadlocked(draft: Draft, name: str, cycle: tuple[str, ...]) -> None:
    """A row that waits for itself can never start: that goes to triage, with the shortest cycle."""
    item = draft.item(name)
    if item is None or item.status not in EDITABLE or not cycle:
        return
    put_aside(
        draft,
        item,
        import_inconsistent(cycle=cycle),
        reason="it waits for itself through these",
        by=ADMISSION,
    )


def _quarantine(draft: Draft, cmd: c.QuarantineRow) -> Refused | None:
    run = _run(draft, cmd.import_id)
    if isinstance(run, Refused):
        return run
    event = RowQuarantined(cmd.row, cmd.alias[:200], cmd.code, cmd.reason[:500])
    draft.emit("import", run.id, event)
    return None


def _close(draft: Draft, cmd: c.CloseImport) -> Refused | None:
    run = _run(draft, cmd.import_id)
    if isinstance(run, Refused):
        return run
    event = ImportClosed(cmd.rows, cmd.imported, cmd.unchanged, cmd.quarantined)
    draft.emit("import", run.id, event)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.StartImport: _start,
    c.ImportItem: _import,
    c.QuarantineRow: _quarantine,
    c.CloseImport: _close,
}
