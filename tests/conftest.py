"""What every test shares: how Hypothesis runs, and the one PostgreSQL server of a test process.

A shared machine pauses tests at will, so an example has no deadline of its own and nobody is told that
it was slow to draw; the time limit of each test (pyproject.toml) stands. How much is drawn in vain
or at too great a length is chance as well. A failure prints what repeats it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from tests.stores.postgres.server import Server

BY_CHANCE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile("remit", deadline=None, print_blob=True, suppress_health_check=BY_CHANCE)
settings.load_profile("remit")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long the long form of the comparison of stores is, and where it begins."""
    group = parser.getgroup("remit")
    group.addoption("--differential-steps", type=int, default=100_000, help="steps of all slices")
    group.addoption("--differential-seed", type=int, default=None, help="seed of the first slice")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server with a template database; started by the first test that asks for it."""
    from tests.stores.postgres.server import Server

    server = Server()
    try:
        server.start()
        server.prepare_template()
        yield server
    finally:
        server.stop()


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """A database of its own for one test, with the schema and no ledger."""
    name = postgres.database()
    yield name
    postgres.drop(name)


@pytest.fixture(scope="session")
def shared_database(postgres: Server) -> str:
    """One database that tests use one after another; ``wiped`` empties it for each."""
    return postgres.database()


@pytest.fixture
def wiped(postgres: Server, shared_database: str) -> str:
    """A database with the schema and no ledger, faster than one of the test's own."""
    postgres.wipe(shared_database)
    return shared_database
