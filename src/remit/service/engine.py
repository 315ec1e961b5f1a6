"""The engine: one transaction for a list of calls.

It loads the union of what the calls need, lets the core decide one after the other on the same view,
so that a batch sees itself, and stores all events and rows at once. It is the only caller of a
store's writer, and the only place where a command id is answered from the ledger instead of being
decided again (INV-9, INV-17).

Beside the calls it writes what the first command that notices must write: leases that have run out,
a jump of the clock, news of a dependency that was too long for one transaction, and the record of a
report that came too late. Each is a command of its own and stands also where ``atomic`` refuses all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from remit.core.admission import ADMISSION
from remit.core.change import quick
from remit.core.commands import (
    Ask,
    Command,
    ExpireLease,
    GrantLease,
    RecheckHolds,
    RecordClockJump,
    RecordLateReport,
    Settle,
)
from remit.core.decide import Accepted, NeedMore, decide
from remit.core.decide.leases import QUEUE
from remit.core.events import BlobRedacted, EpochAdopted, Recorded
from remit.core.facts import LEDGER, Ledger
from remit.core.ids import EPOCH_SHIFT
from remit.core.needs import needs, onward
from remit.core.refusals import Code, Refused
from remit.core.signing import Proof, Shown
from remit.core.view import View
from remit.ports import Blob, RemitError, Store, WriteTx
from remit.service.collecting import MANY, held_back
from remit.service.kept import NEVER, NOTHING, Kept, keep
from remit.service.loading import Loader
from remit.service.moments import changes_of, keep_moments

MOST: Final = 1_000
"""Most calls of one transaction; longer lists are split unless they are atomic."""

ROUNDS: Final = 64
"""Most times that a decision may ask for more and get nothing new, beside ``ROUNDS_A_CALL`` for each
call of its list. Rounds that bring news are not counted: the core's searches have their own bounds."""

ROUNDS_A_CALL: Final = 3
SWEEP: Final = 100
"""Most overdue leases that one transaction records."""


@quick
@dataclass(frozen=True, slots=True)
class Call:
    """One command with who asks, its command id, and the blobs that its texts became.

    ``plain`` maps each blob's digest to a digest of its bytes without the salt, so that the same
    content asked twice is recognised as the same. ``proof`` and ``token`` were verified before.
    """

    command: Command
    actor: str
    command_id: str = ""
    blobs: tuple[Blob, ...] = ()
    plain: tuple[tuple[str, str], ...] = ()
    conversation_ref: str = ""
    trace_context: str = ""
    proof: Proof | None = None
    token: Shown | None = None

    def digest(self) -> bytes:
        """SHA-256 over what was asked and by whom; empty where there is no command id."""
        if not self.command_id:
            return b""
        text = f"{self.actor}\n{self.command!r}"
        for salted, plain in self.plain:
            text = text.replace(salted, plain)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@quick
@dataclass(frozen=True, slots=True)
class Done:
    """An accepted call: the events that it led to; ``repeated`` where they were there already."""

    events: tuple[Recorded, ...]
    repeated: bool = False


Answer = Done | Refused


