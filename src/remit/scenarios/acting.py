"""What each verb does: one canonical operation of the service, as its caller would call it.

``reconcile`` runs the real reconciler with a look-up that shows what the scenario says; everything
else hands a command in. A refusal is an answer, and is kept as one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core.decide.ledger import RECONCILER
from remit.core.effect_facts import Capacity, Comparison, Effect, Envelope
from remit.core.facts import Item, Lease
from remit.core.refusals import Code, Refused
from remit.scenarios.model import Step
from remit.scenarios.running import OPERATOR, Answer, World
from remit.service.adoption import adopt
from remit.service.engine import Done
from remit.service.operations import Caller, Operations, item_of, lease_of
from remit.service.reconciling import Question, Reconciler, Shown
from remit.service.submitting import intent_of
from remit.wiring import Ledger


def act(world: World, step: Step) -> Answer:
    """Take one step."""
    return ACTS[step.verb](world, step)


def _by(world: World, step: Step, default: str = OPERATOR) -> Operations:
    return world.ledger.acting(step.by or default)


def envelope(world: World, work: str) -> Envelope:
    """An intent with its moments worked out, and the owners that are given."""
    parts = dict(world.scenario.works[work].parts)
    for name in ("requested_at", "not_before", "deadline"):
        parts[name] = world.time(parts[name])
    parts["completion_test"] = tuple(Comparison(**one) for one in parts["completion_test"])
    given = world.scenario.given
    parts["admission_owner"] = parts["admission_owner"] or given.admission_owner
    parts["retry_owner"] = parts["retry_owner"] or given.retry_owner
    return Envelope(**parts)


def _hand_in(world: World, step: Step, *, decide: bool) -> Answer:
    work = step.args["work"]
    command = replace(intent_of(envelope(world, work)), decide=decide)
    answer: Answer = _by(world, step).submit(command)
    if isinstance(answer, Done) and answer.events:
        world.items.setdefault(work, item_of(answer))
    return answer


def _store(world: World, step: Step) -> Answer:
    return _hand_in(world, step, decide=False)


def _submit(world: World, step: Step) -> Answer:
    return _hand_in(world, step, decide=True)


def _redeliver(world: World, step: Step) -> Answer:
    """The same message as it was; or its id with the content of another work."""
    work, other = step.args["work"], step.args["with"]
    stored = world.story(work)
    if stored is None:
        return _no_item(work)
    again = stored.intent.envelope
    if other:
        again = replace(envelope(world, other), message_id=again.message_id)
    command = intent_of(again) if other else replace(intent_of(again), digest=stored.intent.digest)
    answer: Answer = _by(world, step).submit(command)
    return answer


def _no_item(work: str) -> Refused:
    return Refused(Code.NOT_FOUND, f"{work} is not on the ledger", "its message was refused before")


def _on_item(make: Callable[[str, Step], c.Command]) -> Callable[[World, Step], Answer]:
    """A verb that hands in one command on its work."""

    def run(world: World, step: Step) -> Answer:
        item = world.items.get(step.args["work"])
        if item is None:
            return _no_item(step.args["work"])
        answer: Answer = _by(world, step).run(make(item, step))
        return answer

    return run


def _observe(world: World, step: Step) -> Answer:
    parts = {**step.args, "observed_at": world.time(step.args["observed_at"])}
    command = k.ObserveCapacity(Capacity(version=0, seq=0, **parts), "scenario")
    answer: Answer = _by(world, step).observe_capacity(command)
    return answer


def _advance(world: World, step: Step) -> Answer:
    world.clock.advance(step.args["for"])
    return None


def _step_clock(world: World, step: Step) -> Answer:
    world.clock.step(step.args["for"])
    return None


def _worker(world: World, step: Step) -> str:
    """Who acts under a lease: whom the step names, or who got the work's last lease."""
    if step.by:
        return step.by
    held = [actor for work, actor in world.leases if work == step.args.get("work")]
    return held[-1] if held else "worker"


