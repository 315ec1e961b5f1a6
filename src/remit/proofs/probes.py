"""Deliveries, crashes and batches, tried on a share of the steps through the engine's own batch.

A decision becomes real in one commit, so a crash leaves either all of it or nothing, and what the
caller then does is ask again. These probes do that: the same command id again after the commit, after
a commit that never was, and with other content; an atomic list that was refused, of which only what
stands beside it is stored; two commands in one batch against the same two with a restart between.
They also hold the search to the product: the batch must write what the search took the step to mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from remit.core import commands as c
from remit.core import effect_events as v
from remit.core import item_events as e
from remit.core.commands import Ask
from remit.core.events import Recorded
from remit.core.facts import Fact, Key
from remit.core.limit_events import SpendSettled
from remit.core.refusals import Code, Refused
from remit.proofs.keys import stage_ledger
from remit.proofs.properties import Tally
from remit.proofs.queries import ModelTx
from remit.proofs.world import HUMAN, Stage, State, Step, Taken, ask_core, carry_on
from remit.service.engine import Batch, Call, Done

SHARE: Final = 32
"""One of this many new states, and of this many refusals that something stands beside, is probed."""

_ASIDE: Final = (
    e.LeaseExpired,
    e.ItemTriaged,
    e.LateReportRecorded,
    e.DependencySettled,
    e.ItemAdmitted,
    e.ItemHeld,
    e.VerdictRecorded,
    v.AdmissionDecided,
    v.EffectUncertain,
    v.RetryDecided,
    v.IntentReceived,
    v.IntentValidated,
    v.FollowerReleased,
    v.EffectClaimed,
    v.HoldsRechecked,
    v.RechecksDue,
    SpendSettled,
)
"""What may be written beside a refusal, with the news that follows from it."""


def probe(tally: Tally, stage: Stage, state: State, step: Step, taken: Taken, after: State) -> None:
    """Deliver a step that was taken once more, in every way that a broken connection leads to."""
    if step.command is None:
        return
    _crash(tally, stage, state, step, taken)
    due = any(stage_ledger(stage, each).rechecks for each in (state, after))
    # The engine's batch carries on with what is due, which the search takes as steps of their own.
    if not stage.world.fan_out and not due:
        _deliver(tally, stage, state, step, taken, after)
        _together(tally, stage, state, taken, after)


def _facts(stage: Stage, state: State) -> dict[Key, Fact | None]:
    facts = {**stage.base, **state.facts}
    return {key: fact for key, fact in facts.items() if fact is not None}


def _plain(events: Sequence[Recorded]) -> list[tuple[object, ...]]:
    return [(r.seq, r.stream, r.version, r.actor, r.at, r.event) for r in events]


def _meant(events: Sequence[Recorded]) -> list[tuple[str, ...]]:
    """What events say whatever their order: who is told first of several is nobody's business."""
    found = []
    for r in events:
        to = str(getattr(r.event, "to", "")) + str(getattr(r.event, "state", ""))
        found.append((r.stream, type(r.event).__name__, to, r.actor))
    return sorted(found)


def _crash(tally: Tally, stage: Stage, state: State, step: Step, taken: Taken) -> None:
    """A decision that was not stored left nothing: asked again, it is the same."""
    again = stage.take(state, step)
    same = [d.events for d in again.decided] == [d.events for d in taken.decided]
    tally.demand("crash-writes-nothing", same, step, "was decided otherwise after a crash")


def _deliver(
    tally: Tally, stage: Stage, state: State, step: Step, taken: Taken, after: State
) -> None:
    if step.command is None:
        raise AssertionError("time going on is not delivered")
    facts = _facts(stage, state)
    call = Call(step.command, step.actor, command_id="id", proof=step.proof)
    tx = ModelTx(facts, state.seq, state.now)
    batch = Batch(tx, [call])  # type: ignore[arg-type]  # the part of WriteTx that a batch uses
    answer = batch.decide_all(sweep=False)[0]
    aborted = batch.only_asides() if isinstance(answer, Refused) else None
    batch.store()
    stored = [r for d in taken.decided for r in d.events]
    fits = _plain(tx.appended) == _plain(stored)
    tally.demand("same-id-same-answer", fits, step, "stored", tx.appended, "not", stored)
    if aborted is not None:
        fits = all(isinstance(r.event, _ASIDE) for r in aborted.events)
        tally.demand("crash-writes-nothing", fits, "beside a refusal stood", aborted.events)
    settled = _facts(stage, after)
    second = ModelTx(settled, after.seq, after.now, tx.known)
    repeat = Batch(second, [call])  # type: ignore[arg-type]  # the part of WriteTx that a batch uses
    said = repeat.decide_all(sweep=False)[0]
    repeat.store()
    if isinstance(answer, Done) and answer.events:
        same = isinstance(said, Done) and said.repeated and said.events == answer.events
        tally.demand("same-id-same-answer", same, step, "was answered by", said)
        tally.demand("same-id-same-answer", not second.appended, "wrote", second.appended)
        other = Call(c.AddNote("W-1", c.Text("x")), HUMAN, command_id="id")
        third = Batch(second, [other])  # type: ignore[arg-type]  # the part of WriteTx that a batch uses
        refused = third.decide_all(sweep=False)[0]
        fits = isinstance(refused, Refused) and refused.code is Code.COMMAND_ID_REUSED
        tally.demand("same-id-same-answer", fits, "an id used twice was answered by", refused)
    late = [r for r in second.appended if isinstance(r.event, e.LateReportRecorded)]
    tally.demand("late-report-moves-nothing", not late, "recorded twice:", late)


def _together(tally: Tally, stage: Stage, state: State, taken: Taken, after: State) -> None:
    """The next command of the same batch sees what a restarted process would see."""
    view = stage.view(state)
    for decided in taken.decided:
        carry_on(view, decided)
    fresh = stage.view(after)
    asked: list[c.Command] = [c.GrantLease()]
    for name, item in stage.items(after).items():
        asked += [c.CloseItem(name, "failed", c.Text("x")), c.Recheck(name)]
        asked += [c.AddDependency(name, other) for other in stage.items(after) if other != name]
        asked += [c.ResolveTriage(record, "requeue", "x") for record in item.triage]
    for command in asked:
        ask = Ask(after.now, "ann" if isinstance(command, c.GrantLease) else HUMAN)
        one, two = ask_core(view, command, ask), ask_core(fresh, command, ask)
        if isinstance(one, Refused) or isinstance(two, Refused):
            same = isinstance(one, Refused) and isinstance(two, Refused) and one.code == two.code
        else:
            same = _meant(one.events) == _meant(two.events)
        tally.demand("batch-equals-restart", same, command, "in a batch:", one, "alone:", two)
