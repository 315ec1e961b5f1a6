"""Marks: names of rare branches, each set when the search has really come there.

A search that never met an expiry proves nothing of expiries. Every world says which marks it must
leave, and a run that lacks one fails as vacuous, whatever its properties say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from remit.core import commands as c
from remit.core import effect_events as v
from remit.core import events as le
from remit.core import item_events as e
from remit.core.facts import Item
from remit.core.ids import EPOCH_SHIFT
from remit.core.refusals import Code
from remit.proofs.effect_marks import EFFECT_MARKS, of_outside, of_taken
from remit.proofs.plan_marks import PLAN_MARKS, of_planning
from remit.proofs.world import Stage, State, Step, Taken

OF_REFUSALS: Final = {
    Code.DEPENDENCY_CYCLE: "cycle-refused",
    Code.REVIEWER_IS_IMPLEMENTER: "review-by-implementer",
    Code.VERIFIER_IS_IMPLEMENTER: "verification-by-implementer",
    Code.VERIFIER_IS_REVIEWER: "verification-by-reviewer",
    Code.COMMIT_MISMATCH: "other-commit-on-main",
    Code.CONCURRENCY_LIMIT: "limit-reached",
    Code.LEASE_TOO_LONG: "longest-lease",
    Code.LEASE_OF_ANOTHER: "fence-of-another",
    Code.REVIEW_STALE: "review-of-another-head",
    Code.CHANGED_UPSTREAM: "changed-upstream",
    Code.RESOLUTION_REFUSED: "resolution-refused",
    Code.STALE_FENCE: "stale-fence",
    Code.ACTOR_KIND_REFUSED: "wrong-kind-of-actor",
}
"""Marks that a refusal leaves by its code."""

PUSH_MARKS: Final = frozenset(
    ("push-intended", "push-red", "push-there", "push-gone", "push-contradicted", "push-unknown")
)
"""What may become of a push, and that it was none because a row was red."""

MARKS: Final = (
    frozenset(OF_REFUSALS.values())
    | {
        "expired-at-the-instant",
        "refused-at-the-instant",
        "written-just-before",
        "lease-again-after-expiry",
        "poison",
        "late-report",
        "late-report-after-another",
        "attempt-returned",
        "dead-edge",
        "inner-edge",
        "put-back",
        "successor-met",
        "superseded-chain",
        "settlement-deferred",
        "settlement-finished",
        "contradiction",
        "verifier-gap",
        "partial-evidence",
        "verified",
        "reopened",
        "cancelled-in-flight",
        "two-records",
        "returned-to-approved",
        "superseded-after-shipping",
        "kill-switch-lease",
        "kill-switch-renewal",
        "dead-epoch",
        "late-after-adoption",
        "import-gate",
        "imported-closed",
        "alias-resolved",
        "rule-opened",
        "renewal-capped",
    }
    | PUSH_MARKS
    | EFFECT_MARKS
    | PLAN_MARKS
)
"""All marks that a full run must leave."""


def marks_of(stage: Stage, state: State, step: Step, taken: Taken) -> Iterator[str]:
    """Marks that one step leaves."""
    if step.outside:
        yield from of_outside(stage, state, step.outside)
        return
    refused, cmd = taken.refused, step.command
    if stage.world.effects is not None:
        yield from of_taken(stage, state, taken)
    if stage.world.plans is not None:
        yield from of_planning(stage, state, taken)
    named = stage.get(state, "item", getattr(cmd, "item", ""))
    lease = named.lease if isinstance(named, Item) else None
    at_end = lease is not None and lease.expires_at == state.now
    if refused is not None:
        mark = OF_REFUSALS.get(refused.code)
        if mark:
            yield mark
        if refused.code is Code.LEASE_EXPIRED and at_end:
            yield "refused-at-the-instant"
        if refused.code is Code.KILL_SWITCH_ON:
            renewal = isinstance(cmd, c.RenewLease)
            yield "kill-switch-renewal" if renewal else "kill-switch-lease"
    if isinstance(cmd, c.GrantLease) and refused is None and len(taken.decided) > 1:
        yield "lease-again-after-expiry"
    for decided in taken.decided:
        for rec in decided.events:
            fact = stage.get(state, "item", rec.stream)
            if stage.world.has("push"):
                yield from _of_push(rec.event)
            yield from _of_event(rec.event, fact if isinstance(fact, Item) else None, state)


_PUSHED: Final = {"PRESENT": "there", "ABSENT": "gone", "CONTRADICTED": "contradicted"}


def _of_push(event: object) -> Iterator[str]:
    match event:
        case e.IntegrationTested():
            yield "push-intended" if event.effect else "push-red"
        case v.EffectObserved():
            yield f"push-{_PUSHED.get(str(event.state), 'unknown')}"


def _of_event(event: object, old: Item | None, state: State) -> Iterator[str]:
    match event:
        case e.LateReportRecorded():
            yield "late-report"
            if old is not None and old.lease is not None and old.lease.fence != event.fence:
                yield "late-report-after-another"
                if old.lease.fence >> EPOCH_SHIFT != event.fence >> EPOCH_SHIFT:
                    yield "late-after-adoption"
        case e.LeaseExpired():
            if state.now == event.lease.expires_at:
                yield "expired-at-the-instant"
            if state.now < event.lease.expires_at:
                yield "dead-epoch"
        case e.LeaseReleased():
            if event.returned:
                yield "attempt-returned"
        case e.LeaseRenewed():
            if event.lease.expires_at < state.now + event.lease.ttl_ms * 1_000:
                yield "renewal-capped"
        case e.CompletionReported():
            if event.lease.expires_at - state.now == 1:
                yield "written-just-before"
        case le.SettlementDeferred():
            yield "settlement-deferred"
        case le.SettlementFinished():
            yield "settlement-finished"
        case _:
            yield from _of_move(event, old, state)


def _of_move(event: object, old: Item | None, state: State) -> Iterator[str]:
    match event:
        case e.DependencyAdded():
            if event.inner:
                yield "inner-edge"
        case e.DependencySettled():
            if event.state == "dead":
                yield "dead-edge"
            if event.via != event.target and not event.target.startswith("?"):
                yield "superseded-chain"
                if event.state == "met":
                    yield "successor-met"
            if event.resolved != event.target:
                yield "alias-resolved"
        case e.ItemHeld():
            if event.from_ == "ready":
                yield "put-back"
        case e.ItemReopened():
            yield "reopened"
        case e.VerificationRecorded():
            yield _VERIFIED.get(event.triage_kind or event.to, "partial-evidence")
        case e.ItemTriaged():
            if event.triage_kind in _TRIAGED:
                yield _TRIAGED[event.triage_kind]
            if not event.transition_id:
                yield "two-records"
        case e.TriageResolved():
            if event.to == "approved":
                yield "returned-to-approved"
        case e.ItemClosed():
            if old is not None and old.work is not None and old.work.shipped:
                yield "superseded-after-shipping"
        case e.ItemImported():
            yield "imported-closed" if event.closed else "import-gate"
        case e.RowsAttached():
            yield "rule-opened"
        case _:
            return


_VERIFIED: Final = {
    "contradicted": "contradiction",
    "verifier-gap": "verifier-gap",
    "verified": "verified",
}
_TRIAGED: Final = {
    "poison": "poison",
    "cancelled-in-flight": "cancelled-in-flight",
    "trigger-impossible": "dead-edge",
}
