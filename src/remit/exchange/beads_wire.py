"""One row of a Beads file: JSON to fields, words to meanings, and each fault by name.

Both passes of the importer call `decode`, so they cannot disagree about which rows exist. It is
strict where a wrong guess would free work (an edge without a target, an edge that belongs to
another row, an id that is no id) and lenient where the oddity can be named and kept. Names of
statuses and edges are those of Beads; what they mean here is fixed by this project.

A close counts as failed when its reason holds a plain failure word ("rejected") as a whole word,
or opens with a softer one ("error: ..."), unless it opens with a word of success or negates it.
Beads itself asks only whether such a word occurs anywhere, so where it would say "failed" and
this reading does not ("Fixed the timeout"), the row gets AMBIGUOUS_CLOSE_REASON and a
conditional edge stays unmet: doubt never frees work. Reasons returned for quarantine quote field names and positions, never a row's text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import msgspec

from remit.exchange.backlog import (
    ID_LIMIT,
    ROW_LIMIT_BYTES,
    BacklogEdge,
    EdgeKind,
    Notice,
    NoticeCode,
    QuarantineCode,
    Standing,
    clean_title,
    shown,
)


class WireEdge(msgspec.Struct, gc=False):
    """An element of `dependencies`."""

    depends_on_id: str | None = None
    type: str | None = None
    issue_id: str | None = None
    metadata: msgspec.Raw = msgspec.Raw(b"")


class WireRow(msgspec.Struct, gc=False):
    """The fields of a row that mean something here; others are skipped."""

    id: str = ""
    title: str = ""
    description: str | None = None
    design: str | None = None
    acceptance_criteria: str | None = None
    notes: str | None = None
    status: str | None = None
    priority: int | None = None
    issue_type: str | None = None
    labels: list[str] | None = None
    created_at: str | None = None
    updated_at: str | None = None
    closed_at: str | None = None
    close_reason: str | None = None
    dependencies: list[WireEdge] | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row is no row: a code, one line of reason, and the id if it could be read."""

    code: QuarantineCode
    reason: str
    id: str | None


STANDINGS = {
    "open": Standing.OPEN,
    "blocked": Standing.OPEN,
    "in_progress": Standing.GATED,
    "hooked": Standing.GATED,
    "deferred": Standing.GATED,
    "pinned": Standing.GATED,
    "closed": Standing.CLOSED,
    "tombstone": Standing.TOMBSTONE,
}
EDGE_KINDS = {
    "blocks": EdgeKind.BLOCKS,
    "parent-child": EdgeKind.PARENT,
    "conditional-blocks": EdgeKind.CONDITIONAL,
    "waits-for": EdgeKind.WAITS_FOR,
}
KNOWN_LINKS = frozenset(
    [
        "related",
        "relates-to",
        "discovered-from",
        "replies-to",
        "duplicates",
        "supersedes",
        "tracks",
        "until",
        "caused-by",
        "validates",
        "authored-by",
        "assigned-to",
        "approved-by",
        "attests",
        "delegated-from",
    ]
)

_DECODE = msgspec.json.Decoder(WireRow).decode
_SUSPECT_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89abAB][0-9a-fA-F]{2}|[dD][c-fC-F][0-9a-fA-F]{2})")
_UNFIT_IN_TEXT = re.compile("[\0\ud800-\udfff]")
_STRONG = r"failed|rejected|wontfix|won't fix|cancell?ed|abandoned|aborted"
_WEAK = r"blocked|errors?|timeout"
_STRONG_WORD = re.compile(rf"\b(?:{_STRONG})\b")
_WEAK_OPENING = re.compile(rf"\W*(?:{_WEAK})\s*(?:$|[:;,.(-]|(?:by|on|after|while|in)\b)")
_FAILURE_ANYWHERE = re.compile(
    "failed|rejected|wontfix|won't fix|cancell?ed|abandoned|blocked|error|timeout|aborted"
)
_SUCCESS_OPENING = re.compile(
    r"\W*(?:add|address|clos|complet|deliver|done|fix|handl|implement|improv|land|merg|pass|prevent"
    r"|remov|replac|resolv|ship|solv|succe|unblock|updat|verif)\w*"
)
_CLOSED_AS = re.compile(r"\W*clos(?:ed|ing)\s*(?:as|:|-|,|because|due to)?\s*")
_NEGATED = re.compile(
    rf"\b(?:no|not|never|without|zero|0|un|non)[ -]+(?:\w+ )?(?:{_STRONG}|{_WEAK})\b"
)


