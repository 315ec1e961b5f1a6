"""Observing the remote's main, and whether a commit has shipped to it.

A ship is an observation of the outside world, never a report (T08): main is fetched from the
remote each time, into refs of remit's own, and ancestry is asked of exact full object names. What
is absent, unmerged, unreachable or rewritten has its own code, so that the caller fails closed for
the right reason.

A rewritten main is refused until somebody accepts it; the old and the new history both stay under
`refs/remit/`, so nothing is lost while they decide. Fetching writes to a ref that is unique to the
call: two observers at once can each be late, but neither can mistake the other's older fetch for
its own.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass

from remit.core.gitfacts import (
    MainObservation,
    MatchedBy,
    RepositoryCode,
    RepositoryRefusal,
    ShipObservation,
    redact_url,
)
from remit.machine.git import GitRun, Trust, failed
from remit.repository.host import Host, sha_refusal
from remit.repository.patches import PatchIdentity, patch_identity
from remit.repository.remotes import Upstream, remote_said, remote_url, ssh_settings

_MOVE_TRIES = 5
_TOO_LARGE = RepositoryCode.OUTPUT_TOO_LARGE
_FIRST_PARENT_LIMIT = 10_000


def observe_main(
    host: Host, upstream: Upstream, accept_rewrite: bool
) -> MainObservation | RepositoryRefusal:
    """Fetch the remote's main and record it; see `GitRepository.observe_main`."""
    operation = "observe main"
    if host.may_deepen():
        return RepositoryRefusal(
            RepositoryCode.SHALLOW_CLONE,
            f"{operation}: {host.common_dir} is a shallow clone, so ancestry cannot be trusted",
            "git fetch --unshallow",
            {"path": str(host.common_dir)},
        )
    at = (upstream, accept_rewrite)
    return host.looks.look(at, lambda: _observe(host, upstream, accept_rewrite))


def _observe(
    host: Host, upstream: Upstream, accept_rewrite: bool
) -> MainObservation | RepositoryRefusal:
    """Observe on behalf of all who wait for it; once more where another process was faster."""
    url = remote_url(host, upstream.remote, "observe main")
    if isinstance(url, RepositoryRefusal):
        return url
    seen: MainObservation | RepositoryRefusal | None = None
    for _ in range(_MOVE_TRIES):
        seen = _observe_once(host, upstream, redact_url(url), accept_rewrite)
        if not isinstance(seen, RepositoryRefusal) or seen.code is not RepositoryCode.REF_LOCKED:
            return seen
    assert seen is not None
    return seen


def _observe_once(
    host: Host, upstream: Upstream, url: str, accept_rewrite: bool
) -> MainObservation | RepositoryRefusal:
    operation = "observe main"
    previous = host.read_ref(upstream.observed_ref, operation)
    if isinstance(previous, RepositoryRefusal):
        return previous
    incoming = f"refs/remit/incoming/{os.getpid()}-{secrets.token_hex(8)}"
    main_sha = _fetch(host, upstream, incoming, operation)
    if isinstance(main_sha, RepositoryRefusal):
        return main_sha
    seen = _judged(host, upstream, url, accept_rewrite, (previous, main_sha))
    moved = isinstance(seen, MainObservation) and previous != main_sha
    refusal = _noted(host, upstream, incoming, (previous, main_sha) if moved else None)
    return refusal or seen


def _judged(
    host: Host,
    upstream: Upstream,
    url: str,
    accept_rewrite: bool,
    mains: tuple[str | None, str],
) -> MainObservation | RepositoryRefusal:
    """What the main that was fetched is to the one before."""
    operation = "observe main"
    previous, main_sha = mains
    rewritten = False
    if previous is not None and previous != main_sha:
        contained = host.is_ancestor(previous, main_sha, operation)
        if isinstance(contained, RepositoryRefusal):
            return contained
        rewritten = not contained
    if rewritten and previous is not None:
        refusal = _keep_both(host, upstream, previous, main_sha, operation)
        if refusal is not None:
            return refusal
        if not accept_rewrite:
            return _rewritten(upstream, url, previous, main_sha, operation)
    ref = upstream.remote_ref
    return MainObservation(upstream.remote, url, ref, main_sha, previous, rewritten)


def _noted(
    host: Host, upstream: Upstream, incoming: str, moved: tuple[str | None, str] | None
) -> RepositoryRefusal | None:
    """Drop the ref of this call, and note where main went from where it was seen before."""
    operation = "observe main"
    dropped = f"option no-deref\ndelete {incoming}\n"
    if moved is None:
        done = host.run(["update-ref", "--stdin"], operation, stdin=dropped.encode())
        return done if isinstance(done, RepositoryRefusal) else None
    before, now = moved
    told = f"option no-deref\nupdate {upstream.observed_ref} {now} {before or host.zero}\n{dropped}"
    args = ["update-ref", "--create-reflog", "-m", operation, "--stdin"]
    done = host.run(args, operation, stdin=told.encode())
    if isinstance(done, RepositoryRefusal):
        host.move_ref(incoming, "", None, operation)
        return done
    return None


