"""What a verifier's findings mean for the item: verified, a record for triage, or not yet enough.

T09 needs every row of the item verified at exactly the shipped commit, or waived by an accepted
decision, and the artifact diff passed. A gap or a contradiction is T10. One row that gives two
answers on one commit is contradicted and is never retried into green, by no third answer, no other
verifier and no later epoch; a run that gave no answer is a gap, but no answer either. What was
approved must be what is registered still, or the item is put aside as ``scope-changed``. A rubric is
scored by a human, a command by the enrolled verifier, and neither by anybody who held a lease on the
item or approved it (INV-16). A score that nobody signed, where policy asks for signatures, closes nothing.
"""

from __future__ import annotations

import re

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.believing import doubted
from remit.core.binding import bindings, requirement_digest, unlike
from remit.core.checks import Result
from remit.core.decide.asking import bad, find, kind_of, moving
from remit.core.decide.proving import enact
from remit.core.facts import ActorKind, Item, Row, RowOutcome, Work
from remit.core.refusals import Code, Refused
from remit.core.rows import RowKind, Verdict
from remit.core.status import Status
from remit.core.triage import TriageKind
from remit.core.view import Draft
from remit.core.waivers import waiver_of

_ANSWERS = (Verdict.VERIFIED, Verdict.SHIP_VERIFY_GAP)
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")


def _may_verify(draft: Draft, item: Item, work: Work) -> Refused | None:
    actor = draft.ask.actor
    if actor in item.holders:
        return Refused(
            Code.VERIFIER_IS_IMPLEMENTER,
            f"cannot verify {item.id} as {actor}: it held a lease on it",
            "let another verifier do it",
            {"item": item.id, "holders": list(item.holders)},
        )
    if actor == work.reviewer:
        return Refused(
            Code.VERIFIER_IS_REVIEWER,
            f"cannot verify {item.id} as {actor}: it approved it",
            "reviewer and verifier are different actors: let another one do it",
            {"item": item.id, "reviewer": work.reviewer},
        )
    return None


def _sound(draft: Draft, cmd: c.RecordVerification) -> Refused | None:
    """Refuse an artifact diff that no service made, and findings that name a row twice."""
    if cmd.artifact_diff not in ("", *(r.value for r in Result)):
        return bad("artifact diff", cmd.artifact_diff, "PASS, FAIL, BLOCKED, NOT_TESTED or none")
    if cmd.artifact_diff and kind_of(draft) is not ActorKind.SERVICE:
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot record an artifact diff of {cmd.item} as {draft.ask.actor}: a service makes it",
            "'remit verify' compares the artifacts as the built-in verifier",
            {"actor": draft.ask.actor},
        )
    rows = [finding.row for finding in cmd.findings]
    if len(set(rows)) != len(rows):
        return bad("findings", ", ".join(rows), "one finding for each row")
    return None


def _fits(draft: Draft, item: Item, finding: c.RowFinding) -> Row | Refused:
    row = draft.get("row", finding.row) if finding.row in item.plan.rows else None
    if not isinstance(row, Row):
        return bad("row", finding.row, f"one of the rows of {item.id}")
    if row.digest != finding.digest:
        return Refused(
            Code.VERIFICATION_STALE,
            f"the finding for {row.id} is bound to another revision of the row",
            "verify again",
            {"row": row.id, "registered": row.digest, "found": finding.digest},
        )
    if finding.result not in list(Verdict):
        return bad("result", finding.result, "one of " + ", ".join(Verdict))
    if finding.result == Verdict.VERIFIED and (finding.executed < 1 or finding.skipped):
        found = f"{finding.executed} executed, {finding.skipped} skipped"
        return bad(f"verified result of {row.id}", found, "checks executed and none skipped")
    by_machine = finding.result == Verdict.VERIFIED and row.kind != RowKind.RUBRIC
    if by_machine and _DIGEST.match(finding.log) is None:
        return bad(f"log of {row.id}", finding.log, "the digest of the log that was kept")
    kind = kind_of(draft)
    needed = ActorKind.HUMAN if row.kind == RowKind.RUBRIC else ActorKind.SERVICE
    judged = finding.result != Verdict.NOT_MACHINE_CHECKABLE
    if kind is not needed and (judged or kind is ActorKind.AGENT):
        return Refused(
            Code.ACTOR_KIND_REFUSED,
            f"cannot record a result of {row.id} as {draft.ask.actor}: a {row.kind} row is judged"
            f" by a {needed}",
            "'remit verify' runs commands as the built-in verifier; a human scores a rubric with"
            " --row and --pass or --fail",
            {"row": row.id, "kind": row.kind},
        )
    return row


def _answers(finding: c.RowFinding) -> bool:
    """Whether the row answered: with checks that ran, or by the way in which its command ended."""
    if finding.result == Verdict.NOT_MACHINE_CHECKABLE:
        return False
    return finding.answered or finding.executed > 0 or finding.result == Verdict.CONTRADICTED


