"""What may happen to a ledger that lives in three stores at once; ``Trio`` does it to all of them.

Beside what people ask: time goes by, the wall clock jumps, the machine starts again, a process ends
and another one opens the stores, somebody adopts the ledger, the ledger moves house (each store's
export is read by another kind of store, and all go on from there), a read of the past, a proof of the
whole ledger, and a rebuild of its rows. After each move ``compare`` is called by whoever drives this.

Jumps of the wall clock are far longer than what the stores take for a jump. By less they differ on
purpose: a server's clock that drifts is followed, a machine's is not. After a jump the machine is
not started again, for a like reason: SQLite believes a new boot's wall clock, PostgreSQL goes on
believing its server's less the jump. ``stores/clock.py`` and ``stores/postgres/clock.py`` say why.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.contract.builders import Hands
from tests.core.traffic import SMALL
from tests.core.world import AGENTS, HUMAN, KEYS, OTHER, Played, played
from tests.stateful import whole
from tests.stateful.asking import Everything
from tests.stateful.side_by_side import SideBySide, Stores, demand
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core.evolve import evolve
from remit.core.facts import FACT_TYPES, Actor, Fact, Ledger
from remit.core.moments import Standing, apply
from remit.core.refusals import Code, Refused
from remit.core.signing import Proof
from remit.ports import ReadTx, RemitError, Store
from remit.service import transfer
from remit.service.adoption import adopt
from remit.service.engine import Call, Done, Engine
from remit.service.integrity import verify
from remit.service.operations import Caller, Operations
from remit.service.past import as_of
from remit.service.proving import Signed
from remit.stores.clock import Clock
from remit.stores.memory import MemoryStore
from remit.stores.postgres import opening
from remit.stores.sqlite import store as sqlite

WIPE_EVERY = 100
"""After so many ledgers the database is emptied."""

MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Files in memory where there are some: what a disk loses is not what is compared here."""

JUMPS_US = (-3_600_000_000, -60_000_000, 60_000_000, 86_400_000_000)


