"""What a plan does to one work item and its rows: make it, change it, go on in another, let it go.

A row that asks for something else is a new row. What nobody works on gets a new revision of its brief,
and admission looks again. A brief that somebody works by, or that was handed in, never changes: the
item is put aside as ``scope-changed`` and closed, and a linked successor goes on. What is verified
stays so; its results are stale and a successor goes on (CONTRACT 8, stages 4 and 5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from remit.core import plan_commands as pc
from remit.core import plan_events as e
from remit.core.beneath import is_inner
from remit.core.deadlock import own_cycle
from remit.core.decide.asking import at_rest
from remit.core.decide.plan_parting import part
from remit.core.dependencies import MAX_DEPENDENCIES, unresolved
from remit.core.evolve.plans import entry_of
from remit.core.facts import (
    Dependency,
    DependencyKind,
    Item,
    Planned,
    PlanRevision,
    Requirement,
    Row,
)
from remit.core.planned_gates import by_plan
from remit.core.planning.bundle import PlanItem, PlanRow, Record, record_digest, undecided
from remit.core.planning.texts import without
from remit.core.refusals import Code, Refused
from remit.core.settlement import judge, resolve_alias, review
from remit.core.staleness import mark
from remit.core.status import Kind
from remit.core.view import Draft

_BLOCKS = DependencyKind.BLOCKS


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the plan wants of one item, in the ids of the ledger.

    ``rows`` pairs each row with the one that carries it already, None for a new one, and with its
    digest and the one without decisions.
    """

    plan: PlanRevision
    revision_id: str
    goal: str
    cmd: pc.ApplyPlanItem
    digest: str
    proposal: str
    known: Planned | None
    requirements: tuple[str, ...]
    node: str
    after: tuple[str, ...]
    rows: tuple[tuple[PlanRow, Row | None, tuple[str, str]], ...]

    @property
    def version(self) -> int:
        """The number of the coming revision."""
        return int(self.revision_id.partition("@")[2])

    @property
    def graph_refs(self) -> tuple[str, ...]:
        """Its node, and those that this waits for."""
        return (self.node, *self.after) if self.node else self.after


def apply_item(
    draft: Draft, cmd: pc.ApplyPlanItem, plan: PlanRevision, revision_id: str, goal: str
) -> Refused | None:
    """Make the item what the plan says, by whatever way its status leaves open."""
    found = draft.get("planned", entry_of(plan.id, "item", cmd.record.label))
    known = found if isinstance(found, Planned) else None
    name = known.id if known is not None else draft.get("alias", cmd.record.label)
    item = draft.item(name) if isinstance(name, str) else None
    refused = _bounded(cmd) or (_foreign(item, plan, cmd.record) if known is None else None)
    if refused is not None:
        return refused
    wanted = _wanted(draft, cmd, plan, revision_id, goal, known, item)
    if item is None or (known is None and item.terminal):
        return _make(draft, wanted, item)
    brief = _brief_changed(item, wanted)
    if not brief and known is not None and not _rest_changed(draft, item, wanted):
        return None
    if at_rest(item) or not brief:
        return _replan(draft, item, wanted, brief=brief)
    return _succeed(draft, item, wanted)


def _bounded(cmd: pc.ApplyPlanItem) -> Refused | None:
    if len(cmd.waits) <= MAX_DEPENDENCIES:
        return None
    return Refused(
        Code.TOO_MANY,
        f"the item {cmd.record.label!r} would wait for {len(cmd.waits)} others, at most"
        f" {MAX_DEPENDENCIES}",
        "put a node with one item between them",
        {"item": cmd.record.label, "waits": len(cmd.waits)},
    )


def _foreign(item: Item | None, plan: PlanRevision, record: PlanItem) -> Refused | None:
    """Refuse a label that stands for work which the plan cannot take over."""
    if item is None:
        return None
    governed = item.plan.governed
    free = governed is None and item.kind is Kind.DELIVERY and at_rest(item)
    if free or (governed is not None and governed.plan == plan.id):
        return None
    owner = governed.plan if governed is not None else "no plan"
    return Refused(
        Code.LABEL_TAKEN,
        f"the item {record.label!r} is {item.id} of {owner}, {item.status}",
        "a plan takes over only delivery work that nobody works on: choose another label",
        {"label": record.label, "item": item.id, "status": str(item.status)},
    )


def _wanted(
    draft: Draft,
    cmd: pc.ApplyPlanItem,
    plan: PlanRevision,
    revision_id: str,
    goal: str,
    known: Planned | None,
    item: Item | None,
) -> Wanted:
    record = cmd.record
    digest, proposal = digests_of(record)
    refs = []
    for label in record.requirements:
        name, fact = _carried(draft, "requirement", label)
        meaning = fact.meaning if isinstance(fact, Requirement) else 0
        refs.append(f"{name}@{meaning}")
    node, after = _node(draft, record.node)
    rows = tuple(_row_of(draft, plan, row, item) for row in cmd.rows)
    return Wanted(
        plan, revision_id, goal, cmd, digest, proposal, known, tuple(refs), node, after, rows
    )


