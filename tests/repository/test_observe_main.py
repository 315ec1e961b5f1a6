"""Observing main: what is seen, what is refused and why, and what is never touched."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from remit.core.gitfacts import MainObservation, RepositoryCode, RepositoryRefusal
from remit.repository import GitRepository

OBSERVED = "refs/remit/observed/origin/main"


def test_first_observation_names_the_remotes_main(lab: Any, repo: GitRepository) -> None:
    head = lab.git("rev-parse", "HEAD")
    assert repo.last_observed_main() is None
    seen = repo.observe_main()
    assert seen == MainObservation("origin", str(lab.origin), "refs/heads/main", head, None)
    assert lab.refs()[OBSERVED] == head
    assert repo.last_observed_main() == head


def test_second_observation_names_the_previous(lab: Any, repo: GitRepository) -> None:
    first = repo.observe_main()
    new = lab.commit({"b.txt": "b"}, cwd=lab.other())
    lab.push(cwd=lab.root / "other")
    seen = repo.observe_main()
    assert isinstance(seen, MainObservation)
    assert isinstance(first, MainObservation)
    assert (seen.main_sha, seen.previous_main_sha) == (new, first.main_sha)
    assert seen.rewritten is False
    same = repo.observe_main()
    assert isinstance(same, MainObservation)
    assert same.previous_main_sha == same.main_sha == new


def test_nothing_of_the_persons_moves(lab: Any, repo: GitRepository) -> None:
    other = lab.other()
    lab.commit({"b.txt": "b"}, cwd=other)
    lab.git("tag", "v1", cwd=other)
    lab.push("--tags", cwd=other)
    lab.git("config", "remote.origin.tagOpt", "--tags")
    lab.git("config", "fetch.prune", "true")
    lab.git("update-ref", "refs/remotes/origin/gone", "HEAD")
    before = {k: v for k, v in lab.refs().items() if not k.startswith("refs/remit/")}
    status = lab.git("status", "--porcelain")
    assert isinstance(repo.observe_main(), MainObservation)
    after = {k: v for k, v in lab.refs().items() if not k.startswith("refs/remit/")}
    assert after == before
    assert lab.git("status", "--porcelain") == status
    assert not (lab.host / ".git" / "FETCH_HEAD").exists()
    assert [ref for ref in lab.refs() if ref.startswith("refs/remit/")] == [OBSERVED]


def test_hooks_of_the_host_do_not_run(lab: Any, repo: GitRepository) -> None:
    marker = lab.root / "marker"
    hook = lab.host / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    hook.chmod(0o755)
    lab.git("update-ref", "refs/heads/shows-it-works", "HEAD")
    assert marker.exists()
    marker.unlink()
    assert isinstance(repo.observe_main(), MainObservation)
    assert not marker.exists()


def test_refuses_a_missing_repository(tmp_path: Path, refused: Any) -> None:
    (tmp_path / "plain").mkdir()
    for path in (tmp_path / "plain", tmp_path / "nowhere"):
        refused(GitRepository(path).observe_main(), RepositoryCode.REPOSITORY_MISSING)


def test_refuses_a_corrupt_repository(lab: Any, repo: GitRepository, refused: Any) -> None:
    (lab.host / ".git" / "HEAD").write_text("nonsense\n")
    refused(repo.observe_main(), RepositoryCode.REPOSITORY_CORRUPT)


def test_a_corrupt_repository_within_another_is_not_mistaken_for_it(lab: Any, refused: Any) -> None:
    inner = lab.host / "inner"
    lab.git("init", "-q", str(inner))
    (inner / ".git" / "HEAD").unlink()
    refused(GitRepository(inner).observe_main(), RepositoryCode.REPOSITORY_CORRUPT)


def test_refuses_a_damaged_history(lab: Any, repo: GitRepository, refused: Any) -> None:
    assert isinstance(repo.observe_main(), MainObservation)
    old = lab.git("rev-parse", "HEAD")
    other = lab.other()
    lab.commit({"b.txt": "b"}, cwd=other)
    middle = lab.commit({"c.txt": "c"}, cwd=other)
    lab.push(cwd=other)
    assert isinstance(repo.observe_main(), MainObservation)
    lab.git("update-ref", OBSERVED, old)
    for pack in (lab.host / ".git" / "objects" / "pack").glob("*"):
        pack.unlink()
    loose = lab.host / ".git" / "objects" / middle[:2] / middle[2:]
    if loose.exists():
        loose.chmod(0o644)
        loose.write_bytes(b"garbage")
    refused(repo.observe_main(), RepositoryCode.REPOSITORY_CORRUPT)


def test_refuses_a_missing_remote(lab: Any, repo: GitRepository, refused: Any) -> None:
    lab.git("remote", "remove", "origin")
    found = refused(repo.observe_main(), RepositoryCode.REMOTE_MISSING)
    assert "origin" in found.message


def test_refuses_an_unreachable_remote(lab: Any, repo: GitRepository, refused: Any) -> None:
    lab.git("remote", "set-url", "origin", str(lab.root / "gone.git"))
    refused(repo.observe_main(), RepositoryCode.REMOTE_UNREACHABLE)


def test_refuses_when_the_remote_goes_away_in_the_middle(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    seen = repo.observe_main()
    assert isinstance(seen, MainObservation)
    shutil.rmtree(lab.origin)
    refused(repo.observe_main(), RepositoryCode.REMOTE_UNREACHABLE)
    assert repo.last_observed_main() == seen.main_sha


def test_credentials_of_an_unreachable_remote_stay_out(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    lab.git("remote", "set-url", "origin", "http://ada:s3cret@127.0.0.1:9/x.git?token=t0ken")
    found = refused(repo.observe_main(), RepositoryCode.REMOTE_UNREACHABLE)
    assert "s3cret" not in repr(found)
    assert "t0ken" not in repr(found)


def test_refuses_an_absent_main(lab: Any, refused: Any) -> None:
    repo = GitRepository(lab.host, main="trunk")
    found = refused(repo.observe_main(), RepositoryCode.MAIN_ABSENT)
    assert found.details["ref"] == "refs/heads/trunk"


def test_refuses_an_empty_remote_as_absent_main(lab: Any, refused: Any) -> None:
    empty = lab.root / "empty.git"
    lab.git("init", "-q", "--bare", str(empty))
    lab.git("remote", "set-url", "origin", str(empty))
    refused(GitRepository(lab.host).observe_main(), RepositoryCode.MAIN_ABSENT)


def test_refuses_a_shallow_clone(lab: Any, refused: Any) -> None:
    lab.commit({"b.txt": "b"})
    lab.push()
    shallow = lab.root / "shallow"
    url = f"file://{lab.origin}"
    lab.git("clone", "-q", "--depth=1", url, str(shallow))
    repo = GitRepository(shallow)
    found = refused(repo.observe_main(), RepositoryCode.SHALLOW_CLONE)
    assert found.hint == "git fetch --unshallow"
    lab.git("fetch", "-q", "--unshallow", cwd=shallow)
    assert isinstance(repo.observe_main(), MainObservation)


def test_refuses_a_rewritten_main_until_it_is_accepted(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    first = repo.observe_main()
    assert isinstance(first, MainObservation)
    other = lab.other()
    lab.git("commit", "-q", "--amend", "-m", "rewritten", cwd=other)
    new = lab.git("rev-parse", "HEAD", cwd=other)
    lab.push("--force", cwd=other)
    for _ in range(2):  # it stays refused
        found = refused(repo.observe_main(), RepositoryCode.MAIN_REWRITTEN)
        assert found.details["previous_main_sha"] == first.main_sha
        assert found.details["main_sha"] == new
        assert lab.refs()[OBSERVED] == first.main_sha
    seen = repo.observe_main(accept_rewrite=True)
    assert isinstance(seen, MainObservation)
    assert seen.rewritten is True
    assert (seen.main_sha, seen.previous_main_sha) == (new, first.main_sha)
    lab.git("checkout", "-q", "--detach", new)
    lab.git("branch", "-D", "main")
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    assert lab.git("cat-file", "-t", first.main_sha) == "commit"


def test_a_replace_ref_does_not_hide_a_rewrite(lab: Any, repo: GitRepository, refused: Any) -> None:
    first = repo.observe_main()
    assert isinstance(first, MainObservation)
    other = lab.other()
    lab.git("commit", "-q", "--amend", "-m", "rewritten", cwd=other)
    new = lab.git("rev-parse", "HEAD", cwd=other)
    lab.push("--force", cwd=other)
    lab.git("fetch", "-q", str(other), "HEAD")
    lab.git("replace", "--graft", new, first.main_sha)
    assert lab.git("merge-base", first.main_sha, new) == first.main_sha
    refused(repo.observe_main(), RepositoryCode.MAIN_REWRITTEN)


def test_refuses_a_locked_ref(lab: Any, repo: GitRepository, refused: Any) -> None:
    assert isinstance(repo.observe_main(), MainObservation)
    lab.commit({"b.txt": "b"}, cwd=lab.other())
    lab.push(cwd=lab.root / "other")
    lock = lab.host / ".git" / f"{OBSERVED}.lock"
    lock.write_text("")
    refused(repo.observe_main(), RepositoryCode.REF_LOCKED)
    lock.unlink()
    assert isinstance(repo.observe_main(), MainObservation)


def test_refuses_names_that_git_could_misread(lab: Any, refused: Any) -> None:
    for name in ("-x", "--upload-pack=touch x", "a..b", "a b", "x.lock", "", "HEAD", "a@{1}"):
        refused(GitRepository(lab.host, remote=name).observe_main(), RepositoryCode.BAD_NAME)
        refused(GitRepository(lab.host, main=name).observe_main(), RepositoryCode.BAD_NAME)


def test_works_from_a_worktree_a_subdirectory_and_a_bare_repository(lab: Any) -> None:
    tree = lab.root / "tree"
    lab.git("worktree", "add", "-q", "--detach", str(tree))
    bare = lab.root / "bare.git"
    lab.git("clone", "-q", "--bare", str(lab.origin), str(bare))
    for path in (tree, lab.host / "src", bare):
        assert isinstance(GitRepository(path).observe_main(), MainObservation)
    assert OBSERVED in lab.refs()


def test_a_relative_remote_is_reported_absolute(lab: Any, repo: GitRepository) -> None:
    lab.git("remote", "set-url", "origin", "../origin.git")
    seen = repo.observe_main()
    assert isinstance(seen, MainObservation)
    assert seen.url == str(lab.origin)
    below = GitRepository(lab.host / "src").observe_main()
    assert isinstance(below, MainObservation)
    assert below.url == str(lab.origin)


def test_sha256_repositories_work(lab: Any) -> None:
    origin, host = lab.root / "o256.git", lab.root / "h256"
    lab.git("init", "-q", "--bare", "-b", "main", "--object-format=sha256", str(origin))
    lab.git("init", "-q", "-b", "main", "--object-format=sha256", str(host))
    lab.git("remote", "add", "origin", str(origin), cwd=host)
    head = lab.commit({"a": "a"}, cwd=host)
    lab.push(cwd=host)
    repo = GitRepository(host)
    seen = repo.observe_main()
    assert isinstance(seen, MainObservation)
    assert seen.main_sha == head
    made = repo.make_clone("A-1", lab.root / "c256", "work")
    assert getattr(made, "base_sha", made) == head


def test_observers_at_once_never_see_a_rewrite_that_was_none(lab: Any) -> None:
    other = lab.other()
    repo = GitRepository(lab.host)
    stop = threading.Event()
    seen: list[object] = []

    def watch() -> None:
        while not stop.is_set():
            seen.append(repo.observe_main())

    watchers = [threading.Thread(target=watch) for _ in range(3)]
    for watcher in watchers:
        watcher.start()
    for number in range(6):
        lab.commit({}, cwd=other, say=str(number))
        lab.push(cwd=other)
    stop.set()
    for watcher in watchers:
        watcher.join()
    refusals = {value.code for value in seen if isinstance(value, RepositoryRefusal)}
    assert refusals <= {RepositoryCode.REF_LOCKED}
    last = repo.observe_main()
    assert isinstance(last, MainObservation)
    assert last.main_sha == lab.git("rev-parse", "HEAD", cwd=other)
    assert [ref for ref in lab.refs() if ref.startswith("refs/remit/")] == [OBSERVED]


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a directory away needs root")
def test_refuses_a_repository_of_another_owner(lab: Any, refused: Any) -> None:
    repo = GitRepository(lab.host)
    for path in (lab.host, lab.host / ".git"):
        os.chown(path, 65_534, 65_534)
    found = refused(repo.observe_main(), RepositoryCode.REPOSITORY_UNTRUSTED)
    assert "safe.directory" in found.hint
