"""Properties of states with effect work: what the ledger says of the outside is so (CONTRACT 4, 7).

Each compares facts with the model of the outside, which knows what really came about and what may
still come. What a single event may do is judged in ``effect_steps``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from remit.core.effect_facts import Effect, Intent
from remit.core.facts import Item, Ledger
from remit.core.limit_facts import NO_SPEND, Spend, charge_of
from remit.proofs import effect_oracle as oracle
from remit.proofs.effect_cast import CLASS, submission
from remit.proofs.effect_moves import BEGIN, cast_of, effects_of
from remit.proofs.outside import may_come
from remit.proofs.world import Stage, State

EFFECT_PROPERTIES: Final[dict[str, str]] = {
    "verdict-by-table": "CONTRACT-4",
    "verdicts-stand": "INV-2",
    "message-stands": "INV-2",
    "hold-wakes": "INV-3",
    "stale-is-no-capacity": "INV-1",
    "one-observation-no-herd": "CONTRACT-3",
    "end-by-lifetime": "INV-1",
    "end-only-unstarted": "INV-4",
    "coalesced-onto-live": "CONTRACT-4",
    "followers-go-on": "INV-5",
    "effect-by-machine": "INV-13",
    "seen-not-said": "INV-13",
    "absence-is-certain": "INV-13",
    "present-is-there": "INV-13",
    "shipped-as-observed": "INV-2",
    "open-effect-waits": "INV-14",
    "one-under-way": "INV-14",
    "present-never-sent": "INV-14",
    "one-object": "INV-14",
    "irreversible-once": "INV-14",
    "closed-without-effect": "INV-4",
    "cancelled-not-started": "CONTRACT-7",
    "started-in-time": "CONTRACT-6",
    "epoch-is-doubt": "CONTRACT-14",
    "fence-passed-on": "INV-7",
    "retry-bounded": "INV-10",
    "rate-kept": "INV-11",
    "spend-as-recounted": "INV-11",
}
"""Every property of effect work by name, with the invariant or section that it keeps."""

Demand = Callable[..., None]


def check_effects(demand: Demand, stage: Stage, state: State) -> None:
    """Check everything that must hold of effect work in a state by itself."""
    if state.outside.adopting:
        return  # what was put back is not in use before it is adopted
    items = stage.items(state)
    ledger = stage.get(state, "ledger", "ledger")
    assert isinstance(ledger, Ledger)
    effects = effects_of(stage, state)
    for effect in effects.values():
        _effect(demand, stage, state, effect, ledger)
    for item in items.values():
        _item(demand, stage, state, item, items, ledger)
    stored = sum(not i.terminal for i in items.values())
    kept = stage.get(state, "load", f"stored/{CLASS}") or 0
    demand("figures-as-recounted", kept == stored, "stored", kept, "not", stored)
    _debits(demand, stage, state)
    if cast_of(stage).spend:
        _money(demand, stage, state, items)


def _effect(demand: Demand, stage: Stage, state: State, effect: Effect, ledger: Ledger) -> None:
    outside, there = state.outside, cast_of(stage).destination
    count, known = outside.there(effect.id), oracle.standing(effect, ledger)
    demand("one-object", count <= 1, effect.id, "came about", count, "times")
    if effect.state == "PRESENT":
        demand("present-is-there", count == 1, effect.id, "is PRESENT, objects:", count)
    if known == "ABSENT":
        coming = [
            r.attempt
            for r in outside.requests
            if r.effect == effect.id and may_come(outside, r, there, state.now)
        ]
        sure = not count and not coming
        demand("absence-is-certain", sure, effect.id, "is ABSENT, objects", count, coming)
    look = outside.look
    current = look is not None and (look.effect, look.version) == (effect.id, effect.version)
    if current and there.fence:
        asked = outside.asked > effect.fence
        demand("fence-passed-on", asked, "a look-up asked for", outside.asked)


def _item(
    demand: Demand,
    stage: Stage,
    state: State,
    item: Item,
    items: dict[str, Item],
    ledger: Ledger,
) -> None:
    intent = stage.get(state, "intent", item.id)
    assert isinstance(intent, Intent)
    if not intent.follows:
        message = submission(cast_of(stage), item.number, BEGIN).envelope  # type: ignore[attr-defined]  # a SubmitIntent
        said = replace(intent.envelope, cancellation_state=message.cancellation_state)
        demand("message-stands", said == message, item.id, "holds", intent.envelope)
    status, hold = str(item.status), item.hold
    if hold is not None:
        kind, _, what = hold.trigger.partition(":")
        whole = hold.owner in ("admission", "retry") and hold.identity and what
        demand("hold-wakes", whole and kind in oracle.TRIGGERS, item.id, "is held for", hold)
    effect = stage.get(state, "effect", intent.envelope.effect_id)
    if not isinstance(effect, Effect) or effect.item != item.id:
        _follower(demand, item, items, effect, stage, state, ledger)
        return
    known = oracle.standing(effect, ledger)
    if known in oracle.OPEN and effect.epoch == ledger.epoch:
        waits = status in ("leased", "held", "triaged") or (item.terminal and status != "closed")
        demand("open-effect-waits", waits, item.id, status, "while its effect is", known)
    count = state.outside.there(effect.id)
    if status in ("shipped", "verified"):
        demand("present-is-there", count == 1, item.id, status, "objects:", count)
    if status == "closed" and item.outcome != "coalesced" and effect.epoch == ledger.epoch:
        there = cast_of(stage).destination
        coming = [
            r
            for r in state.outside.requests
            if r.effect == effect.id and may_come(state.outside, r, there, state.now)
        ]
        free = not count and not coming
        demand("closed-without-effect", free, item.id, item.outcome, "objects:", count, coming)


def _follower(
    demand: Demand,
    item: Item,
    items: dict[str, Item],
    effect: object,
    stage: Stage,
    state: State,
    ledger: Ledger,
) -> None:
    """What was coalesced goes on when its survivor ended without their effect."""
    if item.outcome != "coalesced" or item.successor not in items:
        return
    survivor = items[item.successor]
    there = isinstance(effect, Effect) and effect.state == "PRESENT"
    lost = survivor.status == "closed" and survivor.outcome != "coalesced" and not there
    if not lost or ledger.unsettled:
        return
    following = [stage.get(state, "intent", name) for name in items]
    named = [i.follows for i in following if isinstance(i, Intent)]
    demand("followers-go-on", item.id in named, item.id, "followed", survivor.id)


def _debits(demand: Demand, stage: Stage, state: State) -> None:
    """As many were debited as were admitted on an observation, counted by the search itself."""
    for name, count in state.books.items():
        kind, _, seen = name.partition("/")
        if kind == "admits":
            kept = stage.get(state, "debit", seen) or 0
            demand("one-observation-no-herd", kept == count, seen, "admitted", count, "debit", kept)


def _money(demand: Demand, stage: Stage, state: State, items: dict[str, Item]) -> None:
    """Spend is what the search added up for itself, and no more than is allowed but by an overrun."""
    found = stage.get(state, "spend", "ledger")
    used = found if isinstance(found, Spend) else NO_SPEND
    settled = sum(n for name, n in state.books.items() if name.startswith("charge/"))
    reserved = 0
    for item in items.values():
        if item.lease is not None:
            charge = stage.get(state, "charge", charge_of(item.id, item.lease.fence))
            before = charge if isinstance(charge, int) else 0
            reserved += max(0, item.lease.spend_micros - before)
    fits = (used.settled, used.reserved) == (settled, reserved)
    demand("spend-as-recounted", fits, used, "settled", settled, "reserved", reserved)
    if not state.books.get("overrun"):
        total = settled + reserved
        demand("within-limits", total <= cast_of(stage).spend, "spend", total)
