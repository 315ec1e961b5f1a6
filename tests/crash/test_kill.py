"""Any call, killed at any instant and repeated, is done once and comes out the same, on both stores.

The instants are the steps of each commit, those after it and after the answer included, and moments
by chance. What the victim was told before it died is held against what it left (INV-9, INV-22).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.crash.stage import AGAIN, CALLS, OF_A_FILE, WITHOUT_ID
from tests.ground.children import Child

ON_SERVER = sorted(set(CALLS) - set(OF_A_FILE))
FEW = ("create many", "completion and next")


@pytest.fixture(scope="module")
def driver() -> Iterator[Child]:
    yield from _driver()


@pytest.fixture(scope="module")
def server_driver() -> Iterator[Child]:
    yield from _driver("postgres")


def _driver(*arguments: str) -> Iterator[Child]:
    child = Child("tests.crash.driver", *arguments, wait_s=600)
    assert child.line() == AGAIN
    yield child
    assert child.ended() == 0
    child.kill()


def _killed(driver: Child, name: str, kills: int, seed: int) -> None:
    driver.send(json.dumps([name, kills, seed, ""]) + "\n")
    found = driver.line()
    print(f"{name}: {found['points']} steps, {found['killed']} of {kills} at random, seed {seed}")
    assert found["faults"] == []
    assert found["points"] >= (1 if name == "backup" else 4)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_killed_and_repeated_is_done_once(driver: Child, name: str) -> None:
    _killed(driver, name, 10 if name in WITHOUT_ID else 2, 1)


@pytest.mark.parametrize("name", FEW)
def test_a_call_on_a_server_killed_and_repeated_is_done_once(
    server_driver: Child, name: str
) -> None:
    _killed(server_driver, name, 1, 1)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_killed_at_many_random_moments_is_done_once(driver: Child, name: str) -> None:
    _killed(driver, name, 200, 2)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ON_SERVER)
def test_any_call_on_a_server_killed_at_every_step_is_done_once(
    server_driver: Child, name: str
) -> None:
    _killed(server_driver, name, 20, 2)


def _found_out(driver: Child, name: str, plant: str) -> list[str]:
    driver.send(json.dumps([name, 0, 1, plant]) + "\n")
    faults: list[str] = driver.line()["faults"]
    return faults


@pytest.mark.parametrize("name", ["create", "lease next", "progress", "ship"])
def test_a_ledger_that_forgets_command_ids_is_found_out(driver: Child, name: str) -> None:
    assert _found_out(driver, name, "forgetful")


@pytest.mark.parametrize("name", ["create", "lease next"])
def test_a_store_that_answers_before_it_commits_is_found_out(driver: Child, name: str) -> None:
    faults = _found_out(driver, name, "hasty")
    assert any("acknowledged-and-lost" in fault for fault in faults), faults


def test_a_server_store_that_answers_before_it_commits_is_found_out(server_driver: Child) -> None:
    faults = _found_out(server_driver, "create", "hasty")
    assert any("acknowledged-and-lost" in fault for fault in faults), faults
