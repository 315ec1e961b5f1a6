"""What a look-up of a push makes of its item, and what a new epoch does.

The observation is an event of the effect, as for every other. The item stays ``approved``: only main
ships it. It is put aside where main contradicts what was pushed, and where nothing can ever say what
became of it; a record that only waited for the look-up is settled by it (T11 to approved, which has
its approval on the ledger, or T12 where the work was cancelled meanwhile).
"""

from __future__ import annotations

from typing import Final

from remit.core import commands as c
from remit.core import effect_commands as k
from remit.core import effect_events as v
from remit.core import item_events as e
from remit.core.claims import effect_named, note_epoch, note_uncertain
from remit.core.decide.asking import bad
from remit.core.decide.closing import finish
from remit.core.effect_facts import OPEN_EFFECT, Effect, EffectState
from remit.core.effect_states import suspect
from remit.core.facts import Item, Push, Triage
from remit.core.pushes import push_record, settle_push
from remit.core.reconcile import NO_BOUND, NONE, REQUEST_MAY_ARRIVE, Seen
from remit.core.refusals import Refused
from remit.core.status import Outcome, Status
from remit.core.triage import RECONCILED, TriageKind, put_aside
from remit.core.view import Draft

_WAITING: Final = frozenset((TriageKind.CANCELLED_IN_FLIGHT, TriageKind.EFFECT_UNCERTAIN))
"""Records that only wait for a look-up; all others want somebody's decision."""


def push_of(item: Item) -> Push | None:
    """The newest push of an item's present round of work."""
    return item.work.push if item.work is not None else None


def observed(draft: Draft, item: Item, effect: Effect, cmd: k.ObserveEffect) -> Refused | None:
    """Write a look-up of a push down, with what follows for its item."""
    push = push_of(item)
    if push is None or push.effect != effect.id:
        return bad("effect", effect.id, f"the push of {item.id}, which has gone on since")
    if cmd.replayed:
        return bad("repetition", effect.id, "a look-up: no push is ever repeated")
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
    )
    state, why, basis, until, checks = settle_push(effect, push, seen)
    again = until + 1 if until is not None and why == REQUEST_MAY_ARRIVE else 0
    event = v.EffectObserved(
        seen.id, seen.record, seen.result, seen.objects, seen.values, seen.differences, state, basis,
        seen.confirmed_fence, seen.looked_at, False, again, checks,
    )  # fmt: skip
    draft.emit("effect", effect.id, event)
    evidence = (f"effect:{effect.id}", f"commit:{push.commit}", f"observation:{seen.id}")
    _act(draft, item, state, (*evidence, *([f"why:{why}"] if why else [])), why, seen)
    return None


def _act(
    draft: Draft, item: Item, state: EffectState, evidence: tuple[str, ...], why: str, seen: Seen
) -> None:
    kinds = _kinds(draft, item)
    if state is EffectState.CONTRADICTED:
        if item.status in (Status.APPROVED, Status.TRIAGED) and (
            TriageKind.EFFECT_MISMATCH not in kinds
        ):
            put_aside(draft, item, TriageKind.EFFECT_MISMATCH, evidence=evidence)
    elif state is EffectState.UNCERTAIN:
        if item.status is Status.APPROVED and seen.result == NONE and why == NO_BOUND:
            reason = "it may land yet, and nothing says until when"
            put_aside(draft, item, TriageKind.EFFECT_UNCERTAIN, evidence=evidence, reason=reason)
    elif item.status is Status.TRIAGED and kinds <= _WAITING and not why:
        _settled(draft, item, state, kinds, seen)


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
    push = push_of(item)
    effect = effect_named(draft, push.effect) if push is not None else None
    if push is None or effect is None or item.status is not Status.APPROVED:
        return
    if effect.state not in OPEN_EFFECT or not suspect(effect, draft.ledger.epoch):
        return
    note_uncertain(draft, effect, "EPOCH_CHANGED")
    put_aside(
        draft,
        item,
        TriageKind.EFFECT_UNCERTAIN,
        evidence=(f"effect:{effect.id}", f"commit:{push.commit}", f"seq:{effect.intended_seq}"),
        reason="its push was open when the ledger was adopted",
    )