def _carried(draft: Draft, kind: str, label: str) -> tuple[str, Any]:
    """What carries a label; the label behind a question mark where nothing does."""
    name = draft.get("label", f"{kind}/{label}")
    if not isinstance(name, str):
        return f"?{label}", None
    return name, draft.get(kind, name)


def _node(draft: Draft, label: str) -> tuple[str, tuple[str, ...]]:
    """The ids of a node and of those that it waits for, as the newest revision of it says."""
    if not label:
        return "", ()
    name, fact = _carried(draft, "node", label)
    if fact is None:
        return name, ()
    named = [draft.get("label", f"node/{target}") for target in fact.waits]
    ids = [n if isinstance(n, str) else f"?{t}" for n, t in zip(named, fact.waits, strict=True)]
    return name, tuple(ids)


def digests_of(record: Record) -> tuple[str, str]:
    """The digest of a record, and the one without its decisions."""
    digest, bare = record_digest(record), undecided(record)
    return digest, digest if bare is record else record_digest(bare)


def _row_of(
    draft: Draft, plan: PlanRevision, row: PlanRow, item: Item | None
) -> tuple[PlanRow, Row | None, tuple[str, str]]:
    """A row with what carries it, where that asks for the same of the same item."""
    both = digests_of(row)
    entry = draft.get("planned", entry_of(plan.id, "row", row.label))
    if isinstance(entry, Planned) and item is not None and entry.proposal == both[1]:
        known = draft.get("row", entry.id)
        if isinstance(known, Row) and known.item == item.id:
            return row, known, both
    return row, None, both


def _brief_changed(item: Item, wanted: Wanted) -> bool:
    """Whether what somebody works by would change. Priority and decisions are no part of it."""
    governed, known = item.plan.governed, wanted.known
    if governed is None or known is None:
        return True
    if governed.requirement_refs != wanted.requirements:
        return True
    if item.plan.rows != tuple(row.id if row is not None else "" for _, row, _ in wanted.rows):
        return True
    if known.proposal == wanted.proposal:
        return False
    record = undecided(wanted.cmd.record)
    assert isinstance(record, PlanItem)
    return record_digest(replace(record, priority=item.priority)) != known.proposal


def _rest_changed(draft: Draft, item: Item, wanted: Wanted) -> bool:
    """Whether priority, decisions, place in the graph or a row's waiver changed."""
    governed, known = item.plan.governed, wanted.known
    assert governed is not None
    assert known is not None
    place = (governed.node, governed.dependency_refs, governed.waits)
    if known.digest != wanted.digest or place != (wanted.node, wanted.after, wanted.cmd.waits):
        return True
    return any(row is not None and row.waived != asked.waived for asked, row, _ in wanted.rows)


# The ways.


def _make(draft: Draft, wanted: Wanted, before: Item | None) -> Refused | None:
    """A new item; ``before`` is the one that its label stood for."""
    cmd = wanted.cmd
    label = cmd.record.label
    name = f"W-{draft.counter('work-item') + 1}"
    rows = _register(draft, wanted, name)
    edges = _edges(draft, wanted, name, None)
    alias = "" if isinstance(draft.get("alias", label), str) else label
    record, text_ref = _kept(cmd)
    event = e.ItemPlanned(
        wanted.revision_id,
        wanted.goal,
        wanted.version,
        wanted.digest,
        wanted.known.digest if wanted.known is not None else "",
        wanted.proposal,
        record,
        cmd.texts,
        text_ref,
        alias,
        before.id if before is not None else "",
        wanted.node,
        wanted.requirements,
        wanted.after,
        rows,
        wanted.graph_refs,
        cmd.waits,
        edges,
    )
    draft.open("item", name, event)
    waited_for = resolve_alias(draft, alias) if alias else False
    return _knot(draft, name, wanted.plan.id) if waited_for else None


def _kept(cmd: pc.ApplyPlanItem) -> tuple[PlanItem, str]:
    """The record as its event holds it, and the blob of its body."""
    refs = dict(cmd.texts)
    return without(cmd.record, refs), refs.get("body", "")


