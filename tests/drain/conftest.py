"""Fixtures of the drain's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.drain.ground import Ground, running

from remit.drain.leftovers import records


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    made = Ground(tmp_path)
    yield made
    for process in made.started:
        process.stop()
        process.wait(10_000)
        assert process.group is None or not process.group.path.exists()
    assert running(tmp_path) == []
    assert records(tmp_path) == []
