"""Folds of the moves of an item: verdicts, leases, reports, review, ship, verification, triage.

Every change of status on the ledger passes through ``_moved``, which checks it against the table
and keeps counts, lanes and loads in step (INV-4). A lease lives in the item that it is a lease on,
so at most one can be live (INV-8), and a move out of ``leased`` always ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import item_events as e
from remit.core.change import changed
from remit.core.effect_facts import Intent
from remit.core.events import Event, Recorded
from remit.core.evolve import limits
from remit.core.evolve.moves import Get, Out, account, add, check_move, item_of, load
from remit.core.facts import Assurance, Hold, Item, Push, RowOutcome, Triage, Work
from remit.core.fold import FoldError
from remit.core.ids import EPOCH_SHIFT
from remit.core.rows import Verdict
from remit.core.status import Outcome, Status

BUDGET: Final = "budget-exhausted"
"""The kind of triage record that stops the scopes that its evidence names."""

REQUEST: Final = "pull-request"
"""The way of work that is proposed to a host instead of being pushed to main."""

Handler = Callable[[Get, Recorded, Any, Out], None]


def _moved(get: Get, rec: Recorded, ev: Any, out: Out, item: Item, **new: Any) -> None:
    """Write the item in its new status; a lease ends with any move out of ``leased``."""
    to = check_move(rec, item, ev.transition_id, ev.from_, ev.to)
    account(get, out, item, to)
    if item.lease is not None and to is not Status.LEASED:
        load(get, out, item, item.lease.actor, -1)
        new["lease"] = None
        clean = isinstance(ev, e.LeaseReleased) and ev.returned
        late = isinstance(ev, e.LeaseExpired) or rec.at >= item.lease.expires_at
        limits.ended(get, out, item, item.lease, clean=clean, expired=late)
    out["item", rec.stream] = changed(
        item, version=rec.version, changed_at=rec.at, status=to, **new
    )


def _kept(rec: Recorded, out: Out, item: Item, **new: Any) -> None:
    out["item", rec.stream] = changed(item, version=rec.version, changed_at=rec.at, **new)


def _hold(reason: str, trigger: str, owner: str = "admission") -> Hold | None:
    """A hold; one that waits for a look-up is its retry owner's."""
    if trigger.startswith("reconcile:"):
        owner = "retry"
    return Hold(reason, owner, trigger) if reason else None


def _queued(rec: Recorded, ev: Any) -> dict[str, Any]:
    """Fields of an item that goes back to ready or held by another move than T01 or T02."""
    if ev.to == Status.READY:
        return {"hold": None, "ready_at": rec.at, "rank": ev.rank}
    return {"hold": _hold(ev.hold_reason, ev.trigger), "rank": 0}


def _verdict(get: Get, rec: Recorded, ev: e.VerdictRecorded, out: Out) -> None:
    item = item_of(get, rec)
    hold = _hold(ev.reason, ev.trigger, ev.owner) if item.status is Status.HELD else item.hold
    _kept(rec, out, item, gate=ev.gate, hold=hold)


def _admitted(get: Get, rec: Recorded, ev: e.ItemAdmitted, out: Out) -> None:
    item = item_of(get, rec)
    _moved(get, rec, ev, out, item, gate="", hold=None, ready_at=rec.at, rank=ev.rank)


def _held(get: Get, rec: Recorded, ev: e.ItemHeld, out: Out) -> None:
    if not ev.reason or not ev.owner or not ev.trigger:
        raise FoldError(rec, "a hold needs a reason, an owner and a trigger (INV-3)")
    item = item_of(get, rec)
    hold = Hold(ev.reason, ev.owner, ev.trigger)
    _moved(get, rec, ev, out, item, gate="", hold=hold, rank=0)


