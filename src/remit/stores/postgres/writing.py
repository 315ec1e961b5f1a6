"""The one writer's transaction: events in, rows over what was loaded, and the clock kept.

Events go in by one INSERT with arrays, or by COPY where there are many; either way the database
looks at the whole batch once. What a trigger refused cannot be looked at within the same transaction, so
what was wrong is found out after it was rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from psycopg import errors

from remit.core.events import EpochAdopted, Recorded
from remit.ports import Blob, Change, ClockJump, Head
from remit.stores import misuse
from remit.stores.clock import jump
from remit.stores.codec import columns_of
from remit.stores.postgres.arrays import columns_of_rows
from remit.stores.postgres.clock import ServerClock
from remit.stores.postgres.connections import Connection
from remit.stores.postgres.queries import q
from remit.stores.postgres.rows import replace_rows, write_changes
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.tables import Rows

COPY_FROM: Final = 64
"""From how many events on COPY is faster than one INSERT; measured with tools/measure_postgres."""

_TYPES: Final = ("text", "int8", "text", "int8", "text", "text", "text", "int8", "bytea", "bytea",
                 "text", "bytea", "text", "text")  # fmt: skip
_SQL: Final = {
    name: q(name)
    for name in ("append", "copy_events", "put_blobs", "erase_blobs", "keep_clock",
                 "stream_versions")
}  # fmt: skip


class PostgresWrite(PostgresRead):
    """The one writer's transaction; see ``remit.ports.WriteTx``."""

    def __init__(
        self,
        connection: Connection,
        row: tuple[Any, ...],
        clock: ServerClock,
        place: str,
        step: Callable[[str], None],
    ) -> None:
        super().__init__(connection, row, clock)
        self._here = place
        self._step = step
        self._epoch_known = self.epoch
        self._dirty = False
        self._jumped = False
        self._importing = False
        self._versions: dict[str, int] = {}
        self.adopted: int | None = None

    def import_into(self, url: str) -> None:
        """Take another ledger's past: an epoch in it is its own, and this is a copy to be adopted."""
        required = self.adoption_required or self.place != self._here
        if self._head.seq and not required:
            raise misuse.in_use(url, self._head.seq)
        self._importing = self._dirty = True

    def clock_jump(self) -> ClockJump | None:
        """What a ``ClockJumped`` event has to record now."""
        return None if self._jumped else jump(self.anchor, self.moment)

    def put_blobs(self, blobs: Sequence[Blob]) -> None:
        """Keep blobs; one that is there already is left as it is."""
        self._dirty = True
        digests, salts, data = ([getattr(b, n) for b in blobs] for n in ("digest", "salt", "data"))
        self._connection.execute(_SQL["put_blobs"], (self._ledger_id, digests, salts, data))

    def erase_blobs(self, digests: Sequence[str]) -> None:
        """Erase salt and bytes; the next vacuum takes them off the disk."""
        self._dirty = True
        asked = [bytes.fromhex(digest) for digest in digests]
        self._connection.execute(_SQL["erase_blobs"], (self._ledger_id, asked))

    def append(self, events: Sequence[Recorded]) -> None:
        """Append events whose seq continues the head without a gap."""
        rows = []
        seq, time = self._head.seq, self._head.time
        for event in events:
            seq += 1
            if event.seq != seq:
                raise misuse.gap(event.seq, seq)
            if event.at < time:
                raise misuse.backwards(seq, event.at, time)
            time = event.at
            rows.append(columns_of(self._ledger_id, event))
        if not rows:
            return
        self._dirty = True
        self._step("before events")
        try:
            self._insert(rows)
        except (errors.CheckViolation, errors.UniqueViolation) as error:
            self._explain(events, error)
        self._head = Head(seq, time)
        for event in events:
            self._versions[event.stream] = event.version
            self._note(event)

    def _insert(self, rows: list[Any]) -> None:
        if len(rows) < COPY_FROM:
            self._connection.execute(_SQL["append"], columns_of_rows(rows))
            return
        cursor = self._connection.cursor()
        with cursor.copy(_SQL["copy_events"]) as copy:
            copy.set_types(_TYPES)
            for row in rows:
                copy.write_row(row)

    def write(self, changes: Sequence[Change]) -> None:
        """Write rows, compare-and-set on what was loaded."""
        self._dirty = True
        write_changes(self._connection, self._ledger_id, changes)
        self._step("after rows")

    def replace_rows(self, rows: Rows) -> None:
        """Put freshly folded rows in the place of all that are there."""
        self._dirty = True
        replace_rows(self._connection, self._ledger_id, rows)

    def finish(self) -> bool:
        """Keep the clock with what was written; False where nothing was."""
        if not self._dirty:
            return False
        anchor, moment = self.anchor, self.moment
        ledger_us = max(self.now(), anchor.ledger_us)
        offset_us = moment.wall_us - ledger_us if self._jumped else anchor.offset_us
        epoch = self.epoch if self.adopted is None else self.adopted
        adopted = self.adopted is not None and not self._importing
        required = self._importing or (self.adoption_required and not adopted)
        place = self._here if adopted else self.place
        cursor = self._connection.execute(
            _SQL["keep_clock"],
            (
                moment.boot_id, moment.boot_us, ledger_us, offset_us, epoch, required, place,
                self._ledger_id, anchor.ledger_us, self.epoch,
            ),
        )  # fmt: skip
        if cursor.rowcount != 1:
            raise misuse.mismatch(("store", "state"), "another clock", "the one that was read")
        return True

    def _note(self, event: Recorded) -> None:
        if type(event.event).__name__ == "ClockJumped":
            self._jumped = True
        elif isinstance(event.event, EpochAdopted):
            epoch = event.event.epoch
            if epoch <= self._epoch_known:
                raise misuse.epoch_too_low(self._ledger_id, epoch, self._epoch_known)
            self.adopted = self._epoch_known = epoch

    def _explain(self, events: Sequence[Recorded], error: errors.IntegrityError) -> None:
        """Name the event whose stream version does not fit, or pass the error on."""
        self._connection.execute("ROLLBACK", prepare=False)
        streams = list(dict.fromkeys(event.stream for event in events))
        rows = self._run(_SQL["stream_versions"], (self._ledger_id, streams))
        versions = {**dict(rows), **self._versions}
        for event in events:
            versions[event.stream] += 1
            if event.version != versions[event.stream]:
                raise misuse.stream_gap(
                    event.stream, event.version, versions[event.stream]
                ) from error
        raise error
