"""A worker: it leases, intends, sends and reports, with what the library gives to anybody.

It looks at nothing that could save it: it sends whatever it has intended, however long ago that was
and whatever became of its lease, and reports under the fence that it has. One that was stopped goes
on as if nothing had been, finishes what it has in hand, and ends; its ledger may be lost by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.effects import plan as p
from tests.effects.points import Points

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.decide.ledger import RECONCILER
from remit.core.effect_facts import Effect, Intent
from remit.core.facts import Lease
from remit.core.refusals import Code, Refused
from remit.ports import OutcomeUnknown, StoreUnavailable
from remit.ports.destination import Request, SendError
from remit.service.engine import Answer
from remit.service.operations import Caller, Operations, lease_of
from remit.wiring import Ledger, destination, open_ledger


def opened(plan: p.Plan, points: Points) -> Ledger:
    """The ledger, with the points of its store."""
    while True:
        try:
            ledger = open_ledger(plan.url)
        except StoreUnavailable:
            time.sleep(0.02)
        else:
            ledger.store.pause = points.step  # type: ignore[attr-defined]  # of both stores
            return ledger


class Worker:
    """One life of one worker."""

    def __init__(self, plan: p.Plan, name: str, life: str, points: Points) -> None:
        self.plan = plan
        self.life = life
        self.points = points
        self.calls = 0
        self.ledger = opened(plan, points)
        self.operations = self.ledger.acting(name)
        # What only remit's own sending code can see is written as a service, as the library does.
        self.seen = Operations(self.ledger.store, Caller(RECONCILER), self.ledger.engine)

    def call(self, operation: str, ask: Callable[[str], Any]) -> Any:
        """One call, asked under one id until there is an answer."""
        self.calls += 1
        name = f"{self.life}-{self.calls}"
        with self.points.during(operation):
            while True:
                try:
                    return ask(name)
                except (OutcomeUnknown, StoreUnavailable):
                    if self.points.stopped:
                        raise
                    time.sleep(0.02)

    def live(self) -> None:
        """Work until somebody says that it is over."""
        over = Path(self.plan.folder) / "over"
        while not (over.exists() or self.points.stopped):
            answer = self.call("lease", self._lease)
            if isinstance(answer, Refused):
                assert answer.code is Code.NOTHING_READY, answer
                time.sleep(0.03)
            else:
                try:
                    self.attempt(lease_of(answer))
                except (OutcomeUnknown, StoreUnavailable) as error:
                    self.points.log.note("lost its ledger", found=str(error))
                    if not self.points.stopped:
                        raise
        self.ledger.close()

    def _lease(self, command_id: str) -> Any:
        return self.operations.lease(c.GrantLease(ttl_ms=p.TTL_MS), command_id=command_id)

    def attempt(self, lease: Lease) -> None:
        """One attempt under one lease."""
        self.points.reach("leased")
        with self.ledger.store.read() as tx:
            intent = tx.load([("intent", lease.item)])["intent", lease.item]
        assert isinstance(intent, Intent)
        effect = intent.envelope.effect_id
        self.points.log.note("intends", effect=effect, item=lease.item, fence=lease.fence)
        intends = k.IntendEffect(lease.item, lease.fence)
        answer = self.call("intend", lambda n: self.operations.intend_effect(intends, command_id=n))
        self.points.reach("intended")
        if isinstance(answer, Refused):
            self.points.log.note("refused", operation="intend", code=answer.code)
            return
        said = self.send(lease, effect, intent.envelope.destination)
        self.over(effect, lease.fence)
        self.say(lease, said)

    def send(self, lease: Lease, effect: str, mode: str) -> str:
        """Send once; returns what was answered, empty where nobody answered."""
        key = self._effect(effect).key
        send = f"{self.life}-{lease.fence}"
        self.points.log.note("sends", send=send, effect=effect, mode=mode, fence=lease.fence)
        self.points.reach("send:before")
        if mode == "fenced":
            self.points.reach("send:fenced")
        stamp = str(time.time_ns() // 1_000)
        document = p.document(mode, self.plan.ports[mode])
        there = destination(document, {"SEND_ID": send, "SENT_AT": stamp})
        request = Request(
            effect,
            key,
            lease.fence,
            p.payload_of(effect),
            "EXPORT",
            timeout_ms=self.plan.timeout_ms,
        )
        self.points.reach("send:under way")
        try:
            said = there.send(request).reference
        except SendError as error:
            said = "" if error.uncertain else f"refused: {error.details.get('reason', error.code)}"
        self.points.reach("send:after")
        return said

    def over(self, name: str, fence: int) -> None:
        """Write down that this attempt's one send is over: its bound counts from here."""
        with self.ledger.store.read() as tx:
            effect, now = tx.load([("effect", name)])["effect", name], tx.now()
        if isinstance(effect, Effect) and effect.fence == fence:
            note = k.NoteTermination(name, effect.attempt, "its send is over", now)
            self.call("over", lambda n: self.seen.observed([note], [n]))

    def say(self, lease: Lease, said: str) -> None:
        """Report an answer, or say that there was none and hand back."""
        item, fence = lease.item, lease.fence
        answers: list[Answer]
        if said:
            report = k.ReportEffect(item, fence, said, text=c.Text(said))
            answers = [self.call("report", lambda n: self.operations.report_effect(report, command_id=n))]  # fmt: skip
        else:
            unsure = k.NoteUncertain(item, fence, "TIMEOUT")
            back = c.ReleaseLease(item, fence, "no answer")
            answers = [
                self.call("uncertain", lambda n: self.operations.note_uncertain(unsure, command_id=n)),
                self.call("release", lambda n: self.operations.release(back, command_id=n)),
            ]  # fmt: skip
        self.points.reach("reported")
        for answer in answers:
            if isinstance(answer, Refused):
                self.points.log.note("refused", operation="report", code=answer.code)

    def _effect(self, name: str) -> Effect:
        with self.ledger.store.read() as tx:
            effect = tx.load([("effect", name)])["effect", name]
        assert isinstance(effect, Effect)
        return effect
