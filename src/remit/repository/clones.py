"""Clones for attempts, taking their commits over, and clean checkouts to verify in.

The guest is not trusted. Its clone holds its own copy of main's history: hard links would let it
write into the host's objects, and an alternates file would let it read all of them. It has no
hooks, credentials or settings of the person's; its `origin` is the remote's real URL stripped of
credentials, so that a plain `git push` works only where access exists.

The host never runs git inside a guest's repository, whose configuration could name programs. Its
object directory is attached to a fresh repository of remit's own, and commits are fetched from
there by exact name, checked by fsck on the way in.

A checkout has its own index and refs and borrows the host's objects, so that a command which runs
`git commit` or `git update-ref` in it reaches no ref of the host's. Only filters that a
configuration names could run code at checkout, and none is read.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from remit.core.gitfacts import (
    CheckoutMade,
    CloneMade,
    MainObservation,
    ObjectSharing,
    RepositoryCode,
    RepositoryRefusal,
    Takeover,
    attempt_ref,
)
from remit.machine.directories import claim_directory, remove_tree
from remit.machine.git import GitRun, failed
from remit.repository import guests
from remit.repository.before import main_before
from remit.repository.host import Host
from remit.repository.laying import borrow, ignore_attributes, new_repository, quoted
from remit.repository.remotes import Upstream

COMMIT_LIMIT_COUNT = 1_000
"""How many commits a `Takeover` lists at most."""


def make_clone(
    host: Host,
    main: MainObservation,
    attempt_id: str,
    directory: Path,
    branch: str,
    sharing: ObjectSharing,
) -> CloneMade | RepositoryRefusal:
    """Make an attempt's clone at an observed main; see `GitRepository.make_clone`."""
    operation = f"make clone for {attempt_id}"
    if refusal := claim_directory(directory, operation):
        return refusal
    base_ref = attempt_ref(attempt_id, "base")
    try:
        refusal = host.keep_refs(main.main_sha, operation, base_ref) or _fill_clone(
            host, main, directory, branch, sharing, operation
        )
    except OSError as error:
        refusal = failed(operation, str(error), "", RepositoryCode.CLONE_FAILED)
    if refusal is not None:
        remove_tree(directory)
        return refusal
    return CloneMade(str(directory), branch, main.main_sha, main.url, base_ref, sharing)


def _fill_clone(
    host: Host,
    main: MainObservation,
    directory: Path,
    branch: str,
    sharing: ObjectSharing,
    operation: str,
) -> RepositoryRefusal | None:
    name = main.ref.removeprefix("refs/heads/")
    tracking = f"refs/remotes/{main.remote}/{name}"
    ours = f"refs/heads/{branch}"
    if refusal := new_repository(host, directory, operation):
        return refusal
    git_dir = directory / ".git"
    with (git_dir / "config").open("ab") as file:
        file.write(os.fsencode(_settings(main, name, tracking, branch)))
    (git_dir / "HEAD").write_bytes(os.fsencode(f"ref: {ours}\n"))
    refs = f"create {ours} {main.main_sha}\n"
    if sharing is ObjectSharing.BORROWED:
        borrow(git_dir / "objects", host.common_dir / "objects")
        refs += f"create {tracking} {main.main_sha}\n"
    else:
        fetch = fetch_args(str(host.common_dir), f"{main.main_sha}:{tracking}")
        refusal = _step(host, directory, fetch, operation, RepositoryCode.CLONE_FAILED)
        if refusal is not None:
            return refusal
    made = host.git.run(
        ["update-ref", "--stdin"],
        cwd=directory,
        operation=operation,
        git_dir=git_dir,
        stdin=os.fsencode(refs),
    )
    if isinstance(made, RepositoryRefusal):
        return _as(made, RepositoryCode.CLONE_FAILED)
    reset = ["reset", "--quiet", "--hard", main.main_sha]
    return _step(host, directory, reset, operation, RepositoryCode.CLONE_FAILED)


