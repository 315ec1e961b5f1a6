"""Triage by the command line: lists with filters, a record whole, and settling it by name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.surfaces.cli.calling import Cli

A, B, M = "a" * 40, "b" * 40, "c" * 40
ESCAPE = "\x1b[31mred\x1b[0m"


@pytest.fixture
def filled(cli: Cli) -> Cli:
    """One ambiguous item, and one whose holder ran into a conflict."""
    for name in ("one", "two"):
        cli.json("create", f"Number {name}", "--verify", "true")
    cli.json(
        "triage", "open", "W-1", "ambiguity", "--evidence", f"unclear=which {ESCAPE}",
        "--evidence", "asks=planner", "--reason", f"nobody says {ESCAPE}",
    )  # fmt: skip
    fence = cli.json("lease", "W-2", actor="bot")["lease"]["fence"]
    cli.json(
        "fail", "W-2", "--fence", str(fence), "--kind", "merge-conflict", "--evidence",
        f"base={B}", "--evidence", f"head={A}", "--evidence", f"main={M}", "--evidence",
        "path=src/a=b.py", "--reason", "both changed it", actor="bot",
    )  # fmt: skip
    return cli


def ids(found: dict[str, Any]) -> list[str]:
    return [record["id"] for record in found["records"]]


def test_lists_are_narrowed_by_kind_owner_item_run_and_age(filled: Cli) -> None:
    def listed(*more: str) -> list[str]:
        return ids(filled.json("triage", "list", *more))

    assert listed() == ["T-1", "T-2"]
    assert listed("--kind", "merge-conflict") == ["T-2"]
    assert listed("--owner", "planner") == ["T-1"]
    assert listed("--item", "W-2") == ["T-2"]
    assert listed("--run", "RUN-1") == []
    assert listed("--older", "1h") == []
    assert listed("--older", "1ms", "--kind", "ambiguity") == ["T-1"]
    assert filled.json("triage", "list", "--limit", "1")["truncated"]
    for option, value in (("--kind", "odd"), ("--owner", "king"), ("--older", "soon")):
        refused = filled.refused("triage", "list", option, value, status=2, code="BAD_INPUT")
        assert option in refused["message"]


def test_a_record_of_a_run_is_found_by_the_commands_that_a_run_gives(cli: Cli) -> None:
    cli.json("create", "Number one", "--verify", "true")
    cli.json(
        "triage", "open", "W-1", "ambiguity", "--evidence", "unclear=all", "--evidence",
        "asks=bea", "--command-id", "RUN-2/W-1/1/triaged",
    )  # fmt: skip
    assert ids(cli.json("triage", "list", "--run", "RUN-2")) == ["T-1"]
    assert ids(cli.json("triage", "list", "--run", "RUN-22")) == []


def test_a_record_is_shown_with_its_evidence_and_each_command_that_settles_it(filled: Cli) -> None:
    [record] = filled.json("triage", "show", "T-2")["records"]
    told = {field["name"]: field["values"] for field in record["fields"]}
    assert told == {"base": [B], "head": [A], "main": [M], "path": ["src/a=b.py"]}
    assert (record["owner"], record["origin"], record["notes"]) == ("maintainer", "leased", [])
    assert record["history"][-1]["type"] == "ItemTriaged"
    commands = [way["command"] for way in record["ways"]]
    assert commands == [
        "remit triage resolve T-2 requeue --reason WHY",
        "remit triage resolve T-2 supersede --successor ID --reason WHY",
        "remit triage resolve T-2 cancel --reason WHY",
        "remit triage resolve T-2 fail --reason WHY",
    ]
    text = filled.run("triage", "show", "T-2").out
    assert all(command in text for command in commands)


def test_foreign_text_is_escaped_in_lists_and_records(filled: Cli) -> None:
    for argv in (("triage", "list"), ("triage", "show", "T-1"), ("show", "W-1")):
        text = filled.run(*argv).out
        assert "\x1b" not in text
        assert "\\x1b[31mred" in text
    [record] = filled.json("triage", "show", "T-1")["records"]
    assert record["fields"][0]["values"] == [f"which {ESCAPE}"]


def test_a_record_without_its_evidence_is_refused_with_what_is_missing(filled: Cli) -> None:
    filled.json("create", "Number three", "--verify", "true")
    refused = filled.refused("triage", "open", "W-3", "ambiguity", status=3, code="TRIAGE_EVIDENCE")
    assert "unclear" in refused["message"]
    assert "asks" in refused["message"]
    assert "remit triage kinds ambiguity" in refused["hint"]
    refused = filled.refused(
        "triage", "open", "W-3", "poison", status=3, code="TRIAGE_KIND_REFUSED"
    )
    assert filled.json("show", "W-3")["records"] == []


def test_a_record_that_is_settled_says_by_whom_and_why(filled: Cli) -> None:
    filled.refused(
        "triage", "resolve", "T-2", "return", "--reason", "so", status=3, code="RESOLUTION_REFUSED"
    )
    done = filled.json("triage", "resolve", "T-2", "requeue", "--reason", "again on the new main")
    assert done["item"]["status"] == "ready"
    [record] = filled.json("triage", "show", "T-2")["records"]
    assert (record["open"], record["ways"], record["next"]) == (False, [], None)
    told = record["settled"]
    assert (told["resolution"], told["reason"]) == ("requeue", "again on the new main")
    assert ids(filled.json("triage", "list")) == ["T-1"]
    assert ids(filled.json("triage", "list", "--all")) == ["T-1", "T-2"]
    assert "again on the new main" in filled.run("triage", "show", "T-2").out


def test_what_a_verification_left_is_laid_out_too(filled: Cli) -> None:
    """Its record is the event of the verification; a list of kinds is there without any ledger."""
    [kind] = filled.json("triage", "kinds", "verifier-gap")["kinds"]
    assert kind["opened_by_ledger_alone"]
    assert kind["resolutions"] == {"shipped": ["reverify", "supersede"]}
    assert len(filled.json("triage", "kinds")["kinds"]) == 23
    assert "secret-found" in filled.run("triage", "kinds").out
    assert "line" in filled.run("triage", "kinds", "secret-found").out
    filled.refused("triage", "kinds", "odd", status=2, code="BAD_INPUT")
