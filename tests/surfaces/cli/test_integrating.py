"""'remit integrate', typed: what it says, and with which exit status."""

from __future__ import annotations

from pathlib import Path

from tests.surfaces.cli.calling import Cli, git

CHECK = "python3 -c 'import prog; assert prog.f() == 2'"


def approved(repo: Cli, tmp_path: Path, number: int = 1) -> str:
    made = repo.json("create", f"Let f be 2 ({number})", "--verify", CHECK)
    item, clone = str(made["item"]["id"]), tmp_path / f"clone{number}"
    leased = repo.json("lease", item, "--clone", str(clone), actor="bot")
    fence = str(leased["lease"]["fence"])
    (clone / "prog.py").write_text("def f(): return 2\n")
    git(clone, "commit", "-q", "-am", "work")
    repo.json("report", "completion", item, "--fence", fence, actor="bot", cwd=clone)
    repo.json("review", item, "--approve", "--reason", "good", actor="bea")
    return item


def theirs(tmp_path: Path, name: str, text: str) -> str:
    other = tmp_path / "other"
    if not other.exists():
        git(tmp_path, "clone", "-q", str(tmp_path / "origin.git"), str(other))
    git(other, "pull", "-q", "origin", "main")
    (other / name).write_text(text)
    git(other, "add", ".")
    git(other, "commit", "-q", "-m", "theirs")
    git(other, "push", "-q", "origin", "HEAD:main")
    return git(other, "rev-parse", "HEAD")


def test_approved_work_lands_and_is_verified(repo: Cli, tmp_path: Path) -> None:
    item = approved(repo, tmp_path)
    main = theirs(tmp_path, "else.txt", "x\n")
    planned = repo.json("integrate", item, "--dry-run")
    assert (planned["outcome"], planned["way"], planned["shipped"]) == ("planned", "merge", False)
    found = repo.json("integrate", item, "--command-id", "c-1")
    assert found["item"]["status"] == "shipped"
    assert (found["shipped"], found["main_before"]) == (True, main)
    assert found["main_after"] == found["commit"]
    assert git(tmp_path / "origin.git", "rev-parse", "main") == found["commit"]
    assert found["effect"] == {"id": f"push/{item}", "state": "PRESENT"}
    [row] = found["results"]
    assert (row["row"], row["result"]) == ("V-1", "verified")
    assert row["evidence"]["log"]
    again = repo.json("integrate", item, "--command-id", "c-1")
    assert (again["repeated"], again["commit"]) == (True, found["commit"])
    assert again["results"] == found["results"]
    repo.refused("integrate", item, status=3, code="TRANSITION_REFUSED")
    assert repo.json("verify", item)["item"]["status"] == "verified"
    assert repo.json("trace", item)["complete"]
    assert repo.json("ledger", "verify")["problems"] == []
    looked = repo.json("reconcile", f"push/{item}")
    assert [(e["effect_id"], e["effect"]) for e in looked["effects"]] == [
        (f"push/{item}", "PRESENT")
    ]


def test_a_clash_exits_6_and_says_where(repo: Cli, tmp_path: Path) -> None:
    item = approved(repo, tmp_path)
    theirs(tmp_path, "prog.py", "def f(): return 3\n")
    dry = repo.json("integrate", item, "--dry-run", status=6)
    assert (dry["outcome"], dry["detail"]) == ("clash", "prog.py")
    found = repo.json("integrate", item, status=6)
    assert (found["outcome"], found["triage"]) == ("triaged", "merge-conflict")
    assert found["item"]["status"] == "triaged"
    assert "prog.py" in found["detail"]


def test_only_one_way_can_be_asked_for(repo: Cli, tmp_path: Path) -> None:
    item = approved(repo, tmp_path)
    repo.refused("integrate", item, "--merge", "--rebase", status=2, code="BAD_INPUT")
    repo.refused("integrate", "W-99", status=4, code="NOT_FOUND")
    text = repo.text("integrate", item, "--rebase")
    assert f"{item} shipped" in text
    assert f"next: remit verify {item}" in text


def test_the_configuration_says_what_the_remote_takes(repo: Cli, tmp_path: Path) -> None:
    item = approved(repo, tmp_path)
    config = repo.cwd / ".remit" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("markers = 1\n")
    repo.refused("integrate", item, status=2, code="BAD_INPUT")
    config.write_text('[pull_requests]\ncreate = ["gh"]\n')
    found = repo.refused("integrate", item, status=2, code="BAD_INPUT")
    assert "pull_requests.find" in found["message"]
    config.write_text("markers = false\n")
    repo.json("integrate", item)
    refs = git(tmp_path / "origin.git", "for-each-ref", "--format=%(refname)", "refs/remit")
    assert refs == ""


def test_what_nobody_knows_is_due_for_a_look(repo: Cli, tmp_path: Path) -> None:
    """The server dies without a word, twice: the second look finds out."""
    item = approved(repo, tmp_path)
    origin, away = tmp_path / "origin.git", tmp_path / "away.git"
    hook = origin / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nmv {origin} {away}; kill -9 $PPID\n")
    hook.chmod(0o755)
    repo.refused("integrate", item, status=9, code="OUTCOME_UNKNOWN")
    looked = repo.json("reconcile", status=0)
    assert [(e["observation"], e["effect"]) for e in looked["effects"]] == [
        ("UNAVAILABLE", "UNCERTAIN")
    ]
    repo.json("reconcile", f"push/{item}", status=5)
    away.rename(origin)
    (origin / "hooks" / "post-receive").unlink()
    assert repo.json("reconcile")["effects"][0]["effect"] == "PRESENT"
    assert repo.json("reconcile")["effects"] == []
    assert repo.json("integrate", item)["shipped"]