class Engine:
    """Runs calls against one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._kept = NOTHING

    def run(
        self,
        calls: Sequence[Call],
        *,
        atomic: bool = False,
        urgent: bool = False,
        adopting: bool = False,
    ) -> list[Answer]:
        """Decide the calls in order and store what was accepted.

        One answer a call. With ``atomic`` either all are accepted or none; lists of more than
        ``MOST`` are then refused. Raises ``StoreUnavailable``, ``OutcomeUnknown``, ``LedgerCorrupt``.
        """
        if atomic and len(calls) > MOST:
            refused = Refused(
                Code.TOO_MANY,
                f"an atomic list has {len(calls)} elements, at most {MOST} fit one transaction",
                "split it, or leave atomic out",
            )
            return [refused] * len(calls)
        answers: list[Answer] = []
        for start in range(0, len(calls), MOST):
            chunk = calls[start : start + MOST]
            if len(chunk) < MANY:
                answers += self._chunk(chunk, atomic, urgent, adopting)
                continue
            with held_back():
                answers += self._chunk(chunk, atomic, urgent, adopting)
        return answers

    def _chunk(
        self, calls: Sequence[Call], atomic: bool, urgent: bool, adopting: bool
    ) -> list[Answer]:
        with self.store.write(urgent=urgent, adopting=adopting) as tx:
            kept, self._kept = self._kept, NOTHING
            batch = Batch(tx, calls, kept)
            answers = batch.decide_all(sweep=not urgent and not adopting)
            if atomic and any(isinstance(a, Refused) for a in answers):
                answers = [a if isinstance(a, Refused) else ABORTED for a in answers]
                batch = batch.only_asides()
            batch.store()
            unsettled = batch.unsettled
        self._kept = batch.kept()
        if unsettled:
            self.settle()
        return answers

    def settle(self) -> None:
        """Carry deferred news on until all dependents have been told.

        The calls before are committed whatever happens here, and what is left is noted on the
        ledger and carried on by the next call, so a store that goes away now takes nothing back.
        """
        waiting = True
        while waiting:
            try:
                with self.store.write() as tx:
                    batch = Batch(tx, ())
                    batch.settle_one()
                    batch.store()
                    waiting = bool(batch.unsettled)
            except RemitError:
                return


ASSERTED: Final = "asserted"
"""How well it is proved who asks, as long as no decision has looked at it."""

ABORTED: Final = Refused(
    Code.ATOMIC_ABORTED,
    "not done: another element of the same atomic list was refused",
    "correct the refused element and repeat the list",
)


def _same_caller(ask: Ask, call: Call) -> bool:
    before = (ask.actor, ask.conversation_ref, ask.trace_context, ask.token)
    return before == (call.actor, call.conversation_ref, call.trace_context, call.token)


class Batch:
    """The decisions of one transaction."""

    def __init__(self, tx: WriteTx, calls: Sequence[Call], kept: Kept = NOTHING) -> None:
        self.tx = tx
        self.calls = calls
        self.now = tx.now()
        seq = tx.head().seq
        known = kept.view if 0 < seq == kept.seq else None
        self.view = known or View(tx.small(), seq)
        self.quiet_until = kept.quiet_until if known else 0
        if LEDGER not in self.view.facts:
            self.view.facts[LEDGER] = None
        leases = sum(isinstance(call.command, GrantLease) for call in calls)
        self.loader = Loader(tx, self.view, leases, carried=known is not None)
        self.events: list[Recorded] = []
        self.blobs: list[Blob] = []
        self.asides: dict[Call, None] = {}
        self.late: set[str] = set()
        self._last_ask: Ask | None = None

    def kept(self) -> Kept:
        """What the next transaction of this process may start from."""
        return NOTHING if self.adopted else keep(self.view, self.events, self.quiet_until)

    @property
    def unsettled(self) -> tuple[str, ...]:
        """Items whose news was deferred, then triggers whose holds are to be looked at again."""
        ledger = self.view.facts.get(LEDGER)
        if not isinstance(ledger, Ledger) or not (ledger.unsettled or ledger.rechecks):
            return ()
        return (*ledger.unsettled, *(due.trigger for due in ledger.rechecks))

    def decide_all(self, *, sweep: bool) -> list[Answer]:
        """Decide every call; what must be recorded beside them comes first."""
        self._notice(sweep=sweep)
        ids = [call.command_id for call in self.calls if call.command_id]
        known = self.tx.commands(ids) if ids else {}
        asks = [self._ask(call) for call in self.calls]
        keys = {
            key: None
            for call, ask in zip(self.calls, asks, strict=True)
            if call.command_id not in known
            for key in needs(call.command, ask)
        }
        self.loader.load(keys)
        self.loader.load({k: None for c in self.calls for k in onward(c.command, self.view.facts)})
        answers = []
        for call, ask in zip(self.calls, asks, strict=True):
            if call.command_id in known:
                answers.append(self._repeat(call, ask, known[call.command_id]))
                continue
            answer = self._one(call, ask)
            if call.command_id and isinstance(answer, Done) and answer.events:
                known[call.command_id] = list(answer.events)
            answers.append(answer)
        return answers

    def _ask(self, call: Call) -> Ask:
        """Who asks and when; calls of a batch that differ only in their command share it."""
        plain = not call.command_id and call.proof is None
        if plain and self._last_ask is not None and _same_caller(self._last_ask, call):
            return self._last_ask
        ask = Ask(
            self.now,
            call.actor,
            ASSERTED,
            call.command_id,
            call.digest(),
            call.conversation_ref,
            call.trace_context,
            call.proof,
            call.token,
        )
        if plain:
            self._last_ask = ask
        return ask

    def _repeat(self, call: Call, ask: Ask, events: list[Recorded]) -> Answer:
        if events[0].command_digest == ask.command_digest:
            return Done(tuple(events), repeated=True)
        return Refused(
            Code.COMMAND_ID_REUSED,
            f"the command id {call.command_id!r} was used for another command"
            f" (seq {events[0].seq})",
            "use a new command id for a new command",
            {"command_id": call.command_id, "seq": events[0].seq},
        )

    def _one(self, call: Call, ask: Ask) -> Answer:
        answer = self.decide(call.command, ask)
        if isinstance(answer, Refused) and answer.aside:
            for aside in answer.aside:
                self.beside(aside, call)
            if isinstance(call.command, GrantLease):
                answer = self.decide(call.command, ask)
        if isinstance(answer, Done):
            self.blobs += call.blobs
        return answer

    def beside(self, command: Command, call: Call) -> None:
        """Run a command in its own right beside a refusal."""
        self.asides[call] = None
        if isinstance(command, ExpireLease):
            self.decide(command, Ask(self.now, QUEUE))
            return
        late_id = f"{call.command_id}/late" if call.command_id else ""
        if late_id and (late_id in self.late or self.tx.commands([late_id])):
            return
        self.late.add(late_id)
        if isinstance(command, RecordLateReport):
            ask = replace(self._ask(call), command_id=late_id)
            if not isinstance(self.decide(command, ask), Refused):
                self.blobs += call.blobs

    def decide(self, command: Command, ask: Ask) -> Answer:
        """Decide one command, loading what it asks for, and take it into the view."""
        decision = self._decision(command, ask)
        if isinstance(decision, Refused):
            return decision
        self.view.apply(decision.delta)
        self.view.seq += len(decision.events)
        self.events += decision.events
        return Done(decision.events)

    def _decision(self, command: Command, ask: Ask) -> Accepted | Refused:
        rounds, vain = 0, ROUNDS + ROUNDS_A_CALL * len(self.calls)
        while vain:
            decision = decide(self.view, command, ask)
            if not isinstance(decision, NeedMore):
                return decision
            vain -= not self.loader.load(decision.keys, rounds)
            rounds += 1
        raise AssertionError(f"{command!r} keeps asking for what is not there")

    def _notice(self, *, sweep: bool) -> None:
        if self.view.facts[LEDGER] is None:
            return
        jump = self.tx.clock_jump()
        if jump is not None:
            self.loader.load([("actor", QUEUE)])
            self.decide(RecordClockJump(jump.wall_us, jump.ledger_us), Ask(self.now, QUEUE))
        if sweep:
            self.sweep()
        if self.unsettled:
            self.settle_one()

    def sweep(self) -> None:
        """Record leases that have run out; whoever writes first notices all of them."""
        if self.now < self.quiet_until:
            return
        due = self.tx.due(self.now, SWEEP)
        ledger = self.view.facts[LEDGER]
        if isinstance(ledger, Ledger) and ledger.epoch:
            dead = self.tx.leased_before(ledger.epoch << EPOCH_SHIFT, SWEEP)
            due = list(dict.fromkeys((*due, *dead)))
        waking = self.tx.waking(self.now, 1)
        if not due and not waking:
            ahead = (self.tx.next_expiry(), self.tx.next_wake())
            self.quiet_until = min((at for at in ahead if at is not None), default=NEVER)
            return
        self.loader.load([("actor", QUEUE), *(("item", item) for item in due)])
        for item in due:
            self.decide(ExpireLease(item), Ask(self.now, QUEUE))
        if waking:
            self.loader.load([("actor", ADMISSION)])
            self.decide(RecheckHolds(), Ask(self.now, ADMISSION))

    def settle_one(self) -> None:
        """One chunk of deferred news, or one batch of holds whose trigger has come."""
        ledger = self.view.facts[LEDGER]
        if not isinstance(ledger, Ledger) or not self.unsettled:
            return
        self.loader.load([("actor", ADMISSION)])
        if ledger.unsettled:
            self.decide(Settle(ledger.unsettled[0]), Ask(self.now, ADMISSION))
        else:
            self.decide(RecheckHolds(ledger.rechecks[0].trigger), Ask(self.now, ADMISSION))

    def only_asides(self) -> Batch:
        """A batch of the same transaction that holds what stands beside refused calls.

        They are weighed again without the calls before them, which did not happen.
        """
        fresh = Batch(self.tx, ())
        fresh._notice(sweep=True)
        for call in self.asides:
            answer = fresh._decision(call.command, fresh._ask(call))
            if isinstance(answer, Refused):
                for command in answer.aside:
                    fresh.beside(command, call)
        return fresh

    def store(self) -> None:
        """Write blobs, events and rows."""
        if not self.events:
            return
        if self.blobs:
            self.tx.put_blobs(self.blobs)
        self.tx.append(self.events)
        erased = [r.event.digest for r in self.events if r.event.__class__ is BlobRedacted]
        if erased:
            self.tx.erase_blobs(erased)
        self.tx.write(changes_of(self.view))
        keep_moments(self.tx, self.view, self.events)

    @property
    def adopted(self) -> bool:
        """Whether this transaction took the ledger into use."""
        return EpochAdopted in [r.event.__class__ for r in self.events]
