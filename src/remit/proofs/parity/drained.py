"""The drain's side: a real conductor drains the world of a scenario, and is killed as the scenario says.

After each death another process takes the run over. What a hand has to be told (``hand.Told``) is noted
on the way: the order of leases and renewals, the gaps, and the calls to stop. Nothing here decides
anything about an item.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from remit.core import commands as c
from remit.core.decisions import DecisionKind, Option
from remit.core.ledger_facts import Ledger
from remit.core.refusals import Refused
from remit.core.run_decisions import run_proposal, run_scope
from remit.core.run_facts import Run, RunBounds, RunEntry, RunStatus, RunStep
from remit.core.status import Status
from remit.drain.conductor import Conductor
from remit.drain.endings import starts_in
from remit.drain.hands import Hands
from remit.drain.journey import Options
from remit.drain.workplace import Told as News
from remit.ports import OutcomeUnknown
from remit.proofs.parity.meddling import Meddler
from remit.proofs.parity.place import Place, Seen
from remit.proofs.parity.scenario import SECOND, Kill
from remit.proofs.parity.timing import Buried, Killed
from remit.proofs.parity.watching import WatchedEngine
from remit.proofs.parity.working import Gap, Taken, Told
from remit.proofs.parity.world import HUMAN, REVIEWER, WORKER, World
from remit.service.running import record_proof

CODE: Final = "0" * 64
"""The code that the worlds of this proof call proved: the question is what it does."""

AGENT: Final = "scripted"
RUNS: Final = 2
"""Most runs of one scenario: another one begins where somebody has made work ready again."""

PROCESSES: Final = 12
"""Most processes that drive one run."""

AWAY_US: Final = SECOND // 2
"""How long it takes until somebody resumes a run whose process ended by itself."""

_KEY: Final = re.compile(
    r"(?P<key>RUN-\d+/(?P<item>W-\d+)/\d+/(?P<step>[a-z-]+)(?P<nth>/\d+)?)(?::done)?\Z"
)
"""A point that was come to, or a command id, of one operation of one entry."""

_COUNTED: Final = frozenset(
    ("leased", "handed-in", "failed", "released", "triaged", "reviewed", "integrated", "shipped",
     "verified", "progress")
)  # fmt: skip


class Stuck(AssertionError):  # noqa: N818  # a state of the drain, as whoever reads it says
    """A drain that never ends; a failure of the thing that is proved."""


def prepare(world: World) -> None:
    """What a run needs before it may begin; done on both sides, so that both start equal."""
    record_proof(world.operations(HUMAN), c.RecordParityProof("0", CODE, 1, 1, "PASS"))
    bounds = bounds_of(world)
    scope = run_scope(bounds, (AGENT,), each=True)
    options = (Option("allow", "Let it run"), Option("leave", "Do not", permits=False))
    asked = c.ProposeDecision(
        DecisionKind.ACTIVATION, "drain", options, scope, run_proposal(scope), recommended="allow"
    )
    done = world.must(HUMAN, asked)
    world.must(HUMAN, c.AcceptDecision(done.events[0].entity, rejected=(("leave", "work waits"),)))


def bounds_of(world: World) -> RunBounds:
    """The bounds of every run in this world."""
    b = world.scenario.bounds
    return RunBounds(b.items, b.parallel, b.minutes_ms, b.spend, b.failures)


@dataclass(slots=True)
class Drained:
    """One world as it is drained."""

    world: World
    points: list[str] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    halts: list[tuple[int, str]] = field(default_factory=list)
    seen: dict[str, Seen] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    meddler: Meddler = field(init=False)
    place: Place | None = None
    _calls: int = 0

    def __post_init__(self) -> None:
        """Others may call the drain to its end."""
        self.meddler = Meddler(self.world, self._called)

    def drain(self) -> Told:
        """Drain until nothing is left to do, and say what a hand has to be told."""
        for _ in range(RUNS):
            self._run()
            while self.meddler.due() is not None and not self._ready():
                self._others()
            if not self._ready():
                break
        while self.meddler.due() is not None:
            self._others()
        return Told(self._order(), tuple(self.gaps), tuple(self.halts), self.world.now)

    def _called(self, how: str) -> None:
        """A call to end reaches the process that drives, where there is one."""
        if self.place is not None:
            self.place.called = how

    def _hears(self, told: News) -> None:
        """A run that ends at once for a reason of its own: a hand has to be told when."""
        now = self.place is not None and self.place.called == "now"
        if told.kind == "ending" and (told.words == "minutes" or (told.words == "asked" and now)):
            self.halts.append((self.world.now, told.words))

    def _others(self) -> None:
        due = self.meddler.due()
        if due is not None:
            self.world.clock.passed = max(self.world.clock.passed, due)
            self.meddler.happen()

    def _ready(self) -> bool:
        with self.world.store.read() as tx:
            ledger = tx.small()["ledger", "ledger"]
            waits = bool(tx.small().get(("count", "ready"), 0))
        return waits and isinstance(ledger, Ledger) and not ledger.kill_switch

    def _run(self) -> None:
        """One run, from its start to its end, by as many processes as it takes."""
        bounds, reviewer = bounds_of(self.world), REVIEWER if self.world.scenario.reviewer else ""
        with self.world.store.read() as tx:
            decision = tx.names("decision", "", 1)[0]
        begin = c.StartRun(
            WORKER, reviewer, AGENT, bounds, decision, CODE, "h0", (("egress", "none"),)
        )
        answer = self.world.operations(WORKER).run(begin)
        if isinstance(answer, Refused):
            return
        name = next(r.entity for r in answer.events if r.stream.startswith("run/"))
        for number in range(PROCESSES):
            if number:
                self.world.must(WORKER, c.ResumeRun(name, f"h{number}"))
            if self._process(name, f"h{number}", resumed=bool(number)):
                self.runs.append(self._record(name))
                return
        raise Stuck(f"{name} is not over after {PROCESSES} processes")

    def _record(self, name: str) -> Run:
        with self.world.store.read() as tx:
            found = tx.load([("run", name)])["run", name]
        assert isinstance(found, Run), name
        return found

    def _process(self, name: str, holder: str, *, resumed: bool) -> bool:
        """One process of the drain; whether the run is over when it ends."""
        world = self.world
        place = Place(world, self.meddler.due, self.meddler.happen, self._point, self.seen)
        engine = WatchedEngine(
            world.store, world.watch, lambda: world.now, lose=self._lose, alive=lambda: place.alive
        )
        run = self._record(name)
        hands = Hands(
            name,
            holder,
            run.actor,
            run.reviewer,
            lambda actor: world.operations(actor, engine),
            lambda actor: world.delivery(actor, engine),
            world.integration(run.actor, engine),
            place,
        )
        options = Options(reserve_micros=world.scenario.reserve, way="merge")
        self.place = place
        away = AWAY_US
        try:
            refused = Conductor(hands, options, self._hears).drive(resumed)
            if refused is not None:
                self.faults.append(f"overtaken: {refused.code}")
        except Killed:
            away = self._kill_of(len(self.points)).away_us
        except OutcomeUnknown:
            pass
        except Buried:
            self.faults.append("a process went on after its end")
        place.alive = False
        place.turns.bury()
        self.place = None
        record = self._record(name)
        if record.status is RunStatus.STOPPED:
            return True
        self._gap(record, away)
        return False

    # Deaths.

    def _point(self, point: str) -> bool:
        self.points.append(point)
        return any(kill.point == len(self.points) for kill in self.world.scenario.kills)

    def _kill_of(self, point: int) -> Kill:
        return next(kill for kill in self.world.scenario.kills if kill.point == point)

    def _lose(self) -> int:
        """Which answer is lost; within an integration none is, since that is an operation of many."""
        if self.points and self.points[-1].endswith("integrated:before"):
            return 0
        self._calls += 1
        for number in self.world.scenario.lost:
            if abs(number) == self._calls:
                return 1 if number > 0 else -1
        return 0

    def _gap(self, run: Run, away: int) -> None:
        """Nobody is there for a while; others go on."""
        at = self.world.now
        until = at + away
        died = {entry.item: phase for entry in run.live if (phase := self._dies(entry))}
        begun = {entry.item: starts_in(entry.detail) for entry in run.live}
        self.gaps.append(Gap(at, until, self._done(), died, begun))
        while (due := self.meddler.due()) is not None and due <= until:
            self._others()
        self.world.clock.passed = max(self.world.clock.passed, until)

    def _dies(self, entry: RunEntry) -> str:
        """What of an entry dies with its process: an agent at work, a reviewer, or nothing."""
        if entry.step is RunStep.STARTED:
            return "work"
        item = self.world.item(entry.item)
        reviewed = entry.step is RunStep.HANDED_IN and item.status is Status.IN_REVIEW
        return "review" if reviewed else ""

    def _done(self) -> dict[str, int]:
        """How many operations of each item were done: what came to its point, or was committed."""
        asked = (one.command_id for one in self.world.watch.noted)
        found: dict[str, set[str]] = {}
        for match in filter(None, map(_KEY.match, (*self.points, *asked))):
            if match["step"] in _COUNTED:
                nth = match["nth"] if match["step"] == "progress" else ""
                key = match["key"].removesuffix(match["nth"] or "") + (nth or "")
                found.setdefault(match["item"], set()).add(key)
        return {item: len(keys) for item, keys in found.items()}

    def _order(self) -> tuple[Taken, ...]:
        """The drain's leases and renewals, those that were refused as well."""
        found = []
        for one in self.world.watch.noted:
            command = one.command
            if one.actor != WORKER or one.repeated:
                continue
            if isinstance(command, c.GrantLease | c.RenewLease):
                what = "lease" if isinstance(command, c.GrantLease) else "renew"
                item = command.item or next(iter(one.streams), "")
                found.append(Taken(one.at, what, item))
        return tuple(found)
