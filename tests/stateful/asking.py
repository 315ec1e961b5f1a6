"""Every command that there is, asked of a ledger: the core's random traffic and what it leaves out.

The core's own traffic keeps to the lifecycle. Here people also come and go, goals are drafted, policy
changes, attempts tell of clones and commits, long texts become blobs and are erased, rows of an import
are put aside, and what only remit itself asks (expiry, settlement, a late report, a clock's jump) is
asked directly, at moments when it makes no sense too. Effect work and limits are in ``effect_asking``, plans in
``plan_asking``, runs in ``run_asking``. ``ASKED`` has a way to ask for each command, and
``test_every_command_is_asked`` holds it to the commands of the core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.core.traffic import KINDS, LATE, MIXED, SMALL, Ask, Traffic
from tests.core.triaging import given_up
from tests.core.world import BASE, COMMAND, HUMAN, LOGGED, OTHER, VERIFIER, sha
from tests.stateful.deciding import Deciding
from tests.stateful.effect_asking import EffectAsking
from tests.stateful.plan_asking import PlanAsking
from tests.stateful.proving import Proving
from tests.stateful.push_asking import PushAsking
from tests.stateful.run_asking import RunAsking
from tests.stateful.succeeding import Succeeding

from remit.core import commands as c
from remit.core.change import changed
from remit.core.commands import Command, Text
from remit.core.decide.leases import QUEUE
from remit.core.facts import Item, Ledger
from remit.core.status import Status
from remit.core.triage import TriageKind
from remit.service.engine import Answer, Call

GUESTS = ("fay", "gus")
"""People who are enrolled and revoked."""

LONG = ("long " * 1_000, "a song, " * 700)
"""Texts that become blobs."""

MOST_BLOBS = 8

LEAST_FENCE = 1

FEW, PLAIN = 2, 0.8
"""With fewer items than this, so much of what is asked is the plain way of work.

Most commands say nothing on a ledger that holds nothing. What goes wrong early is met early, and an
example of it has no steps before it that only made something to talk about.
"""

IMPORTS = (6, 8, 10, 6, 14, 6, 4, 2, 4, 4, 3, 34)
WAITING = (14, 12, 10, 8, 26, 10, 10, 3, 6, 4, 2, 4)

PROFILES = {
    "mixed": MIXED,
    "late": LATE,
    "imports": IMPORTS,
    "waiting": WAITING,
    "effects": MIXED,
    "plans": MIXED,
    "runs": MIXED,
}
"""Weights of the core's ways of asking, by what an example is mostly about."""


def with_log(call: Call) -> Call:
    """The call of the built-in verifier with the log that it names, which it kept itself."""
    named = isinstance(call.command, c.RecordVerification) and call.actor == VERIFIER
    return changed(call, blobs=(LOGGED,)) if named and LOGGED not in call.blobs else call


