"""Ledgers that the operations made: verified and replayed with the core's own fold (INV-21)."""

from __future__ import annotations

from pathlib import Path

import pytest

from remit.core import commands as c
from remit.core.evolve import evolve
from remit.core.refusals import Refused
from remit.ports import Store
from remit.service.integrity import replay, verify
from remit.service.operations import Caller, Operations
from remit.stores.memory import MemoryStore
from remit.stores.sqlite.store import create_store


@pytest.fixture
def worked(tmp_path: Path) -> Store:
    store = create_store(tmp_path / "ledger.db", "ledger-1")
    operations = Operations(store, Caller("ann"))
    assert not isinstance(operations.run(c.CreateLedger("ledger-1", "ann")), Refused)
    for n in range(12):
        answer = operations.run(c.CreateItem(f"title {n}", alias=f"bd-{n}"), command_id=f"c{n}")
        assert not isinstance(answer, Refused)
    return store


def test_operations_leave_rows_that_are_the_fold(worked: Store) -> None:
    report = verify(worked, fold=evolve)
    assert report.problems == ()
    assert report.rows_compared
    assert report.events > 24
    assert replay(worked, fold=evolve, swap=True).differences == ()
    worked.close()


def test_another_store_folds_to_the_same_root(worked: Store) -> None:
    memory = MemoryStore("ledger-1")
    with worked.read() as tx, memory.write() as writer:
        writer.append(tx.events(0, 10_000))
    replay(memory, fold=evolve, swap=True)
    assert verify(memory, fold=evolve) == verify(worked, fold=evolve)
    worked.close()
