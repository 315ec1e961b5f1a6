"""Coverage of a plan: the matrix, what is orphaned, what is suspect, and what changed between two
revisions.

One line for each requirement, from its goal to the results at the commit that shipped, with one state
of coverage (``core.planning.coverage``) that is derived from facts and never set. On a snapshot of
the past each answer is what it was then.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from remit.core.facts import Item, Requirement, Row
from remit.core.plan_events import PlanClosed
from remit.core.planning.closure import Closure, Known, closure
from remit.core.planning.coverage import WORST_FIRST, Reach, coverage, lacking
from remit.core.planning.suspicion import Suspect
from remit.core.refusals import Code, Refused
from remit.core.waivers import waiver_of
from remit.ports import ReadTx
from remit.service.reading.closing import lenient
from remit.service.reading.linked import suspect_data
from remit.service.reading.plans import whole as whole_record
from remit.service.reading.rendering import rfc3339
from remit.service.reading.whole_plan import Whole, gather, suspects_of

PAGE: Final = 1_000

Data = dict[str, Any]


def matrix(tx: ReadTx, name: str = "", limit: int = 0) -> Data | Refused:
    """Every requirement of a plan with what covers it; ``limit`` 0 means all. Refuses ``PLAN_UNKNOWN``."""
    plan = gather(tx, name)
    if isinstance(plan, Refused):
        return plan
    doubted = suspects_of(plan)
    every = plan.each("requirement")
    beneath = _beneath(plan, doubted)
    lines = [_line(plan, each, beneath.get(each.id, 0)) for each in every]
    shown = lines[:limit] if limit else lines
    _worded(tx, plan, shown)
    states = Counter(line["coverage"] for line in lines)
    return {
        "plan": plan.plan.id,
        "label": plan.plan.label,
        "revision": f"{plan.plan.id}@{plan.plan.revision}",
        "goal": plan.plan.goal_revision,
        "requirements": shown,
        "total": len(lines),
        "truncated": len(shown) < len(lines),
        "coverage": {str(state): states[str(state)] for state in WORST_FIRST},
        "suspect": len(doubted),
        "orphans": sum(map(len, _orphans(plan).values())),
        "at": tx.head().seq,
    }


def _beneath(plan: Whole, doubted: list[Suspect]) -> Counter[str]:
    """How many suspect links lie beneath each requirement, or lead to it."""
    found: Counter[str] = Counter()
    for each in doubted:
        if each.lower.kind == "requirement":
            found[each.lower.id] += 1
        elif each.upper.kind == "requirement":
            found[each.upper.id] += 1
        elif each.lower.kind == "item":
            item = plan.facts.get(("item", each.lower.id))
            found.update(item.plan.requirements if isinstance(item, Item) else ())
    return found


def _line(plan: Whole, requirement: Requirement, suspects: int) -> Data:
    name, now = requirement.id, plan.tx.now()
    rows, items = plan.rows_of.get(name, []), plan.items_of.get(name, [])
    nodes = plan.nodes_of.get(name, [])
    found = _closure(plan, requirement, rows, now)
    reach = Reach(
        len(nodes),
        len(rows),
        len(items),
        any(row.direct for row in rows),
        requirement.meaning,
        tuple(_made_for(item, name) for item in items),
        suspects,
        found,
    )
    waivers = {row.id: waiver_of(plan.get, row, now) for row in rows if row.waived}
    return {
        "id": name,
        "label": requirement.label,
        "revision": f"{name}@{requirement.revision}",
        "goal_revision": requirement.goal_revision,
        "risk": requirement.risk,
        "nodes": [node.id for node in nodes],
        "rows": [_row(row, found) for row in rows],
        "items": [_item(item) for item in items],
        "coverage": str(coverage(reach)),
        "closure": str(found.state),
        "closed": found.closed,
        "lacks": list(lacking(reach)),
        "suspects": suspects,
        "justified_by": [_waiver(plan, d) for d in dict.fromkeys(waivers.values()) if d],
    }


def _closure(plan: Whole, requirement: Requirement, rows: list[Row], now: int) -> Closure:
    def item_of(name: str) -> Item | None:
        found = plan.get("item", name)
        return found if isinstance(found, Item) else None

    def row_of(name: str) -> Row | None:
        found = plan.get("row", name)
        return found if isinstance(found, Row) else None

    known = Known(
        item_of,
        row_of,
        lambda row: waiver_of(plan.get, row, now),
        accept_unproved=lenient(plan.get),
    )
    return closure(requirement, rows, known)


def _made_for(item: Item, requirement: str) -> int:
    """Which revision of a requirement an item was made for."""
    governed = item.plan.governed
    for ref in governed.requirement_refs if governed is not None else ():
        name, _, revision = ref.partition("@")
        if name == requirement:
            return int(revision)
    return 0


def _row(row: Row, found: Closure) -> Data:
    state = next((str(e.state) for e in found.evidence if e.row == row.id), "open")
    return {
        "id": row.id,
        "label": row.label,
        "item": row.item,
        "direct": row.direct,
        "state": state,
        "waived": row.waived or None,
    }


def _item(item: Item) -> Data:
    work = item.work
    governed = item.plan.governed
    return {
        "id": item.id,
        "label": governed.label if governed is not None else item.alias,
        "node": governed.node if governed is not None else "",
        "status": str(item.status),
        "lease": work.lease if work is not None else None,
        "review_seq": (work.review_seq or None) if work is not None else None,
        "commit": (work.shipped or None) if work is not None else None,
        "results": sorted({f"{r.row}@{r.seq}" for r in item.results}),
        "successor": item.successor or None,
    }


def _waiver(plan: Whole, name: str) -> Data:
    fact: Any = plan.get("decision", name)
    expires = getattr(fact, "expires_at", None)
    return {
        "decision": name,
        "expires_at": rfc3339(expires) if expires is not None else None,
        "unproved": not getattr(fact, "proved", False),
    }


def _worded(tx: ReadTx, plan: Whole, lines: list[Data]) -> None:
    """Put to each line what its requirement states, from the events that hold it."""
    for at in range(0, len(lines), PAGE):
        part = lines[at : at + PAGE]
        facts = [plan.facts["requirement", line["id"]] for line in part]
        seqs = [fact.seq for fact in facts if isinstance(fact, Requirement)]
        events = tx.at_seq(seqs)
        for line, seq in zip(part, seqs, strict=True):
            line["statement"] = str(whole_record(tx, events[seq].event).statement)


def orphans(tx: ReadTx, name: str = "") -> Data | Refused:
    """What hangs on nothing, or has nothing beneath it: requirements, nodes, rows and items."""
    plan = gather(tx, name)
    if isinstance(plan, Refused):
        return plan
    found = _orphans(plan)
    return {
        "plan": plan.plan.id,
        "revision": f"{plan.plan.id}@{plan.plan.revision}",
        **found,
        "total": sum(map(len, found.values())),
    }


def _orphans(plan: Whole) -> dict[str, list[Data]]:
    known = {each.id for each in plan.each("requirement")}
    here = {(kind, name) for kind, names in plan.names.items() for name in names}
    found: dict[str, list[Data]] = {"requirements": [], "nodes": [], "rows": [], "items": []}
    for each in plan.each("requirement"):
        rows = plan.rows_of.get(each.id, [])
        parts: dict[str, object] = {
            "no node of the graph covers it": plan.nodes_of.get(each.id),
            "no item owns it": plan.items_of.get(each.id),
            "no row proves it directly": [row for row in rows if row.direct],
        }
        _note(found["requirements"], each, [why for why, part in parts.items() if not part])
    for each in plan.each("node"):
        parts = {
            "it covers no requirement": known & set(each.covers),
            "no item stands on it": plan.items_on.get(each.id),
        }
        _note(found["nodes"], each, [why for why, part in parts.items() if not part])
    for each in plan.each("row"):
        parts = {
            "it proves no requirement of the plan": each.requirement in known,
            "no item of the plan gives it": ("item", each.item) in here,
        }
        _note(found["rows"], each, [why for why, part in parts.items() if not part])
    for each in plan.each("item"):
        governed = each.plan.governed
        parts = {
            "it owns no requirement of the plan": known & set(each.plan.requirements),
            "it stands on no node of the plan": governed and ("node", governed.node) in here,
            "no row of the plan proves it": [r for r in each.plan.rows if ("row", r) in here],
        }
        _note(found["items"], each, [why for why, part in parts.items() if not part])
    return found


def _note(found: list[Data], fact: Any, lacks: list[str]) -> None:
    if lacks:
        governed = fact.plan.governed if isinstance(fact, Item) else fact
        label = governed.label if governed is not None else fact.alias
        found.append({"id": fact.id, "label": label, "lacks": lacks})


def suspect_links(tx: ReadTx, name: str = "") -> Data | Refused:
    """The suspect links of a plan, with the digests that clearing each would name."""
    plan = gather(tx, name)
    if isinstance(plan, Refused):
        return plan
    links = [suspect_data(plan.get, each) for each in suspects_of(plan)]
    return {
        "plan": plan.plan.id,
        "revision": f"{plan.plan.id}@{plan.plan.revision}",
        "links": links,
        "total": len(links),
    }


def closing_of(tx: ReadTx, text: str) -> tuple[str, int] | Refused:
    """The plan and the closing event of a revision such as ``P-1@2``; without a number, 0 for now."""
    name, at, number = text.partition("@")
    plan: Any = tx.load([("plan", name)])["plan", name] if name else None
    if plan is not None and not at:
        return name, 0
    after = 0
    while plan is not None and number.isdigit():
        page = tx.stream(name, after, PAGE)
        if not page:
            break
        for recorded in page:
            event = recorded.event
            if isinstance(event, PlanClosed) and event.revision == int(number):
                return name, recorded.seq
        after = page[-1].version
    return Refused(
        Code.NOT_FOUND,
        f"there is no revision {text[:80]!r} of a plan",
        "name one as P-1@2, or a plan for what it is now",
        {"revision": text[:80]},
    )


def delta(old: Data, new: Data) -> Data:
    """What changed in coverage from one matrix to another of the same plan."""
    before = {line["id"]: line for line in old["requirements"]}
    after = {line["id"]: line for line in new["requirements"]}
    changed = []
    for name, line in after.items():
        was = before.get(name)
        if (
            was is None
            or was["coverage"] != line["coverage"]
            or was["revision"] != line["revision"]
        ):
            changed.append(_step(line, was, line))
    gone = [_step(line, line, None) for name, line in before.items() if name not in after]
    return {
        "from": old["revision"],
        "to": new["revision"],
        "from_seq": old["at"],
        "to_seq": new["at"],
        "changes": [*changed, *gone],
        "total": len(changed) + len(gone),
        "coverage": {
            state: {"from": old["coverage"][state], "to": new["coverage"][state]}
            for state in new["coverage"]
        },
    }


def _step(line: Data, was: Data | None, now: Data | None) -> Data:
    return {
        "id": line["id"],
        "label": line["label"],
        "change": "added" if was is None else "removed" if now is None else "changed",
        "from": was["coverage"] if was is not None else None,
        "to": now["coverage"] if now is not None else None,
        "from_revision": was["revision"] if was is not None else None,
        "to_revision": now["revision"] if now is not None else None,
    }
