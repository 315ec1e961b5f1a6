"""Lists of items, and one item whole: what ``list``, ``ready``, ``search`` and ``show`` answer.

Lists are asked for often and cold, and need no event: what decodes events is imported by the
functions that look into them, never by this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from remit.core.facts import COUNTS, Goal, Item, Lane, Requirement, Row, Triage
from remit.core.ids import is_item_id
from remit.core.lanes import Turns, class_of, in_turn, merge
from remit.core.limit_facts import Limit
from remit.core.refusals import Code, Refused
from remit.core.status import Status
from remit.ports import ItemQuery, ReadTx
from remit.service.reading import rendering

REDACTED: Final = "[redacted]"
"""What stands where the bytes of a text were erased."""

HISTORY: Final = 1_000
"""Most events of an item that ``show`` lists; the newest are kept."""

LANES: Final = 64
"""Most lanes that the order of leases looks at."""


def exact(tx: ReadTx, text: str) -> str | None:
    """The item with exactly this id or work id: what a write may act on (no abbreviations)."""
    if is_item_id(text) and tx.load([("item", text)])["item", text] is not None:
        return text
    known = tx.load([("alias", text)])["alias", text] if text else None
    return known if isinstance(known, str) else None


def find(tx: ReadTx, text: str) -> str | Refused:
    """The item id that a person means: an id, a work id, or an unambiguous beginning of either."""
    known = exact(tx, text)
    if known is not None:
        return known
    matches: dict[str, None] = {}
    for kind, name in tx.find(text, 20) if text else ():
        if kind == "item":
            matches[name] = None
        elif kind == "alias":
            alias = tx.load([(kind, name)])[kind, name]
            if isinstance(alias, str):
                matches[alias] = None
    if len(matches) == 1:
        return next(iter(matches))
    if matches:
        return Refused(
            Code.AMBIGUOUS_ID,
            f"{text!r} may mean {', '.join(sorted(matches)[:8])}",
            "give more of the id",
            {"candidates": sorted(matches)},
        )
    return Refused(
        Code.NOT_FOUND,
        f"there is no work item {text!r}",
        "see what there is with 'remit list'",
        {"item": text},
    )


def load_items(tx: ReadTx, ids: Iterable[str]) -> list[Item]:
    """Items by id, in the given order; those that do not exist are left out."""
    wanted = list(ids)
    facts = tx.load([("item", name) for name in wanted])
    found = (facts["item", name] for name in wanted)
    return [item for item in found if isinstance(item, Item)]


def texts(tx: ReadTx, items: Sequence[Item]) -> dict[str, dict[str, str]]:
    """Title and body of items by id, from events and blobs; redacted where the bytes are gone."""
    from remit.core.item_events import ItemCreated, ItemRevised
    from remit.core.plan_events import ItemPlanned, ItemReplanned

    blobs = tx.blobs([item.text for item in items if item.text])
    events = tx.at_seq([item.plan.brief_seq for item in items])
    found = {}
    for item in items:
        recorded = events.get(item.plan.brief_seq)
        body = ""
        if recorded is not None and isinstance(recorded.event, ItemCreated | ItemRevised):
            body = recorded.event.body
        elif recorded is not None and isinstance(recorded.event, ItemPlanned | ItemReplanned):
            body = recorded.event.record.body
        title = item.title
        if item.text:
            data = blobs.get(item.text)
            if data is None:
                title, body = title or REDACTED, REDACTED
            elif item.title:
                body = data.decode("utf-8", "replace")
            else:
                title, body = _foreign(data)
        found[item.id] = {"title": title, "body": body}
    return found


def _foreign(data: bytes) -> tuple[str, str]:
    """Title and body of an imported text, which is a JSON object of both."""
    import json

    try:
        parts = json.loads(data)
        return str(parts["title"]), str(parts["body"])
    except (ValueError, KeyError, TypeError):
        return data[:200].decode("utf-8", "replace"), data.decode("utf-8", "replace")


def titles(tx: ReadTx, items: Sequence[Item]) -> dict[str, str]:
    """Titles by id; only imported items need a blob for it."""
    foreign = [item for item in items if item.text and not item.title]
    blobs = tx.blobs([item.text for item in foreign])
    found = {item.id: item.title for item in items}
    for item in foreign:
        data = blobs.get(item.text)
        found[item.id] = REDACTED if data is None else _foreign(data)[0]
    return found


def summaries(tx: ReadTx, items: Sequence[Item]) -> list[dict[str, Any]]:
    """What lists show of these items."""
    named = titles(tx, items)
    return [rendering.summary(item, named[item.id]) for item in items]


def total(tx: ReadTx, statuses: Iterable[str]) -> int:
    """How many items stand in these statuses, from the counts."""
    small = tx.small()
    counts = (small.get(("count", status)) for status in statuses)
    return sum(count for count in counts if isinstance(count, int))


def list_items(tx: ReadTx, query: ItemQuery) -> dict[str, Any]:
    """``list`` and ``search``: items by status and text, with ``total`` and ``truncated``.

    Without a filter the total is a count that the ledger keeps; with one, all that match are found
    (a search by text looks at no more items than the store's bound).
    """
    if query.text or query.gate or query.hold or query.after:
        found = tx.items(replace(query, limit=0))
        number, ids = len(found), found[: query.limit or None]
    else:
        statuses = query.statuses or tuple(name for _, name in COUNTS)
        number, ids = total(tx, statuses), tx.items(query)
    return {
        "items": summaries(tx, load_items(tx, ids)),
        "total": number,
        "truncated": number > len(ids),
    }


def ready(tx: ReadTx, limit: int) -> dict[str, Any]:
    """``ready``: items in the order in which leases would be given."""
    number = total(tx, [Status.READY])
    wanted = limit or max(number, 1)
    lanes = lanes_in_turn(tx, min(wanted, LANES) if limit else wanted)
    heads = {str(lane.id): tx.ready(lane.id, None, wanted) for lane in lanes}
    ids = merge(heads, lanes, wanted, turns_of(tx, lanes))
    return {
        "items": summaries(tx, load_items(tx, ids)),
        "total": number,
        "truncated": number > len(ids),
    }


def turns_of(tx: ReadTx, lanes: list[Lane]) -> dict[str, Turns]:
    """How far the classes of these lanes are."""
    found = {}
    for own in dict.fromkeys(class_of(lane.id) for lane in lanes):
        facts = tx.load([("lane-turn", own), ("active", own), ("limit", f"class/{own}")])
        limit = facts["limit", f"class/{own}"]
        weight = limit.weight if isinstance(limit, Limit) else 1
        found[own] = Turns(_int(facts["lane-turn", own]), weight, _int(facts["active", own]))
    return found


def _int(fact: object) -> int:
    return fact if isinstance(fact, int) else 0


def lanes_in_turn(tx: ReadTx, limit: int) -> list[Lane]:
    """Lanes that have something ready, the next in turn first."""
    names = tx.lanes(limit)
    facts = tx.load([("lane", name) for name in names])
    return in_turn(f for f in facts.values() if isinstance(f, Lane))


def show(tx: ReadTx, name: str) -> dict[str, Any] | Refused:
    """``show``: the folded state of one item, its owner, plan, dependencies, records, history."""
    item = _one(tx, name)
    if isinstance(item, Refused):
        return item
    text = texts(tx, [item])[item.id]
    from remit.core.binding import binding_digest, bindings
    from remit.service.reading.closing import reader

    history = tx.stream(item.id, max(0, item.version - HISTORY), HISTORY)
    data = rendering.summary(item, text["title"])
    data |= {
        "body": text["body"],
        "text_ref": item.text or None,
        "expectation": requirements(tx, item),
        "graph_refs": graph_refs(item),
        "orphaned_refs": orphaned_refs(item),
        "graph_version": item.plan.governed.graph_version if item.plan.governed else None,
        "dependencies": dependencies(tx, item),
        "plan": rendering.plain(item.plan),
        "rows": rows(tx, item),
        "holders": list(item.holders),
        "work": rendering.plain(item.work),
        "results": rendering.plain(item.results),
        "stale": list(item.stale),
        "bound": binding_digest(bindings(reader(tx), item.plan)),
        "records": records(tx, item),
        "source": rendering.plain(item.source),
        "history": [rendering.event(recorded) for recorded in history],
        "history_truncated": item.version > len(history),
        "version": item.version,
    }
    return data


def graph_refs(item: Item) -> list[dict[str, str]]:
    """What an item has to do with: the nodes of its plan's graph, and links from elsewhere."""
    governed = item.plan.governed
    nodes = [("node", ref) for ref in governed.graph_refs] if governed else []
    return [{"kind": kind, "target": target} for kind, target in (*nodes, *item.links)]


def orphaned_refs(item: Item) -> list[str]:
    """What an item refers to and its plan has no longer, or nobody has."""
    governed = item.plan.governed
    unknown = [d.target[1:] for d in item.dependencies if d.target.startswith("?")]
    return [*(governed.orphaned_refs if governed else ()), *unknown]


def _one(tx: ReadTx, name: str) -> Item | Refused:
    found = find(tx, name)
    if isinstance(found, Refused):
        return found
    item = tx.load([("item", found)])["item", found]
    if not isinstance(item, Item):
        return Refused(Code.NOT_FOUND, f"there is no work item {name!r}", "see 'remit list'")
    return item


def dependencies(tx: ReadTx, item: Item) -> list[dict[str, Any]]:
    """The edges of an item with what is known of each target."""
    targets = load_items(tx, dict.fromkeys(d.via for d in item.dependencies))
    named = titles(tx, targets)
    known = {target.id: target for target in targets}
    found = []
    for edge in item.dependencies:
        shown = rendering.dependency(edge)
        target = known.get(edge.via)
        shown["status"] = target.status.value if target else None
        shown["outcome"] = target.outcome.value if target and target.outcome else None
        shown["title"] = named.get(edge.via)
        found.append(shown)
    return found


def requirements(tx: ReadTx, item: Item) -> list[dict[str, Any]]:
    """The requirements that an item owns, with goal revision, statement and closure.

    A planned item shows those that it was made for, whatever their newest revisions say.
    """
    from remit.service.reading.closing import closure_of, shown
    from remit.service.reading.plans import words_of

    facts = tx.load([("requirement", name) for name in item.plan.requirements])
    governed = item.plan.governed
    made_for = dict(ref.split("@") for ref in governed.requirement_refs) if governed else {}
    found = []
    for fact in facts.values():
        if not isinstance(fact, Requirement):
            continue
        revision = int(made_for.get(fact.id, fact.revision))
        found.append(
            {
                "id": fact.id,
                "revision": revision,
                "goal_revision": fact.goal_revision,
                "drafted": fact.drafted,
                **words_of(tx, fact, revision),
                "digest": fact.digest,
                "closure": shown(closure_of(tx, fact.id)),
            }
        )
    return found


def goal(tx: ReadTx, name: str) -> dict[str, Any] | None:
    """A goal's newest revision."""
    from remit.service.reading.plans import objective_of

    fact = tx.load([("goal", name)])["goal", name]
    if not isinstance(fact, Goal):
        return None
    return {
        "id": fact.id,
        "revision": fact.revision,
        "objective": objective_of(tx, fact),
        "drafted": fact.drafted,
        "seq": fact.seq,
    }


def rows(tx: ReadTx, item: Item) -> list[dict[str, Any]]:
    """The verification rows of an item as registered, each with its newest result."""
    from remit.core.registration import row_event

    facts = list(tx.load([("row", n) for n in item.plan.rows]).values())
    events = tx.at_seq([f.seq for f in facts if isinstance(f, Row)])
    results = {r.row: r for r in item.results}
    found = []
    for fact in facts:
        registered = row_event(events[fact.seq].event) if isinstance(fact, Row) else None
        if registered is None or not isinstance(fact, Row):
            continue
        result = results.get(fact.id)
        shown = {"id": fact.id, **rendering.plain(registered), "seq": fact.seq}
        shown["result"] = rendering.plain(result)
        shown["stale"] = fact.id in item.stale
        found.append(shown)
    return found


def records(tx: ReadTx, item: Item) -> list[dict[str, Any]]:
    """The open triage records of an item."""
    # What lists of items never need is not loaded with them: every cold read would pay for it.
    from remit.service.reading.triage import triage_record

    facts = tx.load([("triage", name) for name in item.triage])
    return [triage_record(tx, f) for f in facts.values() if isinstance(f, Triage)]
