"""Plan bundles as files: written and read back they are equal, and every fault has its place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.documents.plans_at_random import bundles, parts_of, texts

from remit.core.planning.bundle import (
    Ambiguity,
    Bundle,
    Clause,
    Exclusion,
    PlanEdge,
    PlanGoal,
    PlanItem,
    PlanNode,
    PlanRequirement,
    PlanRow,
    Reversal,
)
from remit.core.rows import RowSpec
from remit.documents import plan_tables as t
from remit.documents import plan_writing as w
from remit.documents.plans import MOST_FAULTS, parse
from remit.documents.yaml_text import plain_in_line, quoted, scalar

GOOD = """\
plan: search
goal:
  label: find-things
  objective: Find things.
  clauses:
    - label: fast
      text: It is fast.
requirements:
  - label: fast-search
    statement: A search ends within a second.
    clauses: [fast]
nodes:
  - label: engine
    requirements: [fast-search]
    edges:
      - target: index
        rationale: It reads the index.
  - label: index
rows:
  - label: timed
    requirement: fast-search
    item: write-engine
    boundary: the public function
    command: "pytest -q tests/test_speed.py"
    timeout: 5m
items:
  - label: write-engine
    title: Write the engine
    node: engine
    requirements: [fast-search]
    rows: [timed]
    scope: [src/**]
"""


def written(bundle: Bundle) -> bytes:
    return "".join(w.lines(bundle, "plan.schema.json", ("for\nnobody",))).encode()


def the(text: str | bytes) -> Bundle:
    read = parse(text.encode() if isinstance(text, str) else text)
    assert read.problems == []
    assert read.bundle is not None
    return read.bundle


@given(bundles)
@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=None)
def test_what_is_written_reads_back_as_it_was(bundle: Bundle) -> None:
    assert the(written(bundle)) == bundle
    assert the(json.dumps(w.plain(bundle))) == bundle


@given(texts)
@settings(max_examples=500, deadline=None)
def test_no_text_changes_what_stands_around_it(text: str) -> None:
    goal = PlanGoal("g", text, non_goals=(text, "after"), authority=text, provenance=("end",))
    assert the(written(Bundle("p", goal))) == Bundle("p", goal)


def test_a_writer_that_quotes_too_little_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remit.documents.yaml_text.quoted", lambda text: text)
    goal = PlanGoal("g", "a: b")
    assert parse(written(Bundle("p", goal))).problems


def test_text_is_written_for_people_where_it_can_be() -> None:
    assert scalar("Fix the parser: now") == '"Fix the parser: now"'
    assert scalar("pytest -q tests/test_a.py::b") == "pytest -q tests/test_a.py::b"
    assert quoted("\x1b[31m\u202e") == '"\\u001b[31m\\u202e"'
    assert not plain_in_line("a, b")
    goal = PlanGoal("g", "first\nsecond\n", non_goals=("one", "two"))
    text = written(Bundle("p", goal)).decode()
    assert "  objective: |\n    first\n    second\n  non_goals: [one, two]\n" in text
    assert text.startswith("# yaml-language-server: $schema=plan.schema.json\n# for?nobody\n")


@pytest.mark.parametrize(
    ("table", "kind", "apart"),
    [
        (t.GOAL, PlanGoal, set()), (t.CLAUSE, Clause, set()), (t.AMBIGUITY, Ambiguity, set()),
        (t.EXCLUSION, Exclusion, set()), (t.REQUIREMENT, PlanRequirement, set()),
        (t.NODE, PlanNode, set()), (t.EDGE, PlanEdge, set()), (t.ITEM, PlanItem, set()),
        (t.REVERSAL, Reversal, set()),
        (t.ROW, PlanRow, {"spec"}),
    ],
)  # fmt: skip
def test_every_field_of_a_record_is_in_its_table(table: Any, kind: type, apart: set[str]) -> None:
    wanted = parts_of(kind) - apart
    if kind is PlanRow:
        wanted |= parts_of(RowSpec) | {"command"}
    assert {part.key for part in table.parts} == wanted


def test_a_whole_bundle_has_its_parts() -> None:
    bundle = the(GOOD)
    assert bundle.name == "search"
    assert bundle.rows[0].spec.argv == ("sh", "-c", "pytest -q tests/test_speed.py")
    assert bundle.rows[0].spec.timeout_ms == 300_000
    assert bundle.nodes[0].edges == (
        PlanEdge("index", bundle.nodes[0].edges[0].type, "It reads the index."),
    )
    assert bundle.goal.clauses[0].material


FAULTS: list[tuple[str, str, tuple[int, int], str]] = [
    ("plan: search", "", (2, 1), "the part plan is missing"),
    ("plan: search", "plan: [a]", (1, 7), "$.plan: found a list, expected a label"),
    ("plan: search", "plan: 7", (1, 7), "expected a label (quote it)"),
    ("plan: search", "plan: two words", (1, 7), "without blanks"),
    ("plan: search", "plan: !x search", (1, 7), "found the tag !x"),
    ("plan: search", "plan: &x search", (1, 7), "found the anchor &x"),
    ("label: fast\n", "label: *x\n", (6, 14), "found the alias *x"),
    ("  label: find-things", "  labl: find-things", (3, 9), "this part is not known: did you mean label?"),
    ("  label: find-things", "  label: find-things\n  label: b", (4, 3), "stands here twice"),
    ("    statement: A search ends within a second.\n", "", (9, 5), "the part statement is missing"),
    ("    clauses: [fast]", "    clauses: {a: b}", (11, 14), "found a mapping, expected a list"),
    ("    clauses: [fast]", "    clauses: [fast, 3]", (11, 21), "$.requirements[0].clauses[1]: found a whole number"),
    ("    clauses: [fast]", "    risk: huge", (11, 11), "'huge', expected one of low, medium, high"),
    ("      - target: index\n        rationale: It reads the index.", "      - index", (16, 9), "expected a mapping, an edge"),
    ("        rationale: It reads the index.\n", "", (16, 9), "the part rationale is missing"),
    ("  - label: index\n", "  - label: engine\n", (18, 12), "the node engine stands here twice, first in line 13"),
    ("    timeout: 5m", "    timeout: 5 minutes", (25, 14), "expected a duration"),
    ("    timeout: 5m", "    timeout: 2d", (25, 14), "expected at most"),
    ("    timeout: 5m", "    argv: [make]", (25, 11), "found a command as well"),
    ("    timeout: 5m", "    direct: maybe", (25, 13), "expected true or false"),
    ("    timeout: 5m", "    expected_exit: 126", (25, 20), "found 126, expected 0 to 125"),
    ("    timeout: 5m", "    expected: \"a\\0b\"", (25, 15), "expected text without NUL"),
    ("    timeout: 5m", "    waived: \"a\\nb\"", (25, 13), "printable text in one line"),
    ("    title: Write the engine", "    title: " + "x" * 501, (28, 12), "found 501 characters, expected at most 500"),
    ("    scope: [src/**]", "    scope: [src/**]\n    priority: 9", (33, 15), "found 9, expected 0 to 4"),
    ("items:", "itms:", (27, 3), "$.itms: this part is not known: did you mean items?"),
    ("nodes:\n", "nodes: none\nnods:\n", (12, 8), "found text, expected a list"),
    ("rows:\n", "rows: [\n", (20, 3), "this is not YAML"),
    ("plan: search", "- plan", (2, 1), "this is not YAML"),
    ("    scope: [src/**]", "    scope: [src/**]\n---\nplan: b", (34, 1), "found a second document"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "where", "says"), FAULTS)
def test_every_kind_of_fault_has_its_line_and_column(
    old: str, new: str, where: tuple[int, int], says: str
) -> None:
    assert old in GOOD
    problems = parse(GOOD.replace(old, new, 1).encode()).problems
    assert problems, new
    told = [f"{p.line}:{p.column}: {p}" for p in problems]
    assert any((p.line, p.column) == where and says in str(p) for p in problems), told


@pytest.mark.parametrize("text", ["", "plan", "[]", "7", "null", "# nothing"])
def test_what_is_no_plan_at_all_is_said_to_be_none(text: str) -> None:
    read = parse(text.encode())
    assert read.bundle is None
    assert len(read.problems) == 1


def test_all_faults_are_named_at_once_in_the_order_of_lines() -> None:
    text = GOOD.replace("timeout: 5m", "timeout: x").replace("plan: search", "plan: 7")
    text = text.replace("material", "x").replace("statement:", "stated:")
    read = parse(text.encode())
    assert [p.line for p in read.problems] == [1, 9, 10, 25]
    assert read.bundle is not None
    assert [r.label for r in read.bundle.requirements] == ["fast-search"]


def test_a_record_with_a_fault_is_still_there_to_be_referred_to() -> None:
    read = parse(GOOD.replace("timeout: 5m", "timeout: x").encode())
    assert read.bundle is not None
    assert [row.label for row in read.bundle.rows] == ["timed"]


def test_hostile_text_in_a_fault_is_short_and_printable() -> None:
    name = "x" * 900
    read = parse(f'plan: p\n"{name}\\e[2J": 1\ngoal: "\\e[31m{name}"\n'.encode())
    assert len(read.problems) == 2
    for problem in read.problems:
        assert str(problem).isprintable()
        assert len(str(problem)) < 300


def test_faults_are_bounded() -> None:
    text = "plan: p\ngoal: {label: g, objective: o}\nnodes:\n" + "  - {labl: a}\n" * 2 * MOST_FAULTS
    assert len(parse(text.encode()).problems) == MOST_FAULTS


def test_a_bomb_of_aliases_and_a_deep_nest_are_refused() -> None:
    deep = parse(b"plan: p\ngoal: " + b"[" * 100)
    assert "32 levels" in str(deep.problems[0])
    assert "nesting" in str(parse(b"plan: p\ngoal: " + b"[" * 5_000).problems[0])
    assert "expected" in str(parse(b"\xff\xfe").problems[0]) or "UTF-8" in str(
        parse(b"\xff").problems[0]
    )


def test_json_may_escape_what_lies_beyond_the_first_plane() -> None:
    text = json.dumps(
        {"plan": "p", "goal": {"label": "g", "objective": "smile \U0001f600 \\ud83d"}}
    )
    assert "\\ud83d\\ude00" in text
    assert the(text).goal.objective == "smile \U0001f600 \\ud83d"


@pytest.mark.parametrize(
    ("kind", "label", "path", "where"),
    [
        ("plan", "search", "name", (1, 7)), ("goal", "find-things", "objective", (4, 14)),
        ("goal", "find-things", "clauses[0].text", (7, 13)), ("goal", "find-things", "authority", (3, 3)),
        ("requirement", "fast-search", "clauses[0]", (11, 15)), ("requirement", "fast-search", "", (9, 5)),
        ("node", "engine", "edges[0].target", (16, 17)), ("node", "engine", "edges[9].target", (16, 7)),
        ("row", "timed", "spec.argv", (24, 14)), ("row", "timed", "spec.timeout_ms", (25, 14)),
        ("row", "timed", "spec.control", (20, 5)), ("item", "write-engine", "scope", (32, 12)),
        ("item", "gone", "scope", (1, 1)),
    ],
)  # fmt: skip
def test_a_field_is_found_again(kind: str, label: str, path: str, where: tuple[int, int]) -> None:
    read = parse(GOOD.encode())
    at = read.places([(kind, label, path)])[kind, label, path]
    assert (at.line, at.column) == where


def test_a_list_counts_as_many_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(t.LISTS, "nodes", (*t.LISTS["nodes"][:2], 1))
    read = parse(GOOD.encode())
    assert [str(p) for p in read.problems] == ["18:5: $.nodes[1]: found more than 1 entries"]


def test_one_text_stands_for_a_list_of_one() -> None:
    bundle = the(GOOD.replace("scope: [src/**]", "scope: src/**"))
    assert bundle == the(GOOD)
    assert bundle == replace(bundle, name="search")
