"""A ref of a git remote as a destination: one push, under a lease, with a marker of its own.

The payload is JSON with ``commit`` and ``expected``: which commit the ref shall name, and which it
must name before (empty: none). One atomic push moves the ref and the effect's marker, a ref below
``refs/remit/`` that holds a small JSON blob (effect id, digest, manifest id, commit, fence). Each
goes with ``--force-with-lease``: the ref's against ``expected``, the marker's against what was read
just before. So the server refuses a push that was overtaken, however late it comes:

- key: the marker of a pushed effect is there for good, and no push goes over it;
- fence: a look-up can move the marker of an effect that is not there to a higher fence, and every
  push that had read the marker before then fails its lease.

The remote must take atomic pushes and refs of such a name. Looking up is ``ls-remote`` and a fetch of
what it names; a ref that no longer contains the commit is a difference. Git runs by argument lists
through ``machine.git``, with the person's own credentials and without hooks.
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from remit.core.gitfacts import RepositoryRefusal
from remit.core.refusals import Code
from remit.destinations.expiry import Clock, refuse_ended, wall_us
from remit.destinations.naming import short
from remit.machine.git import Git, GitLimits, GitRun, Trust
from remit.ports.destination import (
    Answered,
    Enforced,
    LookUp,
    NoAnswer,
    NotSent,
    Reason,
    Request,
    Response,
    Result,
    Seen,
    unavailable,
)
from remit.ports.failures import RemitError

_SHA = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
_REF = re.compile(r"refs/[A-Za-z0-9_][A-Za-z0-9_.+@/-]*[A-Za-z0-9_]\Z")
_MARKERS = "refs/remit/"
_ONCE = ("-c", "http.version=HTTP/1.1", "-c", "http.extraHeader=Connection: close")
"""Over HTTP git's library sends a request again by itself, where a connection that it had used before
ends without an answer. On a new connection for each request it does not."""
_WITHIN = ("merge-base", "--is-ancestor")


@dataclass(frozen=True, slots=True)
class Marker:
    """What stands on the remote under an effect's marker; ``oid`` is empty where nothing does."""

    oid: str = ""
    ref_now: str = ""
    fence: int = 0
    effect_id: str = ""
    digest: str = ""
    manifest_id: str = ""
    commit: str = ""

    def text(self) -> bytes:
        """The blob."""
        names = ("fence", "effect_id", "digest", "manifest_id", "commit")
        return json.dumps({n: getattr(self, n) for n in names}, sort_keys=True).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class GitDestination:
    """``ref`` of ``remote``, pushed from the repository ``home``, which has the commits."""

    name: str
    home: Path
    remote: str
    ref: str
    declared: Enforced
    git: Git = field(default_factory=Git)
    now: Clock = wall_us

    def __post_init__(self) -> None:
        if not _REF.match(self.ref) or ".." in self.ref or self.remote.startswith("-"):
            raise RemitError(
                f"cannot push to {self.ref!r} of {self.name}: expected a full name of a ref",
                "write it as refs/heads/main",
                {"ref": self.ref},
                code=Code.BAD_INPUT,
            )

    @property
    def enforced(self) -> Enforced:
        """Key and fence by leases that the server compares; consistency and bounds as declared."""
        return replace(
            self.declared,
            idempotency_key=True,
            key_retention_ms=None,
            fence=True,
            lookup=True,
            request_expiry=False,
            compensation="",
        )

    def send(self, request: Request) -> Response:
        """Push the commit and the marker in one."""
        if request.compensates:
            raise NotSent(f"{self.name} undoes nothing", "push a commit that reverts the first")
        what = f"push {request.effect_id} to {self.name}"
        refuse_ended(request, self.now(), self.name)
        commit, expected = asked_for(request, what)
        git = Bounded(self, request.timeout_ms)
        try:
            follows(git, commit, expected)
            stands = self._marker(git, short(request.key))
        except GitError as error:
            raise NotSent(f"cannot {what}: {error}", "see the remote") from None
        if stands.fence > request.fence:
            raise Answered(
                Reason.STALE_FENCE,
                f"cannot {what}: fence {request.fence} is below the confirmed {stands.fence}",
                "this attempt is over; look the effect up",
            )
        if stands.commit:
            return _replay(request, commit, stands, what)
        wanted = Marker(
            fence=request.fence,
            effect_id=request.effect_id,
            digest=request.digest,
            manifest_id=request.manifest_id,
            commit=commit,
        )
        try:
            blob = git.run("hash-object", "-w", "--stdin", stdin=wanted.text()).text
        except GitError as error:
            raise NotSent(f"cannot {what}: {error}", "see the repository") from None
        self._push(git, what, stands, short(request.key), blob, (commit, expected))
        return Response(commit, replayed=False)

    def look_up(self, look_up: LookUp) -> Seen:
        """Read the marker, confirming a fence first, and see that the ref contains the commit."""
        what = f"look {look_up.effect_id} up in {self.name}"
        git = Bounded(self, look_up.timeout_ms)
        try:
            try:
                return self._seen(git, look_up, what)
            except GitError:  # it was killed, or found a lock; to look twice changes nothing
                return self._seen(git, look_up, what)
        except (GitError, NoAnswer, Answered) as error:
            return unavailable(f"cannot {what}: {error}")

    def _seen(self, git: Bounded, look_up: LookUp, what: str) -> Seen:
        mark, consistent = short(look_up.key), self.declared.lookup_consistent
        stands = self._marker(git, mark)
        if look_up.fence > stands.fence and not stands.commit:
            raised = replace(stands, fence=look_up.fence, effect_id=look_up.effect_id)
            blob = git.run("hash-object", "-w", "--stdin", stdin=raised.text()).text
            self._push(git, what, stands, mark, blob)
            stands = self._marker(git, mark)
        if not stands.commit:
            return Seen(Result.NONE, 0, consistent=consistent, confirmed_fence=stands.fence)
        values = (
            ("effect_id", stands.effect_id),
            ("digest", stands.digest),
            ("manifest_id", stands.manifest_id),
            ("commit", stands.commit),
            ("ref_now", stands.ref_now),
        )
        kept = self.contains(git, stands.commit, stands.ref_now)
        lost = () if kept else (f"{self.ref} lacks {stands.commit}",)
        return Seen(Result.FOUND, 1, values, lost, consistent, stands.fence)

    def _push(
        self,
        git: Bounded,
        what: str,
        stands: Marker,
        mark: str,
        blob: str,
        move: tuple[str, str] | None = None,
    ) -> None:
        """One atomic push of the marker, and of the ref where it moves."""
        leases = [f"--force-with-lease={_MARKERS}{mark}:{stands.oid}"]
        specs = [f"{blob}:{_MARKERS}{mark}"]
        if move:
            leases.append(f"--force-with-lease={self.ref}:{move[1]}")
            specs.append(f"{move[0]}:{self.ref}")
        pushed(git, what, self.remote, leases, specs, atomic=True)

    def _marker(self, git: Bounded, mark: str) -> Marker:
        """What the remote has under the marker and the ref, asked of it just now."""
        name = _MARKERS + mark
        told = git.run("ls-remote", "--refs", "--", self.remote, name, self.ref, network=True).text
        refs = {ref: oid for oid, _, ref in (line.partition("\t") for line in told.splitlines())}
        ref_now = refs.get(self.ref, "")
        if name not in refs:
            return Marker(ref_now=ref_now)
        oid = refs[name]
        # What this repository has pushed it holds; by its name a blob is the same everywhere.
        held = git.run("cat-file", "blob", oid, answers=(0, 1, 128))
        if held.exit_code:
            git.run(
                "fetch", "--no-tags", "--no-write-fetch-head", "--", self.remote, name, network=True
            )
            held = git.run("cat-file", "blob", oid)
        try:
            said: dict[str, Any] = json.loads(held.stdout)
            texts = {n: str(said[n]) for n in ("effect_id", "digest", "manifest_id", "commit")}
            return Marker(oid, ref_now, int(said["fence"]), **texts)
        except (ValueError, TypeError, KeyError):
            raise GitError(f"{name} is no marker of remit's") from None

    def contains(self, git: Bounded, commit: str, now: str) -> bool:
        """Whether the ref, which names ``now``, has the commit within it."""
        if not now or now == commit:
            return bool(now)
        git.run(
            "fetch", "--no-tags", "--no-write-fetch-head", "--", self.remote, self.ref, network=True
        )
        return git.run(*_WITHIN, commit, now, answers=(0, 1)).exit_code == 0


