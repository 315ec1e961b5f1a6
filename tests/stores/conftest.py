"""A SQLite ledger with a few events and rows, and how an attacker reaches into it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.contract.builders import Hands, begin

from remit.stores.sqlite.store import SqliteStore, create_store


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def store(path: Path, hands: Hands) -> Iterator[SqliteStore]:
    made = create_store(path, "ledger-1", readings=hands)
    begin(made)
    yield made
    made.close()


@pytest.fixture
def raw(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """Another program's connection: Python's own SQLite, which knows nothing of remit."""
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        yield connection
