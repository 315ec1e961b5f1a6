"""A worker who wants work counted that was not done: each way is tried, and none counts.

The worker is ``bot``, an agent with a clone of its own. It may call every command under its own
name, write whatever it likes in its clone, and push to the origin.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import Cli, git

import remit
from remit.core import commands as c
from remit.core.refusals import Refused
from remit.wiring import url_of

CHECK = "python3 -c 'import prog; assert prog.f() == 2'"
GOOD, BAD = "def f(): return 2\n", "def f(): return 3\n"


class Attempt:
    """One lease of bot's with its clone."""

    def __init__(self, repo: Cli, folder: Path, *more: str) -> None:
        self.repo, self.clone = repo, folder / "clone"
        self.origin = str(folder / "origin.git")
        self.item = repo.json("create", "Let f be 2", "--verify", CHECK, *more)["item"]["id"]
        self.lease()

    def lease(self) -> None:
        clone = () if self.clone.exists() else ("--clone", str(self.clone))
        leased = self.repo.json("lease", self.item, *clone, actor="bot")
        self.fence = str(leased["lease"]["fence"])

    def lease_again(self, item: str) -> None:
        """Go on with another item in the same clone."""
        self.item = item
        self.lease()

    def commit(self, text: str = GOOD, name: str = "prog.py") -> str:
        (self.clone / name).write_text(text)
        git(self.clone, "add", "-A")
        git(self.clone, "commit", "-q", "--allow-empty", "-m", "work")
        return git(self.clone, "rev-parse", "HEAD")

    def push(self, what: str = "HEAD:main", *options: str) -> None:
        git(self.clone, "push", "-q", *options, self.origin, what)

    def hand_in(self, head: str = "") -> None:
        more = ("--head", head) if head else ()
        self.repo.json(
            "report", "completion", self.item, "--fence", self.fence, *more,
            actor="bot", cwd=self.clone,
        )  # fmt: skip

    def approved(self, head: str = "") -> None:
        self.hand_in(head)
        self.repo.json("review", self.item, "--approve", "--reason", "good", actor="bea")

    def no_ship(self, sha: str, *more: str, actor: str = "bot", cwd: Path | None = None) -> str:
        ran = self.repo.run(
            "ship", self.item, "--commit", sha, *more, "--json", "--as", actor, cwd=cwd
        )
        assert ran.status in (2, 3, 5), ran
        details = ran.error["details"]
        code = str(details.get("repository_code") or ran.error["code"])
        assert self.status() == ("triaged" if code == "MAIN_REWRITTEN" else "approved")
        return code

    def status(self) -> str:
        return str(self.repo.json("show", self.item)["status"])

    def ship(self) -> None:
        self.repo.json("ship", self.item, "--commit", git(self.clone, "rev-parse", "HEAD"))


@pytest.fixture
def attempt(repo: Cli, tmp_path: Path) -> Attempt:
    return Attempt(repo, tmp_path)


def test_a_commit_in_ones_own_clone_does_not_ship(attempt: Attempt) -> None:
    sha = attempt.commit()
    attempt.approved()
    assert attempt.no_ship(sha) == "COMMIT_UNMERGED"
    attempt.push("HEAD:refs/heads/other")
    assert attempt.no_ship(sha) == "COMMIT_UNMERGED"


def test_nothing_done_is_not_handed_in(attempt: Attempt) -> None:
    base = git(attempt.clone, "rev-parse", "HEAD")
    report = ("report", "completion", attempt.item, "--fence", attempt.fence, "--head", base)
    attempt.repo.refused(
        *report, status=3, code="NOTHING_TO_REVIEW", actor="bot", cwd=attempt.clone
    )
    assert attempt.status() == "leased"


def test_a_configuration_of_ones_own_names_no_other_main(attempt: Attempt) -> None:
    sha = attempt.commit()
    attempt.approved()
    attempt.push("HEAD:refs/heads/mine")
    (attempt.clone / ".remit").mkdir(exist_ok=True)
    (attempt.clone / ".remit" / "config.toml").write_text('main = "mine"\n')
    assert attempt.no_ship(sha, cwd=attempt.clone) == "COMMIT_UNMERGED"


