"""Plans on the command line: checked, compared, drawn and drafted, without a ledger."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli, environment

ROOT = Path(__file__).parents[3]
EXAMPLE = (ROOT / "examples/plans/search.yaml").read_text()


@pytest.fixture
def bare(tmp_path: Path) -> Cli:
    """A folder with a sound plan, and no ledger."""
    here = tmp_path / "bare"
    here.mkdir()
    (here / "plan.yaml").write_text(EXAMPLE)
    return Cli(here)


def changed(cli: Cli, *changes: tuple[str, str]) -> str:
    """Another plan beside the sound one."""
    text = EXAMPLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (cli.cwd / "other.yaml").write_text(text)
    return "other.yaml"


def test_a_sound_plan_passes_with_its_digest(bare: Cli) -> None:
    data = bare.json("plan", "check", "plan.yaml")
    assert data["problems"] == []
    assert data["plan"] == "faster-search"
    assert data["counts"] == {"requirements": 2, "nodes": 2, "rows": 3, "items": 2, "edges": 1}
    assert len(data["digest"]) == len(data["proposal_digest"]) == 64
    shown = bare.text("plan", "check", "plan.yaml")
    assert "nothing wrong" in shown
    assert data["digest"] in shown
    assert f"proposal {data['proposal_digest']}" in shown.splitlines()


def test_order_and_spelling_do_not_move_a_digest(bare: Cli) -> None:
    text = EXAMPLE.replace(
        "      - survey, answer 14\n", "      - 'survey, answer 14'   # quoted\n"
    )
    head, _, items = text.partition("items:\n")
    first, second = items.split("  - label: answer-queries")
    other = f"{head}items:\n  - label: answer-queries{second}{first}"
    (bare.cwd / "other.yaml").write_text(other)
    digests = {bare.json("plan", "check", name)["digest"] for name in ("plan.yaml", "other.yaml")}
    assert len(digests) == 1
    assert bare.json("plan", "diff", "plan.yaml", "other.yaml")["empty"]


BROKEN = [
    ("  authority: The", "  # authority: The", "goal", "AUTHORITY_MISSING", "goal:\n  ^label"),
    ("      clarification: A", "      # clarification: A", "goal", "AMBIGUITY_OPEN", "- ^label: how-many"),
    ("clauses: [quick]", "clauses: [fast]", "requirement", "CLAUSE_UNKNOWN", "clauses: [^fast"),
    ("clauses: [quick]", "clauses: []", "requirement", "REQUIREMENT_ORPHAN", "clauses: ^[]"),
    ("clauses: [quick]", "clauses: []", "goal", "CLAUSE_UNCOVERED", "- ^label: quick"),
    ("requirements: [within-a-second, finds-every-entry]\n    edges", "requirements: [finds-every-entry]\n    edges",
     "requirement", "REQUIREMENT_UNCOVERED", "- ^label: within-a-second"),
    ("target: index", "target: indx", "node", "NODE_UNKNOWN", "target: ^indx"),
    ("target: index", "target: query", "node", "CYCLE", "target: ^query"),
    ("rationale: A query reads the index, so that has to be there first.", 'rationale: ""',
     "node", "RATIONALE_MISSING", 'rationale: ^""'),
    ("requirement: within-a-second", "requirement: within", "row", "REQUIREMENT_UNKNOWN", "requirement: ^within\n"),
    ("item: build-index", "item: build", "row", "ITEM_UNKNOWN", "item: ^build\n"),
    ("boundary: the function that builds the index", "boundary:", "row", "BOUNDARY_MISSING", "boundary:^\n"),
    ("command: pytest -q tests/test_index.py", "argv: []", "row", "ROW_MALFORMED", "argv: ^[]"),
    ("    scope:\n      - src/index/**\n      - tests/test_index.py\n", "", "item", "SCOPE_MISSING", "- ^label: build-index"),
    ("scope:\n      - src/index", "scope:\n      - /src/index", "item", "PATTERN_MALFORMED", "- ^/src"),
    ("    rows: [same-as-a-scan]\n", "", "item", "ITEM_WITHOUT_ROW", "- ^label: build-index"),
    ("    reversal:\n", "    reversal:\n      kind: unclassified\n", "item", "REVERSAL_UNCLASSIFIED", "kind: ^unc"),
    ("    reversal:\n", "    reversal:\n      kind: irreversible\n", "item", "REVERSAL_INCOMPLETE", "reversal:\n      ^kind"),
]  # fmt: skip


def place(text: str, needle: str) -> tuple[int, int]:
    """Line and column of what follows the mark in a needle."""
    before, _, after = needle.partition("^")
    at = text.index(before + after) + len(before)
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


@pytest.mark.parametrize(
    ("old", "new", "kind", "code", "needle"), BROKEN, ids=[one[3] for one in BROKEN]
)
def test_every_finding_has_the_place_of_what_it_is_about(
    bare: Cli, old: str, new: str, kind: str, code: str, needle: str
) -> None:
    name = changed(bare, (old, new))
    line, column = place((bare.cwd / name).read_text(), needle)
    data = bare.json("plan", "check", name, status=3)
    found = [(p["kind"], p["code"], p["line"], p["column"]) for p in data["problems"]]
    assert (kind, code, line, column) in found, found
    assert all(p["gate"] for p in data["problems"])
    assert f"{name}:{line}:{column}: {kind} " in bare.text("plan", "check", name, status=3)


def test_faults_and_findings_come_at_once_and_none_twice(bare: Cli) -> None:
    name = changed(
        bare, ("  authority: The", "  authorty: The"), ("boundary: the function that builds the index", "boundary: [a]"),
        ("timeout: 20m", "timeout: soon"), ("target: index", "target: indx"),
    )  # fmt: skip
    data = bare.json("plan", "check", name, status=2)
    assert [(p["code"], p["line"]) for p in data["problems"]] == [
        ("AUTHORITY_MISSING", 4), ("FORM", 18), ("NODE_UNKNOWN", 46), ("FORM", 52), ("FORM", 61),
    ]  # fmt: skip
    assert data["digest"] == ""
    assert data["problems"][1]["message"].endswith("did you mean authority?")
    part = bare.json("plan", "check", name, "--limit", "2", status=2)
    assert (len(part["problems"]), part["total"], part["truncated"]) == (2, 5, True)
    assert "and 3 more" in bare.text("plan", "check", name, "--limit", "2", status=2)


def test_advice_does_not_block(bare: Cli) -> None:
    name = changed(bare, ("    sources:\n      - survey, answer 14\n", ""))
    data = bare.json("plan", "check", name)
    assert [(p["code"], p["blocking"]) for p in data["problems"]] == [("SOURCES_MISSING", False)]
    assert "1 piece of advice" in bare.text("plan", "check", name)


def test_a_file_that_is_no_plan_or_not_there_is_said_to_be(bare: Cli) -> None:
    (bare.cwd / "x.yaml").write_text("- a\n")
    data = bare.json("plan", "check", "x.yaml", status=2)
    assert data["problems"][0]["message"] == "found a list, expected a mapping: a plan"
    assert bare.run("plan", "check", "gone.yaml", "--json").error["code"] == "INPUT_PROBLEM"
    ran = bare.run("plan", "graph", "x.yaml", "--json")
    assert ran.status == 2
    assert ran.error["details"]["problems"][0]["line"] == 1


def test_a_check_with_json_loads_no_framework(bare: Cli) -> None:
    show = (
        "import sys; from remit.surfaces.cli.main import main; main(['plan', 'check', 'plan.yaml', '--json']);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", show],
        cwd=bare.cwd, env=environment(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert json.loads(ran.stdout)["data"]["total"] == 0, ran.stderr
    heavy = {"typer", "click", "rich", "apsw", "rustworkx", "markdown_it", "fast_sugiyama"}
    assert set(ran.stderr.split()) & heavy == set()


def test_a_difference_names_records_fields_and_the_decisions_it_needs(bare: Cli) -> None:
    name = changed(
        bare,
        ("99 of 100 searches end", "90 of 100 searches end"),
        ("    edges:\n      - target: index\n        rationale: A query reads the index, so that has to be there first.\n", ""),
        ("  - label: words-in-any-order", "  - label: any-order"),
        ("rows: [timing, words-in-any-order]", "rows: [timing, any-order]"),
        ("- Searching inside pictures.", "- Searching inside films."),
    )  # fmt: skip
    data = bare.json("plan", "diff", "plan.yaml", name)
    assert data["added"] == [{"kind": "row", "label": "any-order"}]
    assert data["removed"] == [{"kind": "row", "label": "words-in-any-order"}]
    fields = {(c["kind"], c["label"]): [f["field"] for f in c["fields"]] for c in data["changed"]}
    assert fields == {
        ("goal", "faster-search"): ["non_goals"],
        ("requirement", "within-a-second"): ["statement"],
        ("node", "query"): ["edges"],
        ("item", "answer-queries"): ["rows"],
    }
    kinds = {need["kind"] for need in data["needs"]}
    assert {
        "material-goal-or-non-goal-change", "requirement-removal-or-scope-reduction", "dependency-bypass",
    } <= kinds  # fmt: skip
    shown = bare.text("plan", "diff", "plan.yaml", name)
    assert "+ row any-order" in shown
    assert "needs dependency-bypass about node/query, node/index" in shown
    assert f"proposal {data['proposal_digest']}, which is what is decided about" in shown
    assert "the plans say the same" in bare.text("plan", "diff", "plan.yaml", "plan.yaml")


def test_a_graph_is_drawn_in_every_form(bare: Cli) -> None:
    shown = bare.text("plan", "graph", "plan.yaml")
    assert "  after index\n" in shown
    assert bare.text("plan", "graph", "plan.yaml", "--format", "dot").startswith("digraph ")
    assert bare.text("plan", "graph", "plan.yaml", "--format", "mermaid").startswith(
        "flowchart LR\n"
    )
    data = bare.json("plan", "graph", "plan.yaml", "--format", "svg")
    assert data["graph"].startswith("<svg ")
    assert (data["nodes"], data["edges"]) == (2, 1)
    data = bare.json("plan", "graph", "plan.yaml", "--format", "svg", "--out", "g.svg")
    assert data["path"] == "g.svg"
    assert (bare.cwd / "g.svg").read_text().endswith("</svg>\n")
    around = bare.json("plan", "graph", "plan.yaml", "--around", "index")
    assert around["nodes"] == 2
    ran = bare.run("plan", "graph", "plan.yaml", "--around", "nothing", "--json")
    assert (ran.status, ran.error["code"]) == (4, "NOT_FOUND")
    ran = bare.run("plan", "graph", "plan.yaml", "--format", "gif", "--json")
    assert (ran.status, ran.error["code"]) == (2, "BAD_INPUT")


def test_a_cycle_is_drawn_and_marked(bare: Cli) -> None:
    name = changed(
        bare,
        ("  - label: index\n", "  - label: index\n    edges: [{target: query, rationale: oops}]\n"),
    )
    assert "(in a cycle)" in bare.text("plan", "graph", name)
    assert "#c00" in bare.json("plan", "graph", name, "--format", "svg")["graph"]


def test_the_schema_is_printed(bare: Cli) -> None:
    published = json.loads((ROOT / "docs/reference/plan.schema.json").read_text())
    assert bare.json("plan", "schema")["schema"] == published
    assert json.loads(bare.text("plan", "schema")) == published


CSV = "ID,Title,Text\nreq-a,A,It starts.\nreq-a,A,Again.\n,,\nreq-b,B,It stops.\n"


def test_a_draft_is_a_file_that_the_check_reads(bare: Cli) -> None:
    (bare.cwd / "r.csv").write_text(CSV)
    data = bare.json("plan", "draft", "csv", "r.csv", "-o", "draft.yaml", "--name", "r")
    assert (data["rows"], data["drafted"], data["quarantined_total"]) == (3, 2, 1)
    assert data["quarantined"] == [
        {"row": 2, "id": "req-a", "code": "DUPLICATE_ID", "reason": "an earlier row has this id"}
    ]
    text = (bare.cwd / "draft.yaml").read_text()
    assert text.startswith(
        "# yaml-language-server: $schema=plan.schema.json\n# drafted from r.csv: 3 rows, 2 drafted\n"
        "# columns: label, statement, title\n# left out, row 2 req-a: DUPLICATE_ID\nplan: r\n"
    )
    problems = bare.json("plan", "check", "draft.yaml", status=3)["problems"]
    assert sum(p["code"] == "AMBIGUITY_OPEN" for p in problems) == data["gaps"]
    assert not any(p["code"] == "FORM" for p in problems)


def test_a_draft_writes_over_nothing_unasked(bare: Cli) -> None:
    (bare.cwd / "r.csv").write_text(CSV)
    ran = bare.run("plan", "draft", "csv", "r.csv", "-o", "plan.yaml", "--json")
    assert (ran.status, ran.error["code"]) == (2, "BAD_INPUT")
    assert (bare.cwd / "plan.yaml").read_text() == EXAMPLE
    shown = bare.text("plan", "draft", "csv", "r.csv", "-o", "plan.yaml", "--force")
    assert "DUPLICATE_ID: 1" in shown
    assert "next: remit plan check plan.yaml" in shown
    assert bare.text("plan", "draft", "csv", "r.csv").startswith("# yaml-language-server")


@pytest.mark.parametrize(
    ("argv", "code", "says"),
    [
        (("draft", "word", "r.csv"), "BAD_INPUT", "expected one of beads, csv, markdown"),
        (("draft", "csv", "gone.csv"), "INPUT_PROBLEM", "cannot draft from gone.csv"),
        (("draft", "beads", "gone.jsonl"), "INPUT_PROBLEM", "gone.jsonl"),
        (("draft", "csv", "r.csv", "--map", "statement"), "BAD_INPUT", "expected PART=COLUMN"),
        (("draft", "csv", "r.csv", "--map", "statement=Foo"), "INPUT_PROBLEM", "expected one of ID, Title, Text"),
        (("draft", "csv", "r.csv", "-o", "gone/x.yaml"), "INPUT_PROBLEM", "cannot write gone/x.yaml"),
        (("diff", "plan.yaml", "gone.yaml"), "INPUT_PROBLEM", "cannot read gone.yaml"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_with_what_to_do(
    bare: Cli, argv: tuple[str, ...], code: str, says: str
) -> None:
    (bare.cwd / "r.csv").write_text(CSV)
    before = sorted(bare.cwd.iterdir())
    ran = bare.run("plan", *argv, "--json")
    assert ran.status == 2
    assert ran.error["code"] == code
    assert says in ran.error["message"]
    assert ran.error["hint"]
    assert sorted(bare.cwd.iterdir()) == before


def test_hostile_words_of_a_plan_reach_no_terminal_raw(bare: Cli) -> None:
    name = changed(
        bare,
        ("target: index", 'target: "in\\e[2Jdex"'),
        ("plan: faster-search", 'plan: "a\\u202eb"'),
    )
    shown = bare.text("plan", "check", name, status=2)
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    name = changed(bare, ("objective: People", 'objective: "\\e[2J" #'))
    assert "\x1b" not in bare.text("plan", "graph", name, "--format", "dot")
    assert "\x1b" not in bare.text("plan", "diff", "plan.yaml", name)
