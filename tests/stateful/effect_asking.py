"""Every command of effect work and of limits, asked of a ledger beside all others.

Few effects, few classes, short lives and small limits, so that works meet. What only remit itself can
have seen (a look-up, a worker's end, a new epoch) is asked directly, with what stands on the ledger and
with what does not. The rules that works are judged by are registered by the same traffic, so an example
also has times without any, and times with another revision in force.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.core.effects import MINUTE, POLICY, RULES, capacity, envelope
from tests.core.traffic import Ask
from tests.core.world import HUMAN, World

from remit.core import commands as c
from remit.core.canonical import digest_of
from remit.core.change import changed
from remit.core.effect_facts import Destination, Effect, Intent
from remit.core.facts import Item
from remit.core.retrying import JITTER
from remit.service.submitting import intent_of

RECONCILER = "remit-reconciler"
CLASSES = ("STANDARD", "URGENT")
EFFECTS = tuple(f"EFFECT-{n}" for n in range(1, 10))
SCOPES = (
    "ledger", "class/STANDARD", "class/delivery", "tenant/default", "actor/bob",
    "repository/main", "lane/STANDARD|default", "class/two words", "nobody",
)  # fmt: skip


class EffectAsking:
    """Asks for effect work in one world; ``rnd`` is set before each question."""

    def __init__(self, world: World, most: int) -> None:
        self.world = world
        self.most = most
        self.rnd = Random(0)
        self.messages = 0

    def ask(self, rnd: Random) -> Ask:
        """One of all the ways."""
        self.rnd = rnd
        if self._fact("current", "policy") is None and rnd.random() < 0.7:
            return self._governed()
        if self._fact("current", "destination/INDEX") is None and rnd.random() < 0.5:
            return self._destination()
        return rnd.choice(WAYS)(self)

    def _fact(self, kind: str, name: str) -> Any:
        return self.world.fact(kind, name)

    def _someone(self) -> str:
        return self.rnd.choice((HUMAN, "bob", "bob", "cat", "remit-admission"))

    def _works(self, *statuses: str) -> list[Item]:
        items = [i for i in self.world.items() if i.kind.value == "effect"]
        return [i for i in items if not statuses or i.status.value in statuses]

    def _one(self, *statuses: str) -> str:
        works = self._works(*statuses) or self._works()
        return self.rnd.choice(works).id if works else "W-1"

    # Documents and limits.

    def _governed(self) -> Ask:
        """Rules first, then a policy that names them."""
        if self._fact("validation", RULES.label) is None:
            return HUMAN, c.RegisterValidation(RULES)
        return self._policy()

    def _validation(self) -> Ask:
        label = self.rnd.choice((RULES.label, "VALIDATION-4"))
        rules = changed(RULES, label=label, digest=self.rnd.choice(("a" * 64, "c" * 64)))
        return self._someone(), c.RegisterValidation(rules)

    def _policy(self) -> Ask:
        rnd, parts = self.rnd, dict[str, Any]()
        parts["rows"] = rnd.choice(
            (
                ("capacity", "deadline"),
                ("capacity", "deadline", "destination"),
                ("deadline", "cancellation"),
                ("deadline",),
                ("deadline",),
                ("deadline",),
            )
        )
        parts["storage_limit"] = rnd.choice((0, 0, 0, 5))
        parts["attempts"] = rnd.choice((2, 3))
        parts["classes"] = rnd.choice((("*",),) * 5 + (CLASSES[:1],))
        label = f"POLICY-{rnd.randint(1, 6)}"
        policy = changed(POLICY, label=label, digest=digest_of([label, repr(parts)]), **parts)
        return HUMAN, c.RegisterPolicy(policy)

    def _destination(self) -> Ask:
        rnd = self.rnd
        number = rnd.randint(1, 3)
        there = Destination(
            f"INDEX-{number}", 0, "INDEX", f"{number:064x}", "", "index", number >= 2, None,
            number == 2, True, True, 0, number == 2, (30_000, None, 30_000)[number - 1], False,
            "UNDO", 0,
        )  # fmt: skip
        return HUMAN, c.RegisterDestination(there)

    def _limit(self) -> Ask:
        rnd = self.rnd
        figures: dict[str, Any] = rnd.choice(
            (
                {},
                {"concurrency": rnd.randint(1, 3)},
                {"rate": rnd.randint(0, 4), "per_ms": rnd.choice((60_000, 1_000_000))},
                {"spend_micros": rnd.choice((50, 500)), "reserve_micros": rnd.choice((0, 7))},
                {"weight": rnd.randint(0, 5)},
            )
        )
        who = self.rnd.choice((HUMAN, HUMAN, HUMAN, "bob"))
        return who, c.SetLimit(rnd.choice(SCOPES), **figures)

    def _capacity(self) -> Ask:
        rnd = self.rnd
        seen = capacity(
            work_class=rnd.choice(CLASSES),
            observed_at=self.world.now + rnd.choice((0, 0, 0, -121_000_000, 500_000, 5_000_000)),
            start_delay_ms=rnd.choice((0, 0, 1_000, None)),
            duration_ms=rnd.choice((1_000, 20_000, MINUTE, None)),
            worker_limit=rnd.choice((1, 2, None, 0)),
            reserved=rnd.choice((0, 0, None)),
        )
        return self._someone(), c.ObserveCapacity(seen)

    # Intents and admission.

    def _envelope(self, **parts: Any) -> Any:
        rnd, now = self.rnd, self.world.now
        self.messages += 1
        number = self.messages if rnd.random() < 0.9 else rnd.randint(1, self.messages)
        ends = rnd.choice((None,) * 4 + (90_000_000, 600_000_000, 600_000_000, 0))
        begins = rnd.choice((None,) * 5 + (0, 30_000_000))
        values = {
            "effect_id": rnd.choice(EFFECTS),
            "operation_id": rnd.choice(("EXPORT",) * 7 + ("DEPLOY",)),
            "payload_digest": rnd.choice(("A",) * 7 + ("B",)),
            "priority_class": rnd.choice(CLASSES),
            "priority": rnd.randint(0, 4),
            "replay_class": rnd.choice(
                ("RECONCILABLE",) * 3
                + ("COMPENSATABLE",) * 2
                + ("PURE", "IRREVERSIBLE", "NONSENSE")
            ),
            "deadline": None if ends is None else now + ends,
            "not_before": None if begins is None else now + begins,
            "minimum_completion_margin_ms": rnd.choice((None, None, MINUTE // 2)),
            "cancellation_state": rnd.choice(("NOT_REQUESTED",) * 14 + ("", "UNOBSERVABLE")),
            "destination": rnd.choice(("INDEX", "INDEX", "INDEX", "OTHER")),
            "compensation": "UNDO",
            "spend_micros": rnd.choice((None, None, 5)),
            "decision": rnd.choice(("", "D-1")),
            "depends_on": self._awaited(number),
        }
        return envelope(number, **{**values, **parts})

    def _awaited(self, number: int) -> tuple[str, ...]:
        items = self.world.items()
        if self.rnd.random() < 0.8 or not items:
            return ()
        if self.rnd.random() < 0.5:
            return (self.rnd.choice(items).id,)
        return (f"WORK-{number + self.rnd.randint(-3, 3)}",)

    def _submit(self) -> Ask:
        if len(self.world.items()) >= self.most:
            return self._lease()
        command = intent_of(self._envelope())
        if self.rnd.random() < 0.1:
            command = changed(command, decide=False)
        return self._someone(), command

    def _decide(self) -> Ask:
        return self._someone(), c.DecideIntent(self._one("draft", "held"), self.rnd.random() < 0.8)

    def _recheck(self) -> Ask:
        triggers = ["", *(f"capacity:{name}" for name in CLASSES)]
        triggers += [i.hold.trigger for i in self._works("held") if i.hold is not None]
        command = c.RecheckHolds(self.rnd.choice(triggers), self.rnd.choice((0, 1, 3, -1)))
        return self._someone(), command

    def _cancel(self) -> Ask:
        state = self.rnd.choice(
            ("REQUESTED", "NOT_REQUESTED", "NOT_REQUESTED", "UNOBSERVABLE", "?")
        )
        return self._someone(), c.CancelWork(self._one(), state)

    # Effects.

    def _lease(self) -> Ask:
        ready = self._works("ready")
        name = self.rnd.choice(ready).id if ready else ""
        return self.rnd.choice(("bob", "cat")), c.GrantLease(
            name, spend_micros=self.rnd.choice((0, 0, 3, 60))
        )

    def _held(self) -> tuple[str, str, int]:
        """A live lease on effect work, or what is none."""
        works = self._works("leased")
        lease = self.rnd.choice(works).lease if works else None
        if lease is None or self.rnd.random() < 0.05:
            return self._one(), "bob", self.rnd.randint(1, 9)
        return lease.item, lease.actor, lease.fence

    def _intend(self) -> Ask:
        name, actor, fence = self._held()
        expires = self.rnd.choice((None, None, self.world.now + 10_000_000, 1))
        digest = self.rnd.choice(("", "", "A", "Z"))
        return actor, c.IntendEffect(name, fence, digest, expires)

    def _report(self) -> Ask:
        name, actor, fence = self._held()
        spent = self.rnd.choice((None, None, 2, 70))
        command: c.Command = self.rnd.choice(
            (
                c.NoteSent(name, fence),
                c.NoteUncertain(name, fence, "TIMEOUT"),
                c.ReportEffect(name, fence, "200", spent_micros=spent),
                c.ReportEffect(name, fence, "", "A", c.Text("done"), spent_micros=spent),
                c.ReportProgress(name, fence, c.Text("on the way"), spent),
                c.ReleaseLease(name, fence, "back", spent),
            )
        )
        return actor, command

    def _effect(self) -> Effect | None:
        found = [self._fact("effect", name) for name in EFFECTS]
        known = [f for f in found if isinstance(f, Effect)]
        begun = [f for f in known if f.intents or f.response_seq]
        return self.rnd.choice(begun or known) if known else None

    def _ended(self) -> Ask:
        effect = self._effect()
        name, attempt = (effect.id, effect.attempt) if effect else (EFFECTS[0], "A-1.1")
        at = self.world.now - self.rnd.choice((0, 0, 1_000_000))
        return RECONCILER, c.NoteTermination(name, attempt, "exit status seen", at)

    def _observe(self) -> Ask:
        rnd, effect = self.rnd, self._effect()
        if effect is None:
            return RECONCILER, c.ObserveEffect(EFFECTS[0], "index", "NONE", 0, 0)
        intent = self._fact("intent", effect.item)
        record = "remit:result" if effect.replay_class == "PURE" else "index"
        if isinstance(intent, Intent) and intent.envelope.authoritative_effect_record:
            record = intent.envelope.authoritative_effect_record
        result = rnd.choice(("FOUND", "FOUND", "NONE", "NONE", "UNAVAILABLE", "PERHAPS"))
        objects = {"FOUND": rnd.choice((1, 1, 1, 2)), "NONE": 0}.get(result)
        digest = rnd.choice((effect.result_digest or "A", "B"))
        values = (("effect_id", effect.id), ("digest", digest)) if result == "FOUND" else ()
        command = c.ObserveEffect(
            effect.id,
            rnd.choice((record, record, record, "another")),
            result,
            self.world.now - rnd.choice((0, 0, 0, 1_000_000)),
            effect.version - rnd.choice((0, 0, 0, 0, 1)),
            objects,
            values,
            rnd.choice(((), (), (), ("manifest",))),
            consistent=rnd.random() < 0.8,
            confirmed_fence=rnd.choice((0, effect.fence + 1)),
            jitter=rnd.choice((0, JITTER // 2, JITTER - 1, -1)),
        )
        return rnd.choice((RECONCILER,) * 8 + ("bob", HUMAN)), command

    def _repeat(self) -> Ask:
        """The identical request under its key, where the effect's state allows it or not."""
        effects = [e for name in EFFECTS if isinstance(e := self._fact("effect", name), Effect)]
        dark = [e for e in effects if e.state.value == "UNCERTAIN" and e.intents]
        chosen = self.rnd.choice(dark or effects) if effects else None
        name, version = (chosen.id, chosen.version) if chosen else (EFFECTS[0], 0)
        version -= self.rnd.choice((0, 0, 0, 1))
        return self.rnd.choice((RECONCILER,) * 5 + ("bob",)), c.RepeatRequest(name, version)

    def _carry(self) -> Ask:
        return "remit-queue", c.CarryEpoch(self._one())

    def _compensate(self) -> Ask:
        done = self._works("verified", "triaged", "shipped")
        intents = [(i, self._fact("intent", i.id)) for i in done]
        done = [i for i, n in intents if n.envelope.replay_class == "COMPENSATABLE"] or done
        name = self.rnd.choice(done).id if done else self._one()
        undone = f"UNDO-{self.rnd.randint(1, 6)}"
        envelope = self._envelope(effect_id=undone, operation_id="UNDO", depends_on=())
        intent = intent_of(envelope)
        return self._someone(), c.CompensateEffect(name, envelope, intent.digest)

    def _onward(self) -> Ask:
        """What leads on from here, so that chains of steps are not left to chance alone."""
        works = self._works("leased")
        effect = self._effect()
        open_ = effect is not None and effect.state.value in ("INTENDED", "UNCERTAIN")
        if works and self.rnd.random() < 0.7:
            lease = self.rnd.choice(works).lease
            assert lease is not None
            intent = self._fact("intent", lease.item)
            pure = intent.envelope.replay_class == "PURE"
            own = self._fact("effect", intent.envelope.effect_id)
            begun = isinstance(own, Effect) and own.lease == lease.id
            if pure or begun:
                report = c.ReportEffect(lease.item, lease.fence, "200", "A" * pure)
                said = (c.NoteSent, c.NoteUncertain)[self.rnd.random() < 0.5]
                more = begun and self.rnd.random() < 0.4
                return lease.actor, said(lease.item, lease.fence) if more else report
            return lease.actor, c.IntendEffect(lease.item, lease.fence)
        if effect is not None and open_ and self.rnd.random() < 0.8:
            values = (("effect_id", effect.id),)
            now, version = self.world.now, effect.version
            return RECONCILER, c.ObserveEffect(effect.id, "index", "FOUND", now, version, 1, values)
        return self._lease()


WAYS: tuple[Callable[[EffectAsking], Ask], ...] = (
    *(EffectAsking._submit,) * 8,
    *(EffectAsking._onward,) * 8,
    *(EffectAsking._lease,) * 5,
    *(EffectAsking._intend,) * 3,
    *(EffectAsking._report,) * 4,
    *(EffectAsking._observe,) * 4,
    *(EffectAsking._capacity,) * 3,
    *(EffectAsking._repeat,) * 2,
    EffectAsking._ended,
    EffectAsking._recheck,
    EffectAsking._recheck,
    EffectAsking._cancel,
    EffectAsking._decide,
    EffectAsking._carry,
    EffectAsking._repeat,
    EffectAsking._repeat,
    EffectAsking._compensate,
    EffectAsking._compensate,
    EffectAsking._validation,
    EffectAsking._policy,
    EffectAsking._destination,
    EffectAsking._destination,
    EffectAsking._limit,
)
"""Every way to ask, as often as it stands here."""

__all__ = ["EffectAsking"]
