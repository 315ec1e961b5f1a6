"""What is tried in a state of a world of effect work, and what the outside does by itself.

Workers follow the ledger until they have intended; from then on they send, end and are seen to end
whenever they like. Look-ups are those of the real service: it says what is asked, the model answers,
and what was seen is written at any later moment. Observations, cancellations, redeliveries and
rechecks come at every moment. Leases are given on whole steps of time only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from remit.core import commands as c
from remit.core.effect_commands import ObserveEffect
from remit.core.effect_facts import Capacity, Effect, EffectState, Intent
from remit.core.facts import Item, Ledger
from remit.core.retrying import JITTER
from remit.proofs.effect_cast import CLASS, DIGEST, FRESH_MS, EffectCast, capacity, submission
from remit.proofs.outside import (
    Outside,
    Request,
    arrive,
    last_arrival,
    settled,
    under_way,
)
from remit.proofs.queries import ModelTx
from remit.proofs.world import HUMAN, NO_GHOST, T0, UNIT_US, Stage, State, Step
from remit.service import reconciling
from remit.service.reconciling import Question, Reconciler, Shown

BEGIN: Final = T0 + UNIT_US
RECONCILER: Final = "remit-reconciler"
WORKER: Final = "ann"
JITTERS: Final = (0, JITTER // 2, JITTER - 1)


def cast_of(stage: Stage) -> EffectCast:
    """The cast of a world of effect work."""
    cast = stage.world.effects
    assert cast is not None, "only worlds of effect work come here"
    return cast


def effects_of(stage: Stage, state: State) -> dict[str, Effect]:
    """Every effect that was claimed."""
    names = dict.fromkeys(wanted.effect for wanted in cast_of(stage).works)
    found = {name: stage.get(state, "effect", name) for name in names}
    return {name: fact for name, fact in found.items() if isinstance(fact, Effect)}


def effect_moves(stage: Stage, state: State) -> Iterator[Step]:
    """Every step that is tried in a state of a world of effect work."""
    if state.outside.adopting:
        yield Step(HUMAN, c.AdoptEpoch(0, "restored"))
        return
    items = stage.items(state)
    for item in items.values():
        yield from _work(stage, state, item)
        yield from _lease(stage, state, item)
    yield from _arrivals(stage, state, items)
    yield from _outside(stage, state)
    yield from _looks(stage, state)
    yield from _time(stage, state, items)


def _work(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    """What is asked of work that nobody holds: cancellation, rechecks, a human's decisions."""
    world, name = stage.world, item.id
    if world.has("cancel"):
        for asked in cast_of(stage).states:
            yield Step(HUMAN, c.CancelWork(name, asked))
    if world.has("recheck"):
        yield Step(HUMAN, c.Recheck(name))
    if world.has("carry"):
        yield Step("remit-queue", c.CarryEpoch(name))
    if world.has("triage"):
        for record in item.triage:
            for way in ("requeue", "reverify", "fail", "cancel"):
                yield Step(HUMAN, c.ResolveTriage(record, way, "so"))
            yield Step(WORKER, c.ResolveTriage(record, "requeue", "so"))
    if world.has("close"):
        yield Step(HUMAN, c.CloseItem(name, "failed", c.Text("because")))


def _lease(stage: Stage, state: State, item: Item) -> Iterator[Step]:
    world, lease, name = stage.world, item.lease, item.id
    if not world.has("lease"):
        return
    if not state.now % UNIT_US:
        yield Step(WORKER, c.GrantLease(name))
    if lease is not None:
        holder, fence = lease.actor, lease.fence
        yield from _held(stage, state, name, fence)
        yield Step("bob", c.IntendEffect(name, fence))
        yield Step(holder, c.ReleaseLease(name, fence, "back"))
        yield Step("remit-queue", c.ExpireLease(name))
        if world.has("triage"):
            yield Step(holder, c.FailWork(name, fence, "refusal", c.Text("no")))
        if cast_of(stage).spend:
            for spent in (1, 3):
                text, report = c.Text("so far"), c.ReportProgress
                yield Step(holder, report(name, fence, text, spent))
    ended = state.ghosts.get(name, NO_GHOST).fence
    if ended and (lease is None or lease.fence != ended):
        yield Step(WORKER, c.IntendEffect(name, ended))
        yield Step(WORKER, c.ReportEffect(name, ended, "200"))


