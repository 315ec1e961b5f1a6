"""The one send of a job, in the only order that is safe: intend, look at the lease, send, report.

The intent is committed before anything leaves; where it was refused, or nobody can say whether it is
on record, nothing leaves. The lease is looked at once more after the intent, because the process may
have been stopped between the two; the request carries fence, key and its own end, so that a
destination that enforces them stops what even that look did not. A missing answer is recorded as
uncertain, never as failure (INV-13), and the item is held until it is looked up (INV-14).
"""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remit.core import effect_commands as k
from remit.core.commands import Command, Text
from remit.core.refusals import Code
from remit.ports import OutcomeUnknown, RemitError, StoreUnavailable
from remit.ports.destination import (
    Answered,
    Destination,
    Enforced,
    NotSent,
    Request,
    Response,
    SendError,
    digest_of,
)
from remit.service import attempting
from remit.workers.endings import Ended, Ending, LeaseLost, plain, said

if TYPE_CHECKING:
    from remit.workers.job import Job


@dataclass(frozen=True, slots=True)
class Bound:
    """A destination for one job."""

    job: Job
    adapter: Destination
    name: str
    timeout_ms: int

    @property
    def enforced(self) -> Enforced:
        """What the destination enforces."""
        return self.adapter.enforced

    def send(self, payload: bytes, *, timeout_ms: int = 0) -> Response:
        """Bring the effect about, once, and record what came of it; the lease ends with that.

        ``timeout_ms`` bounds the call (0: as the handler was declared). Returns the destination's
        response. Raises ``LeaseLost``, ``IntentRefused`` and ``AlreadySent`` where nothing was sent,
        and the destination's ``NotSent``, ``NoAnswer`` or ``Answered`` after they were recorded.
        """
        if not isinstance(payload, bytes):
            raise RemitError(
                f"the payload is {type(payload).__name__}, expected bytes",
                "encode it: what is sent is what is digested",
                code=Code.BAD_INPUT,
            )
        job, bound_ms = self.job, timeout_ms or self.timeout_ms
        ends = job.tenure.now_us + bound_ms * 1_000
        digest = digest_of(payload)
        try:
            job.intend(digest, ends)
        except (StoreUnavailable, OutcomeUnknown):
            job.tenure.lose("INTENT_UNKNOWN")
            raise
        request = self._request(payload, ends, bound_ms)
        if not job.tenure.live:
            self._unsent()
        try:
            response = self.adapter.send(request)
        except SendError as error:
            self._failed(digest, error)
            raise
        except BaseException as error:
            self._unanswered(digest, type(error).__name__, sent=True)
            raise
        self._answered(digest, response.reference, response.text, receipt=True)
        return response

    def _request(self, payload: bytes, ends: int, bound_ms: int) -> Request:
        """The request; its end is not later by this machine's wall clock than by the ledger's."""
        envelope = self.job.envelope
        wall = time.time_ns() // 1_000 + bound_ms * 1_000
        return Request(
            envelope.effect_id,
            self.job.key,
            self.job.fence,
            payload,
            envelope.operation_id,
            envelope.manifest_id,
            min(ends, wall),
            bound_ms,
            self.job.compensates,
        )

    def _unsent(self) -> None:
        """The lease was lost between intent and send: nothing leaves, and that is said."""
        job = self.job
        job.tenure.lose("LEASE_EXPIRED")
        self._unanswered("", "LEASE_LOST_BEFORE_SEND", sent=False)
        raise LeaseLost(
            f"nothing was sent for {job.item.id}: its lease {job.lease.id} was lost before",
            "return; the effect is looked up before anything is sent again",
            {"item": job.item.id, "effect": job.effect_id},
        )

    def _failed(self, digest: str, error: SendError) -> None:
        if isinstance(error, Answered) and not error.uncertain:
            self._answered(digest, str(error.reason), error.message, receipt=False)
            return
        reason = error.reason if isinstance(error, Answered) else error.code
        self._unanswered(digest, str(reason), sent=not isinstance(error, NotSent))

    def _answered(self, digest: str, response: str, text: str, *, receipt: bool) -> None:
        """The destination's answer. A refusal is one too, after which nothing more leaves."""
        job = self.job
        report = k.ReportEffect(
            job.item.id,
            job.fence,
            plain(response, 500),
            "",
            Text(plain(text, 100_000)),
            authoritative=receipt and self.enforced.receipt_authoritative,
            spent_micros=job.spent_micros,
        )
        before: list[Command] = [k.NoteSent(job.item.id, job.fence, digest)]
        if not receipt:
            before += self._over()
        ended = Ended(Ending.REPORTED, plain(response, 80))
        self._record([*before, report], len(before), ended)

    def _unanswered(self, digest: str, reason: str, *, sent: bool) -> None:
        job = self.job
        commands: list[Command] = [k.NoteSent(job.item.id, job.fence, digest)] if sent else []
        commands.append(k.NoteUncertain(job.item.id, job.fence, reason))
        commands += self._over()
        if not job.lost:
            commands.append(job.release(reason))
        decisive = len(commands) - 1 if not job.lost else int(sent)
        self._record(commands, decisive, Ended(Ending.UNCERTAIN, reason[:80]))

    def _over(self) -> list[Command]:
        """That this attempt's one send is over: the in-flight bound counts from here."""
        job = self.job
        by = f"send returned in process {os.getpid()} of {socket.gethostname()}"[:500]
        store = job.desk.operations.store
        return job.desk.insist(
            lambda: attempting.send_over(store, job.effect_id, job.fence, by), job.last_s
        )

    def _record(self, commands: list[Command], decisive: int, ended: Ended) -> None:
        """Write it down; a store that stays away leaves the effect intended, which is held by time."""
        job = self.job
        named = job.desk.new_id()
        operations = job.desk.operations
        try:
            answers = job.desk.insist(
                lambda: attempting.record(operations, commands, named), job.last_s
            )
        except (StoreUnavailable, OutcomeUnknown) as error:
            job.tenure.lose(str(error.code))
            job.ended = Ended(Ending.UNCERTAIN, str(error.code), said(error))
            return
        job.closed(answers, decisive, ended)
