"""Each guard of integration is one that a test would miss: take it out, and the named test fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integrating.mutants import MUTANTS

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


def test_every_place_is_there() -> None:
    for file, found, put, test in MUTANTS:
        source = (ROOT / "src" / "remit" / file).read_text("utf-8")
        assert source.count(found) == 1, (file, found)
        assert found != put
        path, _, name = test.partition("::")
        assert f"def {name}(" in (HERE / path).read_text("utf-8"), test


@pytest.mark.torture
@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_planted_fault_is_seen(tmp_path: Path, number: int) -> None:
    file, found, put, test = MUTANTS[number]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    place = tmp_path / "src" / "remit" / file
    place.write_text(place.read_text("utf-8").replace(found, put), "utf-8")
    options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(HERE / test)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout
    assert "FAILED" in done.stdout, done.stdout
