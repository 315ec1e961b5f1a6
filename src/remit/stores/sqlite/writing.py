"""The one writer's transaction: events in, rows over what was loaded, and the clock kept.

What a trigger refused is explained from what the database holds. A query inside it sees what it
wrote; whoever leaves it without an exception commits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import apsw

from remit.ports import Blob, Change, ClockJump, Head
from remit.stores import misuse
from remit.stores.clock import Anchor, Clock, jump
from remit.stores.sqlite.queries import q
from remit.stores.sqlite.rebuild import Rows, replace
from remit.stores.sqlite.rows import write_changes
from remit.stores.sqlite.transaction import SqliteRead

if TYPE_CHECKING:  # what encodes events is loaded by the first transaction that writes one
    from remit.core.events import Recorded

_SQL: Final = {
    name: q(name)
    for name in ("append", "erase_blob", "keep_clock", "put_blob", "stream_version")
}  # fmt: skip


class SqliteWrite(SqliteRead):
    """The one writer's transaction; see ``remit.ports.WriteTx``."""

    def __init__(
        self,
        connection: apsw.Connection,
        ledger_id: str,
        clock: Clock,
        epoch_known: int,
        step: Callable[[str], None],
    ) -> None:
        super().__init__(connection, ledger_id, clock)
        self._step = step
        self._epoch_known = max(epoch_known, self.epoch)
        self._dirty = False
        self._jumped = False
        self._importing = False
        self.erased = False
        self.adopted: int | None = None

    def import_into(self, url: str) -> None:
        """Take another ledger's past: an epoch in it is its own, and this is a copy to be adopted."""
        if self._head.seq and not self.adoption_required:
            raise misuse.in_use(url, self._head.seq)
        self._importing = self._dirty = True
        self._epoch_known = self.epoch

    def clock_jump(self) -> ClockJump | None:
        """What a ``ClockJumped`` event has to record now."""
        return None if self._jumped else jump(self.anchor, self.moment)

    def put_blobs(self, blobs: Sequence[Blob]) -> None:
        """Keep blobs; one that is there already is left as it is."""
        self._dirty = True
        self._connection.executemany(
            _SQL["put_blob"], [(self._ledger_id, b.digest, b.salt, b.data) for b in blobs]
        )

    def erase_blobs(self, digests: Sequence[str]) -> None:
        """Erase salt and bytes for good, in the file as well as in the table."""
        self._dirty = self.erased = True
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.executemany(
            _SQL["erase_blob"], [(self._ledger_id, bytes.fromhex(d)) for d in digests]
        )

    def append(self, events: Sequence[Recorded]) -> None:
        """Append events whose seq continues the head without a gap."""
        from remit.stores.codec import columns_of

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
            self._connection.executemany(_SQL["append"], rows)
        except apsw.ConstraintError as error:
            self._explain(events, error)
        self._head = Head(seq, time)
        self._note(events)

    def write(self, changes: Sequence[Change]) -> None:
        """Write rows, compare-and-set on what was loaded."""
        self._dirty = True
        write_changes(self._connection, self._ledger_id, changes)
        self._step("after rows")

    def replace_rows(self, rows: Rows) -> None:
        """Put freshly folded rows in the place of all that are there."""
        self._dirty = True
        replace(self._connection, self._ledger_id, rows)

    def finish(self) -> bool:
        """Keep the clock with what was written; False where nothing was.

        One that says the same already is left: its page is one of some ten that a commit writes.
        """
        if not self._dirty:
            return False
        anchor, moment = self.anchor, self.moment
        ledger_us = max(self.now(), anchor.ledger_us)
        offset_us = moment.wall_us - ledger_us if self._jumped else anchor.offset_us
        epoch = self.epoch if self.adopted is None else self.adopted
        required = self._importing or (self.adoption_required and self.adopted is None)
        known = (epoch, required) == (self.epoch, self.adoption_required)
        if known and anchor.says_so(Anchor(moment.boot_id, moment.boot_us, ledger_us, offset_us)):
            return True
        before = self._connection.total_changes()
        self._run(
            _SQL["keep_clock"],
            (
                moment.boot_id, moment.boot_us, ledger_us, offset_us, epoch, int(required),
                self._ledger_id, anchor.ledger_us, self.epoch,
            ),
        )  # fmt: skip
        if self._connection.total_changes() - before != 1:
            raise misuse.mismatch(("store", "state"), "another clock", "the one that was read")
        return True

    def _note(self, events: Sequence[Recorded]) -> None:
        from remit.core.events import ClockJumped, EpochAdopted

        for recorded in events:
            event = recorded.event
            if event.__class__ is ClockJumped:
                self._jumped = True
            elif event.__class__ is EpochAdopted:
                epoch: int = event.epoch
                if epoch <= self._epoch_known:
                    raise misuse.epoch_too_low(self._ledger_id, epoch, self._epoch_known)
                self.adopted = self._epoch_known = epoch

    def _explain(self, events: Sequence[Recorded], error: apsw.Error) -> None:
        """Name the event whose stream version does not fit, or pass the error on."""
        versions: dict[str, int] = {}
        last = self._head.seq
        for event in events:
            if event.stream not in versions:
                where = (self._ledger_id, event.stream, last)
                rows = self._run(_SQL["stream_version"], where)
                versions[event.stream] = next(rows)[0]
            versions[event.stream] += 1
            if event.version != versions[event.stream]:
                raise misuse.stream_gap(
                    event.stream, event.version, versions[event.stream]
                ) from error
        raise error
