"""Effects under random traffic (INV-14): nothing comes about twice, whatever is lost, late, paused or restored.

The destination in memory is the oracle. Hypothesis looks for a short history that breaks something,
the seeds give long ones. The mutants show that it would be found: with a guard taken out, the same
traffic brings effects about twice.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.invariants import Broken
from tests.core.outside_mutants import MUTANTS, Mutant
from tests.core.outside_traffic import EffectTraffic

from remit.core.effect_facts import Effect

CHANCE = st.randoms(use_true_random=False)
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(rnd=CHANCE, steps=st.integers(5, 60))
def test_inv_14_hypothesis_finds_no_history_with_a_second_effect(rnd: Random, steps: int) -> None:
    EffectTraffic(rnd).run(steps)


@pytest.mark.parametrize("seed", range(30))
def test_inv_14_no_effect_comes_about_twice_in_a_seeded_history(seed: int) -> None:
    EffectTraffic(Random(seed), hasty=seed % 3 == 2).run(150)


def test_the_traffic_meets_what_it_is_for() -> None:
    counts: Counter[str] = Counter()
    for seed in range(40):
        traffic = EffectTraffic(Random(seed))
        traffic.run(120)
        counts.update(traffic.counts)
        counts.update(type(r.event).__name__ for r in traffic.world.events())
        facts = traffic.world.facts().values()
        counts.update(fact.state.value for fact in facts if isinstance(fact, Effect))
        counts["refused"] += traffic.there.refused
    for name in (
        "sends", "restores", "observations", "zombie sends", "refused", "EffectVerified",
        "RetryDecided", "LateReportRecorded", "WorkerTerminated", "PRESENT", "ABSENT",
        "repetitions",
    ):  # fmt: skip
        assert counts[name] > 10, (name, counts)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(400))
def test_inv_14_many_long_histories(seed: int) -> None:
    EffectTraffic(Random(1_000_000 + seed), most=8).run(400)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_with_a_guard_taken_out_the_same_traffic_finds_it(
    mutant: Mutant, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = caught(mutant, monkeypatch)
    assert found & set(mutant.caught_by), found


def caught(mutant: Mutant, patch: pytest.MonkeyPatch, seeds: int = 150) -> set[str]:
    """The properties that a planted fault breaks, until one is met that it has to break."""
    found: set[str] = set()
    with patch.context() as planted:
        for seed in range(seeds):
            mutant.plant(planted)
            try:
                only, hasty = mutant.caught_by, seed % 2 == 1
                EffectTraffic(Random(seed), only=only, hasty=hasty, ways=mutant.ways).run(120)
            except Broken as broken:
                found.add(broken.name)
            finally:
                planted.undo()
            if found & set(mutant.caught_by):
                break
    return found
