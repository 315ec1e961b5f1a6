"""Decisions from hand-in to verified: completion, review, ship, verification, attempt evidence.

Four different people stand behind these four steps, or at least four different actors: whoever held
a lease may neither approve nor verify, and the reviewer does not verify (INV-16). A completion is
not an approval, a merged commit is not a verification, and only an observation ships. An approval is
bound to the head and tree, the rows and the requirements that were looked at: where one of them is
another now nothing ships on it, and it is a reviewer who sends the item back (T07).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core import commands as c
from remit.core import item_events as e
from remit.core.admission import requeue
from remit.core.binding import binding_digest, bindings, unlike
from remit.core.decide.asking import bad, fenced, find, late_report, moving
from remit.core.decide.proving import enact
from remit.core.decide.reports import attempt_of
from remit.core.decide.verification import record as record_verification
from remit.core.events import CloneMade, CommitsTaken
from remit.core.facts import Assurance, Item, Work
from remit.core.gitfacts import MatchedBy, is_full_sha
from remit.core.limits import misspent, put_over_budget, settle_spend
from remit.core.refusals import Code, Refused
from remit.core.settlement import review
from remit.core.status import Status
from remit.core.view import Draft

MAX_COMMITS: Final = 1_000
"""Most commits that a completion lists."""


def _complete(draft: Draft, cmd: c.ReportCompletion) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    for what, sha in (("head", cmd.head), ("base", cmd.base)):
        if not is_full_sha(sha):
            return bad(what, sha, "a full commit id in lower-case hexadecimal")
    late = late_report(
        cmd.item,
        cmd.fence,
        "report:completion",
        cmd.text,
        cmd.spent_micros,
        branch=cmd.branch,
        head=cmd.head,
    )
    lease = fenced(draft, item, cmd.fence, "complete", late)
    if isinstance(lease, Refused):
        return lease
    refused = moving(item, "T05", Status.IN_REVIEW) or misspent(cmd.spent_micros)
    if refused is not None:
        return refused
    stops = settle_spend(draft, item, lease.fence, lease.spend_micros, cmd.spent_micros)
    event = e.CompletionReported(
        "T05",
        item.status,
        Status.IN_REVIEW,
        lease,
        cmd.branch,
        cmd.commits[:MAX_COMMITS],
        cmd.base,
        cmd.head,
        cmd.tree,
        cmd.taken_over,
        cmd.pr_url[:1_000],
        cmd.text.inline,
        cmd.text.ref,
    )
    draft.emit("item", item.id, event)
    put_over_budget(draft, item.id, lease.fence, stops)
    return None


def _handed_in(item: Item, doing: str) -> Work | Refused:
    if item.work is not None:
        return item.work
    return Refused(
        Code.NOTHING_TO_REVIEW,
        f"cannot {doing} {item.id}: nothing was handed in, it is {item.status}",
        f"see 'remit show {item.id}'",
        {"item": item.id, "status": str(item.status)},
    )


def _review(draft: Draft, cmd: c.ReviewWork) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    work = _handed_in(item, "review")
    if isinstance(work, Refused):
        return work
    if not cmd.reason.inline.strip() and not cmd.reason.ref:
        return bad("reason", "", "why the work is approved or rejected")
    if draft.ask.actor in item.holders:
        return Refused(
            Code.REVIEWER_IS_IMPLEMENTER,
            f"cannot review {item.id} as {draft.ask.actor}: it held a lease on it",
            "let somebody review who never held a lease on this item: --as NAME",
            {"item": item.id, "holders": list(item.holders)},
        )
    if cmd.head and cmd.head != work.head:
        return Refused(
            Code.REVIEW_STALE,
            f"cannot review {item.id} at {cmd.head}: {work.head} was handed in",
            "look at what was handed in and review that",
            {"item": item.id, "head": work.head},
        )
    if cmd.bound and cmd.bound != binding_digest(bindings(draft.get, item.plan)):
        return Refused(
            Code.REVIEW_STALE,
            f"cannot review {item.id}: its rows and requirements are not those that were looked at",
            f"look at them again with 'remit show {item.id}', and review that",
            {"item": item.id, "bound": binding_digest(bindings(draft.get, item.plan))},
        )
    return _approve(draft, item, work, cmd) if cmd.approve else _reopen(draft, item, cmd)


def _approve(draft: Draft, item: Item, work: Work, cmd: c.ReviewWork) -> Refused | None:
    refused = moving(item, "T06", Status.APPROVED)
    if refused is not None:
        return refused
    bound = bindings(draft.get, item.plan)
    rows, owned = bound[: len(item.plan.rows)], bound[len(item.plan.rows) :]
    event = e.ReviewApproved(
        "T06",
        item.status,
        Status.APPROVED,
        work.head,
        work.tree,
        tuple(name for name, _ in rows),
        tuple(digest for _, digest in rows),
        tuple(name for name, _ in owned),
        tuple(digest for _, digest in owned),
        cmd.reason.inline,
        cmd.reason.ref,
    )
    served = draft.ledger.served and draft.ask.assurance == Assurance.TOKEN
    open_to_all = draft.policy.accept_unproved or served
    return enact(
        draft,
        f"approve {item.id}",
        ("item", item.id, event),
        human=not open_to_all,
        lacking=Code.REVIEW_UNPROVED,
    )


def _reopen(draft: Draft, item: Item, cmd: c.ReviewWork) -> Refused | None:
    status, reason, trigger, rank = requeue(draft, item)
    refused = moving(item, "T07", status)
    if refused is not None:
        return refused
    event = e.ItemReopened(
        "T07",
        item.status,
        status,
        cmd.reason.inline,
        cmd.reason.ref,
        reason,
        trigger,
        rank,
    )
    draft.emit("item", item.id, event)
    if status is Status.HELD:
        review(draft, item.id)
    return None


def _unproved(draft: Draft, item: Item, work: Work) -> Refused | None:
    """Refuse to ship on an approval that nothing proves, however it got on the ledger."""
    proof = work.review_proof
    proved = proof.startswith("signature") or (draft.ledger.served and proof == Assurance.TOKEN)
    if proved or draft.policy.accept_unproved:
        return None
    return Refused(
        Code.REVIEW_UNPROVED,
        f"cannot ship {item.id}: its approval is only {proof or 'asserted'}",
        f"let a human review it anew and sign: 'remit review {item.id}' with --key FILE",
        {"item": item.id, "review_seq": work.review_seq},
    )


def approved_for(draft: Draft, name: str, doing: str) -> tuple[Item, Work] | Refused:
    """The item whose approval lets its work ``doing``: proved, and bound to what is registered.

    Refuses ``APPROVAL_STALE`` where a row or a requirement is not what was approved.
    """
    item = find(draft, name)
    if isinstance(item, Refused):
        return item
    work = _handed_in(item, doing)
    if isinstance(work, Refused):
        return work
    refused = moving(item, "T08", Status.SHIPPED) or _unproved(draft, item, work)
    if refused is not None:
        return refused
    changed = unlike(work.bound, bindings(draft.get, item.plan))
    if changed:
        return Refused(
            Code.APPROVAL_STALE,
            f"cannot {doing} {item.id}: {', '.join(changed[:5])} changed since it was approved",
            f"a reviewer sends it back with 'remit review {item.id} --reject --reason …'",
            {"item": item.id, "changed": list(changed[:100]), "reviewer": work.reviewer},
        )
    return item, work


def _ship(draft: Draft, cmd: c.ObserveShip) -> Refused | None:
    found = approved_for(draft, cmd.item, "ship")
    if isinstance(found, Refused):
        return found
    item, work = found
    for what, sha in (("commit", cmd.sha), ("base", cmd.base)):
        if not is_full_sha(sha):
            return bad(what, sha, "a full commit id in lower-case hexadecimal")
    if cmd.matched_by not in list(MatchedBy):
        return bad("match", cmd.matched_by, "one of " + ", ".join(MatchedBy))
    if cmd.matched_by == MatchedBy.SHA and cmd.sha != work.head:
        return Refused(
            Code.COMMIT_MISMATCH,
            f"cannot ship {item.id}: {cmd.sha} was observed, {work.head} was reviewed",
            "ship the reviewed commit, or what was made from it with the same patch id",
            {"item": item.id, "observed": cmd.sha, "reviewed": work.head},
        )
    event = e.ShipObserved(
        "T08",
        item.status,
        Status.SHIPPED,
        cmd.sha,
        cmd.main_sha,
        cmd.remote,
        cmd.ref,
        cmd.base,
        cmd.matched_by,
        cmd.patch_id,
    )
    draft.emit("item", item.id, event)
    return None


def _clone(draft: Draft, cmd: c.RecordClone) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    lease = fenced(draft, item, cmd.fence, "clone for")
    if isinstance(lease, Refused):
        return lease
    event = CloneMade(item.id, lease.id, cmd.branch, cmd.base)
    draft.emit("attempt", attempt_of(draft, lease), event)
    return None


def _takeover(draft: Draft, cmd: c.RecordTakeover) -> Refused | None:
    item = find(draft, cmd.item)
    if isinstance(item, Refused):
        return item
    lease = fenced(draft, item, cmd.fence, "take commits over for")
    if isinstance(lease, Refused):
        return lease
    event = CommitsTaken(
        item.id,
        lease.id,
        cmd.head,
        cmd.base,
        cmd.tree,
        cmd.ref,
        cmd.commits[:MAX_COMMITS],
    )
    draft.emit("attempt", attempt_of(draft, lease), event)
    return None


HANDLERS: Final[dict[type[c.Command], Callable[[Draft, Any], Refused | None]]] = {
    c.ReportCompletion: _complete,
    c.ReviewWork: _review,
    c.ObserveShip: _ship,
    c.RecordVerification: record_verification,
    c.RecordClone: _clone,
    c.RecordTakeover: _takeover,
}
