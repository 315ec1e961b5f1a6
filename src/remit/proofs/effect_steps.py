"""Judgement of single events of effect work, just before and just after each is folded.

Verdicts are compared with the table that ``verdicts`` writes out anew, effects with their machine,
and every start with what had to be known before it. Figures that follow from events (admits on an
observation, leases in a period, what an attempt has cost) are added up here in books of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from remit.core.effect_facts import AdmissionPolicy, Effect, Intent
from remit.core.events import Recorded
from remit.core.evidence import Evidence
from remit.core.evolve.moves import Out
from remit.core.facts import Item, Ledger
from remit.core.ids import EPOCH_SHIFT
from remit.core.retrying import JITTER
from remit.proofs import effect_oracle as oracle
from remit.proofs import verdicts
from remit.proofs.effect_cast import FRESH_MS, SKEW_MS
from remit.proofs.effect_moves import cast_of, noted
from remit.proofs.outside import accepted, under_way
from remit.proofs.world import Decided, Stage, State

Get = oracle.Get
Demand = Callable[..., None]
RECONCILER: Final = "remit-reconciler"


def check_send(demand: Demand, stage: Stage, state: State, attempt: str) -> None:
    """A request leaves: nothing is there, and no earlier one may still come about (INV-14)."""
    outside, there = state.outside, cast_of(stage).destination
    request = outside.of(attempt)
    assert request is not None, "a worker that intended"
    if not there.idempotency_key and not accepted(outside, request, there, state.now):
        return
    known = stage.get(state, "effect", request.effect)
    current = isinstance(known, Effect) and known.attempt == attempt
    if there.idempotency_key and not current:
        return  # the key answers for those that were overtaken
    count = outside.there(request.effect)
    demand("present-never-sent", not count, attempt, "sends what is there:", count)
    for other in outside.requests:
        if other.effect == request.effect and other is not request:
            coming = under_way(other, there, state.now) and accepted(
                outside, other, there, state.now
            )
            demand("one-under-way", not coming, attempt, "sends beside", other)


class EffectSteps:
    """Judges the events of one world of effect work."""

    def __init__(self, stage: Stage, demand: Demand) -> None:
        self.stage = stage
        self.demand = demand
        self.cast = cast_of(stage)

    def event(self, state: State, by: Decided, rec: Recorded, get: Get, out: Out) -> None:
        """Judge one event; ``get`` reads facts before it, ``out`` is what it changes."""
        name = type(rec.event).__name__
        if rec.stream.startswith("effect/"):
            self._machine(state, by, rec, get, out, name)
        check = _CHECKS.get(name)
        if check is not None:
            check(self, state, by, rec, rec.event, get, out)
        intent = out.get(("intent", rec.stream))
        old = get("intent", rec.stream)
        if isinstance(intent, Intent) and isinstance(old, Intent):
            same = (intent.verdict, intent.reason) == (old.verdict, old.reason)
            fits = same or (name == "AdmissionDecided" and intent.verdict_seq > old.verdict_seq)
            self.demand("verdicts-stand", fits, name, "changed a verdict of", rec.stream)

    def _ledger(self, get: Get) -> Ledger:
        ledger = get("ledger", "ledger")
        assert isinstance(ledger, Ledger)
        return ledger

    def _machine(
        self, state: State, by: Decided, rec: Recorded, get: Get, out: Out, name: str
    ) -> None:
        """An effect's state follows the machine; only an observation says what is there."""
        old, new = get("effect", rec.entity), out.get(("effect", rec.entity))
        assert isinstance(new, Effect)
        was = old.state.value if isinstance(old, Effect) else ""
        to = new.state.value
        allowed = oracle.AFTER[name].get(was, ())
        if name == "EffectUncertain" and isinstance(old, Effect) and new.epoch > old.epoch:
            allowed = ("UNCERTAIN",)
        self.demand("effect-by-machine", to in allowed, name, was, "->", to)

    def decided(
        self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out
    ) -> None:
        """A verdict: of the row that the table says, on evidence that counts."""
        demand, items = self.demand, self.stage.items(state)
        item, intent = get("item", rec.stream), get("intent", rec.stream)
        policy = get("policy", ev.policy)
        assert isinstance(item, Item)
        assert isinstance(intent, Intent)
        assert isinstance(policy, AdmissionPolicy)
        at = oracle.evidence(get, item, items, state.books.get(f"retry/{item.id}", 0))
        before = state.books.get(f"admits/{at.seen.id}", 0) if at.seen is not None else 0
        at = replace(at, admitted=before)
        if ev.verdict in ("ADMIT", "EXPIRE"):
            self._capacity(state, ev, intent, at, before)
        if ev.verdict == "EXPIRE":
            self._lifetime(state, at, before, item, get)
        if ev.verdict == "COALESCE":
            other = items.get(ev.survivor)
            ended = other is None or (other.status == "closed" and at.rival is not None
                                      and at.rival.standing == "closed")  # fmt: skip
            demand("coalesced-onto-live", not ended, item.id, "follows", ev.survivor)
        if ev.verdict == "HOLD":
            wanted = oracle.wakes_at(intent, policy, ev.trigger, ev.reason)
            fits = ev.owner and ev.owner_id and ":" in ev.trigger and ev.recheck_at == wanted
            demand("hold-wakes", fits, ev.trigger, ev.recheck_at, "expected", wanted)
        expected = verdicts.expected(intent.envelope, policy, at, state.now)
        found = (str(ev.verdict), ev.reason)
        demand("verdict-by-table", found == expected, found, "expected", expected)
        if ev.verdict == "ADMIT" and ev.observation:
            name = f"admits/{ev.observation}"
            state.books = {**state.books, name: state.books.get(name, 0) + 1}

    def _capacity(self, state: State, ev: Any, intent: Intent, at: Evidence, before: int) -> None:
        """What was used of an observation: fresh, whole, and not by more than it supports."""
        seen = at.seen
        if not ev.observation or seen is None:
            return
        age = state.now - seen.observed_at
        whole = seen.duration_ms is not None and seen.worker_limit
        good = -SKEW_MS * 1_000 <= age <= FRESH_MS * 1_000 and whole
        self.demand("stale-is-no-capacity", good, ev.verdict, "on", seen, "at", state.now)
        if ev.verdict == "ADMIT":
            envelope = intent.envelope
            margin = envelope.minimum_completion_margin_ms or 0
            begin = max(state.now, envelope.not_before or 0, at.retry_at)
            able = oracle.fits(seen, before, begin, envelope.deadline, margin)
            said = ("admitted after", before, "on", seen.id)
            self.demand("one-observation-no-herd", able, *said)

    def _lifetime(self, state: State, at: Evidence, before: int, item: Item, get: Get) -> None:
        """Work ends by its lifetime alone, and only if nothing of it was started."""
        intent = get("intent", item.id)
        assert isinstance(intent, Intent)
        envelope, now, seen = intent.envelope, state.now, at.seen
        begin = max(now, envelope.not_before or 0, at.retry_at)
        margin, end = envelope.minimum_completion_margin_ms or 0, envelope.deadline
        over = end is not None and (end <= begin or end - begin < 1_000 * margin)
        if seen is not None and -SKEW_MS * 1_000 <= now - seen.observed_at <= FRESH_MS * 1_000:
            over = over or not oracle.fits(seen, before, begin, end, margin)
        self.demand("end-by-lifetime", over, item.id, "expired at", now, "deadline", end)
        effect = get("effect", intent.envelope.effect_id)
        own = effect if isinstance(effect, Effect) and effect.item == item.id else None
        known = oracle.standing(own, self._ledger(get))
        idle = known in oracle.STARTABLE and item.lease is None
        self.demand("end-only-unstarted", idle, item.id, "expired, its effect is", known)

    def granted(
        self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out
    ) -> None:
        """An attempt starts: nothing is open, nothing cancelled, and there is time."""
        item, lease = get("item", rec.stream), ev.lease
        intent = self._start(state, rec.stream, get)
        assert isinstance(item, Item)
        books = dict(state.books)
        period = f"leases/{state.now // (4 * 1_000_000)}"
        books[period] = books.get(period, 0) + 1
        if self.cast.rate:
            self.demand("rate-kept", books[period] <= self.cast.rate, period, books[period])
        if self.cast.spend:
            wanted = intent.envelope.spend_micros or 2
            self.demand("spend-as-recounted", lease.spend_micros == wanted, lease)
        state.books = books

    def _start(self, state: State, name: str, get: Get) -> Intent:
        """What must be so whenever an attempt starts or intends."""
        demand, ledger, now = self.demand, self._ledger(get), state.now
        intent = get("intent", name)
        assert isinstance(intent, Intent)
        envelope = intent.envelope
        effect = get("effect", envelope.effect_id)
        known = oracle.standing(effect if isinstance(effect, Effect) else None, ledger)
        if isinstance(effect, Effect):
            mine = effect.epoch == ledger.epoch or envelope.replay_class == "PURE"
            demand("epoch-is-doubt", mine, name, "starts on what epoch", effect.epoch, "knew")
            sent = effect.intents and envelope.replay_class == "IRREVERSIBLE"
            demand("irreversible-once", not sent, name, "starts again after", effect.intents)
            demand("coalesced-onto-live", effect.item == name, name, "starts", effect.item)
        demand("open-effect-waits", known in oracle.STARTABLE, name, "starts while", known)
        cancelled = envelope.cancellation_state
        fits = cancelled not in ("REQUESTED", "UNOBSERVABLE")
        demand("cancelled-not-started", fits, name, "starts,", cancelled)
        margin = 1_000 * (envelope.minimum_completion_margin_ms or 0)
        end = envelope.deadline
        fits = now >= (envelope.not_before or 0)
        fits = fits and (end is None or (now < end and end - now >= margin))
        demand("started-in-time", fits, name, "starts at", now, "deadline", end)
        return intent

    def intended(
        self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out
    ) -> None:
        """INV-13: under the live lease, with its fence, above all before."""
        item, effect = get("item", ev.item), get("effect", rec.entity)
        assert isinstance(item, Item)
        assert isinstance(effect, Effect)
        self._start(state, ev.item, get)
        lease = item.lease
        fits = lease is not None and (ev.lease, ev.fence) == (lease.id, lease.fence)
        self.demand("fence-passed-on", fits, ev.fence, "is handed on under", lease)
        self.demand("fences-up", ev.fence > effect.fence, ev.fence, "after", effect.fence)
        current = ev.fence >> EPOCH_SHIFT == self._ledger(get).epoch
        self.demand("epoch-ends-leases", current, ev.fence, "is of another epoch")
        self.demand("present-never-sent", not effect.present_seq, rec.entity, "was there once")
        state.outside = noted(state, ev, rec.entity)

    def observed(
        self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out
    ) -> None:
        """Only a look-up by somebody who may look says what is there."""
        effect = get("effect", rec.entity)
        assert isinstance(effect, Effect)
        item = get("item", effect.item)
        assert isinstance(item, Item)
        fits = rec.actor == RECONCILER and rec.actor not in item.holders
        self.demand("different-actors", fits, rec.actor, "observed work of", item.holders)
        cmd = by.command
        real = type(cmd).__name__ == "ObserveEffect" and cmd.result == ev.result  # type: ignore[attr-defined]  # an ObserveEffect
        passed = all(str(check.result) == "PASS" for check in ev.checks)
        if ev.state == "PRESENT":
            found = ev.result == "FOUND" and ev.objects == 1 and passed
            real = real and (found or effect.state == "PRESENT")
        if ev.state == "ABSENT":
            none = ev.result == "NONE" or effect.state == "ABSENT"
            real = real and none and not effect.present_seq
        self.demand("seen-not-said", real, ev.state, "by", ev.result, cmd)

    def shipped(
        self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out
    ) -> None:
        """T08 and T09 of effect work: only of an observation that found it, in this very decision."""
        effect = get("effect", ev.effect)
        seen = [
            r.event
            for r in by.events
            if type(r.event).__name__ == "EffectObserved" and r.entity == ev.effect
        ]
        fits = isinstance(effect, Effect) and effect.state == "PRESENT" and len(seen) == 1
        fits = fits and seen[0].observation == ev.observation  # type: ignore[attr-defined]  # an EffectObserved
        passed = all(str(check.result) == "PASS" for check in getattr(ev, "checks", ()))
        self.demand("shipped-as-observed", fits and passed, rec.stream, ev.effect, effect)

    def retried(
        self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out
    ) -> None:
        """A retry is decided only of what is absent, within attempts, time and the longest wait."""
        if ev.decision == "HOLD":
            said = ev.owner and ":" in ev.trigger
            self.demand("hold-wakes", said, rec.stream, "waits on", ev.trigger)
        if ev.decision != "RETRY":
            return
        item, intent = get("item", rec.stream), get("intent", rec.stream)
        assert isinstance(item, Item)
        assert isinstance(intent, Intent)
        policy = self.cast.policy
        effect = get("effect", ev.effect)
        assert isinstance(effect, Effect)
        final = intent.envelope.replay_class == "IRREVERSIBLE" and effect.intents
        self.demand("irreversible-once", not final, rec.stream, "is to be tried again")
        done = effect.state == "ABSENT" or intent.envelope.replay_class == "PURE"
        self.demand("open-effect-waits", done, "a retry while", effect.state)
        window = min(policy.backoff_cap_ms, policy.backoff_base_ms << intent.retries) * 1_000
        jitter = getattr(by.command, "jitter", JITTER // 2)
        wait = ev.recheck_at - state.now
        fits = 0 <= wait <= window and (jitter or not wait)
        self.demand("retry-bounded", fits, "wait", wait, "of", window)
        fits = item.counted < policy.attempts
        self.demand("retry-bounded", fits, "another after", item.counted)
        began = intent.retry_started_at
        late = bool(began) and ev.recheck_at - began > policy.retry_within_ms * 1_000
        self.demand("retry-bounded", not late, "at", ev.recheck_at, "since", began)
        state.books = {**state.books, f"retry/{rec.stream}": ev.recheck_at}

    def late(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out) -> None:
        """A late report changes the item's own stream, and what it says it cost; no effect."""
        kinds = {kind for kind, _ in out}
        self.demand("late-report-moves-nothing", kinds <= {"item"}, kinds)

    def settled(
        self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out
    ) -> None:
        """What the holder says that an attempt has cost; more than reserved is an overrun."""
        item = get("item", rec.stream)
        assert isinstance(item, Item)
        books = {**state.books, f"charge/{rec.stream}/{ev.fence}": ev.spent_micros}
        if ev.spent_micros > ev.reserved_micros:
            books["overrun"] = 1
        state.books = books

    def ended(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get, out: Out) -> None:
        """A lease ends: what nobody accounted for is charged, but where it was handed back clean."""
        old, new = get("item", rec.stream), out.get(("item", rec.stream))
        if not isinstance(old, Item) or not isinstance(new, Item):
            return
        lease = old.lease
        if lease is None or new.lease is not None or not lease.spend_micros:
            return
        name = f"charge/{rec.stream}/{lease.fence}"
        charged = state.books.get(name, 0)
        expired = type(ev).__name__ == "LeaseExpired" or (
            type(by.command).__name__ == "ExpireLease"
        )
        clean = getattr(ev, "returned", False)
        if not clean and (expired or not charged):
            state.books = {**state.books, name: max(charged, lease.spend_micros)}


Check = Callable[[EffectSteps, State, Decided, Recorded, Any, Get, Out], None]

_CHECKS: Final[dict[str, Check]] = {
    "AdmissionDecided": EffectSteps.decided,
    "LeaseGranted": EffectSteps.granted,
    "EffectIntended": EffectSteps.intended,
    "EffectObserved": EffectSteps.observed,
    "EffectShipped": EffectSteps.shipped,
    "EffectVerified": EffectSteps.shipped,
    "RetryDecided": EffectSteps.retried,
    "LateReportRecorded": EffectSteps.late,
    "SpendSettled": EffectSteps.settled,
    "LeaseExpired": EffectSteps.ended,
    "LeaseReleased": EffectSteps.ended,
    "ResponseReported": EffectSteps.ended,
    "ItemTriaged": EffectSteps.ended,
}
