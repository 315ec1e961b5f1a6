"""Bring an approved head onto an observed main: a merge or a rebase made of objects alone.

There is no work tree, no index, no hook, no filter and no rerere. Merges are made by `git merge-tree`
in an empty repository of remit's own, which writes into the host's object store and reads no
configuration but the isolated one, so that neither the person's merge drivers nor anything of the guest
plays a part. Commits are written byte by byte: a rebased one keeps author, message and encoding, and
loses what no longer holds for it (its signature). The committer is the person's configured identity,
and the time is given by the caller, so that the same inputs make the same commit.

Nothing is pushed here. What was made is kept under a ref of remit's, so that clean-up drops nothing
that was tested.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from remit.core.gitfacts import (
    Brought,
    Clash,
    RepositoryCode,
    RepositoryRefusal,
    Way,
    is_branch_name,
)
from remit.machine.git import Trust, failed
from remit.repository import branches as attempt_branches
from remit.repository.blank import Blank, blank
from remit.repository.host import Host, sha_refusal
from remit.repository.observing import Reviewed
from remit.repository.patches import PATH_LIMIT_COUNT, patch_identity, path_text
from remit.repository.remotes import Upstream, one_url, remote_url

OLDEST_GIT = (2, 38)
"""`git merge-tree --write-tree` is there from this version on."""

COMMIT_LIMIT_COUNT = 1_000
"""Most commits that are rebased."""

_VERSION = re.compile(r"git version (\d+)\.(\d+)")
_DROPPED = (b"gpgsig", b"gpgsig-sha256", b"mergetag")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What shall be brought onto main: the reviewed change, how, and at what time (seconds)."""

    item: str
    head: str
    base: str
    main: str
    way: Way
    seconds: int
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Bench(Blank):
    """Where merges are made, and who commits them."""

    committer: bytes


def bring_onto(
    host: Host, upstream: Upstream, wanted: Wanted
) -> Brought | Clash | RepositoryRefusal:
    """Make what would land; see `GitRepository.bring_onto`."""
    operation = f"integrate {wanted.item}"
    for sha in (wanted.head, wanted.base, wanted.main):
        if refusal := sha_refusal(sha, operation) or host.require_commit(sha, operation):
            return refusal
    refusal = _split(host, upstream, operation) or _moved(host, upstream, wanted)
    if refusal is not None:
        return refusal
    for older, newer, way in (
        (wanted.head, wanted.main, Way.THERE),
        (wanted.main, wanted.head, Way.FAST_FORWARD),
    ):
        within = host.is_ancestor(older, newer, operation)
        if isinstance(within, RepositoryRefusal):
            return within
        if within:
            return _kept(host, wanted, way, wanted.head, operation)
    return _made(host, wanted, operation)


def _made(host: Host, wanted: Wanted, operation: str) -> Brought | Clash | RepositoryRefusal:
    refusal = _old(host, operation)
    committer = _committer(host, wanted.seconds, operation) if refusal is None else refusal
    if isinstance(committer, RepositoryRefusal):
        return committer
    with blank(host, operation) as room:
        if isinstance(room, RepositoryRefusal):
            return room
        bench = _Bench(host, room.room, operation, committer)
        make = _rebased if wanted.way is Way.REBASE else _merged
        commit = make(bench, wanted)
    if not isinstance(commit, str):
        return commit
    return _kept(host, wanted, wanted.way, commit, operation)


def _kept(
    host: Host, wanted: Wanted, way: Way, commit: str, operation: str
) -> Brought | RepositoryRefusal:
    """Keep what was made, and say which commit of it ships the reviewed change."""
    tree = host.tree(commit, operation)
    if isinstance(tree, RepositoryRefusal):
        return tree
    ref = f"refs/remit/integrated/{wanted.item}/{commit}"
    ships = commit
    if way in (Way.MERGE, Way.REBASE):
        reviewed = patch_identity(host, wanted.base, wanted.head, operation)
        made = patch_identity(host, wanted.main, commit, operation)
        for one in (reviewed, made):
            if isinstance(one, RepositoryRefusal):
                return one
        if reviewed != made:
            if way is Way.REBASE:
                return _differs(wanted, commit, operation)
            ships = wanted.head
    refusal = host.keep_refs(commit, operation, ref)
    if refusal is not None:
        return refusal
    return Brought(way, wanted.head, wanted.main, commit, tree, ships, ref)


