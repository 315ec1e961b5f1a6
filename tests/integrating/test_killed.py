"""kill -9 between any two steps, then the same call again: one push, and the same end (INV-14)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.integrating.lab import Lab
from tests.integrating.one import POINTS

from remit.core.status import Status

ROOT = Path(__file__).parents[2]


def killed(lab: Lab, name: str, command_id: str, point: str) -> None:
    """Run the call in a process of its own, which dies at the point."""
    argv = [sys.executable, "-m", "tests.integrating.one", str(lab.root), name, command_id, point]
    place = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(argv, cwd=ROOT, env=place, capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize("again", ["c-1", "c-2"])
@pytest.mark.parametrize("point", POINTS)
def test_inv_14_killed_anywhere_it_is_pushed_once(lab: Lab, point: str, again: str) -> None:
    name = lab.approved()
    theirs = lab.moved({"a.txt": "two\n"})
    lab.close()
    killed(lab, name, "c-1", point)
    lab = Lab(lab.root)
    was = lab.item(name).status
    if was is Status.SHIPPED and again != "c-1":
        found = lab.integration().integrate(name, command_id=again)
        assert "it is shipped" in getattr(found, "message", "")
    else:
        assert lab.integrate(name, command_id=again).outcome == "shipped"
    work = lab.item(name).work
    assert work is not None
    landed = lab.landed()
    assert landed[-2:] == [theirs, work.shipped]
    assert len(landed) == 3
    assert lab.events(name).count("ShipObserved") == 1
    assert lab.effect(name).state == "PRESENT"
    assert lab.effect(name).intents == (2 if point == "intended" else 1)
    lab.close()