def _register(draft: Draft, wanted: Wanted, item: str) -> tuple[str, ...]:
    """Register what is new among the rows, and bring what only got another decision up to date."""
    found = []
    for row, known, both in wanted.rows:
        if known is not None and known.item == item:
            if known.waived != row.waived:
                entry = draft.get("planned", entry_of(wanted.plan.id, "row", row.label))
                old = entry.digest if isinstance(entry, Planned) else ""
                revised = e.RowRevised(wanted.revision_id, both[0], old, row.waived)
                draft.emit("row", known.id, revised)
            found.append(known.id)
            continue
        found.append(_new_row(draft, wanted, row, item, both))
    return tuple(found)


def _new_row(draft: Draft, wanted: Wanted, row: PlanRow, item: str, both: tuple[str, str]) -> str:
    name = f"V-{draft.counter('row') + 1}"
    entry = draft.get("planned", entry_of(wanted.plan.id, "row", row.label))
    old = entry if isinstance(entry, Planned) else None
    head = f"{row.label}:"
    texts = tuple((p[len(head) :], ref) for p, ref in wanted.cmd.row_texts if p.startswith(head))
    event = e.RowPlanned(
        wanted.revision_id,
        _carried(draft, "requirement", row.requirement)[0],
        item,
        both[0],
        old.digest if old is not None else "",
        both[1],
        old.id if old is not None else "",
        without(row, (path for path, _ in texts)),
        texts,
    )
    draft.open("row", name, event)
    if old is not None:
        draft.emit("row", old.id, e.RowRetired(wanted.revision_id, old.digest, name))
    return name


def _edges(draft: Draft, wanted: Wanted, name: str, item: Item | None) -> e.Edges:
    """The edges that the graph gives an item, behind those that it has from elsewhere."""
    found = [(d.target, str(d.kind), str(d.state), d.via, d.inner) for d in _others(draft, item)]
    targets = {edge[0] for edge in found}
    for label in wanted.cmd.waits:
        target, state, via = judge(draft, _BLOCKS, _target(draft, wanted.plan.id, label))
        if target in targets or target == name:
            continue
        targets.add(target)
        inner = item is not None and is_inner(draft, name, _BLOCKS, target)
        found.append((target, str(_BLOCKS), str(state), via, inner))
    return tuple(found)


def _target(draft: Draft, plan: str, label: str) -> str:
    """The item that a label of the plan stands for now; unresolved while there is none."""
    entry = draft.get("planned", entry_of(plan, "item", label))
    return entry.id if isinstance(entry, Planned) else unresolved(label)


def _others(draft: Draft, item: Item | None) -> list[Dependency]:
    """The edges of an item that its plan did not give it."""
    if item is None or item.plan.governed is None:
        return list(item.dependencies) if item is not None else []
    return [d for d in item.dependencies if not by_plan(draft, item.plan.governed, d)]


def _knot(draft: Draft, name: str, plan: str) -> Refused | None:
    """Refuse a cycle through work that is not of this plan; its own graph was checked whole."""
    path = own_cycle(draft, name)
    members = [draft.item(each) for each in path]
    if all(m is None or (m.plan.governed and m.plan.governed.plan == plan) for m in members):
        return None
    return Refused(
        Code.DEPENDENCY_CYCLE,
        f"{name} would wait for itself through {' -> '.join(path)}",
        "remove one of these dependencies, or change the plan, and apply it again",
        {"cycle": list(path)},
    )


def _replan(draft: Draft, item: Item, wanted: Wanted, *, brief: bool) -> Refused | None:
    """A revision of an item in place: of its brief while nobody works on it, else of the rest."""
    cmd = wanted.cmd
    old = item.plan.governed
    rows = _register(draft, wanted, item.id)
    edges = _edges(draft, wanted, item.id, item)
    record, text_ref = _kept(cmd)
    event = e.ItemReplanned(
        wanted.revision_id,
        wanted.goal,
        wanted.version,
        brief,
        item.plan.brief_revision + brief,
        wanted.digest,
        wanted.known.digest if wanted.known is not None else "",
        wanted.proposal,
        record,
        cmd.texts,
        text_ref,
        wanted.node,
        wanted.requirements,
        wanted.after,
        rows,
        wanted.graph_refs,
        (),
        cmd.waits,
        edges,
    )
    draft.emit("item", item.id, event)
    gained = {edge[0] for edge in edges} - {d.target for d in item.dependencies}
    refused = _knot(draft, item.id, wanted.plan.id) if gained or old is None else None
    if refused is None:
        mark(draft, (item.id,))
        review(draft, item.id)
        mark(draft, [item.id])
    return refused


def _succeed(draft: Draft, item: Item, wanted: Wanted) -> Refused | None:
    """Another item goes on; this one keeps its brief, and what was found of it."""
    refused = _make(draft, wanted, item)
    if refused is not None:
        return refused
    entry = draft.get("planned", entry_of(wanted.plan.id, "item", wanted.cmd.record.label))
    assert isinstance(entry, Planned)
    part(draft, item, wanted.revision_id, entry.id)
    return None
