"""A ground for each test, the recording service, and processes that surely end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.destinations.processes import Service
from tests.stores.postgres.server import Server
from tests.workers.ground import Ground, Worker


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    made = Ground(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgres"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ground]:
    """The same ground on each store that processes can share."""
    url = ""
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        url = server.url(request.getfixturevalue("wiped"))
    made = Ground(tmp_path, url)
    yield made
    made.close()


@pytest.fixture
def start(ground: Ground) -> Iterator[Callable[..., Worker]]:
    """Starts workers of the app in ``tests/workers/handlers.py``, or of another one."""
    running: list[Worker] = []

    def begin(*options: str, name: str = "tests.workers.handlers:app", **how: Any) -> Worker:
        running.append(Worker(ground, name, *options, **how))
        return running[-1]

    yield begin
    for worker in running:
        worker.kill()


@pytest.fixture(scope="session")
def running_service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()


@pytest.fixture
def service(running_service: Service) -> Service:
    """The recording service, behaving."""
    running_service.control(reset=True)
    return running_service
