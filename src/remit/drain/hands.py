"""Hands: each canonical operation that a drain calls, by its name, and nothing else that changes an item.

Every operation of an entry has a command id that derives from run, item, entry and step, so a resume
asks the same again and is answered from the ledger (INV-9). Around each of them stands a point where a
process may die; ``Workplace.reached`` says which it is. The parity proof plants its faults in the
methods here, so they are small and do one thing each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from remit.core import commands as c
from remit.core.checks import Check
from remit.core.facts import Item, Lease
from remit.core.gitfacts import RepositoryRefusal
from remit.core.refusals import Refused
from remit.core.run_facts import Run, RunEntry
from remit.core.triage_records import Evidence, aside, give_up
from remit.drain.workplace import Integrated, Integrator, Workplace
from remit.service.operations import lease_of
from remit.service.reading import brief as briefs
from remit.service.reading.registers import policy
from remit.service.running import note_attempt

if TYPE_CHECKING:
    from remit.ports import ReadTx
    from remit.service.delivery import Cloned, Delivery
    from remit.service.engine import Answer
    from remit.service.operations import Operations

EVIDENCE_CHARS: Final = 1_000
"""So much of each text of a check or figure is kept."""

OperationsOf = Callable[[str], "Operations"]
DeliveryOf = Callable[[str], "Delivery"]


class Overtaken(Exception):  # noqa: N818  # an answer: this process drives the run no more
    """The run's record takes nothing more from this process."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.message)
        self.refused = refused


def accepted(answer: Answer) -> None:
    """Raise ``Overtaken`` where the run's record refuses what only its holder may write."""
    if isinstance(answer, Refused):
        raise Overtaken(answer)


def _fitting(check: Check) -> Check:
    """A check whose texts can be kept: what a guest could say in one must not get it refused."""
    return Check(
        _plain(check.check),
        check.result,
        _plain(check.observed),
        _plain(check.required),
        _plain(check.evidence),
        _plain(check.reason),
    )


def _plain(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text)[:EVIDENCE_CHARS]


