"""The invariants of the contract, written once more, over events and facts alone.

``Watch`` follows a world: at each new event it folds, and checks what must hold at every seq; after
each command it compares the stored facts with the fold and what dependencies are worth with the
oracle. Nothing here calls a decision, so a fault of the core does not hide in its own mirror. Each
property has a name, and the tests of mutants say which name catches which fault.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.core.effect_watch import EffectRules
from tests.core.oracle import Oracle
from tests.core.world import World

from remit.core.effect_facts import AdmissionPolicy
from remit.core.events import Recorded
from remit.core.evolve import FoldError, evolve
from remit.core.facts import Actor, Fact, Item, Key, Lane, Lease, Ledger, Policy, Row, Triage
from remit.core.item_events import ItemTriaged, TriageResolved
from remit.core.limit_events import LimitSet
from remit.core.limit_facts import Limit, Spend
from remit.core.moments import Standing, apply
from remit.core.refusals import Refused
from remit.proofs.triage_steps import BY_HUMANS, fits, lacks, left_by
from remit.service.engine import Answer

MOVES = {
    "T01": ("draft held", "ready"),
    "T02": ("draft ready", "held"),
    "T03": ("ready", "leased"),
    "T04": ("leased", "ready held"),
    "T05": ("leased", "in-review"),
    "T06": ("in-review", "approved"),
    "T07": ("in-review approved", "ready held"),
    "T08": ("approved", "shipped"),
    "T09": ("shipped", "verified"),
    "T10": ("draft held ready leased in-review approved shipped", "triaged"),
    "T11": ("triaged", "draft held ready in-review approved shipped"),
    "T12": ("draft held ready triaged", "closed"),
}
"""The moves of delivery work."""

EFFECT_MOVES = {
    **{t: m for t, m in MOVES.items() if t not in ("T05", "T06", "T07")},
    "T08": ("leased held", "shipped"),
}
"""The moves of effect work."""

OWNERS = {
    "draft": "admission",
    "held": "admission",
    "ready": "queue",
    "leased": "execution",
    "in-review": "review",
    "approved": "ship",
    "shipped": "verify",
    "triaged": "triage",
}

OF_EFFECTS = ("IntentReceived", "IntentValidated", "AdmissionDecided")
"""Events whose checks the rules of effect work look at."""

UNDER_LEASE = ("LeaseRenewed", "LeaseReleased", "ProgressReported", "CompletionReported")

ALONG = ["draft", "held", "ready", "leased", "in-review", "approved", "shipped"]


class Broken(AssertionError):  # noqa: N818  # an assertion with a name, not an error of the product
    """A property that does not hold; ``name`` is the property's."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name}: {what}")
        self.name = name


def demand(ok: bool, name: str, what: object = "") -> None:
    """Hold a property, by name."""
    if not ok:
        raise Broken(name, str(what))


def scopes(item: Item, actor: str) -> tuple[str, ...]:
    """Every scope that a lease of this item by this actor falls under."""
    names = ("ledger", f"class/{item.work_class}", f"tenant/{item.tenant}", f"actor/{actor}")
    return (*names, "repository/main") if item.kind.value == "delivery" else names