def _settings(main: MainObservation, name: str, tracking: str, branch: str) -> str:
    """The settings of a clone: where it came from, and where its branch goes."""
    return (
        f"[remote {quoted(main.remote)}]\n"
        f"\turl = {quoted(main.url)}\n"
        f"\tfetch = {quoted(f'+refs/heads/{name}:{tracking}')}\n"
        f"[branch {quoted(branch)}]\n"
        f"\tremote = {quoted(main.remote)}\n"
        f"\tmerge = {quoted(f'refs/heads/{branch}')}\n"
    )


def fetch_args(source: str, refspec: str) -> list[str]:
    """The arguments that fetch exactly one thing, and nothing that a configuration adds."""
    args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
    return [*args, "--refmap=", "--end-of-options", source, refspec]


def _step(
    host: Host, directory: Path, args: list[str], operation: str, otherwise: RepositoryCode
) -> RepositoryRefusal | None:
    """Run git in the repository at `directory`."""
    git_dir = directory / ".git"
    done = host.git.run(args, cwd=directory, operation=operation, git_dir=git_dir, network=True)
    return _as(done, otherwise) if isinstance(done, RepositoryRefusal) else None


def _as(refusal: RepositoryRefusal, code: RepositoryCode) -> RepositoryRefusal:
    """Name a failure of git by what it was for; a cause on the host's side keeps its own code.

    A damaged object met while taking over is the guest's, so it is no damage of the host's.
    """
    blamed = {RepositoryCode.GIT_FAILED}
    if code is RepositoryCode.TAKEOVER_FAILED:
        blamed |= {RepositoryCode.REPOSITORY_CORRUPT, RepositoryCode.REPOSITORY_MISSING}
    if refusal.code not in blamed:
        return refusal
    return RepositoryRefusal(code, refusal.message, refusal.hint, refusal.details)


def take_over(
    host: Host, upstream: Upstream, clone_dir: Path | None, head: str, attempt_id: str
) -> Takeover | RepositoryRefusal:
    """Bring an attempt's head into the host; see `GitRepository.take_over`."""
    operation = f"take over {attempt_id}"
    main_sha = host.read_ref(upstream.observed_ref, operation)
    if isinstance(main_sha, RepositoryRefusal):
        return main_sha
    if main_sha is None:
        return RepositoryRefusal(
            RepositoryCode.MAIN_UNOBSERVED,
            f"{operation}: {upstream.remote_ref} of {upstream.remote!r} was never observed",
            "observe main first; the base of the change is computed against it",
            {"ref": upstream.observed_ref},
        )
    kept = attempt_ref(attempt_id, f"taken/{head}")
    refusal = _bring(host, clone_dir, head, kept, operation)
    refusal = refusal or host.require_commit(head, operation)
    ref = attempt_ref(attempt_id, "head")
    refusal = refusal or host.keep_refs(head, operation, kept, ref)
    if refusal is not None:
        return refusal
    base = host.merge_base(head, main_sha, operation)
    if isinstance(base, RepositoryRefusal):
        return base
    before = main_sha
    if base == head:
        landed_on = main_before(host, upstream, head, attempt_ref(attempt_id, "base"))
        if isinstance(landed_on, RepositoryRefusal):
            return landed_on
        before = base = landed_on or head
    listed = host.ask(
        ["rev-list", "--topo-order", f"--max-count={COMMIT_LIMIT_COUNT + 1}", head, f"^{before}"],
        operation,
    )
    if isinstance(listed, RepositoryRefusal):
        return listed
    tree = host.tree(head, operation)
    if isinstance(tree, RepositoryRefusal):
        return tree
    newest_first = listed.text.split()
    return Takeover(
        attempt_id=attempt_id,
        head_sha=head,
        base_sha=base,
        main_sha=main_sha,
        commits=tuple(reversed(newest_first[:COMMIT_LIMIT_COUNT])),
        commits_truncated=len(newest_first) > COMMIT_LIMIT_COUNT,
        ref=ref,
        tree=tree,
    )


