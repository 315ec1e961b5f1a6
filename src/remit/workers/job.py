"""A job: one lease, as its handler sees it.

It holds what the handler needs (envelope, fence, attempt, idempotency key, deadline), and everything
that the handler says of its work goes through it, so that nothing is intended, reported or sent under
a lease that is lost. Its calls may come from several threads of one handler. Once the ledger took the
end of the lease (a response was reported, an outcome is unknown), the job is ``over``: the handler
may tidy up, and has nothing more to say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.commands import Command, Text
from remit.core.effect_facts import Envelope, Intent
from remit.core.facts import Item, Lease
from remit.core.ids import effect_key
from remit.core.refusals import Code, Refused
from remit.ports import RemitError
from remit.ports.destination import Destination, Response
from remit.service.engine import Answer
from remit.workers.clock import boot_s
from remit.workers.desk import Desk
from remit.workers.endings import AlreadySent, Ended, Ending, IntentRefused, LeaseLost, plain
from remit.workers.tenure import Tenure

if TYPE_CHECKING:
    from remit.workers.sending import Bound

LATE_S: Final = 5.0
"""How long late evidence is offered to a store that is away."""

GONE: Final = frozenset(
    (Code.STALE_FENCE, Code.LEASE_EXPIRED, Code.LEASE_OF_ANOTHER, Code.NOT_FOUND)
)
"""Refusals that say that a lease is not ours any more."""


class Job:
    """One lease of effect work."""

    def __init__(self, item: Item, intent: Intent, tenure: Tenure, desk: Desk, compensates: str) -> None:  # fmt: skip
        self.item = item
        self.intent = intent
        self.tenure = tenure
        self.desk = desk
        self.compensates = compensates
        self.bound: Bound | None = None
        self.ended: Ended | None = None
        self.spent_micros: int | None = None
        self.intended = False
        self._lock = threading.Lock()
        self._document: Callable[[], bytes | None] = lambda: None

    # What it is.

    @property
    def envelope(self) -> Envelope:
        """What was submitted."""
        return self.intent.envelope

    @property
    def lease(self) -> Lease:
        """The lease; ``job.lease.fence`` is what every write under it names."""
        return self.tenure.lease

    @property
    def fence(self) -> int:
        """The lease's fence, to pass on to whatever can enforce it."""
        return self.tenure.lease.fence

    @property
    def attempt(self) -> int:
        """The number of this attempt."""
        return self.tenure.lease.attempt

    @property
    def effect_id(self) -> str:
        """The effect's identity."""
        return self.envelope.effect_id

    @property
    def key(self) -> str:
        """The idempotency key: derived from the effect id alone, so the same for every attempt."""
        return effect_key(self.envelope.effect_id)

    @property
    def deadline(self) -> int | None:
        """The deadline in UTC microseconds, None where there is none."""
        return self.envelope.deadline

    @property
    def document(self) -> bytes | None:
        """The message as it was submitted, None where it was not kept."""
        return self._document()

    @property
    def destination(self) -> Bound:
        """The destination of this handler, whose ``send`` keeps the order. Raises ``BAD_INPUT``."""
        if self.bound is None:
            raise RemitError(
                f"the handler of {self.item.id} has no destination",
                'name one: @app.handler("export", destination="exports")',
                code=Code.BAD_INPUT,
            )
        return self.bound

    # Whether it goes on.

    @property
    def lost(self) -> bool:
        """Whether the lease is gone: nothing may be sent, and what is reported is late evidence."""
        return self.tenure.lost

    @property
    def over(self) -> bool:
        """Whether the ledger has taken the end of this lease."""
        return self.tenure.over

    @property
    def stopping(self) -> bool:
        """Whether the work ought to come to an end; ``stop_reason`` says why."""
        return self.tenure.lost or self.tenure.told.is_set()

    @property
    def stop_reason(self) -> str:
        """A code such as ``LEASE_EXPIRED`` or ``STOPPING``, empty while all is well."""
        return self.tenure.why

    def wait(self, seconds: float) -> bool:
        """Wait, unless the work ought to come to an end; says whether it ought to."""
        end = min(seconds, max(0.0, self.tenure.left_s))
        return self.tenure.told.wait(end) or self.stopping

    def check(self) -> None:
        """Raise ``LeaseLost`` unless something may be begun under the lease."""
        if self.tenure.live:
            return
        why = self.tenure.why or ("ENDED" if self.over else "LEASE_EXPIRED")
        raise LeaseLost(
            f"cannot go on with {self.item.id}: its lease {self.lease.id} is over ({why})",
            "send nothing and return; what was done is looked up",
            {"item": self.item.id, "lease": self.lease.id, "reason": why},
        )

    # What it says.

    def progress(self, text: str = "") -> None:
        """Say how work goes, with what was spent so far. Raises ``LeaseLost``.

        An attempt that reported counts, also if it is handed back.
        """
        self.check()
        self.say(c.ReportProgress(self.item.id, self.fence, Text(text), self.spent_micros))

    def spent(self, micros: int) -> None:
        """What the attempt has cost so far, in all; it goes with the next report."""
        if micros.__class__ is not int or micros < 0:
            raise RemitError(
                f"spent is {micros!r}, expected micro-units: a whole number, 0 or more",
                "say what the attempt has cost in all",
                code=Code.BAD_INPUT,
            )
        self.spent_micros = micros

    def send(self, payload: bytes, *, timeout_ms: int = 0) -> Response:
        """The destination's ``send``."""
        return self.destination.send(payload, timeout_ms=timeout_ms)

    def intend(self, payload_digest: str = "", request_expires_at: int | None = None) -> None:
        """Record that the effect is about to be sent: for handlers that send by themselves.

        Nothing may leave before this returns. Raises ``LeaseLost``, ``IntentRefused``,
        ``AlreadySent``, and ``StoreUnavailable`` or ``OutcomeUnknown`` where nobody can say whether
        it is on record: then send nothing.
        """
        with self._lock:
            self.check()
            if self.intended:
                raise AlreadySent(
                    f"cannot send {self.effect_id} twice under one lease of {self.item.id}",
                    "return; another attempt is decided on once the effect was looked up",
                    {"item": self.item.id, "effect": self.effect_id},
                )
            self.intended = True
        command = k.IntendEffect(self.item.id, self.fence, payload_digest, request_expires_at)
        (answer,) = self.desk.ask([command], self.tenure.ends_s)
        if isinstance(answer, Refused):
            self.intended = False
            self.heed(answer)
            raise IntentRefused(answer)

    def note_sent(self, payload_digest: str = "") -> None:
        """Say that the request left: for handlers that send by themselves."""
        self.say(k.NoteSent(self.item.id, self.fence, payload_digest))

    def answered(self, response: str, text: str = "") -> None:
        """Hand in the response to what was intended, which ends the lease."""
        self.close(
            [
                k.ReportEffect(
                    self.item.id,
                    self.fence,
                    plain(response, 500),
                    "",
                    Text(text),
                    spent_micros=self.spent_micros,
                )
            ],
            Ended(Ending.REPORTED, plain(response, 80)),
        )

    def uncertain(self, reason: str = "NO_RESPONSE") -> None:
        """Say that no answer came, which is no failure; the item is held until it is looked up."""
        self.close(
            [k.NoteUncertain(self.item.id, self.fence, reason[:500]), self.release(reason)],
            Ended(Ending.UNCERTAIN, reason[:80]),
        )

    # For the worker's own use.

    @property
    def last_s(self) -> float:
        """Until when the end of the lease, or late evidence, is offered to a store that is away."""
        return max(self.tenure.ends_s, boot_s() + LATE_S)

    def release(self, reason: str) -> c.ReleaseLease:
        """The command that hands the item back."""
        return c.ReleaseLease(self.item.id, self.fence, reason[:500], self.spent_micros)

    def say(self, command: Command) -> None:
        """Run one command of this lease. Raises ``LeaseLost`` or the refusal as an error."""
        (answer,) = self.desk.ask([command], self.tenure.ends_s)
        if isinstance(answer, Refused):
            self.heed(answer)
            self.check()
            raise RemitError(answer.message, answer.hint, answer.details, answer.code)

    def close(self, commands: list[Command], ended: Ended) -> list[Answer]:
        """End the lease by these commands, of which the last one decides whether it is ended.

        A refusal means that the lease was gone before: the core has kept what was said as late
        evidence, and the job is lost.
        """
        return self.closed(self.desk.ask(commands, self.last_s), len(commands) - 1, ended)

    def closed(self, answers: list[Answer], decisive: int, ended: Ended) -> list[Answer]:
        """Take the answers to the commands that were to end the lease."""
        answer = answers[decisive]
        if isinstance(answer, Refused):
            self.heed(answer)
            if not self.tenure.lost:  # it still holds, and the worker has to end it otherwise
                raise RemitError(answer.message, answer.hint, answer.details, answer.code)
            self.ended = Ended(Ending.LOST, str(answer.code))
        else:
            self.tenure.end()
            self.ended = ended
        return answers

    def heed(self, refused: Refused) -> None:
        """Notice in a refusal that the lease is gone."""
        if refused.code in GONE:
            self.tenure.lose(str(refused.code))

    def given(self, adapter: Destination, name: str, timeout_ms: int) -> None:
        """Bind the destination that ``send`` goes to."""
        from remit.workers.sending import Bound

        self.bound = Bound(self, adapter, name, timeout_ms)

    def reads(self, document: Callable[[], bytes | None]) -> None:
        """Say how the document is read, if somebody wants it."""
        self._document = document
