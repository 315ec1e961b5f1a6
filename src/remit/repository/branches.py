"""Look whether the branch of an attempt still is what was reviewed.

A push after the approval puts commits on the branch that nobody looked at. They are seen where a
branch of the attempt stands on the remote at another head than the reviewed one. Not everything else
is a push of something new: the branch may be gone, lag behind, or hold the reviewed change rebased.
Whatever cannot be told from a push is taken for one; who only moved the branch puts it back or
deletes it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable

from remit.core.gitfacts import RepositoryCode, RepositoryRefusal
from remit.machine.git import Trust, failed
from remit.repository.host import Host
from remit.repository.observing import Reviewed
from remit.repository.patches import PatchIdentity, patch_identity
from remit.repository.remotes import Upstream, remote_said, ssh_settings

_OPERATION = "observe the attempt's branch"


def moved_branch(
    host: Host, upstream: Upstream, sha: str, reviewed: Reviewed, branches: Iterable[str]
) -> RepositoryRefusal | None:
    """Refuse BRANCH_MOVED where a branch of the attempt holds another change than the reviewed one.

    `sha` is the commit that shipped; what lies within it or within the reviewed head is nothing new.
    """
    names = [name for name in dict.fromkeys(branches) if name and name != upstream.main]
    if not names:
        return None
    heads = _heads(host, upstream, names)
    if isinstance(heads, RepositoryRefusal):
        return heads
    for name, head in heads.items():
        if head in (sha, reviewed.head):
            continue
        same = _nothing_new(host, upstream, sha, reviewed, name, head)
        if isinstance(same, RepositoryRefusal):
            return same
        if not same:
            return RepositoryRefusal(
                RepositoryCode.BRANCH_MOVED,
                f"{_OPERATION}: {name} of {upstream.remote!r} is at {head}, reviewed was "
                f"{reviewed.head}",
                "have what was pushed since reviewed: a reviewer sends the item back with 'remit"
                " review ID --reject'; or put the branch back to what was reviewed, or delete it",
                {"branch": name, "head": head, "reviewed_head": reviewed.head},
            )
    return None


def _heads(host: Host, upstream: Upstream, names: list[str]) -> dict[str, str] | RepositoryRefusal:
    """Where these branches stand on the remote; those that are not there are left out."""
    refs = {f"refs/heads/{name}": name for name in names}
    extra = ssh_settings(host, _OPERATION)
    if isinstance(extra, RepositoryRefusal):
        return extra
    args = ["ls-remote", "--end-of-options", upstream.remote, *refs]
    done = host.run(args, _OPERATION, trust=Trust.PERSON, network=True, extra=extra)
    if isinstance(done, RepositoryRefusal):
        return remote_said(upstream, done, _OPERATION)
    found = {}
    for line in done.text.splitlines():
        sha, _, ref = line.partition("\t")
        if ref in refs:
            found[refs[ref]] = sha
    return found


def _nothing_new(
    host: Host, upstream: Upstream, sha: str, reviewed: Reviewed, name: str, head: str
) -> bool | RepositoryRefusal:
    """Whether a branch at `head` holds no more than the reviewed change and what it started from."""
    fetched = _fetch(host, upstream, name, head)
    if fetched is not None:
        return fetched
    for newer in (reviewed.head, sha):
        within = host.is_ancestor(head, newer, _OPERATION)
        if isinstance(within, RepositoryRefusal) or within:
            return within
    base = host.merge_base(head, reviewed.main_before, _OPERATION)
    if isinstance(base, RepositoryRefusal):
        return False if base.code is RepositoryCode.HISTORY_UNRELATED else base
    wanted = patch_identity(host, reviewed.base, reviewed.head, _OPERATION)
    found = patch_identity(host, base, head, _OPERATION)
    for one in (wanted, found):
        if isinstance(one, RepositoryRefusal):
            return False if one.code is RepositoryCode.OUTPUT_TOO_LARGE else one
    return isinstance(wanted, PatchIdentity) and wanted == found and bool(wanted.verbatim)


def _fetch(host: Host, upstream: Upstream, name: str, head: str) -> RepositoryRefusal | None:
    """Bring a branch's head into the host under a ref of this call alone, and drop the ref again."""
    if host.object_type(head, _OPERATION) == "commit":
        return None
    incoming = f"refs/remit/incoming/{os.getpid()}-{secrets.token_hex(8)}"
    args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"]
    args += ["--no-prune", "--refmap=", "--end-of-options", upstream.remote]
    args += [f"+refs/heads/{name}:{incoming}"]
    extra = ssh_settings(host, _OPERATION)
    if isinstance(extra, RepositoryRefusal):
        return extra
    done = host.run(args, _OPERATION, trust=Trust.PERSON, network=True, extra=extra)
    if isinstance(done, RepositoryRefusal):
        return remote_said(upstream, done, _OPERATION)
    refusal = host.move_ref(incoming, "", None, _OPERATION)
    if refusal is not None or host.object_type(head, _OPERATION) == "commit":
        return refusal
    return failed(_OPERATION, f"{name} moved while it was fetched", "")
