"""Threads that share commits, killed at a step of any of them: what each was told is there (INV-9, INV-22)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.ground.children import Child
from tests.ground.ledgers import HUMAN, enrolled, faults_of
from tests.ground.load import Load
from tests.ground.sidelog import SideLog, told
from tests.stores.postgres.server import Server

from remit.wiring import create_ledger, open_ledger, url_of

THREADS, CALLS = 4, 6
ROUNDS = 12
"""How often threads may begin again until two of them asked at one time."""

Fresh = Callable[[int], str]
"""The URL for the ledger of the nth attempt."""


@pytest.fixture(params=["sqlite", "postgres"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Fresh:
    if request.param == "sqlite":
        return lambda number: url_of(tmp_path / f"ledger-{number}.db")
    server: Server = request.getfixturevalue("postgres")
    database: str = request.getfixturevalue("shared_database")

    def wiped(_number: int) -> str:
        server.wipe(database)
        return server.url(database)

    return wiped


def attempt(url: str, folder: Path, number: int, step: int) -> dict[str, int] | None:
    """Let threads work until they are killed at a step, judge, settle; None where one was killed."""
    enrolled(create_ledger(url, HUMAN)).close()
    logs = [folder / f"{number}-{thread}" for thread in range(THREADS)]
    child = Child("tests.crash.together", url, str(step), str(CALLS), *map(str, logs), wait_s=60)
    status = child.process.wait(60)
    found: dict[str, int] | None = child.line() if status == 0 else None
    child.kill()
    assert status in (0, -signal.SIGKILL)
    kept = [log for log in logs if log.exists()]
    with closing(open_ledger(url)) as ledger:
        assert faults_of(ledger, told(*kept)) == []
        again = Load(ledger, SideLog(folder / f"{number}-again", durable=False), number, "again")
        again.again(*kept)
        again.step()
        again.log.close()
        assert faults_of(ledger, told(*kept, again.log.path)) == []
    return found


def test_threads_killed_at_steps_of_a_shared_commit(fresh: Fresh, tmp_path: Path) -> None:
    whole = (attempt(fresh(number), tmp_path, number, 0) for number in range(ROUNDS))
    assert any(found and found["joined"] for found in whole), "they shared a commit"
    for number, step in enumerate((8, 15, 17), ROUNDS):
        assert attempt(fresh(number), tmp_path, number, step) is None


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_threads_killed_at_each_step_of_their_commits(fresh: Fresh, tmp_path: Path) -> None:
    killed = 0
    for step in range(1, 61):
        killed += attempt(fresh(step), tmp_path, step, step) is None
    print(f"{THREADS} threads, killed at {killed} steps")
    assert killed > 30