def _fetch(
    host: Host, upstream: Upstream, incoming: str, operation: str
) -> str | RepositoryRefusal:
    """Fetch main into a ref of this call alone, and return the commit that it names."""
    args = ["-c", f"remote.{upstream.remote}.followRemoteHEAD=never", "fetch", "--quiet"]
    args += ["--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-prune"]
    args += ["--refmap=", "--end-of-options", upstream.remote]
    args += [f"+{upstream.remote_ref}:{incoming}"]
    extra = ssh_settings(host, operation)
    if isinstance(extra, RepositoryRefusal):
        return extra
    done = host.run(args, operation, trust=Trust.PERSON, network=True, extra=extra)
    if isinstance(done, RepositoryRefusal):
        return _why_no_fetch(host, upstream, done, extra, operation)
    sha = host.read_ref(incoming, operation)
    if isinstance(sha, RepositoryRefusal):
        return sha
    if sha is None:
        return failed(operation, f"{incoming} vanished after the fetch", "")
    if refusal := host.require_commit(sha, operation):
        host.move_ref(incoming, "", None, operation)
        return refusal
    return sha


def _why_no_fetch(
    host: Host,
    upstream: Upstream,
    fetch: RepositoryRefusal,
    extra: dict[str, str],
    operation: str,
) -> RepositoryRefusal:
    """Tell an absent main from an unreachable remote by asking the remote once more."""
    if fetch.code in (
        RepositoryCode.GIT_MISSING,
        RepositoryCode.GIT_TIMEOUT,
        RepositoryCode.REF_LOCKED,
    ):
        return fetch
    args = ["ls-remote", "--exit-code", "--end-of-options", upstream.remote, upstream.remote_ref]
    asked = host.run(args, operation, trust=Trust.PERSON, network=True, answers=(0, 2), extra=extra)
    if isinstance(asked, RepositoryRefusal):
        return remote_said(upstream, asked, operation)
    if asked.exit_code == 2:
        return RepositoryRefusal(
            RepositoryCode.MAIN_ABSENT,
            f"{operation}: {upstream.remote_ref} is not on the remote {upstream.remote!r}",
            "push the branch, or configure the name of the main branch",
            {"remote": upstream.remote, "ref": upstream.remote_ref},
        )
    return fetch


def _keep_both(
    host: Host, upstream: Upstream, old: str, new: str, operation: str
) -> RepositoryRefusal | None:
    """Keep the replaced and the replacing main under refs that clean-up never drops."""
    stem = f"refs/remit/rewritten/{upstream.remote}/{upstream.main}"
    for sha in (old, new):
        refusal = host.keep_refs(sha, operation, f"{stem}/{sha}")
        if refusal is not None:
            return refusal
    return None


