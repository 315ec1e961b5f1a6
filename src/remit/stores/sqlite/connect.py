"""Opening a database that should hold a ledger, and making one that does.

Whatever lies under the name (nothing, a folder, an empty file, a text, another program's database, a
ledger of a newer version), the answer is one typed error that says what was found. The header is
looked at before SQLite is, since SQLite would take an empty file for an empty database.

Every connection gets the same settings. ``synchronous=FULL`` is what makes an acknowledged write
survive a power cut (INV-22): in WAL mode with NORMAL, acknowledged commits are lost.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import apsw

from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, RemitError, StoreUnavailable
from remit.stores.clock import Readings, first_anchor
from remit.stores.sqlite import place
from remit.stores.sqlite.failures import named
from remit.stores.sqlite.lock import WriterLock
from remit.stores.sqlite.queries import q

if TYPE_CHECKING:
    from remit.core.events import Recorded

APPLICATION_ID: Final = 0x524D4954
"""``RMIT``: how the file says that it is a ledger."""

PAGE_SIZE: Final = 4096
"""Measured against 8192: a commit writes fewer bytes, so single writes gain 10 % and appends 40 %."""

MIGRATIONS: Final = tuple(sorted((Path(__file__).parent / "migrations").glob("*.sql")))

SCHEMA_VERSION: Final = len(MIGRATIONS)

_MAGIC: Final = b"SQLite format 3\0"

_SETTINGS: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;
PRAGMA cache_size = -16000;
"""

_READING: Final = """
PRAGMA query_only = ON;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;
PRAGMA cache_size = -16000;
"""


def inspect(path: Path) -> None:
    """Raise a typed error unless the file has the header of a ledger."""
    subject = f"cannot open {path}"
    details = {"path": str(path)}
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise StoreUnavailable(
                f"{subject}: it is a folder or a device, expected a file",
                "name the ledger's file",
                details,
                code=Code.STORE_REFUSED,
            )
        with path.open("rb") as file:
            header = file.read(100)
    except FileNotFoundError:
        raise RemitError(
            f"{subject}: there is no ledger",
            "make one with 'remit init', or name another with --ledger",
            details,
            code=Code.LEDGER_MISSING,
        ) from None
    except OSError as error:
        raise StoreUnavailable(
            f"{subject}: {error.strerror}", "see that the file can be read", details
        ) from error
    if header[:16] == _MAGIC and int.from_bytes(header[68:72]) == APPLICATION_ID:
        return
    if not header:
        found = "it is empty"
    elif header[:16] != _MAGIC:
        found = "it is not a SQLite database"
    else:
        found = "it is another program's database"
    if place.epoch_file(path).exists():
        raise LedgerCorrupt(
            f"{subject}: {found}, and a ledger was here",
            "keep the file, and restore a backup with 'remit ledger restore'",
            details,
        )
    raise StoreUnavailable(
        f"{subject}: {found}, expected a ledger",
        "name a ledger's file, or make one with 'remit init'",
        details,
        code=Code.STORE_REFUSED,
    )


def connect(path: Path, *, readonly: bool = False, create: bool = False) -> apsw.Connection:
    """A connection with the ledger's settings; its errors are SQLite's own."""
    flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    if create:
        flags |= apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags, statementcachesize=200)
    try:
        connection.set_busy_timeout(2000)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        settings = _READING if readonly else _SETTINGS
        if create:
            settings = f"PRAGMA page_size = {PAGE_SIZE}; {settings}"
        for _ in connection.execute(settings):
            pass  # a PRAGMA that answers holds back the ones after it until it is read
    except BaseException:
        connection.close()
        raise
    return connection


def create(path: Path, ledger_id: str, readings: Readings, mounts: str) -> None:
    """Make an empty ledger under a name that is free; whole or not at all."""
    if not path.parent.is_dir():
        raise StoreUnavailable(
            f"cannot create {path}: its folder is not there",
            "make the folder",
            {"path": str(path)},
            code=Code.STORE_REFUSED,
        )
    place.demand_local(path.parent, mounts)
    place.demand_free(path, "create")
    temporary = Path(f"{path}.new.{os.getpid()}")
    try:
        with named("create", str(path)):
            connection = connect(temporary, create=True)
            try:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                migrate(connection)
                anchor = first_anchor(readings)
                connection.execute(
                    q("begin_ledger"),
                    (ledger_id, anchor.boot_id, anchor.boot_us, anchor.ledger_us),
                )
            finally:
                connection.close()
        place.write_epoch(path, ledger_id, 0)
        place.publish(temporary, path, "create")
    finally:
        sweep(temporary)


def sweep(temporary: Path) -> None:
    """Remove an unfinished database and what SQLite put beside it.

    What is not there is not removed: a disk that cannot be written would complain of the attempt,
    and that would hide why nothing was made.
    """
    for ending in ("", *place.SIDECARS):
        left = Path(f"{temporary}{ending}")
        if os.path.lexists(left):
            left.unlink(missing_ok=True)


def migrate(connection: apsw.Connection) -> None:
    """Bring a database to today's schema, each step in a transaction of its own.

    With the last step the rows of an older ledger become what today's fold makes of its events.
    """
    (version,) = next(connection.execute("PRAGMA user_version"))
    defensive = connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)  # a step may change a constraint in place
    try:
        for number, file in enumerate(MIGRATIONS[version:], version + 1):
            with connection:
                connection.execute(file.read_text("utf-8"))
                if version and number == SCHEMA_VERSION:
                    _rows_as_today(connection)
                connection.execute(f"PRAGMA user_version = {number}")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, defensive)


def _rows_as_today(connection: apsw.Connection) -> None:
    from remit.stores.codec import recorded_of
    from remit.stores.sqlite.rebuild import expected, replace
    from remit.stores.upgrading import CHUNK, folded

    def events() -> Iterator[Recorded]:
        after = 0
        while rows := _all(connection, "events", after, CHUNK):
            yield from map(recorded_of, rows)
            after = rows[-1][1]

    facts = folded(events())
    if facts is not None:
        [(ledger_id,)] = _all(connection, "whose")
        replace(connection, ledger_id, expected(facts.items()))


def _all(connection: apsw.Connection, name: str, *values: int) -> list[Any]:
    return connection.execute(q(name), values).fetchall()


def demand_schema(path: Path, lock: WriterLock) -> None:
    """Refuse a newer schema, and migrate an older one behind the writer's lock."""
    with named("open", str(path)):
        connection = connect(path, readonly=True)
        try:
            (version,) = next(connection.execute("PRAGMA user_version"))
        finally:
            connection.close()
    if version > SCHEMA_VERSION:
        raise StoreUnavailable(
            f"cannot open {path}: found schema {version}, expected {SCHEMA_VERSION} or older",
            "use the version of remit that wrote it, or a newer one",
            {"path": str(path), "schema": version},
            code=Code.LEDGER_TOO_NEW,
        )
    if version < SCHEMA_VERSION:
        with lock.held(), named("migrate", str(path)):
            connection = connect(path)
            try:
                migrate(connection)
            finally:
                connection.close()
