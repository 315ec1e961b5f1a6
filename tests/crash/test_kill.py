"""Any call, killed at any instant and repeated, is done once and comes out the same."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.crash.stage import AGAIN, CALLS, WITHOUT_ID
from tests.ground.children import Child


@pytest.fixture(scope="module")
def driver() -> Iterator[Child]:
    child = Child("tests.crash.driver", wait_s=600)
    assert child.line() == AGAIN
    yield child
    assert child.ended() == 0
    child.kill()


def _killed(driver: Child, name: str, kills: int, seed: int) -> None:
    driver.send(json.dumps([name, kills, seed, False]) + "\n")
    found = driver.line()
    print(f"{name}: {found['points']} steps, {found['killed']} of {kills} at random, seed {seed}")
    assert found["faults"] == []
    assert found["points"] >= (0 if name == "backup" else 3)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_killed_and_repeated_is_done_once(driver: Child, name: str) -> None:
    _killed(driver, name, 10 if name in WITHOUT_ID else 2, 1)


@pytest.mark.torture
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_killed_at_many_random_moments_is_done_once(driver: Child, name: str) -> None:
    _killed(driver, name, 200, 2)


@pytest.mark.parametrize("name", ["create", "lease next", "progress", "ship"])
def test_a_ledger_that_forgets_command_ids_is_found_out(driver: Child, name: str) -> None:
    driver.send(json.dumps([name, 0, 1, True]) + "\n")
    assert driver.line()["faults"]
