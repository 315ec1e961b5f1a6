"""The one writer's transaction: events in, rows over what was loaded, and the clock kept.

What is written is sent at once and its answers are waited for at the end, or where something is read:
the server puts events in while the rows behind them are still encoded. The database looks at each
batch of events as a whole. What a trigger refused cannot be looked at within the same transaction, so
what was wrong is found out after it was rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from psycopg import errors

from remit.core.events import EpochAdopted, Recorded
from remit.ports import Blob, Change, ClockJump, Head
from remit.stores import misuse
from remit.stores.clock import jump
from remit.stores.codec import columns_of
from remit.stores.postgres.clock import ServerClock
from remit.stores.postgres.line import Session
from remit.stores.postgres.queries import Statement, statement
from remit.stores.postgres.rows import Batch, replacing
from remit.stores.postgres.transaction import PostgresRead
from remit.stores.tables import Rows

SLICE: Final = 32
"""Events of one statement: enough that its cost is little to each, few enough that the server starts early."""

_SQL: Final = {
    name: statement(name)
    for name in ("append", "put_blobs", "erase_blobs", "keep_clock", "stream_versions")
}

Check = Callable[[int], None]
"""Given how many rows a statement met; raises where they are not those that it had to meet."""


class PostgresWrite(PostgresRead):
    """The one writer's transaction; see ``remit.ports.WriteTx``."""

    def __init__(
        self,
        connection: Session,
        row: tuple[Any, ...],
        clock: ServerClock,
        place: str,
        step: Callable[[str], None],
    ) -> None:
        self._checks: list[Check] = []  # before anything is asked: a jump of the clock asks at once
        super().__init__(connection, row, clock)
        self._here = place
        self._step = step
        self._epoch_known = self.epoch
        self._dirty = False
        self._jumped = False
        self._importing = False
        self._appended: list[Recorded] = []
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
        self._send(_SQL["put_blobs"], (self._ledger_id, digests, salts, data), _any)

    def erase_blobs(self, digests: Sequence[str]) -> None:
        """Erase salt and bytes; the next vacuum takes them off the disk."""
        self._dirty = True
        asked = [bytes.fromhex(digest) for digest in digests]
        self._send(_SQL["erase_blobs"], (self._ledger_id, asked), _any)

    def append(self, events: Sequence[Recorded]) -> None:
        """Append events whose seq continues the head without a gap.

        They are sent in slices, so that the server puts one in while the next is encoded.
        """
        if not events:
            return
        seq, time = self._head.seq, self._head.time
        for event in events:
            seq += 1
            if event.seq != seq:
                raise misuse.gap(event.seq, seq)
            if event.at < time:
                raise misuse.backwards(seq, event.at, time)
            time = event.at
        self._dirty = True
        self._step("before events")
        self._appended += events
        for start in range(0, len(events), SLICE):
            rows = [columns_of(self._ledger_id, e) for e in events[start : start + SLICE]]
            self._send(_SQL["append"], tuple(zip(*rows, strict=True)), _any)
        self._head = Head(seq, time)
        for event in events:
            self._note(event)

    def write(self, changes: Sequence[Change]) -> None:
        """Write rows, compare-and-set on what was loaded."""
        self._dirty = True
        batch = Batch(changes)
        for asked, parameters, check in batch.statements(self._ledger_id, self._run):
            self._send(asked, parameters, check)
        self._step("after rows")

    def replace_rows(self, rows: Rows) -> None:
        """Put freshly folded rows in the place of all that are there."""
        self._dirty = True
        for asked, parameters in replacing(self._ledger_id, rows):
            self._run(asked, parameters)

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
        self._send(
            _SQL["keep_clock"],
            (
                moment.boot_id, moment.boot_us, ledger_us, offset_us, epoch, required, place,
                self._ledger_id, anchor.ledger_us, self.epoch,
            ),
            _clock_met,
        )  # fmt: skip
        self._settle()
        return True

    def _run(self, asked: Statement, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """What is read sees what was written, and that it was written as it should be."""
        self._settle()
        return super()._run(asked, parameters)

    def _send(self, asked: Statement, parameters: Sequence[Any], check: Check) -> None:
        self._line.send(asked, parameters)
        self._checks.append(check)

    def _settle(self) -> None:
        """Wait for all answers, and look at what each statement met."""
        if not self._checks:
            return
        checks, self._checks = self._checks, []
        try:
            counts = self._line.settle()
        except (errors.CheckViolation, errors.UniqueViolation) as error:
            self._explain(error)
        for check, count in zip(checks, counts, strict=True):
            check(count)

    def _note(self, event: Recorded) -> None:
        if type(event.event).__name__ == "ClockJumped":
            self._jumped = True
        elif isinstance(event.event, EpochAdopted):
            epoch = event.event.epoch
            if epoch <= self._epoch_known:
                raise misuse.epoch_too_low(self._ledger_id, epoch, self._epoch_known)
            self.adopted = self._epoch_known = epoch

    def _explain(self, error: errors.IntegrityError) -> NoReturn:
        """Name the event whose stream version does not fit, or pass the error on."""
        self._line.simple(b"ROLLBACK")
        streams = list(dict.fromkeys(event.stream for event in self._appended))
        versions = dict(self._run(_SQL["stream_versions"], (self._ledger_id, streams)))
        for event in self._appended:
            versions[event.stream] += 1
            if event.version != versions[event.stream]:
                raise misuse.stream_gap(
                    event.stream, event.version, versions[event.stream]
                ) from error
        raise error


def _any(_: int) -> None:
    """However many it met."""


def _clock_met(count: int) -> None:
    if count != 1:
        raise misuse.mismatch(("store", "state"), "another clock", "the one that was read")
