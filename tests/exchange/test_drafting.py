"""Drafts: every row drafted or left out by name, every gap marked, nothing made up."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remit.core.planning.bundle import EdgeType, PlanNode, PlanRequirement, ReversalKind, Risk
from remit.core.planning.check import check
from remit.core.planning.findings import Problem
from remit.documents.plan_writing import lines
from remit.documents.plans import parse
from remit.exchange.drafting.draft import Draft, fit_label, fit_title
from remit.exchange.drafting.formats import UnfitError, draft
from remit.exchange.drafting.markdown import sections
from remit.exchange.drafting.tables import COLUMNS, plain

BESIDE = Path(__file__).resolve().parents[2].parent / "shared" / "data"
FOLDER = Path(os.environ.get("REMIT_SHARED_DATA") or BESIDE)


def drafted(tmp_path: Path, fmt: str, text: str | bytes, **columns: str) -> Draft:
    path = tmp_path / "source.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    found = draft(fmt, path, "source", columns)
    sound(found)
    return found


def sound(found: Draft) -> None:
    """What holds of every draft: it counts up, reads back as it was, and passes no check."""
    assert found.rows == found.drafted + len(found.left)
    read = parse("".join(lines(found.bundle)).encode())
    assert read.problems == []
    assert read.bundle == found.bundle
    codes = {finding.code for finding in check(found.bundle) if finding.blocking}
    assert Problem.AMBIGUITY_OPEN in codes
    allowed = {
        Problem.AMBIGUITY_OPEN, Problem.AUTHORITY_MISSING, Problem.ACCEPTANCE_MISSING, Problem.NO_DIRECT_ROW,
        Problem.ITEM_WITHOUT_ROW, Problem.SCOPE_MISSING, Problem.REVERSAL_UNCLASSIFIED, Problem.CYCLE,
        Problem.CLAUSE_UNCOVERED, Problem.CLAUSES_MISSING,
    }  # fmt: skip
    assert codes <= allowed, "a draft has gaps and no mistakes"
    for requirement in found.bundle.requirements:
        assert {"evidence", "scope"} <= gaps(requirement)
    for item in found.bundle.items:
        assert item.reversal.kind is ReversalKind.UNCLASSIFIED


def gaps(record: Any) -> set[str]:
    return {each.label for each in record.ambiguities if each.open and each.material}


def requirement(found: Draft, label: str) -> PlanRequirement:
    return next(one for one in found.bundle.requirements if one.label == label)


def edges(found: Draft, label: str) -> set[tuple[str, str]]:
    node: PlanNode = next(one for one in found.bundle.nodes if one.label == label)
    return {(str(edge.type), edge.target) for edge in node.edges}


def left(found: Draft) -> dict[str, str]:
    return {one.id: str(one.code) for one in found.left}


def beads(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps({"status": "open", "priority": 1} | row) + "\n" for row in rows)


def on(*edges: tuple[str, str]) -> list[dict[str, str]]:
    return [{"depends_on_id": target, "type": kind} for target, kind in edges]


def test_a_backlog_keeps_what_its_edges_mean(tmp_path: Path) -> None:
    found = drafted(tmp_path, "beads", beads(
        {"id": "x-epic", "title": "Epic", "dependencies": on(("x-first", "blocks"), ("x-part", "blocks"))},
        {"id": "x-first", "title": "First"},
        {"id": "x-part", "title": "Part", "dependencies": on(("x-epic", "parent-child"))},
        {"id": "x-wait", "title": "Wait", "dependencies": on(("x-epic", "waits-for"))},
        {"id": "x-link", "title": "Link", "dependencies": on(("x-first", "related"), ("x-done", "blocks"))},
        {"id": "x-else", "title": "Else", "dependencies": on(("x-first", "conditional-blocks"))},
        {"id": "x-lost", "title": "Lost", "dependencies": on(("x-nowhere", "blocks"), ("x-gone", "blocks"))},
        {"id": "x-done", "title": "Done", "status": "closed"},
        {"id": "x-gone", "title": "Gone", "status": "tombstone"},
        {"id": "x-hand", "title": "In hand", "status": "in_progress", "acceptance_criteria": "It works."},
        {"id": "x-bad"},
    ))  # fmt: skip
    assert (found.rows, found.drafted) == (11, 8)
    assert left(found) == {
        "x-done": "ALREADY_DONE",
        "x-gone": "ALREADY_DONE",
        "x-bad": "MISSING_TITLE",
    }
    assert edges(found, "x-epic") == {("blocks", "x-first"), ("blocks", "x-part")}
    assert edges(found, "x-part") == {("refines", "x-epic"), ("blocks", "x-first")}
    assert edges(found, "x-wait") == {("blocks", "x-part")}
    assert edges(found, "x-link") == {("relates", "x-first")}
    assert edges(found, "x-else") == {("relates", "x-first")}
    assert edges(found, "x-lost") == set()
    assert {"condition", "acceptance"} <= gaps(requirement(found, "x-else"))
    assert {"dangling", "deleted"} <= gaps(requirement(found, "x-lost"))
    assert "in-hand" in gaps(requirement(found, "x-hand"))
    assert "acceptance" not in gaps(requirement(found, "x-hand"))
    assert gaps(found.bundle.goal) == {"objective", "clauses", "authority", "non-goals", "risk"}


def test_a_cycle_of_a_backlog_is_left_for_the_check_to_name(tmp_path: Path) -> None:
    found = drafted(tmp_path, "beads", beads(
        {"id": "x-a", "title": "A", "dependencies": on(("x-b", "blocks"))},
        {"id": "x-b", "title": "B", "dependencies": on(("x-a", "blocks"))},
        {"id": "x-c", "title": "C", "dependencies": on(("x-c", "blocks"))},
    ))  # fmt: skip
    cycles = [f.path for f in check(found.bundle) if f.code is Problem.CYCLE]
    assert cycles == [("x-c",), ("x-a", "x-b")]


CSV = """\
Summary,Custom field (Requirement ID),Description,Custom field (Requirement Rationale),Owner
ES: Start,A-sys1.2,"The system shall start.

