"""Judgement of single steps: what a decision may write, event by event.

Each decision's events are folded once more, from the facts before it, so that every check sees the
item just before and just after the event; at the end the fold must be what the decision said. What
cannot be seen in facts (which head was approved, what rows answered before, the highest fence ever)
is remembered in ghosts beside the state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core import item_events as e
from remit.core.events import Recorded
from remit.core.evolve import FoldError, evolve
from remit.core.facts import LEDGER, Dependency, Fact, Item, Key, Ledger
from remit.core.ids import EPOCH_SHIFT
from remit.proofs import oracle
from remit.proofs.effect_steps import EffectSteps
from remit.proofs.plan_steps import PlanSteps
from remit.proofs.properties import Tally, Violation
from remit.proofs.push_steps import PushSteps, landed, shipped
from remit.proofs.triage_steps import TriageSteps
from remit.proofs.world import NO_GHOST, Decided, Ghost, Stage, State, Taken

FENCED: Final = (
    c.RenewLease,
    c.ReleaseLease,
    c.ReportProgress,
    c.ReportCompletion,
    c.FailWork,
    k.IntendEffect,
    k.NoteSent,
    k.ReportEffect,
    k.NoteUncertain,
)
"""Commands that write under a lease and must name its fence."""

AFTER_THE_END: Final = (
    "LateReportRecorded",
    "NoteAdded",
    "FollowerReleased",
    "CancellationObserved",
    "SpendSettled",
    "ItemReplanned",
    "ItemUnplanned",
    "ItemSucceeded",
)
"""All that may be said of an item that has ended."""

BESIDE: Final = (c.ExpireLease, c.RecordLateReport)
"""All that may be written beside a refusal."""

_GREEN: Final = {"verified": ("green",), "ship-verify-gap": ("red",)}
_BOTH: Final = ("green", "red")


class Steps:
    """Judges steps in one world and makes the states that they lead to."""

    def __init__(self, stage: Stage, tally: Tally) -> None:
        self.stage = stage
        self.tally = tally
        self.effects = EffectSteps(stage, tally.demand) if stage.world.effects else None
        self.triage = TriageSteps(stage, tally.demand)
        self.pushes = PushSteps(stage, tally.demand)
        self.plans = PlanSteps(stage, tally.demand) if stage.world.plans else None

    def after(self, state: State, taken: Taken) -> State:
        """The state after a step's decisions are stored, with every event judged on the way.

        Raises ``Violation`` at the first that should not have been.
        """
        after = replace(state, facts=dict(state.facts), ghosts=dict(state.ghosts))
        after.locals, after.books = dict(state.locals), dict(state.books)
        for n, decided in enumerate(taken.decided):
            beside = taken.refused is not None or n + 1 < len(taken.decided)
            if beside:
                fits = isinstance(decided.command, BESIDE)
                self.tally.demand("refusal-writes-nothing", fits, decided.command)
            self._fence(after, decided)
            self._fold(after, decided)
            self._check_recorded(after, decided)
            if isinstance(decided.command, k.ObserveEffect):
                after.outside = replace(after.outside, look=None)
        return after

    def _fence(self, state: State, decided: Decided) -> None:
        """An accepted write under a lease named its fence, in time, as its holder (INV-7)."""
        cmd = decided.command
        if not isinstance(cmd, FENCED):
            return
        item = self.stage.get(state, "item", cmd.item)
        lease = item.lease if isinstance(item, Item) else None
        ledger = self.stage.get(state, *LEDGER)
        fits = (
            lease is not None
            and isinstance(ledger, Ledger)
            and cmd.fence == lease.fence
            and decided.ask.actor == lease.actor
            and state.now < lease.expires_at
            and lease.fence >> EPOCH_SHIFT == ledger.epoch
        )
        said = f"{decided.ask.actor} at {state.now}: {cmd} under {lease}"
        self.tally.demand("fence-guards-writes", fits, said)

    def _fold(self, state: State, decided: Decided) -> None:
        """Fold the events of one decision, judge each, and compare with what it said."""
        stage, facts = self.stage, state.facts
        base = stage.base

        def get(kind: str, name: str) -> Fact | None:
            key = (kind, name)
            return facts[key] if key in facts else base.get(key)

        touched: dict[Key, Fact | None] = {}
        for rec in decided.events:
            state.seq += 1
            self.tally.demand("streams-dense", rec.seq == state.seq, rec.seq, "after", state.seq)
            old = get("item", rec.stream)
            try:
                out = evolve(get, rec)
            except FoldError as fault:
                raise Violation("fold-equals-decision", str(fault)) from fault
            if self.effects is not None:
                self.effects.event(state, decided, rec, get, out)
            if self.plans is not None:
                self.plans.event(state, decided, rec, get, out)
            if rec.stream.startswith("effect/push/"):
                self.pushes.said(state, decided, rec)
            facts.update(out)
            touched.update(out)
            new = out.get(("item", rec.stream))
            if isinstance(new, Item):
                self._event(state, decided, rec, old if isinstance(old, Item) else None, new)
        for key, fact in decided.delta.items():
            mine = touched.get(key)
            fits = fact is mine or fact == mine
            self.tally.demand("fold-equals-decision", fits, key, "is", mine, "said", fact)
        for key in touched:
            if key[0] in ("item", "triage", "effect"):
                self._forget(state, key)

    def _forget(self, state: State, key: Key) -> None:
        """What was kept of an item's encoding is out of date."""
        fact = state.facts.get(key)
        state.locals.pop(key[1] if key[0] == "item" else getattr(fact, "item", ""), None)

    def _event(
        self, state: State, decided: Decided, rec: Recorded, old: Item | None, new: Item
    ) -> None:
        tally, event = self.tally, rec.event
        if old is None:
            return
        was, to = str(old.status), str(new.status)
        tid = getattr(event, "transition_id", "")
        if was != to or tid:
            table = oracle.TABLE if old.kind == "delivery" else oracle.EFFECT_TABLE
            fits = (tid, was, to) in table and (was, to) == (event.from_, event.to)  # type: ignore[attr-defined]  # moves have both
            tally.demand("status-by-table", fits, type(event).__name__, tid, was, "->", to)
        if was in oracle.TERMINAL:
            said = type(event).__name__ in AFTER_THE_END or oracle.last_news(decided.events, rec)
            fits = was == to and said
            tally.demand("terminal-stays", fits, old.id, was, "then", event)
        known = set(old.holders) <= set(new.holders)
        tally.demand("holders-remembered", known, old.holders, "became", new.holders)
        ghost = state.ghosts.get(new.id, NO_GHOST)
        if old.lease is not None and new.lease is None:
            ghost = Ghost(old.lease.fence, ghost.approved, ghost.answers)
        if to in (*oracle.QUEUED, "leased", "in-review"):
            ghost = Ghost(ghost.fence, "", ghost.answers)
        self.triage.event(state, rec.actor, event, old, new)
        self.pushes.moved(state, event, old)
        check = _CHECKS.get(type(event))
        if check is not None:
            ghost = check(self, state, decided, rec, event, old, new, ghost) or ghost
        if ghost is not NO_GHOST:
            state.ghosts[new.id] = ghost

    def _check_recorded(self, state: State, decided: Decided) -> None:
        """An adoption ends every lease, and never goes back (CONTRACT 14)."""
        if not isinstance(decided.command, c.AdoptEpoch):
            return
        ledger = self.stage.get(state, *LEDGER)
        epoch = ledger.epoch if isinstance(ledger, Ledger) else 0
        above = epoch << EPOCH_SHIFT > state.highest
        state.outside = replace(state.outside, adopting=False)
        self.tally.demand("epoch-ends-leases", above, "epoch", epoch, "under", state.highest)

    # Each check below returns what is to be remembered of the item, or None for no change.

    def granted(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> Ghost:
        """T03: all checks before the lease, one fence above all others."""
        demand, lease = self.tally.demand, ev.lease
        ledger = self.stage.get(state, *LEDGER)
        assert isinstance(ledger, Ledger)
        policy = ledger.policy
        demand("one-live-lease", old.lease is None, old.id, "was under", old.lease)
        demand("fences-up", lease.fence > state.highest, lease.fence, "after", state.highest)
        fits = lease.fence >> EPOCH_SHIFT == ledger.epoch
        demand("epoch-ends-leases", fits, lease.fence, "in epoch", ledger.epoch)
        state.highest = max(state.highest, lease.fence)
        demand("kill-switch-holds", not ledger.kill_switch, lease.id, "was given")
        fits = lease.acquired_at == state.now < lease.expires_at <= state.now + 3_000_000
        demand("renewal-bounded", fits, lease)
        fits = new.counted == old.counted + 1
        demand("attempts-counted", fits, old.counted, "then", new.counted)
        fits = old.counted < policy.attempts
        demand("attempts-bounded", fits, "leased after", old.counted, "of", policy.attempts)
        demand("holders-remembered", lease.actor in new.holders, lease.actor, new.holders)
        failed = [check for check in ev.checks if str(check.result) not in ("PASS", "NOT_TESTED")]
        demand("lease-checks-all", not failed and old.unmet == 0, failed, old.unmet)
        bound = next(k for k in ev.checks if k.check == "attempts")
        true = int(bound.observed) < int(bound.required.lstrip("<"))
        demand("lease-checks-all", true, "recorded as passed:", bound)
        items = self.stage.items(state)
        waits = _waits(items, new.dependencies, policy)
        demand("lease-checks-all", not waits, old.id, "is leased and waits on", waits)
        exceeded = oracle.over_limit(items, policy)
        demand("within-limits", not exceeded, exceeded)
        return Ghost(ghost.fence)

    def renewed(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> None:
        """The same lease, longer, within bounds."""
        ledger, lease, longer = self.stage.get(state, *LEDGER), old.lease, ev.lease
        off = isinstance(ledger, Ledger) and not ledger.kill_switch
        self.tally.demand("kill-switch-holds", off, longer.id, "was renewed")
        fits = (
            lease is not None
            and (lease.id, lease.fence, lease.attempt, lease.acquired_at, lease.actor)
            == (longer.id, longer.fence, longer.attempt, longer.acquired_at, longer.actor)
            and lease.expires_at <= longer.expires_at <= lease.acquired_at + 3_000_000
        )
        self.tally.demand("renewal-bounded", fits, lease, "became", longer)

    def ended(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> None:
        """T04, by the holder or by time; an attempt counts unless nothing was done in it."""
        demand, lease, policy = self.tally.demand, old.lease, self.stage.world.policy
        demand("one-live-lease", lease is not None and new.lease is None, old.id, new.lease)
        returned = isinstance(ev, e.LeaseReleased) and not old.reported
        if old.kind == "effect":
            returned = self._clean(state, old, ev)
        fits = new.counted == old.counted - returned
        demand("attempts-counted", fits, old.counted, "then", new.counted)
        bounded = new.counted < policy.attempts or (old.kind, new.status) == ("effect", "held")
        demand("attempts-bounded", bounded, "queued after", new.counted, "of", policy.attempts)
        if isinstance(ev, e.LeaseExpired):
            self.due(state, old)

    def _clean(self, state: State, old: Item, ev: Any) -> bool:
        if not isinstance(ev, e.LeaseReleased) or old.reported or old.lease is None:
            return False
        return all(r.fence != old.lease.fence for r in state.outside.requests)

    def due(self, state: State, old: Item) -> None:
        """Nobody records an expiry before it is due."""
        ledger = self.stage.get(state, *LEDGER)
        if old.lease is None or not isinstance(ledger, Ledger):
            raise AssertionError("an expiry without a lease")
        over = state.now >= old.lease.expires_at or old.lease.fence >> EPOCH_SHIFT != ledger.epoch
        self.tally.demand("expiry-when-due", over, old.lease, "expired at", state.now)

    def late(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> None:
        """A late report is evidence and nothing more."""
        kept = (old.status, old.lease, old.counted, old.work, old.results, old.triage, old.reported)
        now = (new.status, new.lease, new.counted, new.work, new.results, new.triage, new.reported)
        self.tally.demand("late-report-moves-nothing", kept == now, kept, "became", now)

    def approved(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> Ghost:
        """T06: of the head handed in, by somebody who never held a lease here."""
        other = rec.actor not in old.holders
        self.tally.demand("different-actors", other, rec.actor, "approved, held by", old.holders)
        head = old.work.head if old.work else ""
        fits = ev.head == head and new.work is not None and new.work.reviewer == rec.actor
        self.tally.demand("approval-of-this-head", fits, ev.head, "approved,", head, "handed in")
        return Ghost(ghost.fence, ev.head, ghost.answers)

    def reopened(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> None:
        """T07 starts a new round: attempts are counted anew."""
        self.tally.demand("attempts-counted", new.counted == 0, "after reopening", new.counted)
        other = rec.actor not in old.holders
        self.tally.demand("different-actors", other, rec.actor, "rejected, held by", old.holders)

    def shipped(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> None:
        """T08: the head that was approved, seen on main."""
        work = old.work
        fits = (
            isinstance(by.command, c.ObserveShip)
            and work is not None
            and ev.observed_commit_sha == work.head == ghost.approved
            and work.reviewer
        )
        said = f"{ev.observed_commit_sha[:4]}, approved {ghost.approved[:4]}, {work}"
        self.tally.demand("shipped-by-observation", fits, said)

    def verified(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> Ghost:
        """T09 and T10 by results: what rows have answered so far decides."""
        demand, work, cmd = self.tally.demand, new.work, by.command
        if work is None or not isinstance(cmd, c.RecordVerification):
            raise AssertionError("results without shipped work")
        answers = set(ghost.answers)
        for found in cmd.findings:
            said = _GREEN.get(found.result, _BOTH) if found.executed else ()
            answers |= {(found.row, cmd.commit, colour) for colour in said}
        actor, commit = rec.actor, work.shipped
        differ = actor not in old.holders and actor != work.reviewer
        demand("different-actors", differ, actor, "judged", old.holders, work.reviewer)
        if str(new.status) == "verified":
            for row in old.plan.rows:
                green = (row, commit, "green") in answers and (row, commit, "red") not in answers
                demand("verified-by-evidence", green, row, "answered", sorted(answers))
            last = {r.row: (r.result, r.commit) for r in new.results}
            whole = all(last.get(row) == ("verified", commit) for row in old.plan.rows)
            demand("verified-by-evidence", whole and old.plan.rows, last, "at", commit)
            demand("verified-by-evidence", work.artifact_diff == "PASS", work.artifact_diff)
        return Ghost(ghost.fence, ghost.approved, frozenset(answers))

    def triaged(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> None:
        """T10, by an expiry only when the attempts are used up."""
        if isinstance(by.command, c.ExpireLease) and ev.triage_kind == "poison":
            if old.kind == "delivery" or old.lease is not None:
                self.due(state, old)
            cast = self.stage.world.effects
            attempts = cast.attempts if cast is not None else self.stage.world.policy.attempts
            used = old.counted >= attempts
            self.tally.demand("attempts-bounded", used, "poison after", old.counted)

    def resolved(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> Ghost | None:
        """T11: where triage came from or earlier, never to leased; after shipping, only shipped."""
        if not ev.transition_id:
            self.tally.demand("resolve-never-forward", new.triage, old.id, "left early")
            return None
        origin, to = str(old.triaged_from), str(new.status)
        seen = shipped(self.stage, state, old)
        earlier = oracle.OPEN.index(to) <= oracle.OPEN.index(origin) or old.kind == "effect"
        fits = to != "leased" and earlier and seen == (to == "shipped")
        self.tally.demand("resolve-never-forward", fits, old.id, "from", origin, "to", to)
        if to in ("ready", "held"):
            kept = ev.resolution == "reconciled" and new.counted == old.counted
            self.tally.demand("attempts-counted", kept or new.counted == 0, new.counted)
        return None

    def closed(
        self, state: State, by: Decided, rec: Recorded, ev: Any, old: Item, new: Item, ghost: Ghost
    ) -> None:
        """T12: by name, with its owner and, where superseded, its successor."""
        demand = self.tally.demand
        demand("one-owner", ev.owner and new.owner is None, "closed, owned by", new.owner)
        fits = not landed(self.stage, state, old) or (ev.outcome == "superseded" and ev.successor)
        demand("shipped-by-observation", fits, "shipped, then closed as", ev.outcome)


def _waits(items: oracle.Items, edges: tuple[Dependency, ...], policy: Any) -> list[str]:
    """What an item that is being leased still waits on."""
    return [d.via for d in edges if oracle.worth(items, d, policy) != "met"]


Check = Callable[[Steps, State, Decided, Recorded, Any, Item, Item, Ghost], Ghost | None]

_CHECKS: Final[dict[type, Check]] = {
    e.LeaseGranted: Steps.granted,
    e.LeaseRenewed: Steps.renewed,
    e.LeaseReleased: Steps.ended,
    e.LeaseExpired: Steps.ended,
    e.LateReportRecorded: Steps.late,
    e.ReviewApproved: Steps.approved,
    e.ItemReopened: Steps.reopened,
    e.ShipObserved: Steps.shipped,
    e.VerificationRecorded: Steps.verified,
    e.ItemTriaged: Steps.triaged,
    e.TriageResolved: Steps.resolved,
    e.ItemClosed: Steps.closed,
}
