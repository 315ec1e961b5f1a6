"""Observing a ship: by exact name or by the same change, and every way in which it is refused."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from remit.core.gitfacts import MatchedBy, RepositoryCode, RepositoryRefusal, ShipObservation
from remit.repository import Git, GitLimits, GitRepository


class Work:
    """A reviewed change on a branch of the host, not yet landed."""

    def __init__(self, lab: Any, repo: GitRepository, files: dict[str, str | bytes]) -> None:
        self.lab, self.repo = lab, repo
        self.before = lab.git("rev-parse", "HEAD")
        repo.observe_main()
        lab.git("checkout", "-q", "-b", "work")
        self.head = self.before
        for name, content in files.items():
            self.head = lab.commit({name: content})
        self.other = lab.other()

    def ship(self, sha: str, **changes: str) -> ShipObservation | RepositoryRefusal:
        told = {
            "reviewed_head": self.head,
            "reviewed_base": self.before,
            "main_before": self.before,
        }
        return self.repo.observe_ship(sha, **{**told, **changes})

    def others_push(self, name: str = "z.txt") -> str:
        """Somebody else lands a commit on main."""
        self.lab.git("pull", "-q", "--rebase", "origin", "main", cwd=self.other)
        sha: str = self.lab.commit({name: "z\n"}, cwd=self.other)
        self.lab.push(cwd=self.other)
        return sha


@pytest.fixture
def work(lab: Any, repo: GitRepository) -> Work:
    return Work(lab, repo, {"src/app.py": "x = 2\n", "src/more.py": "y = 1\n"})


def shipped(value: object) -> ShipObservation:
    assert isinstance(value, ShipObservation), value
    return value


def test_the_reviewed_head_on_main(work: Work) -> None:
    work.lab.push()
    seen = shipped(work.ship(work.head))
    assert (seen.observed_commit_sha, seen.head_sha, seen.main_sha) == (work.head,) * 3
    assert seen.base_sha == work.before
    assert seen.matched_by is MatchedBy.SHA
    assert seen.landed_sha == work.head
    assert seen.patch_id
    assert (seen.remote, seen.ref) == ("origin", "refs/heads/main")


def test_the_reviewed_head_within_a_merge(work: Work) -> None:
    lab = work.lab
    work.others_push()
    lab.git("checkout", "-q", "-B", "main", "origin/main")
    lab.git("pull", "-q", "origin", "main")
    lab.git("merge", "-q", "--no-ff", "-m", "merge", "work")
    merge = lab.git("rev-parse", "HEAD")
    lab.push()
    work.others_push("later.txt")
    seen = shipped(work.ship(work.head))
    assert (seen.head_sha, seen.landed_sha, seen.base_sha) == (work.head, merge, work.before)
    by_merge = shipped(work.ship(merge))
    assert by_merge.matched_by is MatchedBy.PATCH_ID
    assert by_merge.base_sha == lab.git("rev-parse", f"{merge}~1")


@pytest.mark.parametrize("others", [False, True])
def test_a_rebased_series(work: Work, others: bool) -> None:
    lab = work.lab
    base = work.others_push() if others else work.before
    lab.git("fetch", "-q", "origin")
    lab.git("checkout", "-q", "-b", "landing", base)
    lab.git("cherry-pick", f"{work.before}..{work.head}")
    lab.git("commit", "-q", "--amend", "-m", "said otherwise")
    landed = lab.git("rev-parse", "HEAD")
    lab.push()
    seen = shipped(work.ship(landed))
    assert landed != work.head
    assert (seen.matched_by, seen.base_sha) == (MatchedBy.PATCH_ID, base)
    assert seen.reviewed_head_sha == work.head
    assert seen.patch_id == shipped_patch(lab, work)


def shipped_patch(lab: Any, work: Work) -> str:
    diff = subprocess.run(
        ["git", "diff", work.before, work.head], cwd=lab.host, capture_output=True, check=True
    ).stdout
    done = subprocess.run(
        ["git", "patch-id", "--stable"], cwd=lab.host, input=diff, capture_output=True, check=True
    )
    return done.stdout.decode().split()[0]


def test_a_squash_after_others_landed(work: Work) -> None:
    lab = work.lab
    base = work.others_push()
    lab.git("fetch", "-q", "origin")
    lab.git("checkout", "-q", "-b", "landing", base)
    lab.git("merge", "-q", "--squash", "work")
    landed = lab.commit({}, say="squashed")
    lab.push()
    seen = shipped(work.ship(landed))
    assert (seen.base_sha, seen.landed_sha) == (base, landed)


def test_refuses_an_absent_commit(work: Work, refused: Any) -> None:
    refused(work.ship("1" * 40), RepositoryCode.COMMIT_ABSENT)


def test_refuses_an_unmerged_commit(work: Work, refused: Any) -> None:
    found = refused(work.ship(work.head), RepositoryCode.COMMIT_UNMERGED)
    assert found.details["main_sha"] == work.before


def test_refuses_a_packed_commit_that_is_not_in_main(work: Work, refused: Any) -> None:
    work.lab.git("gc", "-q")
    assert not list((work.lab.host / ".git/objects").glob("[0-9a-f][0-9a-f]/*"))
    refused(work.ship(work.head), RepositoryCode.COMMIT_UNMERGED)


def test_a_pushed_branch_is_not_main(work: Work, refused: Any) -> None:
    work.lab.git("push", "-q", "origin", "work")
    refused(work.ship(work.head), RepositoryCode.COMMIT_UNMERGED)


def test_the_persons_own_main_is_not_the_remotes(work: Work, refused: Any) -> None:
    work.lab.git("branch", "-f", "main", "work")
    work.lab.git("update-ref", "refs/remotes/origin/main", work.head)
    refused(work.ship(work.head), RepositoryCode.COMMIT_UNMERGED)


@pytest.mark.parametrize("what", ["HEAD^{tree}", "HEAD:a.txt", "v1"])
def test_refuses_what_is_no_commit(work: Work, refused: Any, what: str) -> None:
    work.lab.git("tag", "-a", "-m", "t", "v1")
    work.lab.push()
    sha = work.lab.git("rev-parse", what)
    refused(work.ship(sha), RepositoryCode.NOT_A_COMMIT)


@pytest.mark.parametrize(
    "sha", ["", "HEAD", "main", "abc1234", "-x", "--help", "A" * 40, "0" * 39, "1" * 40 + "\n"]
)
def test_refuses_what_is_no_full_name(work: Work, refused: Any, sha: str) -> None:
    work.lab.push()
    refused(work.ship(sha), RepositoryCode.BAD_SHA)
    for name in ("reviewed_head", "reviewed_base", "main_before"):
        refused(work.ship(work.head, **{name: sha}), RepositoryCode.BAD_SHA)


def test_refuses_another_change_on_main(work: Work, refused: Any) -> None:
    foreign = work.others_push()
    found = refused(work.ship(foreign), RepositoryCode.PATCH_DIFFERS)
    assert found.details["reviewed_head"] == work.head


def test_refuses_the_change_with_more_on_top(work: Work, refused: Any) -> None:
    lab = work.lab
    extra = lab.commit({"src/unreviewed.py": "bad = 1\n"})
    lab.push()
    refused(work.ship(extra), RepositoryCode.PATCH_DIFFERS)
    shipped(work.ship(work.head))


def test_refuses_a_change_of_indentation_that_git_calls_the_same_patch(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    work = Work(lab, repo, {"src/app.py": "if x:\n    a()\n    b()\n"})
    lab.git("checkout", "-q", "-b", "landing", work.before)
    landed = lab.commit({"src/app.py": "if x:\n    a()\nb()\n"})
    lab.push()
    found = refused(work.ship(landed), RepositoryCode.PATCH_DIFFERS)
    assert "white space" in found.message
    assert found.details["reviewed_patch_id"] in found.details["found_patch_ids"]


def test_refuses_other_binary_content(lab: Any, repo: GitRepository, refused: Any) -> None:
    work = Work(lab, repo, {"logo.bin": b"\0\1\2reviewed"})
    lab.git("checkout", "-q", "-b", "landing", work.before)
    landed = lab.commit({"logo.bin": b"\0\1\2replaced"})
    lab.push()
    refused(work.ship(landed), RepositoryCode.PATCH_DIFFERS)
    lab.git("checkout", "-q", "-B", "landing", work.before)
    lab.commit({"logo.bin": b"\0\1\2reviewed"}, say="same bytes")
    lab.push("--force")
    same = lab.git("rev-parse", "HEAD")
    shipped(
        repo.observe_ship(
            same,
            reviewed_head=work.head,
            reviewed_base=work.before,
            main_before=work.before,
            accept_rewrite=True,
        )
    )


def test_a_carriage_return_hides_nothing_from_the_comparison(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    work = Work(lab, repo, {"t.txt": "a\rindex re viewed\n"})
    lab.git("checkout", "-q", "-b", "landing", work.before)
    landed = lab.commit({"t.txt": "a\rindex reviewed\n"})
    lab.push()
    refused(work.ship(landed), RepositoryCode.PATCH_DIFFERS)


def test_a_change_of_mode_alone_counts(lab: Any, repo: GitRepository) -> None:
    work = Work(lab, repo, {})
    (lab.host / "a.txt").chmod(0o755)
    work.head = lab.commit({})
    lab.git("checkout", "-q", "-b", "landing", work.before)
    (lab.host / "a.txt").chmod(0o755)
    landed = lab.commit({}, say="other words")
    lab.push()
    assert shipped(work.ship(landed)).matched_by is MatchedBy.PATCH_ID


def test_two_empty_changes_are_not_the_same_change(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    work = Work(lab, repo, {})
    work.head = lab.commit({}, say="empty")
    lab.git("checkout", "-q", "-b", "landing", work.before)
    landed = lab.commit({}, say="also empty")
    lab.push()
    refused(work.ship(landed), RepositoryCode.PATCH_DIFFERS)


def test_refuses_a_base_that_was_observed_too_late(work: Work, refused: Any) -> None:
    work.lab.push()
    found = refused(work.ship(work.head, main_before=work.head), RepositoryCode.BASE_UNUSABLE)
    assert "before" in found.message


def test_refuses_unrelated_history(work: Work, refused: Any) -> None:
    lab = work.lab
    lab.git("checkout", "-q", "--orphan", "island")
    island = lab.commit({"i.txt": "i"})
    lab.push("--force")
    found = work.repo.observe_ship(
        island,
        reviewed_head=island,
        reviewed_base=work.before,
        main_before=work.before,
        accept_rewrite=True,
    )
    refused(found, RepositoryCode.HISTORY_UNRELATED)


def test_refuses_when_main_was_rewritten(work: Work, refused: Any) -> None:
    work.lab.push()
    shipped(work.ship(work.head))
    lab = work.lab
    lab.git("checkout", "-q", "-B", "rewrite", work.before)
    lab.git("commit", "-q", "--amend", "-m", "elsewhere")
    lab.push("--force")
    refused(work.ship(work.head), RepositoryCode.MAIN_REWRITTEN)


def test_the_persons_diff_settings_play_no_part(work: Work) -> None:
    lab = work.lab
    marker = lab.root / "marker"
    tool = lab.root / "tool.sh"
    tool.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    tool.chmod(0o755)
    lab.git("config", "diff.external", str(tool))
    lab.git("config", "diff.x.textconv", str(tool))
    lab.git("config", "diff.noprefix", "true")
    (lab.host / ".git/info").mkdir(exist_ok=True)
    (lab.host / ".git/info/attributes").write_text("*.py diff=x\n")
    lab.push()
    seen = shipped(work.ship(work.head))
    assert not marker.exists()
    lab.git("config", "--unset", "diff.external")
    lab.git("config", "--unset", "diff.noprefix")
    (lab.host / ".git/info/attributes").unlink()
    assert seen.patch_id == shipped_patch(lab, work)


def test_a_head_too_large_to_diff_still_ships_by_its_name(lab: Any, refused: Any) -> None:
    repo = GitRepository(lab.host, git=Git(limits=GitLimits(output_bytes=4_000)))
    work = Work(lab, repo, {"big.txt": "line\n" * 2_000})
    lab.push()
    seen = shipped(work.ship(work.head))
    assert (seen.matched_by, seen.patch_id) == (MatchedBy.SHA, "")
    lab.git("commit", "-q", "--amend", "-m", "other name")
    lab.push("--force")
    other = lab.git("rev-parse", "HEAD")
    found = repo.observe_ship(
        other,
        reviewed_head=work.head,
        reviewed_base=work.before,
        main_before=work.before,
        accept_rewrite=True,
    )
    refused(found, RepositoryCode.OUTPUT_TOO_LARGE)


# A push after the approval.


def land(work: Work, *branches: str) -> ShipObservation | RepositoryRefusal:
    """Ship the reviewed head while the attempt's branches are looked at."""
    return work.repo.observe_ship(
        work.head,
        reviewed_head=work.head,
        reviewed_base=work.before,
        main_before=work.before,
        branches=branches,
    )


