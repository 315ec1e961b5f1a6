"""Decisions on integrating approved work: what was tested is what may be pushed, and nothing else.

The push is intended without a lease, by compare-and-set on the item: the head and the approval must be
those that were looked at, proved and not stale, as for a ship. Rows decide before anything leaves: one
that failed on exactly this commit puts the item aside, one that gave no answer refuses, and neither
intends anything. The item stays approved until main was seen with the commit (T08), or until it is put
aside: where the remote contradicts what was sent, or where nothing can ever say what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import effect_events as v
from remit.core import item_events as e
from remit.core.binding import requirement_digest
from remit.core.checks import Check, Result
from remit.core.claims import effect_named, note_epoch, state_of
from remit.core.decide.asking import bad
from remit.core.decide.delivery import approved_for
from remit.core.decide.pushing import push_of
from remit.core.effect_facts import Effect, EffectState, ReplayClass
from remit.core.effect_states import INTENDABLE
from remit.core.facts import Item, Push, Row, Work
from remit.core.gitfacts import is_full_sha
from remit.core.ids import effect_key
from remit.core.pushes import (
    OPERATION,
    REQUEST,
    push_attempt,
    push_claims,
    push_digest,
    push_effect,
    push_fence,
    push_record,
    request_effect,
)
from remit.core.refusals import Code, Refused
from remit.core.rows import RowKind, RowReason, Verdict
from remit.core.triage import put_aside
from remit.core.triage_records import (
    Evidence,
    failed_rows,
    merge_conflict,
    scope_breach,
    ship_unverifiable,
)
from remit.core.view import Draft
from remit.core.waivers import waiver_of

WAYS: Final = ("merge", "rebase", "fast-forward", REQUEST)
"""How the approved head gets onto main, or is proposed for it."""

MAX_EVIDENCE: Final = 100
MAX_SAID: Final = 500
"""Most names of an event's list, and the longest word of a remote, in characters."""

_ENDS: Final = ("answered", "refused", "unsent", "unanswered")


def _same_approval(
    draft: Draft, cmd: c.IntendPush | c.FailIntegration
) -> tuple[Item, Work] | Refused:
    """The item as it was looked at; nothing of what was tested holds for another one."""
    found = approved_for(draft, cmd.item, "integrate")
    if isinstance(found, Refused):
        return found
    item, work = found
    if (cmd.head, cmd.approval) == (work.head, work.review_seq):
        return item, work
    return Refused(
        Code.APPROVAL_STALE,
        f"cannot integrate {item.id}: {cmd.head} of approval {cmd.approval} was tested, and now"
        f" {work.head} is approved by {work.review_seq}",
        f"integrate again: 'remit integrate {item.id}'",
        {"item": item.id, "head": work.head, "approval": work.review_seq},
    )


def _intend(draft: Draft, cmd: c.IntendPush) -> Refused | None:
    found = _same_approval(draft, cmd)
    if isinstance(found, Refused):
        return found
    item, work = found
    refused = _unsound(draft, item, cmd)
    if refused is not None:
        return refused
    waived = _waived(draft, item)
    failed = [f for f in cmd.findings if f.row not in waived and row_answer(f) is Result.FAIL]
    diff = cmd.artifact_diff
    if failed or diff == Result.FAIL:
        _tested(draft, item, work, cmd, waived, "")
        _aside(draft, draft.item(item.id) or item, cmd, failed)
        return None
    silent = [
        f.row for f in cmd.findings if f.row not in waived and row_answer(f) is Result.BLOCKED
    ]
    if silent or diff != Result.PASS:
        return _blocked(item, cmd, silent)
    if draft.ledger.kill_switch:
        return Refused(
            Code.KILL_SWITCH_ON,
            f"cannot integrate {item.id}: the kill switch is engaged",
            "integrate it when a human has released the switch",
            {"item": item.id},
        )
    return _push(draft, item, work, cmd, waived)