class Watch:
    """What is known of a world so far, from its events alone."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.facts: dict[Key, Fact] = {}
        self.seq = 0
        self.time = 0
        self.fence = 0
        self.status: dict[str, str] = {}
        self.holders: dict[str, set[str]] = {}
        self.counted: Counter[str] = Counter()
        self.reported: set[str] = set()
        self.leased_until: dict[str, int] = {}
        self.reviewer: dict[str, str] = {}
        self.shipped: dict[str, str] = {}
        self.answers: dict[tuple[str, str], set[str]] = {}
        self.asked: dict[str, tuple[Any, ...]] = {}
        self.effects = EffectRules(self.facts, demand)
        self.given: list[tuple[Recorded, tuple[str, ...]]] = []
        self.rated: dict[str, int] = {}
        self.standing = Standing()

    def look(self) -> None:
        """Check every new event, and then all that is kept."""
        for recorded in self.world.events(self.seq):
            self._event(recorded)
        self._kept()

    # One event.

    def _event(self, rec: Recorded) -> None:
        demand(rec.seq == self.seq + 1, "seq-dense", rec)
        demand(rec.at >= self.time, "time-forward", rec)
        before = self.facts.get(("item", rec.stream))
        self.effects.before(rec)
        try:
            out = evolve(lambda kind, name: self.facts.get((kind, name)), rec)
        except FoldError as error:
            raise Broken("fold-accepts-decisions", str(error)) from error
        apply(self.facts, out, self.standing, rec.seq)
        self.seq, self.time = rec.seq, rec.at
        if isinstance(rec.event, LimitSet):
            if rec.event.rate is None:
                self.rated.pop(rec.entity, None)
            else:
                self.rated.setdefault(rec.entity, rec.seq)
        after = self.facts.get(("item", rec.stream))
        if isinstance(after, Item):
            self._move(rec, before if isinstance(before, Item) else None, after)
            self._evidence(rec, before if isinstance(before, Item) else None, after)
            if isinstance(before, Item):
                self._triage(rec, before, after)
            self._shape(after)
            self.effects.after(rec)
        self._figures()

    def _move(self, rec: Recorded, before: Item | None, after: Item) -> None:
        event: Any = rec.event
        tid = getattr(event, "transition_id", "")
        old, new = self.status.get(after.id, ""), after.status.value
        self.status[after.id] = new
        if before is None:
            demand(new in ("draft", "closed"), "created-in-draft", rec)
            return
        if not tid:
            demand(old == new, "status-moves-by-transition", rec)
            return
        moves = EFFECT_MOVES if after.kind.value == "effect" else MOVES
        demand(tid in moves, "moves-in-table", rec)
        sources, targets = moves[tid]
        fits = old in sources.split() and new in targets.split()
        demand(fits and (event.from_, event.to) == (old, new), "moves-in-table", rec)
        if tid == "T11":
            origin = before.triaged_from.value if before.triaged_from else ""
            demand(ALONG.index(new) <= ALONG.index(origin), "resolve-not-later", rec)
        if after.id in self.shipped:
            known = new in ("shipped", "triaged", "verified")
            replaced = new == "closed" and event.outcome == "superseded" and event.successor
            demand(bool(known or replaced), "shipped-stays-shipped", rec)
        if new == "closed":
            demand(bool(event.owner), "closed-names-owner", rec)
        if old == "leased" and new != "leased":
            self.leased_until.pop(after.id, None)
        if tid in ("T07", "T11") and new in ("ready", "held"):
            self.counted[after.id] = 0
        for check in getattr(event, "checks", ()):
            self._check(check, rec)

    def _triage(self, rec: Recorded, before: Item, after: Item) -> None:
        """INV-19: a record shows its evidence, and is left only by an event that names it."""
        event: Any = rec.event
        if isinstance(event, ItemTriaged):
            demand(not lacks(event), "INV-19-evidence", f"{event} lacks {lacks(event)}")
        if before.triage and not after.triage:
            demand(left_by(event, before.triage), "INV-19-left-by-name", f"{before.triage}: {rec}")
        if not isinstance(event, TriageResolved):
            return
        record = self.facts["triage", event.record]
        assert isinstance(record, Triage)
        known = self.facts.get(("intent", before.id))
        shipped = bool(before.work and before.work.shipped) or bool(getattr(known, "shipped", ""))
        origin = str(before.triaged_from)
        right = fits(record.kind, event.resolution, origin, shipped=shipped)
        demand(right, "INV-19-by-its-kind", f"{record} from {origin}: {rec}")
        actor = self.facts.get(("actor", rec.actor))
        human = isinstance(actor, Actor) and actor.kind.value == "human"
        free = event.resolution not in BY_HUMANS.get(record.kind, ())
        demand(free or human, "INV-19-by-humans", f"{record}: {rec}")

    def _check(self, check: Any, rec: Recorded) -> None:
        if type(rec.event).__name__ in OF_EFFECTS:
            return
        never = ("cancellation", "not-before", "deadline", "capacity", "margin")
        item = self.facts.get(("item", rec.stream))
        asked = isinstance(item, Item) and item.kind.value == "effect"
        if check.check in never and not asked:
            demand(check.result.value == "NOT_TESTED", "not-asked-is-not-tested", rec)
        if check.check == "spend" and check.result.value == "PASS":
            used = dict(part.split("=") for part in check.observed.split(","))
            most = dict(part.split("=") for part in check.required.split(","))
            held = all(sum(map(int, used[s].split("+"))) <= int(most[s]) for s in used)
            demand(held and used.keys() == most.keys(), "pass-means-passed", f"{check} in {rec}")
        if check.result.value == "PASS" and check.required.startswith("<"):
            held = int(check.observed) < int(check.required[1:])
            demand(held, "pass-means-passed", f"{check} in {rec}")

    def _evidence(self, rec: Recorded, before: Item | None, item: Item) -> None:
        event: Any = rec.event
        match type(event).__name__:
            case "LeaseGranted":
                self._granted(rec, before, event.lease)
            case "LeaseRenewed":
                demand(rec.at < self.leased_until[item.id], "renewed-while-live", rec)
                same = before is not None and before.lease is not None
                demand(
                    same
                    and (before.lease.fence, before.lease.attempt)  # type: ignore[union-attr]  # just asked
                    == (event.lease.fence, event.lease.attempt),
                    "renewal-keeps-fence",
                    rec,
                )
                demand(not self._ledger().kill_switch, "kill-switch-stops-renewals", rec)
                longest = self._policy().longest_lease_ms * 1_000
                demand(
                    event.lease.expires_at
                    <= max(event.lease.acquired_at + longest, self.leased_until[item.id]),
                    "lease-not-too-long",
                    rec,
                )
                self.leased_until[item.id] = event.lease.expires_at
            case "ProgressReported":
                self._under_lease(rec, before)
                self.reported.add(item.id)
            case "CompletionReported":
                self._under_lease(rec, before)
            case "LeaseReleased":
                self._under_lease(rec, before)
                if item.id not in self.reported:
                    self.counted[item.id] -= 1
            case "LeaseExpired":
                lease = event.lease
                dead = rec.at >= lease.expires_at or lease.fence >> 32 != self._ledger().epoch
                demand(dead, "expired-only-when-due", rec)
            case "ReviewApproved":
                demand(rec.actor not in self.holders.get(item.id, ()), "INV-16-review", rec)
                self.reviewer[item.id] = rec.actor
            case "ShipObserved":
                self.shipped[item.id] = event.observed_commit_sha
            case "VerificationRecorded":
                self._verified(rec, event, item)
            case "ItemHeld":
                demand(bool(event.reason and event.owner and event.trigger), "INV-3-hold", rec)
        demand(item.counted == self.counted[item.id], "attempts-counted-at-lease", rec)

    def _under_lease(self, rec: Recorded, before: Item | None) -> None:
        lease = before.lease if before is not None else None
        demand(lease is not None and lease.actor == rec.actor, "reports-by-holder", rec)
        assert lease is not None
        demand(rec.at < lease.expires_at, "reports-while-live", rec)
        demand(lease.fence >> 32 == self._ledger().epoch, "reports-in-epoch", rec)

    def _most(self, item: Item) -> int:
        """How many attempts an item has; effect work has those of its admission policy."""
        intent = self.facts.get(("intent", item.id))
        policy = self.facts.get(("policy", getattr(intent, "policy", "")))
        return policy.attempts if isinstance(policy, AdmissionPolicy) else self._policy().attempts

    def _granted(self, rec: Recorded, before: Item | None, lease: Any) -> None:
        assert before is not None
        demand(lease.fence > self.fence, "fence-grows", rec)
        self.fence = lease.fence
        demand(before.lease is None, "one-live-lease", rec)
        demand(before.unmet == 0, "leased-only-unblocked", rec)
        demand(not self._ledger().kill_switch, "kill-switch-stops-leases", rec)
        demand(lease.attempt == before.attempt + 1, "attempt-numbers-grow", rec)
        self.counted[before.id] += 1
        demand(self.counted[before.id] <= self._most(before), "attempts-bounded", rec)
        self.reported.discard(before.id)
        self.holders.setdefault(before.id, set()).add(lease.actor)
        self.leased_until[before.id] = lease.expires_at
        self.given.append((rec, scopes(before, lease.actor)))
        self._limits(rec, before, lease)
        leased = [i for i in self._items() if i.lease is not None]
        policy = self._policy()
        for what, live, limit in (
            ("ledger", len(leased), policy.ledger_leases),
            ("actor", sum(i.lease.actor == lease.actor for i in leased), policy.actor_leases),  # type: ignore[union-attr]  # leased
            ("class", sum(i.work_class == before.work_class for i in leased), policy.class_leases),
            ("tenant", sum(i.tenant == before.tenant for i in leased), policy.tenant_leases),
        ):
            demand(live <= limit, "INV-11-limits", f"{what}: {live} > {limit} at {rec}")

    def _verified(self, rec: Recorded, event: Any, item: Item) -> None:
        demand(rec.actor not in self.holders.get(item.id, ()), "INV-16-verify", rec)
        demand(rec.actor != self.reviewer.get(item.id), "INV-16-verify", rec)
        commit = event.observed_commit_sha
        demand(commit == self.shipped.get(item.id), "verified-at-shipped", rec)
        actor = self.facts["actor", rec.actor]
        assert isinstance(actor, Actor)
        for result in event.results:
            row = self.facts["row", result.row]
            assert isinstance(row, Row)
            judged = result.result != "not-machine-checkable"
            kind = "human" if row.kind == "rubric" else "service"
            demand(not judged or actor.kind.value == kind, "rows-by-their-judge", rec)
            if result.executed and judged:
                seen = self.answers.setdefault((row.id, commit), set())
                green = result.result == "verified"
                seen.add("green" if green else "red")
            if result.result == "contradicted":
                self.answers.setdefault((row.id, commit), set()).update(("green", "red"))
        if event.to != "verified":
            return
        for name in item.plan.rows:
            said = self.answers.get((name, commit), set())
            demand(said == {"green"}, "two-answers-never-green", f"{name} said {said}")
        diff = item.work.artifact_diff if item.work else ""
        demand(diff == "PASS", "artifact-diff-passed", rec)

    # All facts at one seq.

    def _items(self) -> list[Item]:
        return [fact for fact in self.facts.values() if isinstance(fact, Item)]

    def _ledger(self) -> Ledger:
        ledger = self.facts["ledger", "ledger"]
        assert isinstance(ledger, Ledger)
        return ledger

    def _policy(self) -> Policy:
        return self._ledger().policy

    def _shape(self, item: Item) -> None:
        status = item.status.value
        owner = item.owner
        if status in ("verified", "closed"):
            demand(owner is None and item.lease is None, "INV-5-owner", item)
        else:
            kind = "retry" if item.hold and item.hold.owner == "retry" else OWNERS[status]
            demand(owner is not None and owner.kind.value == kind, "INV-5-owner", item)
            demand(bool(owner and owner.identity), "INV-5-owner", item)
        demand((item.lease is not None) == (status == "leased"), "lease-iff-leased", item)
        demand((item.hold is not None) == (status == "held"), "INV-3-hold", item)
        if item.hold is not None:
            complete = item.hold.reason and item.hold.owner and item.hold.trigger
            demand(bool(complete), "INV-3-hold", item)
        unmet = sum(d.state.value != "met" for d in item.dependencies)
        demand(item.unmet == unmet, "unmet-counted", item)
        demand((status == "triaged") == bool(item.triage), "triage-has-records", item)

    def _figures(self) -> None:
        items = self._items()
        counts = Counter(item.status.value for item in items)
        loads: Counter[str] = Counter()
        lanes: dict[str, list[int]] = {}
        for item in items:
            lane = lanes.setdefault(item.lane, [0, 0])
            lane[0] += item.status.value == "ready"
            lane[1] += item.status.value == "leased"
            if item.lease is not None:
                loads[f"actor/{item.lease.actor}"] += 1
                loads[f"class/{item.work_class}"] += 1
                loads[f"tenant/{item.tenant}"] += 1
        self._shares(items)
        self._money(items)
        for (kind, name), fact in self.facts.items():
            if kind == "count":
                demand(fact == counts[name], "counts-recounted", f"{name} {fact} {counts}")
            if kind == "load":
                of_works = name.startswith("stored/")
                demand(of_works or fact == loads[name], "loads-recounted", f"{name} {fact} {loads}")
            if isinstance(fact, Lane):
                has = [fact.ready, fact.leased]
                demand(has == lanes.get(fact.id, [0, 0]), "lanes-recounted", f"{fact} {lanes}")
        self.effects.figures(items)
        for name, number in counts.items():
            demand(self.facts.get(("count", name), 0) == number, "counts-recounted", name)
        for name, number in loads.items():
            demand(self.facts.get(("load", name), 0) == number, "loads-recounted", name)

    def _shares(self, items: list[Item]) -> None:
        """The sum of weights of a class's lanes with work."""
        working = {(item.work_class, item.lane) for item in items if item.status.value == "ready"}
        active: Counter[str] = Counter()
        for work_class, lane in working:
            fact = self.facts.get(("lane", lane))
            active[work_class] += fact.weight if isinstance(fact, Lane) else 0
        for (kind, name), fact in self.facts.items():
            if kind == "active":
                demand(fact == active[name], "shares-recounted", f"{name} {fact} {active}")

    def _money(self, items: list[Item]) -> None:
        """What is set aside is what live leases reserved and have not used; limits are kept."""
        aside: Counter[str] = Counter()
        charges = {name: n for (kind, name), n in self.facts.items() if kind == "charge"}
        for item in items:
            if item.lease is not None:
                lease = item.lease
                charged = charges.get(f"{item.id}/{lease.fence}", 0)
                left = max(0, lease.spend_micros - charged)  # type: ignore[operator]  # an integer
                aside.update(dict.fromkeys(scopes(item, lease.actor), left))
        settled = sum(charges.values())  # type: ignore[arg-type]  # integers
        for (kind, name), fact in self.facts.items():
            if kind == "spend" and isinstance(fact, Spend):
                demand(fact.reserved == aside[name], "spend-recounted", f"{name} {fact} {aside}")
                demand(fact.settled <= settled, "spend-recounted", f"{name} {fact} {settled}")
                if name == "ledger":
                    demand(fact.settled == settled, "spend-recounted", f"{fact} {settled}")

    def _limits(self, rec: Recorded, item: Item, lease: Lease) -> None:
        """At the seq of a lease no scope has more than its limits say (INV-11)."""
        for scope in scopes(item, lease.actor):
            limit = self.facts.get(("limit", scope))
            if not isinstance(limit, Limit):
                continue
            spend = self.facts.get(("spend", scope))
            if limit.spend_micros is not None and isinstance(spend, Spend):
                used = spend.settled + spend.reserved
                demand(used <= limit.spend_micros, "INV-11-limits", f"{scope}: {used} at {rec}")
                demand(not spend.stopped, "INV-11-limits", f"{scope} is stopped at {rec}")
            if limit.spend_micros is not None:
                demand(lease.spend_micros > 0, "INV-11-limits", f"{scope}: unreserved at {rec}")
            if limit.rate is not None:
                per = limit.per_ms * 1_000
                begins = rec.at // per * per
                since = self.rated[scope]  # a rate counts from when it was set
                given = sum(
                    scope in names and r.at >= begins and r.seq > since for r, names in self.given
                )
                demand(given <= limit.rate, "INV-11-limits", f"{scope}: {given} at {rec}")
            live = sum(
                i.lease is not None and scope in scopes(i, i.lease.actor) for i in self._items()
            )
            most = limit.concurrency
            demand(most is None or live <= most, "INV-11-limits", f"{scope}: {live} at {rec}")

    def _kept(self) -> None:
        kept = self.world.facts()
        if kept != self.facts:
            keys = [k for k in kept.keys() | self.facts.keys() if kept.get(k) != self.facts.get(k)]
            raise Broken("fold-equals-rows", f"{keys}")
        open_records = {
            fact.id: fact.item
            for fact in self.facts.values()
            if isinstance(fact, Triage) and fact.open
        }
        items = self._items()
        known = {record: item.id for item in items for record in item.triage}
        demand(open_records == known, "triage-has-records", f"{open_records} {known}")
        ledger = self._ledger()
        aliases = {n: str(f) for (kind, n), f in self.facts.items() if kind == "alias"}
        oracle = Oracle(items, aliases, imported_satisfies=ledger.policy.imported_closed_satisfies)
        wrong = oracle.differences(ledger.unsettled)
        demand(not wrong, "unmet-equals-oracle", "; ".join(wrong))
        self._admission(items, oracle, set(ledger.unsettled))
        self.effects.kept(items, ledger, self.time)

    def _admission(self, items: list[Item], oracle: Oracle, unsettled: set[str]) -> None:
        """Nothing waits for what is there already, and nothing is ready that should wait."""
        for item in items:
            if unsettled & {d.via for d in item.dependencies}:
                continue
            states = [d.state.value for d in item.dependencies]
            status = item.status.value
            if status == "ready":
                demand(set(states) <= {"met"}, "ready-only-unblocked", item)
                planned = bool(item.plan.rows) or item.kind.value == "effect"
                demand(planned, "ready-only-with-rows", item)
            if status in ("draft", "held", "ready"):
                demand("dead" not in states, "dead-goes-to-triage", item)
            if status == "held" and item.hold is not None:
                stuck = item.hold.reason.startswith("UNMET") and set(states) <= {"met"}
                demand(not stuck, "held-only-for-cause", item)
            if status == "draft" and item.gate == "":
                raise Broken("draft-names-its-gate", str(item))

    # What a caller saw.

    def fenced(self, command: Any, answer: Answer) -> None:
        """Whatever was accepted under a lease named its fence (INV-7)."""
        for rec in () if isinstance(answer, Refused) else answer.events:
            event: Any = rec.event
            under = type(event).__name__ in UNDER_LEASE and hasattr(command, "fence")
            if under and not answer.repeated:  # type: ignore[union-attr]  # accepted
                fence = event.lease.fence if hasattr(event.lease, "fence") else event.fence
                demand(fence == command.fence, "fence-as-named", rec)

    def answered(self, command_id: str, content: object, answer: Answer) -> None:
        """A command id is answered as the first time, or refused for other content (INV-9)."""
        first = self.asked.get(command_id)
        if isinstance(answer, Refused):
            if first is not None and first[0] == content:
                raise Broken("INV-9-same-answer", f"{command_id} was accepted before: {answer}")
            return
        if first is None:
            if answer.events:
                self.asked[command_id] = (content, answer.events)
            return
        demand(first[0] == content, "INV-9-other-content", command_id)
        demand(first[1] == answer.events, "INV-9-same-answer", command_id)
