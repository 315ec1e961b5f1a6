"""A PostgreSQL ledger with an event, and how an attacker reaches into it."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from tests.contract.builders import Hands, begin
from tests.stores.postgres.server import Server

from remit.stores.postgres.opening import create_store
from remit.stores.postgres.store import PostgresStore


@pytest.fixture
def url(postgres: Server, wiped: str) -> str:
    return postgres.url(wiped)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = create_store(url, "ledger-1", readings=Hands())
    begin(made)
    yield made
    made.close()


@pytest.fixture
def raw(store: PostgresStore, url: str) -> Iterator[psycopg.Connection]:
    """Another program's session, as a superuser who owns everything."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection
