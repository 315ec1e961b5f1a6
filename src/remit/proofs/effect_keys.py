"""Keys of states with effect work: equal keys mean equal futures, inside the ledger and outside.

Points in time become distances from now, exact to the microsecond ahead and one value once past;
fences become their order and their epoch; counters that only name things are left out. Works are not
interchangeable here: each was made with a lifetime of its own.
"""

from __future__ import annotations

import marshal
from hashlib import blake2b
from typing import Any, Final

from remit.core.effect_facts import Capacity, Effect, Intent
from remit.core.facts import Item, Ledger, Triage
from remit.core.ids import EPOCH_SHIFT, fence_of
from remit.core.limit_facts import Rate, Spend, charge_of
from remit.proofs.effect_cast import CLASS, FRESH_MS
from remit.proofs.effect_moves import BEGIN, cast_of, effects_of
from remit.proofs.outside import Request
from remit.proofs.world import NO_GHOST, UNIT_US, Stage, State

SIZE: Final = 10
_OLD_US: Final = FRESH_MS * 1_000 + 2 * UNIT_US


class EffectKeys:
    """Makes the keys of one world of effect work."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.cast = cast_of(stage)
        self.longest_us = stage.world.policy.longest_lease_ms * 1_000
        self.bound_us = (self.cast.in_flight or 0) * 1_000

    def key(self, state: State) -> bytes:
        """The key of a state."""
        whole = _Key(self, state).whole()
        return blake2b(marshal.dumps(whole, 2), digest_size=SIZE).digest()


class _Key:
    """One key in the making."""

    def __init__(self, keys: EffectKeys, state: State) -> None:
        self.keys, self.stage, self.state, self.now = keys, keys.stage, state, state.now
        ledger = self.stage.get(state, "ledger", "ledger")
        assert isinstance(ledger, Ledger)
        self.ledger = ledger
        self.items = self.stage.items(state)
        self.effects = effects_of(self.stage, state)
        self.fences = self._order()

    def whole(self) -> tuple[Any, ...]:
        """All of it as plain values."""
        ledger = self.ledger
        begin = (self.ahead(BEGIN + UNIT_US * at) for at in self._moments_to_come())
        return (
            tuple(self._item(item) for item in self.items.values()),
            tuple(self._effect(effect) for effect in self.effects.values()),
            self._outside(),
            self._capacity(),
            self._limits(),
            (ledger.epoch, ledger.kill_switch, len(ledger.unsettled)),
            tuple((d.trigger, d.through != "", d.left) for d in ledger.rechecks),
            self.ahead(ledger.adopted_at + self.keys.bound_us) if ledger.epoch else 0,
            self.now % UNIT_US,
            tuple(begin),
        )

    def ahead(self, at: int | None) -> int | None:
        """How far ahead a point in time lies; all of the past is one."""
        return None if at is None else max(at - self.now, -1)

    def fence(self, fence: int) -> tuple[int, int]:
        """The place of a fence among all that there are, and its epoch."""
        return (self.fences[fence], fence >> EPOCH_SHIFT) if fence else (0, 0)

    def _order(self) -> dict[int, int]:
        state, found = self.state, set[int]()
        found.update(i.lease.fence for i in self.items.values() if i.lease is not None)
        found.update(ghost.fence for ghost in state.ghosts.values())
        for effect in self.effects.values():
            found |= {effect.fence, effect.confirmed_fence, (effect.epoch << EPOCH_SHIFT) - 1}
        found.update(r.fence for r in state.outside.requests)
        found.update(floor for _, floor in state.outside.floors)
        if state.outside.look is not None:
            found.add(state.outside.look.confirmed_fence)
        counter = self.stage.get(state, "counter", "fence")
        found.add(fence_of(self.ledger.epoch, (counter if isinstance(counter, int) else 0) + 1))
        return {fence: n for n, fence in enumerate(sorted(found), 1)}

    def _moments_to_come(self) -> list[int]:
        """Steps of lifetimes of works that may still be submitted."""
        left = self.keys.cast.works[len(self.items) :]
        times = [t for w in left for t in (w.deadline, w.not_before) if t is not None]
        return times if self.stage.world.has("submit") else []

    def _item(self, item: Item) -> tuple[Any, ...]:
        lease, hold = item.lease, item.hold
        intent = self.stage.get(self.state, "intent", item.id)
        assert isinstance(intent, Intent)
        own = self.effects.get(intent.envelope.effect_id)
        held = None
        if hold is not None:
            kind, _, what = hold.trigger.partition(":")
            at = self.ahead(int(what)) if kind == "time" else what
            held = (
                str(hold.reason),
                str(hold.owner),
                hold.identity,
                kind,
                at,
                self.ahead(hold.at or 0),
            )
        leased = None
        if lease is not None:
            leased = (
                lease.actor,
                self.fence(lease.fence),
                self.ahead(lease.expires_at),
                self.ahead(lease.acquired_at + self.keys.longest_us),
                lease.spend_micros,
                self._charge(item.id, lease.fence),
                own is not None and own.lease == lease.id,
            )
        ended = self.state.ghosts.get(item.id, NO_GHOST).fence
        order = sorted(i.rank for i in self.items.values())
        within = self.keys.cast.within * UNIT_US
        started = intent.retry_started_at
        return (
            str(item.status), item.gate, held, leased, item.unmet, item.counted, item.reported,
            item.holders, tuple(self._kind(r) for r in item.triage), str(item.triaged_from or ""),
            str(item.outcome or ""), item.successor, order.index(item.rank), len(item.links),
            tuple((d.target, d.via, str(d.state)) for d in item.dependencies),
            self.fence(ended), self._charge(item.id, ended) if ended else 0,
            intent.envelope.cancellation_state, bool(intent.validated_seq), str(intent.verdict),
            str(intent.reason), intent.retries, self.ahead(started + within) if started else None,
            bool(intent.shipped), intent.follows, len(intent.faults), intent.envelope.effect_id,
            self.ahead(intent.envelope.deadline), self.ahead(intent.envelope.not_before),
            self.ahead(intent.retry_at),
        )  # fmt: skip

    def _kind(self, record: str) -> str:
        fact = self.stage.get(self.state, "triage", record)
        return str(fact.kind) if isinstance(fact, Triage) else ""

    def _charge(self, item: str, fence: int) -> int:
        found = self.stage.get(self.state, "charge", charge_of(item, fence))
        return found if isinstance(found, int) else 0

    def _effect(self, effect: Effect) -> tuple[Any, ...]:
        return (
            effect.id, effect.item, str(effect.state), self.fence(effect.fence), min(effect.intents, 3),
            effect.terminated_at is not None, self.ahead(effect.request_expires_at),
            self.ahead(effect.arrives_until), self.fence(effect.confirmed_fence),
            self.now > effect.confirmed_at, effect.looks, effect.epoch, effect.present_seq > 0,
            effect.absent_seq > 0, effect.response_seq > 0, effect.result_digest,
            self.ahead(effect.look_at), effect.payload_digest, effect.replay_class,
        )  # fmt: skip

    def _outside(self) -> tuple[Any, ...]:
        outside, look, seen = self.state.outside, self.state.outside.look, None
        if look is not None:
            effect = self.effects.get(look.effect)
            fresh = effect is not None and effect.version == look.version
            seen = (
                look.effect, fresh, look.result, look.objects, look.consistent, look.values,
                look.looked_at - self.now, self.fence(look.confirmed_fence),
                effect is not None and look.looked_at > effect.confirmed_at,
            )  # fmt: skip
        return (
            tuple(self._request(r) for r in outside.requests),
            outside.objects,
            tuple((name, self.fence(floor)) for name, floor in outside.floors),
            tuple(sorted(outside.strange)),
            seen if look is not None and seen is not None and seen[1] else look is not None,
            (outside.restored, outside.adopting),
        )

    def _request(self, request: Request) -> tuple[Any, ...]:
        effect = self.effects.get(request.effect)
        mine = effect is not None and effect.attempt == request.attempt
        if request.gone and request.ended_at and not mine:
            return ()
        bounded = self.keys.cast.in_flight is not None
        return (
            request.effect, mine, self.fence(request.fence), self.ahead(request.expires_at),
            bool(request.sent_at), bool(request.ended_at), request.gone,
            self.ahead(request.sent_at + self.keys.bound_us) if bounded else 0,
            self.ahead(request.ended_at + self.keys.bound_us) if request.ended_at else 0,
        )  # fmt: skip

    def _capacity(self) -> tuple[Any, ...] | None:
        name = self.stage.get(self.state, "current", f"capacity/{CLASS}")
        seen = self.stage.get(self.state, "capacity", name) if isinstance(name, str) else None
        if not isinstance(seen, Capacity):
            return None
        debit = self.stage.get(self.state, "debit", seen.id) or 0
        age = max(seen.observed_at - self.now, -_OLD_US)
        return (age, seen.duration_ms, seen.worker_limit, debit)

    def _limits(self) -> tuple[Any, ...] | None:
        cast = self.keys.cast
        if not (cast.rate or cast.spend):
            return None
        rate, used = (self.stage.get(self.state, kind, "ledger") for kind in ("rate", "spend"))
        given = None
        if isinstance(rate, Rate):
            given = (
                (self.now - rate.begins, rate.count) if self.now < rate.begins + 4 * UNIT_US else ()
            )
        money = (
            (used.settled, used.reserved, bool(used.stopped)) if isinstance(used, Spend) else None
        )
        return (given, self.now % (4 * UNIT_US), money)
