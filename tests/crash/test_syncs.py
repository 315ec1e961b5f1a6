"""A caller that is killed, or failed by the system, at each sync and each write that it asks for.

Killing at steps of our own leaves out what happens within a commit. Here ``strace`` stands between the
caller and the kernel: it kills at the Nth ``fdatasync`` or write, or lets it fail as a worn disk (EIO)
or a full one (ENOSPC) would. The caller's record is then held against the ledger (INV-9, INV-22).
Needs ``strace`` and leave to trace one's own processes; the tests are skipped without.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from tests.ground.children import ROOT, SOURCE
from tests.ground.ledgers import faults_of, made, opened
from tests.ground.load import Load
from tests.ground.sidelog import SideLog, told

from remit.wiring import url_of

KILL, WORN, FULL = "signal=SIGKILL", "error=EIO", "error=ENOSPC"


@cache
def lacking() -> str:
    """Why this machine cannot do it; empty where it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(["strace", "-f", "-o", os.devnull, "true"], capture_output=True)
    return "" if tried.returncode == 0 else f"tracing is refused: {tried.stderr.decode()[:200]}"


@dataclass
class Traced:
    """A room with a ledger, of which each attempt gets a copy."""

    room: Path
    calls: int
    attempts: int = 0

    def attempt(self, what: str) -> tuple[Path, subprocess.CompletedProcess[str]]:
        """Work on a copy while strace does this; the copy's folder and how it ended."""
        self.attempts += 1
        place = self.room / f"copy-{self.attempts}"
        shutil.copytree(self.room / "stage", place)
        caller = [sys.executable, "-m", "tests.crash.working", url_of(place / "ledger.db")]
        path = os.pathsep.join((str(SOURCE), str(ROOT)))
        ended = subprocess.run(
            ["strace", "-f", "-qq", "-e", "signal=none", "-o", str(place / "trace"), *what.split(),
             *caller, str(place / "log"), "a", "7", str(self.calls)],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        return place, ended

    def count(self, call: str) -> int:
        """How often an undisturbed caller asks for this."""
        place, ended = self.attempt(f"-e trace={call}")
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout) == {"away": 0, "unknown": 0}
        return sum(call in line for line in (place / "trace").read_text().splitlines())

    def judge(self, place: Path) -> None:
        """What is left must be what was told; what was open is settled, and work goes on."""
        log = place / "log"
        ledger = opened(place)
        assert faults_of(ledger, told(log)) == []
        load = Load(ledger, SideLog(place / "log-2", durable=False), 8, "b")
        load.again(log)
        load.step()
        load.log.close()
        assert faults_of(ledger, told(log, load.log.path)) == []
        ledger.close()
        shutil.rmtree(place)


@pytest.fixture
def traced(tmp_path: Path) -> Traced:
    if lacking():
        pytest.skip(lacking())
    (tmp_path / "stage").mkdir()
    made(tmp_path / "stage").close()
    return Traced(tmp_path, 5)


def killed_at_each(traced: Traced, call: str, every: int = 1) -> int:
    """Kill the caller at each of these system calls; how many there were."""
    many = traced.count(call)
    points = range(1, many + 1, every)
    for number in points:
        place, ended = traced.attempt(f"-e trace={call} -e inject={call}:{KILL}:when={number}")
        assert ended.returncode in (-9, 137), f"at {call} {number}: {ended}"
        if (place / "log").exists():
            traced.judge(place)
    print(f"killed at {len(points)} of {many} {call}")
    return len(points)


def failed_at_each(traced: Traced, call: str, how: str, every: int = 1) -> tuple[int, int]:
    """Let each of these system calls fail once: how often nothing was done, how often who knows."""
    away = unknown = 0
    many = traced.count(call)
    points = range(1, many + 1, every)
    for number in points:
        place, ended = traced.attempt(f"-e trace={call} -e inject={call}:{how}:when={number}")
        assert ended.returncode == 0, f"at {call} {number}: {ended.stderr}"
        found = json.loads(ended.stdout)
        away, unknown = away + found["away"], unknown + found["unknown"]
        traced.judge(place)
    print(f"{len(points)} of {many} {call} with {how}: {away} away, {unknown} unknown")
    return away, unknown


def test_a_caller_killed_at_each_sync(traced: Traced) -> None:
    assert killed_at_each(traced, "fdatasync") >= traced.calls


def test_syncs_that_fail_are_unknown_and_settled(traced: Traced) -> None:
    _, unknown = failed_at_each(traced, "fdatasync", WORN, every=3)
    assert unknown > 0


def test_writes_that_find_no_room_did_nothing(traced: Traced) -> None:
    away, _ = failed_at_each(traced, "pwrite64", FULL, every=31)
    assert away > 0


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_a_caller_killed_at_syncs_and_writes_of_a_long_run(traced: Traced) -> None:
    traced.calls = 24
    assert killed_at_each(traced, "fdatasync") >= 24
    assert killed_at_each(traced, "fsync", every=5) > 0
    assert killed_at_each(traced, "pwrite64", every=3) > 100


@pytest.mark.torture
@pytest.mark.timeout(3_600)
def test_syncs_and_writes_of_a_long_run_fail_once(traced: Traced) -> None:
    traced.calls = 12
    assert failed_at_each(traced, "fdatasync", WORN)[1] > 0
    assert failed_at_each(traced, "pwrite64", FULL, every=5)[0] > 0
    assert failed_at_each(traced, "pwrite64", WORN, every=9)[0] > 0
