"""A draft from a CSV of requirements: one row, one requirement; columns are found by their names.

Tools export requirements under many headings, often wrapped ("Custom field (Requirement ID)"). A
heading is compared without its wrapping, case and punctuation; ``--map`` names columns outright. An
id that goes on from another one ("A-1.2" from "A-1") makes its requirement a part of the other. What
no column says is a gap, and columns that nothing was taken from are named.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remit.core.planning.bundle import Clause, Risk
from remit.exchange.backlog import shown, unix_line_ends
from remit.exchange.drafting.draft import (
    Draft,
    Left,
    LeftOut,
    Outline,
    Wish,
    bad_text,
    bundle_of,
    fit,
    fit_label,
    fit_title,
    unique,
)

MOST_BYTES: Final = 64 * 1024 * 1024
MOST_CELL: Final = 1024 * 1024

COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "label": ("requirement id", "req id", "id", "identifier", "key", "issue key", "uid", "label"),
    "statement": ("statement", "requirement", "requirement text", "text", "description", "shall"),
    "title": ("title", "summary", "name", "heading", "subject"),
    "acceptance": ("acceptance criteria", "acceptance", "fit criterion", "verification criteria"),
    "rationale": ("requirement rationale", "rationale", "reason", "why"),
    "source": ("source", "sources", "origin", "reference", "references"),
    "risk": ("risk", "criticality", "safety level"),
    "clause": ("clause", "component", "feature", "section", "area"),
    "parent": ("parent", "parent id", "refines", "derived from"),
    "after": ("depends on", "blocked by", "after", "dependencies"),
    "priority": ("priority",),
}
"""What a column may be for, and the headings by which it is known, the best first."""

RISKS: Final = {"low": Risk.LOW, "medium": Risk.MEDIUM, "mid": Risk.MEDIUM, "high": Risk.HIGH,
                "critical": Risk.HIGH}  # fmt: skip

_CLAUSE: Final = "Everything under {} in {} holds."
_ALL: Final = "requirements"
_WRAPPED: Final = re.compile(r"custom field \((.*)\)\Z", re.IGNORECASE)
_SPLIT: Final = re.compile(r"[,;\s]+")


class BadTableError(ValueError):
    """A file cannot be read as a table, or a map names what it has not."""


@dataclass(frozen=True, slots=True)
class Table:
    """A read file: where each part stands, its rows with their lines, and columns not used."""

    places: Mapping[str, int]
    width: int
    rows: Sequence[tuple[int, list[str]]]
    unused: tuple[str, ...]


def draft_csv(path: Path, name: str, wanted: Mapping[str, str]) -> Draft:
    """A draft from a CSV. ``wanted`` maps parts (``COLUMNS``) to headings. Raises ``BadTableError``."""
    data = path.read_bytes()
    table = _table(data, wanted)
    left: list[LeftOut] = []
    wishes = list(_Rows(table, path.name, left).wishes())
    clauses = list(dict.fromkeys(wish.clause for wish in wishes))
    outline = Outline(
        fit_label(name, "goal"),
        f"What {path.name} requires holds.",
        [Clause(label, _CLAUSE.format(label, path.name)) for label in clauses],
        provenance=[f"{path.name}, {len(table.rows)} rows"],
        gaps=[("objective", f"What are the requirements of {path.name} for? It does not say.")],
    )
    if "clause" not in table.places:
        gap = ("clauses", "Which separate things does the goal consist of?")
        outline.gaps.append(gap)
    notes = [f"columns: {', '.join(f'{part}' for part in sorted(table.places))}"]
    if table.unused:
        notes.append(f"columns not used: {', '.join(shown(one) for one in table.unused[:50])}")
    bundle = bundle_of(fit_label(name, "plan"), outline, wishes, rated="risk" in table.places)
    return Draft(bundle, len(table.rows), len(wishes), tuple(left), tuple(notes))


def _table(data: bytes, wanted: Mapping[str, str]) -> Table:
    if len(data) > MOST_BYTES:
        raise BadTableError(f"it has {len(data)} bytes, at most {MOST_BYTES} are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadTableError(f"byte {error.start} is not UTF-8") from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    before = csv.field_size_limit(MOST_CELL)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise BadTableError(f"it cannot be read as CSV: {error}") from None
    finally:
        csv.field_size_limit(before)
    if not rows:
        raise BadTableError("it is empty, expected a line of headings")
    heads = rows[0][1]
    places = _places(heads, wanted)
    used = set(places.values())
    unused = tuple(head for n, head in enumerate(heads) if n not in used)
    return Table(places, len(heads), [r for r in rows[1:] if any(c.strip() for c in r[1])], unused)


def plain(head: str) -> str:
    """A heading without wrapping, case and punctuation."""
    wrapped = _WRAPPED.match(head.strip())
    inner = wrapped[1] if wrapped else head
    return " ".join(re.sub(r"[^a-z0-9]+", " ", inner.casefold()).split())


def _places(heads: Sequence[str], wanted: Mapping[str, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    exact = [head.strip() for head in heads]
    for part, head in wanted.items():
        if part not in COLUMNS:
            raise BadTableError(f"--map names {part!r}, expected one of {', '.join(COLUMNS)}")
        if head.strip() not in exact:
            known = ", ".join(shown(one) for one in exact[:20])
            raise BadTableError(f"--map names the column {shown(head)!r}, expected one of {known}")
        found[part] = exact.index(head.strip())
    names = [plain(head) for head in heads]
    for part, heads_known in COLUMNS.items():
        free = [
            name
            for name in heads_known
            if name in names and names.index(name) not in found.values()
        ]
        if part not in found and free:
            found[part] = names.index(free[0])
    if "statement" not in found and "title" not in found:
        heard = ", ".join(shown(one) for one in exact[:20])
        raise BadTableError(
            f"no column says what is required, found {heard}; name it: --map statement=NAME"
        )
    return found


class _Rows:
    """The rows of a table, turned into wishes."""

    def __init__(self, table: Table, source: str, left: list[LeftOut]) -> None:
        self.table = table
        self.source = source
        self.left = left
        self.labels: dict[str, str] = {}

    def wishes(self) -> Iterator[Wish]:
        """One wish for each row that can be one."""
        kept: list[tuple[int, dict[str, str], str]] = []
        taken: set[str] = set()
        for number, (_, cells) in enumerate(self.table.rows, 1):
            parts = self._parts(number, cells)
            if parts is None:
                continue
            given = parts.get("label", "")
            if given and given in self.labels:
                reason = "an earlier row has this id"
                self.left.append(LeftOut(number, shown(given), Left.DUPLICATE_ID, reason))
                continue
            label = unique(fit_label(given or f"row-{number}", "requirement"), taken)
            taken.add(label)
            if given:
                self.labels[given] = label
            kept.append((number, parts, label))
        for number, parts, label in kept:
            yield self._wish(number, parts, label)

    def _parts(self, number: int, cells: list[str]) -> dict[str, str] | None:
        places = self.table.places
        given = (
            cells[places["label"]].strip() if places.get("label", len(cells)) < len(cells) else ""
        )
        code, reason = "", ""
        if len(cells) > self.table.width:
            code, reason = Left.BAD_CELLS, f"{len(cells)} cells, {self.table.width} columns"
        elif any(bad_text(cell) for cell in cells):
            code, reason = Left.BAD_TEXT, "a cell has NUL or half a character"
        parts = {
            part: unix_line_ends(cells[at]).strip()
            for part, at in places.items()
            if at < len(cells)
        }
        if not code and not _title(parts):
            code, reason = Left.EMPTY, "neither title nor statement says anything printable"
        if code:
            self.left.append(LeftOut(number, shown(given), code, reason))
            return None
        return parts

    def _wish(self, number: int, parts: Mapping[str, str], label: str) -> Wish:
        gaps: list[tuple[str, str]] = []
        statement = parts.get("statement", "")
        title = _title(parts)
        if not statement:
            gaps.append(("statement", "What must come true? The row has a title only."))
        if not parts.get("label"):
            gaps.append(("id", f"Which id has it? Row {number} names none."))
        if "rationale" in self.table.places and not parts.get("rationale"):
            gaps.append(("rationale", "Why is it wanted? The row gives no reason."))
        risk = RISKS.get(parts.get("risk", "").casefold())
        if "risk" in self.table.places and risk is None:
            said = shown(parts.get("risk", "")) or "nothing"
            gaps.append(("risk", f"How much depends on it? The row says {said}."))
        sources = [f"{self.source}, row {number}"]
        sources += [fit(f"rationale: {parts['rationale']}")] if parts.get("rationale") else []
        sources += [fit(parts["source"])] if parts.get("source") else []
        acceptance = [fit(one.strip("-* ")) for one in parts.get("acceptance", "").split("\n")]
        return Wish(
            label,
            title,
            fit(statement or title),
            clause=fit_label(parts.get("clause") or _ALL, "clause"),
            acceptance=tuple(one for one in acceptance if one),
            sources=tuple(sources),
            risk=risk,
            priority=_priority(parts.get("priority", ""), gaps),
            after=tuple(self._named(parts.get("after", ""), "after", gaps)),
            part_of=tuple(self._above(parts, gaps)),
            gaps=tuple(gaps),
        )

    def _named(
        self, text: str, part: str, gaps: list[tuple[str, str]]
    ) -> Iterator[tuple[str, str]]:
        for one in filter(None, _SPLIT.split(text)):
            if one in self.labels:
                yield self.labels[one], f"the column for {part} names it"
            else:
                gaps.append(("dangling", f"It names {shown(one)}, which no row has."))

    def _above(
        self, parts: Mapping[str, str], gaps: list[tuple[str, str]]
    ) -> Iterator[tuple[str, str]]:
        if parts.get("parent"):
            yield from self._named(parts["parent"], "parent", gaps)
            return
        above = parts.get("label", "").rpartition(".")[0]
        while above:
            if above in self.labels:
                yield self.labels[above], "its id goes on from this one's"
                return
            above = above.rpartition(".")[0]


def _title(parts: Mapping[str, str]) -> str:
    """The title of a row, or the first line of what it requires."""
    statement = parts.get("statement", "").partition("\n")[0]
    return fit_title(parts.get("title", "")) or fit_title(statement)


def _priority(text: str, gaps: list[tuple[str, str]]) -> int:
    if text in ("0", "1", "2", "3", "4"):
        return int(text)
    if text:
        gaps.append(("priority", f"How urgent is it? The row says {shown(text)}."))
    return 2