def push_more(work: Work, *, onto: str = "work") -> str:
    """A commit that nobody reviewed, on the attempt's branch on the remote."""
    more: str = work.lab.commit({"src/more.py": "y = 666\n"})
    work.lab.git("push", "-q", "origin", f"HEAD:refs/heads/{onto}")
    return more


def test_a_push_after_the_approval_is_seen_wherever_it_landed(work: Work, refused: Any) -> None:
    work.lab.push()
    shipped(land(work, "work"))
    more = push_more(work)
    refs = work.lab.refs()
    for names in (("work",), ("other", "work"), ("main", "work", "-x", "a..b")):
        found = refused(land(work, *names), RepositoryCode.BRANCH_MOVED)
        assert (found.details["branch"], found.details["head"]) == ("work", more)
    assert work.lab.refs() == refs  # what was fetched to compare left no ref
    shipped(land(work))
    shipped(land(work, "other", "main", "", "-x"))
    work.lab.git("push", "-q", "origin", "HEAD:main")
    refused(land(work, "work"), RepositoryCode.BRANCH_MOVED)
    work.lab.git("push", "-q", "--force", "origin", f"{work.head}:refs/heads/work")
    shipped(land(work, "work"))
    work.lab.git("push", "-q", "origin", ":refs/heads/work")
    shipped(land(work, "work"))


