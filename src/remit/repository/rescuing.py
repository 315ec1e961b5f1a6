"""Rescuing: what a guest changed and never committed becomes a commit of the host's.

The guest's clone may name programs in its settings, so no git runs in it. A repository of remit's own
borrows its objects, reads its work tree as plain files into an index of its own, and makes the commit;
the host then takes that by its name, as it takes any other. Links stay links, and pipes and devices are
passed over, as git does.

A repository within the clone is passed over as well: `git add` asks whether one is clean by running git in
it, under settings that the guest wrote. So nothing is added but files and links that were looked at here,
one by one, by what neither looks into another repository nor runs anything.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, attempt_ref
from remit.machine.git import GitRun
from remit.repository import clones, guests
from remit.repository.host import Host
from remit.repository.laying import borrow, new_repository

_IDENTITY = {
    "GIT_AUTHOR_NAME": "remit",
    "GIT_AUTHOR_EMAIL": "remit@localhost",
    "GIT_COMMITTER_NAME": "remit",
    "GIT_COMMITTER_EMAIL": "remit@localhost",
}


def keep_changes(
    host: Host, clone_dir: Path, head: str, attempt_id: str
) -> str | RepositoryRefusal:
    """Keep changes as a commit on `head`; see `GitRepository.keep_changes`."""
    operation = f"keep changes of {attempt_id}"
    objects = guests.guest_objects(host, clone_dir)
    if isinstance(objects, str):
        return RepositoryRefusal(
            RepositoryCode.TAKEOVER_FAILED,
            f"{operation}: {objects}",
            "look at the clone; what it holds is kept as it is",
            {"path": str(clone_dir)},
        )
    with tempfile.TemporaryDirectory(prefix="remit-rescue-") as name:
        staging = Path(name)
        made = new_repository(host, staging, operation)
        if made is not None:
            return made
        borrow(staging / ".git" / "objects", objects)
        guests.distrust(staging, clone_dir.resolve())
        commit = _committed(host, clone_dir, staging, head, attempt_id, operation)
        if isinstance(commit, RepositoryRefusal) or not commit:
            return commit
        ref = attempt_ref(attempt_id, f"rescue/{commit}")
        fetched = host.run(
            clones.fetch_args(str(staging / ".git"), f"{commit}:{ref}"), operation, network=True
        )
        if isinstance(fetched, RepositoryRefusal):
            return fetched
    return host.keep_refs(commit, operation, ref) or commit


def _committed(
    host: Host, clone_dir: Path, staging: Path, head: str, attempt_id: str, operation: str
) -> str | RepositoryRefusal:
    """Commit the work tree in the staging repository; empty where it is that of the head."""

    def run(
        *args: str, env: dict[str, str] | None = None, stdin: bytes = b""
    ) -> GitRun | RepositoryRefusal:
        return host.git.run(
            args,
            cwd=clone_dir,
            operation=operation,
            git_dir=staging / ".git",
            network=True,
            extra=env,
            stdin=stdin,
        )

    for step in (("update-ref", "--no-deref", "HEAD", head), ("read-tree", head)):
        done = run(*step)
        if isinstance(done, RepositoryRefusal):
            return done
    listed = run("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
    within = run("ls-files", "-z", "--stage")
    for found in (listed, within):
        if isinstance(found, RepositoryRefusal):
            return found
    assert isinstance(listed, GitRun)
    assert isinstance(within, GitRun)
    gone, there = _sorted(clone_dir, listed.stdout, within.stdout)
    for option, paths in (("--force-remove", gone), ("--replace", there)):
        done = run("update-index", "--add", option, "-z", "--stdin", stdin=_joined(paths))
        if isinstance(done, RepositoryRefusal):
            return done
    tree = run("write-tree")
    before = run("rev-parse", "--verify", f"{head}^{{tree}}")
    for found in (tree, before):
        if isinstance(found, RepositoryRefusal):
            return found
    assert isinstance(tree, GitRun)
    assert isinstance(before, GitRun)
    if tree.text == before.text:
        return ""
    said = f"Kept by remit: what {attempt_id} left uncommitted"
    made = run("commit-tree", "-p", head, "-m", said, tree.text, env=_IDENTITY)
    return made if isinstance(made, RepositoryRefusal) else made.text


def _sorted(clone_dir: Path, listed: bytes, within: bytes) -> tuple[list[bytes], list[bytes]]:
    """Paths that are gone, and those that are files or links now; repositories within are in neither."""
    entries = (entry.partition(b"\t") for entry in within.split(b"\0") if entry)
    repositories = {path for mode, _, path in entries if mode.startswith(b"160000 ")}
    gone: list[bytes] = []
    there: list[bytes] = []
    for path in dict.fromkeys(listed.split(b"\0")):
        if path and not path.endswith(b"/") and path not in repositories:
            (there if _plain(clone_dir, path) else gone).append(path)
    return gone, there


def _plain(clone_dir: Path, path: bytes) -> bool:
    """Whether a path is a file or a link, and no link leads to it."""
    found = clone_dir / os.fsdecode(path)
    for folder in found.parents:
        if folder == clone_dir:
            break
        if folder.is_symlink():
            return False
    try:
        mode = found.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _joined(paths: list[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