def test_a_repository_of_ones_own_is_not_looked_at(attempt: Attempt, tmp_path: Path) -> None:
    sha = attempt.commit()
    attempt.approved()
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "mine.git")
    git(attempt.clone, "push", "-q", str(tmp_path / "mine.git"), "HEAD:main")
    git(tmp_path, "clone", "-q", "mine.git", "mine")
    mine = ("--repository", str(tmp_path / "mine"))
    assert attempt.no_ship(sha, *mine) == "BAD_INPUT"
    note = attempt.clone / ".git" / "remit" / "attempt.json"
    said = json.loads(note.read_text()) | {"repository": str(tmp_path / "mine")}
    note.write_text(json.dumps(said))
    assert attempt.no_ship(sha, cwd=attempt.clone) == "COMMIT_UNMERGED"


def test_only_a_human_accepts_that_main_was_rewritten(attempt: Attempt) -> None:
    lost = attempt.commit()
    attempt.approved()
    attempt.push()
    git(attempt.repo.cwd, "fetch", "-q", "origin")
    attempt.repo.run("ship", attempt.item, "--commit", "0" * 40, "--as", "ann")  # main is seen
    git(attempt.clone, "commit", "-q", "--amend", "-m", "the same change, another commit")
    attempt.push("HEAD:main", "--force")
    landed = git(attempt.clone, "rev-parse", "HEAD")
    assert attempt.no_ship(landed) == "MAIN_REWRITTEN"
    [record] = attempt.repo.json("triage", "list", "--kind", "remote-divergence")["records"]
    told = {field["name"]: field["values"] for field in record["fields"]}
    assert (told["expected"], told["observed"]) == ([lost], [landed])
    attempt.repo.json("triage", "resolve", record["id"], "return", "--reason", "ours", actor="ann")
    assert attempt.no_ship(landed, "--accept-rewrite") == "ACTOR_KIND_REFUSED"
    assert attempt.no_ship(lost, "--accept-rewrite", actor="ann") == "COMMIT_UNMERGED"
    attempt.repo.json("ship", attempt.item, "--commit", landed)
    assert attempt.status() == "shipped"


@pytest.mark.parametrize(
    "landed",
    [
        "def f():  return 2\n",
        "def f(): return 2",
        "def f(): return 2\n\n",
        "def f(): return 2\r\n",
    ],
)
def test_another_white_space_is_another_change(attempt: Attempt, landed: str) -> None:
    attempt.commit()
    attempt.approved()
    git(attempt.clone, "reset", "-q", "--hard", "origin/main")
    (attempt.clone / "prog.py").write_bytes(landed.encode())
    git(attempt.clone, "commit", "-q", "-am", "landed")
    attempt.push()
    assert attempt.no_ship(git(attempt.clone, "rev-parse", "HEAD")) == "PATCH_DIFFERS"


def test_another_mode_or_binary_content_is_another_change(repo: Cli, tmp_path: Path) -> None:
    attempt = Attempt(repo, tmp_path)
    (attempt.clone / "data.bin").write_bytes(b"\0\1\2" * 100)
    attempt.commit()
    attempt.approved()
    for what in ("mode", "binary"):
        git(attempt.clone, "reset", "-q", "--hard", "origin/main")
        (attempt.clone / "prog.py").write_text(GOOD)
        data = attempt.clone / "data.bin"
        data.write_bytes(b"\0\1\2" * 100 if what == "mode" else b"\0\1\3" * 100)
        data.chmod(0o755 if what == "mode" else 0o644)
        git(attempt.clone, "add", "-A")
        git(attempt.clone, "commit", "-q", "-m", what)
        attempt.push("HEAD:main", "--force")
        ran = repo.run(
            "ship", attempt.item, "--commit", git(attempt.clone, "rev-parse", "HEAD"),
            "--accept-rewrite", "--json", "--as", "ann",
        )  # fmt: skip
        assert ran.error["details"]["repository_code"] == "PATCH_DIFFERS", ran
        assert attempt.status() == "approved"


