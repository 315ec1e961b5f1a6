"""Plans at random, with the oddest text that a plan may hold: for writing and reading them back.

Labels and texts are drawn from all of Unicode, with those preferred that YAML could take for
something else.
"""

from __future__ import annotations

from dataclasses import fields
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
from remit.core.rows import Control, RowKind, RowSpec

TRICKS = (
    "", " ", "  two", "two  ", "true", "null", "~", "yes", "1", "-1", "007", "1.5", "1e3", ".inf", "0x1f",
    "2026-01-01", "a: b", "a #b", "#a", "- a", "? a", "*a", "&a", "!a", "%a", "@a", "`a`", "|", ">", "'", '"',
    "a\nb", "a\n", "\na", "a\n\nb\n", "a\n\n", " a\nb", "a \nb", "a\n\tb", "\ta", "a\r\nb", "a\rb", "a\u2028b",
    "a\u0085b", "\ufeffa", "a\x1b[31mb", "a\x7fb", "\u202eabc", "\U0001f600", "a\U0010ffffb", "---", "...",
    "--- a", "a:", "a\\nb", "[a]", "{a: b}", "a, b", "<<", "é: ü", "日本語", "$ref", "=", "a\n--- b\nc", "a\n...\nb",
)  # fmt: skip

texts = st.one_of(
    st.sampled_from(TRICKS),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30),
)
lines = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)
labels = st.one_of(
    st.sampled_from(
        ["true", "null", "1", "-", "~", "a:", "#a", "a#b", "*", "x/y", "[", "1.0", "é"]
    ),
    st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12),
)


def some(of: Any) -> Any:
    return st.lists(of, max_size=3).map(tuple)


ambiguities = some(st.builds(Ambiguity, labels, texts, st.booleans(), texts, lines))
risks = st.sampled_from(Risk)

goals = st.builds(
    PlanGoal, labels, texts, some(st.builds(Clause, labels, texts, st.booleans())), some(texts),
    some(texts), texts, risks, ambiguities, some(st.builds(Exclusion, labels, lines)), some(lines),
)  # fmt: skip
requirements = st.builds(
    PlanRequirement, labels, texts, some(labels), some(texts), some(texts), some(texts),
    some(lines), risks, ambiguities,
)  # fmt: skip
edges = st.builds(PlanEdge, labels, st.sampled_from(EdgeType), texts)
nodes = st.builds(PlanNode, labels, some(labels), some(edges), some(st.tuples(labels, lines)))
specs = st.builds(
    RowSpec,
    kind=st.sampled_from(RowKind),
    argv=st.one_of(some(texts), texts.map(lambda line: ("sh", "-c", line))),
    rubric=st.none() | texts,
    expected_exit=st.integers(0, 125),
    junit=st.none() | texts,
    scope=some(texts),
    artifacts=some(texts),
    control=st.sampled_from(Control),
    red_reason=st.none() | texts,
    timeout_ms=st.integers(0, 86_400_000),
    output_limit_bytes=st.integers(1024, 64 * 1024 * 1024),
    origin=texts,
)
rows = st.builds(
    PlanRow, labels, labels, labels, texts, specs, st.booleans(), texts, texts, texts, lines
)
reversals = st.builds(Reversal, st.sampled_from(ReversalKind), texts, texts, texts, texts, lines)
items = st.builds(
    PlanItem, labels, texts, texts, st.just("") | labels, some(labels), some(labels), some(texts),
    some(texts), some(texts), risks, reversals, st.integers(0, 4), texts, texts,
)  # fmt: skip


def unlike(of: Any) -> Any:
    return st.lists(of, max_size=3, unique_by=lambda one: one.label).map(tuple)


bundles = st.builds(
    Bundle, labels, goals, unlike(requirements), unlike(nodes), unlike(rows), unlike(items)
)


def parts_of(kind: type) -> set[str]:
    """Names of the fields of a kind of record."""
    return {field.name for field in fields(kind)}
