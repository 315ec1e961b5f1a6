"""Real destinations: a service and an S3 server as processes, a bare repository, a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.destinations.processes import Process, Service, Way
from tests.destinations.subjects import Bucket, Repositories


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


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Process]:
    server = Process("s3_server.py")
    yield server
    server.stop()


@pytest.fixture
def way(s3_server: Process) -> Iterator[Way]:
    way = Way(s3_server.port)
    yield way
    way.stop()


@pytest.fixture
def bucket(s3_server: Process, way: Way) -> Bucket:
    return Bucket(s3_server.url, way)


@pytest.fixture
def repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repositories:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.org")
    return Repositories(tmp_path)
