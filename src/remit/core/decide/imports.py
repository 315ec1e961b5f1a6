"""Decisions on rows of a foreign backlog.

An import opens, brings its items in draft (or closed, as *imported*), sets their edges once all of
them are there, closes, and only then may admission look at them: an import that was killed in the
middle opens no gate, and running it again carries on. A row whose content is the same writes
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
from remit.core.decide.asking import bad, find
from remit.core.decide.items import draft_goal, finish
from remit.core.decide.waiting import add_child, announce_child, children_of
from remit.core.dependencies import MAX_DEPENDENCIES, unresolved
from remit.core.events import ImportClosed, ImportStarted, RequirementDrafted, RowQuarantined
from remit.core.facts import Dependency, DependencyKind, ImportRun, Item, Rule
from remit.core.ids import is_alias
from remit.core.refusals import Code, Refused
from remit.core.settlement import is_inner, judge, resolve_alias, review
from remit.core.status import Outcome, Status
from remit.core.triage import TriageKind, put_aside
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
    item_id = f"W-{draft.counter('work-item') + 1}"
    requirement = f"R-{draft.counter('requirement') + 1}"
    drafted = RequirementDrafted(f"{run.goal}@1", item_id, "", cmd.text_ref, ambiguous=True)
    draft.open("requirement", requirement, drafted)
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
        cmd.links,
        cmd.notices,
    )
    draft.open("item", item_id, event)
    resolve_alias(draft, cmd.alias)
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
    return gates.IMPORT_OPEN if rule.accepted else f"{gates.RULE}/{rule.name}"


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
    if cmd.closed:
        finish(draft, item, Outcome.IMPORTED, c.Text("closed in its source"))
        return None
    event = e.ItemRevised(
        item.plan.brief_revision + 1,
        "",
        "",
        cmd.text_ref,
        cmd.priority,
        item.plan.scope,
        item.plan.artifacts,
        cmd.digest,
    )
    draft.emit("item", item.id, event)
    return None


def _link(draft: Draft, cmd: c.LinkImported) -> Refused | None:
    known = draft.get("alias", cmd.alias)
    if not isinstance(known, str):
        return bad("id", cmd.alias, "an imported row")
    item = find(draft, known)
    if isinstance(item, Refused):
        return item
    if len(cmd.edges) > MAX_DEPENDENCIES:
        return bad("edges", len(cmd.edges), f"at most {MAX_DEPENDENCIES}")
    grown = [d for d in item.dependencies if d.kind is DependencyKind.WAITS_FOR_CHILD]
    has = [d for d in item.dependencies if d not in grown]
    wanted = [_edge(draft, item.id, kind, alias) for kind, alias in cmd.edges]
    if cmd.parents_only:
        wanted = [d for d in has if d.kind is not DependencyKind.PARENT] + [
            d for d in wanted if d.kind is DependencyKind.PARENT
        ]
    if {(d.target, d.kind) for d in has} == {(d.target, d.kind) for d in wanted}:
        return None
    if item.status not in (*EDITABLE, Status.TRIAGED, Status.CLOSED):
        return None
    edges = tuple((d.target, d.kind.value, d.state.value, d.via, d.inner) for d in wanted)
    draft.emit("item", item.id, e.DependenciesSet(edges))
    _grow(draft, item.id, wanted)
    if not cmd.parents_only:
        _deadlocked(draft, item.id, cmd.cycle)
        linked = draft.item(item.id)
        if linked is not None and (linked.status is not Status.DRAFT or dead_edge(linked)):
            review(draft, item.id)
    return None


def _edge(draft: Draft, item: str, kind: str, alias: str) -> Dependency:
    edge = DependencyKind(kind)
    target, state, via = judge(draft, edge, unresolved(alias))
    return Dependency(target, edge, state, via, is_inner(draft, item, edge, via))


def _grow(draft: Draft, item: str, edges: list[Dependency]) -> None:
    """Children of what it waits for, and news for those who wait for all children of its parent."""
    for edge in edges:
        if edge.target.startswith("?"):
            continue
        if edge.kind is DependencyKind.WAITS_FOR:
            for child in children_of(draft, edge.via):
                add_child(draft, item, child)
        if edge.kind is DependencyKind.PARENT:
            announce_child(draft, edge.via, item)


def _deadlocked(draft: Draft, name: str, cycle: tuple[str, ...]) -> None:
    """A row that waits for itself can never start: that goes to triage, with the shortest cycle."""
    item = draft.item(name)
    if item is None or item.status is not Status.DRAFT or not cycle:
        return
    put_aside(
        draft,
        item,
        TriageKind.IMPORT_INCONSISTENT,
        evidence=(f"cycle:{' -> '.join(cycle)}",),
        reason="it waits for itself through these ids of its source",
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
    c.LinkImported: _link,
    c.QuarantineRow: _quarantine,
    c.CloseImport: _close,
}
