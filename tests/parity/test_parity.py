"""A drained item is the same as one worked by hand: scenarios, planted shortcuts, small counterexamples (INV-18)."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from remit.core.change import changed
from remit.core.status import Status
from remit.proofs.parity import main
from remit.proofs.parity.drained import Drained, prepare
from remit.proofs.parity.generating import drawn, scenario_of, shrunk, smaller
from remit.proofs.parity.main import SEED, look, run_parity, seeds_of, told
from remit.proofs.parity.planting import Shortcut, plant
from remit.proofs.parity.scenario import (
    SECOND,
    Act,
    Kill,
    Scenario,
    Thing,
    Try,
    plain,
    read,
)
from remit.proofs.parity.shortcuts import SHORTCUTS
from remit.proofs.parity.trying import MARKS, PROPERTIES, try_one
from remit.proofs.parity.world import build
from remit.proofs.patching import planted

FEW = 25
"""Scenarios of the suite's own form; ``make prove`` has the long one."""


def test_inv_18_one_item_is_drained_as_it_is_worked_by_hand() -> None:
    tried = try_one(Scenario((Thing(),)))
    assert tried.unlike == ()
    assert tried.drained is not None
    types = [one.fields["eventType"] for one in tried.drained.events["W-1"]]
    assert types[-1] == "VerificationRecorded"
    assert tried.drained.folded["W-1"]["status"] == Status.VERIFIED


@pytest.mark.parametrize("seed", range(FEW))
def test_random_scenarios_leave_the_same_behind(seed: int) -> None:
    found = look(7 * 1_000_003 + seed)
    assert not found.property, found.found


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_scenarios_that_hypothesis_searches_leave_the_same_behind(chance: Random) -> None:
    tried = try_one(drawn(chance))
    assert tried.unlike == (), tried.unlike[0]


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_thousands_of_scenarios_and_every_shortcut() -> None:
    found = run_parity(scenarios=3_000, seed=11, processes=2, say=print)
    assert found["ok"], json.dumps(found["counterexamples"], indent=1)


@pytest.mark.parametrize("shortcut", SHORTCUTS, ids=lambda shortcut: shortcut.name)
def test_a_planted_shortcut_is_noticed(shortcut: Shortcut) -> None:
    scenarios = (scenario_of(seed) for seed in seeds_of(SEED, main.MUTANT_SCENARIOS))
    caught = plant(shortcut, scenarios)
    assert caught.good, f"{shortcut.name}: {caught.caught_by or 'nothing'} noticed it"


def test_there_are_enough_shortcuts_and_each_has_its_own_name() -> None:
    assert len({one.name for one in SHORTCUTS}) == len(SHORTCUTS) >= 8
    assert {name for one in SHORTCUTS for name in one.caught_by} <= PROPERTIES.keys()


def test_a_shortcut_that_no_longer_fits_is_an_error_and_no_proof() -> None:
    with pytest.raises(ValueError, match="fit the mutant"):
        plant(
            Shortcut(
                "gone", ("folded-state",), (("remit.drain.hands:Hands.brief", "no such", ""),)
            ),
            (),
        )


def test_without_a_shortcut_the_same_scenario_holds_again() -> None:
    shortcut = SHORTCUTS[0]
    scenario = scenario_of(next(seeds_of(SEED, 1)))
    assert plant(shortcut, [scenario]).good
    assert try_one(scenario).unlike == ()


def test_a_kill_at_each_point_of_one_item_changes_nothing_that_is_compared() -> None:
    points = len(try_one(Scenario((Thing(),))).points)
    assert points > 25
    for point in range(1, points + 1):
        for away in (SECOND, 45 * SECOND):
            tried = try_one(Scenario((Thing(),), kills=(Kill(point, away),), reserve=0))
            assert tried.unlike == (), f"killed at point {point}: {tried.unlike[0]}"
            assert tried.drained is not None
            assert tried.drained.folded["W-1"]["status"] == "verified"


def test_a_lost_answer_at_each_write_changes_nothing_that_is_compared() -> None:
    for number in range(1, 45):
        for sign in (1, -1):
            tried = try_one(Scenario((Thing(),), lost=(sign * number,), reserve=0))
            assert tried.unlike == (), f"answer {sign * number}: {tried.unlike[0]}"


def test_what_is_lost_with_a_death_is_done_again_and_lands_once() -> None:
    world = build(Scenario((Thing(),), kills=(Kill(11, SECOND), Kill(24, SECOND)), reserve=0))
    prepare(world)
    drained = Drained(world)
    drained.drain()
    assert len(drained.gaps) == 2
    assert len(world.remote.pushes) == 1


def test_a_scenario_is_read_back_as_it_was_written() -> None:
    for seed in range(30):
        scenario = scenario_of(seed)
        assert read(json.loads(json.dumps(plain(scenario)))) == scenario
    with pytest.raises(KeyError):
        read({**plain(scenario_of(1)), "other": 1})


def test_chance_repeats_itself() -> None:
    assert scenario_of(5) == scenario_of(5)
    assert len({repr(changed(scenario_of(seed), seed=0)) for seed in range(50)}) == 50


def test_a_counterexample_is_made_small_and_shows_both_histories() -> None:
    scenario = Scenario(
        (Thing(), Thing(waits_on=(0,)), Thing(tries=(Try(came="crashed"),))),
        (Act(3 * SECOND, "note", 1),),
        (Kill(9, SECOND),),
    )
    with planted("remit.drain.hands:Hands.fail", "self.work.fail(command, command_id=key)", "None"):
        least = shrunk(scenario, lambda less: bool(try_one(less).unlike))
        shown = told(try_one(least), 0)
    assert (len(least.things), least.acts, least.kills) == (1, (), ())
    assert any(" | " in line for line in shown["histories"]["W-1"])
    assert shown["happens"] == ["W-1", "  attempt 1 came='crashed'", "the whole as usual"]
    assert try_one(read(shown["scenario"])).unlike == ()


def test_a_smaller_scenario_names_the_items_that_are_left() -> None:
    scenario = Scenario((Thing(), Thing(), Thing(waits_on=(0, 1))), (Act(1, "note", 2),))
    without = next(smaller(scenario))
    assert without.things[1].waits_on == (0,)
    assert without.acts == (Act(1, "note", 1),)


def test_a_short_proof_gives_its_account() -> None:
    lines: list[str] = []
    found = run_parity(scenarios=3, mutants=False, processes=1, say=lines.append)
    assert found["ok"]
    assert (found["scenarios"], found["mutants"], found["missing_marks"]) == (3, [], [])
    assert found["transitions"] == found["operations"] > 0
    assert found["states"] > found["operations"]
    assert {one["name"] for one in found["properties"]} == PROPERTIES.keys()
    assert set(found["marks"]) <= MARKS
    assert lines


def test_a_proof_that_saw_too_little_is_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "WHOLE", 2)
    found = run_parity(scenarios=2, mutants=False, processes=1)
    assert found["missing_marks"]
    assert not found["ok"]


def test_a_shortcut_that_survives_fails_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = (
        "remit.drain.hands:Hands.brief",
        "return briefs.markdown(found)",
        "return briefs.markdown(found)  #",
    )
    monkeypatch.setattr(main, "SHORTCUTS", (Shortcut("nothing", ("folded-state",), (nothing,)),))
    monkeypatch.setattr(main, "MUTANT_SCENARIOS", 2)
    found = run_parity(scenarios=2, processes=1)
    assert [one["caught_by"] for one in found["mutants"]] == [""]
    assert not found["ok"]
