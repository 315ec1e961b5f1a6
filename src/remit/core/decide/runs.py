"""Decisions on runs: begin, choose, checkpoint, settle, resume, stop. The bounds hold here.

Whatever drives a run asks before it does anything: an item is chosen before its lease is asked for, and
is refused where a bound would not hold. So no crash, no second process and no fault of a conductor gets
past items, parallel, time, spend or failures; time is the ledger's. A process that was overtaken names an
old holder and is refused whatever it asks. Nothing here looks at or changes a work item but to see that
there is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from remit.core import run_events as e
from remit.core.asking import Command
from remit.core.decide.asking import bad, find, kind_of
from remit.core.decide.run_starting import (
    HOLDER,
    LONGEST,
    decision_of,
    one_line,
    start,
    switched_off,
)
from remit.core.decisions import in_force
from remit.core.facts import ActorKind
from remit.core.ids import MAX_INTEGER
from remit.core.refusals import Code, Refused
from remit.core.run_commands import (
    AskRunStop,
    CheckpointRun,
    ChooseItem,
    NoteRefusal,
    ResumeRun,
    SettleRunItem,
    StartRun,
    StopRun,
)
from remit.core.run_facts import (
    STEPS,
    Run,
    RunEntry,
    RunOutcome,
    RunStatus,
    RunStep,
    StoppedBy,
    entry_id,
)
from remit.core.view import Draft

MOST_REFUSALS: Final = 10_000
"""Most refusals that one run keeps."""

_CODE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}\Z")
_HOW: Final = ("finish", "now")


def _find(draft: Draft, name: str) -> Run | Refused:
    found = draft.get("run", name) if name else None
    if isinstance(found, Run):
        return found
    return Refused(
        Code.NOT_FOUND, f"there is no run {name!r}", "see 'remit run list'", {"run": name}
    )


def _over(run: Run, doing: str) -> Refused:
    return Refused(
        Code.RUN_STOPPED,
        f"cannot {doing} {run.id}: it was stopped by {run.stopped_by}",
        "start another with 'remit drain'",
        {"run": run.id, "stopped_by": run.stopped_by},
    )


def _held(draft: Draft, name: str, holder: str, doing: str) -> Run | Refused:
    """The run, if whoever asks drives it and was not overtaken."""
    run = _find(draft, name)
    if isinstance(run, Refused):
        return run
    if run.status is RunStatus.STOPPED:
        return _over(run, doing)
    if holder != run.holder:
        return Refused(
            Code.RUN_OVERTAKEN,
            f"cannot {doing} {run.id}: another process drives it now",
            "leave it alone: nothing more is done here",
            {"run": run.id, "driver": run.driver},
        )
    if draft.ask.actor not in (run.driver, run.actor):
        return Refused(
            Code.RUN_OF_ANOTHER,
            f"cannot {doing} {run.id} as {draft.ask.actor}: {run.driver} drives it",
            f"ask it to stop with 'remit run stop {run.id}'",
            {"run": run.id, "driver": run.driver},
        )
    return run


def _entry(run: Run, item: str, doing: str) -> RunEntry | Refused:
    entry = run.entry_of(item)
    if entry is not None:
        return entry
    return Refused(
        Code.NOT_FOUND,
        f"cannot {doing} {item!r} in {run.id}: it is not among its live items",
        f"see 'remit run show {run.id}'",
        {"run": run.id, "item": item},
    )


def _bound(draft: Draft, run: Run, reserve: int) -> Refused | None:
    """The first bound that one more item would break."""
    bounds, taken = run.bounds, run.settled_micros + run.reserved_micros
    for bound, found, most, broken in (
        ("minutes", draft.now, run.ends_at, draft.now >= run.ends_at),
        ("items", run.chosen, bounds.items, run.chosen >= bounds.items),
        ("failures", run.failed, bounds.failures, run.failed >= bounds.failures),
        ("parallel", len(run.live), bounds.parallel, len(run.live) >= bounds.parallel),
        ("spend", taken, bounds.spend_micros, taken + reserve > bounds.spend_micros),
    ):
        if broken:
            return Refused(
                Code.RUN_BOUND,
                f"cannot choose for {run.id}: its bound on {bound} is {most}, found {found}"
                + (f" and {reserve} more wanted" if bound == "spend" else ""),
                "finish what is live; then another run",
                {"run": run.id, "bound": bound, "found": found, "most": most},
            )
    return None


def _choose(draft: Draft, cmd: ChooseItem) -> Refused | None:
    run = _held(draft, cmd.run, cmd.holder, "choose for")
    if isinstance(run, Refused):
        return run
    if run.status is RunStatus.STOPPING:
        return Refused(
            Code.RUN_STOPPING,
            f"cannot choose for {run.id}: {run.stop_asked_by} asked it to stop ({run.stop_asked})",
            "finish or hand back what is live",
            {"run": run.id, "how": run.stop_asked},
        )
    if not 0 <= cmd.reserve_micros <= MAX_INTEGER:
        return bad("reserve_micros", cmd.reserve_micros, f"0 to {MAX_INTEGER}")
    refused = switched_off(draft, f"choose for {run.id}")
    refused = refused or _bound(draft, run, cmd.reserve_micros) or _lapsed(draft, run)
    if refused is not None:
        return refused
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    if run.entry_of(item.id) is not None:
        return Refused(
            Code.RUN_ITEM_LIVE,
            f"cannot choose {item.id} for {run.id}: the run is at work on it",
            "settle that entry first",
            {"run": run.id, "item": item.id},
        )
    draft.emit("run", run.id, e.RunItemChosen(run.chosen + 1, item.id, cmd.reserve_micros))
    return None


def _lapsed(draft: Draft, run: Run) -> Refused | None:
    """Refuse new work where the decision is no longer in force: superseding it stops the run."""
    decision = decision_of(draft, run.decision)
    assert decision is not None, "a run began under it, and decisions stay"
    return in_force(decision, draft.now, accept_unproved=draft.policy.accept_unproved)


def _money(spent: int) -> Refused | None:
    return None if 0 <= spent <= MAX_INTEGER else bad("spent_micros", spent, f"0 to {MAX_INTEGER}")


def _checkpoint(draft: Draft, cmd: CheckpointRun) -> Refused | None:
    run = _held(draft, cmd.run, cmd.holder, "checkpoint")
    entry = run if isinstance(run, Refused) else _entry(run, cmd.item, "checkpoint")
    if isinstance(run, Refused) or isinstance(entry, Refused):
        return entry if isinstance(entry, Refused) else None
    known = [step.value for step in RunStep if step is not RunStep.SETTLED]
    if cmd.step not in known:
        return bad("step", cmd.step, "one of " + ", ".join(known))
    if STEPS[RunStep(cmd.step)] < STEPS[entry.step]:
        return Refused(
            Code.RUN_STEP_BACK,
            f"cannot checkpoint {cmd.item} in {run.id} at {cmd.step}: it is at {entry.step}",
            "steps of one attempt only go forward; settle it and choose the item anew",
            {"run": run.id, "item": cmd.item, "step": str(entry.step)},
        )
    given = cmd.figures
    refused = _money(given.spent_micros) or _texts(given.lease, given.attempt, given.head)
    if refused is not None or not 0 <= given.fence <= MAX_INTEGER or not one_line(given.detail):
        return refused or bad("figures", given.detail, f"a fence, and {LONGEST} characters at most")
    event = e.RunCheckpointed(
        entry.number,
        entry.item,
        cmd.step,
        given.lease,
        given.attempt,
        given.fence,
        given.head,
        given.spent_micros,
        given.detail,
    )
    draft.emit("run", run.id, event)
    return None


def _texts(*names: str) -> Refused | None:
    wrong = [name for name in names if len(name) > 200 or not name.isprintable()]
    return bad("figure", wrong[0], "at most 200 printable characters") if wrong else None


def _settle(draft: Draft, cmd: SettleRunItem) -> Refused | None:
    run = _held(draft, cmd.run, cmd.holder, "settle an item of")
    entry = run if isinstance(run, Refused) else _entry(run, cmd.item, "settle")
    if isinstance(run, Refused) or isinstance(entry, Refused):
        return entry if isinstance(entry, Refused) else None
    if cmd.outcome not in list(RunOutcome):
        return bad("outcome", cmd.outcome, "one of " + ", ".join(RunOutcome))
    refused = _money(cmd.spent_micros)
    if refused is not None or not one_line(cmd.detail):
        return refused or bad("detail", cmd.detail, f"at most {LONGEST} printable characters")
    spent = max(cmd.spent_micros, entry.spent_micros)
    draft.new("run-entry", entry_id(run.id, entry.number))
    event = e.RunItemSettled(entry.number, entry.item, cmd.outcome, spent, cmd.detail)
    draft.emit("run", run.id, event)
    return None


def _refusal(draft: Draft, cmd: NoteRefusal) -> Refused | None:
    run = _held(draft, cmd.run, cmd.holder, "note a refusal of")
    if isinstance(run, Refused):
        return run
    if not _CODE.match(cmd.code):
        return bad("code", cmd.code, "a refusal's code")
    refused = _texts(cmd.item)
    if refused is not None or not one_line(cmd.message):
        return refused or bad("message", cmd.message, f"at most {LONGEST} printable characters")
    if run.refusals >= MOST_REFUSALS:
        return Refused(
            Code.TOO_MANY,
            f"cannot note a refusal of {run.id}: it keeps {MOST_REFUSALS} already",
            "stop the run and look at what refuses",
            {"run": run.id},
        )
    draft.emit("run", run.id, e.RunRefusalNoted(cmd.item, cmd.code, cmd.message))
    return None


def _resume(draft: Draft, cmd: ResumeRun) -> Refused | None:
    run = _find(draft, cmd.run)
    if isinstance(run, Refused):
        return run
    if run.status is RunStatus.STOPPED:
        return _over(run, "resume")
    if not HOLDER.match(cmd.holder) or cmd.holder == run.holder:
        return bad("holder", cmd.holder, "a nonce of its own: 1 to 64 letters, digits or . _ -")
    if draft.ask.actor not in (run.started_by, run.actor) and kind_of(draft) != ActorKind.HUMAN:
        return Refused(
            Code.RUN_OF_ANOTHER,
            f"cannot resume {run.id} as {draft.ask.actor}: {run.started_by} started it",
            "resume it as who started it, as its agent, or as a human",
            {"run": run.id, "started_by": run.started_by},
        )
    draft.emit("run", run.id, e.RunResumed(cmd.holder, run.holder))
    return None


def _ask_stop(draft: Draft, cmd: AskRunStop) -> Refused | None:
    run = _find(draft, cmd.run)
    if isinstance(run, Refused):
        return run
    if cmd.how not in _HOW:
        return bad("way to stop", cmd.how, "finish or now")
    if run.status is RunStatus.STOPPED:
        return _over(run, "stop")
    if cmd.how == run.stop_asked or run.stop_asked == "now":
        return None
    draft.emit("run", run.id, e.RunStopAsked(cmd.how))
    return None


def _stop(draft: Draft, cmd: StopRun) -> Refused | None:
    run = _held(draft, cmd.run, cmd.holder, "stop")
    if isinstance(run, Refused):
        return run
    if cmd.stopped_by not in list(StoppedBy):
        return bad("reason to stop", cmd.stopped_by, "one of " + ", ".join(StoppedBy))
    if run.live:
        names = [entry.item for entry in run.live]
        return Refused(
            Code.RUN_ITEM_LIVE,
            f"cannot stop {run.id}: {', '.join(names[:5])} are not settled",
            "settle them first",
            {"run": run.id, "items": names},
        )
    draft.emit("run", run.id, e.RunStopped(cmd.stopped_by))
    return None


HANDLERS: Final[dict[type[Command], Callable[[Draft, Any], Refused | None]]] = {
    StartRun: start,
    ChooseItem: _choose,
    CheckpointRun: _checkpoint,
    SettleRunItem: _settle,
    NoteRefusal: _refusal,
    ResumeRun: _resume,
    AskRunStop: _ask_stop,
    StopRun: _stop,
}
