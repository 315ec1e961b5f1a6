"""Findings: what is wrong with a plan, in words that a program can act on.

A finding names the record and the field that it is about, so that whoever holds the file can point
at line and column, and the gate that it keeps shut. One that does not block is advice.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Gate(StrEnum):
    """The gates of planned work, in the order of the stages."""

    PLAN_OPEN = "plan-open"
    GOAL = "goal"
    REQUIREMENTS = "requirements"
    GRAPH = "graph"
    VERIFICATION_PLAN = "verification-plan"
    RED_CONTROL = "red-control"
    SCOPE = "scope"
    REVERSAL = "reversal"
    DECISION = "decision"


class Problem(StrEnum):
    """What can be wrong with a plan."""

    LABEL_MALFORMED = "LABEL_MALFORMED"
    LABEL_TWICE = "LABEL_TWICE"
    TEXT_MISSING = "TEXT_MISSING"
    TEXT_TOO_LONG = "TEXT_TOO_LONG"
    TEXT_MALFORMED = "TEXT_MALFORMED"
    TOO_MANY = "TOO_MANY"
    OBJECTIVE_MISSING = "OBJECTIVE_MISSING"
    AUTHORITY_MISSING = "AUTHORITY_MISSING"
    PROVENANCE_MISSING = "PROVENANCE_MISSING"
    CLAUSES_MISSING = "CLAUSES_MISSING"
    CLAUSE_UNKNOWN = "CLAUSE_UNKNOWN"
    CLAUSE_UNCOVERED = "CLAUSE_UNCOVERED"
    CLAUSE_BOTH = "CLAUSE_BOTH"
    AMBIGUITY_OPEN = "AMBIGUITY_OPEN"
    DECISIONS_CONFLICT = "DECISIONS_CONFLICT"
    DECISION_MISSING = "DECISION_MISSING"
    DECISION_UNFIT = "DECISION_UNFIT"
    ACCEPTANCE_MISSING = "ACCEPTANCE_MISSING"
    SOURCES_MISSING = "SOURCES_MISSING"
    REQUIREMENT_UNKNOWN = "REQUIREMENT_UNKNOWN"
    REQUIREMENT_ORPHAN = "REQUIREMENT_ORPHAN"
    REQUIREMENT_UNCOVERED = "REQUIREMENT_UNCOVERED"
    REQUIREMENT_WITHOUT_ITEM = "REQUIREMENT_WITHOUT_ITEM"
    NODE_UNKNOWN = "NODE_UNKNOWN"
    NODE_ORPHAN = "NODE_ORPHAN"
    EDGE_TWICE = "EDGE_TWICE"
    RATIONALE_MISSING = "RATIONALE_MISSING"
    CYCLE = "CYCLE"
    BYPASS_AND_EDGE = "BYPASS_AND_EDGE"
    ROW_UNKNOWN = "ROW_UNKNOWN"
    ROW_MALFORMED = "ROW_MALFORMED"
    ROW_ELSEWHERE = "ROW_ELSEWHERE"
    BOUNDARY_MISSING = "BOUNDARY_MISSING"
    NO_DIRECT_ROW = "NO_DIRECT_ROW"
    NO_RED_CONTROL = "NO_RED_CONTROL"
    ITEM_UNKNOWN = "ITEM_UNKNOWN"
    ITEM_MALFORMED = "ITEM_MALFORMED"
    ITEM_WITHOUT_REQUIREMENT = "ITEM_WITHOUT_REQUIREMENT"
    ITEM_WITHOUT_ROW = "ITEM_WITHOUT_ROW"
    ITEM_WITHOUT_NODE = "ITEM_WITHOUT_NODE"
    NOT_ON_NODE = "NOT_ON_NODE"
    SCOPE_MISSING = "SCOPE_MISSING"
    PATTERN_MALFORMED = "PATTERN_MALFORMED"
    REVERSAL_UNCLASSIFIED = "REVERSAL_UNCLASSIFIED"
    REVERSAL_INCOMPLETE = "REVERSAL_INCOMPLETE"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong. ``kind`` and ``label`` name the record, ``field`` the path inside it.

    A path is written as in ``clauses[2].text``; empty means the record itself. ``path`` holds a
    cycle's nodes or the ids of decisions in conflict. ``gate`` is what stays shut because of it.
    """

    code: Problem
    kind: str
    label: str
    field: str
    message: str
    gate: Gate
    blocking: bool = True
    path: tuple[str, ...] = ()
