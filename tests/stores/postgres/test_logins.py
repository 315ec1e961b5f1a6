"""Logins that are no superusers: who installs, who writes, who reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.stores.postgres.server import Server

from remit.core.commands import CreateItem
from remit.core.refusals import Code
from remit.ports import RemitError
from remit.service.engine import Done
from remit.wiring import create_ledger, open_ledger


@pytest.fixture
def bare() -> Iterator[Server]:
    """A server that knows nothing of remit yet."""
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.stop()


def test_who_installs_who_writes_and_who_reads(bare: Server) -> None:
    bare.run("CREATE ROLE builder LOGIN CREATEROLE")
    bare.run("CREATE ROLE passer LOGIN")
    bare.run("CREATE DATABASE work OWNER builder")
    with pytest.raises(RemitError) as caught:
        create_ledger(bare.url("work", "passer"), "ann")
    assert caught.value.code is Code.STORE_REFUSED
    made = create_ledger(bare.url("work", "builder"), "ann")
    assert isinstance(made.acting("ann").create(CreateItem("one")), Done)
    made.close()
    bare.run("CREATE ROLE worker LOGIN IN ROLE remit_writer", user="builder")
    bare.run("CREATE ROLE operator LOGIN IN ROLE remit_reader", user="builder")
    worker = open_ledger(bare.url("work", "worker"))
    assert isinstance(worker.acting("ann").create(CreateItem("two")), Done)
    worker.close()
    operator = open_ledger(bare.url("work", "operator"))
    with operator.reading() as tx:
        assert tx.names("item", "", 9) == ["W-1", "W-2"]
    with pytest.raises(RemitError, match="remit_writer") as caught:
        operator.acting("ann").create(CreateItem("three"))
    assert caught.value.code is Code.STORE_REFUSED
    operator.close()
    with pytest.raises(RemitError) as caught:
        open_ledger(bare.url("work", "passer"))
    assert caught.value.code is Code.STORE_REFUSED
