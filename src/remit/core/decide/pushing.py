"""What a look-up of a push makes of its item, and what a new epoch does.

The observation is an event of the effect, as for every other. The item stays ``approved``: only main
ships it. It is put aside where main contradicts what was pushed, and where nothing can ever say what
became of it; a record that only waited for the look-up is settled by it (T11 to approved, which has
its approval on the ledger, or T12 where the work was cancelled meanwhile).
"""

from __future__ import annotations

from typing import Final

from remit.core import commands as c
from remit.core import effect_commands as ec
from remit.core import effect_events as v
from remit.core import item_events as e
from remit.core.checks import Check, Result
from remit.core.claims import EPOCH_CHANGED, effect_named, note_epoch, note_uncertain
from remit.core.decide.asking import bad
from remit.core.decide.closing import finish
from remit.core.decide.repeating import repeat_until
from remit.core.effect_facts import OPEN_EFFECT, Effect, EffectState
from remit.core.effect_states import own_effect, suspect
from remit.core.facts import Item, Push, Triage
from remit.core.pushes import REQUEST, push_destination, push_record, settle_push
from remit.core.reconcile import NO_BOUND, NONE, REQUEST_MAY_ARRIVE, Seen
from remit.core.refusals import Refused
from remit.core.status import Outcome, Status
from remit.core.triage import RECONCILED, TriageKind, put_aside
from remit.core.triage_records import Evidence, effect_mismatch, effect_uncertain
from remit.core.view import Draft

_WAITING: Final = frozenset((TriageKind.CANCELLED_IN_FLIGHT, TriageKind.EFFECT_UNCERTAIN))
"""Records that only wait for a look-up; all others want somebody's decision."""


def push_of(item: Item, effect: str) -> Push | None:
    """The push or pull request of an item's present round of work that this effect stands for."""
    work = item.work
    named = (work.push, work.request) if work is not None else ()
    return next((push for push in named if push is not None and push.effect == effect), None)


def observed(draft: Draft, item: Item, effect: Effect, cmd: ec.ObserveEffect) -> Refused | None:
    """Write a look-up of a push down, with what follows for its item."""
    push = push_of(item, effect.id)
    if push is None:
        return bad("effect", effect.id, f"the push of {item.id}, which has gone on since")
    if cmd.replayed and (push.way != REQUEST or not effect.repeating):
        return bad("repetition", effect.id, "a request that was written down; no push is repeated")
    note_epoch(draft, effect.id)
    effect = effect_named(draft, effect.id) or effect
    seen = Seen(
        f"OBS-{draft.counter('observation') + 1}",
        push_record(push),
        cmd.result,
        cmd.looked_at,
        cmd.objects,
        cmd.values,
        cmd.differences,
        cmd.consistent,
        cmd.confirmed_fence,
        cmd.replayed,
    )
    state, why, basis, until, checks = settle_push(effect, push, seen)
    again = until + 1 if until is not None and why == REQUEST_MAY_ARRIVE else 0
    event = v.EffectObserved(
        seen.id, seen.record, seen.result, seen.objects, seen.values, seen.differences, state, basis,
        seen.confirmed_fence, seen.looked_at, seen.replayed, again, checks,
        repeat_until(draft, push_destination(push)) if seen.replayed else 0,
    )  # fmt: skip
    draft.emit("effect", effect.id, event)
    _act(draft, item, effect_named(draft, effect.id) or effect, checks, why, seen)
    return None


def _act(
    draft: Draft, item: Item, effect: Effect, checks: tuple[Check, ...], why: str, seen: Seen
) -> None:
    kinds = _kinds(draft, item)
    if effect.state is EffectState.CONTRADICTED:
        if not item.terminal and TriageKind.EFFECT_MISMATCH not in kinds:
            failed = [f"{k.check}: {k.observed}" for k in checks if k.result is Result.FAIL]
            found = effect_mismatch(
                effect=effect.id,
                observation=seen.id,
                why=why,
                record=seen.record,
                difference=failed,
            )
            put_aside(draft, item, found)
    elif effect.state is EffectState.UNCERTAIN:
        stuck = why == NO_BOUND and not _repeatable(item, effect)
        stuck = stuck or (seen.replayed and effect.arrives_until is None)
        if item.status is Status.APPROVED and seen.result == NONE and stuck:
            found = _uncertain(effect, why, seen)
            put_aside(draft, item, found, reason="it may land yet, and nothing says until when")
    elif item.status is Status.TRIAGED and kinds <= _WAITING and not why:
        _settled(draft, item, effect.state, kinds, seen)


def _repeatable(item: Item, effect: Effect) -> bool:
    """Whether the host makes no second request of the same, so that asking again settles it."""
    push = push_of(item, effect.id)
    return push is not None and push.way == REQUEST and push.markers


def _uncertain(effect: Effect, why: str, seen: Seen | None) -> Evidence:
    return effect_uncertain(
        effect=effect.id,
        state=EffectState.UNCERTAIN,
        why=why,
        record=seen.record if seen is not None else "",
        observation=seen.id if seen is not None else "",
        looks=effect.looks,
        seq=effect.intended_seq or None,
    )


def _settled(draft: Draft, item: Item, state: EffectState, kinds: set[str], seen: Seen) -> None:
    """A record that only waited is over: absent and cancelled closes, all else is approved again."""
    cancelled = TriageKind.CANCELLED_IN_FLIGHT in kinds
    if state is EffectState.ABSENT and cancelled:
        finish(draft, item, Outcome.CANCELLED, c.Text(f"absent by {seen.id}"))
        return
    if item.triaged_from is not Status.APPROVED:
        return
    for record in item.triage:
        last = record == item.triage[-1]
        event = e.TriageResolved(
            "T11" if last else "",
            Status.TRIAGED,
            Status.APPROVED if last else Status.TRIAGED,
            record,
            RECONCILED,
            "an authoritative look-up settled it",
            "",
            "",
            0,
        )
        draft.emit("item", item.id, event)


def _kinds(draft: Draft, item: Item) -> set[str]:
    records = [draft.get("triage", name) for name in item.triage]
    return {record.kind for record in records if isinstance(record, Triage)}


def carry_push(draft: Draft, item: Item) -> None:
    """T10 of approved work that a new epoch caught with its push open (CONTRACT 14)."""
    effect = own_effect(draft.get, item)
    if effect is None or item.status is not Status.APPROVED:
        return
    if effect.state not in OPEN_EFFECT or not suspect(effect, draft.ledger.epoch):
        return
    note_uncertain(draft, effect, EPOCH_CHANGED)
    found = _uncertain(effect, EPOCH_CHANGED, None)
    put_aside(draft, item, found, reason="its push was open when the ledger was adopted")
