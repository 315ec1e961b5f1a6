"""A line to the server: statements sent one behind the other, their answers fetched together.

A transaction is short and the way to the server is long, so a write sends its events and rows while it
still encodes what comes next, and waits once, for all answers (libpq's pipeline mode). ``send`` does
not wait; ``settle`` does, and raises what the first statement that failed was answered. After a
failure the server skips what stands behind it, and nothing but ROLLBACK helps.

A statement is prepared on a session the second time it is sent there, and never behind a pooler,
which may hand the session on. psycopg's own preparing stays off: it forgets all with each ROLLBACK.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final

import psycopg
from psycopg import pq
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq.abc import PGresult
from psycopg.waiting import Ready, Wait

from remit.stores.postgres.queries import Statement

FLUSHED: Final = 8_192
"""From how many bytes on statements are worth a message of their own before they are waited for."""

_BINARY: Final = 1
_ERRORS: Final = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE)
_SKIPPED: Final = pq.ExecStatus.PIPELINE_ABORTED
_SYNC: Final = pq.ExecStatus.PIPELINE_SYNC
_FORMATS: Final = [[pq.Format.BINARY] * n for n in range(40)]

Waiting = Generator[Wait, Ready | int, None]


class Session(psycopg.Connection[tuple[Any, ...]]):
    """A connection with its line. ``prepares`` is False behind a pooler."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.prepares = True
        self.line = Line(self)


class Line:
    """What is sent on one session, and which statements are prepared on it."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pgconn = session.pgconn
        self._used: set[bytes] = set()
        self._prepared: set[bytes] = set()
        self._transformer = Transformer.from_context(session)
        self._sent: list[bytes] = []  # the name that is prepared, or nothing where rows are due
        self._preparing: set[bytes] = set()
        self._unflushed = 0
        self._results: list[PGresult] = []

    @property
    def pending(self) -> bool:
        """Whether answers are still to be fetched."""
        return bool(self._sent)

    def rows(self, statement: Statement, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Send a statement and wait for its rows; everything sent before is settled with it."""
        self.send(statement, parameters)
        return self._rows(self._settled()[-1])

    def send(self, statement: Statement, parameters: Sequence[Any]) -> None:
        """Send a statement behind those before, without waiting for an answer."""
        values = [
            encode(value) for encode, value in zip(statement.encoders, parameters, strict=True)
        ]
        pgconn, formats = self._pgconn, _FORMATS[len(values)]
        if not self._sent:
            pgconn.enter_pipeline_mode()
        if self._is_prepared(statement):
            pgconn.send_query_prepared(statement.name, values, formats, _BINARY)
        else:
            pgconn.send_query_params(statement.text, values, None, formats, _BINARY)
        self._sent.append(b"")
        self._unflushed += sum([len(value) for value in values if value])
        if self._unflushed > FLUSHED:
            self._unflushed = 0
            if pgconn.flush():
                self._session.wait(self._flushing())

    def settle(self) -> list[int]:
        """Wait for all answers; how many rows each statement met, in the order of sending."""
        return [result.command_tuples or 0 for result in self._settled()]

    def simple(self, text: bytes) -> tuple[bytes, list[tuple[Any, ...]]]:
        """Statements without parameters in one message: the last one's status and rows."""
        if self._sent:
            self._settled()
        self._results = []
        self._pgconn.send_query(text)
        self._session.wait(self._answering())
        results, self._results = self._results, []
        self._demand_done(results)
        return results[-1].command_status or b"", self._rows(results[-1])

    def abandon(self) -> None:
        """Leave whatever was begun; a session that does not come clean is closed."""
        try:
            if self._sent:
                self._settled()
            elif self._pgconn.pipeline_status != pq.PipelineStatus.OFF:
                self._pgconn.exit_pipeline_mode()
        except psycopg.Error:
            if self._pgconn.pipeline_status != pq.PipelineStatus.OFF:
                self._session.close()

    def _rows(self, result: PGresult) -> list[tuple[Any, ...]]:
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)

    def _is_prepared(self, statement: Statement) -> bool:
        name = statement.name
        if name in self._prepared or name in self._preparing:
            return True
        if not self._session.prepares or name not in self._used:
            self._used.add(name)
            return False
        self._pgconn.send_prepare(name, statement.text)
        self._sent.append(name)
        self._preparing.add(name)
        return True

    def _settled(self) -> list[PGresult]:
        """The answers of all statements that were sent, in order, but for preparations."""
        sent, self._sent, self._results = self._sent, [], []
        self._preparing.clear()
        self._unflushed = 0
        pgconn = self._pgconn
        try:
            pgconn.pipeline_sync()
            self._session.wait(self._answering())
        except psycopg.OperationalError:
            self._demand_done(self._results)  # the server's last words say more than a lost line
            raise
        pgconn.exit_pipeline_mode()
        results, self._results = self._results, []
        for name, result in zip(sent, results, strict=False):
            if name and result.status == pq.ExecStatus.COMMAND_OK:
                self._prepared.add(name)
        self._demand_done(results)
        return [result for name, result in zip(sent, results, strict=True) if not name]

    def _demand_done(self, results: list[PGresult]) -> None:
        for result in results:
            if result.status in _ERRORS:
                raise error_from_result(result, self._session.info.encoding)

    def _flushing(self) -> Waiting:
        """Send all that is due; what arrives meanwhile is taken in, or both sides would wait."""
        while True:
            ready = yield Wait.RW
            if not ready:
                continue
            if ready & Ready.R:
                self._pgconn.consume_input()
            if ready & Ready.W and not self._pgconn.flush():
                return

    def _answering(self) -> Waiting:
        """Take answers in until the last: after a pipeline its end, else nothing more to come."""
        pgconn, results = self._pgconn, self._results
        piped = pgconn.pipeline_status != pq.PipelineStatus.OFF
        due = pgconn.flush()
        while True:
            ready = yield Wait.RW if due else Wait.R
            if not ready:
                continue
            if due and ready & Ready.W:
                due = pgconn.flush()
            if not ready & Ready.R:
                continue
            pgconn.consume_input()
            ended = False
            while not pgconn.is_busy():
                result = pgconn.get_result()
                if result is None:
                    if not piped:
                        return
                    if ended:
                        break  # the next answer is not there yet
                    ended = True
                    continue
                ended = False
                if result.status == _SYNC:
                    return
                results.append(result)
