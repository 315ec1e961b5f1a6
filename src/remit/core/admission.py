"""Admission of delivery work: which gate keeps an item in draft, what holds it, or that it may join.

Effect work has a decision of its own (``core/verdict.py``); whoever lets admission look at an item
does so here, whatever its kind. One pure function looks at an item and returns a verdict with every check that could be made
(CONTRACT 4, rows 6 and 9, and the gates of CONTRACT 8). The first check that fails decides; the
rest are recorded all the same. What nobody asked is NOT_TESTED, never PASS (INV-1). A HOLD always
names an owner and a trigger that a machine can act on (INV-3). ADMIT is permission to join eligible
demand and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from remit.core import gates
from remit.core.change import quick
from remit.core.checks import Check, Result
from remit.core.dependencies import unmet_edges
from remit.core.effects import awaits_retry
from remit.core.facts import EdgeState, ImportRun, Item, Rule
from remit.core.intents import ADMISSION, back_in_line, decide_intent
from remit.core.item_events import ItemAdmitted, ItemHeld, VerdictRecorded
from remit.core.lanes import rank_of
from remit.core.planned_gates import ask_gates
from remit.core.status import Kind, Status
from remit.core.verdict import Verdict
from remit.core.view import Draft

__all__ = [
    "ADMISSION",
    "Assessment",
    "Verdict",
    "assess",
    "dead_edge",
    "decide_verdict",
    "requeue",
]

UNMET_DEPENDENCY: Final = "UNMET_DEPENDENCY"
UNRESOLVED_DEPENDENCY: Final = "UNRESOLVED_DEPENDENCY"

_NOT_ASKED: Final = tuple(
    Check(name, Result.NOT_TESTED)
    for name in ("cancellation", "not-before", "deadline", "capacity", "margin")
)


@quick
@dataclass(frozen=True, slots=True)
class Assessment:
    """A verdict with its reason, the gate that is not open, the trigger, and every check."""

    verdict: Verdict
    reason: str
    gate: str
    trigger: str
    checks: tuple[Check, ...]


@lru_cache(maxsize=1_024)
def _check(name: str, ok: bool, observed: str, required: str, evidence: str, reason: str) -> Check:
    """A check; most items lead to the same few, so those are made once."""
    return Check(name, Result.PASS if ok else Result.FAIL, observed, required, evidence, reason)


def _gate_checks(draft: Draft, item: Item) -> list[tuple[str, Check]]:
    """Every plan gate with its check, in the order in which they are asked."""
    plan = item.plan
    found: list[tuple[str, Check]] = []

    def ask(gate: str, name: str, ok: bool, observed: str, required: str, evidence: str) -> None:
        found.append((gate, _check(name, ok, observed, required, evidence, "" if ok else gate)))

    if item.source is not None:
        run = draft.get("import", item.source.import_id)
        is_open = isinstance(run, ImportRun) and run.open
        ask(gates.IMPORT_OPEN, "import-closed", not is_open, "", "closed", item.source.import_id)
        ask(
            gates.IMPORT_STATUS,
            "import-status",
            not item.source.unconfirmed,
            item.source.status,
            "open",
            item.source.import_id,
        )
    if plan.governed is not None:
        for each, ok, observed, required, evidence in ask_gates(draft, item, plan.governed):
            gate = gates.planned_gate(each, plan.governed.plan)
            ask(gate, each.value, ok, observed, required, evidence)
        return found
    owned = len(plan.requirements)
    ask(gates.REQUIREMENTS, "requirements", owned > 0, str(owned), ">=1", "")
    if not plan.rows:
        rule = draft.get("rule", plan.rule) if plan.rule else None
        if isinstance(rule, Rule):
            evidence = f"rule:{rule.name}@{rule.revision}"
            ok = rule.counts(accept_unproved=draft.policy.accept_unproved)
            ask(f"{gates.RULE}/{rule.name}", "rule", ok, "", "accepted", evidence)
        else:
            ask(gates.VERIFICATION_PLAN, "verification-plan", False, "0", ">=1", "")
    else:
        count = str(len(plan.rows))
        check = Check("verification-plan", Result.PASS, count, ">=1", plan.rows[0])
        found.append((gates.VERIFICATION_PLAN, check))
        ask(gates.AMBIGUITY, "ambiguity", not plan.ambiguous, "", "clear", "")
    ask(gates.SCOPE, "scope", bool(plan.scope), str(len(plan.scope)), ">=1", "")
    return found


def assess(draft: Draft, item: Item) -> Assessment:
    """What admission says of an item in draft, held or ready, as things stand."""
    asked = _gate_checks(draft, item)
    shut = next((gate for gate, check in asked if check.result is not Result.PASS), "")
    waiting = unmet_edges(item)
    dependency = _check(
        "dependencies",
        not waiting,
        str(len(waiting)),
        "0",
        waiting[0].via if waiting else "",
        UNMET_DEPENDENCY if waiting else "",
    )
    checks = (*(check for _, check in asked), dependency, *_NOT_ASKED)
    if shut:
        return Assessment(Verdict.HOLD, "PLAN_GATE_SHUT", shut, f"gate:{shut}", checks)
    if waiting:
        lost = all(d.via.startswith("?") for d in waiting)
        reason = UNRESOLVED_DEPENDENCY if lost else UNMET_DEPENDENCY
        return Assessment(Verdict.HOLD, reason, "", f"dependency:{waiting[0].via}", checks)
    return Assessment(Verdict.ADMIT, "ELIGIBLE", "", "", checks)


def decide_verdict(draft: Draft, item: Item) -> None:
    """Look at an item in draft, held or ready, and write what changed.

    Nothing is written where verdict, reason and trigger are what they were, nor of a draft whose
    import is still open: it names the gate that it will be behind when the import has closed. Work
    whose effect is not reconciled is not looked at: its retry owner decides first.
    """
    if item.kind is Kind.EFFECT:
        if not awaits_retry(draft, item):
            decide_intent(draft, item)
        return
    found = assess(draft, item)
    if found.gate:
        if item.status is Status.DRAFT:
            if found.gate not in (item.gate, gates.IMPORT_OPEN):
                _record(draft, item, found)
        else:
            _hold(draft, item, found)
        return
    if found.verdict is Verdict.ADMIT:
        if item.status is not Status.READY:
            admit(draft, item, found)
        return
    _hold(draft, item, found)


def admit(draft: Draft, item: Item, found: Assessment) -> None:
    """T01."""
    policy = draft.policy
    event = ItemAdmitted(
        "T01",
        item.status,
        Status.READY,
        found.verdict,
        found.reason,
        rank_of(draft.now, item.priority, policy.age_step_ms),
        policy.revision,
        found.checks,
    )
    draft.emit("item", item.id, event, ADMISSION)


def _hold(draft: Draft, item: Item, found: Assessment) -> None:
    hold = item.hold
    if item.status is Status.HELD:
        if hold is None or (hold.reason, hold.trigger) != (found.reason, found.trigger):
            _record(draft, item, found)
        return
    event = ItemHeld(
        "T02",
        item.status,
        Status.HELD,
        found.verdict,
        found.reason,
        "admission",
        found.trigger,
        found.checks,
    )
    draft.emit("item", item.id, event, ADMISSION)


def _record(draft: Draft, item: Item, found: Assessment) -> None:
    event = VerdictRecorded(
        found.verdict,
        found.reason,
        found.gate,
        "admission",
        found.trigger,
        found.checks,
    )
    draft.emit("item", item.id, event, ADMISSION)


def requeue(draft: Draft, item: Item) -> tuple[Status, str, str, int]:
    """Where an item goes that returns to the queue: status, hold reason, trigger and rank."""
    if item.kind is Kind.EFFECT:
        return back_in_line(draft, item)
    found = assess(draft, item)
    if found.verdict is Verdict.ADMIT:
        rank = rank_of(draft.now, item.priority, draft.policy.age_step_ms)
        return Status.READY, "", "", rank
    return Status.HELD, found.reason, found.trigger, 0


def dead_edge(item: Item) -> str:
    """The target of an edge that can never be met any more, or empty."""
    return next((d.via for d in item.dependencies if d.state is EdgeState.DEAD), "")