- at once",Because.,ann
ES: Start in time,A-sys1.2.1,It shall start within 5 s (TBD).,,bob
Twice,A-sys1.2,Again.,x,y
,A-sys9,,,
Only a title,A-sys7,,why,
Too many,A-sys8,a,b,c,d
No id,,It shall stop.,why,
Lost part,A-sys1.4.1,It shall wait.,why,
"""


def test_a_table_of_requirements_is_read_by_its_headings(tmp_path: Path) -> None:
    found = drafted(tmp_path, "csv", CSV)
    assert (found.rows, found.drafted) == (8, 5)
    assert left(found) == {"A-sys1.2": "DUPLICATE_ID", "A-sys9": "EMPTY", "A-sys8": "BAD_CELLS"}
    first = requirement(found, "A-sys1.2")
    assert first.statement == "The system shall start.\n\n- at once"
    assert first.sources == ("source.txt, row 1", "rationale: Because.")
    assert gaps(first) == {"acceptance", "evidence", "scope"}
    assert edges(found, "A-sys1.2.1") == {("refines", "A-sys1.2")}
    assert {"rationale", "open-words"} <= gaps(requirement(found, "A-sys1.2.1"))
    assert "statement" in gaps(requirement(found, "A-sys7"))
    assert "id" in gaps(requirement(found, "row-7"))
    assert edges(found, "A-sys1.4.1") == set()
    assert found.notes == ("columns: label, rationale, statement, title", "columns not used: Owner")
    assert [item.title for item in found.bundle.items][:2] == ["ES: Start", "ES: Start in time"]


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = (
        "Nr;Was;Wie wichtig;Nach;Teil\nR-1;Es läuft.;high;;eins\nR-2;Es hält.;sehr;R-1, R-9;zwei\n"
    )
    found = drafted(
        tmp_path,
        "csv",
        text,
        label="Nr",
        statement="Was",
        risk="Wie wichtig",
        after="Nach",
        clause="Teil",
    )
    assert [r.label for r in found.bundle.requirements] == ["requirement.R-1", "requirement.R-2"]
    assert found.bundle.requirements[0].risk is Risk.HIGH
    assert {"risk", "dangling"} <= gaps(found.bundle.requirements[1])
    assert edges(found, "requirement.R-2") == {("blocks", "requirement.R-1")}
    assert [clause.label for clause in found.bundle.goal.clauses] == ["eins", "zwei"]
    assert "risk" not in gaps(found.bundle.goal)


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        ("", {}, "it is empty"),
        ("a,b\n1,2\n", {}, "no column says what is required, found a, b"),
        ("Text\nx\n", {"statement": "Foo"}, "the column 'Foo', expected one of Text"),
        ("Text\nx\n", {"colour": "Text"}, "--map names 'colour', expected one of label"),
        ('Text\n"x\n', {}, "cannot be read as CSV"),
        (b"Text\n\xff\n", {}, "byte 5 is not UTF-8"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_whole(
    tmp_path: Path, text: str | bytes, columns: dict[str, str], says: str
) -> None:
    with pytest.raises(UnfitError, match=says):
        drafted(tmp_path, "csv", text, **columns)


def test_a_map_is_for_tables_only(tmp_path: Path) -> None:
    with pytest.raises(UnfitError, match="a map of columns is for csv"):
        drafted(tmp_path, "markdown", "# A", label="b")


def test_no_heading_is_known_for_two_parts() -> None:
    heads = [plain(head) for known in COLUMNS.values() for head in known]
    assert [head for head, times in Counter(heads).items() if times > 1] == []


GOAL = """\
# Search the catalogue

