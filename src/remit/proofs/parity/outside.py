"""What lies outside both ledgers: a remote, a repository, a verifier, all in memory and all scripted.

They answer the ports that git and the built-in verifier answer in production. What they say depends on
the scenario and on the commit that they are asked about, never on who asks or in which order: so both
sides are given the same commits, the same main and the same findings, and what differs afterwards was
not given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from remit.core.gitfacts import (
    Brought,
    Clash,
    CloneMade,
    MainObservation,
    MatchedBy,
    ObjectSharing,
    RepositoryCode,
    RepositoryRefusal,
    ShipObservation,
    Takeover,
    Way,
    attempt_ref,
)
from remit.core.judging import judge, judge_repeats
from remit.core.rows import RowKind, RowRun, RowSpec, RunEnd
from remit.ports.destination import (
    Answered,
    Enforced,
    LookUp,
    NoAnswer,
    Reason,
    Request,
    Response,
    Result,
    Seen,
)
from remit.ports.outside import Found, RowFound
from remit.proofs.parity.scenario import Thing, Try

REMOTE: Final = "origin"
URL: Final = "memory:remote"
REF: Final = "refs/heads/main"

_GREEN: Final = RowRun(RunEnd.EXITED, 0, 10, executed=1)
_RED: Final = RowRun(RunEnd.EXITED, 1, 10, executed=1, failures=1)


def sha(*parts: object) -> str:
    """The name of something that git would name by its content."""
    text = "\n".join(str(part) for part in parts)
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


BASE: Final = sha("main", 0)
"""Main as it was at the beginning."""

MOVED: Final = sha("main", "moved")
"""Main after somebody else's commit."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that is known here: whose it is, and what lies below it."""

    sha: str
    item: str
    attempt: int
    base: str

    @property
    def tree(self) -> str:
        """The name of its tree."""
        return sha("tree", self.sha)


def refused(code: RepositoryCode, what: str) -> RepositoryRefusal:
    """A repository that cannot say what it was asked."""
    return RepositoryRefusal(code, f"cannot {what}", "look at the scenario")


@dataclass(slots=True)
class Remote:
    """The remote's main and every commit that anybody made.

    ``pushes`` lists what was asked to land, in order, for whoever counts; ``script`` gives an item's
    attempt.
    """

    script: Callable[[str, int], Try]
    commits: dict[str, Commit] = field(default_factory=dict)
    landed: dict[str, str] = field(default_factory=dict)
    effects: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    overtaken: set[str] = field(default_factory=set)
    pushes: list[str] = field(default_factory=list)

    def commit(self, item: str, attempt: int) -> Commit:
        """What the agent of an attempt commits; the same again for the same attempt."""
        made = Commit(sha("work", item, attempt), item, attempt, BASE)
        return self.commits.setdefault(made.sha, made)

    def main_for(self, head: str) -> str:
        """Main as whoever lands this change finds it."""
        known = self.commits.get(head)
        moved = known is not None and self.script(known.item, known.attempt).landing == "moved"
        return MOVED if moved else BASE

    def made_onto(self, head: str, onto: str) -> Commit:
        """The change of a commit, brought onto another main."""
        known = self.commits[head]
        if onto == known.base:
            return known
        made = Commit(sha("onto", onto, head), known.item, known.attempt, onto)
        self.made[made.sha] = head
        return self.commits.setdefault(made.sha, made)

    def land(self, effect: str, commit: str) -> None:
        """A push arrives; the same push again changes nothing, and is counted."""
        self.pushes.append(commit)
        self.effects[effect] = commit
        self.landed.setdefault(commit, self.made.get(commit, commit))


