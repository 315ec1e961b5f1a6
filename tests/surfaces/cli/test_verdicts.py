"""Mutations, bound reviews, scores and closure on the command line, on real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli, git

CHECK = "python3 -c 'import prog; assert prog.f() == 1, \"f is wrong\"'"
PATCH = (
    "--- a/prog.py\n+++ b/prog.py\n@@ -1 +1,2 @@\n-def f(): return 1\n+def f(): return 2\n # more\n"
)
"""Under it the check fails; it applies to the program with a comment added."""

TEXT = "def f(): return 1\n# more\n"


def landed(repo: Cli, tmp_path: Path, *options: str, text: str = TEXT) -> str:
    """An item whose change is on main and shipped."""
    item = str(repo.json("create", "Keep f at 1", *options)["item"]["id"])
    clone = tmp_path / f"clone-{item}"
    fence = repo.json("lease", item, "--clone", str(clone), actor="bot")["lease"]["fence"]
    (clone / "prog.py").write_text(text)
    git(clone, "commit", "-q", "-am", "work")
    git(clone, "push", "-q", str(tmp_path / "origin.git"), "HEAD:main")
    repo.json("report", "completion", item, "--fence", str(fence), actor="bot", cwd=clone)
    repo.json("review", item, "--approve", "--reason", "good", actor="bea")
    repo.json("ship", item, "--commit", git(clone, "rev-parse", "HEAD"))
    return item


@pytest.fixture
def patch(tmp_path: Path) -> str:
    file = tmp_path / "two.patch"
    file.write_text(PATCH.replace("@@ -1 +1,2 @@", "@@ -1,2 +1,2 @@"))
    return str(file)


def test_a_declared_mutation_proves_what_the_base_cannot(
    repo: Cli, tmp_path: Path, patch: str
) -> None:
    plain = landed(repo, tmp_path, "--verify", CHECK)
    found = repo.json("verify", plain, status=6)
    assert [r["reason"] for r in found["results"]] == ["CONTROL_GREEN"]
    more = ("--verify", CHECK, "--mutation", patch, "--red-reason", "f is wrong")
    item = landed(repo, tmp_path, *more, text=TEXT + "# yet more\n")
    shown = repo.json("show", item)
    [row] = shown["rows"]
    assert (row["control"], row["red_reason"]) == ("mutation", "f is wrong")
    brief = repo.text("brief", item)
    assert "with the patch below applied" in brief
    assert "+def f(): return 2" in brief
    assert shown["expectation"][0]["closure"]["state"] == "open"
    verified = repo.json("verify", item, "--repeat", "2")
    assert [r["result"] for r in verified["results"]] == ["verified"]
    names = [check["check"] for check in verified["results"][0]["checks"]]
    assert {"mutation-applies", "mutation-in-scope", "control-red", "control-reason"} <= {*names}
    log = repo.json("ledger", "text", verified["results"][0]["evidence"]["log"])["text"]
    assert log.count("== shipped ") == 2
    assert "== mutation of " in log
    shown = repo.json("show", item)
    assert shown["expectation"][0]["closure"]["state"] == "verified"
    assert repo.json("trace", item)["coverage"][0]["state"] == "verified"


def test_a_patch_that_no_longer_applies_is_named_and_not_red(
    repo: Cli, tmp_path: Path, patch: str
) -> None:
    more = ("--verify", CHECK, "--mutation", patch, "--red-reason", "f is wrong")
    item = landed(repo, tmp_path, *more, text="def f(): return 2 - 1\n# more\n")
    found = repo.json("verify", item, status=6)
    assert [r["reason"] for r in found["results"]] == ["CONTROL_INVALID"]
    [record] = repo.json("triage", "list")["records"]
    assert record["kind"] == "verifier-gap"
    assert repo.json("trace", item)["coverage"][0]["state"] == "gap"


def test_a_mutation_belongs_to_one_command_and_has_a_reason(
    repo: Cli, tmp_path: Path, patch: str
) -> None:
    before = repo.json("list")["total"]
    large = tmp_path / "large.patch"
    large.write_text("x" * 20_000)
    for more in (
        ("--mutation", patch),
        ("--mutation", patch, "--red-reason", "r"),
        ("--verify", CHECK, "--mutation", patch),
        ("--verify", CHECK, "--verify", "true", "--red-reason", "r"),
        ("--verify", CHECK, "--mutation", str(large), "--red-reason", "r"),
    ):
        repo.refused("create", "x", *more, status=2, code="BAD_INPUT")
    gone = ("--verify", CHECK, "--mutation", str(tmp_path / "gone"), "--red-reason", "r")
    repo.refused("create", "x", *gone, status=2, code="INPUT_PROBLEM")
    assert repo.json("list")["total"] == before


def test_a_review_names_what_was_looked_at(repo: Cli, tmp_path: Path) -> None:
    item = str(repo.json("create", "Let f be 1", "--verify", CHECK)["item"]["id"])
    clone = tmp_path / "clone"
    fence = repo.json("lease", item, "--clone", str(clone), actor="bot")["lease"]["fence"]
    (clone / "prog.py").write_text(TEXT)
    git(clone, "commit", "-q", "-am", "work")
    repo.json("report", "completion", item, "--fence", str(fence), actor="bot", cwd=clone)
    bound = repo.json("show", item)["bound"]
    why = ("--approve", "--reason", "ok", "--bound")
    repo.refused("review", item, *why, "0" * 64, actor="bea", status=3, code="REVIEW_STALE")
    repo.json("review", item, *why, bound, actor="bea")
    pairs = dict(repo.json("show", item)["work"]["bound"])
    assert set(pairs) == {"V-1", "R-1"}


def test_a_rubric_is_scored_by_its_own_text(repo: Cli, tmp_path: Path) -> None:
    item = landed(repo, tmp_path, "--rubric", "Does it read well?")
    [row] = repo.json("show", item)["rows"]
    found = repo.json("verify", item, status=6)
    assert [r["result"] for r in found["results"]] == ["not-machine-checkable"]
    state = repo.json("trace", item)["coverage"][0]["state"]
    assert state == "not-machine-checkable"
    score = ("verify", item, "--row", row["id"], "--pass", "--reason", "it does", "--digest")
    repo.refused(*score, "0" * 64, actor="cid", status=3, code="VERIFICATION_STALE")
    repo.refused(
        "verify", item, "--row", row["id"], "--pass", "--reason", "x" * 1_001,
        actor="cid", status=2, code="BAD_INPUT",
    )  # fmt: skip
    repo.refused(*score, row["digest"], actor="bot", status=3, code="VERIFIER_IS_IMPLEMENTER")
    done = repo.json(*score, row["digest"], actor="cid")
    assert done["item"]["status"] == "verified"
    [check] = done["results"][0]["checks"]
    assert (check["observed"], check["evidence"]) == ("it does", row["digest"])


def test_only_stale_results_go_on_in_a_successor(repo: Cli, tmp_path: Path) -> None:
    item = landed(repo, tmp_path, "--rubric", "Does it read well?")
    other = repo.json("create", "go on", "--verify", CHECK)["item"]["id"]
    repo.refused("succeed", item, other, status=3, code="RESULTS_CURRENT")
    repo.refused("succeed", item, "W-99", status=4, code="NOT_FOUND")