def _unsound(draft: Draft, item: Item, cmd: c.IntendPush) -> Refused | None:
    """Refuse what nobody can have tested: names that are none, and rows that are not the item's."""
    for what in ("head", "main_before", "commit", "tree"):
        if not is_full_sha(getattr(cmd, what)):
            return bad(what, getattr(cmd, what), "a full object name in lower-case hexadecimal")
    if cmd.way not in WAYS:
        return bad("way", cmd.way, "one of " + ", ".join(WAYS))
    plain = cmd.way == "fast-forward"
    if (cmd.way != REQUEST and plain != (cmd.commit == cmd.head)) or cmd.commit == cmd.main_before:
        return bad("commit", cmd.commit, f"what {cmd.way} makes of {cmd.head} on {cmd.main_before}")
    if cmd.artifact_diff not in [r.value for r in Result]:
        return bad("artifact diff", cmd.artifact_diff, "PASS, FAIL, BLOCKED or NOT_TESTED")
    rows = [finding.row for finding in cmd.findings]
    if sorted(rows) != sorted(item.plan.rows):
        return bad("findings", ", ".join(rows), "one for each row of the item")
    for finding in cmd.findings:
        row = draft.get("row", finding.row)
        if not isinstance(row, Row) or row.digest != finding.digest:
            return Refused(
                Code.VERIFICATION_STALE,
                f"cannot integrate {item.id}: {finding.row} was tested in another revision",
                "integrate it again",
                {"item": item.id, "row": finding.row},
            )
        if finding.result not in list(Verdict):
            return bad("result", finding.result, "one of " + ", ".join(Verdict))
        if row.kind != RowKind.RUBRIC and finding.result == Verdict.NOT_MACHINE_CHECKABLE:
            return bad("result", finding.result, f"what the command of {row.id} came to")
    return None


def row_answer(finding: c.RowFinding) -> Result:
    """What a row says of the commit that would land: PASS, FAIL, or BLOCKED where it says nothing.

    A rubric has nothing to run; a human scores it at the shipped commit.
    """
    match finding.result:
        case Verdict.VERIFIED:
            return Result.PASS if finding.executed > 0 and not finding.skipped else Result.BLOCKED
        case Verdict.NOT_MACHINE_CHECKABLE:
            return Result.NOT_TESTED
        case Verdict.CONTRADICTED:
            return Result.FAIL
        case _:
            failed = any(check.result == Result.FAIL for check in finding.checks)
            return Result.FAIL if failed else Result.BLOCKED


def _waived(draft: Draft, item: Item) -> dict[str, str]:
    rows = (draft.get("row", name) for name in item.plan.rows)
    found = {row.id: waiver_of(draft.get, row, draft.now) for row in rows if isinstance(row, Row)}
    return {row: decision for row, decision in found.items() if decision}


def _blocked(item: Item, cmd: c.IntendPush, silent: list[str]) -> Refused:
    lacking = silent or ["the artifact diff"]
    return Refused(
        Code.ROWS_BLOCKED,
        f"cannot integrate {item.id}: {', '.join(lacking[:5])} gave no answer on {cmd.commit};"
        " expected one of each, and nothing was pushed",
        "see why with --json, make it able to run, and integrate again",
        {
            "item": item.id,
            "commit": cmd.commit,
            "blocked": lacking[:MAX_EVIDENCE],
            "reasons": {f.row: f.reason for f in cmd.findings if f.row in silent},
        },
    )


def _aside(draft: Draft, item: Item, cmd: c.IntendPush, failed: list[c.RowFinding]) -> None:
    """T10 with what was tested: which commit, onto which main, and which row said what."""
    reason = f"what {cmd.way} made of it does not pass"
    put_aside(draft, item, _failure(draft, item, cmd, failed), reason=reason)