class ScriptedRepository:
    """``ports.outside.Repository`` over a remote in memory."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote

    def observe_main(self, *, accept_rewrite: bool = False) -> MainObservation | RepositoryRefusal:
        """Main, which is never rewritten here."""
        return MainObservation(REMOTE, URL, REF, BASE, BASE, accept_rewrite and False)

    def last_observed_main(self) -> str | RepositoryRefusal | None:
        """The beginning, from which every base is counted."""
        return BASE

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
        """A commit that landed, and whether it is the change that was reviewed."""
        known = self.remote.commits.get(sha)
        if known is None or sha not in self.remote.landed:
            return refused(RepositoryCode.COMMIT_UNMERGED, f"find {sha} on {REF}")
        if self.remote.landed[sha] != reviewed_head:
            return refused(RepositoryCode.PATCH_DIFFERS, f"find {reviewed_head} in {sha}")
        by = MatchedBy.SHA if sha == reviewed_head else MatchedBy.PATCH_ID
        return ShipObservation(
            sha, sha, REMOTE, URL, REF, known.base, sha, reviewed_head, by, known.tree, sha
        )

    def make_clone(
        self, attempt_id: str, directory: Path, branch: str
    ) -> CloneMade | RepositoryRefusal:
        """A clone that is nowhere."""
        ref = attempt_ref(attempt_id, "base")
        return CloneMade(str(directory), branch, BASE, URL, ref, ObjectSharing.OWN)

    def take_over(
        self, clone_dir: Path | None, head: str, attempt_id: str
    ) -> Takeover | RepositoryRefusal:
        """A commit that the agent of the attempt made."""
        known = self.remote.commits.get(head)
        if head == BASE:
            known = Commit(BASE, "", 0, BASE)
        if known is None:
            return refused(RepositoryCode.COMMIT_ABSENT, f"take {head} over")
        ref = attempt_ref(attempt_id, "head")
        return Takeover(attempt_id, head, known.base, BASE, (head,), False, ref, known.tree)


class ScriptedVerifier:
    """``ports.outside.Verifier``: what a row yields at a commit stands in the scenario.

    ``found_before`` counts how often an item was verified before, so that a later verification can
    find something else, whoever asks for it.
    """

    def __init__(self, remote: Remote, found_before: Callable[[str], int]) -> None:
        self.remote = remote
        self.found_before = found_before

    def verify(
        self,
        shipped: str,
        base: str,
        rows: Sequence[tuple[str, RowSpec]],
        scope: Sequence[str],
        artifacts: Sequence[str],
        progress: Callable[[str, str], None] | None = None,
        repeats: int = 1,
    ) -> Found | RepositoryRefusal:
        """Each row as scripted; before a commit has landed only ``red`` rows fail."""
        known = self.remote.commits.get(shipped)
        if known is None:
            return refused(RepositoryCode.COMMIT_ABSENT, f"check {shipped} out")
        script = self.remote.script(known.item, known.attempt)
        if shipped in self.remote.landed:
            finds = script.findings
            finding = finds[min(self.found_before(known.item), len(finds) - 1)]
        else:
            finding = "gap" if script.landing == "red" else "verified"
        return Found(tuple(_row(name, spec, finding) for name, spec in rows), "PASS", (), ())


class ScriptedLanding:
    """``ports.outside.Landing``: what would land, or where it clashes, as scripted."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote

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
        """The change as it is, or onto a main that moved."""
        known = self.remote.commits.get(head)
        if known is None:
            return refused(RepositoryCode.COMMIT_ABSENT, f"find {head}")
        if self.remote.script(known.item, known.attempt).landing == "conflict":
            return Clash(head, main, base, head, ("thing",), 1)
        made = self.remote.made_onto(head, self.remote.main_for(head))
        how = way if made.sha != head else Way.FAST_FORWARD
        ref = f"refs/remit/landing/{item}"
        return Brought(how, head, main, made.sha, made.tree, made.sha, ref)


class ScriptedMain:
    """``ports.destination.Destination``: main of the remote, which keeps markers and their fences."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote

    @property
    def name(self) -> str:
        """What it is called."""
        return REMOTE

    @property
    def enforced(self) -> Enforced:
        """Everything that a remote with markers does."""
        return Enforced(
            "git:origin/main", idempotency_key=True, fence=True, lookup=True, lookup_consistent=True
        )

    def send(self, request: Request) -> Response:
        """A push arrives, though its answer may not; one that raced with another is refused once."""
        asked = json.loads(request.payload)
        commit = self.remote.commits[asked["commit"]]
        landing = self._landing(commit)
        if landing == "raced" and request.effect_id not in self.remote.overtaken:
            self.remote.overtaken.add(request.effect_id)
            raise Answered(Reason.STALE_FENCE, "main moved")
        self.remote.land(request.effect_id, commit.sha)
        if landing == "unanswered":
            raise NoAnswer("nobody answered", "look it up")
        return Response(commit.sha, replayed=False)

    def look_up(self, look_up: LookUp) -> Seen:
        """What main shows of a commit."""
        landed = self.remote.effects.get(look_up.effect_id, "")
        raced = look_up.effect_id in self.remote.overtaken
        shown = (("ref_now", landed or (MOVED if raced else BASE)),)
        if not landed:
            return Seen(Result.NONE, 0, shown, consistent=True, confirmed_fence=look_up.fence)
        values = (("commit", landed), ("manifest_id", landed), *shown)
        return Seen(Result.FOUND, 1, values, (), True, look_up.fence)

    def _landing(self, commit: Commit) -> str:
        return self.remote.script(commit.item, commit.attempt).landing


def _row(name: str, spec: RowSpec, finding: str) -> RowFound:
    if spec.kind is RowKind.RUBRIC:
        return RowFound(name, judge(spec, None, None), 0, 0, b"")
    log = f"{finding}\n".encode()
    if finding == "contradicted":
        found = judge_repeats(spec, (_GREEN, _RED), _RED)
        return RowFound(name, found, 2, 0, log, answered=True)
    found = judge(spec, _GREEN if finding == "verified" else _RED, _RED)
    return RowFound(name, found, 1, 0, log, answered=True)


def script_of(things: Sequence[Thing], numbers: dict[str, int]) -> Callable[[str, int], Try]:
    """The script of an item's attempt, by the item's id."""

    def find(item: str, attempt: int) -> Try:
        return things[numbers[item]].at(attempt)

    return find
