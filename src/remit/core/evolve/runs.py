"""Folds of runs and of proofs of parity.

A run's fact holds its live entries and a few figures. What is settled becomes a fact of its own, and what
the runs of one decision cost together is counted beside them; both follow from the run's events alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import run_events as e
from remit.core.change import changed
from remit.core.events import Event, Recorded
from remit.core.evolve.moves import Get, Out, add, first
from remit.core.fold import FoldError
from remit.core.run_facts import (
    FAILED,
    KEPT_REFUSALS,
    STEPS,
    Proof,
    Run,
    RunEntry,
    RunStatus,
    RunStep,
    RunUse,
    entry_id,
)

Handler = Callable[[Get, Recorded, Any, Out], None]


def _run(get: Get, rec: Recorded) -> Run:
    """The run of the event's stream, just before it; nothing follows on the end of one."""
    run = get("run", rec.entity)
    if not isinstance(run, Run) or run.version != rec.version - 1:
        raise FoldError(rec, f"stream version {rec.version} of {rec.entity} does not follow")
    if run.status is RunStatus.STOPPED:
        raise FoldError(rec, f"{run.id} was stopped before")
    return run


def _started(get: Get, rec: Recorded, ev: e.RunStarted, out: Out) -> None:
    first(get, rec, "run")
    number = add(get, out, "counter", "run", 1)
    if rec.entity != f"RUN-{number}":
        raise FoldError(rec, f"{rec.entity} is not the next run")
    out["run", rec.entity] = Run(
        rec.entity,
        1,
        number,
        ev.actor,
        ev.reviewer,
        ev.agent,
        ev.bounds,
        ev.decision,
        ev.proof,
        ev.options,
        rec.at,
        rec.seq,
        ev.ends_at,
        rec.actor,
        rec.actor,
        ev.holder,
        RunStatus.RUNNING,
    )
    use = get("run-use", ev.decision)
    runs, settled = (use.runs, use.settled_micros) if isinstance(use, RunUse) else (0, 0)
    if isinstance(use, RunUse) and use.live:
        raise FoldError(rec, f"{use.live} under {ev.decision} is not over")
    out["run-use", ev.decision] = RunUse(ev.decision, runs + 1, rec.entity, settled)


def _chosen(get: Get, rec: Recorded, ev: e.RunItemChosen, out: Out) -> None:
    run = _run(get, rec)
    if ev.entry != run.chosen + 1 or run.entry_of(ev.item) is not None:
        raise FoldError(rec, f"entry {ev.entry} of {ev.item} does not follow in {run.id}")
    entry = RunEntry(ev.entry, ev.item, RunStep.CHOSEN, ev.reserve_micros, rec.at, rec.at)
    out["run", run.id] = changed(run, version=rec.version, chosen=ev.entry, live=(*run.live, entry))


def _entry(run: Run, rec: Recorded, number: int, item: str) -> RunEntry:
    entry = run.entry_of(item)
    if entry is None or entry.number != number:
        raise FoldError(rec, f"entry {number} of {item} is not live in {run.id}")
    return entry


def _checkpointed(get: Get, rec: Recorded, ev: e.RunCheckpointed, out: Out) -> None:
    run = _run(get, rec)
    entry = _entry(run, rec, ev.entry, ev.item)
    step = RunStep(ev.step)
    if STEPS[step] < STEPS[entry.step]:
        raise FoldError(rec, f"{ev.item} in {run.id} goes back from {entry.step} to {step}")
    new = changed(
        entry,
        step=step,
        changed_at=rec.at,
        lease=ev.lease or entry.lease,
        attempt=ev.attempt or entry.attempt,
        fence=ev.fence or entry.fence,
        head=ev.head or entry.head,
        detail=ev.detail or entry.detail,
        spent_micros=max(ev.spent_micros, entry.spent_micros),
    )
    live = tuple(new if each is entry else each for each in run.live)
    out["run", run.id] = changed(run, version=rec.version, live=live)


