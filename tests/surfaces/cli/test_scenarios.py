"""``scenario run`` and ``explain`` of effect work, at the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.playing import SHIPPED, SMALL
from tests.surfaces.cli.calling import Cli, environment

STALE, LOST = SHIPPED / "stale-capacity.yaml", SHIPPED / "response-lost.yaml"


def test_a_run_answers_with_steps_and_oracle(tmp_path: Path) -> None:
    data = Cli(tmp_path).run("scenario", "run", str(STALE), str(LOST), "--json").data
    assert (data["total"], data["failed"], data["ok"]) == (2, 0, True)
    assert [s["scenario"] for s in data["scenarios"]] == ["stale-capacity", "response-lost"]
    assert {"check", "expected", "actual", "pass"} <= set(data["oracle"][0])
    step = next(s for s in data["steps"] if s["at"] == "U2")
    assert step["step"] == "expire"
    assert "RetryDecided" in step["events"]
    assert data["scenarios"][1]["branches"] == ["A", "B"]
    refused = [s for s in data["steps"] if not s["accepted"]]
    assert [s["refused"] for s in refused] == ["ITEM_NOT_READY"]


def test_a_line_that_does_not_come_out_is_exit_6(tmp_path: Path) -> None:
    text = STALE.read_text().replace("expected: EXPIRE", "expected: ADMIT")
    (tmp_path / "wrong.yaml").write_text(text)
    ran = Cli(tmp_path).run("scenario", "run", "wrong.yaml")
    assert ran.status == 6
    assert "FAIL  EXPIRE" in ran.out
    assert "1 scenarios FAILED" in ran.out
    data = Cli(tmp_path).run("scenario", "run", "wrong.yaml", "--json").data
    assert [line["check"] for line in data["oracle"] if not line["pass"]] == [
        "Decision at T2", "admission at T2",
    ]  # fmt: skip


def test_many_files_show_only_what_failed(tmp_path: Path) -> None:
    text = SMALL + "covers: [row-7]\nsteps:\n  - submit: WORK-1\n"
    (tmp_path / "small.yaml").write_text(text)
    files = [str(path) for path in sorted(SHIPPED.glob("margin-*.yaml"))]
    ran = Cli(tmp_path).run("scenario", "run", *files, "small.yaml")
    assert ran.status == 0
    assert ran.out.splitlines()[-1].startswith(f"{len(files) + 1} scenarios, ")
    assert "submit: verdict" not in ran.out


def test_every_fault_of_every_file_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("scenario: a\ncovers: [row-7]\nsteps:\n  - nonsense: 1\n")
    (tmp_path / "b.yaml").write_text("scenario: b\ncovers: [row-7]\nsteps: []\n")
    ran = Cli(tmp_path).run("scenario", "run", "a.yaml", "b.yaml", str(STALE), "--json")
    assert ran.status == 2
    assert ran.error["code"] == "INPUT_PROBLEM"
    found = [(p["file"], p["line"], p["column"]) for p in ran.error["details"]["problems"]]
    assert found == [("a.yaml", 4, 15), ("b.yaml", 3, 8)]
    assert Cli(tmp_path).run("scenario", "run", "none.yaml").status == 2


def test_no_ledger_is_opened_or_made(tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    Cli(tmp_path).run("scenario", "run", str(STALE))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_scenario_may_come_on_standard_input(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "remit", "scenario", "run", "-", "--json"],
        cwd=tmp_path, env=environment(), input=STALE.read_bytes(), capture_output=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["data"]["ok"] is True


# The worksheet of effect work.

RULES = """
validation: RULES-1
---
policy: POLICY-1
validation: RULES-1
classes: [EXPORT]
freshness_limit: 2m
admission_owner: desk
---
destination: STORE-1
name: objects
record: INDEX-1
enforces: {lookup: true, lookup_consistent: true}
"""
INTENT = """
work_id: WORK-1
message_id: MESSAGE-1
operation_id: "EXPORT <b>|`x`"
effect_id: PACKAGE-1
payload_digest: DIGEST-1
priority_class: EXPORT
replay_class: RECONCILABLE
destination: objects
cancellation_state: NOT_REQUESTED
completion_test: [{name: digest, field: digest, required: DIGEST-1}]
"""


@pytest.fixture
def submitted(cli: Cli) -> Cli:
    """A ledger where WORK-1 waits for evidence of capacity."""
    (cli.cwd / "rules.yaml").write_text(RULES)
    (cli.cwd / "intent.yaml").write_text(INTENT)
    cli.json("policy", "apply", "rules.yaml")
    cli.json("submit", "intent.yaml")
    return cli


def part(data: dict[str, Any], title: str) -> dict[str, Any]:
    return next(s for s in data["worksheet"]["sections"] if s["title"] == title)


def test_explain_of_effect_work_is_drawn_from_the_ledger(submitted: Cli) -> None:
    data = submitted.json("explain", "WORK-1")
    sheet = data["worksheet"]
    assert {
        "id", "question", "controlled_condition", "span", "system_boundary", "exact_operation",
        "logical_effect", "out_of_scope", "revisions", "sections",
    } == set(sheet)  # fmt: skip
    assert (data["verdict"], data["reason"]) == ("HOLD", "CAPACITY_EVIDENCE_MISSING")
    assert data["owner"]["identity"] == "desk"
    assert sheet["revisions"]["policy"] == "POLICY-1"
    assert part(data, "Reconciliation")["result"] == "NOT_TESTED"
    received = next(
        e for e in submitted.json("show", "WORK-1")["history"] if e["type"] == "IntentReceived"
    )
    past = submitted.json("explain", "WORK-1", "--at", str(received["seq"]))
    assert past["verdict"] == "NOT_DECIDED"
    states = {c["check"]: c["result"] for c in part(past, "State separation")["checks"]}
    assert states == {
        "STORED": "PASS", "VALID": "NOT_TESTED", "ELIGIBLE": "NOT_TESTED", "LEASED": "NOT_TESTED",
        "COMPLETED": "NOT_TESTED",
    }  # fmt: skip


def test_explain_is_text_or_markdown_and_safe_in_both(submitted: Cli) -> None:
    shown = submitted.run("explain", "WORK-1", "--as", "ann").out
    assert "[x] HOLD" in shown
    assert "not supported: no observation means that nothing is busy" in shown
    marked = submitted.run("explain", "WORK-1", "--format", "markdown").out
    assert marked.startswith("# May WORK-1 join")
    assert "- [x] HOLD" in marked
    assert "EXPORT \\<b\\>\\|\\`x\\`" in marked
    assert "<b>" not in marked
    for way in ([], ["--json"]):
        ran = submitted.run("explain", "WORK-1", "--format", "html", *way)
        assert (ran.status, "expected text or markdown" in ran.err) == (2, True)


def test_explain_of_delivery_work_has_sections_of_the_same_shape(cli: Cli) -> None:
    cli.json("create", "One", "--verify", "true")
    for section in cli.json("explain", "W-1")["worksheet"]["sections"]:
        assert set(section) == {"title", "result", "lines", "checks", "boxes", "claims"}
    marked = cli.run("explain", "W-1", "--format", "markdown")
    assert (marked.status, marked.out[:1]) == (0, "#")
