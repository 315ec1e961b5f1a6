"""A killed ``remit init`` and the same call again: one whole ledger with its first human, always."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

DELAYS_S = [0.02 * step for step in range(1, 16)]
"""From before the program has loaded to after it has ended."""


def call(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("REMIT_")}
    return subprocess.Popen(
        [sys.executable, "-m", "remit", *arguments, "--json"],
        cwd=folder,
        env={**environment, "REMIT_ACTOR": "ann"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(folder: Path, *arguments: str) -> tuple[int, dict[str, object]]:
    process = call(folder, *arguments)
    out, err = process.communicate(timeout=60)
    return process.returncode, json.loads(out or err)


@pytest.mark.parametrize("delay", DELAYS_S, ids=lambda d: f"{d:.2f}s")
def test_an_init_that_was_killed_is_done_by_the_next(tmp_path: Path, delay: float) -> None:
    process = call(tmp_path, "init")
    time.sleep(delay + random.random() / 50)
    process.kill()
    process.communicate()
    status, answer = said(tmp_path, "init")
    again = answer.get("error")
    assert status == 0 or (status == 3 and again["code"] == "LEDGER_EXISTS"), answer  # type: ignore[index]  # an error
    status, answer = said(tmp_path, "actor", "list")
    assert status == 0, answer
    names = [actor["name"] for actor in answer["data"]["actors"]]  # type: ignore[index]  # as the interface has it
    assert names.count("ann") == 1
    status, answer = said(tmp_path, "create", "goes on", "--verify", "true")
    assert status == 0, answer
    status, answer = said(tmp_path, "ledger", "verify")
    assert status == 0, answer
