"""The git adapter: one object for one host repository, its remote and its main branch.

It observes, clones, takes over, diffs and checks out by the `git` command line, and answers with
the facts of `remit.core.gitfacts` or with a `RepositoryRefusal` as a value. Exceptions are bugs.
It holds no state but its settings; each call looks at the repository anew, so that one object may
be kept for the life of a process and used from several threads.

It never pushes, and never writes to the person's branches, remote-tracking refs, tags, index or work
tree: only objects, `refs/remit/`, and directories that it makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from remit.core.gitfacts import (
    ArtifactDiff,
    Brought,
    CheckoutMade,
    Clash,
    CloneMade,
    MainObservation,
    ObjectSharing,
    RepositoryCode,
    RepositoryRefusal,
    ShipObservation,
    Takeover,
    Way,
    is_attempt_id,
    is_branch_name,
)
from remit.core.rows import Mutation
from remit.machine.git import Git
from remit.repository import branches as attempt_branches
from remit.repository import (
    brought,
    clones,
    guests,
    landing,
    mutating,
    observing,
    patches,
    rescuing,
    showing,
)
from remit.repository.host import Host, locate, sha_refusal
from remit.repository.observing import Reviewed
from remit.repository.remotes import Upstream


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A host repository, named by any directory in it, with the remote and main to observe.

    `git` holds the program and its bounds of time and output. `sharing` is where the objects of
    clones live that are made without saying so.
    """

    path: Path
    remote: str = "origin"
    main: str = "main"
    git: Git = field(default_factory=Git)
    sharing: ObjectSharing = ObjectSharing.OWN
    known: Host | None = field(default=None, compare=False, repr=False)

    def located(self) -> GitRepository | RepositoryRefusal:
        """The same, which knows where the repository is and does not look for it in each call.

        For a process that makes many calls on one that it holds: a repository that is moved, or made
        shallow, meanwhile is not noticed before git fails.
        """
        host = self._host("find the repository")
        return host if isinstance(host, RepositoryRefusal) else replace(self, known=host)

    def observe_main(self, *, accept_rewrite: bool = False) -> MainObservation | RepositoryRefusal:
        """Fetch the remote's main and say which commit it names.

        The commit is kept under `refs/remit/observed/<remote>/<branch>`. Where the new main does
        not contain the one observed before, both are kept and MAIN_REWRITTEN is returned, until a
        call accepts the rewrite.

        Refuses REPOSITORY_MISSING, REPOSITORY_CORRUPT, REPOSITORY_UNTRUSTED, BAD_NAME,
        SHALLOW_CLONE, REMOTE_MISSING, REMOTE_UNREACHABLE, MAIN_ABSENT, MAIN_REWRITTEN, REF_LOCKED,
        GIT_MISSING, GIT_TIMEOUT, OUTPUT_TOO_LARGE, GIT_FAILED; the last four, and those of the
        repository itself, hold for every method.
        """
        host = self._host("observe main")
        if isinstance(host, RepositoryRefusal):
            return host
        return observing.observe_main(host, self._upstream, accept_rewrite)

    def last_observed_main(self) -> str | RepositoryRefusal | None:
        """Return the commit of the last observation without asking the remote, None before one."""
        host = self._host("read observed main")
        if isinstance(host, RepositoryRefusal):
            return host
        return host.read_ref(self._upstream.observed_ref, "read observed main")

    def observe_ship(
        self,
        sha: str,
        *,
        reviewed_head: str,
        reviewed_base: str,
        main_before: str,
        accept_rewrite: bool = False,
        branches: Sequence[str] = (),
    ) -> ShipObservation | RepositoryRefusal:
        """Observe that `sha` lies within the remote's main and is the reviewed change (T08).

        All four names are full ones. `sha` is the reviewed head itself, or a commit whose change
        has the patch id of `reviewed_base..reviewed_head` and equals it verbatim (rebased,
        squashed, or the merge of it). The base of the landed change is the merge-base of `sha`
        and `main_before`, the last main observed before it landed; where others landed in
        between, a rebased or squashed change starts as many commits back as match it. `branches`
        are those of the attempt: where one stands on the remote at another change than the reviewed
        one, something was pushed since. Names that git could misread are left out, and so is main.

        Refuses, beside those of `observe_main`: BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT,
        COMMIT_UNMERGED, PATCH_DIFFERS, BASE_UNUSABLE (`main_before` contains `sha` already),
        HISTORY_UNRELATED, BRANCH_MOVED.
        """
        host = self._host("observe ship")
        if isinstance(host, RepositoryRefusal):
            return host
        reviewed = Reviewed(reviewed_head, reviewed_base, main_before)
        seen = observing.observe_ship(host, self._upstream, sha, reviewed, accept_rewrite)
        if isinstance(seen, RepositoryRefusal):
            return seen
        usable = [name for name in branches if is_branch_name(name)]
        moved = attempt_branches.moved_branch(host, self._upstream, sha, reviewed, usable)
        return seen if moved is None else moved

    def make_clone(
        self,
        attempt_id: str,
        directory: Path,
        branch: str,
        *,
        sharing: ObjectSharing | None = None,
    ) -> CloneMade | RepositoryRefusal:
        """Make an attempt's own clone from a freshly observed main, on its own branch.

        `directory` is new or empty, under an existing parent. The clone holds main's history, the
        branch and `<remote>/<main>`, no tags, hooks or credentials; `origin` is the real remote
        without credentials.

        Refuses, beside those of `observe_main`: BAD_NAME (attempt, branch, or the branch is main
        itself), DIRECTORY_IN_USE, CLONE_FAILED. A refused clone leaves nothing behind but its
        base ref.
        """
        operation = f"make clone for {attempt_id[:128]!r}"
        if not is_attempt_id(attempt_id):
            return bad_name(operation, "attempt id", attempt_id)
        if not is_branch_name(branch) or branch == self.main:
            return bad_name(operation, "branch", branch)
        host = self._host(operation)
        if isinstance(host, RepositoryRefusal):
            return host
        main = observing.observe_main(host, self._upstream, accept_rewrite=False)
        if isinstance(main, RepositoryRefusal):
            return main
        where = directory.absolute()
        return clones.make_clone(host, main, attempt_id, where, branch, sharing or self.sharing)

    def take_over(
        self, clone_dir: Path | None, head: str, attempt_id: str
    ) -> Takeover | RepositoryRefusal:
        """Bring `head`, a full name, from an attempt's clone into the host and keep it.

        Kept under `refs/remit/attempts/<attempt>/head`, and every head ever taken over also under
        `.../taken/<sha>`; `git gc --prune=now` and pruning fetches drop neither. `clone_dir` may
        be None where the person worked in place; a commit that the host has is not fetched. The
        base is the merge-base with the last observed main, or, where `head` is on that already,
        the last main known before. No new commits is a fact, not a refusal.

        Refuses BAD_NAME, BAD_SHA, MAIN_UNOBSERVED, COMMIT_ABSENT, NOT_A_COMMIT,
        HISTORY_UNRELATED, TAKEOVER_FAILED (not a plain clone, foreign alternates, missing or
        malformed objects), REF_LOCKED.
        """
        operation = f"take over {attempt_id[:128]!r}"
        if not is_attempt_id(attempt_id):
            return bad_name(operation, "attempt id", attempt_id)
        host = self._host(operation)
        if isinstance(host, RepositoryRefusal):
            return host
        if refusal := sha_refusal(head, operation):
            return refusal
        where = None if clone_dir is None else clone_dir.absolute()
        return clones.take_over(host, self._upstream, where, head, attempt_id)

    def bring_onto(
        self,
        item: str,
        head: str,
        base: str,
        main: str,
        way: Way,
        seconds: int,
        branches: Sequence[str] = (),
    ) -> Brought | Clash | RepositoryRefusal:
        """Make what would land of a reviewed change on an observed `main`, and push nothing.

        Where `head` goes on from `main` that is `head` itself; else a merge of both or each commit
        put onto main, by `way`. `seconds` is the time of the commits. No work tree, hook or filter
        plays a part. A clash is an answer. `branches` are as in `observe_ship`.

        Refuses BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT, BRANCH_MOVED, REMOTE_SPLIT, GIT_TOO_OLD,
        HISTORY_NOT_LINEAR and PATCH_DIFFERS (of a rebase), NOTHING_LEFT.
        """
        host = self._host(f"integrate {item}")
        if isinstance(host, RepositoryRefusal):
            return host
        wanted = landing.Wanted(item, head, base, main, way, seconds, tuple(branches))
        return landing.bring_onto(host, self._upstream, wanted)

    def guest_head(self, clone_dir: Path, branch: str) -> str | RepositoryRefusal:
        """The commit that a branch of a guest's clone names, read without running git in it.

        Refuses BAD_NAME, and TAKEOVER_FAILED where the clone does not say.
        """
        if not is_branch_name(branch):
            return bad_name("read the head of a clone", "branch", branch)
        return guests.guest_head(clone_dir.absolute(), branch)

    def left_behind(self, clone_dir: Path, head: str) -> tuple[str, ...] | RepositoryRefusal:
        """Name what a guest changed and did not commit, new files included; runs nothing of it.

        Refuses BAD_SHA, and TAKEOVER_FAILED for what is no plain clone.
        """
        operation = "look at what is left"
        host = self._host(operation)
        if isinstance(host, RepositoryRefusal):
            return host
        if refusal := sha_refusal(head, operation):
            return refusal
        return clones.left_behind(host, clone_dir.absolute(), head)

    def keep_changes(self, clone_dir: Path, head: str, attempt_id: str) -> str | RepositoryRefusal:
        """Keep what a guest changed and did not commit, as a commit of the host's on `head`.

        Nothing of the clone is run or believed: its files are read by a repository of remit's own.
        Files that the tree ignores are left out. The commit is kept under
        `refs/remit/attempts/<attempt>/rescue/<sha>`; an empty answer says that nothing was changed.

        Refuses BAD_NAME, BAD_SHA, TAKEOVER_FAILED, REF_LOCKED.
        """
        operation = f"keep changes of {attempt_id[:128]!r}"
        if not is_attempt_id(attempt_id):
            return bad_name(operation, "attempt id", attempt_id)
        host = self._host(operation)
        if isinstance(host, RepositoryRefusal):
            return host
        if refusal := sha_refusal(head, operation):
            return refusal
        return rescuing.keep_changes(host, clone_dir.absolute(), head, attempt_id)

    def objects(self) -> Path | RepositoryRefusal:
        """The folder of the host's objects, which clones and checkouts may borrow."""
        host = self._host("find the objects")
        if isinstance(host, RepositoryRefusal):
            return host
        return (host.common_dir / "objects").resolve()

    def change_text(self, base: str, head: str) -> str | RepositoryRefusal:
        """The change `base..head` as text for reading: every path, and of each file its share.

        No attribute, setting or NUL byte hides a file; what is cut is said. Control characters and
        bytes that are not UTF-8 are escaped.

        Refuses BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT, and OUTPUT_TOO_LARGE for too many paths.
        """
        host = self._host("show a change")
        if isinstance(host, RepositoryRefusal):
            return host
        return showing.change_text(host, base, head)

    def lay_out(self, base: str, head: str, folder: Path) -> int | RepositoryRefusal:
        """Write every blob and message of `base..head` beneath an empty folder, to be scanned.

        Refuses BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT, OUTPUT_TOO_LARGE.
        """
        host = self._host("lay out a change")
        if isinstance(host, RepositoryRefusal):
            return host
        return brought.lay_out(host, base, head, folder)

    def artifact_diff(
        self, base: str, head: str, scope: Sequence[str], artifacts: Sequence[str]
    ) -> ArtifactDiff | RepositoryRefusal:
        """Compare the paths that `base..head` changed with a scope and expected artifacts.

        `scope` and `artifacts` are patterns of `remit.core.scopes`; a path that no pattern of
        `scope` covers is out of scope, an artifact pattern that covers no added or modified path
        is missing. Renames count as a deletion and an addition.

        Refuses BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT, OUTPUT_TOO_LARGE.
        """
        host = self._host("diff artifacts")
        if isinstance(host, RepositoryRefusal):
            return host
        return patches.artifact_diff(host, base, head, scope, artifacts)

    def clean_checkout(
        self, sha: str, directory: Path, *, as_stored: bool = False
    ) -> CheckoutMade | RepositoryRefusal:
        """Check exactly `sha` out into a new or empty directory, detached.

        No hook and no configured filter runs; line-ending attributes of the repository apply, LFS
        pointers stay pointers, submodules stay empty directories. With `as_stored` no attribute
        applies, then or to a git that is run there later: files have the bytes that are committed.

        Refuses BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT, DIRECTORY_IN_USE, CHECKOUT_FAILED.
        """
        host = self._host("check out")
        if isinstance(host, RepositoryRefusal):
            return host
        return clones.clean_checkout(host, sha, directory.absolute(), as_stored=as_stored)

    def read_patch(self, sha: str, path: str, digest: str) -> bytes | str | RepositoryRefusal:
        """Return the patch at `path` of commit `sha`, if its SHA-256 is `digest`.

        Returns what stands in the way as text where there is no such file, it is too large, or it
        is another one. Refuses BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT.
        """
        host = self._host("read a patch")
        if isinstance(host, RepositoryRefusal):
            return host
        return mutating.read_patch(host, sha, path, digest)

    def apply_mutation(
        self, made: CheckoutMade, patch: bytes, scopes: Sequence[Sequence[str]]
    ) -> Mutation | RepositoryRefusal:
        """Apply a patch to a clean checkout, whole or not at all, and say what it changed.

        That it does not apply, or changes nothing, is an answer. Paths that lie outside any of
        `scopes` are named in it. Nothing but the checkout is written.
        """
        host = self._host("apply a mutation")
        if isinstance(host, RepositoryRefusal):
            return host
        return mutating.apply_patch(host, made, patch, scopes)

    def remove_checkout(self, made: CheckoutMade) -> RepositoryRefusal | None:
        """Remove a checkout and all that was left in it; None when it is gone."""
        return clones.remove_checkout(made)

    @property
    def _upstream(self) -> Upstream:
        return Upstream(self.remote, self.main)

    def _host(self, operation: str) -> Host | RepositoryRefusal:
        for kind, name in (("remote", self.remote), ("main branch", self.main)):
            if not is_branch_name(name):
                return bad_name(operation, kind, name)
        return self.known or locate(self.git, self.path, operation)


def bad_name(operation: str, kind: str, name: str) -> RepositoryRefusal:
    """Build the refusal of a name that git could misread or that would collide."""
    return RepositoryRefusal(
        RepositoryCode.BAD_NAME,
        f"{operation}: {name[:80]!r} cannot be used as {kind}",
        "use ASCII letters, digits, '_', '-', '.' and '/', and a branch other than main",
        {kind: name[:80]},
    )
