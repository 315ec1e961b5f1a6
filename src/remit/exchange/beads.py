"""Reading a Beads backlog (JSONL, one issue a row) in two streaming passes.

Pass 1, `scan`, learns what no single row can tell: which ids exist and how they stand, which edges
lead nowhere, which rows repeat an id, where the cycles are. It keeps ids and edges, at most some
200 bytes a row, and no text. Pass 2, `rows`, streams every row of the same file in order as a
`BacklogRow` or a `Quarantined`, with all its notices, one at a time: a file of any size passes
through. Both decode a row by the same function, so they agree about which rows exist; and pass 2
refuses with INPUT_CHANGED as soon as the file is not the one that was scanned.

An id belongs to the first row that can be imported under it. A row without that chance (broken,
without a title) claims nothing; a later row under a claimed id is quarantined as DUPLICATE_ID,
and its reason says which row holds the id and whether it says the same.

This module decides nothing about a ledger. It must never hold the file, nor lose a row: rows seen
by pass 1 = rows given by pass 2, each exactly once.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from remit.exchange.backlog import (
    BODY_LIMIT,
    REASON_LIMIT,
    TITLE_LIMIT,
    BacklogEdge,
    BacklogRow,
    Content,
    EdgeKind,
    Notice,
    NoticeCode,
    QuarantineCode,
    Quarantined,
    Standing,
    bounded,
    clean_title,
    content_digest,
    joined,
    shown,
    unix_line_ends,
)
from remit.exchange.beads_wire import (
    Fault,
    WireRow,
    decode,
    edges_of,
    failed_close,
    standing_of,
    too_large,
)
from remit.exchange.cycles import Cycle, EdgeTable, find_cycles
from remit.exchange.lines import Fingerprint, InputCode, InputProblem, RowReader
from remit.exchange.stamps import parse_stamp

_STANDINGS = (None, *Standing)  # what the low bits of a row's state index; 0: no such row
_STANDING_BITS, _FAILED, _HAS_CHILD, _HAS_OPEN_CHILD = 0b111, 8, 16, 32
_WAITING = bytes(
    _STANDINGS[state & _STANDING_BITS] in (Standing.OPEN, Standing.GATED)
    if state & _STANDING_BITS < len(_STANDINGS)
    else 0
    for state in range(256)
)
_DEFAULT_PRIORITY = 2


@dataclass(slots=True)
class _Index:
    """Everything that pass 1 keeps for each id named in the file, as row or as target."""

    ids: dict[str, int] = field(default_factory=dict)
    states: bytearray = field(default_factory=bytearray)
    first_rows: array[int] = field(default_factory=lambda: array("I"))
    edges: EdgeTable = field(default_factory=EdgeTable)
    repeated: set[int] = field(default_factory=set)

    def number(self, name: str) -> int:
        """The number of an id, given on first sight."""
        number = self.ids.setdefault(name, len(self.states))
        if number == len(self.states):
            self.states.append(0)
            self.first_rows.append(0)
        return number

    def mark_children(self) -> None:
        """Note on each parent whether it has children, and whether one is open."""
        parent = EdgeTable.code(EdgeKind.PARENT)
        for child, kind, target in self.edges:
            if kind == parent and _STANDINGS[self.states[child] & _STANDING_BITS] is not None:
                if self.states[child] & _STANDING_BITS != _STANDINGS.index(Standing.TOMBSTONE):
                    self.states[target] |= _HAS_CHILD
                if _WAITING[self.states[child]]:
                    self.states[target] |= _HAS_OPEN_CHILD


@dataclass(frozen=True, slots=True)
class Scan:
    """What pass 1 learnt about a file; the ticket for pass 2.

    `rows` = `importable` + the sum of `quarantined`. `edges` counts edges of importable rows by
    kind, each kind and target of a row once; `dangling`, `to_tombstones` and `to_self` are those
    among them whose target is no importable row, a deleted one, or the row itself. `cycles` is as
    `find_cycles` orders it.
    """

    rows: int
    importable: int
    quarantined: Mapping[QuarantineCode, int]
    edges: Mapping[EdgeKind, int]
    dangling: int
    to_tombstones: int
    to_self: int
    cycles: tuple[Cycle, ...]
    fingerprint: Fingerprint
    _index: _Index = field(repr=False)
    _marks: Mapping[int, int] = field(repr=False)

    def standing(self, alias: str) -> Standing | None:
        """How the row with this id stands; None where no row of the file can be imported as it."""
        number = self._index.ids.get(alias)
        return None if number is None else _STANDINGS[self._index.states[number] & _STANDING_BITS]

    def failed(self, alias: str) -> bool:
        """Whether the row with this id closed as a failure, which meets a CONDITIONAL edge."""
        number = self._index.ids.get(alias)
        return number is not None and bool(self._index.states[number] & _FAILED)

    def row_of(self, alias: str) -> int | None:
        """The number of the row that holds this id; None where there is none."""
        number = self._index.ids.get(alias)
        return (self._index.first_rows[number] or None) if number is not None else None

    def cycle(self, alias: str) -> Cycle | None:
        """The gravest cycle that the row with this id takes part in, None for most."""
        number = self._index.ids.get(alias)
        mark = None if number is None else self._marks.get(number)
        return None if mark is None else self.cycles[mark]

    def missing(self) -> Iterator[str]:
        """Ids that edges lead to and no importable row holds, in order of first mention."""
        for alias, number in self._index.ids.items():
            if not self._index.states[number] & _STANDING_BITS:
                yield alias


def scan(path: Path | str) -> Scan:
    """Pass 1: read ids and edges of a Beads JSONL file.

    `path` names a regular file (see `spooled` for a pipe). Raises InputProblem for an input that
    cannot be read as a whole, with code EMPTY for one without any row. Broken rows do not raise;
    they are counted.
    """
    reader = RowReader(Path(path))
    index = _Index()
    faults: Counter[QuarantineCode] = Counter()
    counts: Counter[EdgeKind] = Counter()
    total = to_self = 0
    for _, data in reader:
        total += 1
        wire = too_large(data) if isinstance(data, int) else decode(data)
        if isinstance(wire, Fault):
            faults[wire.code] += 1
            continue
        number = index.number(wire.id)
        if index.states[number]:
            faults[QuarantineCode.DUPLICATE_ID] += 1
            index.repeated.add(number)
            continue
        standing, _ = standing_of(wire.status)
        closed = standing is Standing.CLOSED
        failed = _FAILED if closed and failed_close(wire.close_reason)[0] else 0
        index.states[number] = _STANDINGS.index(standing) | failed
        index.first_rows[number] = total
        for edge in edges_of(wire)[0]:
            counts[edge.kind] += 1
            to_self += edge.target == wire.id
            index.edges.add(number, edge.kind, index.number(edge.target))
    if not total or reader.fingerprint is None:
        raise InputProblem(InputCode.EMPTY, "it holds no rows", str(path), "export it again")
    index.mark_children()
    findings = find_cycles(index.ids, bytes(index.states.translate(_WAITING)), index.edges)
    standings = Counter(index.states[target] & _STANDING_BITS for target in index.edges.targets)
    return Scan(
        rows=total,
        importable=total - faults.total(),
        quarantined=dict(faults),
        edges=dict(counts),
        dangling=standings[0],
        to_tombstones=standings[_STANDINGS.index(Standing.TOMBSTONE)],
        to_self=to_self,
        cycles=findings.cycles,
        fingerprint=reader.fingerprint,
        _index=index,
        _marks=findings.marks,
    )


def rows(path: Path | str, scan: Scan) -> Iterator[BacklogRow | Quarantined]:
    """Pass 2: every row of the scanned file, in file order, one at a time.

    Raises InputProblem INPUT_CHANGED before giving out any row of a block that differs from what
    was scanned; also where only the modification time moved, since somebody is writing.
    """
    index = scan._index
    reader = RowReader(Path(path), scan.fingerprint)
    digests: dict[int, bytes] = {}
    row = 0
    for line, data in reader:
        row += 1
        wire = too_large(data) if isinstance(data, int) else decode(data)
        if isinstance(wire, Fault):
            yield Quarantined(row, line, wire.id, wire.code, wire.reason)
            continue
        number = index.ids[wire.id]
        built = _build(row, wire, number, scan)
        first = index.first_rows[number]
        if first != row:
            same = built.digest == digests[number]
            reason = f"row {first} holds this id, with {'the same' if same else 'other'} content"
            yield Quarantined(row, line, wire.id, QuarantineCode.DUPLICATE_ID, reason)
            continue
        if number in index.repeated:
            digests[number] = built.digest
        yield built


def _build(row: int, wire: WireRow, number: int, scan: Scan) -> BacklogRow:
    """A row with everything that it and the scan say."""
    edges, edge_notices = edges_of(wire)
    notices: list[Notice] = []
    status = wire.status or ""
    standing, known = standing_of(status)
    if not known:
        notices.append(Notice(NoticeCode.UNKNOWN_STATUS, shown(status)))
    priority = _priority(wire.priority, notices)
    created, closed, updated = _dates(wire, standing, notices)
    reason = unix_line_ends(wire.close_reason or "")
    failed, ambiguous = failed_close(reason) if standing is Standing.CLOSED else (False, False)
    if ambiguous:
        notices.append(Notice(NoticeCode.AMBIGUOUS_CLOSE_REASON, "close_reason"))
    title = _title(wire.title, notices)
    sections = _sections(wire)
    labels = tuple(wire.labels or ())
    item_type = wire.issue_type or ""
    digest = content_digest(
        Content(
            alias=wire.id,
            title=wire.title.strip(),
            sections=tuple(text for _, text in sections),
            priority=priority,
            foreign_status=status,
            close_reason=reason,
            created_at_us=created,
            closed_at_us=closed,
            item_type=item_type,
            labels=labels,
            edges=edges,
        )
    )
    notices.extend(edge_notices)
    if edges:
        notices.extend(_edge_notices(edges, standing, scan))
    mark = scan._marks.get(number)
    if mark is not None:
        notices.append(_cycle_notice(scan.cycles[mark]))
    return BacklogRow(
        number=row,
        alias=wire.id,
        title=title,
        body=_cut("body", joined(sections), BODY_LIMIT, notices),
        priority=priority,
        standing=standing,
        foreign_status=status,
        close_reason=_cut("close_reason", reason, REASON_LIMIT, notices) or None,
        failed=failed,
        created_at_us=created,
        closed_at_us=closed,
        updated_at_us=updated,
        item_type=item_type,
        labels=labels,
        acceptance=_cut("acceptance_criteria", sections[2][1], BODY_LIMIT, notices),
        edges=tuple(edges),
        digest=digest,
        notices=tuple(notices),
    )


def _sections(wire: WireRow) -> tuple[tuple[str, str], ...]:
    """The texts of a row under their headings; acceptance criteria are the third."""
    return (
        ("", unix_line_ends(wire.description or "")),
        ("Design", unix_line_ends(wire.design or "")),
        ("Acceptance criteria", unix_line_ends(wire.acceptance_criteria or "")),
        ("Notes", unix_line_ends(wire.notes or "")),
    )


def _title(text: str, notices: list[Notice]) -> str:
    plain = text.strip()
    title = clean_title(plain)
    if title != plain:
        notices.append(Notice(NoticeCode.TITLE_CLEANED, "title"))
    if len(title) > TITLE_LIMIT:
        notices.append(Notice(NoticeCode.TITLE_CUT, f"{len(title)} characters"))
        title = title[: TITLE_LIMIT - 1] + "\u2026"
    return title


def _cut(name: str, text: str, limit: int, notices: list[Notice]) -> str:
    if len(text) > limit:
        notices.append(Notice(NoticeCode.TEXT_CUT, f"{name}: {len(text)} characters"))
    return bounded(text, limit)


def _priority(given: int | None, notices: list[Notice]) -> int:
    if given is None:
        notices.append(Notice(NoticeCode.PRIORITY_ASSUMED, str(_DEFAULT_PRIORITY)))
        return _DEFAULT_PRIORITY
    if 0 <= given <= 4:
        return given
    used = 0 if given < 0 else 4
    notices.append(Notice(NoticeCode.PRIORITY_CLAMPED, str(used)))
    return used


def _dates(
    wire: WireRow, standing: Standing, notices: list[Notice]
) -> tuple[int | None, int | None, int | None]:
    """(created, closed, updated) in microseconds; a date that contradicts the row is dropped."""
    created, closed, updated = (
        _date(name, text, notices) if text else None
        for name, text in (
            ("created_at", wire.created_at),
            ("closed_at", wire.closed_at),
            ("updated_at", wire.updated_at),
        )
    )
    if closed is not None and standing in (Standing.OPEN, Standing.GATED):
        notices.append(Notice(NoticeCode.CLOSED_DATE_ON_OPEN, "closed_at dropped"))
        closed = None
    if closed is not None and created is not None and closed < created:
        notices.append(Notice(NoticeCode.CLOSED_BEFORE_CREATED, "closed_at dropped"))
        closed = None
    elif standing is Standing.CLOSED and not wire.closed_at:
        notices.append(Notice(NoticeCode.CLOSED_WITHOUT_DATE, "closed_at"))
    if updated is not None and created is not None and updated < created:
        notices.append(Notice(NoticeCode.UPDATED_BEFORE_CREATED, "updated_at dropped"))
        updated = None
    return created, closed, updated


def _date(name: str, text: str, notices: list[Notice]) -> int | None:
    value, code = parse_stamp(text)
    if code is not None:
        notices.append(Notice(code, name))
    return value


def _edge_notices(edges: list[BacklogEdge], standing: Standing, scan: Scan) -> Iterator[Notice]:
    """What the rest of the file says about a row's edges."""
    index = scan._index
    for edge in edges:
        known = index.ids.get(edge.target)  # None: named only by a row that repeats an id
        state = 0 if known is None else index.states[known]
        target = _STANDINGS[state & _STANDING_BITS]
        label = f"{shown(edge.foreign_kind)} {edge.target}"
        if target is None:
            yield Notice(NoticeCode.DANGLING_EDGE, label)
        elif target is Standing.TOMBSTONE:
            yield Notice(NoticeCode.TOMBSTONE_EDGE, label)
        if edge.kind is EdgeKind.WAITS_FOR:
            if not state & _HAS_CHILD:
                yield Notice(NoticeCode.CHILDLESS_WAIT, edge.target)
            open_blocker = bool(state & _HAS_OPEN_CHILD)
        else:
            waits = edge.kind in (EdgeKind.BLOCKS, EdgeKind.CONDITIONAL)
            open_blocker = waits and bool(_WAITING[state])
        if open_blocker and standing is Standing.CLOSED:
            yield Notice(NoticeCode.CLOSED_WITH_OPEN_BLOCKER, label)


def _cycle_notice(cycle: Cycle) -> Notice:
    text = str(cycle)
    shortened = text if len(text) <= REASON_LIMIT else f"{len(cycle.links)} rows"
    return Notice(NoticeCode.CYCLE, f"{cycle.kind}: {shortened}")
