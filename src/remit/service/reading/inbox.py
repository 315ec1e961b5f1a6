"""What waits for somebody: leases, reviews, ships, verifications, records, rules and decisions.

Who asks matters. A lease is its holder's alone; nobody reviews what they held a lease on; where only a
human's approval counts, agents are shown no reviews. Whatever list is long is looked at from its oldest end
and no further than ``LOOK`` items: ``truncated`` then says that there is more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from remit.core.decisions import Decision, DecisionState
from remit.core.facts import LEDGER, Actor, ActorKind, Item, Ledger, Rule
from remit.core.ids import item_number
from remit.core.status import Status
from remit.ports import ItemQuery, ReadTx
from remit.service.reading.items import load_items, summaries

PAGE: Final = 100
LOOK: Final = 300
"""Most items of one status that are looked at where not each of them is the caller's."""

LEASES: Final = 5_000
"""Most leased items that are looked at for the caller's own, where it is known that there are some."""

REGISTERED: Final = 1_000
"""Most rules and decisions that are looked at, the newest decisions first."""


class _Found:
    """What was found so far, up to a limit (0: all)."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.items: list[tuple[Item, str]] = []
        self.total = 0
        self.more = False

    def left(self) -> int:
        """How many more are shown; 0 where all are."""
        return max(self.limit - len(self.items), 0)

    def add(self, item: Item, act: str) -> None:
        """Count one, and show it where there is room."""
        self.total += 1
        if not self.limit or self.left():
            self.items.append((item, act))


def inbox(tx: ReadTx, actor: str, limit: int) -> dict[str, Any]:
    """What waits for this actor: its leases, reviews it may do, and for humans records, rules and decisions."""
    fact = tx.load([("actor", actor)])["actor", actor]
    human = isinstance(fact, Actor) and not fact.revoked and fact.kind is ActorKind.HUMAN
    small = tx.small()
    found = _Found(limit)
    _mine(tx, found, actor)
    if human or _anybody_approves(small.get(LEDGER)):
        mine = _not_held_by(actor)
        _some(tx, found, Status.IN_REVIEW, "review", LOOK, None, mine)
    _all(tx, small, found, Status.APPROVED, "ship")
    if human:
        _all(tx, small, found, Status.SHIPPED, "verify")
        _all(tx, small, found, Status.TRIAGED, "triage")
    shown = summaries(tx, [item for item, _ in found.items])
    acts = [act for _, act in found.items]
    return {
        "items": [{**one, "act": act} for one, act in zip(shown, acts, strict=True)],
        "rules": _unaccepted(tx) if human else [],
        "decisions": _undecided(tx) if human else [],
        "total": found.total,
        "truncated": found.more or found.total > len(found.items),
    }


def _anybody_approves(ledger: Any) -> bool:
    """Whether an approval may come without a human's signature."""
    return isinstance(ledger, Ledger) and (ledger.policy.accept_unproved or ledger.served)


def _mine(tx: ReadTx, found: _Found, actor: str) -> None:
    """The caller's own leases: as many as are counted for it, where that is known."""
    held = tx.load([("load", f"actor/{actor}")])["load", f"actor/{actor}"]
    known = held if isinstance(held, int) else None
    look = LOOK if known is None else LEASES
    if known != 0:
        _some(tx, found, Status.LEASED, "finish", look, known, _held_by(actor))


def _not_held_by(actor: str) -> Callable[[Item], bool]:
    return lambda item: actor not in item.holders


def _held_by(actor: str) -> Callable[[Item], bool]:
    return lambda item: item.lease is not None and item.lease.actor == actor


def _some(
    tx: ReadTx,
    found: _Found,
    status: Status,
    act: str,
    look: int,
    known: int | None,
    wanted: Callable[[Item], bool],
) -> None:
    """Items of a status that are the caller's, a page at a time, until ``known`` of them are found."""
    looked, after, met = 0, 0, 0
    while known is None or met < known:
        ids = tx.items(ItemQuery(statuses=(status.value,), after=after, limit=PAGE))
        if found.limit and looked >= look and ids:
            found.more = True
            return
        for item in load_items(tx, ids):
            if wanted(item):
                met += 1
                found.add(item, act)
        if len(ids) < PAGE:
            return
        looked, after = looked + len(ids), item_number(ids[-1])


def _all(tx: ReadTx, small: Any, found: _Found, status: Status, act: str) -> None:
    """Items of a status, each of which is the caller's as much as anybody's."""
    count = small.get(("count", status), 0)
    if found.limit and not found.left():
        found.total += count
        return
    shown = 0
    for item in load_items(tx, tx.items(ItemQuery(statuses=(status.value,), limit=found.left()))):
        found.add(item, act)
        shown += 1
    found.total += count - shown


def _unaccepted(tx: ReadTx) -> list[dict[str, Any]]:
    facts = tx.load([("rule", name) for name in tx.names("rule", "", 100)])
    return [
        {"name": f.name, "revision": f.revision, "digest": f.digest}
        for f in facts.values()
        if isinstance(f, Rule) and not f.accepted
    ]


def _undecided(tx: ReadTx) -> list[dict[str, Any]]:
    """Decisions that wait for a human and may still be made, by number."""
    number = tx.small().get(("counter", "decision"), 0)
    last = number if isinstance(number, int) else 0
    names = [f"D-{n}" for n in range(max(1, last - REGISTERED + 1), last + 1)]
    facts = tx.load([("decision", name) for name in names]).values()
    return [
        {"id": f.id, "kind": str(f.kind), "title": f.title, "proposed_by": f.proposed_by}
        for f in facts
        if isinstance(f, Decision)
        and f.state is DecisionState.PROPOSED
        and (f.expires_at is None or tx.now() < f.expires_at)
    ]