def _rewritten(
    upstream: Upstream, url: str, old: str, new: str, operation: str
) -> RepositoryRefusal:
    return RepositoryRefusal(
        RepositoryCode.MAIN_REWRITTEN,
        f"{operation}: {upstream.remote_ref} of {upstream.remote!r} is {new}, which does not "
        f"contain {old}, the main observed before",
        "find out who rewrote main; then 'remit observe --accept-rewrite'. Both are kept",
        {
            "previous_main_sha": old,
            "main_sha": new,
            "remote": upstream.remote,
            "ref": upstream.remote_ref,
            "url": url,
        },
    )


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What was reviewed, and the main that was last observed before it landed."""

    head: str
    base: str
    main_before: str


def observe_ship(
    host: Host, upstream: Upstream, sha: str, reviewed: Reviewed, accept_rewrite: bool
) -> ShipObservation | RepositoryRefusal:
    """Observe that `sha` is the reviewed change on main; see `GitRepository.observe_ship`."""
    operation = "observe ship"
    for name in (sha, reviewed.head, reviewed.base, reviewed.main_before):
        if refusal := sha_refusal(name, operation):
            return refusal
    main = observe_main(host, upstream, accept_rewrite)
    if isinstance(main, RepositoryRefusal):
        return main
    for name in (sha, reviewed.head, reviewed.base, reviewed.main_before):
        if refusal := host.require_commit(name, operation):
            return refusal
    merged = host.is_ancestor(sha, main.main_sha, operation)
    if isinstance(merged, RepositoryRefusal):
        return merged
    if not merged:
        return RepositoryRefusal(
            RepositoryCode.COMMIT_UNMERGED,
            f"{operation}: {sha} is not within {main.ref} of {main.remote!r} at {main.main_sha}",
            "merge and push it, then observe again",
            {"sha": sha, "main_sha": main.main_sha, "remote": main.remote, "ref": main.ref},
        )
    matched = _match(host, sha, reviewed, operation)
    if isinstance(matched, RepositoryRefusal):
        return matched
    landed = _landed(host, sha, main.main_sha, reviewed.main_before, operation)
    if isinstance(landed, RepositoryRefusal):
        return landed
    base, how, patch_id = matched
    return ShipObservation(
        observed_commit_sha=sha,
        main_sha=main.main_sha,
        remote=main.remote,
        url=main.url,
        ref=main.ref,
        base_sha=base,
        head_sha=sha,
        reviewed_head_sha=reviewed.head,
        matched_by=how,
        patch_id=patch_id,
        landed_sha=landed,
    )


def _match(
    host: Host, sha: str, reviewed: Reviewed, operation: str
) -> tuple[str, MatchedBy, str] | RepositoryRefusal:
    """Tie the shipped commit to the reviewed change; return its base, how, and the patch id."""
    base = host.merge_base(sha, reviewed.main_before, operation)
    if isinstance(base, RepositoryRefusal):
        return base
    if base == sha:
        return RepositoryRefusal(
            RepositoryCode.BASE_UNUSABLE,
            f"{operation}: main_before {reviewed.main_before} already contains {sha}; expected a "
            "main observed before the change landed",
            "give the main that was observed when the work was leased",
            {"sha": sha, "main_before": reviewed.main_before},
        )
    if sha == reviewed.head:
        own = patch_identity(host, base, sha, operation)
        if isinstance(own, RepositoryRefusal):
            # The name alone ties it; a diff too large to name is no reason to refuse.
            return (base, MatchedBy.SHA, "") if own.code is _TOO_LARGE else own
        return base, MatchedBy.SHA, own.patch_id
    wanted = patch_identity(host, reviewed.base, reviewed.head, operation)
    if isinstance(wanted, RepositoryRefusal):
        return wanted
    tried: list[PatchIdentity] = []
    for candidate in _candidate_bases(host, sha, base, reviewed, operation):
        found = patch_identity(host, candidate, sha, operation)
        if isinstance(found, RepositoryRefusal):
            return found
        if wanted.verbatim and found == wanted:
            return candidate, MatchedBy.PATCH_ID, found.patch_id
        tried.append(found)
    near = any(item.patch_id == wanted.patch_id for item in tried) and wanted.patch_id != ""
    return RepositoryRefusal(
        RepositoryCode.PATCH_DIFFERS,
        f"{operation}: {sha} is not the reviewed head {reviewed.head}, and its change is not the "
        "reviewed one" + (" (they differ in white space only)" if near else ""),
        "have the change that landed reviewed, or land the reviewed one",
        {
            "sha": sha,
            "reviewed_head": reviewed.head,
            "reviewed_patch_id": wanted.patch_id,
            "found_patch_ids": " ".join(sorted({item.patch_id for item in tried})),
        },
    )


def _candidate_bases(
    host: Host, sha: str, base: str, reviewed: Reviewed, operation: str
) -> list[str]:
    """Where the landed change can have started: the main before, or as many commits back.

    Others may have pushed between the last observation and the landing; then the change is the
    last commit (a squash or a merge) or the last n commits (a rebase of n) of `sha`.
    """
    counted = host.ask(["rev-list", "--count", f"{reviewed.base}..{reviewed.head}"], operation)
    length = int(counted.text) if isinstance(counted, GitRun) else 1
    bases = [base]
    for back in (length, 1):
        parsed = host.ask(
            ["rev-parse", "--verify", "--quiet", f"{sha}~{back}"], operation, answers=(0, 1, 128)
        )
        if not isinstance(parsed, GitRun) or parsed.exit_code != 0 or parsed.text in bases:
            continue
        if host.is_ancestor(base, parsed.text, operation) is True:
            bases.append(parsed.text)
    return bases


def _landed(
    host: Host, sha: str, main_sha: str, main_before: str, operation: str
) -> str | RepositoryRefusal | None:
    """Find the first-parent commit of main that brought `sha` in, by bisection."""
    args = ["rev-list", "--first-parent", "--reverse", f"--max-count={_FIRST_PARENT_LIMIT + 1}"]
    done = host.run([*args, main_sha, f"^{main_before}"], operation)
    if isinstance(done, RepositoryRefusal):
        return done
    line = done.text.split()
    if sha in line:
        return sha
    if not line or len(line) > _FIRST_PARENT_LIMIT:
        return None
    low, high = 0, len(line) - 1
    while low < high:
        middle = (low + high) // 2
        inside = host.is_ancestor(sha, line[middle], operation)
        if isinstance(inside, RepositoryRefusal):
            return inside
        low, high = (low, middle) if inside else (middle + 1, high)
    return line[low]