def _lease(world: World, step: Step) -> Answer:
    work, actor = step.args["work"], step.by or "worker"
    item = world.items.get(work, "")
    if work and not item:
        return _no_item(work)
    answer: Answer = world.ledger.acting(actor).lease(c.GrantLease(item, step.args["ttl"]))
    if isinstance(answer, Done):
        lease = lease_of(answer)
        names = {item: name for name, item in world.items.items()}
        key = (names.get(lease.item, work), actor)
        world.leases.pop(key, None)
        world.leases[key] = lease
    return answer


def _fenced(make: Callable[[World, str, int, Step], c.Command]) -> Callable[[World, Step], Answer]:
    """A verb under a lease: with the fence that its actor got last, or the one that it names."""

    def run(world: World, step: Step) -> Answer:
        item = world.items.get(step.args["work"])
        if item is None:
            return _no_item(step.args["work"])
        actor = _worker(world, step)
        lease = world.leases.get((step.args["work"], actor))
        fence = step.args["fence"] or (lease.fence if lease else 0)
        answer: Answer = world.ledger.acting(actor).run(make(world, item, fence, step))
        return answer

    return run


def _intend(world: World, item: str, fence: int, step: Step) -> c.Command:
    return k.IntendEffect(
        item, fence, step.args["payload_digest"], world.time(step.args["expires"])
    )


def _answer(world: World, step: Step) -> Answer:
    """A report; one that remit's own adapter made is ``seen``, as in the worker itself."""
    item = world.items.get(step.args["work"])
    if item is None:
        return _no_item(step.args["work"])
    actor = _worker(world, step)
    lease = world.leases.get((step.args["work"], actor))
    fence = step.args["fence"] or (lease.fence if lease else 0)
    result = step.args["result"]
    digest = hashlib.sha256(result.encode()).hexdigest() if result else ""
    command = k.ReportEffect(
        item,
        fence,
        step.args["response"],
        digest,
        c.Text(result) if result else c.NO_TEXT,
        step.args["authoritative"],
    )
    operations = world.ledger.acting(actor)
    if step.args["authoritative"]:
        return operations.observed([command], [""])[0]
    answer: Answer = operations.report_effect(command)
    return answer


def _item(world: World, work: str) -> Item | None:
    name = world.items.get(work)
    with world.ledger.reading() as tx:
        found = tx.load([("item", name)])["item", name] if name else None
    return found if isinstance(found, Item) else None


def _live(world: World, work: str) -> Lease | None:
    found = _item(world, work)
    return found.lease if found is not None else None


def _expire(world: World, step: Step) -> Answer:
    item, lease = world.items.get(step.args["work"]), _live(world, step.args["work"])
    if item is None:
        return _no_item(step.args["work"])
    if lease is not None:
        world.clock.advance(max(0, lease.expires_at - world.now))
    answer: Answer = _by(world, step).run(c.ExpireLease(item))
    return answer


def _reconciler(world: World) -> Operations:
    return Operations(world.ledger.store, Caller(RECONCILER), world.ledger.engine)


def _end_worker(world: World, step: Step) -> Answer:
    effect = _effect(world, step.args["work"])
    if effect is None:
        return _no_item(step.args["work"])
    seen = k.NoteTermination(
        effect.id, effect.attempt, step.args["evidence"], world.now - step.args["ago"]
    )
    return _reconciler(world).observed([seen], [""])[0]


def _effect(world: World, work: str) -> Effect | None:
    story = world.story(work)
    return story.effect if story is not None else None


def _reconcile(world: World, step: Step) -> Answer:
    """The real reconciler; the destination shows what the scenario says."""
    work = step.args["work"]
    story = world.story(work)
    if story is None:
        return _no_item(work)
    found = step.args["sees"] == "FOUND"
    objects = step.args["objects"]
    shown = Shown(
        step.args["sees"] or "UNAVAILABLE",
        1 if found and objects is None else objects,
        step.args["values"],
        step.args["differences"],
        step.args["consistent"],
        step.args["confirmed_fence"],
    )

    def look_up(question: Question) -> Shown:
        return shown

    registered = [document.command for document in world.scenario.documents]
    names = [d.destination.name for d in registered if isinstance(d, k.RegisterDestination)]
    reconciler = Reconciler(
        world.ledger.store,
        dict.fromkeys(names, look_up),
        lambda: int(step.args["jitter"]),
        operations=world.ledger.acting(OPERATOR),
    )
    return reconciler.one(story.envelope.effect_id, step.args["replacement"])