def test_a_branch_that_lags_or_was_rebased_brings_nothing_new(work: Work, refused: Any) -> None:
    lab = work.lab
    lab.git("push", "-q", "origin", f"{work.head}~1:refs/heads/work")
    lab.push()
    shipped(land(work, "work"))
    lab.git("checkout", "-q", "-b", "again", work.before)
    lab.git("cherry-pick", "--no-commit", f"{work.before}..{work.head}")
    lab.git("commit", "-q", "-m", "the same in one")
    lab.git("push", "-q", "--force", "origin", "HEAD:refs/heads/work")
    shipped(land(work, "work"))
    lab.git("checkout", "-q", "--orphan", "nothing-in-common")
    lab.git("commit", "-q", "--allow-empty", "-m", "another root")
    lab.git("push", "-q", "--force", "origin", "HEAD:refs/heads/work")
    refused(land(work, "work"), RepositoryCode.BRANCH_MOVED)


def test_a_commit_that_only_another_clone_has_is_fetched_to_be_compared(
    work: Work, refused: Any
) -> None:
    lab = work.lab
    lab.push()
    lab.git("pull", "-q", "origin", "main", cwd=work.other)
    more = lab.commit({"src/more.py": "y = 9\n"}, cwd=work.other)
    lab.git("push", "-q", "origin", "HEAD:refs/heads/work", cwd=work.other)
    found = refused(land(work, "work"), RepositoryCode.BRANCH_MOVED)
    assert found.details["head"] == more
