"""Settings that a login or a database brings along: they change nothing that is stored, or are named."""

from __future__ import annotations

import psycopg
import pytest
from tests.stores.postgres.server import Server

from remit.core import commands as c
from remit.core.evolve import evolve
from remit.core.refusals import Code
from remit.ports import StoreUnavailable
from remit.service.engine import Done
from remit.service.integrity import verify
from remit.stores.postgres.opening import create_store
from remit.wiring import create_ledger, open_ledger

TEXT = "zürich → 北京 \N{PILE OF POO}"
HARMLESS = (
    "client_encoding = 'LATIN1'",
    "bytea_output = 'escape'",
    "standard_conforming_strings = off",
    "DateStyle = 'German, DMY'",
    "TimeZone = 'Asia/Kathmandu'",
    "default_transaction_isolation = 'serializable'",
    "default_transaction_deferrable = on",
    "search_path = 'nowhere'",
    "row_security = off",
    "session_replication_role = 'replica'",
    "lock_timeout = '1ms'",
)


def of_everybody(server: Server, name: str, setting: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET {setting}")


@pytest.mark.parametrize("setting", HARMLESS)
def test_what_a_database_sets_for_everybody_changes_nothing(
    postgres: Server, database: str, setting: str
) -> None:
    url = postgres.url(database)
    create_ledger(url, "ann").close()
    of_everybody(postgres, database, setting)
    ledger = open_ledger(url)
    try:
        made = ledger.acting("ann").create(c.CreateItem(TEXT))
        assert isinstance(made, Done)
        with ledger.reading() as tx:
            item = tx.load([("item", "W-1")])["item", "W-1"]
        assert getattr(item, "title", "") == TEXT
        assert verify(ledger.store, fold=evolve).problems == ()
    finally:
        ledger.close()


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("statement_timeout = '1ms'", "statement_timeout"),
        ("default_transaction_read_only = on", "default_transaction_read_only"),
    ],
)
def test_what_stands_in_the_way_is_named(
    postgres: Server, database: str, setting: str, named: str
) -> None:
    url = postgres.url(database)
    create_ledger(url, "ann").close()
    of_everybody(postgres, database, setting)
    ledger = open_ledger(url)
    try:
        with pytest.raises(StoreUnavailable) as caught:
            for n in range(1_000):
                ledger.acting("ann").create(c.CreateItem(f"number {n}"))
        assert caught.value.code is Code.STORE_UNAVAILABLE
        assert named in caught.value.hint
    finally:
        ledger.close()


@pytest.mark.parametrize(("encoding", "taken"), [("LATIN1", False), ("SQL_ASCII", True)])
def test_a_ledger_is_made_where_every_text_has_a_place(
    postgres: Server, encoding: str, taken: bool
) -> None:
    name = f"in_{encoding.lower()}"
    postgres.run(
        f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    if not taken:
        with pytest.raises(StoreUnavailable, match=f"encoded as {encoding}") as caught:
            create_store(postgres.url(name), "ledger-1")
        assert caught.value.code is Code.STORE_REFUSED
        return
    ledger = create_ledger(postgres.url(name), "ann")
    try:
        assert isinstance(ledger.acting("ann").create(c.CreateItem(TEXT, alias="北京")), Done)
        assert verify(ledger.store, fold=evolve).problems == ()
    finally:
        ledger.close()