def _leased(get: Get, rec: Recorded, ev: e.LeaseGranted, out: Out) -> None:
    item = item_of(get, rec)
    lease = ev.lease
    counter = add(get, out, "counter", "fence", 1)
    epoch: int = get("ledger", "ledger").epoch  # type: ignore[union-attr]  # always there
    if lease.fence != (epoch << EPOCH_SHIFT) | counter:
        raise FoldError(rec, f"fence {lease.fence} is not the next one (INV-7)")
    if lease.attempt != item.attempt + 1 or lease.expires_at <= rec.at:
        raise FoldError(rec, f"lease {lease.id} does not follow attempt {item.attempt}")
    holders = item.holders
    if lease.actor not in holders:
        holders = (*holders, lease.actor)
    _moved(
        get,
        rec,
        ev,
        out,
        item,
        lease=lease,
        attempt=lease.attempt,
        counted=ev.counted,
        reported=False,
        holders=holders,
        work=None,
        results=(),
    )
    load(get, out, item, lease.actor, 1)
    limits.begun(get, rec, out, item, lease)


def _same_lease(rec: Recorded, item: Item, lease_id: str) -> None:
    if item.lease is None or item.lease.id != lease_id:
        raise FoldError(rec, f"{item.id} is not under lease {lease_id}")


def _renewed(get: Get, rec: Recorded, ev: e.LeaseRenewed, out: Out) -> None:
    item = item_of(get, rec)
    _same_lease(rec, item, ev.lease.id)
    if item.lease is None or ev.lease.fence != item.lease.fence:
        raise FoldError(rec, "a renewal keeps attempt and fence (INV-7)")
    _kept(rec, out, item, lease=ev.lease)


def _progress(get: Get, rec: Recorded, ev: e.ProgressReported, out: Out) -> None:
    item = item_of(get, rec)
    _same_lease(rec, item, ev.lease)
    _kept(rec, out, item, reported=True)


def _released(get: Get, rec: Recorded, ev: e.LeaseReleased, out: Out) -> None:
    item = item_of(get, rec)
    _same_lease(rec, item, ev.lease.id)
    counted = item.counted - 1 if ev.returned else item.counted
    _moved(get, rec, ev, out, item, counted=counted, **_after_lease(rec, ev, item))


def _expired(get: Get, rec: Recorded, ev: e.LeaseExpired, out: Out) -> None:
    item = item_of(get, rec)
    _same_lease(rec, item, ev.lease.id)
    _moved(get, rec, ev, out, item, **_after_lease(rec, ev, item))


def _after_lease(rec: Recorded, ev: Any, item: Item) -> dict[str, Any]:
    """Back in the queue with the old rank, so that a lost worker costs no place in line."""
    if ev.to == Status.READY:
        return {"hold": None, "rank": item.rank}
    return {"hold": _hold(ev.hold_reason, ev.trigger), "rank": 0}


def _completed(get: Get, rec: Recorded, ev: e.CompletionReported, out: Out) -> None:
    item = item_of(get, rec)
    _same_lease(rec, item, ev.lease.id)
    work = Work(ev.lease.id, ev.branch, ev.base, ev.head, ev.tree, rec.seq, "", 0, "", "", 0, "")
    _moved(get, rec, ev, out, item, work=work)


def _work(rec: Recorded, item: Item) -> Work:
    if item.work is None:
        raise FoldError(rec, f"{item.id} has no completed work")
    return item.work


def _approved(get: Get, rec: Recorded, ev: e.ReviewApproved, out: Out) -> None:
    item = item_of(get, rec)
    work = _work(rec, item)
    if rec.actor in item.holders:
        raise FoldError(rec, f"{rec.actor} held a lease on {item.id} and approved it (INV-16)")
    if ev.head != work.head:
        raise FoldError(rec, "approved another head than the one that was handed in")
    refs = (*ev.row_refs, *ev.requirement_refs)
    digests = (*ev.row_digests, *ev.requirement_digests)
    if len(ev.row_refs) != len(ev.row_digests) or len(refs) != len(digests):
        raise FoldError(rec, "an approval binds each row and requirement to one digest")
    proof = "" if rec.assurance == Assurance.ASSERTED else rec.assurance
    reviewed = changed(
        work,
        reviewer=rec.actor,
        review_seq=rec.seq,
        bound=tuple(zip(refs, digests, strict=True)),
        review_proof=proof,
    )
    _moved(get, rec, ev, out, item, work=reviewed)