@dataclass
class Ground:
    """Where ledgers are made: a folder, and two databases of one server, for many ledgers each.

    Without a server the stores are those in memory and in SQLite.
    """

    server: Server | None
    databases: tuple[str, str] = ("", "")
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp("", "remit-agree-", MEMORY)))
    numbers: Any = field(default_factory=lambda: itertools.count(0))

    def ledger(self) -> str:
        """The id of a new ledger."""
        number = next(self.numbers)
        if self.server is not None and number % WIPE_EVERY == 0:
            for database in self.databases:
                self.server.wipe(database)
        return f"world-{number}"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The stores beside the one in memory."""
        return ("sqlite",) if self.server is None else ("sqlite", "postgres")

    def url(self, which: int, ledger: str) -> str:
        assert self.server is not None
        return f"{self.server.url(self.databases[which])}&ledger={ledger}"

    def leave(self) -> None:
        """Take the files away."""
        shutil.rmtree(self.folder)


class Trio:
    """One ledger in the stores of a ground, and everything that may happen to it."""

    def __init__(self, ground: Ground, most: int, profile: str) -> None:
        self.ground = ground
        self.name = ground.ledger()
        self.traffic = Everything(Random(0), most, profile, self.name)
        self.clock: Hands = self.traffic.world.clock
        self.jumped = False
        self.moves = 0
        self.past: dict[int, Mapping[str, Mapping[str, Fact]]] = {}
        self.files: list[Path] = []
        stores = self._made(self.traffic.world.store)
        self.same = SideBySide(stores)
        first = [c.CreateLedger(self.name, HUMAN), c.EnrolActor(OTHER, "human")]
        first += [c.EnrolActor(agent, "agent") for agent in AGENTS]
        for kind in ground.kinds:
            store = stores[kind]
            for command in (*first, c.SetPolicy(SMALL)):
                assert isinstance(Engine(store).run([Call(command, HUMAN)])[0], Done)
        self.traffic.world.engine = self.same  # type: ignore[assignment]  # it answers as an engine does
        self.compare()

    def _made(self, memory: MemoryStore) -> Stores:
        """New and empty ledgers beside one in memory."""
        stores: Stores = {"memory": memory}
        for kind in self.ground.kinds:
            if kind == "sqlite":
                stores[kind] = sqlite.create_store(self._file(), self.name, readings=self.clock)
            else:
                stores[kind] = opening.create_store(self._url(), self.name, readings=self.clock)
        return stores

    def _file(self) -> Path:
        self.files.append(self.ground.folder / f"{self.name}-{len(self.files)}.db")
        return self.files[-1]

    def _url(self) -> str:
        return self.ground.url(self.moves % 2, self.name)

    def compare(self, *, full: bool = False) -> None:
        """Hold the whole state of all three equal."""
        self.same.compare(full=full)
        self.past[self.same.compared] = self.same.mirror.before

    # Moves. Each takes its chance from ``rnd``.

    def ask(self, rnd: Random) -> None:
        """One command of one actor."""
        self.traffic.rnd = rnd
        self.traffic.ask()

    def ask_many(self, rnd: Random) -> None:
        """A list of one to four commands, of several actors, sometimes all or none."""
        self.traffic.rnd = rnd
        self.traffic.ask(rnd.choice((2, 2, 3, 4)))

    def ask_twice(self, rnd: Random) -> None:
        """One command id twice in one list."""
        self.traffic.rnd = rnd
        self.traffic.twice()

    def ask_in_bulk(self, rnd: Random) -> None:
        """Eighty commands at once."""
        self.traffic.rnd = rnd
        self.traffic.bulk()

    def again(self, rnd: Random) -> None:
        """A command id once more, with the same content or another."""
        self.traffic.rnd = rnd
        self.traffic.again()

    def wait(self, rnd: Random) -> None:
        """Time goes by, often to just before, at or after the end of a lease."""
        self.traffic.rnd = rnd
        self.traffic.time()

    def jump(self, rnd: Random) -> None:
        """Somebody sets the wall clock."""
        self.jumped = True
        self.clock.wall += rnd.choice(JUMPS_US)

    def reopen(self, rnd: Random) -> None:
        """This process ends and another one opens what is there; maybe the machine started again."""
        stores = dict(self.same.stores)
        for kind in self.ground.kinds:
            stores[kind].close()
        if not self.jumped and rnd.random() < 0.4:
            change = rnd.choice((5_000_000, 3_600_000_000, -3_600_000_000))
            self.jumped = change < 0
            self.clock.reboot(self.clock.wall + change)
        self.same.memory._clock = Clock(self.clock)  # a new process has read no clock yet
        for kind in self.ground.kinds:
            if kind == "sqlite":
                stores[kind] = sqlite.open_store(self.files[-1], readings=self.clock)
            else:
                stores[kind] = opening.open_store(self._url(), readings=self.clock)
        self.same.reopen(stores)

    def adopt(self, rnd: Random) -> None:
        """A human takes the ledger into use, as after a restore; every lease ends."""
        who, above = rnd.choice((HUMAN, HUMAN, "bob")), rnd.choice((0, 0, 2))

        def act(store: Store, engine: Engine) -> Any:
            return adopt(Operations(store, Caller(who), engine), "moved", above)

        self.same.same("adoption", act)

    def move(self, rnd: Random) -> None:
        """Export every store, compare the lines, let each kind read what another wrote, and adopt.

        Where the ledger wants its adoption signed, whoever has a sound key signs it, one statement for
        all stores. Where nobody has, it stays where it is: no copy of it could ever be adopted.
        """
        person = self._who_adopts()
        if not person:
            return
        names = list(self.same.stores)
        turn = rnd.randrange(1, len(names))
        lines = self.same.each(lambda store, _: list(transfer.export(store)))
        for name, found in lines.items():
            demand(name, "export", found, lines["memory"])
        self.moves += 1
        self.close()
        if self.moves > 1 and self.ground.server is not None:  # it was there before
            self.ground.server.wipe(self.ground.databases[self.moves % 2])
        memory = MemoryStore(self.name, readings=self.clock)
        stores = self._made(memory)
        for name, source in zip(names, names[turn:] + names[:turn], strict=True):
            moved = transfer.import_into(stores[name], lines[source])
            demand(name, "import", moved.events, self.same.compared)
        self.traffic.world.store = memory
        self.same.replace(stores)
        self.same.same("a write to a copy", self._refused_copy)
        signed = self._statement(person) if self._wants_proof() else None

        def adopted(store: Store, engine: Engine) -> Any:
            caller = Caller(person, signed=signed)
            found = adopt(Operations(store, caller, engine, signatures=Played()), "moved here")
            assert not isinstance(found, Refused), found
            return found

        self.same.same("adoption", adopted)

    def _wants_proof(self) -> bool:
        ledger = self.traffic.world.fact("ledger", "ledger")
        return isinstance(ledger, Ledger) and not ledger.policy.accept_unproved

    def _who_adopts(self) -> str:
        """Somebody whose adoption will be taken, or nobody."""
        if not self._wants_proof():
            return HUMAN
        for name, spec in KEYS.items():
            actor = self.traffic.world.fact("actor", name)
            if not isinstance(actor, Actor) or actor.kind != "human" or actor.revoked:
                continue
            for key in actor.keys:
                over = key.expires_at is not None and key.expires_at <= self.traffic.world.now
                if key.fingerprint == spec.fingerprint and not (key.revoked or over):
                    return name
        return ""

    def _statement(self, person: str) -> Signed:
        """What the memory store wants signed, signed; the other stores want it as well or refuse it."""
        store = self.same.memory
        with store.read() as tx:
            wish = Proof(f"{self.moves:031x}f", tx.now() + 60_000_000)
        call = Call(c.AdoptEpoch(store.epoch_known(), "moved here"), person, proof=wish)
        [asked] = Engine(store).run([call], adopting=True)
        assert isinstance(asked, Refused), asked
        statement, namespace = asked.details["statement"], asked.details["namespace"]
        found = {
            "statement": statement,
            "namespace": namespace,
            "fingerprint": KEYS[person].fingerprint,
        }
        return Signed(wish.nonce, wish.until, statement, played(found))

    @staticmethod
    def _refused_copy(_store: Store, engine: Engine) -> Code:
        """Nobody writes to a copy before it is adopted, in any store."""
        with pytest.raises(RemitError) as refused:
            engine.run([Call(c.EngageKillSwitch("no"), HUMAN)])
        assert refused.value.code is Code.LEDGER_NOT_ADOPTED
        return refused.value.code

    def look_back(self, rnd: Random) -> None:
        """The ledger as of a past seq: like it was then, and the same questions answered alike."""
        seq = rnd.choice(list(self.past))

        def act(store: Store, _: Engine) -> Any:
            with store.read() as tx, as_of(tx, seq, self._empty) as past:
                items = list(self.past[seq]["item"].values())[:4]
                asked = whole.asked(past, whole.QUESTIONS, items)  # type: ignore[arg-type]  # items
                return whole.loaded(past), {**asked, "now": None}

        found = self.same.same(f"the past at {seq}", act)
        then = {kind: self.past[seq][kind] for kind in FACT_TYPES}
        for kind, facts in then.items():
            now = {name: fact for (_, name), fact in found[0][kind].items()}
            demand("memory", f"{kind} facts as of {seq}", now, dict(facts))

    def _empty(self, ledger_id: str) -> Store:
        return MemoryStore(ledger_id, readings=self.clock)

    def prove(self, _rnd: Random) -> None:
        """``ledger verify`` on every store: nothing wrong, and one root."""
        report = self.same.same(
            "verification", lambda store, _: verify(store, fold=evolve, signatures=Played())
        )
        demand("memory", "verification", report.problems, ())
        assert report.rows_compared
        assert report.events == self.same.compared

    def rebuild(self, _rnd: Random) -> None:
        """Rows made anew from the events, put in place where they differ, and they do not."""

        def fold(tx: ReadTx) -> list[Any]:
            facts: dict[Any, Any] = {}
            standing = Standing()
            for recorded in tx.events(0, whole.ALL):
                delta = evolve(lambda kind, n: facts.get((kind, n)), recorded)
                apply(facts, delta, standing, recorded.seq)
            return [(key, fact) for key, fact in facts.items() if fact is not None]

        self.same.same("rebuild", lambda store, _: store.rebuild(fold, swap=True))

    def close(self) -> None:
        """Close the stores, and take a SQLite file away."""
        for store in self.same.stores.values():
            store.close()
        for path in self.ground.folder.glob(f"{self.name}-*"):
            path.unlink()


Move = Callable[[Trio, Random], None]

MOVES: dict[str, tuple[int, Move]] = {
    "ask": (609, Trio.ask),
    "ask many": (120, Trio.ask_many),
    "ask twice": (18, Trio.ask_twice),
    "ask in bulk": (4, Trio.ask_in_bulk),
    "again": (75, Trio.again),
    "wait": (118, Trio.wait),
    "jump": (10, Trio.jump),
    "reopen": (16, Trio.reopen),
    "adopt": (4, Trio.adopt),
    "move": (4, Trio.move),
    "look back": (12, Trio.look_back),
    "prove": (4, Trio.prove),
    "rebuild": (6, Trio.rebuild),
}
"""Every move and how often it is made, in a thousand."""
