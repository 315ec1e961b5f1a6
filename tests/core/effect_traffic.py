"""Random traffic of effect work, beside that of delivery work on the same ledger.

Few effects, few classes and short lives, so that works meet: the same effect wanted twice, evidence
that goes stale, deadlines that pass, cancellations, works that wait for each other and for delivery work.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.core.effects import MINUTE, Effects, capacity, envelope
from tests.core.invariants import Watch
from tests.core.traffic import MIXED, SMALL, Ask, Traffic
from tests.core.world import HUMAN

from remit.core import commands as c
from remit.core.change import changed
from remit.service.submitting import intent_of

CLASSES = ("STANDARD", "URGENT")


class EffectTraffic(Traffic):
    """Traffic on a world with a policy for effect work."""

    def __init__(self, rnd: Random, most: int = 12, weights: tuple[int, ...] = MIXED) -> None:
        super().__init__(rnd, most, weights)
        rows = rnd.choice(
            (
                ("capacity", "deadline"),
                ("capacity", "deadline", "destination"),
                ("capacity", "deadline", "cancellation"),
                ("deadline",),
            )
        )
        world = Effects(rows=rows, storage_limit=rnd.choice((0, 0, 6)), attempts=SMALL.attempts)
        world.policy(**{n: getattr(SMALL, n) for n in ("ttl_ms", "longest_lease_ms", "attempts")})
        self.world = self.effects = world
        self.watch = Watch(world)
        self.messages = 0

    def _ask(self) -> Ask:
        if self.rnd.random() < 0.35:
            return super()._ask()
        ways = (
            self._submit,
            self._observe,
            self._recheck,
            self._cancel,
            self._decide,
            self._register,
        )
        return self.rnd.choices(ways, (10, 6, 2, 3, 1, 1))[0]()

    def _envelope(self) -> Any:
        rnd, now = self.rnd, self.world.now
        self.messages += 1
        number = self.messages if rnd.random() < 0.9 else rnd.randint(1, self.messages)
        ends = rnd.choice((None, None, 60_000_000, 600_000_000, 0, 90_000_000))
        begins = rnd.choice((None, None, None, 0, 30_000_000))
        return envelope(
            number,
            effect_id=f"EFFECT-{rnd.randint(1, 4)}",
            operation_id=rnd.choice(("EXPORT", "EXPORT", "EXPORT", "DEPLOY")),
            payload_digest=rnd.choice(("A", "A", "A", "B")),
            priority_class=rnd.choice(CLASSES),
            priority=rnd.randint(0, 4),
            replay_class=rnd.choice(("RECONCILABLE",) * 6 + ("PURE", "IRREVERSIBLE", "NONSENSE")),
            deadline=None if ends is None else now + ends,
            not_before=None if begins is None else now + begins,
            minimum_completion_margin_ms=rnd.choice((None, None, 0, MINUTE // 2, MINUTE)),
            cancellation_state=rnd.choice(
                ("NOT_REQUESTED",) * 8 + ("", "UNOBSERVABLE", "REQUESTED")
            ),
            destination=rnd.choice(("INDEX", "INDEX", "OTHER", "")),
            depends_on=self._awaited(number),
        )

    def _awaited(self, number: int) -> tuple[str, ...]:
        rnd, items = self.rnd, self.world.items()
        if rnd.random() < 0.7:
            return ()
        if items and rnd.random() < 0.5:
            return (rnd.choice(items).id,)
        return (f"WORK-{number + rnd.randint(-3, 3)}",)

    def _submit(self) -> Ask:
        if len(self.world.items()) >= self.most:
            return self._lease()
        command = intent_of(self._envelope())
        if self.rnd.random() < 0.1:
            command = changed(command, decide=False)
        return self._someone(), command

    def _observe(self) -> Ask:
        rnd = self.rnd
        seen = capacity(
            work_class=rnd.choice(CLASSES),
            observed_at=self.world.now + rnd.choice((0, 0, 0, -60_000_000, -121_000_000, 500_000)),
            start_delay_ms=rnd.choice((0, 0, 1_000, MINUTE, None)),
            duration_ms=rnd.choice((1_000, 20_000, MINUTE, None, 20_000)),
            worker_limit=rnd.choice((1, 2, 3, None, 0)),
            reserved=rnd.choice((0, 0, 1, None)),
        )
        return self._someone(), c.ObserveCapacity(seen)

    def _recheck(self) -> Ask:
        triggers = ["", "", *(f"capacity:{name}" for name in CLASSES)]
        triggers += [i.hold.trigger for i in self.world.items() if i.hold is not None]
        return self._someone(), c.RecheckHolds(
            self.rnd.choice(triggers), self.rnd.choice((0, 1, 3))
        )

    def _one_effect_work(self) -> str:
        items = [i for i in self.world.items() if i.kind.value == "effect"]
        return self.rnd.choice(items).id if items else "W-1"

    def _cancel(self) -> Ask:
        state = self.rnd.choice(("REQUESTED", "NOT_REQUESTED", "NOT_REQUESTED", "UNOBSERVABLE"))
        return self._someone(), c.CancelWork(self._one_effect_work(), state)

    def _decide(self) -> Ask:
        return self._someone(), c.DecideIntent(self._one_effect_work())

    def _register(self) -> Ask:
        from remit.core.effect_facts import Destination

        label = f"INDEX-{self.rnd.randint(1, 3)}"
        there = Destination(
            label, 0, "INDEX", f"{int(label[6:]):064x}", "", "index", False, None, False, True,
            True, 0, False, None, False, "", 0,
        )  # fmt: skip
        return HUMAN, c.RegisterDestination(there)
