"""``trace``: the chain from goal to verification result, with what is missing and what is unproved.

Every link names the event that it rests on. A link that is not there is a gap, not a blank: the
chain is whole only when each stage has evidence. Links made by somebody whose act was only asserted
are marked ``unproved`` (CONTRACT 9 and 10).
"""

from __future__ import annotations

from typing import Any

from remit.core.events import Recorded
from remit.core.facts import Item
from remit.core.item_events import (
    LeaseGranted,
    ReviewApproved,
    ShipObserved,
    VerificationRecorded,
)
from remit.core.refusals import Refused
from remit.core.status import Status
from remit.ports import ReadTx
from remit.service.reading import rendering
from remit.service.reading.items import _one, goal, requirements, rows

STAGES = (
    "goal",
    "requirement",
    "dependencies",
    "rows",
    "item",
    "lease",
    "review",
    "ship",
    "verify",
)
DONE = ("lease", "review", "ship", "verify")
"""Stages that are acts, not plans."""


def trace(tx: ReadTx, name: str) -> dict[str, Any] | Refused:
    """The chain of one item; ``complete`` says whether every link is there."""
    item = _one(tx, name)
    if isinstance(item, Refused):
        return item
    history = tx.stream(item.id, 0, item.version)
    links = [*_planned(tx, item), *_done(item, history)]
    complete = item.status is Status.VERIFIED and all(x["present"] for x in links)
    imported = item.outcome is not None and item.outcome.value == "imported"
    return {
        "id": item.id,
        "status": item.status.value,
        "chain": links,
        "complete": complete,
        "broken": _broken(links) or (item.status is Status.VERIFIED and not complete),
        "coverage": _coverage(tx, item),
        "gaps": [x["stage"] for x in links if not x["present"]],
        "unproved": [x["stage"] for x in links if x.get("unproved")],
        "imported": imported,
    }


def _broken(links: list[dict[str, Any]]) -> bool:
    """Whether work went on past a link that is not there; what is still to come breaks nothing."""
    present = [x["present"] for x in links]
    worked = [i for i, x in enumerate(links) if x["stage"] in DONE and x["present"]]
    return bool(worked) and not all(present[: worked[-1]])


def _coverage(tx: ReadTx, item: Item) -> list[dict[str, Any]]:
    """Each requirement with what its evidence comes to; orphan where nothing would prove it."""
    found = []
    for owned in requirements(tx, item):
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
    return {"stage": stage, "ids": ids, "present": bool(ids), **more}


def _planned(tx: ReadTx, item: Item) -> list[dict[str, Any]]:
    found_goal = goal(tx, item.plan.goal) if item.plan.goal else None
    owned = requirements(tx, item)
    registered = rows(tx, item)
    return [
        _link(
            "goal",
            [f"{found_goal['id']}@{found_goal['revision']}"] if found_goal else [],
            text=found_goal["objective"] if found_goal else "",
            drafted=bool(found_goal and found_goal["drafted"]),
            seq=found_goal["seq"] if found_goal else None,
        ),
        _link(
            "requirement",
            [f"{r['id']}@{r['revision']}" for r in owned],
            text="; ".join(r["statement"] for r in owned),
            drafted=any(r["drafted"] for r in owned),
        ),
        {
            "stage": "dependencies",
            "ids": [d.target.removeprefix("?") for d in item.dependencies],
            "present": item.unmet == 0,
        },
        _link("rows", [r["id"] for r in registered], digests=[r["digest"] for r in registered]),
        _link("item", [item.id], version=item.version),
    ]


def _done(item: Item, history: list[Recorded]) -> list[dict[str, Any]]:
    lease = _last(history, LeaseGranted)
    review = _last(history, ReviewApproved)
    ship = _last(history, ShipObserved)
    verdict = _last(history, VerificationRecorded)
    work = item.work
    if review is not None and (work is None or work.review_seq != review.seq):
        review = None
    if ship is not None and (work is None or work.ship_seq != ship.seq):
        ship = verdict = None
    results = []
    if verdict is not None and isinstance(verdict.event, VerificationRecorded):
        results = _results(item)
    sha = ship.event.observed_commit_sha if ship and isinstance(ship.event, ShipObserved) else ""
    return [
        _event("lease", lease),
        _event("review", review),
        {**_event("ship", ship), "ids": [sha] if sha else []},
        {
            **_event("verify", verdict),
            "ids": results,
            "present": bool(results) and all(x.endswith((":verified", ":waived")) for x in results),
        },
    ]


def _results(item: Item) -> list[str]:
    """Each result of an item; those that went stale and rows that are waived are named so."""
    waived = dict(item.work.waived) if item.work is not None else {}
    found = [f"{row}:waived" for row in waived]
    for outcome in item.results:
        if outcome.row not in waived:
            state = "stale" if outcome.row in item.stale else outcome.result
            found.append(f"{outcome.row}:{state}")
    return found


def _last(history: list[Recorded], kind: type) -> Recorded | None:
    return next((r for r in reversed(history) if isinstance(r.event, kind)), None)


def _event(stage: str, recorded: Recorded | None) -> dict[str, Any]:
    if recorded is None:
        return _link(stage, [])
    return _link(
        stage,
        [str(recorded.seq)],
        seq=recorded.seq,
        actor=recorded.actor,
        assurance=recorded.assurance,
        unproved=recorded.assurance == "asserted" and stage in ("review", "verify"),
        at=rendering.rfc3339(recorded.at),
    )
