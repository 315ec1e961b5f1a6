"""The schema ``remit`` of a database: installed, brought up to date, or refused.

Steps of ``migrations/pre`` widen the schema and leave it fit for the last release; they run when a
ledger is opened, where the login may act as ``remit_owner``. Steps of ``migrations/post`` narrow it, and
run only when asked, once no process of the last release is left. All of them run behind one
advisory lock, each set in one transaction: the schema is never half way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import psycopg

from remit.core.refusals import Code
from remit.ports import StoreUnavailable
from remit.stores.postgres.address import Address
from remit.stores.postgres.failures import failure
from remit.stores.postgres.line import Session
from remit.stores.postgres.queries import BOOTSTRAP, HERE, q

PRE: Final = tuple(sorted((HERE / "migrations" / "pre").glob("*.sql")))
POST: Final = tuple(sorted((HERE / "migrations" / "post").glob("*.sql")))


def name_of(step: Path) -> str:
    """What a step is called in ``remit.migrations``."""
    return f"{step.parent.name}/{step.stem}"


def installed(connection: Session) -> bool:
    """Whether the database has the schema at all."""
    row = connection.execute(q("installed")).fetchone()
    return row is not None and bool(row[0])


def applied(connection: Session) -> set[str]:
    """Which steps the database has had."""
    return {str(row[0]) for row in connection.execute(q("applied"))}


def install(connection: Session, address: Address) -> None:
    """Make roles, schema and tables where they are missing; what is there stays.

    Raises ``STORE_REFUSED`` where the login may not.
    """
    try:
        with connection.transaction():
            connection.execute(q("lock_schema"))
            connection.execute(BOOTSTRAP)
            connection.execute(q("as_owner"))
            done = applied(connection) if installed(connection) else set()
            _run(connection, (*PRE, *POST), done)
    except psycopg.Error as error:
        raise failure("install the schema in", address, error) from error


def migrate(connection: Session, address: Address, *, post: bool) -> list[str]:
    """Run the steps that are missing, ``post`` ones too where asked; returns their names."""
    try:
        with connection.transaction():
            connection.execute(q("lock_schema"))
            connection.execute(q("as_owner"))
            return _run(connection, (*PRE, *POST) if post else PRE, applied(connection))
    except psycopg.Error as error:
        raise failure("migrate", address, error) from error


def _run(connection: Session, steps: tuple[Path, ...], done: set[str]) -> list[str]:
    missing = [step for step in steps if name_of(step) not in done]
    for step in missing:
        connection.execute(step.read_text("utf-8"), prepare=False)
        connection.execute(q("note_migration"), (name_of(step),))
    return [name_of(step) for step in missing]


def demand_schema(connection: Session, address: Address) -> None:
    """Refuse a newer schema, and bring an older one up to date.

    Raises ``LEDGER_TOO_NEW`` where a step is unknown to this version, and ``STORE_REFUSED`` where
    steps are missing that the login may not run.
    """
    done = applied(connection)
    newer = done - {name_of(step) for step in (*PRE, *POST)}
    if newer:
        raise StoreUnavailable(
            f"cannot open {address.shown}: found the schema step {min(newer)}, which this version"
            " does not know",
            "use the version of remit that made it, or a newer one",
            {"url": address.shown, "steps": sorted(newer)},
            code=Code.LEDGER_TOO_NEW,
        )
    if any(name_of(step) not in done for step in PRE):
        migrate(connection, address, post=False)
