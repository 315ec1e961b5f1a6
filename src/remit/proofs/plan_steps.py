"""Judgement of single events of planning, just before and just after each is folded.

What no fact says is written into books beside the state: whether an apply is open, which revision was
closed last, what each item was made for, which nonces were used. Events are held to these, and to what
the oracle works out from bundles and decisions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

from remit.core.decisions import Decision
from remit.core.events import Recorded
from remit.core.evolve.moves import Out
from remit.core.facts import Fact, Item, Planned, PlanRevision
from remit.core.planning.bundle import Bundle
from remit.proofs import plan_oracle as oracle
from remit.proofs.plan_cast import digests
from remit.proofs.plan_moves import ID, KEY, decisions_of, in_force, plan_cast, strict
from remit.proofs.world import HUMAN, Decided, Stage, State

Demand = Callable[..., None]
Get = Callable[[str, str], Fact | None]

RECORDS: Final = (
    "GoalRevised", "GoalRetired", "RequirementRevised", "RequirementRetired", "NodeRevised",
    "NodeRetired", "RowPlanned", "RowRevised", "RowRetired", "ItemPlanned", "ItemReplanned",
    "ItemUnplanned", "ItemSucceeded",
)  # fmt: skip
"""Events that say something of a record of a plan."""

FREE: Final = ("draft", "held", "ready")
HANDED_IN: Final = ("in-review", "approved", "shipped")
KEPT: Final = (
    "kind", "title", "scope", "plan", "proposal", "record", "options", "recommended", "proposed_by",
    "expires_at", "supersedes",
)  # fmt: skip
"""What no event changes of a decision."""

SETTLED: Final = ("chosen", "choice", "permits", "accepted_by", "assurance")
"""What stays of it once it is accepted or rejected."""


def brief(item: Item) -> tuple[Any, ...]:
    """What somebody works by."""
    plan, governed = item.plan, item.plan.governed
    refs = governed.requirement_refs if governed else ()
    return (
        item.title, item.text, plan.goal, plan.requirements, plan.rows, plan.scope, plan.artifacts,
        plan.brief_revision, plan.brief_seq, refs,
    )  # fmt: skip


class PlanSteps:
    """Judges the events of one world of planning."""

    def __init__(self, stage: Stage, demand: Demand) -> None:
        self.stage = stage
        self.demand = demand
        self.cast = plan_cast(stage)

    def event(self, state: State, by: Decided, rec: Recorded, get: Get, out: Out) -> None:
        """Judge one event; ``get`` reads facts before it, ``out`` is what it changes."""
        name = type(rec.event).__name__
        if name in RECORDS:
            self._record(state, by, rec, get, name)
        for (kind, key), fact in out.items():
            old = get(kind, key)
            if isinstance(old, Decision):
                self._decision(old, fact)
            if kind == "row" and old is not None:
                kept = [(f.item, f.digest, f.requirement, f.label) for f in (old, fact)]  # type: ignore[union-attr]  # both are rows of a plan
                self.demand("nothing-overwritten", kept[0] == kept[1], key, *kept)
            gone = old is not None and fact is None and kind not in ("planned", "decided")
            self.demand("nothing-overwritten", not gone, kind, key, "is gone")
            if kind == "item" and isinstance(old, Item) and isinstance(fact, Item):
                self._item(state, rec, old, fact)
        check = _CHECKS.get(name)
        if check is not None:
            check(self, state, by, rec, rec.event, get)

    def _record(self, state: State, by: Decided, rec: Recorded, get: Get, name: str) -> None:
        """A record changes in an open apply alone, and its revisions have no gap."""
        event: Any = rec.event
        plan = get("plan", ID)
        under_way = plan.open if isinstance(plan, PlanRevision) else None
        fits = under_way is not None and not under_way.sealing and state.books.get("open")
        mine = under_way is not None and getattr(by.command, "digest", "") == under_way.digest
        self.demand("record-in-open-apply", fits and mine, name, rec.stream, "in", under_way)
        label = event.record.label if hasattr(event, "record") else ""
        kind = (
            name.removesuffix("Revised").removesuffix("Planned").removesuffix("Replanned").lower()
        )
        entry = get("planned", f"{ID}/{'item' if kind == 'itemre' else kind}/{label}")
        known = entry.digest if isinstance(entry, Planned) else ""
        if label and known:
            fits = event.previous_digest == known
            self.demand("nothing-overwritten", fits, rec.stream, "follows on", known[:8])
        if hasattr(event, "record"):
            self._made(state, rec, name, under_way)

    def _made(self, state: State, rec: Recorded, name: str, under_way: Any) -> None:
        """Note what an item is made for: what the plan that is being applied says of it."""
        bundle = self.cast.of(under_way.digest) if under_way is not None else None
        event: Any = rec.event
        fresh = name == "ItemPlanned" or (name == "ItemReplanned" and event.brief)
        item = (
            next((i for i in bundle.items if i.label == event.record.label), None)
            if bundle
            else None
        )
        if fresh and bundle is not None and item is not None:
            state.books[f"brief/{rec.stream}"] = oracle.number_of(bundle, event.record.label)

    def _item(self, state: State, rec: Recorded, old: Item, new: Item) -> None:
        """What somebody works by stays as it is, and no gate opens that should be shut."""
        was, to = str(old.status), str(new.status)
        origin = str(old.triaged_from)
        free = was in FREE or (was == "triaged" and origin not in HANDED_IN)
        if not free:
            fits = brief(old) == brief(new)
            self.demand("brief-never-changes", fits, old.id, was, brief(old), "became", brief(new))
        if new.plan.governed is None:
            return
        if to in ("ready", "leased") and was != to:
            self._opens(state, rec, new)

    def _opens(self, state: State, rec: Recorded, item: Item) -> None:
        """An item joins the queue, or is taken from it: every gate has to be open just now."""
        what = f"{item.id} by {type(rec.event).__name__}"
        closed = state.books.get("closed", 0) > 0 and not state.books.get("open")
        self.demand("no-gate-before-close", closed, what, "books:", state.books)
        bundle, governed = in_force(self.stage, state), item.plan.governed
        assert governed is not None
        record = None
        if bundle is not None:
            record = next((i for i in bundle.items if i.label == governed.label), None)
        self.demand("chain-complete-when-ready", record is not None, what, "is in no plan")
        assert bundle is not None
        assert record is not None
        known, hard = decisions_of(self.stage, state), strict(self.stage, state)
        shut = oracle.shut(bundle, record, known, state.now, strict=hard)
        about = oracle.concerned(bundle, known)
        conflict = oracle.contradictions(about, known, state.now)
        self.demand("conflict-stops-planning", not conflict, what, "while these conflict", conflict)
        undecided = shut & {"decision"}
        self.demand("undone-decision-shuts", not undecided, what, "needs a decision")
        self.demand("gates-hold", not shut, what, "behind", sorted(shut))
        self._chain(state, item, record.label, what)

    def _chain(self, state: State, item: Item, label: str, what: str) -> None:
        """From the goal to the rows, every link is there and leads back."""
        stage, governed = self.stage, item.plan.governed
        assert governed is not None
        entry: Any = stage.get(state, "planned", f"{ID}/item/{label}")
        fits = isinstance(entry, Planned) and entry.id == item.id and not governed.left
        self.demand("chain-complete-when-ready", fits, what, "is not the plan's:", entry)
        goal: Any = stage.get(state, "goal", item.plan.goal)
        node: Any = stage.get(state, "node", governed.node)
        links = [goal, node]
        links += [stage.get(state, "requirement", name) for name in item.plan.requirements]
        rows: list[Any] = [stage.get(state, "row", name) for name in item.plan.rows]
        whole = all(link is not None and not link.retired for link in (*links, *rows))
        self.demand("chain-complete-when-ready", whole and rows, what, "rests on", links, rows)
        back = all(
            row.item == item.id and row.requirement in item.plan.requirements for row in rows
        )
        self.demand("chain-complete-when-ready", back, what, "has rows of others:", rows)

    def _decision(self, old: Decision, new: Any) -> None:
        fits = all(getattr(old, name) == getattr(new, name) for name in KEPT)
        self.demand("decision-settles-once", fits, old, "became", new)
        if str(old.state) in ("accepted", "rejected"):
            fits = all(getattr(old, name) == getattr(new, name) for name in SETTLED)
            states = (str(old.state), str(new.state))
            fits = fits and (states[0] == states[1] or states == ("accepted", "superseded"))
            self.demand("decision-settles-once", fits, old.id, *states)

    # Checks of single events.

    def opened(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """An apply follows on the revision in force."""
        closed = state.books.get("closed", 0)
        fits = ev.revision == closed + 1 and getattr(by.command, "base_revision", -1) == closed
        self.demand("plan-as-checked", fits, by.command, "after", closed)
        state.books["open"] = 1
        state.books["opens"] = state.books.get("opens", 0) + 1

    def closed(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """What is put in force is what was checked, and what needs a human has one."""
        demand, bundle = self.demand, self.cast.of(ev.digest)
        before = in_force(self.stage, state)
        demand("plan-as-checked", bundle is not None, "no plan has the digest", ev.digest[:8])
        assert bundle is not None
        here = {
            name.split("/", 1)[1]: fact.digest
            for name, fact in self._entries(state)
            if fact is not None
        }
        wanted = {f"{k}/{r.label}": oracle.record_digest(k, r) for k, r in oracle.records(bundle)}
        demand(
            "plan-as-checked", here == wanted, "differs in", set(here.items()) ^ set(wanted.items())
        )
        own = (oracle.whole_digest(bundle), oracle.whole_digest(bundle, bare=True))
        demand("plan-as-checked", (ev.digest, ev.proposal_digest) == own, ev, "not", own)
        last = digests(before).whole if before is not None else ""
        demand("nothing-overwritten", ev.previous_digest == last, "follows on", ev.previous_digest)
        known, hard = decisions_of(self.stage, state), strict(self.stage, state)
        refs = oracle.named(bundle)
        about = oracle.concerned(bundle, known)
        conflict = oracle.contradictions(about, known, state.now)
        demand("conflict-stops-planning", not conflict, "closed while these conflict:", conflict)
        standing = [
            ref for ref in refs if not oracle.stands(known.get(ref), state.now, strict=hard)
        ]
        demand("removal-needs-decision", not standing, "names what does not stand:", standing)
        wants = [*oracle.standing(bundle), *(oracle.changing(before, bundle) if before else ())]
        for want in wants:
            self._allowed(state, bundle, before, want)
        fits = set(ev.decisions) == set(refs)
        demand("consumed-by-exact-revision", fits, ev.decisions, "of", refs)
        state.books["closed"], state.books["open"] = ev.revision, 0
        if self.stage.world.has("clear"):
            for name in oracle.stated(before, bundle):
                state.books[name] = ev.revision

    def _allowed(
        self, state: State, bundle: Bundle, before: Bundle | None, want: oracle.Want
    ) -> None:
        """Somebody decided on exactly this; or on the same, where the plan in force rests on it."""
        known, hard = decisions_of(self.stage, state), strict(self.stage, state)
        kept = before is not None and want.on and want in tuple(oracle.standing(before))
        proposal = oracle.whole_digest(bundle, bare=True)
        good = []
        for ref in want.refs:
            decision = known.get(ref)
            if decision is None or not oracle.allows(decision, want, state.now, strict=hard):
                continue
            if decision.proposal == proposal or (kept and decision.consumed_by):
                good.append(ref)
        self.demand("removal-needs-decision", good, want, "is allowed by none of", want.refs)

    def _entries(self, state: State) -> list[tuple[str, Any]]:
        found = {**self.stage.base, **state.facts}
        return [(n, f) for (k, n), f in found.items() if k == "planned" and "/~" not in n]

    def settled(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """Only a human decides, on what is still open, and signs it where policy wants that."""
        old = get("decision", rec.entity)
        assert isinstance(old, Decision)
        self.demand("decision-by-human-only", rec.actor == HUMAN, rec.actor, "decided", old.id)
        live = old.expires_at is None or state.now < old.expires_at
        fits = str(old.state) == "proposed" and live and ev.record == old.record
        self.demand("decision-settles-once", fits, old.id, old.state, "then", ev)
        if not strict(self.stage, state):
            return
        proved = rec.assurance.startswith("signature") and self._proof(state, by)
        self.demand("proof-fits-the-act", proved, old.id, rec.assurance, by.ask.proof)

    def _proof(self, state: State, by: Decided) -> bool:
        """Whether the signature that came is over these very events, by a key that counts."""
        proof = by.ask.proof
        if proof is None or proof.namespace != "remit-decision":
            return False
        signed = json.loads(proof.statement)
        acts = [r for r in by.events if type(r.event).__name__ in ("DecisionAccepted", "DecisionRejected", "DecisionSuperseded")]  # fmt: skip
        wanted = {
            "actor": HUMAN,
            "act": type(acts[0].event).__name__,
            "subject": acts[0].stream,
            "ledger": "L",
            "content": oracle.digest(
                [[r.stream, type(r.event).__name__, asdict(r.event)] for r in acts]
            ),
        }
        said = all(signed.get(name) == value for name, value in wanted.items())
        fresh = proof.nonce == signed.get("nonce") and state.now < signed.get("until", 0)
        counts = proof.fingerprint == KEY and not state.books.get("revoked")
        return said and fresh and counts and str(proof.reach) == "PASS"

    def signed(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """A nonce is used once, whatever it was for."""
        name = f"nonce/{rec.entity[-2:]}"
        fresh = not state.books.get(name)
        self.demand("nonce-used-once", fresh, rec.entity, "was used before")
        state.books[name] = 1

    def left(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """Another goes on only where what the item was made for has changed."""
        item, plan = get("item", rec.stream), get("plan", ID)
        under_way = plan.open if isinstance(plan, PlanRevision) else None
        bundle = self.cast.of(under_way.digest) if under_way is not None else None
        if not ev.successor or bundle is None or not isinstance(item, Item):
            return
        assert item.plan.governed is not None
        wanted = oracle.number_of(bundle, item.plan.governed.label)
        differs = wanted != state.books.get(f"brief/{item.id}")
        self.demand("successor-linked", differs, item.id, item.status, "is left for the same")

    def cleared(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """Somebody looked at a suspect link, and did not do the work beneath it."""
        demand, bundle = self.demand, in_force(self.stage, state)
        assert bundle is not None
        entries = {fact.id: name for name, fact in self._entries(state) if fact is not None}
        ends = tuple(entries[name].split("/", 2)[1:] for name in (ev.upper, ev.lower))
        pair = next(p for p in oracle.links(bundle) if tuple(map(list, p)) == ends)
        what = f"{ev.upper}>{ev.lower}"
        demand("suspect-until-looked-at", pair in oracle.suspected(bundle, state.books), what)
        seen = tuple(oracle.meaning(bundle, *end) for end in pair)
        demand("suspect-until-looked-at", (ev.upper_digest, ev.lower_digest) == seen, what, ev)
        below = self._beneath(state, ev.lower)
        held = below is not None and rec.actor in below.holders
        demand("suspect-until-looked-at", not held, what, "is cleared by who did the work")
        name, number = oracle.looked_at(bundle, pair)
        state.books[name] = number

    def _beneath(self, state: State, lower: str) -> Item | None:
        """The item that the lower end of a link is, or is evidence of."""
        row: Any = self.stage.get(state, "row", lower)
        found = self.stage.get(state, "item", row.item if row is not None else lower)
        return found if isinstance(found, Item) else None

    def revoked(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """The one key counts no more."""
        state.books["revoked"] = 1

    def superseded(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """Another one took its place, which says so and was accepted just now."""
        other = self.stage.get(state, "decision", ev.by)
        fits = isinstance(other, Decision) and other.supersedes == rec.entity
        fits = fits and isinstance(other, Decision) and str(other.state) == "accepted"
        self.demand("decision-settles-once", fits, rec.entity, "superseded by", other)

    def consumed(self, state: State, by: Decided, rec: Recorded, ev: Any, get: Get) -> None:
        """Exactly the revision that was put in force in this very decision."""
        ends = [r.event for r in by.events if type(r.event).__name__ == "PlanClosed"]
        end: Any = ends[0] if ends else None
        fits = (
            end is not None
            and rec.entity in end.decisions
            and (ev.revision, ev.digest) == (f"{ID}@{end.revision}", end.digest)
        )
        self.demand("consumed-by-exact-revision", fits, rec.entity, "consumed by", ev, "at", end)


Check = Callable[[PlanSteps, State, Decided, Recorded, Any, Get], None]

_CHECKS: Final[dict[str, Check]] = {
    "PlanOpened": PlanSteps.opened,
    "PlanClosed": PlanSteps.closed,
    "DecisionAccepted": PlanSteps.settled,
    "DecisionRejected": PlanSteps.settled,
    "DecisionSuperseded": PlanSteps.superseded,
    "DecisionConsumed": PlanSteps.consumed,
    "ActSigned": PlanSteps.signed,
    "ItemUnplanned": PlanSteps.left,
    "ItemSucceeded": PlanSteps.left,
    "KeyRevoked": PlanSteps.revoked,
    "LinkCleared": PlanSteps.cleared,
}

__all__ = ["PlanSteps", "brief"]