def _result(item: Item, finding: c.RowFinding, commit: str) -> str:
    """The finding's result, or ``contradicted`` where the row ever answered otherwise there.

    That the row has another digest by now makes no new question of it: work that shipped under one
    row is never judged by a kinder one.
    """
    for old in item.results:
        if old.row != finding.row or old.commit != commit or not _answers(finding):
            continue
        told = old.answered and old.result in _ANSWERS and old.result != finding.result
        if told or old.result == Verdict.CONTRADICTED:
            return Verdict.CONTRADICTED
    return finding.result


def _record_of(
    draft: Draft, item: Item, row: Row, finding: c.RowFinding, commit: str
) -> e.RowResultRecord:
    return e.RowResultRecord(
        finding.row,
        row.requirement,
        finding.digest,
        requirement_digest(draft.get, row.requirement),
        _result(item, finding, commit),
        finding.reason,
        finding.executed,
        finding.skipped,
        _answers(finding),
        finding.log,
        finding.checks,
    )


def _waived(draft: Draft, item: Item) -> dict[str, str]:
    """Rows of the item that may go unproved, each with the decision that lets them."""
    rows = (draft.get("row", name) for name in item.plan.rows)
    found = {row.id: waiver_of(draft.get, row, draft.now) for row in rows if isinstance(row, Row)}
    return {row: decision for row, decision in found.items() if decision}


def _outcome(
    item: Item,
    commit: str,
    records: tuple[e.RowResultRecord, ...],
    artifact_diff: str,
    waived: dict[str, str],
    doubts: tuple[str, ...],
) -> tuple[str, Status, TriageKind | None]:
    """Transition, target and triage kind that all results together lead to.

    A waived row neither proves nor stops anything, and a good result that is doubted proves nothing.
    """
    latest: dict[str, str] = {}
    here = (r for r in item.results if r.commit == commit)
    merged: list[RowOutcome | e.RowResultRecord] = [
        r for r in here if r.row not in doubts or r.result != Verdict.VERIFIED
    ]
    counted = [known for known in (*merged, *records) if known.row not in waived]
    for known in counted:
        latest[known.row] = known.result
    if any(known.result == Verdict.CONTRADICTED for known in counted):
        return "T10", Status.TRIAGED, TriageKind.CONTRADICTED
    if Verdict.SHIP_VERIFY_GAP in latest.values() or artifact_diff not in ("", "PASS"):
        return "T10", Status.TRIAGED, TriageKind.VERIFIER_GAP
    complete = all(row in waived or latest.get(row) == Verdict.VERIFIED for row in item.plan.rows)
    if item.plan.rows and complete and artifact_diff == "PASS":
        return "T09", Status.VERIFIED, None
    return "", item.status, None


def record(draft: Draft, cmd: c.RecordVerification) -> Refused | None:
    """Record findings, and T09 or T10 where they decide."""
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    work = item.work
    if item.status is not Status.SHIPPED or work is None:
        return moving(item, "T09", Status.VERIFIED) or bad("item", item.id, "shipped work")
    if cmd.commit != work.shipped:
        return Refused(
            Code.VERIFICATION_STALE,
            f"cannot record a verification of {item.id} at {cmd.commit}: {work.shipped} shipped",
            "verify the shipped commit",
            {"item": item.id, "shipped": work.shipped},
        )
    refused = _may_verify(draft, item, work) or _sound(draft, cmd)
    if refused is not None:
        return refused
    records = []
    for finding in cmd.findings:
        row = _fits(draft, item, finding)
        if isinstance(row, Refused):
            return row
        records.append(_record_of(draft, item, row, finding, cmd.commit))
    diff = cmd.artifact_diff or work.artifact_diff
    waived = _waived(draft, item)
    changed = unlike(work.bound, bindings(draft.get, item.plan))
    doubts = doubted(draft.get, item.results)
    tid, to, kind = _outcome(item, cmd.commit, tuple(records), diff, waived, doubts)
    if changed:
        tid, to, kind = "T10", Status.TRIAGED, TriageKind.SCOPE_CHANGED
    triage = f"T-{draft.counter('triage') + 1}" if kind else ""
    if triage:
        draft.new("triage", triage)
    event = e.VerificationRecorded(
        tid,
        item.status,
        to,
        f"VR-{item.number}.{item.version + 1}",
        cmd.commit,
        tuple(records),
        cmd.artifact_diff,
        cmd.missing_artifacts,
        cmd.out_of_scope,
        cmd.requested_by,
        triage,
        kind or "",
        tuple(waived.items()),
        changed,
    )
    if kind_of(draft) is not ActorKind.HUMAN:
        draft.emit("item", item.id, event)
        return None
    return enact(draft, f"score {item.id}", ("item", item.id, event))
