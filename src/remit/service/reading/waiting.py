"""What waits and why: ``blocked``, ``dep tree`` and ``explain``.

``blocked`` names for each item the gate or hold that stops it and the command that would open it.
``explain`` runs admission itself on the snapshot, so it says what admission would say now.
"""

from __future__ import annotations

from typing import Any, Final

from remit.core import gates
from remit.core.change import changed
from remit.core.facts import Item
from remit.core.refusals import Refused
from remit.core.status import Status
from remit.ports import ItemQuery, ReadTx
from remit.service.reading import rendering
from remit.service.reading.items import (
    _one,
    load_items,
    summaries,
    titles,
    total,
)

WAITING: Final = (Status.DRAFT.value, Status.HELD.value, Status.TRIAGED.value)

TREE: Final = 1_000
"""Most nodes that a dependency tree shows."""


def how_to_open(item: Item) -> str:
    """What a person can do about whatever stops this item."""
    if item.status is Status.TRIAGED and item.triage:
        return f"settle it: 'remit triage show {item.triage[0]}'"
    if item.gate:
        gate, _, rule = item.gate.partition("/")
        how = gates.HOW_TO_OPEN_PLANNED if item.plan.governed else gates.HOW_TO_OPEN
        return (how.get(gate) or gates.HOW_TO_OPEN.get(gate, "")).format(
            id=item.id, rule=rule or item.plan.rule or "default"
        )
    if item.hold is not None and item.hold.trigger.startswith("gate:") and item.plan.governed:
        gate = item.hold.trigger.removeprefix("gate:")
        return how_to_open(changed(item, status=Status.DRAFT, gate=gate))
    waits = [d for d in item.dependencies if d.state.value != "met"]
    if waits:
        target = waits[0].via
        if target.startswith("?"):
            return (
                f"{target[1:]} is not on this ledger: import it, or"
                f" 'remit dep rm {item.id} {target[1:]}'"
            )
        return f"finish {target} first: 'remit show {target}'"
    if item.hold is not None and item.hold.reason == "HUMAN_DECISION_MISSING":
        kind = "irreversible-action-authorization"
        return f"a human decides: 'remit decision propose TITLE --kind {kind} --work {item.id}'"
    return f"'remit recheck {item.id}'"


def blocked(tx: ReadTx, limit: int, after: int = 0) -> dict[str, Any]:
    """Items that cannot be leased yet, each with its gate or hold and how to open it."""
    ids = tx.items(ItemQuery(statuses=WAITING, limit=limit, after=after))
    items = load_items(tx, ids)
    number = total(tx, WAITING)
    if after:
        number = len(tx.items(ItemQuery(statuses=WAITING, limit=0, after=after)))
    found = []
    for item, shown in zip(items, summaries(tx, items), strict=True):
        waits = [rendering.dependency(d) for d in item.dependencies if d.state.value != "met"]
        shown["blocked_by"] = _stopper(item)
        shown["how_to_open"] = how_to_open(item)
        shown["waits_on"] = waits
        found.append(shown)
    return {"items": found, "total": number, "truncated": number > len(found)}


def _stopper(item: Item) -> str:
    if item.status is Status.TRIAGED:
        return f"triage {', '.join(item.triage)}"
    if item.gate:
        return f"gate {item.gate}"
    return f"hold {item.hold.reason}" if item.hold else "nothing"


def tree(tx: ReadTx, name: str) -> dict[str, Any] | Refused:
    """What an item waits on, and what those wait on, each item once."""
    root = _one(tx, name)
    if isinstance(root, Refused):
        return root
    nodes: list[dict[str, Any]] = []
    seen: set[str] = {root.id}
    queue: list[tuple[Item, int]] = [(root, 0)]
    while queue and len(nodes) < TREE:
        item, depth = queue.pop()
        [title] = titles(tx, [item]).values()
        edges = [rendering.dependency(d) for d in item.dependencies]
        nodes.append(
            {
                "id": item.id,
                "title": title,
                "status": item.status.value,
                "depth": depth,
                "dependencies": edges,
            }
        )
        fresh = [d.via for d in item.dependencies if d.via not in seen]
        seen.update(fresh)
        queue += [(child, depth + 1) for child in reversed(load_items(tx, fresh))]
    return {"item": root.id, "nodes": nodes, "truncated": bool(queue)}


def explain(tx: ReadTx, name: str) -> dict[str, Any] | Refused:
    """What admission says of an item on this snapshot, with every check, and what would open it."""
    from remit.core.admission import assess
    from remit.core.commands import Ask
    from remit.core.view import Draft, Missing, View
    from remit.service.loading import Loader

    item = _one(tx, name)
    if isinstance(item, Refused):
        return item
    view = View(tx.small(), tx.head().seq)
    loader = Loader(tx, view, 0)
    loader.load([("item", item.id)])
    draft = Draft(view, Ask(tx.now(), "remit-admission"))
    found = None
    while found is None:
        try:
            found = assess(draft, item)
        except Missing as lacking:
            loader.load(lacking.keys)
    owner = item.owner
    return {
        "id": item.id,
        "status": item.status.value,
        "question": f"May {item.id} be leased?",
        "verdict": found.verdict.value,
        "reason": found.reason,
        "gate": found.gate or None,
        "trigger": found.trigger or None,
        "owner": {"kind": owner.kind.value, "identity": owner.identity} if owner else None,
        "checks": rendering.plain(found.checks),
        "recorded": {"gate": item.gate or None, "hold": rendering.plain(item.hold)},
        "how_to_open": "" if found.verdict == "ADMIT" else how_to_open(item),
        "as_of_seq": tx.head().seq,
    }
