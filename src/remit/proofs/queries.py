"""What a store would answer, computed from the facts of one state.

``ModelTx`` is the part of a write transaction that the engine's batch uses, over a plain mapping of
facts; nothing is indexed, since a world has three items. ``Answers`` gives the same to a view, one
query at a time and only when it is asked. Both must answer exactly as ``remit.ports`` says, or the
search would explore another product.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from remit.core import settlement
from remit.core.events import Recorded
from remit.core.evolve.plans import GONE
from remit.core.facts import LEDGER, DependencyKind, Fact, Item, Key, Lane
from remit.core.followers import FOLLOWERS
from remit.core.lanes import in_turn
from remit.core.lifetimes import wakes_at
from remit.core.planning.bundle import PART
from remit.core.rechecking import BATCH
from remit.core.status import Outcome, Status
from remit.core.view import UNCOUNTED
from remit.core.waiters import MAX_WAITERS
from remit.ports import Blob, Change, ClockJump, Edge, Head
from remit.service.loading import Window


class Answers(dict[Key, Any]):
    """The queries of a view, answered from all its facts when they are first asked."""

    __slots__ = ("facts",)

    def __init__(self, facts: Mapping[Key, Fact | None]) -> None:
        super().__init__()
        self.facts = facts

    def __contains__(self, key: object) -> bool:
        """Every query can be answered, so all count as asked."""
        return True

    def get(self, key: Key, default: Any = None) -> Any:
        """The answer of a query, whatever the default."""
        if super().__contains__(key):
            return self[key]
        answer = self[key] = _answer(ModelTx(self.facts), *key)
        return answer


def _answer(tx: ModelTx, kind: str, name: str) -> Any:
    match kind:
        case "lanes?":
            return False if name == "more" else tuple(tx.lanes(64))
        case "ready?":
            return Window(tuple(tx.ready(name, None, 64)), more=False)
        case "dependents?":
            return tx.dependents(name, 64)
        case "children?":
            return tuple(tx.children(name, 64))
        case "waiting?":
            via, edge_kind, state = name.rsplit("|", 2)
            return tx.waiting(via, edge_kind, state, settlement.FAN_OUT)
        case "waiters?":
            return tx.waiting(name, DependencyKind.WAITS_FOR, "-", MAX_WAITERS + 1)
        case "held?":
            trigger, _, after = name.rpartition("#")
            rank, _, number = after.partition(":")
            place = (int(rank), int(number)) if after else None
            return tuple(tx.held(trigger, place, BATCH))
        case "waking?":
            return tuple(tx.waking(int(name), BATCH))
        case "followers?":
            return tuple(tx.followers(name, FOLLOWERS + 1))
        case "planned?":
            return _planned(tx, name)
        case _:
            raise AssertionError(f"no such query: {kind}")


def _planned(tx: ModelTx, name: str) -> tuple[str, ...]:
    """The next names of records of a plan, without the plan, as ``Loader`` gives them."""
    prefix, _, after = name.partition("#")
    names = tx.names("planned", prefix + after, PART)
    own = [each.removeprefix(prefix) for each in names if each.startswith(prefix)]
    return tuple(each for each in own if not each.startswith(GONE))


class ModelTx:
    """A transaction on the facts of one state; what is appended is kept aside."""

    def __init__(
        self,
        facts: Mapping[Key, Fact | None],
        seq: int = 0,
        now: int = 0,
        known: Mapping[str, list[Recorded]] | None = None,
    ) -> None:
        self._facts = facts
        self._seq = seq
        self._now = now
        self.known = dict(known or {})
        self.appended: list[Recorded] = []
        self.written: list[Change] = []

    def head(self) -> Head:
        """The newest event."""
        return Head(self._seq, self._now)

    def now(self) -> int:
        """The state's time."""
        return self._now

    def load(self, keys: Iterable[Key]) -> dict[Key, Fact | None]:
        """Facts by key."""
        return {key: self._facts.get(key) for key in keys}

    def names(self, kind: str, after: str, limit: int) -> list[str]:
        """Names of facts of a kind that come after one."""
        names = (n for (k, n), fact in self._facts.items() if k == kind and fact is not None)
        return sorted(n for n in names if n > after)[:limit]

    def small(self) -> dict[Key, Fact]:
        """Counters, counts and the ledger."""
        return {
            key: fact
            for key, fact in self._facts.items()
            if fact is not None and (key[0] in UNCOUNTED or key == LEDGER)
        }

    def ready(self, lane: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Ready items of a lane by rank and number."""
        items = [i for i in self._items() if i.status is Status.READY and i.lane == lane]
        items = [i for i in items if after is None or (i.rank, i.number) > after]
        return [i.id for i in sorted(items, key=lambda i: (i.rank, i.number))][:limit]

    def dependents(self, via: str, limit: int) -> list[Edge]:
        """Edges of unfinished items that are judged by this one."""
        return [
            Edge(i.id, d.target, d.kind.value, d.state.value)
            for i in self._items()
            for d in i.dependencies
            if not i.terminal and d.via == via
        ][:limit]

    def awaited(self, vias: Iterable[str]) -> set[str]:
        """Which of these some unfinished item waits on."""
        return {via for via in vias if self.dependents(via, 1)}

    def waiting(self, via: str, kind: str, state: str, limit: int) -> list[Edge]:
        """Edges of this kind whose state is another one."""
        edges = self.dependents(via, 1 << 30)
        return [e for e in edges if e.kind == kind and e.state != state][:limit]

    def children(self, parent: str, limit: int) -> list[str]:
        """Items with a parent edge that is judged by ``parent``."""
        return [
            i.id
            for i in self._items()
            if any(d.kind is DependencyKind.PARENT and d.via == parent for d in i.dependencies)
        ][:limit]

    def lanes(self, limit: int) -> list[str]:
        """Lanes that have something ready, the next in turn first."""
        lanes = (fact for fact in self._facts.values() if isinstance(fact, Lane))
        return [str(lane.id) for lane in in_turn(lanes)][:limit]

    def due(self, now: int, limit: int) -> list[str]:
        """Leased items whose lease has run out."""
        leased = [i for i in self._items() if i.lease is not None and i.lease.expires_at <= now]
        return [i.id for i in leased][:limit]

    def next_expiry(self) -> int | None:
        """When the first of all leases runs out."""
        ends = [i.lease.expires_at for i in self._items() if i.lease is not None]
        return min(ends, default=None)

    def held(self, trigger: str, after: tuple[int, int] | None, limit: int) -> list[str]:
        """Held items that wait for a trigger, by their place in line."""
        found = [(i.hold.rank, i.number, i.id) for i in self._items() if i.hold is not None
                 and i.hold.trigger == trigger]  # fmt: skip
        return [n for *at, n in sorted(found) if after is None or tuple(at) > after][:limit]

    def waking(self, now: int, limit: int) -> list[str]:
        """Held and ready items whose time has come."""
        found = [(wakes_at(i), i.number, i.id) for i in self._items()]
        return [name for at, _, name in sorted(found) if 0 < at <= now][:limit]

    def next_wake(self) -> int | None:
        """When the first time trigger comes."""
        times = [at for i in self._items() if (at := wakes_at(i))]
        return min(times, default=None)

    def followers(self, survivor: str, limit: int) -> list[str]:
        """Items that were coalesced onto one."""
        return [
            i.id
            for i in self._items()
            if i.outcome is Outcome.COALESCED and i.successor == survivor
        ][:limit]

    def leased_before(self, fence: int, limit: int) -> list[str]:
        """Leased items whose fence is below this one."""
        leased = [i for i in self._items() if i.lease is not None and i.lease.fence < fence]
        return [i.id for i in leased][:limit]

    def commands(self, ids: Iterable[str]) -> dict[str, list[Recorded]]:
        """Events that were written under these command ids."""
        return {name: self.known[name] for name in ids if name in self.known}

    def clock_jump(self) -> ClockJump | None:
        """The clocks of a world never come apart."""
        return None

    def put_blobs(self, blobs: Sequence[Blob]) -> None:
        """A world has no texts."""

    def append(self, events: Sequence[Recorded]) -> None:
        """Keep events, by command id too."""
        self.appended += events
        for event in events:
            if event.command_id:
                self.known.setdefault(event.command_id, []).append(event)

    def write(self, changes: Sequence[Change]) -> None:
        """Keep rows aside."""
        self.written += changes

    def _items(self) -> list[Item]:
        return [fact for fact in self._facts.values() if isinstance(fact, Item)]