def _differs(wanted: Wanted, commit: str, operation: str) -> RepositoryRefusal:
    return RepositoryRefusal(
        RepositoryCode.PATCH_DIFFERS,
        f"{operation}: rebased onto {wanted.main}, the change of {wanted.head} is another one than"
        " the reviewed (main changed lines beside it)",
        "merge instead, which keeps the reviewed commit: --merge; or have it rebased and reviewed",
        {"head": wanted.head, "main_sha": wanted.main, "commit": commit},
    )


# Merging.


def _merged(bench: _Bench, wanted: Wanted) -> str | Clash | RepositoryRefusal:
    tree = _tree(bench, wanted, wanted.main, wanted.head, wanted.head, wanted.base)
    if not isinstance(tree, str):
        return tree
    before = bench.host.tree(wanted.main, bench.operation)
    if isinstance(before, RepositoryRefusal):
        return before
    if tree == before:
        return _nothing(bench, wanted)
    said = f"Merge {wanted.item}\n\nApproved was {wanted.head}.\n"
    return _write(
        bench, tree, (wanted.main, wanted.head), b"author " + bench.committer, [], said.encode()
    )


def _tree(
    bench: _Bench, wanted: Wanted, ours: str, theirs: str, commit: str, base: str
) -> str | Clash | RepositoryRefusal:
    """The tree of a merge of two commits, or where they clash."""
    args = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs]
    done = bench.run(args, answers=(0, 1))
    if isinstance(done, RepositoryRefusal):
        return done
    tree, *paths = done.stdout.split(b"\0")
    if done.exit_code == 0:
        return tree.decode("ascii")
    names = [path.decode("utf-8", "surrogateescape") for path in paths if path]
    shown = tuple(path_text(name) for name in names[:PATH_LIMIT_COUNT])
    return Clash(wanted.head, wanted.main, base, commit, shown, len(names))


# Rebasing.


def _rebased(bench: _Bench, wanted: Wanted) -> str | Clash | RepositoryRefusal:
    """Put each commit of the change onto main, in order; one that changes nothing there is left out.

    Git of this age names no merge base to `merge-tree`. So main's tree is given the parent that the
    commit has: then that parent is the base of both, as in a cherry-pick.
    """
    listed = _commits(bench, wanted)
    if isinstance(listed, RepositoryRefusal):
        return listed
    onto = wanted.main
    for commit, parent in listed:
        base = bench.run(["rev-parse", "--verify", f"{onto}^{{tree}}"])
        if isinstance(base, RepositoryRefusal):
            return base
        stand_in = _write(bench, base.text, (parent,), b"author " + bench.committer, [], b"base\n")
        if not isinstance(stand_in, str):
            return stand_in
        tree = _tree(bench, wanted, stand_in, commit, commit, parent)
        if not isinstance(tree, str):
            return tree
        if tree == base.text:
            continue
        raw = bench.run(["cat-file", "commit", commit])
        if isinstance(raw, RepositoryRefusal):
            return raw
        author, others, said = _parts(raw.stdout)
        written = _write(bench, tree, (onto,), author, others, said)
        if not isinstance(written, str):
            return written
        onto = written
    return _nothing(bench, wanted) if onto == wanted.main else onto


def _commits(bench: _Bench, wanted: Wanted) -> list[tuple[str, str]] | RepositoryRefusal:
    """The commits that main lacks, oldest first, each with its one parent."""
    args = ["rev-list", "--topo-order", "--reverse", "--parents"]
    done = bench.run([*args, wanted.head, f"^{wanted.main}"])
    if isinstance(done, RepositoryRefusal):
        return done
    lines = [line.split() for line in done.text.splitlines()]
    found = [(line[0], line[1]) for line in lines if len(line) == 2]
    if len(found) == len(lines) and 0 < len(lines) <= COMMIT_LIMIT_COUNT:
        return found
    return RepositoryRefusal(
        RepositoryCode.HISTORY_NOT_LINEAR,
        f"{bench.operation}: {wanted.head} has {len(lines)} commits that main lacks,"
        f" {len(lines) - len(found)} of them merges or roots; expected 1 to {COMMIT_LIMIT_COUNT}"
        " in a line",
        "merge instead: --merge",
        {"head": wanted.head, "main_sha": wanted.main},
    )


