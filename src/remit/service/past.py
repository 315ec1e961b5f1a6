"""The past: a ledger as it was after any event, by folding it again up to there (INV-21).

The events up to the asked seq are folded into a fresh memory store, and the same reading functions
run on it. There is no second way to say what something looked like, and nothing of the present can
leak into the answer: blobs are the exception, since erased text is erased for the past as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from remit.core.evolve import evolve
from remit.core.facts import Fact, Key
from remit.core.moments import Standing, apply
from remit.core.refusals import Code
from remit.ports import Change, ReadTx, RemitError, Store

CHUNK: Final = 5_000
"""Events that are read at once."""


class PastRead:
    """A snapshot of the past whose texts are looked up in the present store."""

    def __init__(self, past: ReadTx, present: ReadTx) -> None:
        self._past = past
        self._present = present

    def __getattr__(self, name: str) -> object:
        return getattr(self._past, name)

    def blobs(self, digests: list[str]) -> dict[str, bytes]:
        """Bytes of blobs that are still kept."""
        return self._present.blobs(digests)


@contextmanager
def as_of(tx: ReadTx, seq: int, memory: Callable[[str], Store]) -> Iterator[ReadTx]:
    """A snapshot as it was just after event ``seq``.

    ``memory`` makes an empty store to fold into. Raises ``NOT_FOUND`` where the ledger has no such
    event yet.
    """
    head = tx.head().seq
    if not 0 <= seq <= head:
        raise RemitError(
            f"cannot read the ledger as of seq {seq}: it has events 1 to {head}",
            f"give a seq from 0 to {head} with --at",
            {"at": seq, "head": head},
            code=Code.NOT_FOUND,
        )
    stored = tx.stored(0, 1)
    store = memory(stored[0].ledger_id if stored else "empty")
    facts: dict[Key, Fact] = {}
    standing = Standing()

    def get(kind: str, name: str) -> Fact | None:
        return facts.get((kind, name))

    done = 0
    with store.write() as writer:
        while done < seq:
            chunk = tx.events(done, min(CHUNK, seq - done))
            writer.append(chunk)
            for recorded in chunk:
                apply(facts, evolve(get, recorded), standing, recorded.seq)
            done = chunk[-1].seq
        writer.write([Change(key, None, fact) for key, fact in facts.items()])
    try:
        with store.read() as past:
            yield PastRead(past, tx)  # type: ignore[misc]  # every other method is the past's own
    finally:
        store.close()
