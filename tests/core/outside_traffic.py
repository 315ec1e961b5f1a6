"""Random traffic on effects: workers that pause and die, requests that are lost or late, and restores.

Workers here are real in the only way that matters: once they have intended they may send at any later
time until they die, whatever became of their lease. What came about is counted by the destination,
not by the ledger. ``Broken`` names the property that does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.core.effect_world import DIGEST, EffectWorld
from tests.core.invariants import Broken, demand
from tests.core.outside import Outside, Sent
from tests.core.world import AGENTS, HUMAN, SECOND, folded

from remit.core import commands as c
from remit.core.commands import Text
from remit.core.effect_events import EffectIntended
from remit.core.effect_facts import Effect, EffectState
from remit.core.evolve import FoldError
from remit.core.facts import Item, Lease, Triage
from remit.core.item_events import LeaseGranted
from remit.core.retrying import JITTER
from remit.service.engine import Answer, Done, Engine
from remit.service.reconciling import Reconciler, Shown

BOUND_MS = 30_000
LEASE_MS = 20_000
WAYS: tuple[dict[str, Any], ...] = (
    {"in_flight_ms": BOUND_MS},
    {"in_flight_ms": BOUND_MS, "request_expiry": True},
    {"in_flight_ms": None, "fence": True},
    {"in_flight_ms": BOUND_MS, "fence": True, "request_expiry": True},
    {"in_flight_ms": None},
    {"in_flight_ms": BOUND_MS, "idempotency_key": True, "key_retention_ms": None},
)
"""What destinations enforce; but for the last none has a key, so each second request is a second
object. Where a key is enforced, requests are repeated at times, and that may take long as well."""


@dataclass
class Worker:
    """A process that took a lease."""

    lease: Lease
    effect: str
    attempt: str = ""
    expires_at: int | None = None
    intended: bool = False
    sent: bool = False
    answered: bool = False
    dead_at: int | None = None
    noted: bool = False


class EffectTraffic:
    """Traffic on one world and one destination; ``most`` bounds how many works there are.

    ``only`` names the properties that are held, none for all of them; ``ways`` are what the
    destination may enforce. In ``hasty`` traffic requests
    take long, hands give back at once, and a look-up takes as long as a request.
    """

    def __init__(
        self,
        rnd: Random,
        most: int = 9,
        *,
        only: tuple[str, ...] = (),
        hasty: bool = False,
        ways: Sequence[dict[str, Any]] = WAYS,
    ) -> None:
        self.rnd = rnd
        self.most = most
        self.only = only
        self.hasty = hasty
        enforced = rnd.choice(ways[:2] if hasty else ways)
        self.world = EffectWorld(policy={"attempts": 4, "looks": 5}, **enforced)
        self.there = Outside(self.world.destination, self.world.now)
        self.workers: list[Worker] = []
        self.made = 0
        self.kept: tuple[Any, int] | None = None
        self.epoch = 0
        self.adopted_at = -1
        self.log: list[str] = []
        self.counts = {
            "sends": 0,
            "restores": 0,
            "observations": 0,
            "zombie sends": 0,
            "repetitions": 0,
        }

    # Steps.

    def run(self, steps: int) -> None:
        """Many steps, then everything that is left is settled."""
        for _ in range(steps):
            self.step()
        self.finish()

    def step(self) -> None:
        """One thing happens."""
        ways = (
            (self.submit, 3), (self.take, 8), (self.work, 22), (self.time, 12), (self.look, 10),
            (self.outage, 1), (self.cancel, 1), (self.settle, 2), (self.recheck, 3),
            (self.snapshot, 1), (self.restore, 1),
        )  # fmt: skip
        way = self.rnd.choices([w for w, _ in ways], [n for _, n in ways])[0]
        self.log.append(way.__name__)
        way()
        self.hold()

    def do(self, actor: str, command: c.Command) -> Answer:
        """Ask for something that may be refused."""
        try:
            return self.world.do(actor, command)
        except FoldError as error:
            raise Broken("decisions-fold", str(error)) from error

    def submit(self) -> None:
        """New work, or the same effect again under another message."""
        if self.made >= self.most:
            return
        self.made += 1
        effect = f"E-{self.made}" if self.rnd.random() < 0.85 else "E-1"
        replay = self.rnd.choice(("RECONCILABLE", "RECONCILABLE", "COMPENSATABLE", "IRREVERSIBLE"))
        decision = "D-1" if replay == "IRREVERSIBLE" else ""
        self.world.submit(effect_id=effect, replay_class=replay, decision=decision)

    def take(self) -> None:
        """Somebody takes what is next."""
        actor = self.rnd.choice(AGENTS)
        answer = self.do(actor, c.GrantLease(ttl_ms=LEASE_MS))
        for recorded in answer.events if isinstance(answer, Done) else ():
            if isinstance(recorded.event, LeaseGranted):
                lease = recorded.event.lease
                effect = self.world.intent(lease.item).envelope.effect_id
                self.workers.append(Worker(lease, effect))

    def work(self) -> None:
        """A worker does its next step, in its own time; it knows nothing of the ledger's."""
        alive = [w for w in self.workers if w.dead_at is None]
        if not alive:
            return
        worker = self.rnd.choice(alive)
        chance = self.rnd.random()
        if chance < 0.12:
            worker.dead_at = self.world.now
        elif not worker.intended:
            self._intend(worker)
        elif not worker.sent:
            self._send(worker)
        else:
            self._report(worker)
        if worker.dead_at is not None and self.rnd.random() < (0.95 if self.hasty else 0.6):
            self._note(worker)

    def _intend(self, worker: Worker) -> None:
        lease = worker.lease
        if self.there.declared.request_expiry and self.rnd.random() < 0.8:
            worker.expires_at = self.world.now + self.rnd.choice((1, 10, 40)) * SECOND
        answer = self.do(
            lease.actor,
            c.IntendEffect(lease.item, lease.fence, request_expires_at=worker.expires_at),
        )
        if isinstance(answer, Done):
            [event] = [r.event for r in answer.events if isinstance(r.event, EffectIntended)]
            worker.intended, worker.attempt = True, event.attempt
        else:
            worker.dead_at = self.world.now

    def _send(self, worker: Worker) -> None:
        """It sends, though its lease may be long over: nothing here can stop it."""
        now = self.world.now
        if now >= worker.lease.expires_at:
            self.counts["zombie sends"] += 1
        self._alone(worker)
        delays = (29, BOUND_MS // 1_000) if self.hasty else (0, 0, 0, 5, 25, BOUND_MS // 1_000)
        delay = self.rnd.choice(delays) * SECOND
        sent = Sent(
            worker.effect, worker.attempt, DIGEST, "MANIFEST-72", worker.lease.fence,
            worker.expires_at, now + delay,
        )  # fmt: skip
        self.counts["sends"] += 1
        worker.sent = True
        worker.answered = self.there.send(sent, lost=self.rnd.random() < 0.25, twice=False)
        if self.rnd.random() < 0.5:
            self.do(worker.lease.actor, c.NoteSent(worker.lease.item, worker.lease.fence))

    def _alone(self, worker: Worker) -> None:
        """No earlier request is there, or under way, or could still be sent and come about."""
        declared, there = self.there.declared, self.there
        if declared.fence and worker.lease.fence < there.fences.get(worker.effect, 0):
            return  # it is refused where it arrives
        if declared.idempotency_key and there.objects.get(worker.effect):
            return  # it makes no second one
        expires = worker.expires_at
        if declared.request_expiry and expires is not None and there.now > expires:
            return
        self.demand(not there.objects.get(worker.effect), "INV-14-present-never-sent", worker)
        for sent in there.under_way:
            other = sent.effect == worker.effect and sent.attempt != worker.attempt
            self.demand(not (other and there.accepts(sent)), "INV-14-one-under-way", worker)

    def _report(self, worker: Worker) -> None:
        lease = worker.lease
        command: c.Command = c.NoteUncertain(lease.item, lease.fence, "TIMEOUT")
        if worker.answered and self.rnd.random() < 0.7:
            command = c.ReportEffect(lease.item, lease.fence, "200", text=Text("stored"))
        elif self.rnd.random() < (0.9 if self.hasty else 0.3):
            command = c.ReleaseLease(lease.item, lease.fence, "no answer")
        self.do(lease.actor, command)
        worker.dead_at = self.world.now

    def _note(self, worker: Worker) -> None:
        """A supervisor saw it end."""
        if worker.intended and not worker.noted and worker.dead_at is not None:
            worker.noted = True
            ended = c.NoteTermination(worker.effect, worker.attempt, "exit", worker.dead_at)
            self.do("remit-reconciler", ended)

    def time(self) -> None:
        """Time goes by, often past the end of a lease."""
        self.pass_us(self.rnd.choice((1, SECOND, 5 * SECOND, 21 * SECOND, 31 * SECOND)))

    def pass_us(self, duration: int) -> None:
        """Time goes by for everybody."""
        self.world.pass_us(duration)
        self.there.move(self.world.now)

    def look(self) -> None:
        """The reconciler looks up what is due; at times something happens while it looks."""
        busy = self.rnd.random() < (0.9 if self.hasty else 0.5)

        def slow(question: Any) -> Any:
            shown = self.there.look_up(question)
            if busy:
                self.pass_us(self.rnd.choice((1, SECOND, 31 * SECOND)))
                if not self.hasty or self.rnd.random() < 0.1:
                    self.work()
            return shown

        found = self.reconciler(slow, repeats=self.rnd.random() < 0.7).due()
        self.counts["observations"] += sum(isinstance(a, Done) for _, a in found)

    def reconciler(self, look_up: Any, *, repeats: bool = False) -> Reconciler:
        """The service itself, over this world's engine; with requests to repeat at hand or not."""
        operations = self.world.ops("remit-reconciler")
        jitter = self.rnd.randrange(JITTER)
        return Reconciler(
            self.world.store,
            {"objects": look_up},
            lambda: jitter,
            operations=operations,
            repeats={"objects": self.repeating} if repeats else {},
        )

    def repeating(self, effect: Effect) -> Any:
        """What repeats the request of an effect, perhaps after a pause in which others look."""

        def repeat() -> Shown:
            if self.rnd.random() < 0.3:
                self.pass_us(self.rnd.choice((SECOND, 31 * SECOND)))
                self.reconciler(self.there.look_up).due()
            self.counts["repetitions"] += 1
            delay = self.rnd.choice((0, 0, 25, 29)) * SECOND
            sent = Sent(
                effect.id, effect.attempt, DIGEST, "MANIFEST-72", effect.fence, None,
                self.world.now + delay,
            )  # fmt: skip
            if not self.there.send(sent, lost=self.rnd.random() < 0.25, twice=False):
                return Shown("UNAVAILABLE")
            return self.there.shown(effect.id)

        return repeat

    def outage(self) -> None:
        """The record goes away, or comes back."""
        self.there.away = not self.there.away

    def _one(self, *statuses: str) -> Item | None:
        items = [i for i in self.world.items() if i.status.value in statuses]
        return self.rnd.choice(items) if items else None

    def cancel(self) -> None:
        """Somebody changes their mind."""
        item = self._one("held", "ready", "leased")
        if item is not None and self.rnd.random() < 0.4:
            self.do(HUMAN, c.CancelWork(item.id))

    def settle(self) -> None:
        """Somebody settles a record, as well as they can."""
        item = self._one("triaged")
        if item is None or not item.triage:
            return
        record = self.world.fact("triage", self.rnd.choice(item.triage))
        assert isinstance(record, Triage)
        how = self.rnd.choice(("requeue", "requeue", "reverify", "fail", "cancel"))
        self.do(HUMAN, c.ResolveTriage(record.id, how, "because"))

    def recheck(self) -> None:
        """Admission is asked again, for no reason."""
        item = self._one("held", "ready", "draft")
        if item is not None:
            command = self.rnd.choice(
                (c.Recheck(item.id), c.RecheckHolds(), c.ExpireLease(item.id))
            )
            self.do(HUMAN, command)

    # Backup and restore.

    def snapshot(self) -> None:
        """A backup is taken."""
        self.kept = (self.world.store._state.copy(), self.made)

    def restore(self) -> None:
        """The ledger is lost; the last backup is put back and adopted, and all workers are stopped."""
        if self.kept is None or self.rnd.random() < 0.5:
            return
        state, made = self.kept
        self.world.store._state = state.copy()
        self.world.engine = Engine(self.world.store)
        for worker in self.workers:
            worker.dead_at = worker.dead_at or self.world.now
        self.workers = []
        self.epoch += 1
        self.counts["restores"] += 1
        self.made = made
        self.world.made += 1_000
        self.do(HUMAN, c.AdoptEpoch(self.epoch - 1, "restored"))
        self.adopted_at = self.world.now
        if self.rnd.random() < 0.8:
            self.carry()
        self.kept = None

    def carry(self) -> None:
        """What adoption does after its event."""
        for item in self.world.items():
            self.do("remit-queue", c.CarryEpoch(item.id))

    # What must hold.

    def demand(self, ok: bool, name: str, what: object) -> None:
        """Hold a property, by name, if it is one of those that are asked for."""
        if not self.only or name in self.only:
            demand(ok, name, what)

    def hold(self) -> None:
        """No effect came about twice, and the ledger says nothing that is not so."""
        for effect, objects in self.there.objects.items():
            self.demand(len(objects) <= 1, "INV-14-one-object", f"{effect}: {objects}")
        for item in self.world.items():
            self._item(item)

    def _item(self, item: Item) -> None:
        effect = self.world.fact("effect", self.world.intent(item.id).envelope.effect_id)
        status = item.status.value
        if status == "held":
            hold = item.hold
            self.demand(
                bool(hold and hold.reason and hold.owner and hold.trigger), "INV-3-hold", item
            )
        if not isinstance(effect, Effect) or effect.item != item.id:
            return
        there = self.there.objects.get(effect.id, [])
        if effect.state is EffectState.PRESENT:
            self.demand(len(there) == 1, "present-is-there", effect)
        if effect.state is EffectState.ABSENT and effect.epoch == self.epoch:
            self._absent(effect)
        if status in ("shipped", "verified"):
            self.demand(len(there) == 1, "shipped-is-there", item)
        if status == "closed" and item.outcome != "coalesced" and effect.epoch == self.epoch:
            self.demand(not there, "closed-without-effect", item)

    def _absent(self, effect: Effect) -> None:
        """Absent means that nothing is there, nor under way, nor can still be sent by anybody."""
        self.demand(not self.there.objects.get(effect.id), "absent-is-absent", effect)
        for sent in self.there.under_way:
            wrong = sent.effect == effect.id and self.there.accepts(sent)
            self.demand(not wrong, "absent-is-absent", f"{sent} {effect}")
        for worker in self.workers:
            able = worker.intended and not worker.sent and worker.dead_at is None
            if able and worker.effect == effect.id:
                late = worker.expires_at is not None and self.there.now > worker.expires_at
                fence = self.there.fences.get(effect.id, 0)
                refused = (self.there.declared.request_expiry and late) or (
                    self.there.declared.fence and worker.lease.fence < fence
                )
                self.demand(refused, "absent-is-absent", f"{worker} {effect}")

    def finish(self) -> None:
        """Everybody ends and is seen to end, the record is back: all of it comes to rest."""
        self.there.away = False
        for worker in self.workers:
            worker.dead_at = worker.dead_at or self.world.now
            self._note(worker)
        self.carry()
        for _ in range(14):
            self.pass_us(31 * SECOND)
            for item in self.world.items():
                self.do("remit-queue", c.ExpireLease(item.id))
            self.look()
            self.hold()
        self.world.engine.settle()
        for item in self.world.items():
            self.demand(item.status.value != "leased", "nothing-stays-leased", item)
            effect = self.world.fact("effect", self.world.intent(item.id).envelope.effect_id)
            if isinstance(effect, Effect) and effect.item == item.id:
                self._at_rest(item, effect)
        kept, fresh = self.world.facts(), folded(self.world.events())
        self.demand(kept == fresh, "fold-equals-rows", "")

    def _at_rest(self, item: Item, effect: Effect) -> None:
        there = bool(self.there.objects.get(effect.id))
        status = item.status.value
        if there and status not in ("triaged", "closed"):
            self.demand(status == "verified", "what-is-there-is-found", f"{item} {effect}")
        if effect.state in (EffectState.INTENDED, EffectState.UNCERTAIN):
            # What was closed before the ledger was adopted stays closed, whatever is not known since:
            # a terminal item never moves (INV-4), and an adoption makes effects uncertain, not items
            # open. Its effect still has to be looked up: until then other work of it is held.
            ended = status == "closed" and item.changed_at <= self.adopted_at
            held = ended or status in ("held", "triaged")
            self.demand(held, "uncertain-is-held", f"{item} {effect}")
            self.demand(
                there or not self.there.declared.fence, "absence-is-found", f"{item} {effect}"
            )
            known = self.there.declared.in_flight_ms is None and not self.there.declared.fence
            self.demand(known or status == "triaged", "bounded-comes-to-rest", f"{item} {effect}")
