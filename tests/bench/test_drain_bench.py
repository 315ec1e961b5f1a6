"""The drain's benchmark comes to its end and says both figures; how good they are is no test."""

from __future__ import annotations

import json

import pytest

from remit.bench.drain_main import run
from remit.wiring.draining import no_sandbox


def test_a_small_run_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    if no_sandbox() is not None:
        pytest.skip("this machine has no sandbox")
    assert run(quick=True, as_json=True, out=None, sizes=(2, 2, 1)) == 0
    found = json.loads(capsys.readouterr().out)["data"]
    assert [row["peer"] for row in found["rows"]] == ["remit drain", "shell loop"]
    assert all(row["per_s"] > 0 for row in found["rows"])
    assert found["ratio"] > 0
    assert (found["items"], found["agents"]) == (2, 2)


def test_what_it_does_not_take_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(quick=True, as_json=True, out=None, store="postgresql") == 2
    assert "sqlite" in capsys.readouterr().err