class Everything(Traffic):
    """The core's traffic, and all other commands; ``seen`` counts answers by command and outcome."""

    def __init__(self, rnd: Random, most: int, profile: str, ledger_id: str) -> None:
        super().__init__(rnd, most, PROFILES[profile], ledger_id)
        self.seen: Counter[tuple[str, str]] = Counter()
        self.urgent = False
        self.effect_work = EffectAsking(self.world, most)
        self.deciding = Deciding(self.world)
        self.proving = Proving(self.world)
        self.share = 0.7 if profile == "effects" else 0.15
        self.plans = PlanAsking(self.world)
        self.runs = RunAsking(self.world)
        self.run_share = 0.5 if profile == "runs" else 0.03
        self.pushes = PushAsking(self.world)
        self.push_share = 0.25 if profile == "late" else 0.02
        self.authority = 0.08
        self.planned = 0.5 if profile == "plans" else 0.05
        self.succeeding = Succeeding(self.world, self.plans)
        self.going_on = 0.6 if profile == "plans" else 0.0

    def _ask(self) -> Ask:
        if len(self.world.items()) < FEW and self.rnd.random() < PLAIN:
            return self._begin()
        if self.going_on and self.rnd.random() < self.going_on:
            return self.succeeding.ask(self.rnd)
        if self.rnd.random() < self.planned:
            return self.plans.ask(self.rnd)
        if self.rnd.random() < self.run_share:
            return self.runs.ask(self.rnd)
        if self.rnd.random() < self.push_share:
            return self.pushes.ask(self.rnd)
        if self.rnd.random() < self.share:
            return self.effect_work.ask(self.rnd)
        if self.rnd.random() < 0.25:
            return self.rnd.choice(ASKED)(self)
        if self.rnd.random() < self.authority:
            return self.rnd.choice((self.deciding, self.proving)).ask(self.rnd)
        return super()._ask()

    def _run(self, calls: list[Call], atomic: bool) -> list[Answer]:
        urgent = self.rnd.random() < 0.05
        calls[:] = [self.proving.shown(with_log(call), self.rnd) for call in calls]
        answers = self.world.engine.run(calls, atomic=atomic, urgent=urgent)
        for call, answer in zip(calls, answers, strict=True):
            code = getattr(answer, "code", "done")
            self.seen[type(call.command).__name__, str(code)] += 1
        return answers

    def wander(self) -> None:
        """Ask, or let time go by."""
        self.time() if self.rnd.random() < 0.1 else self.ask()

    def _begin(self) -> Ask:
        """On a ledger that holds next to nothing: something to talk about, and work on it."""
        leased = [item for item in self.world.items() if item.lease is not None]
        if leased and self.rnd.random() < 0.8:
            return self._under_lease()
        if any(item.triage for item in self.world.items()):
            return self._resolve()
        ready = any(item.status is Status.READY for item in self.world.items())
        return self._lease() if ready else self._create()

    def twice(self) -> None:
        """One command id twice in a list, for the same or for something else."""
        self.ids += 1
        calls = [Call(command, actor, f"c{self.ids}") for actor, command in (self._ask(),) * 2]
        if self.rnd.random() < 0.4:
            actor, command = self._ask()
            calls[1] = Call(command, actor, f"c{self.ids}")
        self._told(calls, self.rnd.random() < 0.3)

    def bulk(self) -> None:
        """A list so long that PostgreSQL takes its events another way."""
        calls = [Call(command, actor) for actor, command in (self._ask() for _ in range(20))]
        names = [item.id for item in self.world.items()] or ["W-1"]
        calls += [Call(c.AddNote(names[n % len(names)], Text(f"{n}")), HUMAN) for n in range(60)]
        self._told(calls, False)

    def _told(self, calls: list[Call], atomic: bool) -> None:
        self.log.append(f"{'atomic ' if atomic else ''}{[(k.actor, k.command) for k in calls]}")
        for call, answer in zip(calls, self._run(calls, atomic), strict=True):
            if call.command_id:
                self.past.append((call.command_id, call))
                self.watch.answered(call.command_id, (call.actor, call.command), answer)

    def _someone(self) -> str:
        return self.rnd.choice(GUESTS) if self.rnd.random() < 0.05 else super()._someone()

    def _lease(self) -> Ask:
        """As ever; but a kill switch does not stay on for long, and mostly there is work to lease."""
        ledger = self.world.fact("ledger", "ledger")
        assert isinstance(ledger, Ledger)
        if ledger.kill_switch and self.rnd.random() < 0.4:
            return HUMAN, c.ReleaseKillSwitch("enough")
        items = self.world.items()
        idle = not any(item.status is Status.READY for item in items)
        if idle and len(items) < self.most and self.rnd.random() < 0.6:
            return HUMAN, c.CreateItem("work", rows=(COMMAND,), priority=self.rnd.randint(0, 4))
        return super()._lease()

    def _succeed(self) -> Ask:
        """A successor for whatever there is; ``Succeeding`` asks for one that is due."""
        items = self.world.items()
        if not items:
            return self._lease()
        names = self.rnd.choice(items).id, self.rnd.choice(items).id
        return self._someone(), c.SucceedItem(*names, Text("goes on there"))

    # The ledger and its people.

    def _people(self) -> Ask:
        name = self.rnd.choice((*GUESTS, *GUESTS, *GUESTS, "dan", "nobody", VERIFIER, "two words"))
        if self.rnd.random() < 0.5:
            return HUMAN, c.RevokeActor(name, "left")
        kind = self.rnd.choice(("agent", "agent", "human", "ghost"))
        return self.rnd.choice((HUMAN, HUMAN, OTHER, "bob")), c.EnrolActor(name, kind)

    def _policy(self) -> Ask:
        figures: dict[str, Any] = self.rnd.choice(
            (
                {},
                {"attempts": self.rnd.randint(1, 4)},
                {"ttl_ms": self.rnd.choice((1_000, 90_000, 10_000_000))},
                {"actor_leases": self.rnd.randint(0, 3)},
                {"accept_unproved": False},
                {"age_step_ms": self.rnd.choice((0, 5_000, 50_000))},
                {"imported_closed_satisfies": self.rnd.random() < 0.5},
            )
        )
        return self.rnd.choice((HUMAN, HUMAN, "cat")), c.SetPolicy(replace(SMALL, **figures))

    def _goal(self) -> Ask:
        if self.rnd.random() < 0.5:
            objective = self.rnd.choice(("", "a goal", "another"))
            return self._someone(), c.DraftGoal(objective, self.rnd.choice(("talk", "plan")))
        if len(self.world.items()) >= self.most:
            return self._lease()
        goal = self.rnd.choice(("G-1", "G-2", "G-3", "G-99"))
        return self._someone(), c.CreateItem("of a goal", goal=goal, rows=(COMMAND,))

    def _again_created(self) -> Ask:
        return HUMAN, c.CreateLedger(self.world.store.ledger_id, HUMAN)

    def _adopted(self) -> Ask:
        above = self.rnd.choice((0, 0, 3, (1 << 21) - 1))
        return self.rnd.choice((HUMAN, "bob")), c.AdoptEpoch(above, "copied")

    def _rules(self) -> Ask:
        name = self.rnd.choice(("default", "other", "no such"))
        digest = self.rnd.choice(("", "d1", "d2"))
        if self.rnd.random() < 0.5:
            return self._someone(), c.AcceptRule(name, digest)
        argv = self.rnd.choice((("check",), ("check", "more"), ()))
        return self._someone(), c.RegisterRule(name, digest or "d3", argv, "")

    # Texts and blobs.

    def _blobs(self) -> list[str]:
        with self.world.store.read() as tx:
            found = tx.stored_blobs(b"", 100)
        return [(b if isinstance(b, bytes) else b.digest).hex() for b in found]

    def _long(self) -> Ask:
        if len(self._blobs()) >= MOST_BLOBS:
            return self._redact()
        text = self.rnd.choice(LONG)
        item = self._one()
        if item is None or (len(self.world.items()) < self.most and self.rnd.random() < 0.3):
            return self._someone(), c.CreateItem("long", body=text, rows=(COMMAND,))
        command: Command = self.rnd.choice(
            (c.AddNote(item.id, Text(text)), c.ReviseItem(item.id, body=text))
        )
        return self._someone(), command

    def _redact(self) -> Ask:
        digest = self.rnd.choice((*self._blobs(), "a" * 64, "no digest"))
        reason = self.rnd.choice(("a secret", "a secret", ""))
        return self.rnd.choice((HUMAN, HUMAN, "cat")), c.RedactBlob(digest, reason)

    # Attempts, and what only remit itself asks.

    def _fenced(self) -> tuple[str, str, int]:
        if self.fences and self.rnd.random() < 0.3:
            return self.rnd.choice(self.fences)
        item = self._one("leased")
        if item is None or item.lease is None:
            return "W-1", "bob", LEAST_FENCE
        return item.id, item.lease.actor, item.lease.fence

    def _attempt(self) -> Ask:
        name, actor, fence = self._fenced()
        head = sha(self.rnd.randint(1, 9))
        command: Command = self.rnd.choice(
            (
                c.RecordClone(name, fence, "branch", BASE),
                c.RecordTakeover(name, fence, head, BASE, sha(900), "refs/x", (head,)),
                c.RecordLateReport(name, fence, "complete", "branch", head, "late", Text("said")),
                given_up(name, fence, self.rnd.choice(list(TriageKind)).value),
                c.ReportCompletion(
                    name, fence, head, BASE, "branch", sha(901), (head,), taken_over=True
                ),
            )
        )
        return actor if self.rnd.random() < 0.9 else self._someone(), command

    def _own(self) -> Ask:
        item = self._one()
        name = "W-77" if item is None or self.rnd.random() < 0.1 else item.id
        now = self.world.now
        command: Command = self.rnd.choice(
            (
                c.ExpireLease(name),
                c.Settle(name),
                c.Recheck(name),
                c.RecordClockJump(self.world.clock.wall, now),
            )
        )
        return self.rnd.choice((QUEUE, "admission", HUMAN, "bob")), command

    def _row(self) -> Ask:
        name = self.rnd.choice(("I-1", "I-1", "I-1", "I-2", "I-9"))
        command: Command = self.rnd.choice(
            (
                c.QuarantineRow(name, self.rnd.randint(1, 9), "z", "TOO_LONG", "a long row"),
                c.StartImport("beads", "new", self.rnd.choice(("d1", "d2"))),
                c.CloseImport(name, 1, 1, 0, 0),
                self._imported(name),
            )
        )
        return HUMAN, command

    def _imported(self, run: str) -> Command:
        if len(self.world.items()) >= self.most:
            return c.QuarantineRow(run, 1, "a", "TOO_MANY", "full")
        return c.ImportItem(
            run,
            self.rnd.randint(1, 5),
            self.rnd.choice("abcx"),
            f"d{self.rnd.randint(1, 3)}",
            "",
            self.rnd.randint(0, 4),
            "open",
            edges=tuple((kind, self.rnd.choice("abcxy")) for kind in self.rnd.sample(KINDS, 2)),
            links=(("relates-to", "a"),),
        )

    def _wrong(self) -> Ask:
        """Names of nothing, and values out of bounds."""
        item = self._one()
        known = item.id if isinstance(item, Item) else "W-1"
        command: Command = self.rnd.choice(
            (
                c.GrantLease("W-999"),
                c.GrantLease(work_class="docs", tenant=self.rnd.choice(("", "other", "nobody"))),
                c.GrantLease("", self.rnd.choice((-1, 1, 1_000, 1 << 40))),
                c.ReleaseLease(known, 999),
                c.AddDependency(known, known),
                c.AddDependency(known, "b", "sideways"),
                c.RemoveDependency(known, "W-999"),
                c.ResolveTriage("TR-999", "requeue"),
                c.CloseItem(known, "sold"),
                c.CreateItem(""),
                c.CreateItem("x", priority=9),
                c.CreateItem("two\nlines", scope=("../up",)),
                c.ReviseItem(known),
                c.AddNote(known, Text("")),
            )
        )
        return self.rnd.choice((HUMAN, "bob", "stranger", "queue")), command


ASKED: tuple[Callable[[Everything], Ask], ...] = (
    Everything._people,
    Everything._policy,
    Everything._goal,
    Everything._again_created,
    Everything._adopted,
    Everything._rules,
    Everything._long,
    Everything._long,
    Everything._redact,
    Everything._attempt,
    Everything._attempt,
    Everything._attempt,
    Everything._own,
    Everything._own,
    Everything._row,
    Everything._row,
    Everything._succeed,
    Everything._wrong,
    Everything._wrong,
)
