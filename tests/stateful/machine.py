"""The one state machine that drives memory, SQLite and PostgreSQL, a step at a time.

A step is one move (``moves``) on all stores and the comparison of everything that they hold after it.
Hypothesis draws which move and a number for its chance, so a failure shrinks to few steps with small
numbers, is printed as a program that repeats it, and says in its notes what was asked in words. What an
example is about is drawn first: how many items there may be, which kind of traffic, and whether news of
an item is told to many dependents at once or to two (the core's own bound is 400, which a small ledger
never meets). At the end of each example everything is compared once more and the ledger is verified.

``run`` counts what was done. A step counts when its comparison has passed, so a count is a promise: a
test that says 2,560 has compared 2,560 states. Hypothesis is kept from repeating itself, or the number
would say less than it seems to. Its integers are mostly small, so a step is drawn as bytes, which are
not. After ten examples it would go on with copies of examples before, so a seed has nine. The first of
these is the simplest there is, the same thing asked again and again: that one is not counted.

A seed means the same in each run. At times Hypothesis draws what it finds written in the modules of the
project that were imported so far, and which they are depends on the tests before: here it finds none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, note, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from tests.stateful.asking import PROFILES
from tests.stateful.moves import MOVES, Ground, Trio

from remit.core import settlement
from remit.service import loading

STEPS = 320
"""Steps of an example."""

EXAMPLES = 8
"""Examples of a seed, beside the simplest one."""

SLICE = STEPS * EXAMPLES
"""Steps of a seed."""

DRAWN = tuple(name for name, (weight, _) in MOVES.items() for _ in range(weight))
"""Moves by their weight; the plainest come first, so examples shrink towards them."""

FAN_OUT = settlement.FAN_OUT

BOUND = (settlement, loading)
"""Modules that have the bound."""


MORE = 1_000_000_000
"""How far the seed of a further example lies from the first."""


class Step(NamedTuple):
    """A move and the seed of its chance."""

    move: str
    chance: int


def drawn(data: bytes) -> Step:
    """The step that four bytes stand for."""
    number = int.from_bytes(data[:2])
    return Step(DRAWN[number * len(DRAWN) >> 16], int.from_bytes(data[2:]))


SIMPLEST = drawn(bytes(4))

DULL = 5
"""After so many of the simplest step, and nothing else, an example has said what it has to say."""


def subject(data: bytes) -> tuple[int, str, int]:
    """What an example is about: most items, kind of traffic, how many are told at once."""
    profiles = list(PROFILES)
    return (16, 5, 40)[data[0] % 3], profiles[data[1] % len(profiles)], (FAN_OUT, 2)[data[2] % 2]


@dataclass
class Tally:
    """What was done: steps by move, ledgers, events, and answers by command and outcome."""

    moves: Counter[str] = field(default_factory=Counter)
    answers: Counter[tuple[str, str]] = field(default_factory=Counter)
    ledgers: int = 0
    events: int = 0
    last: list[Step] = field(default_factory=list)

    @property
    def steps(self) -> int:
        """Moves after which everything was compared and equal."""
        return self.moves.total()


class Differential(RuleBasedStateMachine):
    """Moves that anybody could make; ``ground`` and ``tally`` are set by ``run``."""

    ground: ClassVar[Ground]
    tally: ClassVar[Tally]

    def __init__(self) -> None:
        super().__init__()
        self.trio: Trio | None = None
        self.sound = self.dull = True
        self.tally.last = []

    @initialize(
        about=st.binary(min_size=3, max_size=3).map(subject),
    )
    def begin(self, about: tuple[int, str, int]) -> None:
        """A new ledger in every store."""
        most, profile, told = about
        for module in BOUND:
            module.FAN_OUT = told  # type: ignore[attr-defined]  # put back at the end
        self.trio = Trio(self.ground, most, profile)
        self.tally.ledgers += 1

    @rule(step=st.binary(min_size=4, max_size=4).map(drawn))
    def step(self, step: Step) -> None:
        """One move, and everything compared."""
        trio = self.trio
        assert trio is not None
        self.dull = self.dull and step == SIMPLEST
        if self.dull and len(self.tally.last) >= DULL:
            return
        self.sound = False
        self.tally.last.append(step)
        try:
            MOVES[step.move][1](trio, Random(step.chance))
            trio.compare()
        except BaseException:
            for line in trio.traffic.log[-8:]:
                note(line)
            raise
        self.sound = True
        if not self.dull:
            self.tally.moves[step.move] += 1

    def teardown(self) -> None:
        """Where nothing went wrong: everything once more, and a proof of the whole ledger."""
        for module in BOUND:
            module.FAN_OUT = FAN_OUT  # type: ignore[attr-defined]  # as it was
        if self.trio is None:
            return
        try:
            if self.sound:
                self.trio.compare(full=True)
                self.trio.prove(Random(0))
            self.tally.events += self.trio.same.compared
            self.tally.answers += self.trio.traffic.seen
        finally:
            self.trio.close()


HOW = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
    report_multiple_bugs=False,
    phases=(Phase.generate, Phase.shrink),
    database=None,
)


@contextmanager
def nothing_found() -> Iterator[None]:
    """Let Hypothesis draw from no module of the project."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "_get_local_constants", Constants)
        providers.CONSTANTS_CACHE.cache.clear()
        yield
    providers.CONSTANTS_CACHE.cache.clear()


def run(
    ground: Ground, number: int, tally: Tally, steps: int = STEPS, examples: int = EXAMPLES
) -> None:
    """Run the examples of a seed; raises what the shrunk example of a failure raises."""
    machine = type("Differential", (Differential,), {"ground": ground, "tally": tally})
    how = settings(HOW, max_examples=examples + 1, stateful_step_count=steps + 1)
    with nothing_found():
        run_state_machine_as_test(seed(number)(machine), settings=how)


def run_slice(ground: Ground, number: int) -> Tally:
    """Run a seed, and more examples where Hypothesis ended some of them early, as it rarely does."""
    tally = Tally()
    run(ground, number, tally)
    for more in range(1, EXAMPLES):
        if tally.steps >= SLICE:
            break
        run(ground, number + more * MORE, tally, examples=1)
    return tally
