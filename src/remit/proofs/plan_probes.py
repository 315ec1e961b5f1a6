"""Probes of planning, tried on a share of new states: an apply that is open can be carried on.

Whoever applies the same plan after a crash comes to its end, unless a decision is lacking; and then
every item of it that no gate and no wait keeps is let in by a recheck, and no other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from remit.core import commands as c
from remit.core.facts import Item, Ledger, Planned
from remit.core.refusals import Code
from remit.proofs import oracle as work
from remit.proofs import plan_oracle as oracle
from remit.proofs.plan_moves import (
    ID,
    decisions_of,
    in_force,
    plan_cast,
    plan_of,
    put,
    strict,
    whole_apply,
)
from remit.proofs.properties import Tally
from remit.proofs.world import HUMAN, Stage, State, Step

PLAN_SHARE: Final = 16
"""One of this many new states is carried on."""

LACKING: Final = (Code.DECISION_NEEDED, Code.DECISIONS_CONFLICT)


def carry_on_plan(tally: Tally, stage: Stage, state: State) -> None:
    """Carry on with the apply that is open, if one is, and let admission look at everything."""
    plan = plan_of(stage, state)
    if plan is None:
        return
    state = replace(state, facts=dict(state.facts), books=dict(state.books))
    bundle = plan_cast(stage).of(plan.open.digest) if plan.open is not None else None
    if bundle is not None:
        for step in whole_apply(stage, state, bundle):
            taken = stage.take(state, step)
            if taken.refused is not None:
                fits = taken.refused.code in LACKING
                tally.demand("apply-carries-on", fits, step.command, taken.refused.message)
                return
            put(state, taken)
        now = plan_of(stage, state)
        fits = now is not None and now.open is None and in_force(stage, state) is bundle
        tally.demand("apply-carries-on", fits, "ended with", now)
    for name in stage.items(state):
        put(state, stage.take(state, Step(HUMAN, c.Recheck(name))))
    _opened(tally, stage, state)


def _opened(tally: Tally, stage: Stage, state: State) -> None:
    """What may begin is ready, and what may not is not, whoever looked at it just now."""
    bundle, items = in_force(stage, state), stage.items(state)
    ledger = stage.get(state, "ledger", "ledger")
    if bundle is None or not isinstance(ledger, Ledger) or ledger.unsettled:
        return
    known, hard = decisions_of(stage, state), strict(stage, state)
    for record in bundle.items:
        entry = stage.get(state, "planned", f"{ID}/item/{record.label}")
        item = items.get(entry.id) if isinstance(entry, Planned) else None
        if not isinstance(item, Item) or str(item.status) not in work.QUEUED:
            continue
        shut = oracle.shut(bundle, record, known, state.now, strict=hard)
        waits = [d.via for d in item.dependencies if work.worth(items, d, ledger.policy) != "met"]
        ready = str(item.status) == "ready"
        said = (item.id, item.status, item.gate, item.hold, "shut:", sorted(shut), waits)
        tally.demand("undone-decision-shuts", not (ready and "decision" in shut), *said)
        tally.demand("gates-hold", not (ready and (shut or waits)), *said)
        tally.demand("gates-open-when-due", ready or shut or waits, *said)