def _failure(draft: Draft, item: Item, cmd: c.IntendPush, failed: list[c.RowFinding]) -> Evidence:
    if failed:
        rows = [draft.get("row", finding.row) for finding in failed]
        return failed_rows(
            commit=cmd.commit,
            row=[finding.row for finding in failed],
            requirement=[row.requirement for row in rows if isinstance(row, Row)],
            found=[finding.reason or finding.result for finding in failed],
            log=[finding.log for finding in failed if finding.log],
            main=cmd.main_before,
        )
    if cmd.out_of_scope:
        return scope_breach(
            outside=cmd.out_of_scope,
            scope=item.plan.scope,
            base=cmd.main_before,
            head=cmd.commit,
        )
    return ship_unverifiable(
        why=RowReason.ARTIFACT_MISSING,
        commit=cmd.commit,
        main=cmd.main_before,
        remote=cmd.remote,
        ref=cmd.ref,
    )


def _push(
    draft: Draft, item: Item, work: Work, cmd: c.IntendPush, waived: dict[str, str]
) -> Refused | None:
    """Intend the push, unless an earlier one is open or there."""
    asked = cmd.way == REQUEST
    name = request_effect(work.lease) if asked else push_effect(item.id)
    push = _planned(cmd, name)
    digest = push_digest(push.commit, "" if asked else cmd.main_before)
    record = push_record(push)
    effect = effect_named(draft, name)
    if effect is not None and effect.item != item.id:
        return Refused(
            Code.EFFECT_CONFLICT,
            f"cannot integrate {item.id}: the effect {name} belongs to {effect.item}",
            f"see 'remit show {effect.item}'",
            {"item": item.id, "effect": name, "holder": effect.item},
        )
    older = asked or work.push is not None  # else what is known of it is of another round of work
    unknown = effect is not None and state_of(draft, effect) not in INTENDABLE
    if effect is not None and unknown and (older or effect.state not in INTENDABLE):
        return open_push(item, effect, state_of(draft, effect))
    if effect is None:
        event = v.EffectClaimed(
            item.id,
            REQUEST if asked else OPERATION,
            digest,
            record,
            ReplayClass.RECONCILABLE,
            effect_key(name),
            "",
        )
        draft.emit("effect", name, event)
    note_epoch(draft, name)
    effect = effect_named(draft, name)
    assert effect is not None, "it was claimed just now"
    _tested(draft, item, work, cmd, waived, name)
    if state_of(draft, effect) in INTENDABLE:  # else an older epoch may have pushed: look first
        draft.emit("effect", name, _intent(draft, item, effect, cmd, push, digest))
    return None


def open_push(item: Item, effect: Effect, state: EffectState) -> Refused:
    """Why nothing is pushed beside an earlier push (INV-14)."""
    there = state is EffectState.PRESENT
    return Refused(
        Code.EFFECT_PRESENT if there else Code.EFFECT_UNRECONCILED,
        f"cannot push {item.id} again: its push {effect.id} is {state}",
        f"'remit integrate {item.id}' goes on from what was seen; 'remit reconcile {effect.id}'"
        " looks it up",
        {"item": item.id, "effect": effect.id, "state": str(state)},
    )


def _planned(cmd: c.IntendPush, effect: str) -> Push:
    commit = cmd.head if cmd.way == REQUEST else cmd.commit
    return Push(
        effect, cmd.way, commit, cmd.main_before, cmd.remote, cmd.ref, cmd.markers,
        cmd.in_flight_ms, 0,
    )  # fmt: skip


def _intent(
    draft: Draft, item: Item, effect: Effect, cmd: c.IntendPush, push: Push, digest: str
) -> v.EffectIntended:
    epoch, intents = draft.ledger.epoch, effect.intents
    return v.EffectIntended(
        item.id,
        push_attempt(epoch, item.id, intents + 1),
        "",
        push_fence(epoch, intents),
        push.commit,
        digest,
        effect.key,
        push_record(push),
        None,
        None,
        f"{cmd.ref} of {cmd.remote}",
        f"commit equals {push.commit}",
        ReplayClass.RECONCILABLE,
        "",
        (
            Check("approval", Result.PASS, str(cmd.approval), "current", f"seq:{cmd.approval}"),
            Check("prior-effect", Result.PASS, "none open", "none open"),
            *push_claims(push),
        ),
    )