def _held(stage: Stage, state: State, name: str, fence: int) -> Iterator[Step]:
    """What the holder does and says; the ledger refuses what does not fit."""
    cast = cast_of(stage)
    intent = stage.get(state, "intent", name)
    if isinstance(intent, Intent) and intent.envelope.replay_class == "PURE":
        yield Step(WORKER, c.ReportEffect(name, fence, "", DIGEST))
        return
    if not stage.world.has("intend"):
        return
    if cast.expiry:
        soon = state.now + UNIT_US
        yield Step(WORKER, c.IntendEffect(name, fence, request_expires_at=soon))
    else:
        yield Step(WORKER, c.IntendEffect(name, fence))
    yield Step(WORKER, c.ReportEffect(name, fence, "200"))
    if stage.world.has("say"):
        yield Step(WORKER, c.IntendEffect(name, fence, payload_digest="Z"))
        yield Step(WORKER, c.NoteSent(name, fence))
        yield Step(WORKER, c.NoteUncertain(name, fence, "TIMEOUT"))


def _arrivals(stage: Stage, state: State, items: dict[str, Item]) -> Iterator[Step]:
    """Messages, observations and triggers."""
    world, cast = stage.world, cast_of(stage)
    if world.has("submit"):
        if len(items) < min(world.items, len(cast.works)):
            yield Step(HUMAN, submission(cast, len(items) + 1, BEGIN))
        if items:
            yield Step(HUMAN, submission(cast, 1, BEGIN))
            yield Step(HUMAN, submission(cast, 1, BEGIN, changed=True))
    for kind in cast.capacity:
        yield Step(HUMAN, capacity(kind, state.now))
    if world.has("recheck"):
        yield Step("remit-admission", c.RecheckHolds())
        triggers = {i.hold.trigger for i in items.values() if i.hold is not None}
        ledger = stage.get(state, "ledger", "ledger")
        assert isinstance(ledger, Ledger)
        triggers |= {due.trigger for due in ledger.rechecks}
        for trigger in sorted(triggers):
            yield Step("remit-admission", c.RecheckHolds(trigger, 1))
    if world.has("adopt"):
        ledger = stage.get(state, "ledger", "ledger")
        if isinstance(ledger, Ledger) and not ledger.epoch:
            yield Step(HUMAN, c.AdoptEpoch(0, "copied"))


def _outside(stage: Stage, state: State) -> Iterator[Step]:
    there = cast_of(stage).destination
    for request in state.outside.requests:
        if not request.sent_at and not request.ended_at:
            yield Step(outside=("send", request.attempt))
        if not request.ended_at:
            yield Step(outside=("end", request.attempt))
        else:
            seen = c.NoteTermination(request.effect, request.attempt, "exit", request.ended_at)
            yield Step(RECONCILER, seen)
        if under_way(request, there, state.now):
            yield Step(outside=("arrive", request.attempt))
    if stage.world.has("strange") and not state.outside.strange:
        for effect in effects_of(stage, state):
            yield Step(outside=("strange", effect))
    if stage.world.has("restore") and not state.outside.restored:
        yield Step(outside=("restore",))


def _looks(stage: Stage, state: State) -> Iterator[Step]:
    """A look-up begins, or what one has seen is written: by the reconciler, or by whom may not."""
    if not stage.world.has("look"):
        return
    look = state.outside.look
    if look is not None:
        jitters = JITTERS if look.result == "NONE" else JITTERS[:1]
        for jitter in jitters:
            yield Step(RECONCILER, replace(look, jitter=jitter))
        yield Step(WORKER, look)
        yield Step(outside=("forget",))
        return
    items = stage.items(state)
    for name, effect in effects_of(stage, state).items():
        over = effect.state == "PRESENT" and items[effect.item].terminal
        if (effect.intents or effect.epoch) and not over:
            for mode in cast_of(stage).modes:
                yield Step(outside=("look", name, mode))


def _time(stage: Stage, state: State, items: dict[str, Item]) -> Iterator[Step]:
    """Time goes on while anything lies ahead; also to the instant just after one that ends something."""
    off = state.now % UNIT_US
    if off:
        yield Step(after_us=UNIT_US - off)
        return
    until, after = _until(stage, state, items), _after(stage, state)
    if all(at < state.now for at in (*until, *after)):
        return
    yield Step(after_us=UNIT_US)
    if state.now in after:
        yield Step(after_us=1)
    if state.now + UNIT_US in until:
        yield Step(after_us=UNIT_US - 1)


def _until(stage: Stage, state: State, items: dict[str, Item]) -> list[int]:
    """Moments at which something is over: leases, holds and lifetimes."""
    found = []
    for item in items.values():
        intent = stage.get(state, "intent", item.id)
        if item.terminal or not isinstance(intent, Intent):
            continue
        found += [item.lease.expires_at] if item.lease is not None else []
        found += [item.hold.at] if item.hold is not None else []
        found += [intent.envelope.deadline or 0, intent.envelope.not_before or 0]
    return found


