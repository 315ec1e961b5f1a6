"""Importing a backlog: one streaming pass in resumable chunks, nothing dropped in silence.

The rows become items with their edges, the import closes, and only then does admission look at what
it brought. An import that was killed is carried on by running it again: rows that are there and
unchanged write nothing. Every row has one outcome: imported (new or revised), unchanged, or
quarantined with a code.

Where the content of a whole file was imported before, its quarantined rows are on the ledger already
and are not recorded again, so that a second import changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeVar

from remit.core import commands as c
from remit.core import gates
from remit.core.backlog import ImportedRow, UnfitRow
from remit.core.canonical import canonical
from remit.core.commands import Command
from remit.core.decide.imports import EDITABLE
from remit.core.events import Recorded, RowQuarantined
from remit.core.facts import ImportRun, Item, Rule
from remit.core.refusals import Code, Refused
from remit.ports import Blob, ReadTx
from remit.ports.outside import Backlog
from remit.service.engine import Call, Done
from remit.service.operations import Operations
from remit.service.texts import blob_of

T = TypeVar("T")

CHUNK: Final = 500
"""Rows of one transaction: small enough that other writers hardly wait."""

MOST_SHOWN: Final = 10_000
"""Most quarantined rows that an answer lists; all of them are counted and on the ledger."""


@dataclass(slots=True)
class Tally:
    """How it goes, and the answer in the end."""

    rows: int = 0
    imported: int = 0
    unchanged: int = 0
    unfit: int = 0
    quarantined: list[dict[str, Any]] = field(default_factory=list)

    def quarantine(self, row: int, name: str, code: str, reason: str) -> None:
        """Count a row that could not be imported and keep it for the answer."""
        self.unfit += 1
        if len(self.quarantined) < MOST_SHOWN:
            entry = {"row": row, "id": name or None, "code": code, "reason": reason}
            self.quarantined.append(entry)


Progress = Callable[[str, int, int], None]
"""Called with the pass, how many rows are done, and how many there are."""


class Import:
    """One import of one backlog by one caller."""

    def __init__(
        self, operations: Operations, backlog: Backlog, rule: str, progress: Progress | None
    ) -> None:
        self.operations = operations
        self.engine = operations.engine
        self.backlog = backlog
        self.rule = rule
        self.progress = progress or (lambda *_: None)
        self.tally = Tally()
        self.run_id = ""
        self.repeated = False
        self.noted: set[int] = set()
        self.declined: dict[int, RowQuarantined] = {}

    def run(self) -> dict[str, Any] | Refused:
        """Import everything; returns the interface's ``data``, or what refused the whole of it."""
        with self.operations.store.read() as tx:
            key = ("import-digest", self.backlog.digest)
            before = tx.load([key])[key]
            self.repeated = before is not None
            self.run_id = _open_run(tx, self.backlog.digest)
        self._note(self.run_id or (before if isinstance(before, str) else ""))
        for passed in (self._rows, self._close, self._admit):
            refused = passed()
            if refused is not None:
                return refused
        tally = self.tally
        return {
            "import": self.run_id or None,
            "rows": tally.rows,
            "imported": tally.imported,
            "unchanged": tally.unchanged,
            "quarantined": tally.quarantined,
            "quarantined_total": tally.unfit,
            "truncated": tally.unfit > len(tally.quarantined),
            "changed": bool(self.run_id),
            **self.backlog.facts(),
        }

    def _note(self, run: str) -> None:
        """What an import of this content quarantined before: such rows are on the ledger once."""
        after = 0
        events: list[Recorded] = []
        while run and (after == 0 or events):
            with self.operations.store.read() as tx:
                events = tx.stream(run, after, CHUNK)
            for recorded in events:
                after = recorded.version
                event = recorded.event
                if isinstance(event, RowQuarantined):
                    self.noted.add(event.row)
                    if event.code in Code.__members__:
                        self.declined[event.row] = event

    def _ensure_run(self) -> Refused | None:
        if self.run_id:
            return None
        backlog = self.backlog
        start = c.StartImport(backlog.format, backlog.name, backlog.digest)
        answer = self.operations.run(start)
        if isinstance(answer, Refused):
            return answer
        self.run_id = answer.events[-1].stream
        return None

    def _rows(self) -> Refused | None:
        for chunk in _chunks(self.backlog.items(), CHUNK):
            known = self._known([r.alias for r in chunk if isinstance(r, ImportedRow)])
            calls: list[tuple[ImportedRow | UnfitRow, Call]] = []
            for row in chunk:
                self.tally.rows += 1
                if isinstance(row, UnfitRow):
                    self.tally.quarantine(row.row, row.id, row.code, row.reason)
                    if self.repeated or row.row in self.noted:
                        continue
                elif row.alias in known:
                    digest, passed_on = known[row.alias]
                    if digest == row.digest:
                        self.tally.unchanged += 1
                        continue
                    if passed_on and self.repeated:
                        self._changed_upstream(row)
                        continue
                elif self.repeated and row.row in self.declined:
                    said = self.declined[row.row]
                    self.tally.quarantine(row.row, row.alias, said.code, said.reason)
                    continue
                refused = self._ensure_run()
                if refused is not None:
                    return refused
                calls.append((row, self._call(row)))
            self._take([row for row, _ in calls], [call for _, call in calls])
            self.progress("rows", self.tally.rows, self.backlog.rows)
        return None

    def _call(self, row: ImportedRow | UnfitRow) -> Call:
        caller = self.operations.caller
        if isinstance(row, UnfitRow):
            command: Command = c.QuarantineRow(self.run_id, row.row, row.id, row.code, row.reason)
            return Call(command, caller.actor, token=self.operations.token)
        ref, blob = blob_of(canonical({"body": row.body, "title": row.title}))
        command = c.ImportItem(
            self.run_id,
            row.row,
            row.alias,
            row.digest,
            ref,
            row.priority,
            row.foreign_status,
            row.unconfirmed,
            row.closed,
            row.satisfies,
            row.failed,
            row.created_at,
            row.closed_at,
            row.edges,
            row.cycle,
            row.links,
            row.notices,
            self.rule,
        )
        blobs: tuple[Blob, ...] = (blob,)
        return Call(command, caller.actor, blobs=blobs, token=self.operations.token)

    def _take(self, rows: Sequence[ImportedRow | UnfitRow], calls: Sequence[Call]) -> None:
        """Run a chunk; rows that the core refuses are quarantined in a second, small list."""
        more: list[Call] = []
        for row, answer in zip(rows, self.engine.run(calls), strict=True):
            if isinstance(row, UnfitRow):
                continue
            if isinstance(answer, Done):
                self.tally.imported += 1
            elif answer.code is Code.UNCHANGED:
                self.tally.unchanged += 1
            else:
                unfit = UnfitRow(row.row, row.alias, answer.code.value, answer.message)
                self.tally.quarantine(unfit.row, unfit.id, unfit.code, unfit.reason)
                if not self.repeated and row.row not in self.noted:
                    more.append(self._call(unfit))
        if more:
            self.engine.run(more)

    def _changed_upstream(self, row: ImportedRow) -> None:
        """A changed row of an item that moved on, which an earlier import recorded already."""
        reason = "it changed in its source after its item moved on"
        self.tally.quarantine(row.row, row.alias, Code.CHANGED_UPSTREAM.value, reason)

    def _known(self, aliases: Sequence[str]) -> dict[str, tuple[str, bool]]:
        """Of items that are there already: the digest of the source, and whether it moved on."""
        with self.operations.store.read() as tx:
            found = tx.load([("alias", alias) for alias in aliases])
            ids = {name: key[1] for key, name in found.items() if isinstance(name, str)}
            items = tx.load([("item", name) for name in ids])
        return {
            ids[item.id]: (item.source.digest, item.status not in EDITABLE)
            for item in items.values()
            if isinstance(item, Item) and item.source is not None
        }

    def _close(self) -> Refused | None:
        if not self.run_id:
            return None
        tally = self.tally
        close = c.CloseImport(self.run_id, tally.rows, tally.imported, tally.unchanged, tally.unfit)
        answer = self.operations.run(close)
        return answer if isinstance(answer, Refused) else None

    def _admit(self) -> Refused | None:
        """Let admission look at everything that waited only for an import to close."""
        with self.operations.store.read() as tx:
            rule = tx.load([("rule", self.rule)])["rule", self.rule] if self.rule else None
        refused = recheck_gate(self.operations, gates.IMPORT_OPEN, self.progress)
        if refused is None and isinstance(rule, Rule) and rule.accepted:
            gate = f"{gates.RULE}/{rule.name}"
            refused = recheck_gate(self.operations, gate, self.progress)
        return refused


def _open_run(tx: ReadTx, digest: str) -> str:
    """An import of the same content that was killed before it closed, or empty."""
    count = tx.small().get(("counter", "import"))
    count = count if isinstance(count, int) else 0
    for number in range(count, max(0, count - 20), -1):
        run = tx.load([("import", f"I-{number}")])["import", f"I-{number}"]
        if isinstance(run, ImportRun) and run.open and run.digest == digest:
            return run.id
    return ""


def recheck_gate(
    operations: Operations, gate: str, progress: Progress | None = None, chunk: int = CHUNK
) -> Refused | None:
    """Let admission look at all drafts behind a gate, in chunks; the gate may be open by now."""
    after = done = 0
    while True:
        with operations.store.read() as tx:
            ids = tx.gated(gate, after, chunk)
        if not ids:
            return None
        answers = operations.run([c.Recheck(item) for item in ids])
        refused = next((a for a in answers if isinstance(a, Refused)), None)
        if refused is not None:
            return refused
        after = int(ids[-1][2:])
        done += len(ids)
        if progress is not None:
            progress("admission", done, 0)


def _chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(values)
    while chunk := list(islice(iterator, size)):
        yield chunk
