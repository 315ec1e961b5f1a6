"""The core under random traffic: every invariant after every event, by Hypothesis and by seeds.

Hypothesis looks for a short history that breaks something; the seeds give long ones, the same each
time. The stored facts are compared with a fold of all events each time (INV-21). The mutants show that the properties can fail. ``make torture`` runs the long form.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.core.invariants import Broken
from tests.core.mutants import MUTANTS, Mutant
from tests.core.traffic import LATE, MIXED, Traffic

CHANCE = st.randoms(use_true_random=False)


class Machine(RuleBasedStateMachine):
    """Several actors, one ledger, a clock that a rule moves."""

    traffic: Traffic

    @initialize()
    def begin(self) -> None:
        self.traffic = Traffic(Random(0))

    @rule(rnd=CHANCE, many=st.sampled_from((1, 1, 1, 3)))
    def ask(self, rnd: Random, many: int) -> None:
        self.traffic.rnd = rnd
        self.traffic.ask(many)

    @rule(rnd=CHANCE)
    def ask_again(self, rnd: Random) -> None:
        self.traffic.rnd = rnd
        self.traffic.again()

    @rule(rnd=CHANCE)
    def time_goes_by(self, rnd: Random) -> None:
        self.traffic.rnd = rnd
        self.traffic.time()

    @invariant()
    def holds(self) -> None:
        if hasattr(self, "traffic"):
            self.traffic.watch.look()


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=SLOW
)


@pytest.mark.parametrize("seed", range(24))
def test_every_invariant_holds_at_every_seq_of_a_seeded_history(seed: int) -> None:
    Traffic(Random(seed)).run(120)


@pytest.mark.parametrize("seed", range(4))
def test_long_histories_of_few_items_hold_too(seed: int) -> None:
    Traffic(Random(10_000 + seed), most=4).run(250)
    Traffic(Random(20_000 + seed), 2, LATE).run(250)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_fault_is_caught_by_its_property(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caught(mutant, monkeypatch) in mutant.caught_by


def caught(mutant: Mutant, patch: pytest.MonkeyPatch, seeds: int = 120) -> str:
    """The property that catches a planted fault, in the first history that shows it."""
    with patch.context() as planted:
        for seed in range(seeds):
            mutant.plant(planted)
            try:
                late = seed % 3 == 2
                Traffic(Random(seed), 2 if late else 6, LATE if late else MIXED).run(100)
            except Broken as broken:
                return broken.name
            finally:
                planted.undo()
    return f"nothing in {seeds} histories"


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_torture_long_seeded_histories() -> None:
    for seed in range(1_500):
        Traffic(Random(100_000 + seed), most=4 + seed % 12).run(300)
        Traffic(Random(200_000 + seed), 3, LATE).run(300)
