"""The feed: every event of a ledger in the order of seq, from any position on, nothing left out.

Events come in pages, each read in a short snapshot of its own, and each event brings the position after
it: ledger, seq, digest and epoch. Whoever keeps the position of the last event that was dealt with
goes on there later. Every page looks first whether the event at its position is still the one that
was seen, so a ledger that was put back, cut or forked meanwhile is refused, never spliced on. (That
all before it is unchanged too, a noted root tells, not one event's digest.) One
writer numbers events and a commit is seen whole, so there are no gaps to wait for; one that is there
all the same is damage.

``follow`` goes on for ever, and outlives a store that is away for a time. It can neither sleep nor
print: the caller brings both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from remit.core.events import EpochAdopted, Recorded
from remit.core.refusals import Code
from remit.ports import LedgerCorrupt, ReadTx, RemitError, Store, StoredEvent

PAGE: Final = 500
"""Events that one snapshot reads."""

SOONEST_S: Final = 0.02
"""How long the first look for news waits after there was some, in seconds."""

LATEST_S: Final = 0.25
"""How long a look waits at most where nothing happens: each wait is twice the one before."""

AWAY_S: Final = 5.0
"""How long a look waits at most while the store is away."""

_AWAY: Final = (Code.STORE_UNAVAILABLE, Code.LEDGER_MISSING)


@dataclass(frozen=True, slots=True)
class Position:
    """The place just after an event, and the ledger's epoch there.

    ``seq`` is 0 and ``digest`` (hexadecimal) empty before the first event.
    """

    ledger_id: str
    seq: int
    digest: str
    epoch: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An event, and the position after it."""

    recorded: Recorded
    after: Position


def position_at(store: Store, seq: int) -> Position:
    """The position just after an event. Raises ``CURSOR_AHEAD`` where the ledger ends before it."""
    with store.read() as tx:
        if tx.head().seq < seq:
            raise _ahead(store, seq, tx.head().seq)
        digest = _digest(tx, seq)
    return Position(store.ledger_id, seq, digest, _epoch(store, seq))


def newest(store: Store) -> Position:
    """The position after all that there is."""
    with store.read() as tx:
        seq = tx.head().seq
    return position_at(store, seq)


def demand(store: Store, kept: Position) -> None:
    """Refuse a position that is none of this ledger's.

    Raises ``CURSOR_OF_ANOTHER`` for another ledger's, ``CURSOR_AHEAD`` where the ledger ends before
    it, and ``CURSOR_DIVERGED`` where another event is there or another epoch was adopted before.
    """
    if kept.ledger_id != store.ledger_id:
        raise _refused(
            store,
            kept,
            f"found the ledger {store.ledger_id}, expected {kept.ledger_id}, where it was kept",
            Code.CURSOR_OF_ANOTHER,
        )
    found = position_at(store, kept.seq)
    if found.digest != kept.digest:
        raise _diverged(store, kept)
    if found.epoch != kept.epoch:
        raise _refused(
            store,
            kept,
            f"event {kept.seq} is of epoch {found.epoch}, expected {kept.epoch}",
            Code.CURSOR_DIVERGED,
        )


def page(store: Store, after: Position, limit: int = PAGE) -> list[Entry]:
    """The events that follow a position, at most so many; none where there is nothing new.

    Raises ``CURSOR_AHEAD`` and ``CURSOR_DIVERGED`` where the ledger no longer holds the position's
    own event, and ``LedgerCorrupt`` for a gap.
    """
    with store.read() as tx:
        if tx.head().seq < after.seq:
            raise _ahead(store, after.seq, tx.head().seq)
        stored = tx.stored(max(after.seq - 1, 0), limit + (after.seq > 0))
    if after.seq:
        if not stored or stored[0].seq != after.seq or stored[0].digest.hex() != after.digest:
            raise _diverged(store, after)
        stored = stored[1:]
    return _entries(store, after, stored)


def entries(store: Store, after: Position) -> Iterator[Entry]:
    """All events after a position, up to the newest one of now; ends there."""
    with store.read() as tx:
        head = tx.head().seq
    while after.seq < head:
        for entry in page(store, after, min(PAGE, head - after.seq)):
            after = entry.after
            yield entry


