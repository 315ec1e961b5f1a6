"""Random traffic: what several people might ask of one ledger, sensible and not.

``Traffic.step`` draws one thing to do from a source of chance (seeded, or Hypothesis's own) and does
it, and ``Watch`` looks at what came of it. Most draws are likely to be accepted, since a history of
refusals tests little; the rest are stale, early, late, by the wrong person or the same thing again.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.core.invariants import Broken, Watch
from tests.core.triaging import SAMPLES, given_up
from tests.core.world import AGENTS, BASE, COMMAND, HUMAN, LOG, OTHER, RUBRIC, VERIFIER, World, sha

from remit.core import commands as c
from remit.core.commands import Command, Text
from remit.core.evolve import FoldError
from remit.core.facts import Item, Ledger, Policy, Row, Triage
from remit.core.status import Outcome, Status
from remit.core.triage import CLOSING, Resolution, TriageKind
from remit.core.triage_rules import RULES, ways_of
from remit.service.engine import Answer, Call

EVERYBODY = (HUMAN, OTHER, *AGENTS)
KINDS = ("blocks", "parent-child", "conditional-blocks", "waits-for")
SMALL = Policy(ttl_ms=60_000, longest_lease_ms=150_000, attempts=2, age_step_ms=20_000,
               ledger_leases=4, class_leases=3, tenant_leases=3, actor_leases=2)  # fmt: skip

MIXED = (16, 12, 18, 12, 9, 4, 6, 3, 9, 4, 3, 5)
LATE = (4, 10, 16, 40, 0, 0, 1, 1, 28, 1, 0, 0)
"""How often each way of asking is drawn; late traffic brings few items far."""

Ask = tuple[str, Command]


class Traffic:
    """Traffic on one world; ``most`` bounds how many items it makes."""

    def __init__(
        self,
        rnd: Random,
        most: int = 9,
        weights: tuple[int, ...] = MIXED,
        ledger_id: str = "world",
    ) -> None:
        self.weights = weights
        self.rnd = rnd
        self.most = most
        self.world = World(SMALL, ledger_id)
        self.watch = Watch(self.world)
        self.ids = 0
        self.past: list[tuple[str, Call]] = []
        self.fences: list[tuple[str, str, int]] = []
        self.log: list[str] = []

    def step(self) -> None:
        """Do one thing, and look."""
        chance = self.rnd.random()
        if chance < 0.12:
            self.time()
        elif chance < 0.20:
            self.again()
        else:
            self.ask(self.rnd.randint(2, 4) if chance < 0.30 else 1)
        self.watch.look()

    def ask(self, many: int = 1) -> None:
        """Ask for one thing, or for several in one transaction."""
        self._list([self._ask() for _ in range(many)])

    def run(self, steps: int) -> None:
        """Many steps."""
        for _ in range(steps):
            self.step()

    # How it is asked.

    def _list(self, asks: list[Ask]) -> None:
        calls = []
        for actor, command in asks:
            self.ids += 1
            named = self.rnd.random() < 0.5
            calls.append(Call(command, actor, command_id=f"c{self.ids}" if named else ""))
        atomic = len(calls) > 1 and self.rnd.random() < 0.3
        self.log.append(f"{'atomic ' if atomic else ''}{[(k.actor, k.command) for k in calls]}")
        answers = self._run(calls, atomic)
        for call, answer in zip(calls, answers, strict=True):
            self.watch.fenced(call.command, answer)
            if call.command_id:
                self.past.append((call.command_id, call))
                self.watch.answered(call.command_id, (call.actor, call.command), answer)
            for recorded in getattr(answer, "events", ()):
                lease: Any = getattr(recorded.event, "lease", None)
                if hasattr(lease, "fence"):
                    self.fences.append((lease.item, lease.actor, lease.fence))

    def _run(self, calls: list[Call], atomic: bool) -> list[Answer]:
        try:
            return self.world.engine.run(calls, atomic=atomic)
        except FoldError as error:
            raise Broken("decisions-fold", str(error)) from error

    def again(self) -> None:
        """Ask under a command id that was used before, mostly for the same."""
        if not self.past:
            return
        command_id, call = self.rnd.choice(self.past[-12:])
        if self.rnd.random() < 0.3:
            actor, command = self._ask()
            call = Call(command, actor, command_id=command_id)
        self.log.append(f"again {command_id} {call.actor} {call.command}")
        answer = self._run([call], False)[0]
        self.watch.answered(command_id, (call.actor, call.command), answer)

    def time(self) -> None:
        """Time goes by, often to just where a lease ends."""
        leased = [i.lease.expires_at for i in self.world.items() if i.lease is not None]
        duration = self.rnd.choice((1, 1_000_000, 30_000_000))
        if leased and self.rnd.random() < 0.6:
            target = self.rnd.choice(leased) + self.rnd.choice((-1, 0, 0, 1))
            duration = max(0, target - self.world.now)
        self.log.append(f"time {duration}")
        self.world.pass_us(duration)

    # What is asked.

    def _ask(self) -> Ask:
        ways = (
            self._create,
            self._lease,
            self._under_lease,
            self._onward,
            self._depend,
            self._undepend,
            self._close,
            self._triage,
            self._resolve,
            self._edit,
            self._ledger,
            self._import,
        )
        return self.rnd.choices(ways, self.weights)[0]()

    def _someone(self) -> str:
        return self.rnd.choice(EVERYBODY)

    def _items(self, *statuses: str) -> list[Item]:
        items = self.world.items()
        wanted = [i for i in items if not statuses or i.status.value in statuses]
        return wanted or items

    def _one(self, *statuses: str) -> Item | None:
        found = self._items(*statuses)
        return self.rnd.choice(found) if found else None

    def _create(self) -> Ask:
        items = self.world.items()
        if len(items) >= self.most:
            return self._lease()
        rows = self.rnd.choice(((COMMAND,), (COMMAND,), (COMMAND, RUBRIC), ()))
        waits: tuple[tuple[str, str], ...] = ()
        if items and self.rnd.random() < 0.5:
            waits = ((self.rnd.choice(items[-4:]).id, self.rnd.choice(KINDS)),)
        command = c.CreateItem(
            "work",
            rows=rows,
            priority=self.rnd.randint(0, 4),
            work_class=self.rnd.choice(("delivery", "docs")),
            tenant=self.rnd.choice(("default", "other")),
            alias=self.rnd.choice(("", "", "", "a", "b", "c")),
            depends_on=waits,
        )
        return self._someone(), command

    def _lease(self) -> Ask:
        item = self._one("ready")
        name = item.id if item is not None and self.rnd.random() < 0.6 else ""
        ttl = self.rnd.choice((0, 0, 0, 30_000, 150_000, 150_001))
        return self._someone(), c.GrantLease(name, ttl)

    def _under_lease(self) -> Ask:
        if self.fences and self.rnd.random() < 0.15:
            name, actor, fence = self.rnd.choice(self.fences)
        else:
            item = self._one("leased")
            if item is None or item.lease is None:
                return self._lease()
            name, actor, fence = item.id, item.lease.actor, item.lease.fence
        if self.rnd.random() < 0.08:
            actor = self._someone()
        head = sha(self.rnd.randint(1, 99))
        kind = self.rnd.choices(
            ("complete", "renew", "release", "progress", "fail"), (8, 3, 2, 2, 1)
        )
        command: Command
        match kind[0]:
            case "complete":
                command = c.ReportCompletion(name, fence, head, BASE)
            case "renew":
                command = c.RenewLease(name, fence, self.rnd.choice((0, 60_000, 150_000)))
            case "release":
                command = c.ReleaseLease(name, fence, "no time")
            case "progress":
                command = c.ReportProgress(name, fence, Text("half"))
            case _:
                command = self._given_up(name, fence)
        return actor, command

    def _onward(self) -> Ask:
        item = self._one("in-review", "approved", "shipped")
        if item is None or item.work is None:
            return self._lease()
        status = item.status.value
        if status == "approved" and self.rnd.random() < 0.8:
            return HUMAN, self.world.ship_of(item.id)
        if status == "shipped":
            return self._verify(item)
        approve = self.rnd.random() < 0.8
        head = self.rnd.choice(("", item.work.head, sha(7)))
        return self._someone(), c.ReviewWork(item.id, approve, Text("because"), head)

    def _verify(self, item: Item) -> Ask:
        assert item.work is not None
        actor = self.rnd.choice((VERIFIER, VERIFIER, VERIFIER, HUMAN, OTHER, *AGENTS))
        results = ("verified",) * 3 + ("ship-verify-gap", "not-machine-checkable")
        findings = []
        for name in item.plan.rows:
            row = self.world.fact("row", name)
            assert isinstance(row, Row)
            mine = (row.kind == "rubric") == (actor in (HUMAN, OTHER))
            if mine or self.rnd.random() < 0.1:
                result = self.rnd.choice(results)
                none = result != "verified" and self.rnd.random() < 0.5
                log = LOG if actor == VERIFIER else ""
                findings.append(
                    c.RowFinding(name, row.digest, result, "X", 0 if none else 1, 0, log)
                )
        diff = self.rnd.choice(("PASS", "PASS", "PASS", "FAIL", ""))
        if actor != VERIFIER and self.rnd.random() < 0.8:
            diff = ""
        commit = item.work.shipped if self.rnd.random() < 0.95 else sha(3)
        return actor, c.RecordVerification(item.id, commit, tuple(findings), diff)

    def _depend(self) -> Ask:
        items = self.world.items()
        if len(items) < 2:
            return self._create()
        item = self.rnd.choice(self._items("draft", "held", "ready", "triaged"))
        return self._someone(), c.AddDependency(
            item.id, self.rnd.choice(items).id, self.rnd.choice(KINDS)
        )

    def _undepend(self) -> Ask:
        items = [i for i in self.world.items() if i.dependencies]
        if not items:
            return self._depend()
        item = self.rnd.choice(items)
        edge = self.rnd.choice(item.dependencies)
        kind = self.rnd.choice(("", edge.kind.value))
        return self._someone(), c.RemoveDependency(item.id, edge.target.lstrip("?"), kind)

    def _close(self) -> Ask:
        item = self._one("held", "ready", "triaged", "draft", "shipped", "leased")
        if item is None:
            return self._create()
        outcome = self.rnd.choice([o.value for o in Outcome])
        successor = ""
        if outcome == "superseded":
            successor = self.rnd.choice(self._items("held", "ready", "draft")).id
        return self._someone(), c.CloseItem(item.id, outcome, Text("done"), successor)

    def _triage(self) -> Ask:
        item = self._one()
        if item is None:
            return self._create()
        origin = item.triaged_from or item.status
        fits = [k for k in TriageKind if origin in RULES[k].origins and not RULES[k].core]
        kind = self.rnd.choice(fits if fits and self.rnd.random() < 0.7 else list(TriageKind))
        entries = SAMPLES[kind].entries if self.rnd.random() < 0.9 else ()
        return self._someone(), c.OpenTriage(item.id, kind.value, Text("odd"), entries)

    def _given_up(self, name: str, fence: int) -> Command:
        fits = [k for k in TriageKind if Status.LEASED in RULES[k].origins and not RULES[k].core]
        kind = self.rnd.choice(fits if self.rnd.random() < 0.9 else list(TriageKind)).value
        if self.rnd.random() < 0.1:
            return c.FailWork(name, fence, kind)
        return given_up(name, fence, kind)

    def _resolve(self) -> Ask:
        item = self._one("triaged")
        if item is None or not item.triage:
            return self._onward()
        record = self.world.fact("triage", self.rnd.choice(item.triage))
        assert isinstance(record, Triage)
        how = self.rnd.choice((*[r.value for r in Resolution], "requeue", "return", "reverify"))
        actor = self._someone()
        if self.rnd.random() < 0.7:
            shipped = bool(item.work and item.work.shipped)
            actor, kind = HUMAN, TriageKind(record.kind)
            ways = ways_of(kind, item.triaged_from, "it" * shipped)
            how = self.rnd.choice([w for w in ways for _ in range(1 if w in CLOSING else 6)]).value
        others = self._items("held", "ready", "draft")
        successor = self.rnd.choice(others).id if how == "supersede" else ""
        return actor, c.ResolveTriage(record.id, how, "because", successor)

    def _edit(self) -> Ask:
        item = self._one("draft", "held", "ready", "triaged")
        if item is None:
            return self._create()
        command: Any = self.rnd.choice(
            (
                c.ReviseItem(item.id, priority=self.rnd.randint(0, 4)),
                c.ReviseItem(item.id, rows=(COMMAND,)),
                c.ReviseItem(item.id, scope=()),
                c.ReviseItem(item.id, scope=("src",), clarify=True),
                c.ReviseItem(item.id, confirm_import=True),
                c.Recheck(item.id),
                c.AddNote(item.id, Text("note")),
            )
        )
        return self._someone(), command

    def _ledger(self) -> Ask:
        ledger = self.world.fact("ledger", "ledger")
        assert isinstance(ledger, Ledger)
        actor = self.rnd.choice((HUMAN, OTHER, self._someone()))
        if ledger.kill_switch and self.rnd.random() < 0.7:
            return actor, c.ReleaseKillSwitch()
        command: Command = self.rnd.choice(
            (
                c.EngageKillSwitch("stop"),
                c.AdoptEpoch(0, "copied"),
                c.RegisterRule("default", f"d{self.rnd.randint(1, 2)}", ("check",), ""),
                c.AcceptRule("default"),
                c.AcceptRule("default"),
            )
        )
        return actor, command

    def _import(self) -> Ask:
        """One of the commands of an import, in whatever order chance has it."""
        run = self.world.fact("import", "I-1")
        if run is None:
            return HUMAN, c.StartImport("beads", "old", "d1")
        if not run.open:  # type: ignore[union-attr]  # an import
            return self._depend()
        alias = self.rnd.choice(("a", "b", "c", "x"))
        closed = self.rnd.random() < 0.3
        edges = tuple(
            (kind, target)
            for kind, target in ((self.rnd.choice(KINDS), self.rnd.choice("abcxy")),)
            if alias < target
        )
        command: Command = self.rnd.choice(
            (
                c.ImportItem(
                    "I-1",
                    1,
                    alias,
                    f"d{self.rnd.randint(1, 3)}",
                    "",
                    2,
                    "open",
                    closed=closed,
                    satisfies=self.rnd.random() < 0.7,
                    failed=self.rnd.random() < 0.3,
                    unconfirmed=self.rnd.random() < 0.2,
                    edges=edges,
                ),
                c.ImportItem("I-1", 1, alias, "d1", "", 2, "open", edges=edges),
                c.CloseImport("I-1", 1, 1, 0, 0),
            )
        )
        if isinstance(command, c.ImportItem) and len(self.world.items()) >= self.most:
            return self._depend()
        return HUMAN, command