def _tested(
    draft: Draft, item: Item, work: Work, cmd: c.IntendPush, waived: dict[str, str], effect: str
) -> None:
    records = tuple(_record(draft, finding) for finding in cmd.findings)
    event = e.IntegrationTested(
        effect,
        cmd.way,
        cmd.head,
        work.base,
        cmd.approval,
        cmd.main_before,
        cmd.commit,
        cmd.tree,
        cmd.remote,
        cmd.ref,
        cmd.markers,
        cmd.in_flight_ms,
        records,
        cmd.artifact_diff,
        cmd.missing_artifacts[:MAX_EVIDENCE],
        cmd.out_of_scope[:MAX_EVIDENCE],
        tuple(waived.items()),
    )
    draft.emit("item", item.id, event)


def _record(draft: Draft, finding: c.RowFinding) -> e.RowResultRecord:
    row = draft.get("row", finding.row)
    assert isinstance(row, Row), "it was looked at"
    return e.RowResultRecord(
        finding.row,
        row.requirement,
        finding.digest,
        requirement_digest(draft.get, row.requirement),
        finding.result,
        finding.reason,
        finding.executed,
        finding.skipped,
        finding.answered,
        finding.log,
        finding.checks,
    )


def _fail(draft: Draft, cmd: c.FailIntegration) -> Refused | None:
    found = _same_approval(draft, cmd)
    if isinstance(found, Refused):
        return found
    item, _ = found
    for what in ("main", "base"):
        if not is_full_sha(getattr(cmd, what)):
            return bad(what, getattr(cmd, what), "a full object name in lower-case hexadecimal")
    if not cmd.paths or cmd.way not in WAYS:
        return bad("conflict", cmd.way, "a way, and the paths that clash")
    clash = merge_conflict(base=cmd.base, head=cmd.head, main=cmd.main, path=cmd.paths, way=cmd.way)
    put_aside(draft, item, clash, reason=cmd.reason.inline, text_ref=cmd.reason.ref)
    return None


def _note(draft: Draft, cmd: c.NotePush) -> Refused | None:
    """How a sender ended. Only an answer says that nothing is under way; silence says nothing."""
    effect = effect_named(draft, cmd.effect)
    item = draft.item(effect.item) if effect is not None else None
    push = push_of(item, cmd.effect) if item is not None else None
    if effect is None or push is None:
        return bad("effect", cmd.effect, "the push of an item that was intended")
    if cmd.end not in _ENDS:
        return bad("end", cmd.end, "one of " + ", ".join(_ENDS))
    if effect.attempt != cmd.attempt or effect.terminated_at is not None:
        return bad("attempt", cmd.attempt, f"the one that intended {effect.id}, noted once")
    if state_of(draft, effect) not in (EffectState.INTENDED, EffectState.UNCERTAIN):
        return None  # it was looked up meanwhile, and more is known
    said = cmd.said[:MAX_SAID]
    until: int | None = draft.now
    if cmd.end == "unanswered":
        draft.emit("effect", effect.id, v.EffectUncertain("NO_RESPONSE", draft.ledger.epoch, None))
        until = None if push.in_flight_ms is None else draft.now + push.in_flight_ms * 1_000
    elif cmd.end != "unsent":
        draft.emit(
            "effect", effect.id, v.EffectSent(cmd.attempt, effect.fence, effect.payload_digest)
        )
        answer = v.EffectAnswered(
            cmd.attempt, effect.fence, said or cmd.end, "", "", "", authoritative=False
        )
        draft.emit("effect", effect.id, answer)
    evidence = f"{cmd.end}: {said}" if said else cmd.end
    ended = v.WorkerTerminated(cmd.attempt, evidence[:MAX_SAID], draft.now, until)
    draft.emit("effect", effect.id, ended)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.IntendPush: _intend,
    c.FailIntegration: _fail,
    c.NotePush: _note,
}

__all__ = ["HANDLERS", "WAYS", "open_push", "row_answer"]
