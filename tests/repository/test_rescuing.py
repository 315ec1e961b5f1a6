"""What a guest left uncommitted is kept as a commit of the host's, and nothing of the guest's runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.surfaces.cli.calling import IDENTITY, git

from remit.core.gitfacts import RepositoryRefusal
from remit.repository.repository import GitRepository


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "origin.git")
    git(tmp_path, "clone", "-q", "origin.git", "work")
    found = tmp_path / "work"
    git(found, "checkout", "-q", "-b", "main")
    (found / "kept.txt").write_text("first\n")
    (found / ".gitignore").write_text("ignored\n")
    git(found, "add", ".")
    git(found, "commit", "-q", "-m", "first")
    git(found, "push", "-q", "origin", "main")
    return found


def cloned(work: Path) -> tuple[GitRepository, Path, str]:
    repository = GitRepository(work)
    clone = work.parent / "clone"
    made = repository.make_clone("A-1.1", clone, "remit/A-1.1")
    assert not isinstance(made, RepositoryRefusal), made
    return repository, clone, made.base_sha


def test_changes_are_kept_and_the_guest_s_settings_run_nothing(work: Path) -> None:
    repository, clone, base = cloned(work)
    mark = work.parent / "mark"
    hook = f"#!/bin/sh\ntouch {mark}\n"
    for name in ("pre-commit", "post-commit", "post-index-change"):
        (clone / ".git" / "hooks").mkdir(exist_ok=True)
        (clone / ".git" / "hooks" / name).write_text(hook)
        (clone / ".git" / "hooks" / name).chmod(0o755)
    with (clone / ".git" / "config").open("a") as config:
        config.write(
            f'\n[filter "evil"]\n\tclean = touch {mark}\n\tsmudge = touch {mark}\n'
            f"[core]\n\tfsmonitor = touch {mark}\n\thooksPath = .git/hooks\n"
        )
    (clone / ".gitattributes").write_text("* filter=evil\n")
    (clone / "kept.txt").write_text("second\n")
    (clone / "new.txt").write_text("new\n")
    (clone / "ignored").write_text("no\n")
    (clone / "link").symlink_to("/etc/hostname")
    os.mkfifo(clone / "pipe")
    found = repository.keep_changes(clone, base, "A-1.1")
    assert isinstance(found, str), found
    assert not mark.exists()
    ref = f"refs/remit/attempts/A-1.1/rescue/{found}"
    assert git(work, "rev-parse", ref) == found
    assert git(work, "rev-parse", f"{found}^") == base
    tree = git(work, "ls-tree", "-r", "--name-only", found).splitlines()
    assert sorted(tree) == [".gitattributes", ".gitignore", "kept.txt", "link", "new.txt"]
    assert git(work, "show", f"{found}:kept.txt") == "second"
    assert git(work, "ls-tree", found, "link").startswith("120000 ")


def test_an_unchanged_tree_leaves_nothing(work: Path) -> None:
    repository, clone, base = cloned(work)
    assert repository.keep_changes(clone, base, "A-1.1") == ""
    assert git(work, "for-each-ref", "refs/remit/attempts/A-1.1/rescue") == ""


def test_a_clone_whose_objects_lead_elsewhere_is_not_read(work: Path) -> None:
    repository, clone, base = cloned(work)
    info = clone / ".git" / "objects" / "info"
    info.mkdir(exist_ok=True)
    (info / "alternates").write_text("/somewhere/else\n")
    found = repository.keep_changes(clone, base, "A-1.1")
    assert isinstance(found, RepositoryRefusal)
    assert found.code.value == "TAKEOVER_FAILED"


def test_whatever_took_the_place_of_a_file_is_kept_as_git_would(work: Path) -> None:
    for name in ("linked/a.txt", "folder", "piped", "gone", "changed"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(f"{name}\n")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "more")
    git(work, "push", "-q", "origin", "main")
    repository, clone, base = cloned(work)
    outside = work.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("of the host\n")
    (clone / "linked" / "a.txt").unlink()
    (clone / "linked").rmdir()
    (clone / "linked").symlink_to(outside)
    (clone / "folder").unlink()
    (clone / "folder").mkdir()
    (clone / "folder" / "new").write_text("new\n")
    (clone / "piped").unlink()
    os.mkfifo(clone / "piped")
    os.mkfifo(clone / "another")
    (clone / "gone").unlink()
    (clone / "changed").write_text("changed\n")
    (clone / "odd\nname").write_text("odd\n")
    kept = repository.keep_changes(clone, base, "A-1.1")
    assert isinstance(kept, str), kept
    names = git(work, "ls-tree", "-r", "-z", "--name-only", kept).split("\0")
    assert sorted(name for name in names if name) == [
        ".gitignore", "changed", "folder/new", "kept.txt", "linked", "odd\nname",
    ]  # fmt: skip
    assert git(work, "cat-file", "-p", f"{kept}:linked") == str(outside)
    assert git(work, "cat-file", "-p", f"{kept}:changed") == "changed"
