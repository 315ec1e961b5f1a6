"""What changed between two commits: as a patch identity, and as paths against a scope.

A patch identity ties a rebased or squashed commit to the change that was reviewed. git's stable
patch id ignores white space, which means something in Python, YAML and Makefiles, and older git
ignores the content of binary files; so a second, verbatim digest of the same diff is kept beside
it, and two changes are equal only where both are. Line numbers and blob names are left out of the
digest, since a rebase moves them; binary content and modes are in it.

Diffs are made from objects alone, in a blank repository: no index, no work tree, no attributes, no
rename guessing, no external diff or text conversion, no configuration of the person's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from remit.core.gitfacts import ArtifactDiff, RepositoryRefusal
from remit.core.scopes import covers, in_scope
from remit.machine.git import GitRun
from remit.repository.blank import compare
from remit.repository.host import Host

PATH_LIMIT_COUNT = 1_000
"""How many paths each list of an `ArtifactDiff` holds at most."""

PLAIN = ["-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "-O/dev/null"]
PLAIN += ["--ignore-submodules=none"]
"""How any two trees are compared."""

PATCH = ["-p", "-U3", "--full-index", "--diff-algorithm=myers", "--no-indent-heuristic"]
PATCH += ["--src-prefix=a/", "--dst-prefix=b/", "--submodule=short", "--inter-hunk-context=0"]
"""How the contents are."""

_HUNK = re.compile(rb"@@ -\S+ \+\S+ @@")


@dataclass(frozen=True, slots=True)
class PatchIdentity:
    """git's stable patch id ("" for no change) and a SHA-256 of the diff without positions."""

    patch_id: str
    verbatim: str


def patch_identity(
    host: Host, base: str, head: str, operation: str
) -> PatchIdentity | RepositoryRefusal:
    """Identify the change `base..head`, taken as one diff."""
    done = compare(host, ["diff-tree", *PLAIN, *PATCH, "--binary", base, head], operation)
    if isinstance(done, RepositoryRefusal):
        return done
    if not done.stdout:
        return PatchIdentity("", "")
    named = _patch_id(host, (base, head), done.stdout, operation)
    if isinstance(named, RepositoryRefusal):
        return named
    digest = hashlib.sha256()
    binary = False
    for line in done.stdout.split(b"\n"):
        if line.startswith(b"diff --git "):
            binary = False
        elif line.startswith(b"GIT binary patch"):
            binary = True
        if line.startswith(b"index ") and not binary:
            continue
        hunk = _HUNK.match(line) if not binary else None
        digest.update(b"@@" if hunk else line)
        digest.update(b"\n")
    return PatchIdentity(named.text.partition(" ")[0], digest.hexdigest())


def _patch_id(
    host: Host, change: tuple[str, str], diff: bytes, operation: str
) -> GitRun | RepositoryRefusal:
    """Git's stable patch id of a diff; it follows from the change that the diff is of."""
    key = ("patch-id", "--stable", *change)
    known = host.answers.get(key)
    if known is not None:
        return known
    named = host.run(["patch-id", "--stable"], operation, stdin=diff)
    if isinstance(named, GitRun) and not host.may_deepen():
        host.answers.keep(key, named)
    return named


def artifact_diff(
    host: Host, base: str, head: str, scope: Sequence[str], artifacts: Sequence[str]
) -> ArtifactDiff | RepositoryRefusal:
    """Compare the paths that `base..head` changed with a scope; see `GitRepository`."""
    operation = "diff artifacts"
    for sha in (base, head):
        if refusal := host.require_commit(sha, operation):
            return refusal
    done = compare(host, ["diff-tree", *PLAIN, "--name-status", "-z", base, head], operation)
    if isinstance(done, RepositoryRefusal):
        return done
    fields = done.stdout.split(b"\0")[:-1]
    changes = [
        (status, path.decode("utf-8", "surrogateescape"))
        for status, path in zip(fields[::2], fields[1::2], strict=True)
    ]
    outside = [path for _, path in changes if not in_scope(path, scope)]
    present = [path for status, path in changes if status != b"D"]
    missing = [
        pattern for pattern in artifacts if not any(covers(pattern, path) for path in present)
    ]
    return ArtifactDiff(
        base_sha=base,
        head_sha=head,
        changed=tuple(path_text(path) for _, path in changes[:PATH_LIMIT_COUNT]),
        changed_count=len(changes),
        out_of_scope=tuple(path_text(path) for path in outside[:PATH_LIMIT_COUNT]),
        out_of_scope_count=len(outside),
        missing_artifacts=tuple(missing),
        truncated=len(changes) > PATH_LIMIT_COUNT,
    )


def path_text(path: str) -> str:
    r"""Return a path for reading: bytes that are not UTF-8 appear as `\xNN`."""
    raw = path.encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace")
