"""Each guard of the adapters is one that a test would miss: take it out, and the named test fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.destinations.mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


def run(source: Path, test: str) -> subprocess.CompletedProcess[str]:
    """One test, on another source tree."""
    options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(HERE / test)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=110,
    )


def test_every_place_is_there() -> None:
    for file, found, put, test in MUTANTS:
        source = (ROOT / "src" / "remit" / "destinations" / file).read_text("utf-8")
        assert found in source, (file, found)
        assert found != put
        path, _, name = test.partition("::")
        assert f"def {name}(" in (HERE / path).read_text("utf-8"), test
    assert len(MUTANTS) >= 40


@pytest.mark.torture
@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_planted_fault_is_seen(tmp_path: Path, number: int) -> None:
    file, found, put, test = MUTANTS[number]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    place = tmp_path / "src" / "remit" / "destinations" / file
    place.write_text(place.read_text("utf-8").replace(found, put), "utf-8")
    done = run(tmp_path / "src", test)
    assert done.returncode == 1, done.stdout
    assert "FAILED" in done.stdout, done.stdout


@pytest.mark.torture
@pytest.mark.parametrize("test", sorted({test for *_, test in MUTANTS}))
def test_without_a_fault_it_passes(test: str) -> None:
    done = run(ROOT / "src", test)
    assert done.returncode == 0, done.stdout