def _register(world: World, step: Step) -> Answer:
    document = next(d for d in world.scenario.documents if d.label == step.args["document"])
    answer: Answer = _by(world, step).run(document.command)
    return answer


def _recheck(world: World, step: Step) -> Answer:
    work = step.args["work"]
    command: c.Command = c.RecheckHolds(step.args["trigger"])
    if work:
        if work not in world.items:
            return _no_item(work)
        command = c.Recheck(world.items[work])
    answer: Answer = _by(world, step).recheck(command)
    return answer


def _finish(world: World, step: Step) -> Answer:
    """PURE work to its end: lease, result, and the look at what is stored."""
    blank = {"fence": 0, "response": "", "authoritative": False, "ttl": 0}
    args = {**blank, **step.args}
    answer: Answer = None
    for verb in ("lease", "answer", "reconcile"):
        if verb == "reconcile":
            args |= {
                "sees": "",
                "objects": None,
                "values": (),
                "differences": (),
                "consistent": True,
            }
            args |= {"confirmed_fence": 0, "replacement": "", "jitter": 0}
        answer = ACTS[verb](world, replace(step, verb=verb, args=args))
        if isinstance(answer, Refused):
            return answer
    return answer


def _compensate(world: World, step: Step) -> Answer:
    item, other = world.items.get(step.args["work"]), step.args["with"]
    if item is None:
        return _no_item(step.args["work"])
    given = envelope(world, other)
    before = world.head
    answer: Answer = _by(world, step).compensate(
        k.CompensateEffect(item, given, intent_of(given).digest)
    )
    if isinstance(answer, Done):
        made = [
            r.stream for r in world.events(before) if type(r.event).__name__ == "IntentReceived"
        ]
        world.items.setdefault(other, made[0])
    return answer


def _resolve(world: World, step: Step) -> Answer:
    item = _item(world, step.args["work"])
    record = item.triage[0] if item is not None and item.triage else "T-0"
    command = c.ResolveTriage(record, step.args["how"], step.args["reason"])
    answer: Answer = _by(world, step).resolve(command)
    return answer


def _adopt(world: World, step: Step) -> Answer:
    found = adopt(world.ledger.acting(OPERATOR), step.args["reason"])
    return found if isinstance(found, Refused) else None


def _restart(world: World, step: Step) -> Answer:
    """What a process knew is gone; the ledger is what is left."""
    world.ledger = Ledger(world.ledger.store)
    return None


def _kill_switch(world: World, step: Step) -> Answer:
    operations = _by(world, step)
    if step.args["state"] == "engage":
        answer: Answer = operations.engage_kill_switch("as the scenario says")
        return answer
    answer = operations.release_kill_switch("as the scenario says")
    return answer


ACTS: Final[dict[str, Callable[[World, Step], Answer]]] = {
    "store": _store,
    "decide": _on_item(lambda item, step: c.DecideIntent(item)),
    "submit": _submit,
    "redeliver": _redeliver,
    "observe": _observe,
    "advance": _advance,
    "step-clock": _step_clock,
    "lease": _lease,
    "renew": _fenced(lambda w, item, fence, step: c.RenewLease(item, fence, step.args["ttl"])),
    "release": _fenced(
        lambda w, item, fence, step: c.ReleaseLease(item, fence, step.args["reason"])
    ),
    "intend": _fenced(_intend),
    "send": _fenced(
        lambda w, item, fence, step: k.NoteSent(item, fence, step.args["payload_digest"])
    ),
    "lose": _fenced(lambda w, item, fence, step: k.NoteUncertain(item, fence, step.args["reason"])),
    "answer": _answer,
    "expire": _expire,
    "end-worker": _end_worker,
    "reconcile": _reconcile,
    "cancel": _on_item(lambda item, step: c.CancelWork(item, step.args["state"])),
    "register": _register,
    "recheck": _recheck,
    "finish": _finish,
    "compensate": _compensate,
    "resolve": _resolve,
    "adopt": _adopt,
    "restart": _restart,
    "kill-switch": _kill_switch,
}
