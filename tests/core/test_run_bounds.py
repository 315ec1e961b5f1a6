"""No order of commands gets a run past its bounds, to the item and the micro-unit.

Hypothesis plays several processes on one run: the one that holds it, those that were overtaken and go on
as if nothing had happened, people who ask it to stop, and time. After each step what is true of the run is
compared with a tally of what was accepted, kept apart from the fold.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.drained import Drained, start
from tests.core.world import HUMAN

from remit.core import commands as c
from remit.core.refusals import Code, Refused
from remit.core.run_decisions import MINUTE_MS
from remit.core.run_facts import FAILED, STEPS, Run, RunBounds, RunOutcome, RunStatus, RunStep

ITEMS = 4
RUN = "RUN-1"
HOLDERS = ("h1", "h2", "h3")

bounds = st.builds(
    RunBounds,
    items=st.integers(1, 3),
    parallel=st.integers(1, 2),
    minutes_ms=st.integers(1, 3).map(lambda n: n * MINUTE_MS),
    spend_micros=st.sampled_from((10, 25, 100)),
    failures=st.integers(1, 2),
)
holder = st.sampled_from(HOLDERS)
present = st.just("now")
item = st.integers(1, ITEMS).map(lambda n: f"W-{n}")
money = st.sampled_from((0, 0, 1, 9, 10, 11))
figures = st.builds(c.RunFigures, spent_micros=money)
steps = st.sampled_from([s.value for s in RunStep])
outcomes = st.sampled_from([*FAILED, *RunOutcome]).map(str)
run = st.just(RUN)

choices = st.builds(c.ChooseItem, run, present, item, money)
settling = st.builds(c.SettleRunItem, run, present, item, outcomes, money)
others = st.one_of(
    st.builds(c.ChooseItem, run, holder, item, money),
    st.builds(c.SettleRunItem, run, holder, item, outcomes, money),
    st.builds(c.CheckpointRun, run, holder, item, steps, figures),
    st.builds(c.CheckpointRun, run, present, item, steps, figures),
    st.builds(c.ResumeRun, run, holder),
    st.integers(1, 40_000_000),
    st.integers(1, 1_000),
    st.sampled_from((59_999_999, 60_000_000, 60_000_001)),
)
ending = st.one_of(st.builds(c.StopRun, run, holder, st.just("done")), st.just(c.AskRunStop(RUN)))
commands = st.integers(0, 19).flatmap(
    lambda n: ending if n == 0 else others if n < 6 else settling if n < 11 else choices
)


class Tally:
    """What was accepted, counted without the fold's help."""

    def __init__(self, allowed: RunBounds, ends_at: int) -> None:
        self.allowed = allowed
        self.ends_at = ends_at
        self.chosen = self.failed = self.settled = 0
        self.live: dict[str, tuple[int, int, str]] = {}
        self.holder = "h1"

    def reserved(self) -> int:
        return sum(max(set_aside, spent) for set_aside, spent, _ in self.live.values())

    def took(self, command: Any, now: int) -> None:
        """Judge what was accepted, then count it."""
        name = getattr(command, "item", "")
        held = getattr(command, "holder", self.holder)
        assert isinstance(command, c.ResumeRun) or held == self.holder, "an old holder was heard"
        match command:
            case c.ChooseItem():
                assert now < self.ends_at, "chosen after the end"
                assert self.chosen < self.allowed.items, "one item too many"
                assert len(self.live) < self.allowed.parallel, "one too many at a time"
                assert self.failed < self.allowed.failures, "one failure too many before"
                total = self.settled + self.reserved() + command.reserve_micros
                assert total <= self.allowed.spend_micros, "more set aside than allowed"
                assert name not in self.live, "chosen twice"
                self.chosen += 1
                self.live[name] = (command.reserve_micros, 0, "chosen")
            case c.CheckpointRun():
                set_aside, spent, step = self.live[name]
                assert STEPS[RunStep(command.step)] >= STEPS[RunStep(step)], "a step back"
                spent = max(spent, command.figures.spent_micros)
                self.live[name] = (set_aside, spent, command.step)
            case c.SettleRunItem():
                _, spent, _ = self.live.pop(name)
                self.settled += max(spent, command.spent_micros)
                self.failed += RunOutcome(command.outcome) in FAILED
            case c.ResumeRun():
                self.holder = command.holder
            case c.StopRun():
                assert not self.live, "stopped with live entries"

    def agrees(self, found: Run) -> None:
        """Compare with the fold."""
        assert found.chosen == self.chosen
        assert found.failed == self.failed
        assert found.settled_micros == self.settled
        assert found.reserved_micros == self.reserved()
        assert {e.item: e.step.value for e in found.live} == {
            n: s for n, (_, _, s) in self.live.items()
        }
        assert found.holder == self.holder


@settings(max_examples=200, deadline=None)
@given(bounds, st.lists(commands, min_size=10, max_size=40))
def test_no_sequence_of_commands_exceeds_a_bound(allowed: RunBounds, asked: list[Any]) -> None:
    world = Drained()
    for _ in range(ITEMS):
        world.create()
    world.ok(HUMAN, start(world.decide(bounds=allowed), allowed))
    tally = Tally(allowed, world.run().ends_at)
    for wish in asked:
        if isinstance(wish, int):
            world.pass_us(wish)
            continue
        command = wish
        if getattr(wish, "holder", "") == "now":
            command = type(wish)(**{**_parts(wish), "holder": tally.holder})
        before, known = world.state(), world.run()
        answer = world.do(HUMAN, command)
        if isinstance(answer, Refused):
            assert world.state() == before, "a refusal wrote something"
            _owed(answer, command, known, tally, world.now)
        elif answer.events:
            tally.took(command, world.now)
        tally.agrees(world.run())


def _parts(command: Any) -> dict[str, Any]:
    return {name: getattr(command, name) for name in command.__slots__}


def _owed(answer: Refused, command: Any, known: Run, tally: Tally, now: int) -> None:
    """A refusal for a bound says which, and it is that one."""
    if answer.code is Code.RUN_OVERTAKEN:
        assert command.holder != tally.holder
    if answer.code is Code.RUN_STOPPED:
        assert known.status is RunStatus.STOPPED
    if answer.code is not Code.RUN_BOUND:
        return
    wanted = tally.settled + tally.reserved() + command.reserve_micros
    assert {
        "items": tally.chosen >= tally.allowed.items,
        "parallel": len(tally.live) >= tally.allowed.parallel,
        "failures": tally.failed >= tally.allowed.failures,
        "spend": wanted > tally.allowed.spend_micros,
        "minutes": now >= tally.ends_at,
    }[answer.details["bound"]]