def _parts(raw: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Author line, other header lines that still hold, and message of a commit."""
    header, _, said = raw.partition(b"\n\n")
    author, others, dropping = b"", [], False
    for line in header.split(b"\n"):
        name = line.partition(b" ")[0]
        dropping = (dropping and line.startswith(b" ")) or name in _DROPPED
        if name == b"author":
            author = line
        elif not dropping and name not in (b"tree", b"parent", b"committer"):
            others.append(line)
    return author, others, said


def _write(
    bench: _Bench,
    tree: str,
    parents: tuple[str, ...],
    author: bytes,
    others: list[bytes],
    said: bytes,
) -> str | RepositoryRefusal:
    """Write one commit object, checked by git on the way in."""
    lines = [b"tree " + tree.encode(), *(b"parent " + parent.encode() for parent in parents)]
    lines += [author, b"committer " + bench.committer, *others]
    body = b"\n".join(lines) + b"\n\n" + said
    done = bench.run(["hash-object", "-t", "commit", "-w", "--stdin"], stdin=body)
    return done if isinstance(done, RepositoryRefusal) else done.text


# What must hold before anything is made.


def _old(host: Host, operation: str) -> RepositoryRefusal | None:
    done = host.ask(["version"], operation)  # one program for as long as this value is
    if isinstance(done, RepositoryRefusal):
        return done
    found = _VERSION.match(done.text)
    if found is not None and (int(found[1]), int(found[2])) >= OLDEST_GIT:
        return None
    wanted = ".".join(str(part) for part in OLDEST_GIT)
    return RepositoryRefusal(
        RepositoryCode.GIT_TOO_OLD,
        f"{operation}: this is {done.text[:80]}, expected {wanted} or newer, which merges without"
        " a work tree",
        "install a newer git; work that fast-forwards needs none",
        {"version": done.text[:80]},
    )


def _committer(host: Host, seconds: int, operation: str) -> bytes | RepositoryRefusal:
    """Who commits: the identity that the person's git is configured with, else remit's own."""
    parts = []
    for name, otherwise in (("user.name", "remit"), ("user.email", "remit@localhost")):
        found = host.config(name, operation)
        if isinstance(found, RepositoryRefusal):
            return found
        plain = re.sub(r"[\x00-\x1f\x7f<>]", "", found or "").strip()
        parts.append(plain or otherwise)
    identity = f"{parts[0]} <{parts[1]}> {max(0, seconds)} +0000"
    return identity.encode("utf-8", "surrogateescape")


def _split(host: Host, upstream: Upstream, operation: str) -> RepositoryRefusal | None:
    """Refuse a remote that is read from one place and pushed to another.

    What is observed there would say nothing of what was pushed.
    """
    fetched = remote_url(host, upstream.remote, operation)
    if isinstance(fetched, RepositoryRefusal):
        return fetched
    if one_url(host, upstream.remote, operation):
        return None
    shown = host.run(
        ["remote", "get-url", "--all", "--push", upstream.remote], operation, trust=Trust.PERSON
    )
    if isinstance(shown, RepositoryRefusal):
        return shown
    read = host.run(["remote", "get-url", "--all", upstream.remote], operation, trust=Trust.PERSON)
    if isinstance(read, RepositoryRefusal):
        return read
    if shown.text == read.text and "\n" not in read.text:
        return None
    return RepositoryRefusal(
        RepositoryCode.REMOTE_SPLIT,
        f"{operation}: the remote {upstream.remote!r} is pushed to another place than it is read"
        " from; expected one URL for both",
        "name a remote with one URL in .remit/config.toml",
        {"remote": upstream.remote},
    )


def _moved(host: Host, upstream: Upstream, wanted: Wanted) -> RepositoryRefusal | None:
    """Refuse where something was pushed to a branch of the attempt since it was reviewed."""
    usable = [name for name in wanted.branches if is_branch_name(name)]
    reviewed = Reviewed(wanted.head, wanted.base, wanted.main)
    return attempt_branches.moved_branch(host, upstream, wanted.head, reviewed, usable)


def _nothing(bench: _Bench, wanted: Wanted) -> RepositoryRefusal:
    return failed(
        bench.operation,
        f"{wanted.main} has all that {wanted.head} changes",
        "",
        RepositoryCode.NOTHING_LEFT,
        "see which commit brought it: 'remit ship ID --commit SHA'",
    )
