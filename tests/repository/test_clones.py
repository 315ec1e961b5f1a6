"""Clones, take-overs and clean checkouts against hostile repositories."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from remit.core.gitfacts import (
    CheckoutMade,
    CloneMade,
    ObjectSharing,
    RepositoryCode,
    Takeover,
)
from remit.repository import GitRepository


def cloned(lab: Any, repo: GitRepository, name: str = "clone", **more: Any) -> Path:
    made = repo.make_clone("W-1.1", lab.root / name, "remit/W-1", **more)
    assert isinstance(made, CloneMade), made
    return Path(made.path)


def files_of(path: Path) -> list[Path]:
    return [p for p in path.rglob("*") if p.is_file() and not p.is_symlink()]


# --- clones ---------------------------------------------------------------------------------


def test_a_clone_stands_on_its_own_branch_at_main(lab: Any, repo: GitRepository) -> None:
    head = lab.git("rev-parse", "HEAD")
    made = repo.make_clone("W-1.1", lab.root / "clone", "remit/W-1")
    assert made == CloneMade(
        path=str(lab.root / "clone"),
        branch="remit/W-1",
        base_sha=head,
        origin_url=str(lab.origin),
        base_ref="refs/remit/attempts/W-1.1/base",
        sharing=ObjectSharing.OWN,
    )
    clone = lab.root / "clone"
    assert lab.git("symbolic-ref", "HEAD", cwd=clone) == "refs/heads/remit/W-1"
    assert lab.git("status", "--porcelain", cwd=clone) == ""
    assert lab.refs(clone) == {
        "refs/heads/remit/W-1": head,
        "refs/remotes/origin/main": head,
    }
    assert lab.refs()["refs/remit/attempts/W-1.1/base"] == head
    lab.git("fsck", "--full", "--strict", cwd=clone)


def test_the_base_is_observed_freshly(lab: Any, repo: GitRepository) -> None:
    new = lab.commit({"b.txt": "b"}, cwd=lab.other())
    lab.push(cwd=lab.root / "other")
    assert lab.git("rev-parse", "HEAD", cwd=cloned(lab, repo)) == new


def test_an_agent_can_push_from_it_by_plain_git(lab: Any, repo: GitRepository) -> None:
    clone = cloned(lab, repo)
    head = lab.commit({"c.txt": "c"}, cwd=clone)
    lab.git("push", "-q", "origin", "HEAD:main", cwd=clone)
    assert lab.git("rev-parse", "main", cwd=lab.origin) == head


def test_a_clone_shares_no_file_with_the_host(lab: Any, repo: GitRepository) -> None:
    lab.git("gc", "-q")
    clone = cloned(lab, repo)
    assert all(path.stat().st_nlink == 1 for path in files_of(clone))
    host = {path.stat().st_ino for path in files_of(lab.host)}
    assert host.isdisjoint(path.stat().st_ino for path in files_of(clone))
    assert not (clone / ".git/objects/info/alternates").exists()


def test_a_clone_sees_only_mains_history(lab: Any, repo: GitRepository) -> None:
    lab.git("checkout", "-q", "-b", "private")
    secret = lab.commit({"secret.txt": "secret"})
    lab.git("tag", "private-tag")
    clone = cloned(lab, repo)
    assert lab.git("cat-file", "-t", secret, cwd=clone, ok=False) == ""


def test_a_clone_has_no_hooks_and_runs_none(
    lab: Any, repo: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, template = lab.root / "marker", lab.root / "template"
    for folder in (template / "hooks", lab.host / ".git" / "hooks"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "post-index-change"):
            (folder / name).write_text(f"#!/bin/sh\ntouch '{marker}'\n")
            (folder / name).chmod(0o755)
    lab.git("config", "--global", "init.templateDir", str(template))
    lab.git("config", "--global", "core.hooksPath", str(template / "hooks"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(template))
    clone = cloned(lab, repo)
    assert not marker.exists()
    assert not (clone / ".git" / "hooks").exists()


def test_a_clone_holds_no_credentials(lab: Any, repo: GitRepository) -> None:
    lab.git("config", "--global", f"url.{lab.origin}.insteadOf", "https://h.example/r.git")
    lab.git("config", "credential.helper", "store --file=/tmp/x")
    lab.git("config", "http.extraHeader", "Authorization: s3cret")
    lab.git("remote", "set-url", "origin", f"file://ada:s3cret@{lab.origin}")
    lab.git("remote", "set-url", "origin", "https://h.example/r.git")
    clone = cloned(lab, repo)
    config = (clone / ".git/config").read_text()
    for word in ("s3cret", "credential", "extraHeader", "helper"):
        assert word not in config
    assert all(b"s3cret" not in path.read_bytes() for path in files_of(clone / ".git"))


def test_a_borrowed_clone_is_small_and_survives_gc(lab: Any, repo: GitRepository) -> None:
    lab.commit({"big.bin": os.urandom(300_000)})
    lab.push()
    own = cloned(lab, repo, "own")
    borrowed = cloned(lab, repo, "borrowed", sharing=ObjectSharing.BORROWED)
    size = {p: sum(f.stat().st_size for f in files_of(p / ".git")) for p in (own, borrowed)}
    assert size[borrowed] < 100_000 < size[own]
    lab.git("checkout", "-q", "--orphan", "empty")
    lab.git("branch", "-D", "main")
    lab.git("update-ref", "-d", "refs/remotes/origin/main")
    lab.git("update-ref", "-d", "refs/remit/observed/origin/main")
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("rm", "-rqf", "--cached", ".")
    lab.git("gc", "-q", "--prune=now")
    lab.git("fsck", "--full", cwd=borrowed)


def test_refuses_a_directory_in_use(lab: Any, repo: GitRepository, refused: Any) -> None:
    full, link, file = lab.root / "full", lab.root / "link", lab.root / "file"
    full.mkdir()
    (full / "keep.txt").write_text("keep")
    (lab.root / "target").mkdir()
    link.symlink_to(lab.root / "target")
    file.write_text("x")
    for place in (full, link, file, lab.root / "no" / "parent"):
        refused(repo.make_clone("W-1", place, "work"), RepositoryCode.DIRECTORY_IN_USE)
    assert (full / "keep.txt").read_text() == "keep"
    (lab.root / "empty").mkdir()
    assert isinstance(repo.make_clone("W-1", lab.root / "empty", "work"), CloneMade)


def test_refuses_branches_and_attempts_that_cannot_be_names(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    place = lab.root / "c"
    for branch in ("main", "-b", "a..b", "a/.b", "x.lock", "a b", "", "HEAD", "a//b", "x" * 300):
        refused(repo.make_clone("W-1", place, branch), RepositoryCode.BAD_NAME)
    for attempt in ("", "a b", "x" * 129, "a\n", "é"):
        refused(repo.make_clone(attempt, place, "work"), RepositoryCode.BAD_NAME)
    assert not place.exists()


def test_odd_attempt_ids_have_refs_of_their_own(lab: Any, repo: GitRepository) -> None:
    odd = ["W-1/2", "W-1:2", "W-1%2F2", "-x", "../x", "a..b", "a@{0}", "x.lock"]
    for number, attempt in enumerate(odd):
        made = repo.make_clone(attempt, lab.root / f"c{number}", "work")
        assert isinstance(made, CloneMade), made
        assert made.base_ref in lab.refs()
    assert len([r for r in lab.refs() if r.startswith("refs/remit/attempts/")]) == len(odd)


def test_a_failed_clone_leaves_nothing(
    lab: Any, repo: GitRepository, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.repository import clones

    monkeypatch.setattr(clones, "fetch_args", lambda source, spec: ["fetch", "--no-such-option"])
    refused(repo.make_clone("W-1", lab.root / "c", "work"), RepositoryCode.CLONE_FAILED)
    assert not (lab.root / "c").exists()


# --- take-overs -----------------------------------------------------------------------------


def test_a_clone_that_finds_no_room_is_refused_and_goes(
    lab: Any, repo: GitRepository, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.repository import clones

    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(clones, "new_repository", full)
    refused(repo.make_clone("W-1", lab.root / "c", "work"), RepositoryCode.CLONE_FAILED)
    assert not (lab.root / "c").exists()


def test_takes_commits_over_by_exact_name(lab: Any, repo: GitRepository) -> None:
    clone = cloned(lab, repo)
    base = lab.git("rev-parse", "HEAD", cwd=clone)
    one = lab.commit({"one.txt": "1"}, cwd=clone)
    two = lab.commit({"two.txt": "2"}, cwd=clone)
    lab.git("reset", "-q", "--hard", base, cwd=clone)  # no ref of the clone names it any more
    taken = repo.take_over(clone, two, "W-1.1")
    assert isinstance(taken, Takeover), taken
    assert (taken.head_sha, taken.base_sha, taken.main_sha) == (two, base, base)
    assert taken.commits == (one, two)
    assert taken.commits_truncated is False
    assert taken.ref == "refs/remit/attempts/W-1.1/head"
    assert taken.tree == lab.git("rev-parse", f"{two}^{{tree}}")
    assert lab.refs()[taken.ref] == two


def test_what_was_taken_over_survives_every_clean_up(lab: Any, repo: GitRepository) -> None:
    clone = cloned(lab, repo)
    first = lab.commit({"one.txt": "1"}, cwd=clone)
    assert isinstance(repo.take_over(clone, first, "W-1.1"), Takeover)
    lab.git("commit", "-q", "--amend", "-m", "again", cwd=clone)
    second = lab.git("rev-parse", "HEAD", cwd=clone)
    assert isinstance(repo.take_over(clone, second, "W-1.1"), Takeover)
    lab.git("fetch", "-q", "--prune", "--prune-tags", "origin")
    lab.git("remote", "prune", "origin")
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    for sha in (first, second):
        assert lab.git("cat-file", "-t", sha) == "commit"
    assert lab.refs()["refs/remit/attempts/W-1.1/head"] == second


def test_a_commit_made_in_place_needs_no_clone(lab: Any, repo: GitRepository) -> None:
    repo.observe_main()
    lab.git("checkout", "-q", "-b", "mine")
    head = lab.commit({"m.txt": "m"})
    taken = repo.take_over(None, head, "W-2.1")
    assert isinstance(taken, Takeover)
    assert taken.commits == (head,)
    same = repo.take_over(lab.host, head, "W-2.1")
    assert same == taken


def test_what_was_made_in_place_is_kept_too(lab: Any, repo: GitRepository) -> None:
    repo.observe_main()
    lab.git("checkout", "-q", "-b", "mine")
    first = lab.commit({"m.txt": "m"})
    assert isinstance(repo.take_over(None, first, "W-2.1"), Takeover)
    lab.git("commit", "-q", "--amend", "-m", "again")
    second = lab.git("rev-parse", "HEAD")
    assert isinstance(repo.take_over(None, second, "W-2.1"), Takeover)
    lab.git("reflog", "expire", "--expire=now", "--all")
    lab.git("gc", "-q", "--prune=now")
    assert lab.git("cat-file", "-t", first) == "commit"


def test_a_head_with_nothing_new_is_a_fact(lab: Any, repo: GitRepository) -> None:
    clone = cloned(lab, repo)
    head = lab.git("rev-parse", "HEAD", cwd=clone)
    taken = repo.take_over(clone, head, "W-1.1")
    assert isinstance(taken, Takeover)
    assert (taken.commits, taken.base_sha) == ((), head)


def test_a_head_that_was_pushed_first_has_the_base_that_main_had(
    lab: Any, repo: GitRepository
) -> None:
    clone = cloned(lab, repo)
    base = lab.git("rev-parse", "HEAD", cwd=clone)
    head = lab.commit({"w.txt": "w"}, cwd=clone)
    lab.push(cwd=clone)
    repo.observe_main()
    taken = repo.take_over(clone, head, "W-1.1")
    assert isinstance(taken, Takeover)
    assert (taken.commits, taken.base_sha) == ((head,), base)


def test_what_others_landed_before_a_head_that_was_pushed_first_is_not_its_change(
    lab: Any, repo: GitRepository
) -> None:
    cloned(lab, repo)
    other = lab.other()
    theirs = lab.commit({"o.txt": "o"}, cwd=other)
    lab.push(cwd=other)
    lab.git("pull", "-q", "origin", "main")
    head = lab.commit({"m.txt": "m"})
    lab.push()
    repo.observe_main()
    taken = repo.take_over(None, head, "W-1.1")
    assert isinstance(taken, Takeover)
    assert (taken.commits, taken.base_sha) == ((head,), theirs)


def test_the_mains_that_were_observed_are_remembered(lab: Any, repo: GitRepository) -> None:
    cloned(lab, repo)
    other = lab.other()
    theirs = lab.commit({"o.txt": "o"}, cwd=other)
    lab.push(cwd=other)
    repo.observe_main()
    head = lab.commit({"p.txt": "p"}, cwd=other)
    lab.push(cwd=other)
    repo.observe_main()
    taken = repo.take_over(other, head, "W-1.1")
    assert isinstance(taken, Takeover)
    assert (taken.commits, taken.base_sha) == ((head,), theirs)


def test_the_list_of_commits_is_bounded(
    lab: Any, repo: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from remit.repository import clones

    monkeypatch.setattr(clones, "COMMIT_LIMIT_COUNT", 2)
    clone = cloned(lab, repo)
    made = [lab.commit({}, cwd=clone, say=str(number)) for number in range(3)]
    taken = repo.take_over(clone, made[-1], "W-1.1")
    assert isinstance(taken, Takeover)
    assert taken.commits == tuple(made[1:])
    assert taken.commits_truncated is True


def test_no_hook_or_program_of_the_guest_runs(lab: Any, repo: GitRepository) -> None:
    clone = cloned(lab, repo)
    marker = lab.root / "marker"
    tool = lab.root / "tool.sh"
    tool.write_text(f"#!/bin/sh\ntouch '{marker}'\nexec \"$@\"\n")
    tool.chmod(0o755)
    head = lab.commit({"one.txt": "1"}, cwd=clone)
    hooks = clone / ".git" / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "reference-transaction", "pre-auto-gc", "post-update"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{marker}'\n")
        (hooks / name).chmod(0o755)
    settings = ["core.fsmonitor", "uploadpack.packObjectsHook", "core.sshCommand"]
    for name in [*settings, "core.alternateRefsCommand", "core.gitProxy", "diff.external"]:
        lab.git("config", name, str(tool), cwd=clone)
    assert isinstance(repo.take_over(clone, head, "W-1.1"), Takeover)
    assert not marker.exists()


def test_refuses_a_take_over_before_main_was_observed(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    head = lab.git("rev-parse", "HEAD")
    refused(repo.take_over(None, head, "W-1"), RepositoryCode.MAIN_UNOBSERVED)


def test_refuses_what_the_clone_does_not_hold(lab: Any, repo: GitRepository, refused: Any) -> None:
    clone = cloned(lab, repo)
    refused(repo.take_over(clone, "1" * 40, "W-1"), RepositoryCode.COMMIT_ABSENT)
    refused(repo.take_over(None, "1" * 40, "W-1"), RepositoryCode.COMMIT_ABSENT)
    refused(repo.take_over(clone, "HEAD", "W-1"), RepositoryCode.BAD_SHA)
    lab.commit({"t/x": "x"}, cwd=clone)
    tree = lab.git("rev-parse", "HEAD^{tree}", cwd=clone)
    refused(repo.take_over(clone, tree, "W-1"), RepositoryCode.NOT_A_COMMIT)


def test_refuses_a_guest_that_is_no_plain_clone(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    clone = cloned(lab, repo)
    head = lab.commit({"one.txt": "1"}, cwd=clone)
    linked = lab.root / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(clone / ".git")
    pointing = lab.root / "pointing"
    pointing.mkdir()
    (pointing / ".git").write_text(f"gitdir: {clone}/.git\n")
    for place in (linked, pointing, lab.root / "nowhere", lab.root / "home"):
        refused(repo.take_over(place, head, "W-1"), RepositoryCode.TAKEOVER_FAILED)
    assert isinstance(repo.take_over(clone, head, "W-1"), Takeover)


def test_refuses_a_guest_whose_objects_lie_elsewhere(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    clone = cloned(lab, repo)
    secret = lab.root / "secret"
    lab.git("init", "-q", str(secret))
    stolen = lab.commit({"key": "key"}, cwd=secret)
    alternates = clone / ".git/objects/info/alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{secret}/.git/objects\n")
    found = refused(repo.take_over(clone, stolen, "W-1"), RepositoryCode.TAKEOVER_FAILED)
    assert "alternates" in found.message
    alternates.unlink()
    os.mkfifo(alternates)
    refused(repo.take_over(clone, stolen, "W-1"), RepositoryCode.TAKEOVER_FAILED)
    assert stolen not in lab.refs().values()


def test_a_borrowed_clone_can_be_taken_over(lab: Any, repo: GitRepository) -> None:
    clone = cloned(lab, repo, sharing=ObjectSharing.BORROWED)
    head = lab.commit({"one.txt": "1"}, cwd=clone)
    assert isinstance(repo.take_over(clone, head, "W-1.1"), Takeover)


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a directory away needs root")
def test_a_clone_of_another_user_can_be_taken_over(lab: Any, repo: GitRepository) -> None:
    clone = cloned(lab, repo)
    head = lab.commit({"one.txt": "1"}, cwd=clone)
    for path in sorted((clone, *clone.rglob("*")), reverse=True):
        os.chown(path, 65_534, 65_534, follow_symlinks=False)
    assert isinstance(repo.take_over(clone, head, "W-1.1"), Takeover)


def test_refuses_objects_that_fail_fsck(lab: Any, repo: GitRepository, refused: Any) -> None:
    clone = cloned(lab, repo)
    blob = lab.git("hash-object", "-w", "a.txt", cwd=clone)
    raw = b"100644 .git\0" + bytes.fromhex(blob)
    (lab.root / "tree").write_bytes(raw)
    tree = lab.git(
        "hash-object", "-t", "tree", "-w", "--literally", str(lab.root / "tree"), cwd=clone
    )
    head = lab.git("commit-tree", "-p", "HEAD", "-m", "bad", tree, cwd=clone)
    refused(repo.take_over(clone, head, "W-1"), RepositoryCode.TAKEOVER_FAILED)
    assert lab.git("cat-file", "-t", head, ok=False) == ""
    assert not [ref for ref in lab.refs() if ref.endswith((head, "/head"))]


def test_refuses_missing_objects(lab: Any, repo: GitRepository, refused: Any) -> None:
    clone = cloned(lab, repo)
    head = lab.commit({"one.txt": "unique content"}, cwd=clone)
    blob = lab.git("rev-parse", "HEAD:one.txt", cwd=clone)
    (clone / ".git/objects" / blob[:2] / blob[2:]).unlink()
    refused(repo.take_over(clone, head, "W-1"), RepositoryCode.TAKEOVER_FAILED)


def test_refuses_history_unrelated_to_main(lab: Any, repo: GitRepository, refused: Any) -> None:
    clone = cloned(lab, repo)
    lab.git("checkout", "-q", "--orphan", "island", cwd=clone)
    head = lab.commit({"i": "i"}, cwd=clone)
    refused(repo.take_over(clone, head, "W-1"), RepositoryCode.HISTORY_UNRELATED)


# --- checkouts ------------------------------------------------------------------------------


def checked_out(lab: Any, repo: GitRepository, sha: str, name: str = "co") -> Path:
    made = repo.clean_checkout(sha, lab.root / name)
    assert isinstance(made, CheckoutMade), made
    assert made.sha == sha
    assert made.tree == lab.git("rev-parse", f"{sha}^{{tree}}")
    return Path(made.path)


def test_a_checkout_is_exactly_the_commit(lab: Any, repo: GitRepository) -> None:
    old = lab.git("rev-parse", "HEAD")
    lab.commit({"a.txt": "two\n", "new.txt": "n"})
    (lab.host / "untracked.txt").write_text("u")
    path = checked_out(lab, repo, old)
    assert sorted(p.name for p in path.iterdir()) == [".git", "a.txt", "src"]
    assert (path / "a.txt").read_text() == "one\n"
    assert lab.git("rev-parse", "HEAD", cwd=path) == old


def test_a_commit_made_in_a_checkout_reaches_nothing(lab: Any, repo: GitRepository) -> None:
    path = checked_out(lab, repo, lab.git("rev-parse", "HEAD"))
    refs = lab.refs()
    evil = lab.commit({"evil": "e"}, cwd=path)
    lab.git("update-ref", "refs/heads/main", evil, cwd=path)
    assert lab.refs() == refs
    assert lab.git("cat-file", "-t", evil, ok=False) == ""


def test_no_filter_or_hook_runs_at_checkout(lab: Any, repo: GitRepository) -> None:
    marker = lab.root / "marker"
    tool = lab.root / "tool.sh"
    tool.write_text(f"#!/bin/sh\ntouch '{marker}'\ncat\n")
    tool.chmod(0o755)
    sha = lab.commit({".gitattributes": "*.txt filter=evil\n", "f.txt": "text\n"})
    for scope in ("--global", "--local"):
        lab.git("config", scope, "filter.evil.smudge", str(tool))
        lab.git("config", scope, "filter.evil.process", str(tool))
        lab.git("config", scope, "filter.evil.required", "true")
    hook = lab.host / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    hook.chmod(0o755)
    path = checked_out(lab, repo, sha)
    assert not marker.exists()
    assert (path / "f.txt").read_text() == "text\n"


def test_hostile_names_links_and_submodules_are_checked_out_as_they_are(
    lab: Any, repo: GitRepository
) -> None:
    (lab.host / "out").symlink_to("/etc/passwd")
    (lab.host / "up").symlink_to("../..")
    raw = os.fsencode(lab.host) + b"/caf\xe9"
    with open(raw, "w") as file:
        file.write("bytes")
    lab.commit({"-rf": "dash", "new\nline": "nl", ".gitmodules": '[submodule "m"]\n\tpath = m\n'})
    head = lab.git("rev-parse", "HEAD")
    lab.git("update-index", "--add", "--cacheinfo", f"160000,{head},m")
    lab.git("commit", "-q", "-m", "submodule")
    path = checked_out(lab, repo, lab.git("rev-parse", "HEAD"))
    assert os.readlink(path / "out") == "/etc/passwd"
    assert (path / "-rf").read_text() == "dash"
    assert (path / "new\nline").read_text() == "nl"
    assert os.path.exists(os.fsencode(path) + b"/caf\xe9")
    assert list((path / "m").iterdir()) == []


def test_removes_what_a_command_left(lab: Any, repo: GitRepository) -> None:
    made = repo.clean_checkout(lab.git("rev-parse", "HEAD"), lab.root / "co")
    assert isinstance(made, CheckoutMade)
    shut = Path(made.path) / "shut"
    (shut / "deep").mkdir(parents=True)
    outside = lab.root / "outside"
    outside.mkdir()
    (outside / "keep").write_text("keep")
    (shut / "link").symlink_to(outside)
    (shut / "deep").chmod(0)
    shut.chmod(stat.S_IRUSR)
    Path(made.path).chmod(0)
    assert repo.remove_checkout(made) is None
    assert not Path(made.path).exists()
    assert (outside / "keep").exists()
    assert repo.remove_checkout(made) is None


def test_checkout_refusals(lab: Any, repo: GitRepository, refused: Any) -> None:
    head = lab.git("rev-parse", "HEAD")
    tree = lab.git("rev-parse", "HEAD^{tree}")
    place = lab.root / "co"
    refused(repo.clean_checkout("HEAD", place), RepositoryCode.BAD_SHA)
    refused(repo.clean_checkout("1" * 40, place), RepositoryCode.COMMIT_ABSENT)
    refused(repo.clean_checkout(tree, place), RepositoryCode.NOT_A_COMMIT)
    assert not place.exists()
    refused(repo.clean_checkout(head, lab.host), RepositoryCode.DIRECTORY_IN_USE)


def test_refuses_a_checkout_that_cannot_be_complete(
    lab: Any, repo: GitRepository, refused: Any
) -> None:
    sha = lab.commit({"lost.txt": "lost content"})
    blob = lab.git("rev-parse", "HEAD:lost.txt")
    (lab.host / ".git/objects" / blob[:2] / blob[2:]).unlink()
    found = repo.clean_checkout(sha, lab.root / "co")
    refused(found, RepositoryCode.REPOSITORY_CORRUPT)
    assert not (lab.root / "co").exists()
