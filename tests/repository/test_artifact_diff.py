"""Which paths a change touched, against a scope and expected artifacts."""

from __future__ import annotations

import os
from typing import Any

import pytest

from remit.core.gitfacts import ArtifactDiff, RepositoryCode
from remit.repository import Git, GitLimits, GitRepository, patches


def diff(repo: GitRepository, *args: Any) -> ArtifactDiff:
    found = repo.artifact_diff(*args)
    assert isinstance(found, ArtifactDiff), found
    return found


def test_changed_missing_and_out_of_scope(lab: Any, repo: GitRepository) -> None:
    base = lab.git("rev-parse", "HEAD")
    lab.git("mv", "a.txt", "moved.txt")
    head = lab.commit({"src/new.py": "n", "docs/x.md": "d"})
    found = diff(repo, base, head, ["src", "docs/**"], ["src/new.py", "src/app.py", "a.txt"])
    assert found.changed == ("a.txt", "docs/x.md", "moved.txt", "src/new.py")
    assert found.changed_count == 4
    assert found.out_of_scope == ("a.txt", "moved.txt")
    assert found.out_of_scope_count == 2
    assert found.missing_artifacts == ("src/app.py", "a.txt")  # unchanged; deleted
    assert found.truncated is False


def test_no_scope_covers_nothing(lab: Any, repo: GitRepository) -> None:
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({"src/new.py": "n"})
    assert diff(repo, base, head, [], []).out_of_scope == ("src/new.py",)
    assert diff(repo, base, head, ["**"], []).out_of_scope == ()


def test_hostile_names_are_told_apart(lab: Any, repo: GitRepository) -> None:
    base = lab.git("rev-parse", "HEAD")
    with open(os.fsencode(lab.host) + b"/caf\xe9", "w") as file:
        file.write("bytes")
    (lab.host / "out").symlink_to("/etc/passwd")
    head = lab.commit({"-x": "dash", "new\nline": "nl", "src/app.py\nA\0".strip("\0"): "trap"})
    found = diff(repo, base, head, ["src/app.py"], [])
    assert found.changed == ("-x", "caf\\xe9", "new\nline", "out", "src/app.py\nA")
    assert found.out_of_scope == found.changed
    head2 = lab.commit({"café": "text"})
    assert diff(repo, head, head2, ["caf*"], ["café"]).out_of_scope == ()


def test_lists_are_bounded_and_counts_exact(
    lab: Any, repo: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "PATH_LIMIT_COUNT", 3)
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({f"f{number}": "x" for number in range(5)})
    found = diff(repo, base, head, ["f0"], [])
    assert (len(found.changed), found.changed_count, found.truncated) == (3, 5, True)
    assert (len(found.out_of_scope), found.out_of_scope_count) == (3, 4)


def test_a_diff_over_the_bound_is_refused_not_cut(lab: Any, refused: Any) -> None:
    base = lab.git("rev-parse", "HEAD")
    head = lab.commit({f"{'long' * 20}{number}": "x" for number in range(40)})
    small = GitRepository(lab.host, git=Git(limits=GitLimits(output_bytes=1_000)))
    refused(small.artifact_diff(base, head, ["**"], []), RepositoryCode.OUTPUT_TOO_LARGE)


def test_refusals(lab: Any, repo: GitRepository, refused: Any) -> None:
    head = lab.git("rev-parse", "HEAD")
    refused(repo.artifact_diff("HEAD", head, [], []), RepositoryCode.BAD_SHA)
    refused(repo.artifact_diff(head, "2" * 40, [], []), RepositoryCode.COMMIT_ABSENT)
    tree = lab.git("rev-parse", "HEAD^{tree}")
    refused(repo.artifact_diff(head, tree, [], []), RepositoryCode.NOT_A_COMMIT)