def decode(line: bytes) -> WireRow | Fault:
    """Read one row of at most ROW_LIMIT_BYTES; returns a row fit for import, or its fault.

    Never raises. Among several keys of one name the last counts, as in Beads.
    """
    try:
        row = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _diagnose(line.rstrip(b"\r\n"), error)
    if not line.isascii():
        fault = _not_utf8(line)
        if fault is not None:
            return fault
    if b"\\u" in line and _SUSPECT_ESCAPE.search(line) and _has_unfit_text(line):
        return Fault(QuarantineCode.BAD_TEXT, "text holds NUL or a lone surrogate", None)
    name = row.id
    if not name:
        return Fault(QuarantineCode.MISSING_ID, "no id", None)
    if not is_usable_id(name):
        return Fault(QuarantineCode.BAD_ID, _bad_id_reason(name), shown(name))
    if not clean_title(row.title):
        return Fault(QuarantineCode.MISSING_TITLE, "no title", name)
    return _edge_fault(row) or row


def too_large(size: int) -> Fault:
    """The fault of a row of `size` bytes, over ROW_LIMIT_BYTES."""
    reason = f"{size} bytes; at most {ROW_LIMIT_BYTES} are read"
    return Fault(QuarantineCode.ROW_TOO_LARGE, reason, None)


def is_usable_id(text: str) -> bool:
    """Whether a text can name a row: 1..ID_LIMIT printable characters, no white space."""
    return 0 < len(text) <= ID_LIMIT and text.isprintable() and " " not in text


def standing_of(status: str | None) -> tuple[Standing, bool]:
    """What a status means here, and whether Beads knows it; an unknown one is GATED."""
    standing = STANDINGS.get(status or "")
    return (standing, True) if standing is not None else (Standing.GATED, False)


def failed_close(reason: str | None) -> tuple[bool, bool]:
    """Whether a close reason says that the work failed, and whether that is in doubt.

    Returns (failed, ambiguous), never both; ambiguous where Beads would read a failure and this
    stricter reading does not.
    """
    if not reason:
        return False, False
    text = reason.lower().replace("\u2019", "'")
    if not _FAILURE_ANYWHERE.search(text):
        return False, False
    opening = _CLOSED_AS.match(text)
    rest = text[opening.end() :] if opening else text
    if _SUCCESS_OPENING.match(rest) or _NEGATED.search(rest) or not _says_failed(rest):
        return False, True
    return True, False


def _says_failed(text: str) -> bool:
    """A strong failure word anywhere, or a weak one ("error", "blocked") as the opening word."""
    return bool(_STRONG_WORD.search(text) or _WEAK_OPENING.match(text))


def edges_of(row: WireRow) -> tuple[list[BacklogEdge], list[Notice]]:
    """The edges of a decoded row in file order, each kind and target once, with what is odd.

    A `parent` field counts as a PARENT edge when no edge says so. What needs other rows (targets
    that are missing, deleted or open; cycles) is noticed later.
    """
    wires = row.dependencies
    if not wires and not row.parent:
        return [], []
    edges: list[BacklogEdge] = []
    notices: list[Notice] = []
    seen: set[tuple[str, str]] = set()
    for wire in wires or ():
        target = wire.depends_on_id or ""
        foreign = wire.type or "blocks"
        kind = EDGE_KINDS.get(foreign, EdgeKind.LINK)
        label = f"{shown(foreign)} {target}"
        if (foreign, target) in seen:
            notices.append(Notice(NoticeCode.DUPLICATE_EDGE, label))
            continue
        seen.add((foreign, target))
        edges.append(BacklogEdge(kind, foreign, target))
        if not wire.type:
            notices.append(Notice(NoticeCode.EDGE_TYPE_ASSUMED, label))
        if target == row.id:
            notices.append(Notice(NoticeCode.SELF_EDGE, label))
        if kind is EdgeKind.LINK and foreign not in KNOWN_LINKS:
            notices.append(Notice(NoticeCode.UNKNOWN_EDGE_TYPE, label))
        if kind is EdgeKind.WAITS_FOR and (change := _gate_change(wire)):
            notices.append(Notice(NoticeCode.WAIT_GATE_CHANGED, f"{target} {change}"))
    if row.parent and ("parent-child", row.parent) not in seen:
        edges.append(BacklogEdge(EdgeKind.PARENT, "parent", row.parent))
        if row.parent == row.id:
            notices.append(Notice(NoticeCode.SELF_EDGE, f"parent {row.parent}"))
    notices.extend(_parent_notices(edges))
    return edges, notices