class Hands:
    """The operations of one run, as its actors, by the process that holds it.

    ``actor`` works, ``reviewer`` judges (empty where people do), ``holder`` is this process's nonce.
    """

    def __init__(
        self,
        run: str,
        holder: str,
        actor: str,
        reviewer: str,
        operations_of: OperationsOf,
        delivery_of: DeliveryOf,
        integrator: Integrator | None,
        place: Workplace,
    ) -> None:
        self.run = run
        self.holder = holder
        self.actor = actor
        self.reviewer = reviewer
        self.work = operations_of(actor)
        self.judging = operations_of(reviewer) if reviewer else None
        self.delivery = delivery_of(actor)
        self.integrator = integrator
        self.place = place
        self._one = threading.Lock()

    # What is read.

    def item(self, name: str) -> Item:
        """The item as it stands now."""
        with self.work.store.read() as tx:
            found = tx.load([("item", name)])["item", name]
        assert isinstance(found, Item), f"{name} was chosen, so it is there"
        return found

    def record(self) -> Run:
        """The run's own record as it stands now."""
        with self.work.store.read() as tx:
            found = tx.load([("run", self.run)])["run", self.run]
        assert isinstance(found, Run), f"{self.run} was started, so it is there"
        return found

    def did(self, entry: RunEntry, step: str) -> bool:
        """Whether an operation of this entry was accepted, by its command id."""
        key = self._key(entry, step)
        with self.work.store.read() as tx:
            return bool(tx.commands([key]).get(key))

    def now(self) -> int:
        """The ledger's time in microseconds."""
        with self.work.store.read() as tx:
            return tx.now()

    def killed(self) -> bool:
        """Whether the kill switch is engaged."""
        with self.work.store.read() as tx:
            return bool(policy(tx)["kill_switch"])

    def brief(self, item: str) -> str:
        """The task brief (buildTaskBrief), as Markdown."""
        with self.work.store.read() as tx:
            found = self._brief(tx, item)
        return briefs.markdown(found)

    def _brief(self, tx: ReadTx, item: str) -> dict[str, Any]:
        found = briefs.build(tx, item)
        assert not isinstance(found, Refused), f"{item} was chosen, so it is there"
        return found

    def requirements(self, item: str) -> dict[str, Any]:
        """What a reviewer judges by: the brief's parts."""
        with self.work.store.read() as tx:
            return self._brief(tx, item)

    # The run's own record.

    def choose(self, item: str, reserve_micros: int) -> Answer:
        """Say which item comes next, before its lease, so that the bounds hold in the core."""
        self._at(item, 0, "chosen", "before")
        return self.work.run(c.ChooseItem(self.run, self.holder, item, reserve_micros))

    def checkpoint(self, entry: RunEntry, step: str, **figures: Any) -> RunEntry:
        """Write down how far an entry is, with what is known by now. Raises ``Overtaken``."""
        command = c.CheckpointRun(self.run, self.holder, entry.item, step, c.RunFigures(**figures))
        accepted(self.work.run(command))
        self._at(entry.item, entry.number, step, "noted")
        return self.record().entry_of(entry.item) or entry

    def settle(self, entry: RunEntry, outcome: str, spent_micros: int, detail: str = "") -> None:
        """The entry is over: its place and its reservation are free again."""
        self._at(entry.item, entry.number, "settled", "before")
        command = c.SettleRunItem(self.run, self.holder, entry.item, outcome, spent_micros, detail)
        accepted(self.work.run(command))
        self._at(entry.item, entry.number, "settled", "noted")

    def stop(self, stopped_by: str) -> None:
        """The run is over; nothing of it is live."""
        accepted(self.work.run(c.StopRun(self.run, self.holder, stopped_by)))

    def refuse(self, item: str, refused: Refused) -> None:
        """Keep a refused acquisition on the run's stream."""
        note = c.NoteRefusal(self.run, self.holder, item, refused.code.value, refused.message[:500])
        self.work.run(note)

    def leave(self, item: str, code: str, message: str) -> None:
        """Keep on the run's stream why an approved item is not chosen."""
        plain = _plain(message)[:500]
        self.work.run(c.NoteRefusal(self.run, self.holder, item, code, plain))

    def main(self) -> str:
        """The commit that the remote's main is at, seen just now; empty where it cannot be seen."""
        seen = self.delivery.repository.observe_main()
        return "" if isinstance(seen, RepositoryRefusal) else seen.main_sha

    def last_main(self) -> str:
        """The main that was seen last; empty where none was."""
        seen = self.delivery.repository.last_observed_main()
        return seen if isinstance(seen, str) else ""

    def unready(self, item: str) -> Refused | None:
        """What on the ledger keeps an approved item from landing."""
        assert self.integrator is not None, "a run that integrates has an integrator"
        return self.integrator.unready(item)

    # The canonical operations.

    def lease(self, entry: RunEntry, ttl_ms: int) -> Lease | Refused:
        """Lease the chosen item, with what was reserved for it (T03)."""
        command = c.GrantLease(entry.item, ttl_ms, spend_micros=entry.reserved_micros)
        answer = self._do(entry, "leased", lambda key: self.work.lease(command, command_id=key))
        return answer if isinstance(answer, Refused) else lease_of(answer)

    def renew(self, item: str, fence: int, ttl_ms: int) -> Lease | Refused:
        """Extend the lease."""
        answer = self.work.renew(c.RenewLease(item, fence, ttl_ms))
        return answer if isinstance(answer, Refused) else lease_of(answer)

    def clone(self, entry: RunEntry, fence: int, directory: Path) -> Cloned | Refused:
        """Make the attempt's clone from a freshly observed main, and record it."""
        found: Cloned | Refused = self._do(
            entry, "cloned", lambda _: self.delivery.clone(entry.item, fence, directory)
        )
        return found

    def progress(
        self, entry: RunEntry, fence: int, number: int, text: str, spent: int | None
    ) -> Answer:
        """Pass on how it goes; what is refused is late, and the ledger keeps it as that."""
        report = c.ReportProgress(entry.item, fence, c.Text(text), spent)
        key = self._key(entry, f"progress/{number}")
        found: Answer = self.work.report_progress(report, command_id=key)
        return found

    def seen(
        self,
        entry: RunEntry,
        phase: str,
        checks: tuple[Check, ...] = (),
        figures: tuple[tuple[str, str], ...] = (),
        text: str = "",
    ) -> None:
        """Keep what was seen of an attempt in the attempt's own stream, where there is anything."""
        if not (checks or figures or text):
            return
        record = c.RecordAttempt(
            entry.item,
            entry.fence,
            phase,
            tuple(_fitting(check) for check in checks),
            tuple((name, _plain(value)) for name, value in figures),
            c.Text(text),
            entry.attempt,
        )
        [answer] = note_attempt(self.work, record)
        if isinstance(answer, Refused):
            # Evidence that could not be kept is a fact of the run, and not passed over.
            self.refuse(entry.item, answer)

    def complete(
        self, entry: RunEntry, fence: int, head: str, clone: Path, branch: str, said: str,
        spent: int,
    ) -> Answer:  # fmt: skip
        """Hand the work in (T05)."""
        found: Answer = self._do(
            entry,
            "handed-in",
            lambda key: self.delivery.hand_in(
                entry.item, fence, head, clone=clone, branch=branch, text=said,
                spent_micros=spent, command_id=key,
            ),
        )  # fmt: skip
        return found

    def fail(
        self, entry: RunEntry, fence: int, record: Evidence, reason: str, spent: int
    ) -> Answer:
        """Give the item up with a typed record (T10)."""
        command = give_up(record, entry.item, fence, c.Text(reason), spent)
        found: Answer = self._do(
            entry, "failed", lambda key: self.work.fail(command, command_id=key)
        )
        return found

    def hand_back(self, entry: RunEntry, fence: int, reason: str, spent: int) -> Answer:
        """Hand the item back to the queue (T04)."""
        command = c.ReleaseLease(entry.item, fence, reason, spent)
        found: Answer = self._do(
            entry, "released", lambda key: self.work.release(command, command_id=key)
        )
        return found

    def triage(self, entry: RunEntry, record: Evidence, reason: str) -> Answer:
        """Put an item aside that nobody holds a lease on (T10)."""
        command = aside(record, entry.item, c.Text(reason))
        found: Answer = self._do(
            entry, "triaged", lambda key: self.work.triage(command, command_id=key)
        )
        return found

    def review(self, entry: RunEntry, head: str, approve: bool, reason: str) -> Answer:
        """The reviewer's verdict, bound to the head that was reviewed (T06, T07)."""
        assert self.judging is not None, "without a reviewer nobody judges here"
        judging = self.judging
        command = c.ReviewWork(entry.item, approve, c.Text(reason), head)
        found: Answer = self._do(
            entry, "reviewed", lambda key: judging.review(command, command_id=key)
        )
        return found

    def integrate(self, entry: RunEntry, way: str) -> Integrated | Refused:
        """Bring what was approved onto main; no item is shipped by this."""
        assert self.integrator is not None, "a run that integrates has an integrator"
        integrator = self.integrator
        # Two at a time would only move main under one another.
        with self._one:
            found: Integrated | Refused = self._do(
                entry,
                "integrated",
                lambda key: integrator.integrate(entry.item, way=way, command_id=key, ship=False),
            )
        return found

    def ship(self, entry: RunEntry) -> Answer:
        """Observe what was pushed on the remote's main (markShipped, T08)."""
        assert self.integrator is not None, "a run that ships has integrated"
        integrator = self.integrator
        found: Answer = self._do(
            entry, "shipped", lambda key: integrator.ship(entry.item, command_id=key)
        )
        return found

    def verify(self, entry: RunEntry) -> Answer:
        """Run the rows and the artifact diff at the shipped commit (T09, T10)."""
        found: Answer = self._do(
            entry, "verified", lambda key: self.delivery.verify(entry.item, command_id=key)
        )
        return found

    def _do(self, entry: RunEntry, step: str, act: Callable[[str], Any]) -> Any:
        self._at(entry.item, entry.number, step, "before")
        answer = act(self._key(entry, step))
        self._at(entry.item, entry.number, step, "done")
        return answer

    def _key(self, entry: RunEntry, step: str) -> str:
        return f"{self.run}/{entry.item}/{entry.number}/{step}"

    def _at(self, item: str, number: int, step: str, moment: str) -> None:
        self.place.reached(f"{self.run}/{item}/{number}/{step}:{moment}")