class GitError(Exception):
    """Git, or what it gave, did not say what was asked."""


class Bounded:
    """Runs git for one call, within the time that the whole call has."""

    def __init__(self, destination: GitDestination, timeout_ms: int) -> None:
        self._end = time.monotonic() + timeout_ms / 1_000
        self._of = destination

    def run(
        self, *args: str, stdin: bytes = b"", network: bool = False, answers: tuple[int, ...] = (0,)
    ) -> GitRun:
        """Run git once, within what is left. Raises ``GitError``."""
        left = max(1, int((self._end - time.monotonic()) * 1_000))
        limits = self._of.git.limits
        bounds = GitLimits(
            min(left, limits.local_ms), min(left, limits.network_ms), limits.output_bytes
        )
        done = replace(self._of.git, limits=bounds).run(
            args,
            cwd=self._of.home,
            operation=self._of.name,
            trust=Trust.PERSON if network else Trust.ISOLATED,
            answers=answers,
            stdin=stdin,
            network=network,
        )
        if isinstance(done, RepositoryRefusal):
            raise GitError(done.message)
        return done


def pushed(
    git: Bounded, what: str, remote: str, leases: list[str], specs: list[str], *, atomic: bool
) -> None:
    """Push once, under leases. Raises ``NoAnswer`` and ``Answered``."""
    how = ["--porcelain", *(["--atomic"] if atomic else []), "--no-verify"]
    try:
        done = git.run(
            *_ONCE, "push", *how, *leases, "--", remote, *specs, network=True, answers=(0, 1)
        )
    except GitError as error:
        raise NoAnswer(f"cannot {what}: {error}", "look it up") from None
    if done.exit_code:
        refused = [line for line in done.text.splitlines() if line.startswith("!")]
        said = "; ".join(refused)[:400].replace("\t", " ")
        if not refused:
            raise NoAnswer(f"cannot {what}: git push failed", "look it up")
        stale = "stale info" in said
        raise Answered(
            Reason.STALE_FENCE if stale else Reason.REJECTED,
            f"cannot {what}: {said}",
            "the ref or the marker has moved; look the effect up" if stale else "see why",
        )


def asked_for(request: Request, what: str) -> tuple[str, str]:
    """Which commit, over which."""
    try:
        said = json.loads(request.payload)
        commit, expected = str(said["commit"]), str(said["expected"])
    except (ValueError, TypeError, KeyError):
        commit, expected = "", "?"
    if not _SHA.match(commit) or (expected and not _SHA.match(expected)):
        raise NotSent(
            f'cannot {what}: expected a payload {{"commit": SHA, "expected": SHA or ""}}',
            "name full commit ids",
        )
    return commit, expected


def follows(git: Bounded, commit: str, expected: str) -> None:
    """See that the commit is here and goes on from the expected one, so that a push drops none."""
    if not expected:
        git.run("cat-file", "-e", f"{commit}^{{commit}}")
    elif git.run(*_WITHIN, expected, commit, answers=(0, 1)).exit_code:
        raise GitError(f"{commit} does not go on from {expected}")


def _replay(request: Request, commit: str, stands: Marker, what: str) -> Response:
    if stands.digest == request.digest:
        return Response(commit, replayed=True)
    raise Answered(
        Reason.KEY_REUSED,
        f"cannot {what}: its marker has digest {stands.digest}; the request {request.digest}",
        "two contents for one effect: decide which one it is",
    )