def _bring(
    host: Host, clone_dir: Path | None, head: str, kept: str, operation: str
) -> RepositoryRefusal | None:
    """Fetch `head` from the guest where the host does not have it already."""
    if head in host.seen:
        return None
    kind = host.object_type(head, operation)
    if isinstance(kind, RepositoryRefusal):
        return kind
    if kind != "missing" or clone_dir is None:
        return None
    objects = guests.guest_objects(host, clone_dir)
    if isinstance(objects, str):
        return RepositoryRefusal(
            RepositoryCode.TAKEOVER_FAILED,
            f"{operation}: {clone_dir} cannot be taken over: {objects}",
            "give the clone that was made for the attempt",
            {"path": str(clone_dir)},
        )
    with tempfile.TemporaryDirectory(prefix="remit-takeover-") as name:
        staging = Path(name)
        if refusal := new_repository(host, staging, operation):
            return refusal
        borrow(staging / ".git" / "objects", objects)
        guests.distrust(staging)
        present = host.git.run(
            ["cat-file", "--batch-check=%(objecttype)"],
            cwd=staging,
            operation=operation,
            git_dir=staging / ".git",
            stdin=f"{head}\n".encode(),
        )
        if isinstance(present, GitRun) and present.text != "commit":
            return _not_there(present.text, head, clone_dir, operation)
        fetched = host.run(
            fetch_args(str(staging / ".git"), f"{head}:{kept}"),
            operation,
            network=True,
        )
    if isinstance(fetched, RepositoryRefusal):
        return _as(fetched, RepositoryCode.TAKEOVER_FAILED)
    host.seen.add(head)
    return None


def _not_there(kind: str, head: str, clone_dir: Path, operation: str) -> RepositoryRefusal:
    missing = kind.endswith(" missing")
    code = RepositoryCode.COMMIT_ABSENT if missing else RepositoryCode.NOT_A_COMMIT
    found = "is not there" if missing else f"is a {kind}"
    return RepositoryRefusal(
        code,
        f"{operation}: {head} {found} in {clone_dir}, expected a commit",
        "commit in the clone, and give the output of git rev-parse HEAD",
        {"sha": head, "path": str(clone_dir)},
    )


def left_behind(host: Host, clone_dir: Path, head: str) -> tuple[str, ...] | RepositoryRefusal:
    """Name what a guest changed and did not commit; see `GitRepository.left_behind`."""

    def stage(staging: Path, objects: Path) -> RepositoryRefusal | None:
        refusal = new_repository(host, staging, "look at what is left")
        if refusal is None:
            borrow(staging / ".git" / "objects", objects)
        return refusal

    return guests.left_behind(host, clone_dir, head, stage)


def clean_checkout(
    host: Host, sha: str, directory: Path, *, as_stored: bool = False
) -> CheckoutMade | RepositoryRefusal:
    """Check exactly one commit out into a new directory; see `GitRepository.clean_checkout`."""
    operation = f"check out {sha[:80]}"
    if refusal := host.require_commit(sha, operation) or claim_directory(directory, operation):
        return refusal
    try:
        refusal = new_repository(host, directory, operation)
        if refusal is None:
            borrow(directory / ".git" / "objects", host.common_dir / "objects")
            if as_stored:
                ignore_attributes(directory / ".git")
    except OSError as error:
        refusal = failed(operation, str(error), "", RepositoryCode.CHECKOUT_FAILED)
    if refusal is None:
        args = ["checkout", "--quiet", "--detach", "--force", "--no-guess", sha]
        refusal = _step(host, directory, args, operation, RepositoryCode.CHECKOUT_FAILED)
    if refusal is not None:
        remove_tree(directory)
        return refusal
    head = (directory / ".git" / "HEAD").read_text(encoding="ascii", errors="replace").strip()
    if head != sha:
        remove_tree(directory)
        return failed(operation, f"HEAD is {head[:80]}", "", RepositoryCode.CHECKOUT_FAILED)
    tree = host.tree(sha, operation)
    if isinstance(tree, RepositoryRefusal):
        remove_tree(directory)
        return tree
    return CheckoutMade(str(directory), sha, tree)


def remove_checkout(made: CheckoutMade) -> RepositoryRefusal | None:
    """Remove a checkout that `clean_checkout` made, whatever a command left in it."""
    if remove_tree(Path(made.path)):
        return None
    return failed(
        f"remove checkout {made.path}",
        "some of it cannot be removed",
        "",
        RepositoryCode.CHECKOUT_FAILED,
        "remove it by hand; a command may have left files of another owner",
    )
