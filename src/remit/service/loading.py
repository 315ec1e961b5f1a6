"""Loading: answers what a decision asked for, from one transaction.

Facts are loaded by key; queries (keys whose kind ends in ``?``) are asked of the store with a bound,
and the items that they name are loaded along, since the decision will look at them next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from remit.core.beneath import MAX_CHILDREN, MAX_LINEAGE
from remit.core.deadlock import ongoing
from remit.core.decisions import CONTESTED
from remit.core.dependencies import MAX_CHAIN
from remit.core.effect_facts import AdmissionPolicy, Effect, Intent
from remit.core.evolve.plans import GONE
from remit.core.facts import DependencyKind, Fact, Governed, GraphNode, Item, Key, Planned, lane_of
from remit.core.followers import FOLLOWERS
from remit.core.planning.bundle import PART
from remit.core.rechecking import BATCH
from remit.core.settlement import FAN_OUT
from remit.core.status import Kind
from remit.core.view import View
from remit.core.waiters import MAX_WAITERS
from remit.ports import ReadTx

AHEAD: Final = 32
"""How many ready items are looked up where the next transaction is likely to go on with the rest."""

LANES: Final = 64
"""How many lanes a lease looks at before it asks for more."""

ONWARD: Final = 1_000
"""How many items one step of a search for a cycle loads ahead."""


PATIENCE: Final = 4
"""How many rounds a decision may take before the news that it carries is followed ahead of it."""


@dataclass(frozen=True, slots=True)
class Window:
    """The first ready items of a lane by rank, and whether there may be more behind them."""

    ids: tuple[str, ...]
    more: bool


def _waits(item: Item) -> list[str]:
    return [] if item.terminal else [d.via for d in item.dependencies if ongoing(d)]


def _parents(item: Item) -> list[str]:
    above = [d for d in item.dependencies if d.kind is DependencyKind.PARENT]
    return [*(d.target for d in above), *(d.via for d in above), *_follows(item)]


def _follows(item: Item) -> list[str]:
    return [item.successor] if item.successor else []


FURTHER: Final = ("item", "current", "policy", "intent", "effect", "node")
"""Kinds of facts that lead to others which the same decision reads."""


def _behind(key: Key, fact: Fact | None) -> dict[Key, None]:
    """What a decision on effect work reads next, once it has this."""
    kind, name = key
    if isinstance(fact, str) and kind == "alias":
        return {("item", fact): None}
    if isinstance(fact, str) and kind == "label":
        return {(name.partition("/")[0], fact): None}
    if isinstance(fact, Planned):
        return {(name.split("/")[1].removeprefix(GONE), fact.id): None}
    if isinstance(fact, GraphNode):
        return {("label", f"node/{target}"): None for target in fact.waits}
    if isinstance(fact, str) and kind == "current":
        what = name.partition("/")[0]
        found: dict[Key, None] = {(what, fact): None}
        if what == "capacity":
            found[("debit", fact)] = None
        return found
    if isinstance(fact, AdmissionPolicy):
        return {("validation", fact.validation): None}
    if isinstance(fact, Effect):
        return {("item", fact.item): None, ("destination", fact.destination): None}
    if isinstance(fact, Intent):
        named = (("policy", fact.policy), ("destination", fact.destination))
        found = {key: None for key in named if key[1]}
        if fact.envelope.effect_id:
            found["effect", fact.envelope.effect_id] = None
        return found
    return {}


def _queued(work_class: str, tenant: str) -> dict[Key, None]:
    """What is read of the place where an item queues: its lane, its class's turn, live leases."""
    return {
        ("lane", lane_of(work_class, tenant)): None,
        ("active", work_class): None,
        ("lane-turn", work_class): None,
        ("load", f"class/{work_class}"): None,
        ("load", f"tenant/{tenant}"): None,
    }


def _governed(item: Item, governed: Governed) -> dict[Key, None]:
    """What the gates of a planned item are asked of."""
    found: dict[Key, None] = {("plan", governed.plan): None, ("goal", item.plan.goal): None}
    found["decided", CONTESTED] = None
    found.update({("requirement", name): None for name in item.plan.requirements})
    found.update({("row", name): None for name in item.plan.rows})
    if governed.node:
        found["node", governed.node] = None
    return found


