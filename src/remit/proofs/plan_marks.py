"""Marks of planning: rare branches of applies, of gates, of decisions and of signatures.

A gate that no world found shut was not explored, and neither was a status in which no plan changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from remit.core.facts import Item
from remit.core.refusals import Code
from remit.proofs.plan_moves import plan_of
from remit.proofs.world import Stage, State, Taken

PLAN_CODES: Final = {
    Code.PLAN_MOVED: "plan-moved",
    Code.PLAN_NOT_OPEN: "apply-overtaken",
    Code.PLAN_DIFFERS: "plan-differs",
    Code.DECISION_NEEDED: "refused-undecided",
    Code.DECISIONS_CONFLICT: "refused-in-conflict",
    Code.DECISION_STALE: "other-record-looked-at",
    Code.DECISION_SETTLED: "decided-already",
    Code.DECISION_EXPIRED: "accepted-too-late",
    Code.SIGNATURE_MISSING: "unsigned",
    Code.SIGNATURE_STALE: "signed-something-else",
    Code.SIGNATURE_NAMESPACE: "signed-as-another-act",
    Code.NONCE_USED: "nonce-again",
    Code.KEY_UNKNOWN: "unknown-key",
    Code.KEY_REVOKED: "revoked-key",
    Code.KEY_IN_REACH: "unprompted-key",
}
"""Marks that a refusal leaves by its code."""

_EVENTS: Final = {
    "RequirementRetired": "requirement-retired",
    "DecisionRejected": "decision-rejected",
    "DecisionSuperseded": "decision-superseded",
    "DecisionConsumed": "decision-consumed",
    "ActSigned": "signed",
    "LinkCleared": "link-cleared",
}

GATES: Final = (
    "plan-open", "goal", "requirements", "graph", "verification-plan", "scope", "reversal", "decision",
)  # fmt: skip
"""Gates that a world finds shut. What would shut ``red-control`` no apply puts on the ledger."""

LEFT: Final = ("ready", "leased", "in-review", "approved", "shipped", "verified")
"""Statuses in which an item is that its plan changes or leaves."""

PLAN_MARKS: Final = (
    frozenset(PLAN_CODES.values())
    | frozenset(_EVENTS.values())
    | {f"gate-{name}" for name in GATES}
    | {f"succeeded-while-{status}" for status in LEFT[1:]}
    | {
        "brief-revised",
        "rest-revised",
        "row-succeeded",
        "waiver-named",
        "item-left",
        "revision-followed",
        "apply-begun-anew",
    }
)
"""All marks that worlds of planning must leave together."""


def of_planning(stage: Stage, state: State, taken: Taken) -> Iterator[str]:
    """Marks that one step leaves."""
    if taken.refused is not None and taken.refused.code in PLAN_CODES:
        yield PLAN_CODES[taken.refused.code]
    for decided in taken.decided:
        for rec in decided.events:
            name, event = type(rec.event).__name__, rec.event
            if name in _EVENTS:
                yield _EVENTS[name]
            gate = str(getattr(event, "trigger", ""))
            if gate.startswith("gate:"):
                yield f"gate-{gate[5:].partition('/')[0]}"
            yield from _of_event(stage, state, name, event, rec.stream)


def _of_event(stage: Stage, state: State, name: str, event: Any, stream: str) -> Iterator[str]:
    plan = plan_of(stage, state)
    match name:
        case "PlanOpened":
            if plan is not None and plan.open is not None and plan.open.digest != event.digest:
                yield "apply-begun-anew"
        case "PlanClosed":
            if event.revision > 1:
                yield "revision-followed"
        case "ItemReplanned":
            yield "brief-revised" if event.brief else "rest-revised"
        case "RowRetired":
            if event.successor:
                yield "row-succeeded"
        case "RowRevised":
            if event.waived:
                yield "waiver-named"
        case "ItemUnplanned" | "ItemSucceeded":
            item = stage.get(state, "item", stream)
            if event.successor and isinstance(item, Item):
                yield f"succeeded-while-{item.status}"
            elif not event.successor:
                yield "item-left"
        case _:
            return
