"""Connections to the server: made when needed, kept while idle, never more than the URL allows.

A connection that fails is dropped with all idle ones, since what broke it (a restart, a failover, a
pooler that went away) broke them too; whoever comes next connects anew and gets the server's own
answer at once, not a pool's time-out. A pooler in transaction mode may stand in between: then
nothing is left set on a connection between two transactions. Otherwise what every transaction needs is
said once, when the connection is made.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from typing import Final

import psycopg

from remit.core.refusals import Code
from remit.ports import StoreUnavailable
from remit.stores.postgres.address import Address
from remit.stores.postgres.failures import failure
from remit.stores.postgres.line import Session

OLDEST: Final = 150_000
"""The oldest server that will do, as libpq numbers it."""


def connect(address: Address, operation: str) -> Session:
    """A new connection. Raises a typed error where there is none to be had, or the server is old."""
    try:
        connection = Session.connect(**address.parameters, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise failure(operation, address, error) from None
    connection.prepares = not address.pooled
    found = connection.info.server_version
    if found < OLDEST:
        connection.close()
        raise StoreUnavailable(
            f"cannot {operation} {address.shown}: the server is PostgreSQL"
            f" {found // 10_000}, expected {OLDEST // 10_000} or later",
            "use a newer server",
            {"url": address.shown, "server_version": found},
            code=Code.STORE_REFUSED,
        )
    return connection


class Connections:
    """The connections of one store, for any number of threads.

    ``opening`` is said to each new one.
    """

    def __init__(self, address: Address, wait_ms: int, opening: bytes) -> None:
        self._address = address
        self._opening = opening
        self._wait_ms = wait_ms
        self._idle: deque[Session] = deque()
        self._free = threading.BoundedSemaphore(address.pool)
        self._closed = False

    def take(self, operation: str) -> tuple[Session, bool]:
        """A connection for one transaction, and whether it is new."""
        start = time.monotonic()
        if not self._free.acquire(timeout=self._wait_ms / 1000):
            waited = int((time.monotonic() - start) * 1000)
            raise StoreUnavailable(
                f"cannot {operation} {self._address.shown}: waited {waited} ms for one of this"
                f" process's {self._address.pool} connections",
                "end transactions sooner, or allow more with pool=N in the URL",
                {"url": self._address.shown, "waited_ms": waited},
            )
        try:
            return self._idle.pop(), False
        except IndexError:
            pass
        try:
            return self._made(operation), True
        except BaseException:
            self._free.release()
            raise

    def _made(self, operation: str) -> Session:
        connection = connect(self._address, operation)
        if self._opening:
            try:
                connection.line.simple(self._opening)
            except psycopg.Error as error:
                connection.close()
                raise failure(operation, self._address, error) from error
        return connection

    def give(self, connection: Session) -> None:
        """Hand a connection back after a transaction; one that is broken or busy is closed."""
        idle = psycopg.pq.TransactionStatus.IDLE
        if self._closed or connection.closed or connection.info.transaction_status != idle:
            with suppress(psycopg.Error):
                connection.close()
        else:
            self._idle.append(connection)
        self._free.release()

    def drop_idle(self) -> None:
        """Close what is idle."""
        while self._idle:
            with suppress(psycopg.Error, IndexError):
                self._idle.pop().close()

    def close(self) -> None:
        """Close what is idle now and what is handed back later."""
        self._closed = True
        self.drop_idle()