def _reopened(get: Get, rec: Recorded, ev: e.ItemReopened, out: Out) -> None:
    item = item_of(get, rec)
    _moved(get, rec, ev, out, item, counted=0, **_queued(rec, ev))


def _integrated(get: Get, rec: Recorded, ev: e.IntegrationTested, out: Out) -> None:
    item = item_of(get, rec)
    work = _work(rec, item)
    if item.status is not Status.APPROVED or (ev.head, ev.approval) != (work.head, work.review_seq):
        raise FoldError(rec, f"integrated {ev.head} of {item.id}, which is not what was approved")
    if ev.effect:
        asked = ev.way == REQUEST
        push = Push(
            ev.effect, ev.way, ev.head if asked else ev.commit, ev.main_before, ev.remote, ev.ref,
            ev.markers, ev.in_flight_ms, rec.seq,
        )  # fmt: skip
        work = changed(work, request=push) if asked else changed(work, push=push)
    _kept(rec, out, item, work=work)


def _shipped(get: Get, rec: Recorded, ev: e.ShipObserved, out: Out) -> None:
    item = item_of(get, rec)
    work = changed(
        _work(rec, item), shipped=ev.observed_commit_sha, shipped_base=ev.base, ship_seq=rec.seq
    )
    _moved(get, rec, ev, out, item, work=work)


def _outlasts(old: RowOutcome, new: RowOutcome) -> bool:
    """Whether an answer is kept beside a later result that gave none at the same commit.

    A contradiction is kept whatever comes later: no third answer settles it.
    """
    if old.commit != new.commit:
        return False
    if old.result == Verdict.CONTRADICTED:
        return new.result != Verdict.CONTRADICTED
    return old.answered and not new.answered


def _verified(get: Get, rec: Recorded, ev: e.VerificationRecorded, out: Out) -> None:
    item = item_of(get, rec)
    if rec.actor in item.holders:
        raise FoldError(rec, f"{rec.actor} held a lease on {item.id} and verified it (INV-16)")
    new = {
        r.row: RowOutcome(
            r.row,
            r.requirement,
            r.result,
            ev.observed_commit_sha,
            r.executed,
            rec.seq,
            r.answered,
            r.digest,
            r.requirement_digest,
        )
        for r in ev.results
    }
    old = (r for r in item.results if r.row not in new or _outlasts(r, new[r.row]))
    results = (*old, *new.values())
    work = changed(_work(rec, item), waived=ev.waived)
    if ev.artifact_diff:
        work = changed(work, artifact_diff=ev.artifact_diff)
    extra: dict[str, Any] = {"results": results, "work": work}
    if not ev.transition_id:
        _kept(rec, out, item, **extra)
        return
    if ev.to == Status.TRIAGED:
        extra |= _record(get, rec, out, item, ev.record, ev.triage_kind)
    _moved(get, rec, ev, out, item, **extra)


def _stale(get: Get, rec: Recorded, ev: e.ResultsMarkedStale, out: Out) -> None:
    item = item_of(get, rec)
    if item.status is not Status.VERIFIED or set(ev.rows) & set(item.stale) or not ev.rows:
        raise FoldError(rec, f"{item.id} has no such results to mark")
    _kept(rec, out, item, stale=(*item.stale, *ev.rows))


def _succeeded(get: Get, rec: Recorded, ev: e.SuccessorLinked, out: Out) -> None:
    item = item_of(get, rec)
    if item.status is not Status.VERIFIED or not item.stale or item.successor:
        raise FoldError(rec, f"{item.id} has no stale results that wait for a successor")
    _kept(rec, out, item, successor=ev.successor)


def _record(
    get: Get, rec: Recorded, out: Out, item: Item, record: str, kind: str
) -> dict[str, Any]:
    if f"T-{add(get, out, 'counter', 'triage', 1)}" != record:
        raise FoldError(rec, f"{record} is not the next triage record")
    out["triage", record] = Triage(record, item.id, kind, True, rec.seq, "")
    origin = item.triaged_from if item.status is Status.TRIAGED else item.status
    return {"triage": (*item.triage, record), "triaged_from": origin, "hold": None}


