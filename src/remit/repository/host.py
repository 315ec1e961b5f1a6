"""The host repository: found once, then asked small exact questions about objects and refs.

Everything remit writes here lies under `refs/remit/`, where no clean-up of git looks: `git gc`
keeps what a ref names, and `git fetch --prune` and `git remote prune` touch remote-tracking refs
only. The person's branches, remote-tracking refs, tags, FETCH_HEAD, index and work tree are never
written. Refs move by compare-and-set.

The answers 0 and 1 of `merge-base --is-ancestor` are told apart from every other exit status: a
damaged history is a refusal, never "not merged".
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, is_full_sha
from remit.machine.git import Git, GitRun, Trust, failed
from remit.repository.remembered import Answers, Looks, Settings


@dataclass(frozen=True, slots=True)
class Host:
    """A located repository.

    `common_dir` is the directory that all its worktrees share; `top` is where relative remote
    paths start (the work tree, or `common_dir` of a bare repository); `zero` is the null object
    name of its hash. `seen` holds commits that were found here: an object never becomes another. The
    others are what `repository.remembered` keeps for as long as this value is.
    """

    git: Git
    top: Path
    common_dir: Path
    shallow: bool
    zero: str
    seen: set[str] = field(default_factory=set, compare=False, repr=False)
    answers: Answers = field(default_factory=Answers, compare=False, repr=False)
    settings: Settings = field(default_factory=Settings, compare=False, repr=False)
    looks: Looks = field(default_factory=Looks, compare=False, repr=False)

    def run(
        self,
        args: Sequence[str],
        operation: str,
        *,
        trust: Trust = Trust.ISOLATED,
        answers: Collection[int] = (0,),
        stdin: bytes = b"",
        network: bool = False,
        extra: Mapping[str, str] | None = None,
    ) -> GitRun | RepositoryRefusal:
        """Run git on this repository; see `Git.run`."""
        return self.git.run(
            args,
            cwd=self.top,
            operation=operation,
            git_dir=self.common_dir,
            trust=trust,
            answers=answers,
            stdin=stdin,
            network=network,
            extra=extra,
        )

    def ask(
        self, args: Sequence[str], operation: str, *, answers: Collection[int] = (0,)
    ) -> GitRun | RepositoryRefusal:
        """Run git for an answer that follows from objects alone, named by full names in `args`.

        It is asked once; a shallow repository may be deepened, so there it is asked each time, and so is
        what git could not answer, which may only have been in its way.
        """
        key = tuple(args)
        known = self.answers.get(key)
        if known is not None:
            return known
        done = self.run(args, operation, answers=answers)
        sure = (0, 1) if "--is-ancestor" in args else (0,)
        if isinstance(done, GitRun) and done.exit_code in sure and not self.may_deepen():
            self.answers.keep(key, done)
        return done

    def may_deepen(self) -> bool:
        """Whether history is cut off here, now or when this process first looked."""
        return self.shallow or (self.common_dir / "shallow").exists()

    def tree(self, sha: str, operation: str) -> str | RepositoryRefusal:
        """Return the tree of a commit."""
        done = self.ask(["rev-parse", "--verify", f"{sha}^{{tree}}"], operation)
        return done if isinstance(done, RepositoryRefusal) else done.text

    def object_type(self, sha: str, operation: str) -> str | RepositoryRefusal:
        """Return "commit", "tree", "blob", "tag", or "missing" for a full object name."""
        if refusal := sha_refusal(sha, operation):
            return refusal
        done = self.run(
            ["cat-file", "--batch-check=%(objecttype)"], operation, stdin=f"{sha}\n".encode()
        )
        if isinstance(done, RepositoryRefusal):
            return done
        return "missing" if done.text.endswith(" missing") else done.text

    def require_commit(self, sha: str, operation: str) -> RepositoryRefusal | None:
        """Refuse anything but a commit that is present: BAD_SHA, COMMIT_ABSENT, NOT_A_COMMIT."""
        if sha in self.seen:
            return None
        kind = self.object_type(sha, operation)
        if isinstance(kind, RepositoryRefusal):
            return kind
        if kind == "commit":
            self.seen.add(sha)
        if kind == "missing":
            return RepositoryRefusal(
                RepositoryCode.COMMIT_ABSENT,
                f"{operation}: {sha} is not in the repository, expected a commit",
                "push it to the remote, or take it over from the clone that holds it",
                {"sha": sha},
            )
        if kind != "commit":
            return RepositoryRefusal(
                RepositoryCode.NOT_A_COMMIT,
                f"{operation}: {sha} is a {kind}, expected a commit",
                "give the full name of the commit itself",
                {"sha": sha, "type": kind},
            )
        return None

    def is_ancestor(self, older: str, newer: str, operation: str) -> bool | RepositoryRefusal:
        """Say whether `older` is `newer` or lies in its history."""
        args = ["merge-base", "--is-ancestor", older, newer]
        done = self.ask(args, operation, answers=(0, 1))
        return done if isinstance(done, RepositoryRefusal) else done.exit_code == 0

    def merge_base(self, one: str, other: str, operation: str) -> str | RepositoryRefusal:
        """Return the best common ancestor, or HISTORY_UNRELATED."""
        done = self.ask(["merge-base", one, other], operation, answers=(0, 1))
        if isinstance(done, RepositoryRefusal):
            return done
        if done.exit_code == 1:
            return RepositoryRefusal(
                RepositoryCode.HISTORY_UNRELATED,
                f"{operation}: {one} and {other} have no common ancestor",
                "make the change on a branch that started from the remote's main",
                {"one": one, "other": other},
            )
        return done.text.splitlines()[0]

    def read_ref(self, ref: str, operation: str) -> str | RepositoryRefusal | None:
        """Return what a ref names, or None where there is no such ref."""
        if plain := self._plain_ref(ref):
            return plain
        done = self.run(["for-each-ref", "--format=%(refname) %(objectname)", ref], operation)
        if isinstance(done, RepositoryRefusal):
            return done
        for line in done.text.splitlines():
            name, _, sha = line.partition(" ")
            if name == ref:
                return sha
        return None

    def _plain_ref(self, ref: str) -> str:
        """What a ref of remit's own names that lies in a plain file; empty where git has to say."""
        if not ref.startswith("refs/remit/"):
            return ""
        try:
            at = os.open(self.common_dir / ref, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(at, "rb") as file:
                found = file.read(len(self.zero) + 2).decode("ascii", "replace").removesuffix("\n")
        except OSError:
            return ""
        return found if is_full_sha(found) and len(found) == len(self.zero) else ""

    def move_ref(
        self, ref: str, new: str, old: str | None, operation: str, *, log: bool = False
    ) -> RepositoryRefusal | None:
        """Set `ref` to `new` where it still is `old` (None: where it is absent), else REF_LOCKED.

        Deletes the ref where `new` is "". With `log`, git keeps what it was before.
        """
        if new:
            kept = ["--create-reflog", "-m", operation] if log else []
            args = ["update-ref", *kept, "--no-deref", ref, new, old or self.zero]
        else:
            args = ["update-ref", "--no-deref", "-d", ref, *([old] if old else [])]
        done = self.run(args, operation)
        return done if isinstance(done, RepositoryRefusal) else None

    def keep_refs(self, sha: str, operation: str, *refs: str) -> RepositoryRefusal | None:
        """Make each of these refs of remit's own name `sha`, whatever it named before; all or none."""
        wrong = [ref for ref in refs if self._plain_ref(ref) != sha]
        if not wrong:
            return None
        told = "".join(f"option no-deref\nupdate {ref} {sha}\n" for ref in wrong)
        done = self.run(["update-ref", "--stdin"], operation, stdin=told.encode())
        return done if isinstance(done, RepositoryRefusal) else None

    def config(self, name: str, operation: str) -> str | RepositoryRefusal | None:
        """Return a setting as the person's git sees it, None where it is not set.

        `name` is as git lists it: section and key in lower case.
        """
        found = self.settings.read(self, operation)
        if isinstance(found, RepositoryRefusal):
            return found
        return found[name][-1] if name in found else None


def sha_refusal(sha: str, operation: str) -> RepositoryRefusal | None:
    """Refuse what is not a full object name."""
    if is_full_sha(sha):
        return None
    return RepositoryRefusal(
        RepositoryCode.BAD_SHA,
        f"{operation}: {sha[:80]!r} is no full commit name, expected 40 or 64 lower-case hex digits",
        "give the output of git rev-parse <commit>",
        {"sha": sha[:80]},
    )


def locate(git: Git, path: Path, operation: str) -> Host | RepositoryRefusal:
    """Find the repository that `path` lies in, as the person's git finds it.

    Refuses REPOSITORY_MISSING, REPOSITORY_CORRUPT (there is a `.git`, and git does not take it),
    REPOSITORY_UNTRUSTED (another owner), and the failures of `Git.run`.
    """
    if not path.is_dir():
        return _nowhere(path, operation, RepositoryCode.REPOSITORY_MISSING)
    args = ["rev-parse", "--is-shallow-repository", "--is-bare-repository"]
    args += ["--show-object-format", "--path-format=absolute", "--git-common-dir"]
    done = git.run(args, cwd=path, operation=operation, trust=Trust.PERSON)
    broken = (path / ".git").exists()
    if isinstance(done, RepositoryRefusal):
        if broken and done.code is RepositoryCode.REPOSITORY_MISSING:
            return _nowhere(path, operation, RepositoryCode.REPOSITORY_CORRUPT)
        return done
    shallow, bare, hash_name, common = done.text.split("\n", 3)
    top = Path(common)
    if bare == "false":
        shown = git.run(
            ["rev-parse", "--path-format=absolute", "--show-toplevel"],
            cwd=path,
            operation=operation,
            trust=Trust.PERSON,
            answers=(0, 128),
        )
        if isinstance(shown, RepositoryRefusal):
            return shown
        top = Path(shown.text) if shown.exit_code == 0 and shown.text else top
        if broken and top.resolve() != path.resolve():
            return _nowhere(path, operation, RepositoryCode.REPOSITORY_CORRUPT)
    zero = "0" * (64 if hash_name == "sha256" else 40)
    return Host(git, top, Path(common), shallow == "true", zero)


def _nowhere(path: Path, operation: str, code: RepositoryCode) -> RepositoryRefusal:
    return failed(
        operation,
        f"{path} holds no repository that git can read",
        "",
        code,
        "name a directory within a git repository; run git status there to see what git says",
    )