def _after(stage: Stage, state: State) -> list[int]:
    """Moments just after which something is over: evidence that is fresh, and what may arrive."""
    there, found = cast_of(stage).destination, []
    for effect in effects_of(stage, state).values():
        if effect.state in (EffectState.INTENDED, EffectState.UNCERTAIN):
            found += [effect.arrives_until or 0, effect.look_at]
    for request in state.outside.requests:
        if under_way(request, there, state.now):
            found.append(last_arrival(request, there) or 0)
        if not request.gone:
            found.append(request.expires_at or 0)
    name = stage.get(state, "current", f"capacity/{CLASS}")
    seen = stage.get(state, "capacity", name) if isinstance(name, str) else None
    if isinstance(seen, Capacity):
        found.append(seen.observed_at + FRESH_MS * 1_000)
    return found


# The outside by itself.


def outside_after(stage: Stage, state: State, what: tuple[str, ...]) -> State:
    """The state after something happened outside the ledger; nothing on the ledger changes."""
    outside, now, there = state.outside, state.now, cast_of(stage).destination
    request = outside.of(what[1]) if len(what) > 1 else None
    match what[0], request:
        case "send", Request():
            outside = outside.change(request, replace(request, sent_at=now))
        case "end", Request():
            over = replace(request, ended_at=now, gone=request.gone or not request.sent_at)
            outside = outside.change(request, over)
        case "arrive", Request():
            outside = arrive(outside, request, there, now)
        case "strange", _:
            outside = replace(outside, strange=frozenset((what[1],)))
        case "look", _:
            outside = _look(stage, state, what[1], what[2])
        case "forget", _:
            outside = replace(outside, look=None)
        case "restore", _:
            return _restored(stage, state)
        case _:
            raise ValueError(f"nothing outside does {what}")
    return replace(state, outside=settled(outside, there, now))


def _restored(stage: Stage, state: State) -> State:
    """The backup from the world's beginning is put back, and all workers are stopped."""
    requests = tuple(
        replace(r, ended_at=r.ended_at or state.now, gone=r.gone or not r.sent_at)
        for r in state.outside.requests
    )
    outside = replace(state.outside, requests=requests, look=None, adopting=True, restored=1)
    first = stage.first
    return replace(
        first, facts={}, ghosts={}, locals={}, now=state.now, outside=outside, books={},
        highest=state.highest,
    )  # fmt: skip


def _look(stage: Stage, state: State, name: str, mode: str) -> Outside:
    """The service looks an effect up; what it will write is kept until it is written."""
    facts = {k: f for k, f in {**stage.base, **state.facts}.items() if f is not None}
    tx = ModelTx(facts, state.seq, state.now)
    [task] = reconciling._tasks(tx, [name], state.now)  # type: ignore[arg-type]  # the part of ReadTx that it uses
    there, box = cast_of(stage).destination, [state.outside]

    def answer(question: Question) -> Shown:
        return _shown(box, there.fence, question, mode)

    service = object.__new__(Reconciler)  # the half that looks: it neither reads nor writes a store
    service.lookups, service.repeats, service.jitter = {there.name: answer}, {}, lambda: 0
    service.unread = {}
    command: ObserveEffect = service._look(task, "")
    return replace(box[0], look=command)


def _shown(box: list[Outside], fenced: bool, question: Question, mode: str) -> Shown:
    outside, name = replace(box[0], asked=question.fence), question.effect_id
    box[0] = outside
    if mode == "away":
        return Shown("UNAVAILABLE")
    confirmed = 0
    if fenced and question.fence and mode != "unconfirmed":
        confirmed = max(outside.floor(name), question.fence)
        floors = {**dict(outside.floors), name: confirmed}
        outside = box[0] = replace(outside, floors=tuple(sorted(floors.items())))
    count = outside.there(name) + (name in outside.strange)
    if not count or mode == "behind":
        return Shown("NONE", 0, consistent=mode != "behind", confirmed_fence=confirmed)
    digest = "STRANGE" if name in outside.strange else DIGEST
    values = (("effect_id", name), ("digest", digest))
    return Shown("FOUND", count, values, consistent=True, confirmed_fence=confirmed)


def noted(state: State, event: object, effect: str) -> Outside:
    """The outside after an intent was written: there is a worker that may send from here on."""
    made = Request(effect, event.attempt, event.fence, event.request_expires_at)  # type: ignore[attr-defined]  # an EffectIntended
    return replace(state.outside, requests=(*state.outside.requests, made))
