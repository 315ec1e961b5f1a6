"""The long form of "it works here": a clone of HEAD in an empty folder builds itself."""

import os
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SECOND_RUN_LIMIT_S = 5


@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_a_fresh_clone_sets_itself_up_once(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    outside = {"MAKEFLAGS", "MAKELEVEL", "VIRTUAL_ENV", "PYTHONPATH"}
    env = {name: value for name, value in os.environ.items() if name not in outside}

    subprocess.run(["make", "setup"], cwd=clone, env=env, check=True)
    where = subprocess.run(
        [clone / ".venv/bin/python", "-c", "import remit; print(remit.__file__)"],
        cwd=tmp_path,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    assert where == str(clone / "src/remit/__init__.py")

    began = time.monotonic()
    subprocess.run(["make", "setup"], cwd=clone, env=env, check=True)
    assert time.monotonic() - began < SECOND_RUN_LIMIT_S
