"""The stores that the contract binds: a new one joins with one line in ``OPENERS``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.contract.builders import Hands
from tests.stores.postgres.server import Server

from remit.ports import Store
from remit.stores.memory import MemoryStore
from remit.stores.sqlite.store import create_store, open_store


@dataclass
class Ledger:
    """A store with its clocks, and how to open it again."""

    store: Store
    hands: Hands
    again: Callable[[Store], Store]

    def reopen(self) -> Store:
        """What another process would find."""
        self.store = self.again(self.store)
        return self.store


def _postgres(request: pytest.FixtureRequest, hands: Hands) -> Ledger:
    from remit.stores.postgres import opening

    server: Server = request.getfixturevalue("postgres")
    url = server.url(request.getfixturevalue("wiped"))

    def again(store: Store) -> Store:
        store.close()
        return opening.open_store(url, readings=hands)

    return Ledger(opening.create_store(url, "ledger-1", readings=hands), hands, again)


def _sqlite(request: pytest.FixtureRequest, hands: Hands) -> Ledger:
    folder: Path = request.getfixturevalue("tmp_path")
    path = folder / "ledger.db"

    def again(store: Store) -> Store:
        store.close()
        return open_store(path, readings=hands)

    return Ledger(create_store(path, "ledger-1", readings=hands), hands, again)


def _memory(_request: pytest.FixtureRequest, hands: Hands) -> Ledger:
    return Ledger(MemoryStore("ledger-1", readings=hands), hands, lambda store: store)


OPENERS = {
    "postgres": _postgres,
    "sqlite": _sqlite,
    "memory": _memory,
}


@pytest.fixture(params=sorted(OPENERS))
def ledger(request: pytest.FixtureRequest) -> Iterator[Ledger]:
    made = OPENERS[request.param](request, Hands())
    yield made
    made.store.close()


@pytest.fixture
def store(ledger: Ledger) -> Store:
    return ledger.store
