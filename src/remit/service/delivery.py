"""Operations that look at a git repository: clone for an attempt, hand-in, ship, verify.

Looking happens first and outside any transaction; what was seen then goes into a command, and the
core decides on it as things stand by then. A repository that cannot say what it was asked is a
refusal with the repository's own code, and changes nothing. A commit ships only because it was
observed on the remote's main, whatever anybody reports.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remit.core import commands as c
from remit.core.decide.ledger import VERIFIER
from remit.core.facts import Actor, ActorKind, Item, Lease, Work
from remit.core.gitfacts import RepositoryCode, RepositoryRefusal, Takeover
from remit.core.ids import EPOCH_SHIFT, attempt_id
from remit.core.item_events import CompletionReported, ShipObserved, VerificationRecorded
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.ports import ReadTx
from remit.ports.outside import Repository, Verifier
from remit.service.answered import answer_under, event_under
from remit.service.engine import Answer, Call, Done
from remit.service.handed_in import branches_of, not_taken, taken_over
from remit.service.operations import Operations
from remit.service.outside import divergence, nothing_new, refused_by
from remit.service.reading.items import exact
from remit.service.registered import finding_of, rows_of
from remit.service.scoring import score_of
from remit.service.texts import blob_of


@dataclass(frozen=True, slots=True)
class Cloned:
    """A clone that was made and recorded."""

    path: str
    branch: str
    base: str
    answer: Done


class Delivery:
    """The operations of one caller on one ledger that need its repository."""

    def __init__(self, operations: Operations, repository: Repository, verifier: Verifier) -> None:
        self.operations = operations
        self.repository = repository
        self.verifier = verifier

    def _item(self, name: str) -> Item | Refused:
        with self.operations.store.read() as tx:
            return load_exact(tx, name)

    def clone(self, name: str, fence: int, directory: Path, branch: str = "") -> Cloned | Refused:
        """Make the clone of a live lease's attempt and record it in the attempt's stream.

        ``directory`` is new or empty; ``branch`` defaults to ``remit/<attempt>``. The fence is
        checked before anything is made, and again when it is recorded.
        """
        item = self._item(name)
        if isinstance(item, Refused):
            return item
        lease = _lease_under(item, fence)
        if isinstance(lease, Refused):
            return lease
        attempt = attempt_of(lease)
        made = self.repository.make_clone(attempt, directory, branch or f"remit/{attempt}")
        if isinstance(made, RepositoryRefusal):
            return refused_by(made)
        record = c.RecordClone(item.id, fence, made.branch, made.base_sha)
        answer = self.operations.observed([record], [""])[0]
        if isinstance(answer, Refused):
            return answer
        return Cloned(made.path, made.branch, made.base_sha, answer)

    def hand_in(
        self,
        name: str,
        fence: int,
        head: str,
        *,
        clone: Path | None = None,
        branch: str = "",
        text: str = "",
        pr_url: str = "",
        spent_micros: int | None = None,
        command_id: str = "",
    ) -> Answer:
        """Take the commits over by SHA and report completion with what was taken (T05).

        The commits are kept under refs that clean-up never drops, also where the report is then
        refused as late.
        """
        item = self._item(name)
        if isinstance(item, Refused):
            return item
        said: dict[str, Any] = {
            "branch": branch, "pr_url": pr_url, "text": c.Text(text), "spent_micros": spent_micros,
        }  # fmt: skip
        before = event_under(self.operations, command_id, CompletionReported)
        if before is not None:
            return self._again(item.id, fence, head, before, said, command_id)
        lease = item.lease
        if lease is None or lease.fence != fence:
            late = c.ReportCompletion(item.id, fence, head, head, **said)
            return self.operations.run(late, command_id=command_id)
        taken = self._take_over(clone, head, attempt_of(lease))
        if isinstance(taken, RepositoryRefusal):
            return refused_by(taken)
        if taken.base_sha == taken.head_sha:
            return nothing_new(item, taken)
        commits = tuple(taken.commits)
        record = c.RecordTakeover(
            item.id, fence, taken.head_sha, taken.base_sha, taken.tree, taken.ref, commits
        )
        report = c.ReportCompletion(
            item.id,
            fence,
            taken.head_sha,
            taken.base_sha,
            tree=taken.tree,
            commits=commits,
            taken_over=True,
            **said,
        )
        ids = [f"{command_id}/taken", command_id] if command_id else ["", ""]
        return self.operations.observed([record, report], ids)[1]

    def _take_over(
        self, clone: Path | None, head: str, attempt: str
    ) -> Takeover | RepositoryRefusal:
        """Take commits over, from main as it is now.

        Whoever merged or rebased onto a newer main hands in no more than the own change. Where
        main cannot be seen now, the one observed last counts; shipping looks again.
        """
        seen = self.repository.observe_main()
        if isinstance(seen, RepositoryRefusal) and self.repository.last_observed_main() is None:
            return seen
        return self.repository.take_over(clone, head, attempt)

    def _again(
        self,
        item: str,
        fence: int,
        head: str,
        before: CompletionReported,
        said: dict[str, Any],
        command_id: str,
    ) -> Answer:
        """The same report asked again, with what was taken over then; the engine compares both."""
        report = c.ReportCompletion(
            item,
            fence,
            head,
            before.base,
            tree=before.tree,
            commits=before.commits,
            taken_over=before.taken_over,
            **said,
        )
        return self.operations.observed([report], [command_id])[0]

    def mark_shipped(
        self, name: str, sha: str, *, accept_rewrite: bool = False, command_id: str = ""
    ) -> Answer:
        """Observe the remote's main and ship what was reviewed, if it is there (T08).

        Only a human may accept that main was rewritten since it was last observed. Refuses
        ``MAIN_REWRITTEN``, and puts the item aside as ``remote-divergence``; and
        ``APPROVAL_STALE`` where a branch of the attempt, a row or a requirement is not what was
        approved; the item stays, since only a reviewer may send it back (T07).
        """
        item = self._item(name)
        if isinstance(item, Refused):
            return item
        if accept_rewrite:
            unfit = self._no_human("accept a rewritten main")
            if unfit is not None:
                return unfit
        before = answer_under(
            self.operations, command_id, item.id, ShipObserved, observed_commit_sha=sha
        )
        if before is not None:
            return before
        work = approved_work(item, "ship")
        if isinstance(work, Refused):
            return work
        with self.operations.store.read() as tx:
            taken, branches = taken_over(tx, work), branches_of(tx, work)
        if not taken:
            return not_taken(item, work, "ship")
        seen = self._observe(sha, work, branches, accept_rewrite)
        if isinstance(seen, RepositoryRefusal):
            put = divergence(item.id, seen)
            if put is not None:
                again = f"{command_id}/diverged" if command_id else ""
                self.operations.triage(put, command_id=again)
            return refused_by(seen)
        ship = c.ObserveShip(
            item.id,
            seen.observed_commit_sha,
            seen.main_sha,
            seen.url,
            seen.ref,
            seen.base_sha,
            seen.matched_by.value,
            seen.patch_id,
        )
        return self.operations.observed([ship], [command_id])[0]

    def _no_human(self, what: str) -> Refused | None:
        actor = self.operations.caller.actor
        with self.operations.store.read() as tx:
            found = tx.load([("actor", actor)])["actor", actor]
        if isinstance(found, Actor) and found.kind is ActorKind.HUMAN and not found.revoked:
            return None
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot {what} as {actor}: only a human may",
            "let a human find out who rewrote it, and do it: --as NAME",
            {"actor": actor},
        )

    def _observe(
        self, sha: str, work: Work, branches: tuple[str, ...], accept_rewrite: bool
    ) -> Any:
        """Look from the last main observed before it landed; that may be the reviewed base."""
        before = self.repository.last_observed_main()
        bases = [work.base]
        if work.push is not None and work.push.expected != work.base:
            bases.insert(0, work.push.expected)
        if isinstance(before, str) and before not in bases:
            bases.insert(0, before)
        seen: Any = None
        for main_before in bases:
            seen = self.repository.observe_ship(
                sha,
                reviewed_head=work.head,
                reviewed_base=work.base,
                main_before=main_before,
                accept_rewrite=accept_rewrite,
                branches=branches,
            )
            unusable = isinstance(seen, RepositoryRefusal) and seen.code in (
                RepositoryCode.BASE_UNUSABLE,
                RepositoryCode.COMMIT_ABSENT,
            )
            if not unusable:
                return seen
        return seen

    def verify(
        self,
        name: str,
        *,
        progress: Callable[[str, str], None] | None = None,
        repeats: int = 1,
        command_id: str = "",
    ) -> Answer:
        """Run all command rows and the artifact diff as the built-in verifier (T09 or T10).

        Each command runs ``repeats`` times at the shipped commit, 1 to 10; two answers of one are a
        contradiction. Whoever calls it is recorded as the one who asked; the verifier is an actor of its own.
        """
        asked_by = self.operations.caller.actor
        with self.operations.store.read() as tx:
            item = load_exact(tx, name)
            rows = [] if isinstance(item, Refused) else rows_of(tx, item)
        if isinstance(item, Refused):
            return item
        before = answer_under(
            self.operations, command_id, item.id, VerificationRecorded, requested_by=asked_by
        )
        if before is not None:
            return before
        work = _shipped(item)
        if isinstance(work, Refused):
            return work
        found = self.verifier.verify(
            work.shipped,
            work.shipped_base,
            [(row.id, spec) for row, spec in rows],
            item.plan.scope,
            item.plan.artifacts,
            progress,
            repeats,
        )
        if isinstance(found, RepositoryRefusal):
            return refused_by(found)
        logs = {row.row: blob_of(row.log) for row in found.rows if row.log}
        digests = {row.id: row.digest for row, _ in rows}
        command = c.RecordVerification(
            item.id,
            work.shipped,
            tuple(
                finding_of(row, digests[row.row], logs[row.row][0] if row.row in logs else "")
                for row in found.rows
            ),
            found.artifact_diff,
            found.missing_artifacts,
            found.out_of_scope,
            asked_by,
        )
        call = Call(
            command,
            VERIFIER,
            command_id,
            tuple(blob for _, blob in logs.values()),
            tuple((ref, hashlib.sha256(blob.data).hexdigest()) for ref, blob in logs.values()),
        )
        return self.operations.engine.run([call])[0]

    def score(
        self,
        name: str,
        row_id: str,
        *,
        passed: bool,
        reason: str,
        digest: str = "",
        command_id: str = "",
    ) -> Answer:
        """A human's judgement of a rubric row at the shipped commit, by its own text.

        ``digest``, where it is given, is that of the row whose rubric was read: another one refuses
        with ``VERIFICATION_STALE``.
        """
        with self.operations.store.read() as tx:
            item = load_exact(tx, name)
            if isinstance(item, Refused):
                return item
            command = score_of(tx, item, row_id, passed=passed, reason=reason, digest=digest)
        if isinstance(command, Refused):
            return command
        return self.operations.observed([command], [command_id])[0]


def attempt_of(lease: Lease) -> str:
    """The id of the attempt that a lease began."""
    return attempt_id(lease.fence >> EPOCH_SHIFT, lease.item, lease.attempt)


def load_exact(tx: ReadTx, name: str) -> Item | Refused:
    """The item with exactly this id or work id, since what follows may write."""
    found = exact(tx, name)
    item = tx.load([("item", found)])["item", found] if found else None
    if isinstance(item, Item):
        return item
    return Refused(
        Code.NOT_FOUND,
        f"there is no work item {name!r}",
        "give its whole id; see 'remit list'",
        {"item": name},
    )


def _lease_under(item: Item, fence: int) -> Lease | Refused:
    if item.lease is not None and item.lease.fence == fence:
        return item.lease
    return Refused(
        Code.STALE_FENCE,
        f"cannot work on {item.id} under fence {fence}: it is {item.status}",
        "lease it again",
        {"item": item.id, "fence": fence},
    )


def _shipped(item: Item) -> Work | Refused:
    if item.status is Status.SHIPPED and item.work is not None:
        return item.work
    return Refused(
        Code.TRANSITION_REFUSED,
        f"cannot verify {item.id}: it is {item.status}, verification starts from shipped",
        f"see where it stands with 'remit show {item.id}'",
        {"item": item.id, "status": item.status.value},
    )


def approved_work(item: Item, doing: str) -> Work | Refused:
    """What was approved of an item, or ``TRANSITION_REFUSED``."""
    if item.status is Status.APPROVED and item.work is not None:
        return item.work
    return Refused(
        Code.TRANSITION_REFUSED,
        f"cannot {doing} {item.id}: it is {item.status}, {doing} starts from approved",
        f"see where it stands with 'remit show {item.id}'",
        {"item": item.id, "status": item.status.value},
    )