def _settled(get: Get, rec: Recorded, ev: e.RunItemSettled, out: Out) -> None:
    run = _run(get, rec)
    entry = _entry(run, rec, ev.entry, ev.item)
    if ev.spent_micros < entry.spent_micros:
        raise FoldError(rec, f"{ev.item} in {run.id} had spent {entry.spent_micros} before")
    out["run-entry", entry_id(run.id, entry.number)] = changed(
        entry,
        step=RunStep.SETTLED,
        changed_at=rec.at,
        outcome=ev.outcome,
        spent_micros=ev.spent_micros,
        detail=ev.detail or entry.detail,
    )
    out["run", run.id] = changed(
        run,
        version=rec.version,
        live=tuple(each for each in run.live if each is not entry),
        failed=run.failed + (ev.outcome in FAILED),
        settled_micros=run.settled_micros + ev.spent_micros,
    )
    use = _use(get, rec, run)
    total = use.settled_micros + ev.spent_micros
    out["run-use", use.id] = RunUse(use.id, use.runs, use.live, total)


def _use(get: Get, rec: Recorded, run: Run) -> RunUse:
    use = get("run-use", run.decision)
    if not isinstance(use, RunUse) or use.live != run.id:
        raise FoldError(rec, f"{run.id} is not the run under {run.decision}")
    return use


def _refused(get: Get, rec: Recorded, ev: e.RunRefusalNoted, out: Out) -> None:
    run = _run(get, rec)
    refused = (*run.refused, (ev.item, ev.code))[-KEPT_REFUSALS:]
    out["run", run.id] = changed(
        run, version=rec.version, refusals=run.refusals + 1, refused=refused
    )


def _resumed(get: Get, rec: Recorded, ev: e.RunResumed, out: Out) -> None:
    run = _run(get, rec)
    if ev.previous != run.holder:
        raise FoldError(rec, f"{run.id} was not held by {ev.previous}")
    out["run", run.id] = changed(
        run, version=rec.version, holder=ev.holder, driver=rec.actor, resumes=run.resumes + 1
    )


def _stop_asked(get: Get, rec: Recorded, ev: e.RunStopAsked, out: Out) -> None:
    run = _run(get, rec)
    out["run", run.id] = changed(
        run,
        version=rec.version,
        status=RunStatus.STOPPING,
        stop_asked=ev.how,
        stop_asked_by=rec.actor,
    )


def _stopped(get: Get, rec: Recorded, ev: e.RunStopped, out: Out) -> None:
    run = _run(get, rec)
    if run.live:
        raise FoldError(rec, f"{run.id} has live entries")
    out["run", run.id] = changed(
        run,
        version=rec.version,
        status=RunStatus.STOPPED,
        stopped_by=ev.stopped_by,
        stopped_at=rec.at,
        stopped_seq=rec.seq,
    )
    use = _use(get, rec, run)
    out["run-use", use.id] = RunUse(use.id, use.runs, "", use.settled_micros)


def _proved(get: Get, rec: Recorded, ev: e.ParityProved, out: Out) -> None:
    old = get("proof", rec.entity)
    version = old.version if isinstance(old, Proof) else 0
    if rec.version != version + 1 or ev.code != rec.entity:
        raise FoldError(rec, f"stream version {rec.version} of {rec.entity} does not follow")
    out["proof", rec.entity] = Proof(
        ev.code, rec.version, ev.release, ev.scenarios, ev.mutants, ev.result, rec.seq, rec.at
    )


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.RunStarted: _started,
    e.RunItemChosen: _chosen,
    e.RunCheckpointed: _checkpointed,
    e.RunItemSettled: _settled,
    e.RunRefusalNoted: _refused,
    e.RunResumed: _resumed,
    e.RunStopAsked: _stop_asked,
    e.RunStopped: _stopped,
    e.ParityProved: _proved,
}
