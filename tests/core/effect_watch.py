"""What must hold of effect work at every seq, from events and facts alone.

Each verdict is compared with the oracle on evidence that is gathered anew here, and the figures that
decisions rest on (debits, stored works, who has an effect) are counted again from the events.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from remit.core.effect_facts import AdmissionPolicy, Capacity, Effect, EffectState, Intent
from remit.core.events import Recorded
from remit.core.facts import Fact, Item, Key, Ledger
from remit.core.verdict import Evidence, Rival
from remit.proofs import verdicts as admission_oracle

OPEN = ("INTENDED", "UNCERTAIN", "CONTRADICTED")
CAPACITY = (
    "CAPACITY_EVIDENCE_MISSING",
    "STALE_CAPACITY_EVIDENCE",
    "INCOMPLETE_CAPACITY_EVIDENCE",
    "NO_FREE_WORKER",
)


class EffectRules:
    """Effect work of one watched world; ``demand`` holds a property by name."""

    def __init__(self, facts: dict[Key, Fact], demand: Any) -> None:
        self.facts = facts
        self.demand = demand
        self.validated: set[str] = set()
        self.stored: set[str] = set()
        self.messages: set[str] = set()
        self.admits: Counter[str] = Counter()
        self.expect: tuple[str, str] = ("", "")

    def before(self, rec: Recorded) -> None:
        """Look at what an event will rest on, before it is folded."""
        if type(rec.event).__name__ == "AdmissionDecided":
            item = self.facts.get(("item", rec.stream))
            assert isinstance(item, Item)
            eligible = item.status.value == "ready"
            self.expect = self._expected(item, rec.at, rec.event, eligible=eligible)

    def after(self, rec: Recorded) -> None:
        """Look at what an event says."""
        event: Any = rec.event
        match type(event).__name__:
            case "IntentReceived":
                self._received(rec, event)
            case "IntentValidated":
                self.demand(rec.stream in self.stored, "INV-2-separate", rec)
                self.demand((event.result == "PASS") == (event.faults == ()), "valid-is-valid", rec)
                self.validated.add(rec.stream)
            case "AdmissionDecided":
                self._decided(rec, event)
            case "LeaseGranted":
                effect = self._own(rec.stream)
                known = self._standing(effect, rec.stream) in ("NOT_STARTED", "ABSENT")
                self.demand(known, "INV-14-lease", rec)
        if getattr(event, "transition_id", "") == "T12":
            effect = self._own(rec.stream)
            state = self._standing(effect, rec.stream)
            self.demand(effect is None or state not in OPEN, "INV-4-open-effect", rec)

    def _received(self, rec: Recorded, event: Any) -> None:
        self.stored.add(rec.stream)
        if event.follows:
            mine = self._intent(event.follows).envelope
            same = (event.envelope.deadline, event.envelope.message_id)
            demand = (mine.deadline, mine.message_id)
            self.demand(same == demand, "each-follower-its-own-deadline", rec)
            return
        name = event.envelope.message_id
        self.demand(name not in self.messages, "one-receipt-a-message", rec)
        self.messages.add(name)
        stored = self.facts.get(("load", f"stored/{event.work_class}"), 0)
        policy = self._policy(event.work_class)
        within = not policy.storage_limit or int(str(stored)) <= policy.storage_limit
        self.demand(within, "stored-within-limit", rec)

    def _policy(self, work_class: str) -> AdmissionPolicy:
        current = {n: f for (k, n), f in self.facts.items() if k == "current"}
        label = current.get(f"policy/{work_class}", current.get("policy/*"))
        policy = self.facts["policy", str(label or current["policy"])]
        assert isinstance(policy, AdmissionPolicy)
        return policy

    def _decided(self, rec: Recorded, event: Any) -> None:
        self.demand(rec.stream in self.validated, "INV-2-separate", rec)
        found = (str(event.verdict), event.reason)
        self.demand(found == self.expect, "verdict-equals-oracle", f"{self.expect} {rec}")
        results = [check.result.value for check in event.checks]
        if event.verdict == "ADMIT":
            self.demand(set(results) <= {"PASS", "NOT_TESTED"}, "INV-1-admit", rec)
            effect = self._own(rec.stream)
            state = self._standing(effect, rec.stream)
            free = effect is not None and state in ("NOT_STARTED", "ABSENT")
            self.demand(free, "INV-14-admit", rec)
            if event.observation:
                self.admits[event.observation] += 1
        if event.from_ == "ready" and event.verdict == "HOLD":
            item = self.facts["item", rec.stream]
            assert isinstance(item, Item)
            back = item.unmet > 0 or event.reason == "PRIOR_EFFECT_UNRECONCILED"
            self.demand(back, "evidence-alone-takes-nothing-back", rec)
        if event.verdict == "HOLD":
            complete = event.owner and event.owner_id and ":" in event.trigger
            self.demand(bool(complete), "INV-3-hold", rec)
            self._wakes(rec, event)
        for check in event.checks:
            bad = check.result.value in ("FAIL", "BLOCKED")
            self.demand(bad == bool(check.reason), "failed-checks-say-why", f"{check} {rec}")

    def _wakes(self, rec: Recorded, event: Any) -> None:
        """A hold that row 4 may end has the time from which it does."""
        intent = self._intent(rec.stream)
        policy = self.facts["policy", event.policy]
        assert isinstance(policy, AdmissionPolicy)
        early = event.reason in ("PRIOR_EFFECT_UNRECONCILED", "PRIOR_EFFECT_PRESENT",
                                 "CANCELLATION_UNOBSERVABLE", "EFFECT_UNCERTAIN")  # fmt: skip
        end = intent.envelope.deadline if "deadline" in policy.rows else None
        times = [int(event.trigger[5:])] if event.trigger.startswith("time:") else []
        if end is not None:
            times.append(end - (intent.envelope.minimum_completion_margin_ms or 0) * 1_000)
        wanted = 0 if early else min(times, default=0)
        self.demand(event.recheck_at == wanted, "INV-3-wakes", f"{wanted} {rec}")

    # Evidence, gathered once more.

    def _intent(self, item: str) -> Intent:
        intent = self.facts["intent", item]
        assert isinstance(intent, Intent)
        return intent

    def _own(self, item: str) -> Effect | None:
        intent = self.facts.get(("intent", item))
        if not isinstance(intent, Intent):
            return None
        effect = self.facts.get(("effect", intent.envelope.effect_id))
        return effect if isinstance(effect, Effect) and effect.item == item else None

    def _standing(self, effect: Effect | None, item: str) -> str:
        """What is known of an effect: after an adoption nothing, until it was looked up."""
        ledger = self.facts["ledger", "ledger"]
        assert isinstance(ledger, Ledger)
        intent = self.facts.get(("intent", item))
        if not isinstance(intent, Intent):
            return "NOT_STARTED"
        envelope = intent.envelope
        outside = envelope.replay_class != "PURE"
        if effect is None:
            claimed = ("effect", envelope.effect_id) in self.facts
            lost = ledger.epoch > 0 and outside and not claimed
            return "UNCERTAIN" if lost else "NOT_STARTED"
        lost = effect.epoch < ledger.epoch and effect.replay_class != "PURE"
        return "UNCERTAIN" if lost else effect.state.value

    def _expected(self, item: Item, now: int, event: Any, *, eligible: bool) -> tuple[str, str]:
        intent = self._intent(item.id)
        envelope = intent.envelope
        current = {n: f for (k, n), f in self.facts.items() if k == "current"}
        policy = self._policy(item.work_class)
        seen = self.facts.get(("capacity", str(current.get(f"capacity/{item.work_class}", ""))))
        own = self._own(item.id)
        at = Evidence(
            work_class=item.work_class,
            faults=len(intent.faults),
            own=EffectState(self._standing(own, item.id)),
            intents=own.intents if own else 0,
            rival=self._rival(item, intent, event),
            unmet=tuple(d.via for d in item.dependencies if d.state.value != "met"),
            destination=str(current.get(f"destination/{envelope.destination}", "")),
            authorized_by=intent.authorized_by,
            seen=seen if isinstance(seen, Capacity) else None,
            admitted=self.admits[seen.id] if isinstance(seen, Capacity) else 0,
            eligible=eligible,
        )
        return admission_oracle.expected(envelope, policy, at, now)

    def _rival(self, item: Item, intent: Intent, event: Any) -> Rival | None:
        effect = self.facts.get(("effect", intent.envelope.effect_id))
        if not isinstance(effect, Effect) or effect.item == item.id:
            return None
        other = self.facts["item", effect.item]
        assert isinstance(other, Item)
        state = EffectState(self._standing(effect, item.id))
        done = other.status.value in ("shipped", "verified") or state.value == "PRESENT"
        closed = other.status.value == "closed"
        standing = "completed" if done else "closed" if closed else "live"
        waits = event is not None and event.reason == "EFFECT_CONFLICT" and bool(other.dependencies)
        return Rival(other.id, standing, state, effect.operation, effect.payload_digest, waits)

    # All at one seq.

    def figures(self, items: list[Item]) -> None:
        """Debits and stored works, counted again."""
        stored: Counter[str] = Counter()
        working: Counter[str] = Counter()
        for item in items:
            if item.kind.value != "effect":
                continue
            stored[item.work_class] += not item.terminal
            effect = self._intent(item.id).envelope.effect_id
            if item.status.value in ("ready", "leased", "shipped"):
                working[effect] += 1
                self.demand(self._own(item.id) is not None, "works-on-its-own-effect", item)
        for effect, number in working.items():
            self.demand(number == 1, "one-work-an-effect", f"{number} work on {effect}")
        for (kind, name), fact in self.facts.items():
            if kind == "debit":
                self.demand(fact == self.admits[name], "debits-recounted", f"{name} {fact}")
            if kind == "load" and name.startswith("stored/"):
                self.demand(fact == stored[name[7:]], "stored-recounted", f"{name} {fact}")
        debits = {n for (k, n) in self.facts if k == "debit"}
        self.demand(set(self.admits) <= debits, "debits-recounted", self.admits)

    def kept(self, items: list[Item], ledger: Any, now: int) -> None:
        """After a command has been carried on to its end."""
        if ledger.unsettled or ledger.rechecks:
            return
        by_id = {item.id: item for item in items}
        for item in items:
            if item.kind.value == "effect" and str(item.outcome) == "coalesced":
                survivor = by_id[item.successor]
                ended = survivor.status.value == "closed" and survivor.outcome is not None
                ended = ended and survivor.outcome.value not in ("coalesced",)  # type: ignore[union-attr]  # just asked
                ended = ended and self._intent(survivor.id).follows != item.id
                effect = self.facts.get(("effect", self._intent(item.id).envelope.effect_id))
                there = isinstance(effect, Effect) and effect.state.value == "PRESENT"
                self.demand(not ended or there, "followers-go-on", f"{item.id} {survivor.id}")
            hold = item.hold
            due = hold is not None and 0 < hold.at < now
            self.demand(not due, "due-by-time", item)
            if item.kind.value == "effect" and hold is not None and hold.reason in CAPACITY:
                verdict, _ = self._expected(item, now, None, eligible=False)
                self.demand(verdict != "ADMIT", "held-only-for-cause", item)
