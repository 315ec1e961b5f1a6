"""What goes before a push: approved work as it stands, what would land of it, and its tests.

Everything here may be done again without harm. Main is observed anew each time, what would land is made
of objects alone, and the rows run on exactly that commit; the core then decides on what they said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from remit.core import commands as c
from remit.core.binding import bindings, unlike
from remit.core.facts import Fact, Item, Work
from remit.core.gitfacts import Brought, Clash, RepositoryRefusal, Way
from remit.core.refusals import Code, Refused
from remit.core.triage import TriageKind
from remit.ports import ReadTx
from remit.ports.outside import Landing
from remit.service.delivery import Delivery, approved_work, load_exact
from remit.service.engine import Answer, Call
from remit.service.handed_in import branches_of, not_taken, taken_over
from remit.service.integrated import Integrated
from remit.service.outside import refused_by
from remit.service.registered import finding_of, rows_of
from remit.service.texts import blob_of

Progress = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Ready:
    """Approved work as it stands, and the ledger's time when that was read."""

    item: Item
    work: Work
    branches: tuple[str, ...]
    now: int


@dataclass(frozen=True, slots=True)
class Into:
    """Where work goes: which try it is, and what is enforced there; see ``core.facts.Push``.

    ``way`` is empty where it is the way in which what would land was made.
    """

    number: int
    kept: bool
    in_flight_ms: int | None
    way: str = ""


class Preparation:
    """Prepares the approved work of one repository, for one caller."""

    def __init__(self, delivery: Delivery, landing: Landing, remote: str, ref: str) -> None:
        self.delivery = delivery
        self.operations = delivery.operations
        self.landing = landing
        self.remote = remote
        self.ref = ref

    def ready(self, name: str) -> Ready | Refused:
        """The approved work of an item, as it stands; refuses as ``Integration.integrate`` does."""
        with self.operations.store.read() as tx:
            item = load_exact(tx, name)
            if isinstance(item, Refused):
                return item
            work = approved_work(item, "integrate")
            if isinstance(work, Refused):
                return work
            if not taken_over(tx, work):
                return not_taken(item, work, "integrate")
            stale = _stale(tx, item, work)
            return stale or Ready(item, work, branches_of(tx, work), tx.now())

    def made(self, ready: Ready, way: Way) -> tuple[str, Brought | Clash] | Refused:
        """Main as it is now, and what was made of the approved head on it."""
        main = self.delivery.repository.observe_main()
        if isinstance(main, RepositoryRefusal):
            return refused_by(main)
        made = self.landing.bring_onto(
            ready.item.id,
            ready.work.head,
            ready.work.base,
            main.main_sha,
            way,
            ready.now // 1_000_000,
            ready.branches,
        )
        if isinstance(made, RepositoryRefusal):
            return refused_by(made)
        return main.main_sha, made

    def clashed(
        self, ready: Ready, clash: Clash, way: Way, command_id: str
    ) -> Integrated | Refused:
        """Put the work aside, with where both clash."""
        work = ready.work
        reason = c.Text(f"{clash.commit} clashes with main in {clash.path_count} paths")
        command = c.FailIntegration(
            ready.item.id,
            work.head,
            work.review_seq,
            clash.main_sha,
            clash.base_sha,
            way.value,
            clash.paths,
            reason,
        )
        answer = self.operations.observed([command], [command_id])[0]
        if isinstance(answer, Refused):
            return answer
        return Integrated(
            ready.item.id, "triaged", way, clash.commit, clash.main_sha, clash.main_sha, "", "",
            triage=TriageKind.MERGE_CONFLICT.value, detail=", ".join(clash.paths), answer=answer,
        )  # fmt: skip

    def intend(
        self,
        ready: Ready,
        brought: Brought,
        into: Into,
        command_id: str,
        progress: Progress | None,
    ) -> Answer:
        """Run the rows on exactly what would land, and let the core decide on what they said."""
        item, work = ready.item, ready.work
        with self.operations.store.read() as tx:
            rows = rows_of(tx, item)
        found = self.delivery.verifier.verify(
            brought.commit,
            brought.main_sha,
            [(row.id, spec) for row, spec in rows],
            item.plan.scope,
            item.plan.artifacts,
            progress,
        )
        if isinstance(found, RepositoryRefusal):
            return refused_by(found)
        logs = {row.row: blob_of(row.log) for row in found.rows if row.log}
        digests = {row.id: row.digest for row, _ in rows}
        command = c.IntendPush(
            item.id, work.head, work.review_seq, into.way or brought.way.value, brought.main_sha,
            brought.commit, brought.tree, self.remote, self.ref,
            tuple(
                finding_of(row, digests[row.row], logs[row.row][0] if row.row in logs else "")
                for row in found.rows
            ),
            found.artifact_diff, found.missing_artifacts, found.out_of_scope, into.kept,
            into.in_flight_ms,
        )  # fmt: skip
        caller = self.operations.caller
        call = Call(
            command,
            caller.actor,
            f"{command_id}/{into.number}" if command_id else "",
            tuple(blob for _, blob in logs.values()),
            tuple((ref, hashlib.sha256(blob.data).hexdigest()) for ref, blob in logs.values()),
            caller.conversation_ref,
            caller.trace_context,
            None,
            self.operations.token,
        )
        return self.operations.engine.run([call])[0]


def _stale(tx: ReadTx, item: Item, work: Work) -> Refused | None:
    """Say before anything is run that the approval is stale; the core says it again."""

    def get(kind: str, name: str) -> Fact | None:
        return tx.load([(kind, name)])[kind, name]

    changed = unlike(work.bound, bindings(get, item.plan))
    if not changed:
        return None
    return Refused(
        Code.APPROVAL_STALE,
        f"cannot integrate {item.id}: {', '.join(changed[:5])} changed since it was approved",
        f"a reviewer sends it back with 'remit review {item.id} --reject --reason …'",
        {"item": item.id, "changed": list(changed[:100]), "reviewer": work.reviewer},
    )