class Loader:
    """Loads into one view from one transaction.

    ``window`` is how many leases the batch wants, ``carried`` whether the view comes from the
    transaction before; what that one read of a lane's window may be used up.
    """

    def __init__(self, tx: ReadTx, view: View, window: int, *, carried: bool = False) -> None:
        self.tx = tx
        self.view = view
        self.window = max(window + 1, AHEAD if carried else 0)
        self._read: set[str] = set()

    def load(self, keys: Iterable[Key], rounds: int = 0) -> bool:
        """Load facts and answer queries that the view lacks; whether it knows more than before.

        ``rounds`` is how often this decision has asked before: the more often, the further ahead of
        it is looked, or news that goes down a long chain would begin again at every item of it.
        """
        facts = self.view.facts
        known = len(facts) + len(self.view.queries)
        plain: dict[Key, None] = {}
        keys = tuple(keys)
        self._unawaited(keys)
        for key in keys:
            if key[0][-1] in "?+":
                if key[0][-1] == "+" or key not in self.view.queries:
                    self._answer(key, plain)
                if key[0] == "dependents?" and rounds >= PATIENCE:
                    self._downward(key[1], 1 << min(rounds - PATIENCE, 10), plain)
            elif key not in facts:
                plain[key] = None
        wanted = [key for key in plain if key not in facts]
        if wanted:
            facts.update(self.tx.load(wanted))
            self._around(wanted)
        return len(facts) + len(self.view.queries) > known

    def _unawaited(self, keys: tuple[Key, ...]) -> None:
        """Answer at once for all items that nothing waits on, which are nearly all of them."""
        queries = self.view.queries
        names = [n for kind, n in keys if kind == "dependents?" and (kind, n) not in queries]
        if len(names) > 1:
            awaited = self.tx.awaited(names)
            queries.update({("dependents?", n): () for n in names if n not in awaited})

    def _around(self, wanted: list[Key], *, asked: bool = True) -> None:
        """What a decision on an item looks at next: its lane, loads, rule and import.

        The gates of a planned item are looked into only where the item itself was ``asked`` for.
        """
        facts = self.view.facts
        more: dict[Key, None] = {}
        places: set[tuple[str, str]] = set()
        for key in wanted:
            fact = facts[key]
            if isinstance(fact, Item):
                if fact.kind is Kind.EFFECT:
                    more[("intent", fact.id)] = None
                    more[("load", f"stored/{fact.work_class}")] = None
                place = (fact.work_class, fact.tenant)
                if place not in places:
                    places.add(place)
                    more.update(_queued(*place))
                if fact.lease is not None:
                    more[("load", f"actor/{fact.lease.actor}")] = None
                if fact.source is not None:
                    more[("import", fact.source.import_id)] = None
                if fact.plan.rule and not fact.plan.rows:
                    more[("rule", fact.plan.rule)] = None
                if asked and fact.plan.governed is not None:
                    more.update(_governed(fact, fact.plan.governed))
            else:
                more.update(_behind(key, fact))
        lacking = [key for key in more if key not in facts]
        if lacking:
            facts.update(self.tx.load(lacking))
            further = [key for key in lacking if key[0] in FURTHER]
            if further:
                self._around(further, asked=False)

    def _answer(self, key: Key, plain: dict[Key, None]) -> None:
        kind, name = key
        queries, tx = self.view.queries, self.tx
        match kind:
            case "lanes?" | "lanes+":
                self._lanes(plain)
            case "ready?":
                self._ready(name, (), plain)
            case "ready+":
                self._ready(name, queries["ready?", name].ids, plain)
            case "dependents?":
                edges = tx.dependents(name, FAN_OUT + 1)
                queries[key] = edges
                if len(edges) <= FAN_OUT:
                    plain.update({("item", edge.dependent): None for edge in edges})
            case "children?":
                queries[key] = tuple(tx.children(name, MAX_CHILDREN))
            case "waiting?":
                via, edge_kind, state = name.rsplit("|", 2)
                edges = tx.waiting(via, edge_kind, state, FAN_OUT)
                queries[key] = edges
                plain.update({("item", edge.dependent): None for edge in edges})
            case "waiters?":
                edges = tx.waiting(name, DependencyKind.WAITS_FOR, "-", MAX_WAITERS + 1)
                queries[key] = edges
                plain.update({("item", edge.dependent): None for edge in edges})
            case "held?" | "waking?" | "followers?":
                self._held(key, plain)
            case "planned?":
                self._planned(key)
            case "onward+":
                self._ahead(name, _waits, ONWARD)
            case "lineage+":
                self._ahead(name, _parents, MAX_LINEAGE)
            case "chain+":
                self._ahead(name, _follows, MAX_CHAIN)
            case _:
                raise AssertionError(f"no such query: {kind}")

    def _planned(self, key: Key) -> None:
        """The next entries of a plan in the order of their names, without the plan's own.

        A seal reads digests alone, so what the entries lead to is not loaded behind them.
        """
        prefix, _, after = key[1].partition("#")
        names = self.tx.names("planned", prefix + after, PART)
        names = [n for n in names if n.startswith(prefix) and not n.startswith(prefix + GONE)]
        self.view.queries[key] = tuple(name[len(prefix) :] for name in names)
        facts = self.view.facts
        facts.update(self.tx.load([k for n in names if (k := ("planned", n)) not in facts]))

    def _held(self, key: Key, plain: dict[Key, None]) -> None:
        """Held items by trigger and place in line or by time, or items that follow one."""
        kind, name = key
        if kind == "held?":
            trigger, _, after = name.rpartition("#")
            rank, _, number = after.partition(":")
            ids = self.tx.held(trigger, (int(rank), int(number)) if after else None, BATCH)
        elif kind == "waking?":
            ids = self.tx.waking(int(name), BATCH)
        else:
            ids = self.tx.followers(name, FOLLOWERS + 1)
        self.view.queries[key] = tuple(ids)
        plain.update({("item", item): None for item in ids})

    def _lanes(self, plain: dict[Key, None]) -> None:
        """The lanes whose turn comes first; asked again, twice as many."""
        queries = self.view.queries
        limit = max(LANES + self.window, 2 * len(queries.get(("lanes?", ""), ())))
        lanes = self.tx.lanes(limit)
        queries["lanes?", ""] = tuple(lanes)
        queries["lanes?", "more"] = len(lanes) == limit
        for lane in lanes:
            work_class, _, tenant = lane.partition("|")
            plain.update(_queued(work_class, tenant))

    def _downward(self, start: str, levels: int, plain: dict[Key, None]) -> None:
        """Answer who waits on an item, who waits on those, and so on, so many levels down."""
        queries, level, found = self.view.queries, [start], 0
        for _ in range(levels):
            names: dict[str, None] = {}
            for name in level:
                names.update({e.dependent: None for e in queries["dependents?", name]})
            level = [n for n in names if ("dependents?", n) not in queries]
            found += len(level)
            if not level or found > ONWARD:
                return
            for name in level:
                self._answer(("dependents?", name), plain)

    def _ahead(self, start: str, way: Callable[[Item], list[str]], most: int) -> None:
        """Load an item and what lies one way of it, level by level, as far as one round goes."""
        facts, level, loaded = self.view.facts, [start], 0
        seen = {start}
        while level and loaded < most:
            lacking = [("item", name) for name in level if ("item", name) not in facts]
            facts.update(self.tx.load(lacking))
            loaded += len(lacking)
            following: dict[str, None] = {}
            for name in level:
                item = facts[("item", name)]
                if isinstance(item, Item):
                    following.update(dict.fromkeys(way(item)))
            level = [n for n in following if n not in seen and not n.startswith("?")]
            seen.update(level)

    def _ready(self, lane: str, so_far: tuple[str, ...], plain: dict[Key, None]) -> None:
        """The next window of a lane, as long as all before it, so that few are ever asked for.

        A window that was read by an earlier transaction is read anew from its start.
        """
        after = None
        if lane not in self._read:
            self._read.add(lane)
            self.view.heads[lane] = 0
            so_far = ()
        elif so_far:
            last = self.tx.load([("item", so_far[-1])])["item", so_far[-1]]
            if isinstance(last, Item):
                after = (last.rank, last.number)
        limit = max(self.window, len(so_far))
        ids = self.tx.ready(lane, after, limit)
        self.view.queries["ready?", lane] = Window((*so_far, *ids), len(ids) == limit)
        plain.update({("item", item): None for item in ids})
