"""The explorer in its short form: every world some way, every seeded fault, every answer it gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from remit.core.change import changed
from remit.proofs import worlds
from remit.proofs.faults import Mutant
from remit.proofs.main import main, replay, run_model, trace_of
from remit.proofs.marks import MARKS
from remit.proofs.mutants import MUTANTS
from remit.proofs.parallel import explore
from remit.proofs.patching import planted
from remit.proofs.properties import PROPERTIES
from remit.proofs.search import dead_ends
from remit.proofs.trials import try_one

STATES = 1_400
"""States of each world in this form, about 10,000 in all; ``make prove`` has the long one."""


@pytest.mark.parametrize("name", worlds.WORLDS)
def test_every_property_holds_in_the_nearest_states_of_a_world(name: str) -> None:
    found = explore(worlds.WORLDS[name], limit=STATES)
    assert found.broken is None
    assert found.states >= STATES or found.complete


@pytest.mark.torture
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", worlds.WORLDS)
def test_every_property_holds_far_from_the_beginning(name: str) -> None:
    found = explore(worlds.WORLDS[name], processes=2, limit=200_000)
    print(f"{name}: {found.states} states, {found.transitions} steps, depth {found.depth}")
    assert found.broken is None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_seeded_fault_is_caught_by_the_property_named_for_it(mutant: Mutant) -> None:
    caught = try_one(mutant)
    assert caught.good, caught.found
    assert caught.depth > 0


def test_there_are_enough_faults_and_each_has_its_own_name() -> None:
    assert len({m.name for m in MUTANTS}) == len(MUTANTS) >= 15
    assert {m.caught_by for m in MUTANTS} <= PROPERTIES.keys()


def test_a_planted_fault_is_gone_afterwards() -> None:
    mutant = MUTANTS[0]
    assert try_one(mutant).good
    found = explore(mutant.world, limit=STATES)
    assert found.broken is None


def test_a_fault_that_no_longer_fits_the_code_says_so() -> None:
    wrong = planted("remit.core.decide.leases:_grant", "no such text", "")
    with pytest.raises(ValueError, match="stands there 0 times, expected once"), wrong:
        pytest.fail("nothing was planted")


def test_two_processes_find_the_same_states_as_one() -> None:
    small = changed(worlds.QUEUE, groups=frozenset(("lease", "hold")))
    alone = explore(small, probing=False)
    together = explore(small, processes=2, probing=False, seed=20)
    assert alone.complete
    assert together.complete
    assert (alone.states, alone.transitions) == (together.states, together.transitions)
    assert alone.depth == together.depth
    assert alone.marks == together.marks


def test_two_processes_find_a_shortest_counterexample() -> None:
    # Planted faults do not travel to other processes, so the world itself asks for too much here.
    tight = changed(worlds.QUEUE, policy=changed(worlds.QUEUE.policy, longest_lease_ms=9_000))
    found = explore(tight, processes=2, limit=20_000, seed=20)
    alone = explore(tight, limit=20_000)
    assert found.broken is not None
    assert alone.broken is not None
    assert found.broken.property == "renewal-bounded"
    assert found.broken.depth == alone.broken.depth


def test_a_counterexample_is_run_again_and_breaks_the_same(tmp_path: Path) -> None:
    mutant = next(m for m in MUTANTS if m.name == "expiry-one-instant-late")
    broken = try_one(mutant).broken
    assert broken is not None
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(trace_of(broken, mutant.name)))
    assert main(["replay", str(file)]) == 6
    lines: list[str] = []
    trace = json.loads(file.read_text())
    assert replay(trace, lines.append) == "fence-guards-writes"
    assert any("LeaseGranted" in line for line in lines)
    assert not replay({**trace, "mutant": ""}, lines.append)


@pytest.mark.parametrize("trace", [{"world": "no"}, {"world": "queue", "mutant": "no"}])
def test_a_trace_of_nothing_is_refused(trace: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot replay"):
        replay({**trace, "steps": []}, print)


def test_the_account_has_what_scripts_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "delivery", "--limit", "300", "--processes", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["ok"]
    assert data["states"] >= 300
    assert data["transitions"] > data["states"]
    names = {p["name"] for p in data["properties"]}
    assert names == PROPERTIES.keys()
    assert all(p["held"] for p in data["properties"])
    assert set(data["marks"]) <= MARKS


def test_an_unknown_world_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no world 'no'"):
        run_model(worlds=("no",))


def test_a_state_without_a_way_to_the_end_is_found() -> None:
    edges = {b"a": {b"b", b"c"}, b"b": {b"end"}, b"c": {b"d"}, b"d": {b"c"}}
    assert dead_ends(edges, {b"end"}) == {b"c", b"d"}


def test_every_state_of_one_delivery_leads_to_an_end() -> None:
    small = changed(worlds.DELIVERY, rows=1, heads=1, actors=("ann", "remit-verifier"))
    found = explore(small, probing=False)
    assert found.broken is None
    assert found.complete
    assert found.checked["way-to-the-end"] == found.states > 500


def test_a_run_that_misses_a_mark_is_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = {"queue": changed(worlds.QUEUE, limit=20)}
    monkeypatch.setattr("remit.proofs.main.WORLDS", tiny)
    data = run_model(processes=1)
    assert not data["ok"]
    assert "poison" in data["missing_marks"]
    assert "verified-by-evidence" in data["never_checked"]
