"""``trace``: the chain from goal to verification result, from any link of it and in both directions.

A trace resolves what it starts from, goes down to the items beneath it, and shows the whole chain of
each, narrowed to what the subject is about. Every link names the event or the revision that it rests
on. A link that is not there is a gap, not a blank: the chain is whole only when each stage has
evidence. Links made by somebody whose act was only asserted are marked ``unproved``, and a link whose
upper end came to mean something else since is ``suspect`` (CONTRACT 9 and 10).

Reads only, and only what hangs on the chain; on a snapshot of the past it says what was known then.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from remit.core.binding import Get
from remit.core.events import Recorded
from remit.core.facts import Item, Row
from remit.core.item_events import (
    LeaseGranted,
    ReviewApproved,
    ShipObserved,
    VerificationRecorded,
)
from remit.core.planning.chain import Link, chain
from remit.core.planning.closure import NO_ROW
from remit.core.planning.suspicion import suspects
from remit.core.refusals import Refused
from remit.core.status import Status
from remit.ports import ReadTx
from remit.service.reading.closing import reader
from remit.service.reading.items import goal, requirements, rows
from remit.service.reading.linked import last_lease, recorded_link, result_links, suspect_data
from remit.service.reading.subjects import Subject, items_of, resolve

STAGES: Final = {
    "goal": "goalRevisionId",
    "requirement": "requirementId",
    "dependencies": "dependencyNodeId",
    "rows": "verificationPlanRowId",
    "item": "workItemId",
    "lease": "leaseEventSeq",
    "review": "reviewEventSeq",
    "ship": "shippedCommitSha",
    "verify": "verificationResultId",
}
"""The stages of a chain in order, and what the ids of each are called."""

DONE: Final = ("lease", "review", "ship", "verify")
"""Stages that are acts, not plans."""

CHAINS: Final = 50
"""How many chains a trace shows unless it is asked for more."""

PLANNED: Final = {
    "goal": ("plan-goal", "goal-requirement"),
    "requirement": ("goal-requirement", "requirement-item"),
    "dependencies": ("node-item", "requirement-node"),
    "rows": ("requirement-row", "row-item"),
    "item": ("plan-item",),
}
"""Which planned links each stage of a planned item rests on."""


def trace(tx: ReadTx, name: str, limit: int = CHAINS) -> dict[str, Any] | Refused:
    """The chains of whatever ``name`` names, at most ``limit`` of them (0: all that were found).

    An item's own chain is the answer itself; anything else has the chains of its items. ``complete``
    says whether every link is there, ``broken`` whether work went on past one that is not, or what
    was asked for leads to no work at all. Refuses ``NOT_FOUND`` and ``AMBIGUOUS_ID``.
    """
    subject = resolve(tx, name)
    if isinstance(subject, Refused):
        return subject
    found = [chain_of(tx, item, subject) for item in items_of(tx, subject, limit)]
    if subject.kind == "item" and found:
        return {"kind": "item", **found[0]}
    total = len(subject.items)
    return {
        "id": subject.id,
        "kind": subject.kind,
        "seq": subject.seq or None,
        "chains": found,
        "total": total,
        "truncated": len(found) < total or subject.more,
        "complete": bool(found) and all(each["complete"] for each in found),
        "broken": not found or any(each["broken"] for each in found),
        "unproved": list(dict.fromkeys(x for each in found for x in each["unproved"])),
        "suspect": _once(x for each in found for x in each["suspect"]),
    }


def _once(found: Any) -> list[dict[str, Any]]:
    return list({each["link"]: each for each in found}.values())


def chain_of(tx: ReadTx, item: Item, subject: Subject) -> dict[str, Any]:
    """The chain of one item, narrowed to the requirements and rows of the subject."""
    get = reader(tx)
    subject = _narrowed(get, item, subject)
    planned = chain(get, item)
    links = [*_planned(tx, item, subject, planned), *_done(tx, get, item, subject)]
    every = all(link["present"] for link in links)
    complete = item.status is Status.VERIFIED and every
    imported = item.outcome is not None and item.outcome.value == "imported"
    return {
        "id": item.id,
        "status": item.status.value,
        "chain": links,
        "complete": complete,
        "broken": _broken(links) or (item.status is Status.VERIFIED and not complete),
        "coverage": _coverage(tx, item, subject),
        "gaps": [x["stage"] for x in links if not x["present"]],
        "faults": [
            {"link": each.kind, "upper": each.upper, "lower": each.lower, "fault": each.fault}
            for each in planned
            if each.fault and _concerns(each, subject)
        ],
        "unproved": [x["stage"] for x in links if x.get("unproved")],
        "suspect": [
            suspect_data(get, s) for s in suspects(get, item) if _kept(s.lower.id, subject)
        ],
        "predecessor": (item.plan.governed.predecessor or None) if item.plan.governed else None,
        "successor": item.successor or None,
        "imported": imported,
    }


def _narrowed(get: Get, item: Item, subject: Subject) -> Subject:
    """The subject with the rows of this item that are about its requirements."""
    if subject.rows or not subject.requirements:
        return subject
    facts = [get("row", name) for name in item.plan.rows]
    about = [f.id for f in facts if isinstance(f, Row) and f.requirement in subject.requirements]
    return replace(subject, rows=tuple(about) or (NO_ROW,))


def _kept(name: str, subject: Subject) -> bool:
    """Whether a record belongs to what a trace was narrowed to."""
    if name.startswith("V-"):
        return not subject.rows or name in subject.rows
    return not name.startswith("R-") or not subject.requirements or name in subject.requirements


def _concerns(link: Link, subject: Subject) -> bool:
    return _kept(link.upper, subject) and _kept(link.lower, subject)


def _broken(links: list[dict[str, Any]]) -> bool:
    """Whether work went on past a link that is not there; what is still to come breaks nothing."""
    present = [x["present"] for x in links]
    worked = [i for i, x in enumerate(links) if x["stage"] in DONE and x["present"]]
    return bool(worked) and not all(present[: worked[-1]])


def _coverage(tx: ReadTx, item: Item, subject: Subject) -> list[dict[str, Any]]:
    """Each requirement with what its evidence comes to; orphan where nothing would prove it."""
    found = []
    for owned in requirements(tx, item):
        if not _kept(owned["id"], subject):
            continue
        derived = owned["closure"] or {"state": "open", "evidence": []}
        evidence = derived["evidence"]
        found.append(
            {
                "requirement": f"{owned['id']}@{owned['revision']}",
                "rows": [each["row"] for each in evidence],
                "state": derived["state"] if evidence else "orphan",
                "evidence": evidence,
            }
        )
    return found


def _link(stage: str, ids: list[str], **more: Any) -> dict[str, Any]:
    return {"stage": stage, "name": STAGES[stage], "ids": ids, "present": bool(ids), **more}


def _planned(
    tx: ReadTx, item: Item, subject: Subject, links: tuple[Link, ...]
) -> list[dict[str, Any]]:
    """The stages from goal to item; those of planned work also rest on what their links say."""
    governed = item.plan.governed
    found_goal = goal(tx, item.plan.goal) if item.plan.goal else None
    owned = [r for r in requirements(tx, item) if _kept(r["id"], subject)]
    registered = [r for r in rows(tx, item) if _kept(r["id"], subject)]
    made_for = governed.goal_revision if governed is not None else ""
    goal_ids = [made_for or f"{found_goal['id']}@{found_goal['revision']}"] if found_goal else []
    found = [
        _link(
            "goal",
            goal_ids,
            text=found_goal["objective"] if found_goal else "",
            drafted=bool(found_goal and found_goal["drafted"]),
            seq=found_goal["seq"] if found_goal else None,
            plan=governed.plan_revision if governed is not None else None,
        ),
        _link(
            "requirement",
            [f"{r['id']}@{r['revision']}" for r in owned],
            text="; ".join(r["statement"] for r in owned),
            drafted=any(r["drafted"] for r in owned),
        ),
        _dependencies(item),
        _link("rows", [r["id"] for r in registered], digests=[r["digest"] for r in registered]),
        _link("item", [item.id], version=item.version),
    ]
    for stage in found:
        faults = [
            link
            for link in links
            if link.kind in PLANNED[stage["stage"]] and link.fault and _concerns(link, subject)
        ]
        stage["present"] = stage["present"] and not faults
    return found


def _dependencies(item: Item) -> dict[str, Any]:
    """The node that an item stands on, and what it waits for; drafted items stand on none."""
    waits = [d.target.removeprefix("?") for d in item.dependencies]
    governed = item.plan.governed
    met = item.unmet == 0
    if governed is None:
        return {**_link("dependencies", waits), "present": met, "waits_for": waits}
    node = [governed.node] if governed.node else []
    return {**_link("dependencies", node), "present": bool(node) and met, "waits_for": waits}


def _where(ship: Recorded | None) -> str:
    """Where a commit was seen: whoever configures remote and branch says what main is."""
    if ship is None or not isinstance(ship.event, ShipObserved):
        return ""
    return f"{ship.event.ref} of {ship.event.remote}"


def _done(tx: ReadTx, get: Get, item: Item, subject: Subject) -> list[dict[str, Any]]:
    """The stages that are acts: each names the event of the present round of work."""
    work = item.work
    seqs = [work.review_seq, work.ship_seq] if work is not None else []
    verified = max((result.seq for result in item.results), default=0)
    events = tx.at_seq([seq for seq in (*seqs, verified) if seq])
    review = events.get(work.review_seq) if work is not None else None
    ship = events.get(work.ship_seq) if work is not None else None
    verdict = events.get(verified) if ship is not None else None
    sha = ship.event.observed_commit_sha if ship and isinstance(ship.event, ShipObserved) else ""
    results = result_links(get, item, tx.now()) if verdict is not None else []
    results = [each for each in results if _kept(each["row"], subject)]
    ids = [f"{each['row']}:{each['state']}" for each in results]
    proved = [each["state"] in ("verified", "waived") for each in results]
    doubtful = any(each["unproved"] for each in results)
    shown = recorded_link(tx, "verify", verdict, VerificationRecorded)
    return [
        _stage("lease", recorded_link(tx, "lease", last_lease(tx, item), LeaseGranted)),
        _stage("review", recorded_link(tx, "review", review, ReviewApproved)),
        {
            **_stage("ship", recorded_link(tx, "ship", ship, ShipObserved)),
            "ids": [sha] if sha else [],
            "text": _where(ship),
        },
        {
            **_stage("verify", shown),
            "ids": ids,
            "results": results,
            "present": bool(proved) and all(proved),
            "unproved": bool(shown.get("unproved")) or doubtful,
        },
    ]


def _stage(stage: str, found: dict[str, Any]) -> dict[str, Any]:
    ids = found.pop("ids", [])
    return _link(stage, ids, **found)