def _parent_notices(edges: list[BacklogEdge]) -> list[Notice]:
    """More parents than one, and a wait for the completion of a parent."""
    parents = [edge.target for edge in edges if edge.kind is EdgeKind.PARENT]
    if not parents:
        return []
    notices = [
        Notice(NoticeCode.BLOCKED_BY_PARENT, edge.target)
        for edge in edges
        if edge.kind in (EdgeKind.BLOCKS, EdgeKind.CONDITIONAL) and edge.target in parents
    ]
    if len(parents) > 1:
        notices.append(Notice(NoticeCode.MANY_PARENTS, str(len(parents))))
    return notices


def _gate_change(wire: WireEdge) -> str:
    """What a waits-for edge's metadata asks for that is not kept; empty if nothing."""
    try:
        gate = msgspec.json.decode(wire.metadata) if wire.metadata else None
        if isinstance(gate, str) and gate:
            gate = msgspec.json.decode(gate)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "unreadable metadata"
    if not isinstance(gate, dict):
        return ""
    if gate.get("gate") not in (None, "", "all-children"):
        return "read as all children"
    if gate.get("spawner_id") not in (None, "", wire.depends_on_id):
        return "spawner_id not used"
    return ""


def _edge_fault(row: WireRow) -> Fault | None:
    """The first edge that cannot be read without a guess."""
    for at, edge in enumerate(row.dependencies or ()):
        if not is_usable_id(edge.depends_on_id or ""):
            what = "depends_on_id is absent or no usable id"
        elif edge.issue_id and edge.issue_id != row.id:
            what = "issue_id names another row"
        else:
            continue
        return Fault(QuarantineCode.BAD_EDGE, f"dependencies[{at}]: {what}", row.id)
    if row.parent and not is_usable_id(row.parent):
        return Fault(QuarantineCode.BAD_EDGE, "parent is no usable id", row.id)
    return None


def _bad_id_reason(name: str) -> str:
    if len(name) > ID_LIMIT:
        return f"the id has {len(name)} characters; at most {ID_LIMIT} are allowed"
    return "the id holds white space or unprintable characters"


def _not_utf8(line: bytes) -> Fault | None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return Fault(QuarantineCode.NOT_UTF8, f"invalid UTF-8 at byte {error.start}", None)
    return None


def _has_unfit_text(line: bytes) -> bool:
    """Whether a string anywhere in the row, keys included, holds NUL or a lone surrogate."""
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return False
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            if _UNFIT_IN_TEXT.search(value):
                return True
        elif isinstance(value, dict):
            stack.extend(value.keys())
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return False


def _diagnose(line: bytes, error: Exception) -> Fault:
    """Name the fault of a row that did not decode; slow, and only for such rows."""
    fault = _not_utf8(line)
    if fault is not None:
        return fault
    if line.startswith((b"<<<<<<<", b"=======", b">>>>>>>", b"|||||||")):
        return Fault(QuarantineCode.BROKEN_JSON, "a merge conflict marker", None)
    if isinstance(error, RecursionError):
        return Fault(QuarantineCode.BROKEN_JSON, "nested too deeply", None)
    if _SUSPECT_ESCAPE.search(line) and _has_unfit_text(line):
        return Fault(QuarantineCode.BAD_TEXT, "text holds NUL or a lone surrogate", None)
    try:
        value = msgspec.json.decode(line)
    except RecursionError:
        return Fault(QuarantineCode.BROKEN_JSON, "nested too deeply", None)
    except (msgspec.DecodeError, UnicodeDecodeError) as broken:
        return Fault(QuarantineCode.BROKEN_JSON, str(broken), None)
    if not isinstance(value, dict):
        return Fault(QuarantineCode.NOT_AN_OBJECT, "the row is not a JSON object", None)
    name = value.get("id")
    if name is None or name == "":
        return Fault(QuarantineCode.MISSING_ID, "no id", None)
    if not isinstance(name, str):
        return Fault(QuarantineCode.WRONG_TYPE, "id: expected text", None)
    if not is_usable_id(name):
        return Fault(QuarantineCode.BAD_ID, _bad_id_reason(name), shown(name))
    if value.get("title", "") is None:
        return Fault(QuarantineCode.MISSING_TITLE, "no title", name)
    return Fault(QuarantineCode.WRONG_TYPE, _wrong_type_reason(str(error)), name)


def _wrong_type_reason(message: str) -> str:
    """The decoder's message, field first."""
    what, _, where = message.partition(" - at `$")
    return f"{where.rstrip('`').lstrip('.') or 'row'}: {what.replace('`', '')}"
