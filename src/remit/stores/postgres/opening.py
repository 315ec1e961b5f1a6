"""Opening a ledger in a database, and making one there.

Whatever stands behind the URL (no server, a wrong password, no database, another program's database,
an old server, a newer schema, no ledger or several), the answer is one typed error in one line that says
what was found and what to do, and holds no password.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote

import psycopg

from remit.core.events import Recorded
from remit.core.facts import Fact, Key
from remit.core.refusals import Code
from remit.ports import ReadTx, RemitError, StoreUnavailable
from remit.stores.clock import Machine, Readings
from remit.stores.postgres import schema
from remit.stores.postgres.address import Address, parse_address
from remit.stores.postgres.clock import ServerClock
from remit.stores.postgres.connections import connect
from remit.stores.postgres.failures import failure
from remit.stores.postgres.line import Session
from remit.stores.postgres.queries import q
from remit.stores.postgres.store import WAIT_MS, PostgresStore


def open_store(
    url: str, *, readings: Readings | None = None, wait_ms: int = WAIT_MS
) -> PostgresStore:
    """Open the ledger that a URL names.

    ``readings`` stand in for all clocks in tests, the server's too; ``wait_ms`` bounds each wait for
    a lock or a connection. Raises ``LEDGER_MISSING``, ``STORE_REFUSED``, ``LEDGER_TOO_NEW``,
    ``BAD_INPUT`` (several ledgers and none named) or ``STORE_UNAVAILABLE``.
    """
    address = parse_address(url)
    connection = connect(address, "open")
    try:
        if not schema.installed(connection):
            raise _missing(address, "the database holds no ledgers")
        schema.demand_schema(connection, address)
        ledger_id = _which(connection, address)
        place = _place(connection)
        due = _rows_due(connection, ledger_id)
    except psycopg.Error as error:
        raise failure("open", address, error) from error
    finally:
        connection.close()
    store = PostgresStore(address, ledger_id, place, ServerClock(readings), wait_ms)
    if due:
        _rows_as_today(store, address)
    return store


def create_store(
    url: str, ledger_id: str, *, readings: Readings | None = None, wait_ms: int = WAIT_MS
) -> PostgresStore:
    """Make an empty ledger, with roles and schema where the database has none, and open it.

    The URL's ``ledger``, if it has one, is the id, whatever ``ledger_id`` says. Raises
    ``LEDGER_EXISTS`` where the id is taken, or where the URL names none and the database holds a
    ledger already; ``STORE_REFUSED`` where the login may not.
    """
    address = parse_address(url)
    name = address.ledger or ledger_id
    connection = connect(address, "create")
    try:
        if not schema.installed(connection):
            _demand_unicode(connection, address)
            schema.install(connection, address)
        schema.demand_schema(connection, address)
        _first(connection, address, name, readings or Machine(), told=readings is not None)
    except psycopg.Error as error:
        raise failure("create", address, error) from error
    finally:
        connection.close()
    return open_store(address_with(url, name), readings=readings, wait_ms=wait_ms)


def address_with(url: str, ledger_id: str) -> str:
    """The URL with the ledger named in it; unlike ``shown`` it keeps a password."""
    if parse_address(url).ledger:
        return url
    return f"{url}{'&' if '?' in url else '?'}ledger={quote(ledger_id, safe='')}"


def finish_migrations(url: str) -> list[str]:
    """Run the steps that the last release could not have lived with; returns what was run.

    For the day when no process of that release is left; needs a login that may act as
    ``remit_owner``.
    """
    address = parse_address(url)
    connection = connect(address, "migrate")
    try:
        return schema.migrate(connection, address, post=True)
    finally:
        connection.close()


def _first(
    connection: Session, address: Address, name: str, readings: Readings, *, told: bool
) -> None:
    """The row that makes a ledger."""
    with connection.transaction():
        connection.execute(q("as_writer"))
        present = _ledgers(connection)
        if present and not address.ledger:
            raise _taken(address, f"the database holds {_some(present)} already",
                         "name another with ?ledger=ID in the URL")  # fmt: skip
        row = connection.execute(q("wall")).fetchone()
        assert row is not None
        wall_us = readings.wall_us() if told else row[0]
        clock = (readings.boot_id(), readings.boot_us(), max(0, wall_us))
        made = connection.execute(q("first_state"), (name, _place(connection), *clock))
        if made.rowcount != 1:
            raise _taken(address, f"there is a ledger {name!r}", "give another id")


def _demand_unicode(connection: Session, address: Address) -> None:
    """Refuse a database whose encoding has no place for most letters; SQL_ASCII keeps any bytes."""
    found = connection.info.parameter_status("server_encoding") or ""
    if found in ("UTF8", "SQL_ASCII"):
        return
    raise StoreUnavailable(
        f"cannot create {address.shown}: the database is encoded as {found}, expected UTF8",
        "make one with 'createdb -E UTF8 -T template0 NAME'",
        {"url": address.shown, "server_encoding": found},
        code=Code.STORE_REFUSED,
    )


def _rows_due(connection: Session, ledger_id: str) -> bool:
    with connection.transaction():
        connection.execute(q("as_reader"))
        return connection.execute(q("rows_due"), (ledger_id,)).fetchone() is not None


def _rows_as_today(store: PostgresStore, address: Address) -> None:
    """Make the rows of an older ledger anew, where this login may; else they wait for one that may.

    A crash before the end leaves the note, and the next one does it again.
    """
    from remit.stores.upgrading import CHUNK, folded

    def facts(tx: ReadTx) -> Iterable[tuple[Key, Fact]]:
        def events() -> Iterator[Recorded]:
            after = 0
            while rows := tx.events(after, CHUNK):
                yield from rows
                after = rows[-1].seq

        found = folded(events())
        if found is None:
            raise _Unfoldable
        return found.items()

    try:
        store.rebuild(facts, swap=True)
    except (_Unfoldable, RemitError):
        return  # it is not adopted, not to be written, or not to be folded: 'ledger verify' says which
    connection = connect(address, "migrate")
    try:
        with connection.transaction():
            connection.execute(q("as_writer"))
            connection.execute(q("rows_made"), (store.ledger_id,))
    except psycopg.Error as error:
        raise failure("migrate", address, error) from error
    finally:
        connection.close()


class _Unfoldable(Exception):  # noqa: N818  # says why nothing was swapped
    """There is nothing to fold, or it cannot be folded."""


def _place(connection: Session) -> str:
    row = connection.execute(q("place")).fetchone()
    assert row is not None
    return str(row[0])


def _ledgers(connection: Session) -> list[str]:
    return [row[0] for row in connection.execute(q("ledgers"))]


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (" and more" if len(names) > 5 else "")


def _which(connection: Session, address: Address) -> str:
    """The ledger that the URL means."""
    with connection.transaction():
        connection.execute(q("as_reader"))
        if address.ledger:
            found = connection.execute(q("has_ledger"), (address.ledger,)).fetchone()
            if found is None:
                raise _missing(address, f"the database holds no ledger {address.ledger!r}")
            return address.ledger
        present = _ledgers(connection)
    if len(present) == 1:
        return present[0]
    if not present:
        raise _missing(address, "the database holds no ledgers")
    raise RemitError(
        f"cannot open {address.shown}: the database holds several ledgers ({_some(present)})",
        "name one with ?ledger=ID in the URL",
        {"url": address.shown, "ledgers": present},
        code=Code.BAD_INPUT,
    )


def _missing(address: Address, found: str) -> RemitError:
    return RemitError(
        f"cannot open {address.shown}: {found}",
        "make one with 'remit init --ledger URL', or name another",
        {"url": address.shown},
        code=Code.LEDGER_MISSING,
    )


def _taken(address: Address, found: str, hint: str) -> RemitError:
    return RemitError(
        f"cannot create {address.shown}: {found}", hint, {"url": address.shown},
        code=Code.LEDGER_EXISTS,
    )  # fmt: skip
