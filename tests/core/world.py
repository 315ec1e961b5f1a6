"""A small world to test the core in: one ledger in memory, a clock set by hand, a few actors.

Commands go through the same engine and the same stores' contract as everything else; nothing is
faked but the clock. ``World`` says what happened in as few words as a test wants to read: ``ok``
for what must be accepted, ``no`` for what must be refused, ``state`` for all that is kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from typing import Any

from tests.contract.builders import Hands

from remit.core import commands as c
from remit.core.actor_commands import KeySpec
from remit.core.change import changed
from remit.core.checks import Result
from remit.core.commands import Command, Text
from remit.core.events import Recorded
from remit.core.evolve import evolve
from remit.core.facts import FACT_TYPES, Fact, Item, Key, Lease, Ledger, Policy, Row
from remit.core.moments import Standing, apply
from remit.core.refusals import Code, Refused
from remit.core.rows import Control, RowKind, RowSpec
from remit.core.signing import Proof
from remit.ports import Blob
from remit.ports.signing import Examined, PublicKey, Reach, SignatureFault
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
LOGGED = Blob(hashlib.sha256(b"salted" + b"log").digest(), b"salted", b"log")
LOG = LOGGED.digest.hex()
"""The digest of a log."""


def key_spec(name: str, **more: Any) -> KeySpec:
    """A key that was tried and does not sign unprompted."""
    letters = (name * 43)[:43]
    plain = KeySpec(f"SHA256:{letters}", "ssh-ed25519", "A" * 68, reach="PASS")
    return changed(plain, **more)


class Played:
    """Signatures as this world plays them: one holds what was found of it, and is always sound."""

    def key(self, line: str) -> PublicKey | SignatureFault:
        """No key is read here."""
        return SignatureFault(f"no key is read here: {line[:20]}")

    def examine(self, statement: bytes, signature: str) -> Examined | SignatureFault:
        """What was found of the signature, if it was over this statement."""
        found = json.loads(base64.b64decode(signature))
        if found.pop("digest") != hashlib.sha256(statement).hexdigest():
            return SignatureFault("it was made over another statement")
        key = PublicKey("ssh-ed25519", found["fingerprint"], "", 256, found["hardware"])
        return Examined(key, found["namespace"], signature, found["presence"], False, 0)

    def reach(self, key: PublicKey) -> Reach:
        """Nothing signs unprompted."""
        return Reach(Result.PASS, key.fingerprint)


def played(found: dict[str, Any]) -> str:
    """A signature that ``Played`` takes: what was found of it, as text."""
    parts = {
        "digest": hashlib.sha256(found["statement"].encode()).hexdigest(),
        "fingerprint": found["fingerprint"],
        "hardware": bool(found.get("hardware")),
        "namespace": found["namespace"],
        "presence": bool(found.get("presence")),
    }
    return base64.b64encode(json.dumps(parts).encode()).decode()


KEYS = {name: key_spec(name) for name in (HUMAN, OTHER, "fay")}


def sha(number: int) -> str:
    """A full commit id."""
    return f"{number:040x}"


class World:
    """One ledger, its clock, and the people of these tests."""

    def __init__(
        self, policy: Policy | None = None, ledger_id: str = "world", *, served: bool = False
    ) -> None:
        self.clock = Hands()
        self.store = MemoryStore(ledger_id, readings=self.clock)
        self.engine = Engine(self.store)
        self.commits = 0
        self.nonces = 0
        self.ok(HUMAN, c.CreateLedger(ledger_id, HUMAN, served=served))
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
        keyed = isinstance(getattr(command, "key", None), KeySpec)  # no adapter reads keys here
        if keyed or isinstance(command, c.RecordVerification):
            blobs = () if keyed else (LOGGED,)
            return self.engine.run([Call(command, actor, command_id, blobs)])[0]
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

    def prove(self, actor: str, command: Command, **flaws: Any) -> Answer:
        """Run an act signed by its actor's own key; ``flaws`` change what was found of the signature.

        No cryptography is played here: the core is told that a signature was found good.
        """
        self.nonces += 1
        wish = Proof(f"{self.nonces:032x}", self.now + 60 * SECOND)
        [asked] = self.engine.run([Call(command, actor, proof=wish)])
        if not isinstance(asked, Refused) or "statement" not in asked.details:
            return asked
        found = {
            "statement": asked.details["statement"],
            "namespace": asked.details["namespace"],
            "fingerprint": KEYS[actor].fingerprint,
            "reach": Result.PASS,
            **flaws,
        }
        found["signature"] = played(found)
        return self.engine.run([Call(command, actor, proof=changed(wish, **found))])[0]

    def signed(self, actor: str, command: Command) -> Done:
        """Run a signed act that must be accepted."""
        answer = self.prove(actor, command)
        assert isinstance(answer, Done), f"{command}: {answer}"
        return answer

    def keyed(self) -> None:
        """Give the first human a key, and accept nothing unproved from then on."""
        self.ok(HUMAN, c.EnrolKey(HUMAN, KEYS[HUMAN]))
        ledger = self.fact("ledger", "ledger")
        assert isinstance(ledger, Ledger)
        self.signed(HUMAN, c.SetPolicy(changed(ledger.policy, accept_unproved=False)))

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
    """What events fold to, from nothing, with the moments that a ledger keeps."""
    facts: dict[Key, Fact] = {}
    standing = Standing()
    for recorded in events:
        delta = evolve(lambda kind, name: facts.get((kind, name)), recorded)
        apply(facts, delta, standing, recorded.seq)
    return facts