def follow(
    store: Store,
    after: Position,
    *,
    wait: Callable[[float], None],
    again: Callable[[], Store],
    told: Callable[[RemitError | None], None],
) -> Iterator[list[Entry]]:
    """Pages of events as they come, for ever; each page is at most ``PAGE`` events and never empty.

    ``wait`` waits for so many seconds. While the store is away it is opened with ``again``, over and
    over; ``told`` hears of the first failure of such a time, and None when it is over. What else is
    wrong is raised, as by ``page``.
    """
    pause, away = SOONEST_S, False
    while True:
        try:
            if away:
                store = again()
                demand(store, after)
            found = page(store, after)
        except RemitError as trouble:
            if trouble.code not in _AWAY:
                raise
            if not away:
                told(trouble)
                away, pause = True, SOONEST_S
            wait(pause)
            pause = min(2 * pause, AWAY_S)
            continue
        if away:
            told(None)
            away, pause = False, SOONEST_S
        if found:
            after, pause = found[-1].after, SOONEST_S
            yield found
        else:
            wait(pause)
            pause = min(2 * pause, LATEST_S)


def kept_bytes(position: Position) -> bytes:
    """A position as it is kept: one line of JSON."""
    return msgspec.json.encode(position) + b"\n"


def kept_position(data: bytes) -> Position:
    """The position that such a line holds. Raises ``ValueError`` for anything else."""
    found: Any = msgspec.json.decode(data, type=Position, strict=True)
    if not (found.ledger_id and found.seq >= 0 and found.epoch >= 0):
        raise ValueError("a position without a ledger, or before the first event")
    assert isinstance(found, Position)
    return found


def _digest(tx: ReadTx, seq: int) -> str:
    if seq == 0:
        return ""
    [stored] = tx.stored(seq - 1, 1)
    return stored.digest.hex()


def _epoch(store: Store, seq: int) -> int:
    """The epoch just after an event: what the ledger's own stream adopted last, up to it."""
    epoch = version = 0
    while True:
        with store.read() as tx:
            found = tx.stream("ledger", version, PAGE)
        for recorded in found:
            if recorded.seq > seq:
                return epoch
            if isinstance(recorded.event, EpochAdopted):
                epoch = recorded.event.epoch
        if len(found) < PAGE:
            return epoch
        version = found[-1].version


def _entries(store: Store, after: Position, stored: list[StoredEvent]) -> list[Entry]:
    found: list[Entry] = []
    for event in stored:
        if event.seq != after.seq + 1:
            raise LedgerCorrupt(
                f"cannot follow {store.url}: found event {event.seq} after event {after.seq}",
                "run 'remit ledger verify' to see what else is missing",
                {"seq": after.seq + 1, "found": event.seq},
            )
        recorded = store.codec.recorded(event)
        adopted = recorded.event.epoch if isinstance(recorded.event, EpochAdopted) else after.epoch
        after = Position(after.ledger_id, event.seq, event.digest.hex(), adopted)
        found.append(Entry(recorded, after))
    return found


def _ahead(store: Store, seq: int, head: int) -> RemitError:
    return RemitError(
        f"cannot go on after event {seq} of {store.url}: found event {head} as the newest; the"
        " ledger was put back or cut, or the position is another ledger's",
        "find out what became of the ledger; then begin after an event that it has",
        {"seq": seq, "head": head},
        code=Code.CURSOR_AHEAD,
    )


def _diverged(store: Store, after: Position) -> RemitError:
    return _refused(
        store, after, f"another event {after.seq} is there than was seen", Code.CURSOR_DIVERGED
    )


def _refused(store: Store, kept: Position, found: str, code: Code) -> RemitError:
    return RemitError(
        f"cannot go on after event {kept.seq} of {store.url}: {found}",
        "find out which ledger is meant, and whether it was put back; then begin anew",
        {"seq": kept.seq, "ledger_id": kept.ledger_id, "found_ledger_id": store.ledger_id},
        code=code,
    )
