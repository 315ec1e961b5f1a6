"""Every command about runs, proofs of parity and attempts, asked of a ledger beside all others.

One decision at a time is proposed and accepted with small bounds; a run begins under it where nothing
stands in the way, and several processes ask of it, those that were overtaken among them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.core.drained import BOUNDS, CODE, propose, start
from tests.core.traffic import Ask
from tests.core.world import HUMAN, OTHER, VERIFIER, World

from remit.core import commands as c
from remit.core.change import changed
from remit.core.checks import Check, Result
from remit.core.commands import Text
from remit.core.decisions import Decision, DecisionKind, DecisionState
from remit.core.run_facts import Run, RunOutcome, RunStatus, RunStep, StoppedBy

PEOPLE = (HUMAN, HUMAN, HUMAN, OTHER, "bob", "cat")
CHECKS = (Check("probe:tcp", Result.PASS, "refused", "refused"), Check("scope", Result.BLOCKED))


class RunAsking:
    """Asks about runs in one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.holders = 0

    def ask(self, rnd: Random) -> Ask:
        """One of all the ways."""
        run = self._run()
        idle = run is None or run.status is RunStatus.STOPPED
        return self._begin(rnd) if idle and rnd.random() < 0.6 else rnd.choice(WAYS)(self, rnd)

    def _newest(self, kind: str) -> int:
        number = self.world.fact("counter", kind)
        return number if isinstance(number, int) else 0

    def _run(self) -> Run | None:
        found = self.world.fact("run", f"RUN-{self._newest('run')}")
        return found if isinstance(found, Run) else None

    def _held(self, rnd: Random) -> tuple[str, str, str]:
        """Who asks, of which run, as which process; mostly those that may."""
        run = self._run()
        if run is None or rnd.random() < 0.1:
            return rnd.choice(PEOPLE), f"RUN-{rnd.randint(1, 3)}", "h1"
        holder = run.holder if rnd.random() < 0.85 else f"h{rnd.randint(1, 9)}"
        actor = rnd.choice((run.driver, run.driver, run.actor)) if rnd.random() < 0.9 else OTHER
        return actor, run.id, holder

    def _live(self, rnd: Random) -> str:
        run = self._run()
        live = [entry.item for entry in run.live] if run is not None else []
        if live and rnd.random() < 0.9:
            return rnd.choice(live)
        names = [item.id for item in self.world.items()]
        return rnd.choice(names) if names else "W-1"

    def _begin(self, rnd: Random) -> Ask:
        """What a run lacks next: a proof, a decision, its acceptance, or itself."""
        if self.world.fact("proof", CODE) is None or rnd.random() < 0.05:
            mutants = rnd.randint(4, 5)
            result = "PASS" if mutants == 5 or rnd.random() < 0.5 else "FAIL"
            actor = VERIFIER if rnd.random() < 0.9 else HUMAN
            return actor, c.RecordParityProof("1.0", CODE, 12, mutants, result)
        named = (f"D-{n}" for n in range(self._newest("decision"), 0, -1))
        facts = (self.world.fact("decision", name) for name in named)
        found = [d for d in facts if isinstance(d, Decision) and d.kind is DecisionKind.ACTIVATION]
        waits = [d for d in found if d.state is DecisionState.PROPOSED]
        usable = [d.id for d in found if d.state is DecisionState.ACCEPTED]
        if waits:
            return HUMAN, c.AcceptDecision(waits[0].id)
        if not usable or rnd.random() < 0.2:
            return rnd.choice(PEOPLE), propose(each=rnd.random() < 0.5)
        self.holders += 1
        bounds = changed(BOUNDS, spend_micros=rnd.choice((0, 100, 1_000)))
        reviewer = rnd.choice(("cat", "", OTHER, "bob"))
        return HUMAN, start(usable[0], bounds, reviewer=reviewer, holder=f"h{self.holders}")

    def _choose(self, rnd: Random) -> Ask:
        actor, run, holder = self._held(rnd)
        names = [item.id for item in self.world.items()] or ["W-1"]
        return actor, c.ChooseItem(run, holder, rnd.choice(names), rnd.choice((0, 0, 100, 999)))

    def _step(self, rnd: Random) -> Ask:
        actor, run, holder = self._held(rnd)
        figures = c.RunFigures("L-1.1", "A-1.1", rnd.randint(0, 9), "", rnd.choice((0, 7, 400)))
        step = str(rnd.choice(list(RunStep)))
        return actor, c.CheckpointRun(run, holder, self._live(rnd), step, figures)

    def _settle(self, rnd: Random) -> Ask:
        actor, run, holder = self._held(rnd)
        outcome = str(rnd.choice(list(RunOutcome)))
        spent = rnd.choice((0, 3, 120))
        return actor, c.SettleRunItem(run, holder, self._live(rnd), outcome, spent, "done")

    def _other(self, rnd: Random) -> Ask:
        actor, run, holder = self._held(rnd)
        self.holders += 1
        found = self._run()
        done = found is not None and found.status is RunStatus.STOPPED
        command: c.Command = rnd.choice(
            (
                c.NoteRefusal(run, holder, "W-1", "CONCURRENCY_LIMIT", "too many at a time"),
                c.ResumeRun(run, f"h{self.holders}"),
                c.StopRun(run, holder, str(rnd.choice(list(StoppedBy)))),
                c.StopRun(run, holder, "done"),
                c.AskRunStop(run, rnd.choice(("finish", "now", "sideways"))),
            )
        )
        return (actor, command) if not done else self._begin(rnd)

    def _attempt(self, rnd: Random) -> Ask:
        leased = [item.lease for item in self.world.items() if item.lease is not None]
        if leased:
            lease = rnd.choice(leased)
            name, fence, actor = lease.item, lease.fence, lease.actor
        else:
            name, fence, actor = "W-1", 1, "bob"
        attempt = f"A-{name[2:]}.1" if rnd.random() < 0.3 else ""
        phase = rnd.choice(("probe", "agent:end", "Not A Phase"))
        figures = (("probes", "12"),)
        note = c.RecordAttempt(name, fence, phase, CHECKS, figures, Text("seen"), attempt)
        return actor if rnd.random() < 0.9 else rnd.choice(PEOPLE), note


WAYS: tuple[Callable[[RunAsking, Random], Ask], ...] = (
    RunAsking._begin,
    RunAsking._begin,
    RunAsking._choose,
    RunAsking._choose,
    RunAsking._step,
    RunAsking._step,
    RunAsking._settle,
    RunAsking._settle,
    RunAsking._other,
    RunAsking._attempt,
)
