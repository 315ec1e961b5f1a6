"""Apply a declared mutation to a clean checkout, and say exactly what it changed.

A mutation is a patch that somebody else wrote, so it is applied by `git apply` and nothing else: no
fuzz, no three-way merge, no rejects, whole or not at all. git refuses paths outside the tree, inside
`.git` and behind a symbolic link; what was changed is then read from the index, never from what the
patch says of itself, and compared with the scope. A patch that does not apply is an answer, not a
failure of git: it is no control.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from remit.core.gitfacts import CheckoutMade, RepositoryRefusal
from remit.core.rows import PATCH_LIMIT_BYTES, Mutation
from remit.core.scopes import in_scope
from remit.repository.host import Host
from remit.repository.patches import path_text

_OPERATION = "apply a mutation"
_SAID_CHARS = 300


def read_patch(host: Host, sha: str, path: str, digest: str) -> bytes | str | RepositoryRefusal:
    """The patch that a commit holds at `path`, or what stands in the way as text.

    Only the bytes with the registered SHA-256 are the declared mutation.
    """
    if refusal := host.require_commit(sha, _OPERATION):
        return refusal
    done = host.run(["ls-tree", "-z", "--long", "--full-tree", sha, "--", path], _OPERATION)
    if isinstance(done, RepositoryRefusal):
        return done
    mode, kind, blob, size = (*done.text.partition("\t")[0].split(), "", "", "", "")[:4]
    if kind != "blob" or not mode.startswith("100"):
        return f"{path_text(path)} is no file of {sha}"
    if int(size) > PATCH_LIMIT_BYTES:
        return f"{path_text(path)} has {size} bytes, at most {PATCH_LIMIT_BYTES}"
    read = host.run(["cat-file", "blob", blob], _OPERATION)
    if isinstance(read, RepositoryRefusal):
        return read
    found = hashlib.sha256(read.stdout).hexdigest()
    if found != digest:
        return f"{path_text(path)} has the digest {found}, registered was {digest}"
    return read.stdout


def apply_patch(
    host: Host, made: CheckoutMade, patch: bytes, scopes: Sequence[Sequence[str]]
) -> Mutation | RepositoryRefusal:
    """Apply a patch to a checkout; see `GitRepository.apply_mutation`."""
    where = Path(made.path)
    git_dir = where / ".git"
    done = host.git.run(
        ["apply", "--index", "--whitespace=nowarn", "-"],
        cwd=where,
        operation=_OPERATION,
        git_dir=git_dir,
        answers=(0, 1, 128),
        stdin=patch,
    )
    if isinstance(done, RepositoryRefusal):
        return done
    if done.exit_code != 0:
        said = " ".join(done.said.split())[:_SAID_CHARS]
        return Mutation(applied=False, found=said or "it does not apply")
    listed = host.git.run(
        ["diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD"],
        cwd=where,
        operation=_OPERATION,
        git_dir=git_dir,
    )
    if isinstance(listed, RepositoryRefusal):
        return listed
    paths = [raw.decode("utf-8", "surrogateescape") for raw in listed.stdout.split(b"\0")[:-1]]
    if not paths:
        return Mutation(applied=False, found="it changes nothing")
    outside = tuple(
        path_text(path) for path in paths if not all(in_scope(path, scope) for scope in scopes)
    )
    return Mutation(applied=True, found=f"{len(paths)} paths", outside=outside)
