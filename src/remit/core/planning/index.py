"""A plan by its references, made once for all rules: who names whom, and by which label.

Where a label stands twice the first record answers for it, and ``check`` reports the other.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable
from typing import Final, TypeVar

from remit.core.planning.bundle import Bundle, PlanItem, PlanNode, PlanRequirement, PlanRow

LABEL: Final = re.compile(r"[^\x00-\x20\x7f-\xa0]{1,200}\Z")
COUNTER: Final = re.compile(r"[GRNVWPD]-[0-9]+\Z")
"""The form of the ledger's own ids; a label that looks like one would name two things."""

_R = TypeVar("_R", PlanRequirement, PlanNode, PlanRow, PlanItem)


def names_problem(label: str) -> str:
    """What is wrong with a label; empty where nothing is."""
    if not LABEL.match(label):
        return f"a label has 1 to 200 characters without blanks or controls, found {label[:50]!r}"
    try:
        label.encode()
    except UnicodeEncodeError:
        return "a label is text that can be written as UTF-8"
    if COUNTER.match(label):
        return f"{label!r} has the form of an id that the ledger gives itself; choose another"
    return ""


class Index:
    """The records of a plan by label, and what refers to them.

    ``direct`` are the direct rows of each requirement. ``nodes_of``, ``items_of`` and ``covering``
    say which nodes, items and requirements name a requirement or a clause. ``sound`` names, by kind and
    label, records that are known to keep the bounds of ``limits``.
    """

    def __init__(self, plan: Bundle, sound: Container[tuple[str, str]] = ()) -> None:
        self.plan: Final = plan
        self.sound: Final = sound
        self.clauses: Final = {c.label: c for c in reversed(plan.goal.clauses)}
        self.requirements: Final = _first(plan.requirements)
        self.nodes: Final = _first(plan.nodes)
        self.rows: Final = _first(plan.rows)
        self.items: Final = _first(plan.items)
        self.covering: Final[dict[str, list[str]]] = defaultdict(list)
        self.nodes_of: Final[dict[str, list[str]]] = defaultdict(list)
        self.items_of: Final[dict[str, list[PlanItem]]] = defaultdict(list)
        self.rows_of: Final[dict[str, list[PlanRow]]] = defaultdict(list)
        for requirement in plan.requirements:
            for clause in requirement.clauses:
                self.covering[clause].append(requirement.label)
        for node in plan.nodes:
            for label in node.requirements:
                self.nodes_of[label].append(node.label)
        for item in plan.items:
            for label in item.requirements:
                self.items_of[label].append(item)
        for row in plan.rows:
            self.rows_of[row.requirement].append(row)


def _first(records: Iterable[_R]) -> dict[str, _R]:
    found: dict[str, _R] = {}
    for record in records:
        found.setdefault(record.label, record)
    return found
