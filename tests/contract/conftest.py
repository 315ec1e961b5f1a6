"""The stores that the contract binds: a new one joins with one line in ``OPENERS``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.contract.builders import Hands

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


def _sqlite(folder: Path, hands: Hands) -> Ledger:
    path = folder / "ledger.db"

    def again(store: Store) -> Store:
        store.close()
        return open_store(path, readings=hands)

    return Ledger(create_store(path, "ledger-1", readings=hands), hands, again)


def _memory(_folder: Path, hands: Hands) -> Ledger:
    return Ledger(MemoryStore("ledger-1", readings=hands), hands, lambda store: store)


OPENERS = {
    "sqlite": _sqlite,
    "memory": _memory,
}


@pytest.fixture(params=sorted(OPENERS))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    made = OPENERS[request.param](tmp_path, Hands())
    yield made
    made.store.close()


@pytest.fixture
def store(ledger: Ledger) -> Store:
    return ledger.store
