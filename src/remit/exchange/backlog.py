"""The neutral backlog: what every importer yields, whatever format it reads.

A foreign file is turned into two kinds of value and nothing else: a `BacklogRow`, which can be
imported, or a `Quarantined`, which cannot, with the code that says why. What is odd about a row
but does not stop it is a `Notice` on that row. So each row of a file has exactly one outcome with
a name, and rows = imported + unchanged + quarantined can be counted by whoever imports them.

The digest of a row covers what the row means here, not how the file spells it: key order, white
space and line ends do not move it, and each field that an import would act on does. It is how a
second import knows that nothing changed.

These types hold text written by strangers. Nothing here runs, obeys or resolves any of it, and
nothing here knows a ledger: no module of remit is imported, so that an importer can be tested,
and trusted, alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import msgspec

ID_LIMIT = 200  # characters of an id
TITLE_LIMIT = 500  # characters of a title
BODY_LIMIT = 262_144  # characters of a body, and of acceptance text
REASON_LIMIT = 4_096  # characters of a close reason
ROW_LIMIT_BYTES = 8 * 1024 * 1024  # bytes of one row of a file
DIGEST_SCHEME = "remit-backlog-1"  # first element under the digest; a new rule takes a new name


class Standing(StrEnum):
    """Where a row stood in its own tool, reduced to what an import does with it.

    OPEN becomes a draft; GATED a draft behind the gate `import-status`, since somebody may be at
    work on it elsewhere; CLOSED is closed with outcome `imported`; TOMBSTONE is closed and never
    satisfies a dependency.
    """

    OPEN = "OPEN"
    GATED = "GATED"
    CLOSED = "CLOSED"
    TOMBSTONE = "TOMBSTONE"


class EdgeKind(StrEnum):
    """What an edge from a row to its target means for readiness.

    BLOCKS is met when the target is done; CONDITIONAL only when the target closed as failed;
    WAITS_FOR when all children of the target are done; PARENT passes the target's unmet
    dependencies down to this row; LINK says nothing about readiness.
    """

    BLOCKS = "BLOCKS"
    PARENT = "PARENT"
    CONDITIONAL = "CONDITIONAL"
    WAITS_FOR = "WAITS_FOR"
    LINK = "LINK"


class NoticeCode(StrEnum):
    """Everything odd about a row that does not stop its import."""

    ABSURD_DATE = "ABSURD_DATE"  # a real date outside 1970..2100; dropped
    AMBIGUOUS_CLOSE_REASON = "AMBIGUOUS_CLOSE_REASON"  # a failure word, but no clear failure
    BAD_DATE = "BAD_DATE"  # not RFC 3339, or without an offset; dropped
    BLOCKED_BY_PARENT = "BLOCKED_BY_PARENT"  # waits for the completion of its own parent
    CHILDLESS_WAIT = "CHILDLESS_WAIT"  # waits for all children of a row that has none
    CLOSED_BEFORE_CREATED = "CLOSED_BEFORE_CREATED"  # closing date dropped
    CLOSED_DATE_ON_OPEN = "CLOSED_DATE_ON_OPEN"  # not closed, yet with a closing date; dropped
    CLOSED_WITHOUT_DATE = "CLOSED_WITHOUT_DATE"
    CLOSED_WITH_OPEN_BLOCKER = "CLOSED_WITH_OPEN_BLOCKER"
    CYCLE = "CYCLE"  # takes part in a cycle; the detail opens with its kind
    DANGLING_EDGE = "DANGLING_EDGE"  # the target is not among the rows that can be imported
    DUPLICATE_EDGE = "DUPLICATE_EDGE"  # the same kind and target again; kept once
    EDGE_TYPE_ASSUMED = "EDGE_TYPE_ASSUMED"  # no type: read as the strictest, BLOCKS
    LEAP_SECOND = "LEAP_SECOND"  # kept, as the last microsecond before it
    MANY_PARENTS = "MANY_PARENTS"  # inherits from each of them
    PRIORITY_ASSUMED = "PRIORITY_ASSUMED"  # none given: 2
    PRIORITY_CLAMPED = "PRIORITY_CLAMPED"  # outside 0..4
    SELF_EDGE = "SELF_EDGE"  # kept; a BLOCKS edge to itself is also a CYCLE
    TEXT_CUT = "TEXT_CUT"  # body, acceptance text or close reason over its bound
    TITLE_CLEANED = "TITLE_CLEANED"  # control or direction characters became spaces
    TITLE_CUT = "TITLE_CUT"
    TOMBSTONE_EDGE = "TOMBSTONE_EDGE"  # the target was deleted: never satisfied
    UNKNOWN_EDGE_TYPE = "UNKNOWN_EDGE_TYPE"  # kept as LINK
    UNKNOWN_STATUS = "UNKNOWN_STATUS"  # kept as GATED
    UPDATED_BEFORE_CREATED = "UPDATED_BEFORE_CREATED"  # updating date dropped
    WAIT_GATE_CHANGED = "WAIT_GATE_CHANGED"  # a waits-for refinement that is not kept


INCONSISTENT = frozenset(
    {
        NoticeCode.ABSURD_DATE,
        NoticeCode.BAD_DATE,
        NoticeCode.CLOSED_BEFORE_CREATED,
        NoticeCode.CLOSED_DATE_ON_OPEN,
        NoticeCode.CLOSED_WITH_OPEN_BLOCKER,
        NoticeCode.SELF_EDGE,
        NoticeCode.UPDATED_BEFORE_CREATED,
    }
)
"""Notices that contradict the row itself or its file: material for `import-inconsistent`."""


class QuarantineCode(StrEnum):
    """Why a row cannot be imported."""

    BAD_EDGE = "BAD_EDGE"  # an edge without usable target, or owned by another row
    BAD_ID = "BAD_ID"  # white space, unprintable characters, or over ID_LIMIT
    BAD_TEXT = "BAD_TEXT"  # NUL or a lone surrogate, written as an escape
    BROKEN_JSON = "BROKEN_JSON"
    DUPLICATE_ID = "DUPLICATE_ID"  # an earlier row holds this id; the reason names it
    MISSING_ID = "MISSING_ID"
    MISSING_TITLE = "MISSING_TITLE"
    NOT_AN_OBJECT = "NOT_AN_OBJECT"
    NOT_UTF8 = "NOT_UTF8"
    ROW_TOO_LARGE = "ROW_TOO_LARGE"  # over ROW_LIMIT_BYTES; never held in memory
    WRONG_TYPE = "WRONG_TYPE"  # the reason names the field


@dataclass(frozen=True, slots=True)
class Notice:
    """One oddity of a row: a code for machines, and the field, id or figure it is about."""

    code: NoticeCode
    detail: str


@dataclass(frozen=True, slots=True)
class BacklogEdge:
    """An edge from a row to `target`: its meaning here, and its name in the foreign tool."""

    kind: EdgeKind
    foreign_kind: str
    target: str


@dataclass(frozen=True, slots=True)
class BacklogRow:
    """One row that can be imported.

    `number` counts rows from 1, blank lines left out; `alias` is the id in the foreign tool.
    `body` joins the foreign texts under headings, at most BODY_LIMIT characters. `priority` runs
    from 0, the most urgent, to 4. `failed` says that the row closed as a failure, which is what
    meets a CONDITIONAL edge. Times are UTC microseconds since 1970, None where absent or dropped.
    `digest` is SHA-256 over the content (see `content_digest`); `notices` are in a fixed order.
    """

    number: int
    alias: str
    title: str
    body: str
    priority: int
    standing: Standing
    foreign_status: str
    close_reason: str | None
    failed: bool
    created_at_us: int | None
    closed_at_us: int | None
    updated_at_us: int | None
    item_type: str
    labels: tuple[str, ...]
    acceptance: str
    edges: tuple[BacklogEdge, ...]
    digest: bytes
    notices: tuple[Notice, ...]

    @property
    def inconsistent(self) -> bool:
        """Whether a notice contradicts the row, so that `import-inconsistent` is due."""
        return any(notice.code in INCONSISTENT for notice in self.notices)


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One row that cannot be imported.

    `row` counts rows as `BacklogRow.number` does and `line` counts lines of the file, both from 1.
    `id` is the foreign id where one could be read, made printable and short; `reason` is one line
    that quotes no text of the row.
    """

    row: int
    line: int
    id: str | None
    code: QuarantineCode
    reason: str