People find things.

## Speed

It matters most.

- A search ends within a second
  - measured with a million entries
- [ ] The index fits in memory
- [x] Words are split
-

```sh
rm -rf /
```

## Non-goals

- Pictures

## Open questions

1. How many entries?

## 3. Sources

The survey.

## Authority

The owner.

# Parts

## Empty one

Only text.
"""


def test_a_goal_in_markdown_is_read_by_its_headings_and_lists(tmp_path: Path) -> None:
    found = drafted(tmp_path, "markdown", GOAL)
    goal = found.bundle.goal
    assert goal.objective == "Search the catalogue\n\nPeople find things."
    assert [(c.label, c.material) for c in goal.clauses] == [
        ("speed", True), ("parts", False), ("empty-one", True),
    ]  # fmt: skip
    assert goal.clauses[0].text == "Speed\n\nIt matters most.\n\nrm -rf /"
    assert goal.non_goals == ("Pictures",)
    assert goal.provenance == ("The survey.", "source.txt")
    assert goal.authority == "The owner."
    assert gaps(goal) == {"how-many-entries", "risk"}
    assert [r.label for r in found.bundle.requirements] == [
        "a-search-ends-within-a-second", "the-index-fits-in-memory",
    ]  # fmt: skip
    first = found.bundle.requirements[0]
    assert first.acceptance == ("measured with a million entries",)
    assert first.clauses == ("speed",)
    assert [str(one.code) for one in found.left] == ["ALREADY_DONE", "EMPTY"]


def test_an_empty_text_is_all_gaps(tmp_path: Path) -> None:
    found = drafted(tmp_path, "markdown", "")
    assert gaps(found.bundle.goal) == {
        "objective",
        "authority",
        "non-goals",
        "risk",
        "requirements",
    }
    assert (found.rows, found.drafted) == (0, 0)


def test_a_heading_within_a_list_is_a_text_of_its_entry() -> None:
    before, goal = sections("- # one\n  two\n- three\n# Goal\nfour")
    assert [entry.text for entry in before.entries] == ["one\n\ntwo", "three"]
    assert (goal.heading, goal.texts) == ("Goal", ["four"])


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=300))
@example("#")
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_drafted_from(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    drafted(tmp_path_factory.mktemp("any"), "markdown", f"- {text}\n\n{text}\n# {text}\n- {text}")


@given(
    st.lists(
        st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=3, max_size=4),
        max_size=6,
    )
)
@settings(max_examples=100, deadline=None)
def test_any_cells_can_be_drafted_from(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]
) -> None:
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    text = "\n".join(["Id,Title,Text", *quoted, ""])
    found = drafted(tmp_path_factory.mktemp("any"), "csv", text)
    assert found.rows == sum(any(cell.strip() for cell in row) for row in rows)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_label_and_a_title_are_always_fit(text: str) -> None:
    from remit.core.planning.index import names_problem

    assert names_problem(fit_label(text, "row")) == ""
    title = fit_title(text)
    assert len(title) <= 500
    assert title.isprintable()


KNOWN = {
    "backlogs/beads/agent-relay-2026-02-16.jsonl": (439, 216),
    "backlogs/beads/beads-2025-10-19.jsonl": (163, 10),
    "backlogs/beads/beads-2026-02-27.jsonl": (704, 301),
    "backlogs/beads/bedrock-2026-01-01.jsonl": (7, 0),
    "backlogs/beads/herdctl-2026-01-28.jsonl": (141, 1),
    "requirements/nasa-cfe/docs/cFE_FunctionalRequirements.csv": (397, 397),
    "backlogs/spec-kit/speck-001-speck-core-project.tasks.md": (216, 123),
}


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_what_others_wrote_is_drafted_row_by_row(name: str) -> None:
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"what others wrote is not here: {FOLDER}")
    fmt = {".jsonl": "beads", ".csv": "csv", ".md": "markdown"}[path.suffix]
    found = draft(fmt, path, path.stem, {})
    sound(found)
    assert (found.rows, found.drafted) == KNOWN[name]
    if fmt == "csv":
        kinds = Counter(edge.type for node in found.bundle.nodes for edge in node.edges)
        assert kinds == {EdgeType.REFINES: 115}
