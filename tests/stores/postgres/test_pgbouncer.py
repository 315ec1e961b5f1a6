"""A pooler that hands a server's connection on after each transaction may stand in between.

Runs where a ``pgbouncer`` is installed; elsewhere this is NOT_TESTED, and the skip says so.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.stores.postgres.server import Server

from remit.core.commands import CreateItem
from remit.service.engine import Done
from remit.wiring import create_ledger, open_ledger

PGBOUNCER = shutil.which("pgbouncer") or ""

pytestmark = pytest.mark.skipif(not PGBOUNCER, reason="NOT_TESTED: no pgbouncer is installed")


@pytest.fixture
def pooler(postgres: Server) -> Iterator[str]:
    """The folder of a pooler's socket; it keeps two server connections for everybody."""
    folder = Path(tempfile.mkdtemp(prefix="remit-pool-"))
    (folder / "users").write_text('"postgres" ""\n')
    (folder / "ini").write_text(
        f"[databases]\n* = host={postgres.folder}\n[pgbouncer]\nlisten_addr =\nlisten_port = 5432\n"
        f"unix_socket_dir = {folder}\nauth_type = trust\nauth_file = {folder}/users\n"
        "pool_mode = transaction\ndefault_pool_size = 2\nlogfile =\n"
    )
    if postgres.user:
        for path in (folder, *folder.iterdir()):
            shutil.chown(path, postgres.user)
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [PGBOUNCER, str(folder / "ini")], user=postgres.user, stdout=log, stderr=log
    )
    try:
        until = time.monotonic() + 20
        while not (folder / ".s.PGSQL.5432").exists():
            waiting = time.monotonic() < until and process.poll() is None
            assert waiting, (folder / "log").read_text()
            time.sleep(0.02)
        yield str(folder)
    finally:
        process.terminate()
        process.wait(20)
        log.close()
        shutil.rmtree(folder)


def test_many_writers_share_two_connections(pooler: str, wiped: str) -> None:
    url = f"postgresql://postgres@/{wiped}?host={pooler}&pgbouncer=transaction"
    create_ledger(url, "ann").close()
    ledgers = [open_ledger(url) for _ in range(6)]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for n in range(8):
                answer = ledgers[number].acting("ann").create(CreateItem(f"{number} {n}"))
                assert isinstance(answer, Done)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with ledgers[0].reading() as tx:
        assert len(tx.names("item", "", 99)) == 48
        found = tx._connection.execute("SHOW transaction_read_only").fetchone()  # type: ignore[attr-defined]  # this store's own
        assert found == ("on",)
    for ledger in ledgers:
        ledger.close()


def test_nothing_is_left_on_a_connection(pooler: str, wiped: str) -> None:
    url = f"postgresql://postgres@/{wiped}?host={pooler}&pgbouncer=transaction"
    ledger = create_ledger(url, "ann")
    assert isinstance(ledger.acting("ann").create(CreateItem("one")), Done)
    with psycopg.connect(f"postgresql://postgres@/{wiped}?host={pooler}") as raw:
        row = raw.execute(
            "SELECT current_user, current_setting('lock_timeout'),"
            " (SELECT count(*) FROM pg_prepared_statements),"
            " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
        ).fetchone()
    assert row == ("postgres", "0", 0, 0)
    ledger.close()
