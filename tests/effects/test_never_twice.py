"""INV-14 with real processes: workers and controllers killed at every step, requests lost and late.

Three destinations of their own processes record every request. The ledger is backed up while it is in
use, lost, put back and adopted in the middle, while destinations keep what they got. What is judged is
their record beside all histories, the lost ones too. With a guard taken out of the same workers and
controllers, the same run finds second sends and second objects.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.effects import checker
from tests.effects.gather import Gathered, gathered
from tests.effects.plan import CHAOS, Plan
from tests.ground.children import ROOT, SOURCE
from tests.stores.postgres.server import Server

from remit.wiring import url_of

FAULTS = (
    "requests lost", "responses lost", "requests delayed", "requests doubled by the way",
    "requests worked on after the end of their lease", "requests dropped as too late",
    "requests stale fence", "requests replayed", "requests out", "outages",
    "look-ups that found the record away", "repetitions under an enforced key", "found absent",
    "retries", "stops", "stopped across a restore", "killed", "backups", "restores",
)  # fmt: skip
"""What a long run must have had, by the names of its counts: one without them has shown nothing of them."""

SYNCED = ("max_connections=60", "log_min_messages=fatal", "shared_buffers=64MB")


def ran(plan: Plan) -> Gathered:
    """Run a plan to its end, and judge it."""
    print(f"seed {plan.seed}")
    folder = Path(plan.folder)
    (folder / "plan.json").write_bytes(msgspec.json.encode(plan))
    path = os.pathsep.join((str(SOURCE), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "tests.effects.conductor", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=plan.patience_s + 60,
    )
    assert done.returncode == 0, done.stderr
    found = gathered(plan)
    print(found.told())
    return found


def held(found: Gathered) -> Counter[str]:
    """Demand that nothing is wrong; returns the counts."""
    assert found.wrong == []
    assert found.ledgers == []
    counts = found.counts
    assert counts["PRESENT"] + counts["held"] + counts["triaged"] == counts["effects"]
    return counts


ROUNDS = 5
"""How often a run may begin again, with another seed, in which what it is about did not come about."""


def rounds(folder: Path, first: int) -> Iterator[tuple[str, int]]:
    """A folder and a seed for each run: what befalls whom is chance, and so is what comes of it."""
    for number in range(ROUNDS):
        (folder / str(number)).mkdir()
        yield str(folder / str(number)), first + 1_000 * number


@pytest.mark.timeout(1_200)
def test_inv_14_no_effect_is_sent_twice_whoever_is_killed(tmp_path: Path) -> None:
    met = ("killed", "restores", "retries", "requests lost", "responses lost", "outages")
    told = ""
    for folder, seed in rounds(tmp_path, 14):
        plan = Plan(
            folder, seed, effects=60, workers=4, kills=20, restores=[(0.3, 0.55)],
            url=url_of(Path(folder) / "ledger.db"), patience_s=200,
        )  # fmt: skip
        found = ran(plan)
        counts = held(found)
        if counts["PRESENT"] > 45 and found.unseen(met) == []:
            return
        told = found.told()
    raise AssertionError(f"no run had all that it is about: {told}")


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(
    ("plant", "kills"), [("guard_taken_out", 8), ("absence_believed_too_early", 0)]
)
def test_with_the_guard_taken_out_the_same_run_finds_duplicates(
    plant: str, kills: int, tmp_path: Path
) -> None:
    wanted = checker.SECOND_SEND if plant == "guard_taken_out" else checker.EARLY
    kinds: set[str] = set()
    for folder, seed in rounds(tmp_path, 15):
        plan = Plan(
            folder, seed, effects=30, workers=4, kills=kills, restores=[],
            url=url_of(Path(folder) / "ledger.db"), modes=("plain",), plant=plant,
            chaos={**CHAOS, "delayed": 0.7}, patience_s=60, timeout_ms=150,
        )  # fmt: skip
        kinds = ran(plan).kinds()
        if {checker.SECOND_OBJECT, wanted} <= kinds:
            return
    raise AssertionError(f"no run found what was planted, the last one {kinds}")


@pytest.mark.torture
@pytest.mark.timeout(2_400)
def test_inv_14_two_thousand_effects(tmp_path: Path) -> None:
    plan = Plan(
        str(tmp_path), random.randrange(1 << 32), effects=2_100, workers=6, kills=400,
        restores=[(0.25, 0.35), (0.6, 0.7)], url=url_of(tmp_path / "ledger.db"), patience_s=2_000,
    )  # fmt: skip
    found = ran(plan)
    counts = held(found)
    assert counts["restores"] == 2
    assert found.missed == [], "nobody was killed there"
    assert found.unseen(FAULTS) == [], "the run did not have these"


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_with_the_guard_taken_out_the_long_run_finds_duplicates_too(tmp_path: Path) -> None:
    plan = Plan(
        str(tmp_path), random.randrange(1 << 32), effects=400, workers=6, kills=80,
        restores=[(0.25, 0.35), (0.6, 0.7)], url=url_of(tmp_path / "ledger.db"),
        plant="guard_taken_out", patience_s=300,
    )  # fmt: skip
    found = ran(plan)
    assert {checker.SECOND_SEND, checker.SECOND_OBJECT} <= found.kinds()


@pytest.mark.torture
@pytest.mark.timeout(1_200)
def test_inv_14_on_postgresql(tmp_path: Path) -> None:
    server = Server(SYNCED)
    try:
        server.start()
        for name in ("first", "second"):
            server.run(f"CREATE DATABASE {name}")
        plan = Plan(
            str(tmp_path), random.randrange(1 << 32), effects=700, workers=4, kills=240,
            restores=[(0.3, 0.5)], url=server.url("first"), urls=[server.url("second")],
            patience_s=900,
        )  # fmt: skip
        found = ran(plan)
    finally:
        server.stop()
    counts = held(found)
    assert counts["restores"] == 1
    assert counts["killed"] > 200
    assert found.missed == [], "nobody was killed there"