@dataclass(frozen=True, slots=True)
class Content:
    """The fields under a row's digest, before any of them is cut to a bound.

    Left out on purpose: `updated_at` (a touch is no change), position, notices, and whatever can
    be derived. Labels and edges are sets: their order and repetition do not count.
    """

    alias: str
    title: str
    sections: tuple[str, ...]
    priority: int
    foreign_status: str
    close_reason: str
    created_at_us: int | None
    closed_at_us: int | None
    item_type: str
    labels: Iterable[str]
    edges: Iterable[BacklogEdge]


_ENCODE = msgspec.json.Encoder().encode
_UNFIT_IN_TITLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


def content_digest(content: Content) -> bytes:
    """SHA-256 (32 bytes) over the canonical form of a row's content.

    Two rows with equal digests need no second import; a row whose digest moved is a new revision.
    """
    canonical = (
        DIGEST_SCHEME,
        content.alias,
        content.title,
        content.sections,
        content.priority,
        content.foreign_status,
        content.close_reason,
        content.created_at_us,
        content.closed_at_us,
        content.item_type,
        sorted(set(content.labels)),
        sorted({(edge.foreign_kind, edge.target) for edge in content.edges}),
    )
    return hashlib.sha256(_ENCODE(canonical)).digest()


def unix_line_ends(text: str) -> str:
    """The text with CRLF and CR as LF, so that a checkout setting does not change a row."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def clean_title(text: str) -> str:
    """A title on one line: runs of control and text-direction characters become one space."""
    return _UNFIT_IN_TITLE.sub(" ", text).strip()


def bounded(text: str, limit: int) -> str:
    """The text in at most `limit` characters: head and tail kept, a marker says how many went.

    A limit too small for the marker (under 128) keeps the head alone.
    """
    if len(text) <= limit:
        return text
    if limit < 128:
        return text[:limit]
    kept = limit - 64
    tail = kept // 4
    marker = f"\n[... {len(text) - kept} characters cut ...]\n"
    return text[: kept - tail] + marker + text[len(text) - tail :]


def joined(sections: Iterable[tuple[str, str]]) -> str:
    """Foreign texts as one: each non-empty one under its heading; an empty heading adds none."""
    parts = (f"## {head}\n\n{text}" if head else text for head, text in sections if text)
    return "\n\n".join(parts)


def shown(text: str) -> str:
    """A foreign id made fit for one line of a report: ASCII escapes, at most 60 characters."""
    plain = text[:61].encode("unicode_escape").decode("ascii")
    return plain if len(plain) <= 60 else plain[:57] + "..."
