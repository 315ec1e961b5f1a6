"""A small world to test the core in: one ledger in memory, a clock set by hand, a few actors.

Commands go through the same engine and the same stores' contract as everything else; nothing is
faked but the clock. ``World`` says what happened in as few words as a test wants to read: ``ok``
for what must be accepted, ``no`` for what must be refused, ``state`` for all that is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.contract.builders import Hands

from remit.core import commands as c
from remit.core.change import changed
from remit.core.commands import Command, Text
from remit.core.events import Recorded
from remit.core.evolve import evolve
from remit.core.facts import FACT_TYPES, Fact, Item, Key, Lease, Ledger, Policy, Row
from remit.core.refusals import Code, Refused
from remit.core.rows import Control, RowKind, RowSpec
from remit.service.engine import Answer, Call, Done, Engine
from remit.service.operations import Caller, Operations
from remit.stores.memory import MemoryStore

HUMAN, OTHER, AGENTS = "ann", "eve", ("bob", "cat", "dan")
VERIFIER = "remit-verifier"
BASE, MAIN = "b" * 40, "f" * 40
COMMAND = RowSpec(RowKind.COMMAND, argv=("check", "it"))
RUBRIC = RowSpec(RowKind.RUBRIC, rubric="Is it good?", control=Control.NONE)
SECOND = 1_000_000
"""Microseconds."""
LOG = "d" * 64
"""The digest of a log."""


def sha(number: int) -> str:
    """A full commit id."""
    return f"{number:040x}"


class World:
    """One ledger, its clock, and the people of these tests."""

    def __init__(self, policy: Policy | None = None, ledger_id: str = "world") -> None:
        self.clock = Hands()
        self.store = MemoryStore(ledger_id, readings=self.clock)
        self.engine = Engine(self.store)
        self.commits = 0
        self.ok(HUMAN, c.CreateLedger(ledger_id, HUMAN))
        self.ok(HUMAN, c.EnrolActor(OTHER, "human"))
        for agent in AGENTS:
            self.ok(HUMAN, c.EnrolActor(agent, "agent"))
        if policy is not None:
            self.ok(HUMAN, c.SetPolicy(policy))

    def ops(self, actor: str) -> Operations:
        """The canonical operations for one actor."""
        return Operations(self.store, Caller(actor), self.engine)

    def do(self, actor: str, command: Command, command_id: str = "") -> Answer:
        """Run one command, what remit itself would have to have seen as well.

        Findings name the blobs of their logs, which only the built-in verifier's call may.
        """
        if isinstance(command, c.RecordVerification):
            return self.engine.run([Call(command, actor, command_id)])[0]
        return self.ops(actor).observed([command], [command_id])[0]

    def ok(self, actor: str, command: Command, command_id: str = "") -> Done:
        """Run a command that must be accepted."""
        answer = self.do(actor, command, command_id)
        assert isinstance(answer, Done), f"{command}: {answer}"
        return answer

    def no(self, actor: str, command: Command, code: Code, command_id: str = "") -> Refused:
        """Run a command that must be refused with this code."""
        answer = self.do(actor, command, command_id)
        assert isinstance(answer, Refused), f"{command} was accepted: {answer.events}"
        assert answer.code is code, answer
        assert answer.message
        return answer

    def many(self, *calls: tuple[str, Command], atomic: bool = False) -> list[Answer]:
        """Run commands of several actors in one transaction."""
        return self.engine.run([Call(command, actor) for actor, command in calls], atomic=atomic)

    def pass_us(self, duration: int) -> None:
        """Time goes by."""
        self.clock.pass_us(duration)

    @property
    def now(self) -> int:
        """The ledger's time."""
        with self.store.read() as tx:
            return tx.now()

    def fact(self, kind: str, name: str) -> Fact | None:
        """One fact."""
        with self.store.read() as tx:
            return tx.load([(kind, name)])[kind, name]

    def item(self, name: str) -> Item:
        """An item that is there."""
        found = self.fact("item", name)
        assert isinstance(found, Item), f"no item {name}"
        return found

    def items(self) -> list[Item]:
        """All items by number."""
        with self.store.read() as tx:
            names = tx.names("item", "", 1 << 30)
            facts = tx.load([("item", name) for name in names]).values()
        return sorted((f for f in facts if isinstance(f, Item)), key=lambda item: item.number)

    def status(self, name: str) -> str:
        """Where an item stands."""
        return self.item(name).status.value

    def triage_of(self, name: str) -> tuple[str, ...]:
        """Kinds of the open records of an item."""
        records = [self.fact("triage", record) for record in self.item(name).triage]
        return tuple(record.kind for record in records if record is not None)  # type: ignore[union-attr]  # of this kind

    def events(self, after: int = 0) -> list[Recorded]:
        """All events after a seq."""
        with self.store.read() as tx:
            return tx.events(after, 1 << 30)

    def facts(self) -> dict[Key, Fact]:
        """Every fact that the store keeps, zero counters apart."""
        with self.store.read() as tx:
            keys = [(kind, n) for kind in FACT_TYPES for n in tx.names(kind, "", 1 << 30)]
            return {key: fact for key, fact in tx.load(keys).items() if fact is not None}

    def state(self) -> tuple[Any, ...]:
        """All that is kept, to show that nothing was written."""
        with self.store.read() as tx:
            blobs = tx.stored_blobs(b"", 1 << 30)
            return (tx.head(), self.facts(), blobs)

    # What tests do all the time.

    def policy(self, **figures: Any) -> None:
        """Set some figures of the policy."""
        ledger = self.fact("ledger", "ledger")
        assert isinstance(ledger, Ledger)
        self.ok(HUMAN, c.SetPolicy(changed(ledger.policy, **figures)))

    def create(self, *rows: RowSpec, **more: Any) -> str:
        """Create an item, ready unless something holds it; returns its id."""
        command = c.CreateItem(more.pop("title", "work"), rows=rows or (COMMAND,), **more)
        answer = self.ok(more.pop("actor", HUMAN), command)
        return next(r.stream for r in answer.events if r.stream.startswith("W-"))

    def lease(self, item: str = "", actor: str = "bob", **more: Any) -> Lease:
        """Lease an item, or the next."""
        answer = self.ok(actor, c.GrantLease(item, **more))
        return next(r.event.lease for r in answer.events if hasattr(r.event, "lease"))  # type: ignore[no-any-return]  # a lease

    def report(self, lease: Lease, head: str = "") -> c.ReportCompletion:
        """The report that hands work in."""
        self.commits += 1
        return c.ReportCompletion(
            lease.item, lease.fence, head or sha(self.commits), BASE, tree=sha(900 + self.commits)
        )

    def complete(self, lease: Lease, head: str = "") -> str:
        """Hand work in; returns its head."""
        report = self.report(lease, head)
        self.ok(lease.actor, report)
        return report.head

    def ship_of(self, item: str) -> c.ObserveShip:
        """The observation that the reviewed head is on main."""
        work = self.item(item).work
        assert work is not None
        return c.ObserveShip(item, work.head, MAIN, "origin", "main", work.base, "sha", "p1")

    def findings(
        self,
        item: str,
        result: str = "verified",
        diff: str = "PASS",
        rows: Iterable[str] | None = None,
        executed: int = 1,
    ) -> c.RecordVerification:
        """A verifier's findings: the same for all rows of the item, or for those named."""
        found = self.item(item)
        assert found.work is not None
        wanted = found.plan.rows if rows is None else tuple(rows)
        facts = [self.fact("row", name) for name in wanted]
        return c.RecordVerification(
            item,
            found.work.shipped,
            tuple(
                c.RowFinding(row.id, row.digest, result, "X", executed, 0, LOG)
                for row in facts
                if isinstance(row, Row)
            ),
            diff,
        )

    def until(self, stage: str, *rows: RowSpec, **more: Any) -> str:
        """A new item, brought to a status by the plain way; returns its id."""
        if stage == "draft":
            return self._draft(**more)
        if stage == "held":
            first = self.create()
            return self.create(*rows, depends_on=((first, "blocks"),), **more)
        item = self.create(*rows, **more)
        steps = ("ready", "leased", "in-review", "approved", "shipped", "verified")
        for step in steps[1 : steps.index(stage) + 1]:
            self.step(item, step)
        assert self.status(item) == stage
        return item

    def _draft(self, **more: Any) -> str:
        answer = self.ok(HUMAN, c.CreateItem("draft", **{"rule": "unwritten", **more}))
        return next(r.stream for r in answer.events if r.stream.startswith("W-"))

    def step(self, item: str, to: str) -> None:
        """One step on the plain way to verified."""
        match to:
            case "leased":
                self.lease(item)
            case "in-review":
                lease = self.item(item).lease
                assert lease is not None
                self.complete(lease)
            case "approved":
                self.ok("cat", c.ReviewWork(item, approve=True, reason=Text("good")))
            case "shipped":
                self.ok(HUMAN, self.ship_of(item))
            case "verified":
                self.ok(VERIFIER, self.findings(item))
            case _:
                raise AssertionError(to)


def folded(events: Iterable[Recorded]) -> dict[Key, Fact]:
    """What events fold to, from nothing."""
    facts: dict[Key, Fact] = {}
    for recorded in events:
        for key, fact in evolve(lambda kind, name: facts.get((kind, name)), recorded).items():
            if fact is None:
                facts.pop(key, None)
            else:
                facts[key] = fact
    return facts
