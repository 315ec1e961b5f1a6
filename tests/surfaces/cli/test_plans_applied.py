"""Plans on a ledger: checked against it, applied, shown, compared, exported and applied again."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli

from remit.surfaces.cli import quick

EXAMPLE = (Path(__file__).parents[3] / "examples/plans/search.yaml").read_text()
NAME = "faster-search"


@pytest.fixture
def planned(cli: Cli) -> Cli:
    """A ledger on which the example is in force."""
    write(cli, "plan.yaml", EXAMPLE)
    cli.json("plan", "apply", "plan.yaml")
    return cli


def write(cli: Cli, name: str, text: str) -> str:
    (cli.cwd / name).write_text(text)
    return name


def edited(cli: Cli, *changes: tuple[str, str]) -> str:
    text = EXAMPLE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return write(cli, "edited.yaml", text)


def test_a_plan_is_applied_once_and_opens_its_gates(cli: Cli) -> None:
    write(cli, "plan.yaml", EXAMPLE)
    before = cli.json("plan", "check", "plan.yaml")
    assert (before["revision"], before["in_force"], before["admissible"]) == ("", False, True)
    assert before["ledger"].startswith("sqlite://")
    assert "next: remit plan apply plan.yaml" in cli.text("plan", "check", "plan.yaml")
    data = cli.json("plan", "apply", "plan.yaml")
    assert data["revision"] == "P-1@1"
    assert data["digest"] == before["digest"]
    assert len(data["added"]) == 10
    assert data["problems"] == []
    assert [item["work_id"] for item in cli.json("ready")["items"]] == ["build-index"]
    again = cli.json("plan", "apply", "plan.yaml")
    assert (again["changed"], again["revision"], again["added"]) == (False, "P-1@1", [])
    assert "it is in force as P-1@1" in cli.text("plan", "check", "plan.yaml")
    assert "nothing was written" in cli.text("plan", "apply", "plan.yaml")


def test_a_wrong_plan_writes_nothing_and_says_where(cli: Cli) -> None:
    name = edited(cli, ("target: index", "target: indx"))
    before = cli.json("ledger", "verify")["events"]
    ran = cli.run("plan", "apply", name, "--json", "--as", "ann")
    assert ran.status == 3
    assert ran.error["code"] == "PLAN_INADMISSIBLE"
    [problem] = [p for p in ran.error["details"]["problems"] if p["code"] == "NODE_UNKNOWN"]
    assert (problem["line"], problem["column"]) == (46, 17)
    name = edited(cli, ("timeout: 20m", "timeout: soon"))
    ran = cli.run("plan", "apply", name, "--json", "--as", "ann")
    assert ran.status == 2
    assert ran.error["details"]["problems"][0]["line"] == 61
    assert cli.json("ledger", "verify")["events"] == before
    assert cli.json("plan", "list") == {"plans": [], "total": 0, "truncated": False}


def test_a_change_is_judged_against_the_plan_in_force(planned: Cli) -> None:
    name = edited(planned, ("99 of 100", "90 of 100"))
    data = planned.json("plan", "diff", name)
    assert data["revision"] == "P-1@1"
    assert [each["label"] for each in data["changed"]] == ["within-a-second"]
    assert [need["kind"] for need in data["needs"]] == ["requirement-removal-or-scope-reduction"]
    found = planned.json("plan", "check", name, status=3)
    assert [(p["code"], p["gate"]) for p in found["problems"]] == [("DECISION_MISSING", "decision")]
    assert found["admissible"] is False
    ran = planned.run("plan", "apply", name, "--json", "--as", "ann")
    assert (ran.status, ran.error["code"]) == (3, "PLAN_INADMISSIBLE")
    assert planned.json("plan", "check", "plan.yaml")["in_force"]


def test_an_addition_becomes_the_next_revision(planned: Cli) -> None:
    name = edited(planned, ("    priority: 1\n", "    priority: 0\n"))
    data = planned.json("plan", "apply", name)
    assert data["revision"] == "P-1@2"
    assert data["revised"] == [{"kind": "item", "label": "answer-queries"}]
    shown = planned.json("plan", "show", NAME)
    since = {(r["kind"], r["label"]): r["revision"] for r in shown["records"]}
    assert since["item", "answer-queries"] == 2
    assert since["item", "build-index"] == 1


def test_a_draft_may_be_applied_and_opens_nothing(cli: Cli) -> None:
    write(cli, "r.csv", "ID,Text\nreq-a,It starts.\nreq-b,It stops.\n")
    cli.json("plan", "draft", "csv", "r.csv", "-o", "draft.yaml", "--name", "r")
    found = cli.json("plan", "check", "draft.yaml", status=3)
    assert found["admissible"]
    assert "what is open keeps gates shut" in cli.text("plan", "check", "draft.yaml", status=3)
    data = cli.json("plan", "apply", "draft.yaml")
    assert data["blocking"] == found["blocking"] > 0
    assert cli.json("ready", status=0)["items"] == []
    assert cli.json("plan", "check", "draft.yaml", status=3)["in_force"]
    shown = cli.json("plan", "show", "r")
    assert {p["code"] for p in shown["problems"]} >= {"AMBIGUITY_OPEN", "SCOPE_MISSING"}


def test_what_is_exported_reads_back_as_what_is_in_force(planned: Cli) -> None:
    data = planned.json("plan", "export", NAME, "--out", "out.yaml")
    assert data["revision"] == "P-1@1"
    assert planned.json("plan", "check", "out.yaml")["in_force"]
    assert planned.json("plan", "diff", "out.yaml")["empty"]
    assert planned.json("plan", "diff", "P-1", "plan.yaml")["empty"]
    ran = planned.run("plan", "export", NAME, "--out", "out.yaml", "--json")
    assert (ran.status, ran.error["code"]) == (2, "BAD_INPUT")
    shown = planned.text("plan", "export", "P-1")
    assert shown == (planned.cwd / "out.yaml").read_text()


def test_a_plan_is_shown_as_it_was(planned: Cli) -> None:
    head = planned.json("ledger", "verify")["events"]
    planned.json("plan", "apply", edited(planned, ("    priority: 1\n", "    priority: 0\n")))
    old = planned.json("plan", "export", NAME, "--at", str(head))["text"]
    new = planned.json("plan", "export", NAME)["text"]
    assert "priority: 1" in old
    assert "priority: 0" in new
    assert planned.json("plan", "list", "--at", str(head))["plans"][0]["revision"] == "P-1@1"
    assert planned.json("plan", "list")["plans"][0]["revision"] == "P-1@2"


def test_people_see_plans_as_tables_and_graphs(planned: Cli) -> None:
    assert "faster-search" in planned.text("plan", "list")
    shown = planned.text("plan", "show", "P-1")
    assert "within-a-second" in shown
    assert "W-2" in shown
    assert planned.text("plan", "graph", NAME) == planned.text("plan", "graph", "plan.yaml")
    of_file = planned.json("plan", "show", "plan.yaml")
    assert len(of_file["records"]) == 10
    assert of_file["digest"] == planned.json("plan", "show", NAME)["digest"]
    assert "+ priority" not in planned.text("plan", "diff", "plan.yaml")


@pytest.mark.parametrize("command", ["show", "export", "graph"])
def test_an_unknown_plan_is_not_found(planned: Cli, command: str) -> None:
    ran = planned.run("plan", command, "nothing-like-it", "--json")
    assert (ran.status, ran.error["code"]) == (4, "PLAN_UNKNOWN")


@pytest.mark.parametrize(
    "argv",
    [
        ("check", "plan.yaml"), ("check", "plan.yaml", "--limit", "1"), ("show", NAME), ("show", "plan.yaml"), ("list",),
        ("export", NAME), ("graph", NAME, "--format", "dot"), ("schema",), ("show", "nothing"), ("check", "gone.yaml"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_both_ways_in_answer_alike(
    planned: Cli, argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("plan", *argv, "--json")
    assert quick.parse(words) is not None
    fast = planned.run(*words)
    monkeypatch.setattr(quick, "parse", lambda _argv: None)
    assert planned.run(*words) == fast
    assert fast.status != 1
