"""The planned half of the chain: goal, requirement, dependency node, verification row, work item.

One pure function walks it for one item, from facts, and says of each link whether it is there. A
link counts only where both of its ends name one another and both are in the plan: a row of another
item, a node that does not cover the requirement, or a requirement that the plan has no longer proves
nothing. What is ready for work has the whole chain; ``remit trace`` shows it, and the tests take out
each link and see that a gate shuts (CONTRACT 10).

Nothing here decides anything: the gates do, each by itself, and what is missing here is a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from remit.core.facts import Fact, Goal, Governed, GraphNode, Item, PlanRevision, Requirement, Row

Get = Callable[[str, str], Fact | None]
"""Reads a fact by kind and id, None where there is none."""


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chain: its kind as ``UPPER-LOWER``, both ends, and what is wrong with it."""

    kind: str
    upper: str
    lower: str
    fault: str = ""

    @property
    def present(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.fault


def chain(get: Get, item: Item) -> tuple[Link, ...]:
    """Every planned link above an item, from its plan down; of drafted items there are none.

    ``get`` gives facts as they stand.
    """
    governed = item.plan.governed
    return () if governed is None else tuple(_links(get, item, governed))


def whole(get: Get, item: Item) -> bool:
    """Whether a planned item has every link above it."""
    links = chain(get, item)
    return bool(links) and all(link.present for link in links)


def _links(get: Get, item: Item, governed: Governed) -> Iterator[Link]:
    plan: Any = get("plan", governed.plan)
    yield _plan(plan, item, governed)
    goal_id = plan.goal if isinstance(plan, PlanRevision) else item.plan.goal
    goal = get("goal", goal_id) if goal_id else None
    there = isinstance(goal, Goal) and not goal.retired and goal.plan == governed.plan
    yield Link("plan-goal", governed.plan, goal_id, "" if there else "the plan has no such goal")
    node = get("node", governed.node) if governed.node else None
    yield _node(node, item, governed)
    if not item.plan.requirements:
        yield Link("requirement-item", "", item.id, "it owns no requirement")
    rows = [(name, get("row", name)) for name in item.plan.rows]
    for name in item.plan.requirements:
        requirement = get("requirement", name)
        yield _requirement(requirement, name, goal_id, governed)
        covers = isinstance(node, GraphNode) and name in node.covers
        fault = "" if covers else "the node does not cover it"
        yield Link("requirement-node", name, governed.node, fault)
        direct = [i for i, row in rows if _proves(row, item, name, governed.plan)]
        fault = "" if direct else "no direct row of this item proves it"
        yield Link("requirement-row", name, ",".join(direct), fault)
    for name, row in rows:
        yield Link("row-item", name, item.id, _row(row, item, governed))


def _plan(plan: Any, item: Item, governed: Governed) -> Link:
    fault = ""
    if not isinstance(plan, PlanRevision) or not plan.revision:
        fault = "there is no such plan in force"
    elif plan.open is not None:
        fault = "an apply of the plan has not ended"
    elif governed.left:
        fault = "the plan has this item no longer"
    return Link("plan-item", governed.plan_revision, item.id, fault)


def _node(node: Fact | None, item: Item, governed: Governed) -> Link:
    stands = isinstance(node, GraphNode) and not node.retired and node.plan == governed.plan
    return Link("node-item", governed.node, item.id, "" if stands else "the graph has no such node")


def _requirement(found: Fact | None, name: str, goal: str, governed: Governed) -> Link:
    fault = ""
    if not isinstance(found, Requirement) or found.retired or found.plan != governed.plan:
        fault = "the plan has no such requirement"
    return Link("goal-requirement", goal, name, fault)


def _proves(row: Fact | None, item: Item, requirement: str, plan: str) -> bool:
    return (
        isinstance(row, Row)
        and row.direct
        and not row.retired
        and (row.plan, row.item, row.requirement) == (plan, item.id, requirement)
    )


def _row(row: Fact | None, item: Item, governed: Governed) -> str:
    if not isinstance(row, Row) or row.retired or row.plan != governed.plan:
        return "the plan has no such row"
    if row.item != item.id:
        return f"it is a row of {row.item}"
    return "" if row.requirement in item.plan.requirements else "it proves no requirement of it"
