"""The memory store itself: who may read and write when.

A reader that begins while a writer is at work gets a copy with the writer's steps undone; a writer
that begins while somebody reads works on a copy. So each sees one moment, and neither waits. Copies
cost time in proportion to the ledger, which models and tests can afford. For a read of the past,
``seed`` takes folded facts and a head, and queries answer as of then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from remit.core.facts import FACT_TYPES, Fact, Key
from remit.core.refusals import Code
from remit.ports import Codec, Difference, Head, ReadTx, RemitError, StoreUnavailable
from remit.stores import codec, misuse
from remit.stores.clock import Anchor, Clock, Machine, Readings, first_anchor
from remit.stores.memory.state import State
from remit.stores.memory.transaction import MemoryRead, MemoryWrite

LIMIT: Final = 100
"""How many differences ``rebuild`` names."""


class MemoryStore:
    """A ledger that lives as long as the process; see ``remit.ports.Store``.

    ``readings`` are the machine's clocks unless a test gives others; ``wait_ms`` bounds the wait
    for another thread's transaction.
    """

    def __init__(
        self, ledger_id: str, *, readings: Readings | None = None, wait_ms: int = 10_000
    ) -> None:
        self.ledger_id = ledger_id
        self.url = "memory:"
        self.codec: Codec = codec
        readings = readings or Machine()
        self._clock = Clock(readings)
        self._anchor = first_anchor(readings)
        self._state = State()
        self._readers: dict[int, int] = {}
        self._mutex = threading.Lock()
        self._writer = threading.Lock()
        self._writing: MemoryWrite | None = None
        self._wait_s = wait_ms / 1000
        self._copied = False
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[MemoryRead]:
        """A snapshot that never blocks the writer."""
        self._demand_open("read")
        with self._mutex:
            state = self._state
            if self._writing is not None:
                state = state.copy()
                for undo in reversed(self._writing.undo):
                    undo(state)
            mark = id(state)
            self._readers[mark] = self._readers.get(mark, 0) + 1
        try:
            yield MemoryRead(state, self._clock.moment(self._anchor))
        finally:
            with self._mutex:
                self._readers[mark] -= 1
                if not self._readers[mark]:
                    del self._readers[mark]

    @contextmanager
    def write(
        self, *, urgent: bool = False, adopting: bool = False, importing: bool = False
    ) -> Iterator[MemoryWrite]:
        """The writer's transaction; here all wait alike, and only an import makes a copy."""
        self._demand_open("write")
        if not self._writer.acquire(timeout=self._wait_s):
            raise StoreUnavailable(
                f"cannot write {self.ledger_id}: waited {self._wait_s} s for another thread",
                "end that thread's transaction",
                {"urgent": urgent, "adopting": adopting},
            )
        try:
            self._demand_adopted(adopting=adopting, importing=importing)
            with self._mutex:
                if id(self._state) in self._readers:
                    self._state = self._state.copy()
                moment = self._clock.moment(self._anchor)
                tx = MemoryWrite(self._state, moment, self.ledger_id, self._anchor)
                self._writing = tx
            try:
                yield tx
                if tx.undo and not tx.adopted:
                    self._demand_adopted(adopting=False, importing=importing)
            except BaseException:
                with self._mutex:
                    for undo in reversed(tx.undo):
                        undo(self._state)
                    self._writing = None
                raise
            with self._mutex:
                if tx.undo:
                    offset_us, now = tx.offset_us(), tx.now()
                    self._anchor = Anchor(moment.boot_id, moment.boot_us, now, offset_us)
                self._writing = None
                self._copied = importing or (self._copied and not tx.adopted)
        finally:
            self._writer.release()

    def epoch_known(self) -> int:
        """The epoch of the ledger."""
        return self._state.epoch

    def seed(self, facts: Iterable[tuple[Key, Fact]], head: Head) -> None:
        """Become the ledger as of a head whose events lie elsewhere; only on an empty store."""
        if self._state.head != Head(0, 0):
            raise misuse.gap(head.seq, 0)
        for key, fact in facts:
            self._state.put(key, fact)
        self._state.base = head

    def rebuild(
        self, fold: Callable[[ReadTx], Iterable[tuple[Key, Fact]]], *, swap: bool
    ) -> list[Difference]:
        """Compare the facts with freshly folded ones, and with ``swap`` put those in place."""
        if not swap:
            with self.read() as tx:
                return _differences(tx, dict(fold(tx)))
        with self.write() as writer:
            fresh = dict(fold(writer))
            found = _differences(writer, fresh)
            if found:
                writer.replace_facts(fresh)
            return found

    def close(self) -> None:
        """Refuse further use; safe to call twice."""
        self._closed = True

    def _demand_adopted(self, *, adopting: bool, importing: bool) -> None:
        held = self._state.head.seq
        if importing and held and not self._copied:
            raise misuse.in_use(self.url, held)
        if self._copied and not (adopting or importing):
            raise RemitError(
                f"cannot write {self.ledger_id}: it was copied, expected a ledger that was adopted",
                "make sure that no other copy is in use, then run 'remit ledger adopt'",
                code=Code.LEDGER_NOT_ADOPTED,
            )

    def _demand_open(self, operation: str) -> None:
        if self._closed:
            raise StoreUnavailable(
                f"cannot {operation} {self.ledger_id}: the store is closed", "open another"
            )


def _differences(tx: MemoryRead, fresh: dict[Key, Fact]) -> list[Difference]:
    present = {key: tx.load([key])[key] for kind in FACT_TYPES for key in _keys(tx, kind)}
    found = []
    for key in sorted(present.keys() | fresh.keys()):
        a, b = _bytes(present.get(key)), _bytes(fresh.get(key))
        if a != b:
            own = key[0] in ("item", "alias", "triage", "lane")
            name = key[1] if own else "/".join(key)
            found.append(Difference(f"{key[0] if own else 'fact'}_rows", name, a, b))
    return found[:LIMIT]


def _keys(tx: MemoryRead, kind: str) -> list[Key]:
    return [(kind, name) for name in tx.names(kind, "", 1 << 62)]


def _bytes(fact: Fact | None) -> str:
    return "no row" if fact is None else codec.encode_fact(fact).decode()
