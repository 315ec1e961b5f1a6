"""Which items a worker asks for: those that it has a handler for, in the order of leases.

The order is that of the core (lanes in turn, ranks within them), looked at in a short snapshot that
holds nobody up. What no handler here takes is passed over, so that a job that needs another worker
blocks nothing behind it; a long lane is looked at in pieces, each look going on where the last one
ended. The lease itself is asked for by name, and the core checks everything again: what was taken
meanwhile is refused, and other work is found at the next look.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from remit.core.effect_facts import Effect, Intent, ReplayClass
from remit.core.facts import Item, Lane
from remit.core.ids import effect_key
from remit.core.lanes import merge
from remit.core.refusals import Code
from remit.core.status import Kind, Status
from remit.ports import ReadTx, Store
from remit.service.reading.items import lanes_in_turn, turns_of
from remit.workers.app import App, Handler
from remit.workers.clock import boot_s
from remit.workers.reaching import name_of
from remit.workers.settings import Tell

LANES: Final = 256
"""Most lanes that one look considers."""

WINDOW: Final = 100
"""Items that are read at once."""

MOST: Final = 2_000
"""Most items of a lane that one look passes over."""

LIMITS: Final = frozenset(
    (Code.CONCURRENCY_LIMIT, Code.RATE_LIMIT, Code.BUDGET_EXHAUSTED, Code.SPEND_UNESTIMATED)
)
PASSING: Final = frozenset((Code.ITEM_LEASED, Code.ITEM_NOT_READY, Code.EFFECT_UNRECONCILED))
STALE: Final = frozenset((Code.DEADLINE_PASSED, Code.WORK_CANCELLED, Code.TOO_EARLY, Code.EFFECT_CONFLICT, Code.EFFECT_PRESENT))  # fmt: skip
"""Refusals of a lease: a limit, somebody was faster, and what admission has to decide again."""

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item that could be leased now, and what is needed to work on it."""

    item: Item
    intent: Intent
    handler: Handler
    compensates: str


class Chooser:
    """Finds work for one app; ``classes`` and ``tenants`` narrow it, empty means any."""

    def __init__(
        self,
        store: Store,
        app: App,
        classes: frozenset[str],
        tenants: frozenset[str],
        tell: Tell,
    ) -> None:
        self._store = store
        self._tell = tell
        self._app = app
        self._classes = classes
        self._tenants = tenants
        self._shunned: dict[str, float] = {}
        self._places: dict[str, Place] = {}
        self._passed: set[str] = set()

    def shun(self, item: str, seconds: float) -> None:
        """Leave an item alone for a while, drawn at random up to so many seconds."""
        wait = random.uniform(seconds / 2, seconds)  # noqa: S311  # jitter is no secret
        self._shunned[item] = boot_s() + wait

    def look(self, many: int, without: Iterable[str] = ()) -> list[Candidate]:
        """At most so many candidates, first in line first."""
        now = boot_s()
        self._shunned = {item: until for item, until in self._shunned.items() if until > now}
        passed = {*without, *self._shunned}
        with self._store.read() as tx:
            lanes = [lane for lane in lanes_in_turn(tx, LANES) if self._wanted(lane)]
            found: dict[str, Candidate] = {}
            heads: dict[str, list[str]] = {}
            for lane in lanes:
                fit = self._lane(tx, lane, many, passed)
                found |= {candidate.item.id: candidate for candidate in fit}
                heads[lane.id] = [candidate.item.id for candidate in fit]
            order = merge(heads, lanes, many, turns_of(tx, lanes))
        return [found[name] for name in order]

    def later(self) -> bool:
        """Whether anything is ready that is only left alone for a while."""
        with self._store.read() as tx:
            return bool(_items(tx, list(self._shunned)))

    def overdue(self) -> bool:
        """Whether leases have run out, or holds wait for a time that has come: a write notices."""
        with self._store.read() as tx:
            now = tx.now()
            return bool(tx.due(now, 1) or tx.waking(now, 1))

    def _wanted(self, lane: Lane) -> bool:
        work_class, _, tenant = lane.id.partition("|")
        return (not self._classes or work_class in self._classes) and (
            not self._tenants or tenant in self._tenants
        )

    def _lane(self, tx: ReadTx, lane: Lane, many: int, passed: set[str]) -> list[Candidate]:
        """What fits of one lane: from its head, else from where the last look left off."""
        found, place, end = self._walk(tx, lane.id, None, many, passed, WINDOW)
        if found or end:
            self._places.pop(lane.id, None)
            return found
        found, place, end = self._walk(
            tx, lane.id, self._places.get(lane.id, place), many, passed, MOST
        )
        if end or place is None:
            self._places.pop(lane.id, None)
        elif not found:
            self._places[lane.id] = place
        return found

    def _walk(
        self, tx: ReadTx, lane: str, after: Place | None, many: int, passed: set[str], most: int
    ) -> tuple[list[Candidate], Place | None, bool]:
        found: list[Candidate] = []
        looked = 0
        while looked < most:
            names = tx.ready(lane, after, WINDOW)
            items = _items(tx, names)
            found += self._fit(tx, [item for item in items if item.id not in passed])
            if items:
                after = (items[-1].rank, items[-1].number)
            if len(names) < WINDOW:
                return found[:many], after, True
            looked += len(names)
            if len(found) >= many:
                return found[:many], after, False
        return found, after, False

    def _fit(self, tx: ReadTx, items: list[Item]) -> list[Candidate]:
        wanted = [item for item in items if item.kind is Kind.EFFECT]
        facts = tx.load([("intent", item.id) for item in wanted])
        found = []
        for item in wanted:
            intent = facts["intent", item.id]
            if not isinstance(intent, Intent):
                continue
            handler = self._app.handler_of(intent.envelope, item.work_class)
            if handler is not None and self._same_place(tx, item, intent, handler):
                found.append(Candidate(item, intent, handler, _undone(tx, intent)))
        return found

    def _same_place(self, tx: ReadTx, item: Item, intent: Intent, handler: Handler) -> bool:
        """Whether the handler sends to where the work wants its effect; the rest is told once."""
        if not handler.destination or intent.envelope.replay_class == ReplayClass.PURE:
            return True
        wanted = name_of(tx, intent.destination or intent.envelope.destination)
        if wanted == handler.destination:
            return True
        if item.id not in self._passed:
            self._passed.add(item.id)
            particulars = {"item": item.id, "wants": wanted, "handler": handler.name}
            self._tell("passed-over", {**particulars, "reason": "OTHER_DESTINATION"})
        return False


def _items(tx: ReadTx, names: list[str]) -> list[Item]:
    facts = tx.load([("item", name) for name in names])
    found = [facts["item", name] for name in names]
    return [f for f in found if isinstance(f, Item) and f.status is Status.READY]


def _undone(tx: ReadTx, intent: Intent) -> str:
    """The key of the effect that this work compensates, empty where it compensates none."""
    name = intent.envelope.effect_id
    effect = tx.load([("effect", name)])["effect", name] if name else None
    if isinstance(effect, Effect) and effect.compensates:
        return effect_key(effect.compensates)
    return ""
