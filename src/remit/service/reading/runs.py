"""Runs as people and programs read them: what one may use, what it has chosen, and what ended it.

``bounds`` are limits; ``used`` says how much of each is gone. A settled entry is what the run got to know and
no more: only the item itself says that it is verified.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.refusals import Code, Refused
from remit.core.run_facts import Run, RunEntry, RunStatus, entry_id
from remit.ports import ReadTx
from remit.service.reading.rendering import rfc3339

PAGE: Final = 1_000


def run_summary(run: Run) -> dict[str, Any]:
    """What lists show of a run."""
    bounds = run.bounds
    return {
        "id": run.id,
        "status": str(run.status),
        "actor": run.actor,
        "reviewer": run.reviewer or None,
        "agent": run.agent,
        "decision": run.decision,
        "started_by": run.started_by,
        "driver": run.driver,
        "started_at": rfc3339(run.started_at),
        "seq": run.started_seq,
        "ends_at": rfc3339(run.ends_at),
        "stopped_at": rfc3339(run.stopped_at) if run.stopped_at else None,
        "stopped_by": run.stopped_by or None,
        "stop_asked": run.stop_asked or None,
        "stop_asked_by": run.stop_asked_by or None,
        "bounds": {
            "items": bounds.items,
            "parallel": bounds.parallel,
            "minutes_ms": bounds.minutes_ms,
            "spend_micros": bounds.spend_micros,
            "failures": bounds.failures,
        },
        "used": {
            "items": run.chosen,
            "parallel": len(run.live),
            "settled_micros": run.settled_micros,
            "reserved_micros": run.reserved_micros,
            "failures": run.failed,
        },
        "live": [entry(one) for one in run.live],
        "refusals": run.refusals,
        "refused": [{"item": item, "code": code} for item, code in run.refused],
        "resumes": run.resumes,
        "trace": f"remit run show {run.id}",
    }


def entry(found: RunEntry) -> dict[str, Any]:
    """One choice of one item."""
    return {
        "entry": found.number,
        "item": found.item,
        "step": str(found.step),
        "outcome": found.outcome or None,
        "lease": found.lease or None,
        "attempt": found.attempt or None,
        "fence": found.fence or None,
        "head": found.head or None,
        "reserved_micros": found.reserved_micros,
        "spent_micros": found.spent_micros,
        "chosen_at": rfc3339(found.chosen_at),
        "changed_at": rfc3339(found.changed_at),
        "detail": found.detail or None,
        "trace": f"remit trace {found.item}",
    }


def find_run(tx: ReadTx, text: str) -> Run | Refused:
    """The run that a person means: ``RUN-2``, or ``2``."""
    name = text.upper() if text.upper().startswith("RUN-") else f"RUN-{text}"
    found = tx.load([("run", name)])["run", name]
    if isinstance(found, Run):
        return found
    return Refused(
        Code.NOT_FOUND, f"there is no run {text!r}", "see 'remit run list'", {"run": text}
    )


def run_show(tx: ReadTx, text: str, limit: int) -> dict[str, Any] | Refused:
    """One run with its entries, the newest ``limit`` of them (0: all), in the order of choice."""
    run = find_run(tx, text)
    if isinstance(run, Refused):
        return run
    first = max(1, run.chosen - limit + 1) if limit else 1
    live = {one.number: one for one in run.live}
    wanted = [n for n in range(first, run.chosen + 1) if n not in live]
    facts = tx.load([("run-entry", entry_id(run.id, n)) for n in wanted])
    known = {f.number: f for f in facts.values() if isinstance(f, RunEntry)} | live
    items = [entry(known[n]) for n in sorted(known) if n >= first]
    shown = run_summary(run)
    shown.pop("live")
    return {
        "run": {**shown, "options": dict(run.options), "proof": run.proof, "items": items},
        "total": run.chosen,
        "truncated": first > 1,
        "as_of_seq": tx.head().seq,
    }


def run_list(tx: ReadTx, limit: int, *, live_only: bool = False) -> dict[str, Any]:
    """Runs, the newest first; ``limit`` 0 means all."""
    runs, total = newest_runs(tx, limit, live_only=live_only)
    return {
        "runs": [run_summary(run) for run in runs],
        "total": total,
        "truncated": total > len(runs),
        "as_of_seq": tx.head().seq,
    }


def live_first(tx: ReadTx, limit: int) -> tuple[list[Run], int]:
    """Runs that are not over, then the newest of the others, and how many there are in all.

    Of more than ``PAGE`` runs the newest of those are looked at.
    """
    runs, total = newest_runs(tx, PAGE if limit else 0)
    runs.sort(key=lambda run: run.status is RunStatus.STOPPED)
    return (runs[:limit] if limit else runs), total


def newest_runs(tx: ReadTx, limit: int, *, live_only: bool = False) -> tuple[list[Run], int]:
    """The newest runs, and how many there are."""
    number = tx.small().get(("counter", "run"), 0)
    count = number if isinstance(number, int) else 0
    found: list[Run] = []
    total = 0 if live_only else count
    for start in range(count, 0, -PAGE):
        ids = [f"RUN-{n}" for n in range(start, max(0, start - PAGE), -1)]
        if limit and not live_only:
            ids = ids[: limit - len(found)]
        runs = [f for f in tx.load([("run", i) for i in ids]).values() if isinstance(f, Run)]
        live = [run for run in runs if run.status is not RunStatus.STOPPED]
        total += len(live) if live_only else 0
        found += live if live_only else runs
        if limit and not live_only and len(found) >= limit:
            break
    return (found[:limit] if limit else found), total