def _triaged(get: Get, rec: Recorded, ev: e.ItemTriaged, out: Out) -> None:
    item = item_of(get, rec)
    extra = _record(get, rec, out, item, ev.record, ev.triage_kind)
    for evidence in ev.evidence:
        kind, _, scope = evidence.partition(":")
        if ev.triage_kind == BUDGET and kind == "stops":
            limits.stop(get, out, scope, ev.record)
    if ev.transition_id:
        _moved(get, rec, ev, out, item, **extra)
    elif item.status is Status.TRIAGED:
        _kept(rec, out, item, **extra)
    else:
        raise FoldError(rec, f"{item.id} is not triaged")


def _settle_record(get: Get, rec: Recorded, out: Out, item: Item, record: str, how: str) -> None:
    triage = get("triage", record)
    if not isinstance(triage, Triage) or triage.item != item.id or record not in item.triage:
        raise FoldError(rec, f"{record} is not an open record of {item.id}")
    out["triage", record] = changed(triage, open=False, resolution=how)
    if triage.kind == BUDGET:
        limits.free(get, out, item, record)


def _resolved(get: Get, rec: Recorded, ev: e.TriageResolved, out: Out) -> None:
    item = item_of(get, rec)
    _settle_record(get, rec, out, item, ev.record, ev.resolution)
    rest = tuple(r for r in item.triage if r != ev.record)
    if not ev.transition_id:
        _kept(rec, out, item, triage=rest)
        return
    if rest:
        raise FoldError(rec, f"{item.id} has open records: {', '.join(rest)}")
    extra: dict[str, Any] = {"triage": (), "triaged_from": None}
    if ev.to in (Status.READY, Status.HELD):
        extra |= _queued(rec, ev)
        if ev.resolution != "reconciled":
            extra["counted"] = 0
            _begin_again(get, rec, out)
    _moved(get, rec, ev, out, item, **extra)


def _begin_again(get: Get, rec: Recorded, out: Out) -> None:
    """Somebody decided that effect work is tried again: its retries count from here."""
    intent = get("intent", rec.stream)
    if isinstance(intent, Intent) and intent.retries:
        out["intent", rec.stream] = changed(intent, retries=0, retry_started_at=0)


def _closed(get: Get, rec: Recorded, ev: e.ItemClosed, out: Out) -> None:
    item = item_of(get, rec)
    for record in ev.resolved:
        _settle_record(get, rec, out, item, record, f"closed {ev.outcome}")
    if set(ev.resolved) != set(item.triage):
        raise FoldError(rec, f"{item.id} closes with open triage records")
    source = item.source
    if source is not None:
        source = changed(source, satisfies=ev.satisfies, failed=ev.failed)
    _moved(
        get,
        rec,
        ev,
        out,
        item,
        outcome=Outcome(ev.outcome),
        successor=ev.successor,
        triage=(),
        triaged_from=None,
        hold=None,
        gate="",
        source=source,
    )


HANDLERS: Final[dict[type[Event], Handler]] = {
    e.VerdictRecorded: _verdict,
    e.ItemAdmitted: _admitted,
    e.ItemHeld: _held,
    e.LeaseGranted: _leased,
    e.LeaseRenewed: _renewed,
    e.ProgressReported: _progress,
    e.LeaseReleased: _released,
    e.LeaseExpired: _expired,
    e.CompletionReported: _completed,
    e.ReviewApproved: _approved,
    e.ItemReopened: _reopened,
    e.IntegrationTested: _integrated,
    e.ShipObserved: _shipped,
    e.VerificationRecorded: _verified,
    e.ResultsMarkedStale: _stale,
    e.SuccessorLinked: _succeeded,
    e.ItemTriaged: _triaged,
    e.TriageResolved: _resolved,
    e.ItemClosed: _closed,
}