def test_who_held_a_lease_approves_nothing_and_no_reason_is_no_review(attempt: Attempt) -> None:
    attempt.commit()
    attempt.hand_in()
    for reason in ("", "  ", "\n"):
        ran = attempt.repo.run(
            "review", attempt.item, "--approve", "--reason", reason, "--as", "bea"
        )
        assert ran.status == 2, ran
    attempt.repo.refused(
        "review", attempt.item, "--approve", "--reason", "mine", "--head", "0" * 40,
        status=3, code="REVIEW_STALE", actor="bea",
    )  # fmt: skip
    for name in ("remit-verifier", "remit-admission", "remit-queue"):
        attempt.repo.refused(
            "review", attempt.item, "--approve", "--reason", "x",
            status=3, code="ACTOR_KIND_REFUSED", actor=name,
        )  # fmt: skip
    assert attempt.status() == "in-review"


@pytest.mark.parametrize(
    "trick",
    {
        "attributes": {".gitattributes": "*.py filter=evil ident text eol=crlf\n"},
        "config": {"gitconfig": "[core]\nhooksPath = /tmp\n"},
        "programs beside": {"python3": "#!/bin/sh\n", "git": "#!/bin/sh\n", "sh": "#!/bin/sh\n"},
    }.items(),
    ids=lambda t: t[0],
)
def test_a_tree_that_steers_git_or_the_path_verifies_nothing(
    repo: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trick: tuple[str, dict[str, str]]
) -> None:
    attempt = Attempt(repo, tmp_path)
    for name, text in trick[1].items():
        (attempt.clone / name).write_text(text)
        (attempt.clone / name).chmod(0o755)
    attempt.commit(BAD)
    attempt.approved()
    attempt.push()
    attempt.ship()
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}:")
    repo.json("verify", attempt.item, status=6, actor="bot")
    assert attempt.status() == "triaged"


def test_a_module_that_runs_a_command_is_not_taken_over(attempt: Attempt) -> None:
    text = '[submodule "x"]\npath = x\nurl = ../x\nupdate = !touch pwned\n'
    attempt.commit(text, ".gitmodules")
    error = attempt.repo.refused(
        "report", "completion", attempt.item, "--fence", attempt.fence,
        status=3, code="REPOSITORY_REFUSED", actor="bot", cwd=attempt.clone,
    )  # fmt: skip
    assert error["details"]["repository_code"] == "TAKEOVER_FAILED"
    assert attempt.status() == "leased"


def test_a_base_that_the_worker_names_ships_nothing(attempt: Attempt) -> None:
    """The base is where the control must be red: who may choose it, proves what was done before."""
    ancient = git(attempt.clone, "rev-parse", "HEAD")
    sha = attempt.commit()
    attempt.push()
    with contextlib.closing(
        remit.open(url_of(attempt.repo.cwd / ".git" / "remit" / "ledger.db"))
    ) as ledger:
        report = c.ReportCompletion(attempt.item, int(attempt.fence), sha, ancient)
        answer = ledger.acting("bot").report_completion(report)
        assert not isinstance(answer, Refused)
    attempt.repo.json("review", attempt.item, "--approve", "--reason", "good", actor="bea")
    assert attempt.no_ship(sha) == "COMMIT_ABSENT"


def test_a_push_after_the_approval_does_not_ship_and_is_reviewed_again(
    repo: Cli, tmp_path: Path
) -> None:
    """On the branch of the clone, on one that was reported, and when it is on main as well."""
    attempt = Attempt(repo, tmp_path)
    good = attempt.commit()
    attempt.push()
    attempt.approved()
    attempt.commit(BAD)
    attempt.push(f"HEAD:refs/heads/remit/A-{attempt.item[2:]}.1")
    assert attempt.no_ship(good) == "BRANCH_MOVED"
    attempt.push()
    assert attempt.no_ship(good) == "BRANCH_MOVED"
    ran = repo.run("ship", attempt.item, "--commit", good, "--json", "--as", "bot")
    assert ran.error["code"] == "APPROVAL_STALE"
    repo.json("review", attempt.item, "--reject", "--reason", "pushed since", actor="bea")
    assert attempt.status() == "ready"
    attempt.lease()
    again = attempt.commit(GOOD)
    attempt.push()
    attempt.approved()
    attempt.push(f"HEAD:refs/heads/remit/A-{attempt.item[2:]}.2")
    repo.json("ship", attempt.item, "--commit", again)
    assert attempt.status() == "shipped"
