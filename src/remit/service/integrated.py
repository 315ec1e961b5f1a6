"""What came of an integration, told from the ledger, whoever did it and when.

An integration ends in one of a few ways, and each of them stands on the ledger. So a call that is asked
again, or that another process ended, tells the same as the first one would have told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from remit.core.effect_facts import Effect, EffectState
from remit.core.events import Event
from remit.core.facts import Item
from remit.core.gitfacts import Way
from remit.core.item_events import IntegrationTested, ItemTriaged, RowResultRecord, ShipObserved
from remit.core.refusals import Code, Refused
from remit.core.triage import TriageKind
from remit.service.answered import recorded_under
from remit.service.delivery import load_exact
from remit.service.engine import Done
from remit.service.operations import Operations
from remit.service.pushing import Pushes, Standing

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Integrated:
    """What came of an integration.

    ``outcome`` is ``shipped`` (main was seen with it), ``pushed`` (the same, not yet marked) or
    ``triaged`` (``triage`` says as what, and nothing was pushed but where it is ``effect-mismatch``).
    ``commit`` is what was pushed, or would have been; ``main_after`` what main named when it was
    looked at last. ``results`` are those of the rows on exactly ``commit``.
    """

    item: str
    outcome: str
    way: str
    commit: str
    main_before: str
    main_after: str
    effect: str
    state: str
    results: tuple[RowResultRecord, ...] = ()
    triage: str = ""
    detail: str = ""
    answer: Done | None = None


def next_try(effect: Effect | None) -> int:
    """The number of the next try of a push, which the ids of its commands carry.

    It counts all that is known of the effect and not its intents alone: on an adopted ledger a first
    try only leads to a look-up, and what follows must not be answered with that try again.
    """
    return effect.version + 1 if effect is not None else 1


def answered_before(
    operations: Operations, pushes: Pushes, item: Item, command_id: str
) -> Integrated | Refused | None:
    """What this command id came to before, where it came to an end."""
    if not command_id:
        return None
    with pushes.operations.store.read() as tx:
        work = item.work
        named = (work.push, work.request) if work is not None else ()
        keys = [("effect", push.effect) for push in named if push is not None]
        known = [next_try(f) for f in tx.load(keys).values() if isinstance(f, Effect)]
    for name in (command_id, *(f"{command_id}/{number}" for number in known or [1])):
        events = recorded_under(operations, name)
        if not events:
            continue
        if all(r.stream != item.id for r in events):
            return Refused(
                Code.COMMAND_ID_REUSED,
                f"the command id {name!r} was used for another command (seq {events[0].seq})",
                "use a new command id for a new command",
                {"command_id": name, "seq": events[0].seq},
            )
        done = Done(tuple(events), repeated=True)
        if event_of(done, ShipObserved) is not None:
            return reported(pushes, item.id, "shipped", done)
        if event_of(done, ItemTriaged) is not None:
            return triaged(item, done)
    return None


def triaged(item: Item, done: Done) -> Integrated:
    """Work that was put aside instead of pushed, with what was tested of it."""
    tested, record = event_of(done, IntegrationTested), event_of(done, ItemTriaged)
    kind = record.triage_kind if record is not None else ""
    detail = ", ".join(record.evidence) if record is not None else ""
    if tested is None:
        return Integrated(
            item.id, "triaged", "", "", "", "", "", "", triage=kind, detail=detail, answer=done
        )
    return Integrated(
        item.id, "triaged", tested.way, tested.commit, tested.main_before, tested.main_before,
        "", "", tested.results, kind, detail, done,
    )  # fmt: skip


def reported(pushes: Pushes, name: str, outcome: str, done: Done | None) -> Integrated:
    """What was tested and pushed, from the ledger, whoever did it."""
    ship = event_of(done, ShipObserved) if done is not None else None
    with pushes.operations.store.read() as tx:
        item = load_exact(tx, name)
        work = item.work if isinstance(item, Item) else None
        push = (work.request if pushes.requests else work.push) if work is not None else None
        tested = tx.at_seq([push.seq])[push.seq].event if push is not None else None
    stands = pushes.standing(name)
    main = stands.main if stands is not None else ""
    if push is None or not isinstance(tested, IntegrationTested):
        shipped = ship.observed_commit_sha if ship is not None else ""
        main = ship.main_sha if ship is not None else main
        return Integrated(name, outcome, Way.THERE.value, shipped, main, main, "", "", answer=done)
    return Integrated(
        name, outcome, push.way, push.commit, push.expected,
        ship.main_sha if ship is not None else main, push.effect,
        str(stands.state) if stands is not None else "", tested.results, answer=done,
    )  # fmt: skip


def unsettled(item: Item, stands: Standing, code: Code, said: str = "") -> Integrated | Refused:
    """Nobody knows yet what became of a push, or the remote contradicts it."""
    if stands.state is EffectState.CONTRADICTED:
        return Integrated(
            item.id, "triaged", "", stands.effect.id, "", stands.main, stands.effect.id,
            str(stands.state), triage=TriageKind.EFFECT_MISMATCH.value,
            detail=f"'remit triage list' shows what {stands.effect.id} met",
        )  # fmt: skip
    return Refused(
        code,
        f"cannot say what became of {stands.effect.id} of {item.id}: it is"
        f" {stands.state}, seen: {stands.result or 'nothing'}" + (f"; {said}" if said else ""),
        f"ask again: 'remit integrate {item.id}' or 'remit reconcile {stands.effect.id}';"
        " nothing is pushed before that is known",
        {
            "item": item.id,
            "effect": stands.effect.id,
            "state": str(stands.state),
            "look_at": stands.effect.look_at,
        },
    )


def event_of(done: Done | None, kind: type[E]) -> E | None:
    """The first event of a kind that an answer holds."""
    found = (r.event for r in (done.events if done is not None else ()))
    return next((event for event in found if isinstance(event, kind)), None)
