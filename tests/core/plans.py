"""Plans for tests: sound ones of any size, and a strategy for any plan at all.

``sound(n)`` is a chain in which every link is needed: n requirements, each with its own clause, node,
row and item, each node waiting for the one before.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from remit.core.planning.bundle import (
    Ambiguity,
    Bundle,
    Clause,
    EdgeType,
    Exclusion,
    PlanEdge,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
    Reversal,
    ReversalKind,
    Risk,
)
from remit.core.rows import RowKind, RowSpec

COMMAND = RowSpec(RowKind.COMMAND, argv=("true",))


def goal(count: int) -> PlanGoal:
    return PlanGoal(
        "export",
        "Customers get their data",
        tuple(Clause(f"c{n}", f"part {n} of the data is there") for n in range(count)),
        ("no new formats",),
        ("interview 12",),
        "the product owner, for this repository",
    )


def requirement(n: int, **more: object) -> PlanRequirement:
    told = {"statement": f"part {n} is exported", "clauses": (f"c{n}",), "sources": ("spec.md",)}
    told |= {"acceptance": (f"a file with part {n} exists",)}
    return PlanRequirement(f"r{n}", **(told | more))  # type: ignore[arg-type]  # by field name


def node(n: int, *waits: int) -> PlanNode:
    edges = tuple(PlanEdge(f"n{t}", EdgeType.BLOCKS, f"needs part {t}") for t in waits)
    return PlanNode(f"n{n}", (f"r{n}",), edges)


def row(n: int, **more: object) -> PlanRow:
    told = {"requirement": f"r{n}", "item": f"i{n}", "boundary": "the file on disk"}
    return PlanRow(f"v{n}", **({"spec": COMMAND} | told | more))  # type: ignore[arg-type]  # by name


def item(n: int, **more: object) -> PlanItem:
    told: dict[str, object] = {"title": f"Export part {n}", "node": f"n{n}", "scope": (f"src/{n}",)}
    told |= {"requirements": (f"r{n}",), "rows": (f"v{n}",)}
    return PlanItem(f"i{n}", **(told | more))  # type: ignore[arg-type]  # by field name


def sound(count: int = 3, name: str = "exports") -> Bundle:
    numbers = range(count)
    return Bundle(
        name,
        goal(count),
        tuple(requirement(n) for n in numbers),
        tuple(node(n, n - 1) if n else node(n) for n in numbers),
        tuple(row(n) for n in numbers),
        tuple(item(n) for n in numbers),
    )


def large(requirements: int, edges_each: int = 5) -> Bundle:
    """A plan of so many requirements and items, twice as many rows, and ``edges_each`` a node."""
    numbers = range(requirements)
    rows = tuple(
        PlanRow(f"{kind}{n}", f"r{n}", f"i{n}", "the file on disk", COMMAND)
        for n in numbers
        for kind in ("v", "w")
    )
    return Bundle(
        "large",
        PlanGoal(
            "large",
            "Everything works",
            tuple(Clause(f"c{n}", f"clause {n}") for n in range(100)),
            provenance=("interview",),
            authority="owner",
        ),
        tuple(requirement(n, clauses=(f"c{n % 100}",)) for n in numbers),
        tuple(
            node(n, *sorted({(n * k) // (k + 1) for k in range(1, edges_each + 1)} - {n}))
            if n
            else node(n)
            for n in numbers
        ),
        rows,
        tuple(item(n, rows=(f"v{n}", f"w{n}")) for n in numbers),
    )


_LABELS = st.sampled_from([f"x{n}" for n in range(6)])
_TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
_TEXTS = st.lists(_TEXT, max_size=2).map(tuple)
_NAMES = st.lists(_LABELS, max_size=3, unique=True).map(tuple)
_RISK = st.sampled_from(Risk)
_AMBIGUITIES = st.lists(
    st.builds(Ambiguity, _LABELS, _TEXT, st.booleans(), _TEXT, _TEXT), max_size=2
).map(tuple)

GOALS = st.builds(
    PlanGoal,
    _LABELS,
    _TEXT,
    st.lists(st.builds(Clause, _LABELS, _TEXT, st.booleans()), max_size=3).map(tuple),
    _TEXTS,
    _TEXTS,
    _TEXT,
    _RISK,
    _AMBIGUITIES,
    st.lists(st.builds(Exclusion, _LABELS, _TEXT), max_size=2).map(tuple),
    _NAMES,
)


def _unique(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=4, unique_by=lambda each: each.label).map(tuple)


BUNDLES = st.builds(
    Bundle,
    _LABELS,
    GOALS,
    _unique(
        st.builds(
            PlanRequirement,
            _LABELS,
            _TEXT,
            _NAMES,
            _TEXTS,
            _TEXTS,
            _TEXTS,
            _NAMES,
            _RISK,
            _AMBIGUITIES,
        )
    ),
    _unique(
        st.builds(
            PlanNode,
            _LABELS,
            _NAMES,
            st.lists(
                st.builds(PlanEdge, _LABELS, st.sampled_from(EdgeType), _TEXT), max_size=3
            ).map(tuple),
            st.lists(st.tuples(_LABELS, _TEXT), max_size=2).map(tuple),
        )
    ),
    _unique(
        st.builds(
            PlanRow,
            _LABELS,
            _LABELS,
            _LABELS,
            _TEXT,
            st.builds(RowSpec, st.sampled_from(RowKind), _TEXTS),
            st.booleans(),
            _TEXT,
            _TEXT,
            _TEXT,
            _TEXT,
        )
    ),
    _unique(
        st.builds(
            PlanItem,
            _LABELS,
            _TEXT,
            _TEXT,
            _LABELS,
            _NAMES,
            _NAMES,
            _TEXTS,
            _TEXTS,
            _TEXTS,
            _RISK,
            st.builds(Reversal, st.sampled_from(ReversalKind), _TEXT, _TEXT, _TEXT, _TEXT, _TEXT),
            st.integers(0, 9),
        )
    ),
)
"""Any plan: mostly with much wrong in it, but with each label once."""
