"""One traffic, three stores: what people ask of a ledger, asked of all stores under one clock.

The clock is the same object for all, so nothing has to be left out of the comparison: answers, event
for event down to the digest, every fact, and what each query says must be equal after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from tests.contract.builders import Hands
from tests.core.traffic import SMALL, Traffic
from tests.core.world import AGENTS, HUMAN, OTHER

from remit.core import commands as c
from remit.core.evolve import evolve
from remit.core.facts import FACT_TYPES
from remit.ports import ItemQuery, ReadTx, Store
from remit.service.engine import Answer, Call, Done, Engine
from remit.service.operations import Caller, Operations

Stores = dict[str, Store]


def shape_of(answer: Answer) -> Any:
    """What two answers must have in common: everything that the ledger keeps of them."""
    if isinstance(answer, Done):
        return ("done", answer.repeated, answer.events)
    return ("refused", answer.code, answer.message, answer.hint, dict(answer.details))


def picture(tx: ReadTx, after: int) -> dict[str, Any]:
    """All that can be asked of a snapshot; events only after a seq that was compared before."""
    facts = {kind: tx.load([(kind, n) for n in tx.names(kind, "", 10_000)]) for kind in FACT_TYPES}
    items = [key[1] for key in facts["item"]]
    lanes = tx.lanes(100)
    return {
        "head": tx.head(), "now": tx.now(), "facts": facts, "small": tx.small(),
        "stored": tx.stored(after, 10_000), "lanes": lanes,
        "ready": [tx.ready(lane, None, 100) for lane in lanes],
        "due": tx.due(tx.now(), 100), "before": tx.leased_before(1 << 40, 100),
        "next": tx.next_expiry(),
        "dependents": [tx.dependents(item, 100) for item in items],
        "children": [tx.children(item, 100) for item in items],
        "awaited": tx.awaited([*items, "?a", "?b", "?c"]),
        "listed": tx.items(ItemQuery(limit=0)),
        "open": tx.items(ItemQuery(statuses=("ready", "held", "leased"), newest_first=True)),
        "found": tx.find("W", 100), "triage": tx.triage(open_only=True, limit=100),
        "paths": [tx.reaches(a, b, 50) for a in items[:3] for b in items[-3:]],
    }  # fmt: skip


class SideBySide:
    """Stands where the traffic expects an engine, and asks every store."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.compared = 0

    def run(
        self, calls: Sequence[Call], *, atomic: bool = False, urgent: bool = False
    ) -> list[Answer]:
        """Run calls on every store and compare the answers; gives the first store's."""
        answers = {
            name: self._ask(store, calls, atomic, urgent) for name, store in self.stores.items()
        }
        first = next(iter(answers))
        wanted = [shape_of(answer) for answer in answers[first]]
        for name, found in answers.items():
            assert [shape_of(answer) for answer in found] == wanted, (name, first, calls)
        return answers[first]

    def _ask(self, store: Store, calls: Sequence[Call], atomic: bool, urgent: bool) -> list[Answer]:
        """Through the canonical operations where one actor asks, else in one engine's list."""
        engine = Engine(store)
        if len({call.actor for call in calls}) != 1:
            return engine.run(calls, atomic=atomic, urgent=urgent)
        operations = Operations(store, Caller(calls[0].actor), engine)
        commands, ids = [k.command for k in calls], [k.command_id for k in calls]
        return operations.run_each(commands, ids, atomic=atomic, urgent=urgent)

    def compare(self) -> None:
        """Whole state, and all events since the last comparison."""
        seen: dict[str, dict[str, Any]] = {}
        for name, store in self.stores.items():
            with store.read() as tx:
                seen[name] = picture(tx, self.compared)
        first = next(iter(seen))
        for name, found in seen.items():
            for what, value in found.items():
                assert value == seen[first][what], (what, name, first)
        self.compared = seen[first]["head"].seq

    def rebuild(self) -> None:
        """The rows of every store against a fresh fold of its own events."""
        for name, store in self.stores.items():

            def fold(tx: ReadTx) -> list[Any]:
                facts: dict[Any, Any] = {}
                for recorded in tx.events(0, 1 << 40):
                    facts.update(evolve(lambda kind, n: facts.get((kind, n)), recorded))
                return [(key, fact) for key, fact in facts.items() if fact is not None]

            assert store.rebuild(fold, swap=False) == [], name


class SharedTraffic(Traffic):
    """The core's traffic on several stores; the world's own memory store is the first of them.

    ``make`` makes the others, under the world's clock.
    """

    def __init__(self, rnd: Random, make: Callable[[Hands], Stores], most: int = 9) -> None:
        super().__init__(rnd, most)
        others = make(self.world.clock)
        self.same = SideBySide({"memory": self.world.store, **others})
        first = [c.CreateLedger("world", HUMAN), c.EnrolActor(OTHER, "human")]
        first += [c.EnrolActor(agent, "agent") for agent in AGENTS]
        for store in others.values():
            for command in (*first, c.SetPolicy(SMALL)):
                assert isinstance(Engine(store).run([Call(command, HUMAN)])[0], Done)
        self.same.compare()
        self.world.engine = self.same  # type: ignore[assignment]  # it answers as an engine does
