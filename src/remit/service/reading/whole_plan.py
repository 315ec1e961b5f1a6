"""A whole plan with all of its facts, joined in memory.

They are loaded once, kind by kind: nothing is asked for one record at a time, so a plan of full size
takes a few queries for each thousand records. What of it is suspect is derived by the core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from remit.core.facts import (
    Fact,
    GraphNode,
    Item,
    Key,
    PlanRevision,
    Row,
)
from remit.core.planning.suspicion import End, Suspect, end_of, suspect
from remit.core.refusals import Code, Refused
from remit.ports import ReadTx
from remit.service.planned import entries

CHUNK: Final = 1_000


@dataclass(slots=True)
class Whole:
    """A plan with all of its facts, and the joins between them by id."""

    tx: ReadTx
    plan: PlanRevision
    facts: dict[Key, Fact | None]
    names: dict[str, list[str]]
    nodes_of: dict[str, list[GraphNode]] = field(default_factory=dict)
    rows_of: dict[str, list[Row]] = field(default_factory=dict)
    items_of: dict[str, list[Item]] = field(default_factory=dict)
    items_on: dict[str, list[Item]] = field(default_factory=dict)

    def get(self, kind: str, name: str) -> Fact | None:
        """A fact, read from the store where it is not of the plan itself."""
        key = (kind, name)
        if key not in self.facts:
            self.facts.update(self.tx.load([key]))
        return self.facts[key]

    def each(self, kind: str) -> list[Any]:
        """The facts of one kind that the plan has now, by label."""
        found = (self.facts.get((kind, name)) for name in self.names.get(kind, ()))
        return [fact for fact in found if fact is not None]


def gather(tx: ReadTx, name: str) -> Whole | Refused:
    """A plan by id or name, whole; an empty name means the only plan. Refuses ``PLAN_UNKNOWN``."""
    if not name:
        only = tx.names("plan", "", 2)
        name = only[0] if len(only) == 1 else ""
    known = entries(tx, name) if name else None
    if known is None or known.plan is None:
        return Refused(
            Code.PLAN_UNKNOWN,
            f"there is no plan {name[:80]!r}" if name else "there is not exactly one plan",
            "name one of 'remit plan list' with --plan",
            {"plan": name[:80]},
        )
    plan = known.plan
    facts: dict[Key, Fact | None] = {}
    names: dict[str, list[str]] = {}
    for (kind, label), entry in sorted(known.here.items()):
        facts["planned", f"{plan.id}/{kind}/{label}"] = entry
        names.setdefault(kind, []).append(entry.id)
    for kind, ids in names.items():
        for at in range(0, len(ids), CHUNK):
            facts.update(tx.load([(kind, each) for each in ids[at : at + CHUNK]]))
    facts["plan", plan.id] = plan
    whole = Whole(tx, plan, facts, names)
    _cleared(whole)
    _join(whole)
    return whole


def _cleared(whole: Whole) -> None:
    """Every judgement about a link; what is not among them was never judged."""
    after = ""
    while names := whole.tx.names("link", after, CHUNK):
        whole.facts.update(whole.tx.load([("link", name) for name in names]))
        after = names[-1]


def _join(whole: Whole) -> None:
    for node in whole.each("node"):
        for name in node.covers:
            whole.nodes_of.setdefault(name, []).append(node)
    for row in whole.each("row"):
        whole.rows_of.setdefault(row.requirement, []).append(row)
    for item in whole.each("item"):
        for name in item.plan.requirements:
            whole.items_of.setdefault(name, []).append(item)
        if item.plan.governed is not None:
            whole.items_on.setdefault(item.plan.governed.node, []).append(item)


def suspects_of(whole: Whole) -> list[Suspect]:
    """Every suspect link of a plan, by the kind of its ends and their labels."""
    ends: dict[Key, End | None] = {}

    def end(key: Key) -> End | None:
        if key not in ends:
            ends[key] = end_of(whole.get, *key)
        return ends[key]

    found = []
    for above, below in _pairs(whole):
        upper, lower = end(above), end(below)
        if upper is not None and lower is not None:
            one = suspect(lambda kind, name: whole.facts.get((kind, name)), upper, lower)
            found += [one] if one is not None else []
    return found


def _pairs(whole: Whole) -> Iterator[tuple[Key, Key]]:
    """Every link of a plan by its ends, each named by its lower end."""
    for requirement in whole.each("requirement"):
        yield ("goal", whole.plan.goal), ("requirement", requirement.id)
    for node in whole.each("node"):
        for name in node.covers:
            yield ("requirement", name), ("node", node.id)
    for row in whole.each("row"):
        yield ("requirement", row.requirement), ("row", row.id)
    for item in whole.each("item"):
        governed = item.plan.governed
        if governed is not None and governed.node:
            yield ("node", governed.node), ("item", item.id)
