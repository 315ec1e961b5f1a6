"""Parts of a trace: events as links, results with the decisions that they rest on, suspect links.

Each says how well it is proved. An act that only a label or, where the ledger is shared, a token
stands behind is ``unproved``; so is a result that rests on a decision which nobody signed.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core.binding import Get
from remit.core.decisions import Decision
from remit.core.events import Recorded
from remit.core.facts import Item, Ledger, PlanRevision, Row
from remit.core.item_events import LeaseGranted
from remit.core.planning.suspicion import Suspect
from remit.ports import ReadTx
from remit.service.reading import rendering

PROVED_BY: Final = ("review", "verify")
"""Stages whose actor matters to what the chain is worth."""

PAGE: Final = 500
MOST_PAGES: Final = 40
"""How far back the event of a lease is looked for, in pages of an item's stream."""


def last_lease(tx: ReadTx, item: Item) -> Recorded | None:
    """The event of the lease that the present round of work was done under, else the newest one."""
    wanted = item.work.lease if item.work is not None else ""
    newest = None
    end = item.version
    for _ in range(MOST_PAGES):
        if end <= 0 or not item.attempt:
            break
        start = max(0, end - PAGE)
        for recorded in reversed(tx.stream(item.id, start, end - start)):
            if isinstance(recorded.event, LeaseGranted):
                newest = newest or recorded
                if not wanted or recorded.event.lease.id == wanted:
                    return recorded
        end = start
    return newest


def unproved(tx: ReadTx, assurance: str) -> bool:
    """Whether an act of this assurance proves nothing about who acted."""
    if assurance == "token":
        ledger = tx.load([("ledger", "ledger")])["ledger", "ledger"]
        return not (isinstance(ledger, Ledger) and ledger.served)
    return assurance == "asserted"


def recorded_link(
    tx: ReadTx, stage: str, recorded: Recorded | None, kind: type[Any]
) -> dict[str, Any]:
    """An event as a link of the chain; nothing where there is none of this kind."""
    if recorded is None or not isinstance(recorded.event, kind):
        return {}
    return {
        "ids": [str(recorded.seq)],
        "seq": recorded.seq,
        "actor": recorded.actor,
        "assurance": recorded.assurance,
        "unproved": stage in PROVED_BY and unproved(tx, recorded.assurance),
        "at": rendering.rfc3339(recorded.at),
    }


def result_links(get: Get, item: Item, now: int) -> list[dict[str, Any]]:
    """Each result of an item with its id, what it is worth, and the decisions that it rests on.

    A row that is waived counts as waived whatever was found of it. An answer that a later result
    without one stands beside is shown too.
    """
    waived = dict(item.work.waived) if item.work is not None else {}
    found = [
        _result(get, item, row, "", 0, "waived", (decision,)) for row, decision in waived.items()
    ]
    for outcome in item.results:
        if outcome.row not in waived:
            state = "stale" if outcome.row in item.stale else outcome.result
            parts = (outcome.row, outcome.commit, outcome.seq, state, ())
            found.append(_result(get, item, *parts) | {"covers": outcome.covers})
    return found


def _result(
    get: Get, item: Item, row: str, commit: str, seq: int, state: str, refs: tuple[str, ...]
) -> dict[str, Any]:
    fact = get("row", row)
    wanted = dict.fromkeys((*refs, *_rests_on(get, item, fact)))
    decisions = [_decision(get, ref) for ref in wanted]
    return {
        "id": f"{row}@{seq}" if seq else "",
        "row": row,
        "requirement": fact.requirement if isinstance(fact, Row) else "",
        "digest": fact.digest if isinstance(fact, Row) else "",
        "commit": commit,
        "state": state,
        "decisions": decisions,
        "unproved": any(each["unproved"] for each in decisions),
    }


def _rests_on(get: Get, item: Item, row: Any) -> list[str]:
    """The decisions that a result rests on: of its row, of its item, and of the plan that made it."""
    governed = item.plan.governed
    if governed is None:
        return []
    found = [row.waived] if isinstance(row, Row) and row.waived else []
    found += [governed.decision] if governed.decision else []
    plan = get("plan", governed.plan)
    for ref in plan.decisions if isinstance(plan, PlanRevision) else ():
        decision = get("decision", ref)
        if isinstance(decision, Decision) and governed.plan_revision in decision.consumed_by:
            found.append(ref)
    return found


def _decision(get: Get, ref: str) -> dict[str, Any]:
    """The exact revision of a decision: what was proposed, what was chosen, and by which event."""
    fact = get("decision", ref)
    if not isinstance(fact, Decision):
        return {"id": ref, "state": "absent", "unproved": True}
    return {
        "id": fact.id,
        "kind": str(fact.kind),
        "state": str(fact.state),
        "record": fact.record,
        "chosen": fact.chosen or None,
        "decided_seq": fact.settled_seq or None,
        "decided_by": fact.accepted_by or None,
        "expires_at": rendering.rfc3339(fact.expires_at) if fact.expires_at is not None else None,
        "consumed_by": list(fact.consumed_by),
        "unproved": not fact.proved,
    }


def suspect_data(get: Get, found: Suspect) -> dict[str, Any]:
    """A suspect link for people and scripts, with the digests that clearing it would name."""
    upper, lower = found.upper, found.lower
    known: Any = get("link", found.id)
    return {
        "link": found.id,
        "upper": upper.id,
        "upper_label": f"{upper.kind}/{upper.label}",
        "upper_digest": upper.digest,
        "changed_in": f"{upper.plan}@{upper.stated}",
        "lower": lower.id,
        "lower_label": f"{lower.kind}/{lower.label}",
        "lower_digest": lower.digest,
        "stated_in": f"{lower.plan}@{lower.stated}",
        "cleared_before_seq": known.seq if known is not None else None,
    }
