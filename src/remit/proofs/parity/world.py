"""One side of a scenario: a ledger under a clock of its own, its items, and what lies outside.

Both sides are built by the same steps, so they start equal. Items are created ready to work on; a
policy, limits and a human's decision are there before anybody works. ``history`` reads what was left
behind in the terms of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from remit.core import commands as c
from remit.core.commands import Command
from remit.core.events import EVENTS
from remit.core.facts import Item, Policy
from remit.core.item_events import VerificationRecorded
from remit.core.limit_facts import Spend
from remit.core.refusals import Refused
from remit.core.rows import Control, RowKind, RowSpec
from remit.ports import Store
from remit.proofs.parity.comparing import Happening, History, folded, happening
from remit.proofs.parity.outside import (
    Remote,
    ScriptedLanding,
    ScriptedMain,
    ScriptedRepository,
    ScriptedVerifier,
    script_of,
)
from remit.proofs.parity.scenario import Scenario, Thing
from remit.proofs.parity.timing import Clock
from remit.proofs.parity.watching import Watch, WatchedEngine, WatchedStore
from remit.service.delivery import Delivery
from remit.service.engine import Done, Engine
from remit.service.integrating import Integration
from remit.service.operations import Caller, Operations
from remit.service.reading.items import show
from remit.wiring import in_memory

HUMAN: Final = "ann"
WORKER: Final = "drone"
REVIEWER: Final = "judge"
RIVAL: Final = "bob"

_ALL: Final = 1 << 40


class Unready(AssertionError):  # noqa: N818  # a fault of the proof, not of what is proved
    """What every world needs was refused."""


@dataclass(slots=True)
class World:
    """One ledger and its outside. ``items`` are ids in the order of the scenario's things."""

    scenario: Scenario
    clock: Clock
    store: Store
    watch: Watch
    remote: Remote
    items: tuple[str, ...] = ()
    numbers: dict[str, int] = field(default_factory=dict)
    engine: Engine | None = None

    @property
    def now(self) -> int:
        """Microseconds since the beginning."""
        return self.clock.passed

    def operations(self, actor: str, engine: Engine | None = None) -> Operations:
        """The canonical operations for one actor."""
        return Operations(self.store, Caller(actor), engine or self.engine)

    def delivery(self, actor: str, engine: Engine | None = None) -> Delivery:
        """The operations that look at the repository."""
        repository = ScriptedRepository(self.remote)
        return Delivery(self.operations(actor, engine), repository, self.verifier)

    def integration(self, actor: str, engine: Engine | None = None) -> Integration:
        """The operation that brings approved work onto main."""
        landing, push = ScriptedLanding(self.remote), ScriptedMain(self.remote)
        return Integration(self.delivery(actor, engine), landing, push)

    @property
    def verifier(self) -> ScriptedVerifier:
        """The verifier of this world."""
        return ScriptedVerifier(self.remote, self._verified)

    def item(self, name: str) -> Item:
        """An item as it is now."""
        with self.store.read() as tx:
            found = tx.load([("item", name)])["item", name]
        assert isinstance(found, Item), name
        return found

    def thing(self, name: str) -> Thing:
        """The script of an item."""
        return self.scenario.things[self.numbers[name]]

    def must(self, actor: str, command: Command) -> Done:
        """Run what cannot be refused."""
        answer = self.operations(actor).run(command)
        if isinstance(answer, Refused):
            raise Unready(f"{actor} {type(command).__name__}: {answer.code}, {answer.message}")
        return answer

    def _verified(self, name: str) -> int:
        with self.store.read() as tx:
            events = tx.stream(name, 0, _ALL)
        return sum(isinstance(r.event, VerificationRecorded) for r in events)


def build(scenario: Scenario) -> World:
    """A new world in which nobody has worked yet."""
    clock = Clock()
    watch = Watch()
    made = in_memory("parity", HUMAN, clock)
    store: Any = WatchedStore(made.store, watch)
    numbers: dict[str, int] = {}
    world = World(
        scenario, clock, store, watch, Remote(script_of(scenario.things, numbers)), numbers=numbers
    )
    world.engine = WatchedEngine(store, watch, lambda: world.now)
    for actor in (WORKER, REVIEWER, RIVAL):
        world.must(HUMAN, c.EnrolActor(actor, "agent"))
    policy = Policy(
        ttl_ms=scenario.ttl_ms, longest_lease_ms=scenario.longest_ms, attempts=scenario.attempts
    )
    world.must(HUMAN, c.SetPolicy(policy))
    for number, thing in enumerate(scenario.things):
        name = _create(world, number, thing)
        numbers[name] = number
        world.items = (*world.items, name)
    return world


def _create(world: World, number: int, thing: Thing) -> str:
    rows = [RowSpec(RowKind.COMMAND, argv=("check", str(number)))]
    if thing.rubric:
        rows.append(RowSpec(RowKind.RUBRIC, rubric="Is it good?", control=Control.NONE))
    done = world.must(
        HUMAN,
        c.CreateItem(
            f"thing {number}",
            body=f"do thing {number}",
            priority=thing.priority,
            tenant=thing.tenant,
            rows=tuple(rows),
            scope=(f"thing-{number}/**",),
            depends_on=tuple((world.items[n], "blocks") for n in thing.waits_on),
        ),
    )
    return next(r.stream for r in done.events if r.stream.startswith("W-"))


def history(world: World) -> History:
    """What was left behind, as it is compared."""
    events: dict[str, list[Happening]] = {name: [] for name in world.items}
    shown: dict[str, dict[str, Any]] = {}
    accounts: dict[str, tuple[int, int]] = {}
    with world.store.read() as tx:
        for stored in tx.stored(0, _ALL):
            if stored.stream in events:
                kind = EVENTS[stored.type].ENTITY
                events[stored.stream].append(
                    happening(
                        stored.seq,
                        kind,
                        stored.type,
                        stored.actor,
                        stored.payload,
                        stored.command_id or "",
                    )
                )
        for name in world.items:
            found = show(tx, name)
            assert not isinstance(found, Refused), name
            shown[name] = folded(found)
        for scope in tx.names("spend", "", _ALL):
            spend = tx.load([("spend", scope)])["spend", scope]
            if isinstance(spend, Spend):
                accounts[scope] = (spend.settled, spend.reserved)
    return History(shown, events, world.watch.item_operations(), accounts)
