"""Admission of effect work: the evidence for a verdict is gathered here, and the verdict written.

``assess`` in ``core/verdict.py`` decides; this module finds what it decides on and says what came of
it in one ``AdmissionDecided``, with the move that it leads to. Nothing is written where verdict,
reason, trigger and time trigger are what they were. Work that is ready stays so when its capacity
evidence grows old: it was admitted, and only a dependency that is unmet again takes that back, or an
effect of which an adopted ledger knows nothing.

An effect belongs to one work at a time. Work that is admitted or held claims its effect; another
one that names it is coalesced, held or rejected, and may claim it once it is free (row 3).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from remit.core import services
from remit.core.authorizing import authorized, register_key
from remit.core.change import changed
from remit.core.checks import Check, Result
from remit.core.claims import claim
from remit.core.deadlock import TooFar
from remit.core.dependencies import unmet_edges
from remit.core.effect_events import AdmissionDecided, IntentValidated
from remit.core.effect_facts import (
    AdmissionPolicy,
    Capacity,
    Effect,
    EffectState,
    Intent,
    ReplayClass,
    Validation,
)
from remit.core.effect_states import standing as effect_standing
from remit.core.envelope import faults_of
from remit.core.facts import Hold, Item, Key
from remit.core.lanes import rank_of
from remit.core.status import Status
from remit.core.succession import waits_on_itself
from remit.core.verdict import Evidence, Finding, Rival, Verdict, assess
from remit.core.view import UNCOUNTED, Draft, Missing

ADMISSION: Final = services.ADMISSION
"""The built-in service that owns verdicts."""

RETRY: Final = "remit-retry"
"""Who owns a retry where neither the intent nor the policy names somebody."""

QUEUED: Final = (Status.DRAFT, Status.HELD, Status.READY)


def want(draft: Draft, keys: Iterable[Key]) -> None:
    """Ask for all facts that are not loaded at once, instead of one a round."""
    facts, delta = draft.view.facts, draft.delta
    lacking = [
        key
        for key in dict.fromkeys(keys)
        if key not in facts and key not in delta and key[0] not in UNCOUNTED
    ]
    if lacking:
        raise Missing(*lacking)


@lru_cache(maxsize=256)
def policy_keys(work_class: str) -> tuple[Key, ...]:
    """The pointers that lead to the policy of a class, the nearest first."""
    return (("current", f"policy/{work_class}"), ("current", "policy/*"), ("current", "policy"))


def policy_for(draft: Draft, work_class: str) -> AdmissionPolicy | None:
    """The policy in force for a class: its own, that of all others, or the newest of any.

    The last one does not list the class, and so forbids it. None where no policy is registered.
    """
    keys = policy_keys(work_class)
    try:
        for kind, name in keys:
            label = draft.get(kind, name)
            if isinstance(label, str):
                policy = draft.get("policy", label)
                return policy if isinstance(policy, AdmissionPolicy) else None
    except Missing:
        want(draft, keys)  # all of them at once, before what the first leads to
        raise
    return None


def in_force(draft: Draft, item: Item) -> AdmissionPolicy:
    """The policy of work that was stored; there was one then, and none is ever taken back."""
    policy = policy_for(draft, item.work_class)
    if policy is None:
        raise AssertionError(f"{item.id} was stored under no policy")
    return policy


def rules_of(draft: Draft, policy: AdmissionPolicy) -> Validation:
    """The validation rules that a policy names; it could not be registered without them."""
    rules = draft.get("validation", policy.validation)
    assert isinstance(rules, Validation), f"policy {policy.label} names no validation rules"
    return rules


def intent_of(draft: Draft, item: Item) -> Intent:
    """The intent of effect work."""
    intent = draft.get("intent", item.id)
    assert isinstance(intent, Intent), f"{item.id} has no intent"
    return intent


def validate(draft: Draft, item: Item, size: int = 0) -> None:
    """VALID, or not: check a stored envelope under the rules in force, and record every fault."""
    intent = intent_of(draft, item)
    policy = in_force(draft, item)
    rules = rules_of(draft, policy)
    envelope = intent.envelope
    outside = envelope.replay_class != ReplayClass.PURE
    also = ("destination",) if outside and "destination" in policy.rows else ()
    shape = {fault.path: fault for fault in intent.faults}
    found = faults_of(envelope, rules, size, also)
    faults = (*shape.values(), *(f for f in found if f.path not in shape))
    result = Result.FAIL if faults else Result.PASS
    reason = "INVALID_ENVELOPE" if faults else ""
    check = Check("envelope", result, str(len(faults)), "0", f"validation:{rules.label}", reason)
    event = IntentValidated(result, rules.label, envelope.candidate_revision, faults, (check,))
    draft.emit("item", item.id, event, ADMISSION)


# Evidence.


def evidence_keys(item: Item, intent: Intent) -> list[Key]:
    """What a verdict on this work surely reads beside its policy."""
    envelope, work_class = intent.envelope, item.work_class
    keys: list[Key] = [
        ("current", f"capacity/{work_class}"),
        ("load", f"stored/{work_class}"),
    ]
    if envelope.effect_id:
        keys.append(("effect", envelope.effect_id))
    if envelope.destination:
        keys.append(("current", f"destination/{envelope.destination}"))
    if envelope.effect_id and envelope.replay_class == ReplayClass.IRREVERSIBLE:
        keys.append(register_key(envelope))
    return keys


def gather(draft: Draft, item: Item, intent: Intent, *, eligible: bool) -> Evidence:
    """Everything that a verdict on this work rests on, as things stand."""
    envelope = intent.envelope
    want(draft, evidence_keys(item, intent))
    effect = draft.get("effect", envelope.effect_id) if envelope.effect_id else None
    own = effect if isinstance(effect, Effect) and effect.item == item.id else None
    rival = _rival(draft, item, intent, effect) if effect is not own else None
    seen, admitted = _observed(draft, item.work_class)
    decision, undecided = authorized(draft, intent, in_force(draft, item))
    return Evidence(
        work_class=item.work_class,
        stored_seq=intent.stored_seq,
        stored=draft.load(f"stored/{item.work_class}"),
        validated_seq=intent.validated_seq,
        faults=len(intent.faults),
        own=_own_state(draft, intent, effect, own, rival),
        own_seq=(own.observed_seq or own.intended_seq) if own else 0,
        intents=effect.intents if isinstance(effect, Effect) else 0,
        rival=rival,
        cancellation_seq=intent.cancellation_seq,
        unmet=tuple(d.via for d in unmet_edges(item)),
        destination=_label(draft, f"destination/{envelope.destination}")
        if envelope.destination
        else "",
        authorized_by=intent.authorized_by if draft.policy.accept_unproved else "",
        seen=seen,
        admitted=admitted,
        retry_at=intent.retry_at,
        eligible=eligible,
        decision=decision,
        undecided=undecided,
    )


def _own_state(
    draft: Draft, intent: Intent, effect: object, own: Effect | None, rival: Rival | None
) -> EffectState:
    """What is known of the work's own effect; on an adopted ledger a new one may have been sent.

    One that this work would take over from closed work counts as its own.
    """
    epoch = draft.ledger.epoch
    if own is not None:
        return effect_standing(own, epoch)
    lost = effect is None
    if isinstance(effect, Effect) and rival is not None:
        gone = rival.state in (EffectState.NOT_STARTED, EffectState.ABSENT)
        lost = rival.standing == "closed" and gone and effect.epoch < epoch
    outside = intent.envelope.replay_class != ReplayClass.PURE
    return EffectState.UNCERTAIN if lost and outside and epoch else EffectState.NOT_STARTED


def _label(draft: Draft, pointer: str) -> str:
    label = draft.get("current", pointer)
    return label if isinstance(label, str) else ""


def _observed(draft: Draft, work_class: str) -> tuple[Capacity | None, int]:
    """The newest observation of a class, and how many were admitted on it."""
    name = _label(draft, f"capacity/{work_class}")
    if not name:
        return None, 0
    want(draft, (("capacity", name), ("debit", name)))
    seen, admitted = draft.get("capacity", name), draft.get("debit", name)
    assert isinstance(seen, Capacity), f"there is no observation {name}"
    return seen, admitted if isinstance(admitted, int) else 0


def _rival(draft: Draft, item: Item, intent: Intent, effect: object) -> Rival | None:
    """The other work that the effect belongs to."""
    if not isinstance(effect, Effect):
        return None
    other = draft.item(effect.item)
    if other is None:
        raise AssertionError(f"effect {effect.id} belongs to no item")
    state = effect_standing(effect, draft.ledger.epoch)
    if other.status in (Status.SHIPPED, Status.VERIFIED) or state is EffectState.PRESENT:
        standing = "completed"
    else:
        standing = "closed" if other.terminal else "live"
    waits = standing == "live" and _waits(draft, other, item)
    return Rival(other.id, standing, state, effect.operation, effect.payload_digest, waits)


def _waits(draft: Draft, other: Item, item: Item) -> bool:
    """Whether the other would wait for itself, if it stood for this one."""
    if draft.view.facts.get(("item", item.id)) is None and not other.dependencies:
        return False
    try:
        return bool(waits_on_itself(draft, item, other))
    except TooFar:
        return True  # what cannot be said is not coalesced


# Verdicts.


def look(draft: Draft, item: Item, *, eligible: bool = False) -> Finding:
    """What admission says of effect work, as things stand; writes nothing."""
    intent = intent_of(draft, item)
    policy = in_force(draft, item)
    if _lapsed(draft, item) and "deadline" not in policy.rows:
        # At the lease a deadline counts whatever the policy asks for at admission (CONTRACT 6).
        policy = changed(policy, rows=(*policy.rows, "deadline"))
    at = gather(draft, item, intent, eligible=eligible or item.status is Status.READY)
    return assess(intent.envelope, policy, at, draft.now)


def _lapsed(draft: Draft, item: Item) -> bool:
    """Whether ready work has come to the end of its lifetime: it waits for nothing any more."""
    return item.status is Status.READY and 0 < item.lapses_at < draft.now


def decide_intent(draft: Draft, item: Item) -> bool:
    """Look at effect work in draft, held or ready, and write what changed; True where it did.

    Work that was only stored is left alone: a message that nobody has validated has no verdict.
    """
    if item.status not in QUEUED or not intent_of(draft, item).validated_seq:
        return False
    found = look(draft, item)
    if found.verdict is Verdict.ADMIT:
        if item.status is Status.READY:
            return False
        _claim(draft, item)
        _write(draft, item, found, "T01", Status.READY)
        return True
    if found.verdict is not Verdict.HOLD:
        _write(draft, item, found, "T12", Status.CLOSED)
        return True
    return _hold(draft, item, found)


def _hold(draft: Draft, item: Item, found: Finding) -> bool:
    back = item.unmet > 0 or found.reason == "PRIOR_EFFECT_UNRECONCILED" or _lapsed(draft, item)
    if item.status is Status.READY and not back:
        return False
    if item.status is not Status.HELD:
        _claim(draft, item)
        _write(draft, item, found, "T02", Status.HELD)
        return True
    hold = item.hold
    if hold is not None and hold.identity and _same_hold(hold, found):
        return False  # one that a move left without its named owner is written with it
    _claim(draft, item)
    _write(draft, item, found, "", Status.HELD)
    return True


def _same_hold(hold: Hold, found: Finding) -> bool:
    was = (hold.reason, hold.owner, hold.trigger, hold.at)
    return was == (found.reason, found.owner, found.trigger, found.recheck_at)


def _claim(draft: Draft, item: Item) -> None:
    """Let a free effect belong to this work."""
    intent = intent_of(draft, item)
    envelope = intent.envelope
    effect = draft.get("effect", envelope.effect_id)
    if isinstance(effect, Effect):
        if effect.item == item.id:
            return
        other = draft.item(effect.item)
        state = effect_standing(effect, draft.ledger.epoch)
        free = state in (EffectState.NOT_STARTED, EffectState.ABSENT)
        if other is None or not other.terminal or other.status is Status.VERIFIED or not free:
            return
    label = _label(draft, f"destination/{envelope.destination}") if envelope.destination else ""
    claim(draft, item.id, envelope, label, by=ADMISSION)


def _write(draft: Draft, item: Item, found: Finding, tid: str, to: Status) -> None:
    intent = intent_of(draft, item)
    policy = in_force(draft, item)
    envelope = intent.envelope
    held, closed = to is Status.HELD, to is Status.CLOSED
    owner = (found.owner, owner_of(intent, policy, found.owner)) if held else ("", "")
    if closed and item.owner is not None:  # who owned the outcome (INV-5)
        owner = (item.owner.kind, item.owner.identity)
    since = item.created_at if held else draft.now
    rank = 0 if closed else rank_of(since, item.priority, draft.policy.age_step_ms)
    event = AdmissionDecided(
        tid,
        item.status,
        to,
        found.verdict,
        found.reason,
        *owner,
        found.trigger,
        found.recheck_at,
        rank,
        found.outcome,
        found.survivor,
        envelope.candidate_revision,
        policy.label,
        intent.validation,
        _label(draft, f"destination/{envelope.destination}") if envelope.destination else "",
        found.observation,
        found.checks,
    )
    draft.emit("item", item.id, event, ADMISSION)


def owner_of(intent: Intent, policy: AdmissionPolicy, kind: str) -> str:
    """Who owns a hold: whom the intent names, or else the policy, or else remit itself."""
    envelope = intent.envelope
    if kind == "retry":
        return envelope.retry_owner or policy.retry_owner or RETRY
    return envelope.admission_owner or policy.admission_owner or ADMISSION


def back_in_line(draft: Draft, item: Item) -> tuple[Status, str, str, int]:
    """Where effect work goes that returns to the queue: status, hold reason, trigger and rank.

    It was admitted before, so capacity is not asked again. What may not go on is held, and admission
    then looks at it and decides.
    """
    found = look(draft, item, eligible=True)
    if found.verdict is Verdict.ADMIT:
        rank = rank_of(draft.now, item.priority, draft.policy.age_step_ms)
        return Status.READY, "", "", rank
    return Status.HELD, found.reason, found.trigger or f"time:{draft.now}", 0
