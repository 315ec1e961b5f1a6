"""A server that has forgotten commits, as after a failover, is written by nobody until it is adopted."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import psycopg
import pytest
from tests.stores.postgres.server import HISTORY, TABLES, Server

from remit.core import commands as c
from remit.core.refusals import Code
from remit.ports import RemitError
from remit.service.adoption import adopt
from remit.service.engine import Done
from remit.wiring import Ledger, create_ledger, open_ledger


class Copy:
    """Everything that a database holds of its ledgers at a moment, to be put back behind everybody."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.rows: dict[str, list[Any]] = {}
        with psycopg.connect(url) as connection:
            for table in (*HISTORY, *TABLES):
                self.rows[table] = connection.execute(f"SELECT * FROM remit.{table}").fetchall()

    def put_back(self) -> None:
        """What a standby that never got the rest would hold; its promotion ends all sessions."""
        with psycopg.connect(self.url) as connection:
            for table, triggers in HISTORY.items():
                for trigger in triggers:
                    connection.execute(f"ALTER TABLE remit.{table} DISABLE TRIGGER {trigger}")
            tables = list(dict.fromkeys([*TABLES, *HISTORY]))
            for table in tables:
                connection.execute(f"DELETE FROM remit.{table}")
            for table in ("store_state", *(t for t in tables if t != "store_state")):
                rows = self.rows[table]
                if rows:
                    marks = ", ".join(["%s"] * len(rows[0]))
                    insert = f"INSERT INTO remit.{table} VALUES ({marks})"
                    connection.cursor().executemany(insert, rows)
            for table, triggers in HISTORY.items():
                for trigger in triggers:
                    connection.execute(f"ALTER TABLE remit.{table} ENABLE ALWAYS TRIGGER {trigger}")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )


@pytest.fixture
def url(postgres: Server, wiped: str) -> str:
    return postgres.url(wiped)


def create(ledger: Ledger, title: str) -> Any:
    return ledger.acting("ann").create(c.CreateItem(title))


def test_who_saw_a_commit_that_is_gone_stops_everybody(url: str) -> None:
    with closing(create_ledger(url, "ann")) as ledger, closing(open_ledger(url)) as other:
        before = Copy(url)
        assert isinstance(create(ledger, "one"), Done)
        before.put_back()
        with pytest.raises(RemitError, match="was committed and is no longer there") as caught:
            create(ledger, "two")
        assert caught.value.code is Code.LEDGER_NOT_ADOPTED
        with pytest.raises(RemitError, match="restored or copied") as caught:
            create(other, "three")
        assert caught.value.code is Code.LEDGER_NOT_ADOPTED
        taken = adopt(ledger.acting("ann"), "failed over")
        assert isinstance(taken, dict), taken
        assert isinstance(create(ledger, "four"), Done)
        assert isinstance(create(other, "five"), Done)


def test_a_head_that_went_on_differently_is_noticed_on_a_new_connection(url: str) -> None:
    """Others have written since, so that the head is ahead of what was lost."""
    with closing(create_ledger(url, "ann")) as ledger:
        before = Copy(url)
        assert isinstance(create(ledger, "one"), Done)
        before.put_back()
        with closing(open_ledger(url)) as unaware:
            for n in range(3):
                assert isinstance(create(unaware, f"other {n}"), Done)
        with pytest.raises(RemitError, match="no longer there") as caught:
            create(ledger, "two")
        assert caught.value.code is Code.LEDGER_NOT_ADOPTED


def test_what_was_only_restarted_is_written_as_before(url: str) -> None:
    with closing(create_ledger(url, "ann")) as ledger, closing(open_ledger(url)) as other:
        assert isinstance(create(ledger, "one"), Done)
        whole = Copy(url)
        whole.put_back()
        assert isinstance(create(other, "two"), Done)
        assert isinstance(create(ledger, "three"), Done)
