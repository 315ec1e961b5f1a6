"""``remit trace`` in all its forms, and ``clear-suspect``, on a ledger with a plan."""

from __future__ import annotations

import json

import pytest
from tests.surfaces.cli.calling import Cli
from tests.surfaces.cli.test_plans_applied import EXAMPLE, edited, planned, write

__all__ = ["planned"]


@pytest.fixture
def doubted(planned: Cli) -> Cli:
    """The plan in force asks more of its first requirement than its row was written for."""
    at = EXAMPLE.index("acceptance:")
    line = EXAMPLE.index("\n", at) + 1
    indent = EXAMPLE[line:].split("-", 1)[0]
    more = EXAMPLE[:line] + f"{indent}- and on a slow disk too\n" + EXAMPLE[line:]
    write(planned, "more.yaml", more)
    assert planned.json("plan", "apply", "more.yaml")["revision"] == "P-1@2"
    return planned


def test_a_trace_starts_from_any_link(planned: Cli) -> None:
    [under] = planned.json("trace", "R-1")["chains"]
    whole = planned.json("trace", under["id"])
    stages = {link["stage"]: link["ids"] for link in whole["chain"]}
    for name in (
        "G-1",
        "P-1",
        "P-1@1",
        *stages["requirement"],
        *stages["dependencies"],
        *stages["rows"],
    ):
        found = planned.json("trace", name)
        assert whole["id"] in [each["id"] for each in found["chains"]]
    assert whole["chain"] in [each["chain"] for each in planned.json("trace", "P-1")["chains"]]
    text = planned.text("trace", "R-1")
    assert "requirement R-1: " in text
    assert "the chain is not complete" in text
    assert planned.run("trace", "R-99").status == 4
    assert planned.json("trace", "P-1", "--limit", "1")["truncated"]


def test_one_form_is_asked_for_at_a_time(planned: Cli) -> None:
    for asked in ((), ("W-1", "--matrix"), ("--orphans", "--suspect")):
        ran = planned.run("trace", *asked, "--json")
        assert (ran.status, ran.error["code"]) == (2, "BAD_INPUT")
    ran = planned.run("trace", "--matrix", "--format", "pdf", "--json")
    assert (ran.status, ran.error["code"]) == (2, "BAD_INPUT")


def test_the_matrix_is_shown_and_written(planned: Cli) -> None:
    data = planned.json("trace", "--matrix")
    assert data["revision"] == "P-1@1"
    assert {line["coverage"] for line in data["requirements"]} == {"shallow"}
    assert "shallow" in planned.text("trace", "--matrix")
    assert planned.text("trace", "--matrix", "--format", "csv").startswith("requirement,label")
    done = planned.json("trace", "--matrix", "--format", "html", "--out", "coverage.html")
    assert done["file"] == "coverage.html"
    page = (planned.cwd / "coverage.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    planned.json("trace", "--needs", "--out", "needs.json")
    needs = json.loads((planned.cwd / "needs.json").read_text())
    assert needs["current_version"] == "P-1@1"
    assert "REQ_1" in needs["versions"]["P-1@1"]["needs"]
    assert planned.json("trace", "--orphans")["total"] == 0
    assert "no orphans" in planned.text("trace", "--orphans")


def test_suspect_links_exit_6_until_they_are_cleared(doubted: Cli) -> None:
    ran = doubted.run("trace", "--suspect", "--json")
    assert ran.status == 6
    links = json.loads(ran.out)["data"]["links"]
    assert links
    assert "clear-suspect" in doubted.run("trace", "--suspect").out
    assert doubted.run("clear-suspect", "R-1", "V-1", "--json", "--as", "ann").status == 2
    for link in links:
        ends = (link["upper"], link["lower"])
        digests = ("--upper-digest", link["upper_digest"], "--lower-digest", link["lower_digest"])
        because = ("--reason", "read again", *digests)
        data = doubted.json("clear-suspect", *ends, *because)
        assert data["link"] == link["link"]
        repeated = doubted.run("clear-suspect", *ends, *because, "--json", "--as", "ann")
        assert repeated.error["code"] == "UNCHANGED"
    assert doubted.json("trace", "--suspect")["total"] == 0
    assert "no suspect links" in doubted.text("trace", "--suspect")


def test_changes_of_coverage_are_told_between_revisions(doubted: Cli) -> None:
    data = doubted.json("trace", "--delta", "P-1@1", "P-1@2")
    assert (data["from"], data["to"]) == ("P-1@1", "P-1@2")
    assert [(x["from"], x["to"]) for x in data["changes"]] == [("shallow", "suspect")]
    assert doubted.json("trace", "--delta", "P-1@2", "P-1")["changes"] == []
    assert "changed in coverage" in doubted.text("trace", "--delta", "P-1@1", "P-1")
    assert doubted.run("trace", "--delta", "P-1@1", "P-1@9").status == 4
    assert edited(doubted)
