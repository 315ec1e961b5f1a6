"""Every hazard of a backlog file, one row each, with the outcome that it must have by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from remit.exchange.backlog import (
    BODY_LIMIT,
    TITLE_LIMIT,
    BacklogRow,
    EdgeKind,
    NoticeCode,
    QuarantineCode,
    Quarantined,
    Standing,
)
from remit.exchange.beads import rows, scan

OK = {"id": "t-1", "title": "Paint the shed", "status": "open", "priority": 1}
AT = "2026-03-01T10:00:00Z"


def row(**fields: object) -> str:
    """A sound row with some fields replaced; a field given as `...` is left out."""
    return json.dumps({k: v for k, v in {**OK, **fields}.items() if v is not ...})


def edge(target: object, kind: object = "blocks", **more: object) -> dict[str, object]:
    return {"depends_on_id": target, "type": kind, **more}


def outcomes(tmp_path: Path, *lines: str | bytes) -> list[BacklogRow | Quarantined]:
    path = tmp_path / "issues.jsonl"
    path.write_bytes(
        b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
    )
    seen = scan(path)
    found = list(rows(path, seen))
    assert len(found) == seen.rows
    assert sum(isinstance(one, BacklogRow) for one in found) == seen.importable
    assert seen.rows == seen.importable + sum(seen.quarantined.values())
    return found


QUARANTINED: list[tuple[str, str | bytes, QuarantineCode, str]] = [
    ("cut short", '{"id": "t-1", "ti', QuarantineCode.BROKEN_JSON, "truncated"),
    ("two values", row() + " {}", QuarantineCode.BROKEN_JSON, "trailing"),
    ("not a number", '{"id":"t-1","title":"x","y":NaN}', QuarantineCode.BROKEN_JSON, "byte"),
    ("raw control character", b'{"id":"t\x01"}', QuarantineCode.BROKEN_JSON, "byte"),
    ("merge marker", "<<<<<<< HEAD", QuarantineCode.BROKEN_JSON, "merge conflict"),
    (
        "depth",
        '{"id":"t-1","title":"x","y":' + "[" * 50_000 + "]" * 50_000 + "}",
        QuarantineCode.BROKEN_JSON,
        "deep",
    ),
    ("array", '["t-1"]', QuarantineCode.NOT_AN_OBJECT, "object"),
    ("text", '"t-1"', QuarantineCode.NOT_AN_OBJECT, "object"),
    ("null", "null", QuarantineCode.NOT_AN_OBJECT, "object"),
    ("no id", row(id=...), QuarantineCode.MISSING_ID, "no id"),
    ("null id", row(id=None), QuarantineCode.MISSING_ID, "no id"),
    ("empty id", row(id=""), QuarantineCode.MISSING_ID, "no id"),
    ("id with a space", row(id="t 1"), QuarantineCode.BAD_ID, "white space"),
    ("id with a line end", row(id="t\n1"), QuarantineCode.BAD_ID, "unprintable"),
    ("id with an escape", row(id="t\x1b[2J"), QuarantineCode.BAD_ID, "unprintable"),
    ("id with a hidden mark", row(id="t\u200b1"), QuarantineCode.BAD_ID, "unprintable"),
    ("id of 201", row(id="t" * 201), QuarantineCode.BAD_ID, "201"),
    ("number as id", row(id=7), QuarantineCode.WRONG_TYPE, "id"),
    ("no title", row(title=...), QuarantineCode.MISSING_TITLE, "title"),
    ("null title", row(title=None), QuarantineCode.MISSING_TITLE, "title"),
    ("blank title", row(title=" \t "), QuarantineCode.MISSING_TITLE, "title"),
    ("title of controls", row(title="\x01\x02"), QuarantineCode.MISSING_TITLE, "title"),
    ("title of numbers", row(title=5), QuarantineCode.WRONG_TYPE, "title"),
    ("priority as text", row(priority="high"), QuarantineCode.WRONG_TYPE, "priority"),
    ("priority as truth", row(priority=True), QuarantineCode.WRONG_TYPE, "priority"),
    ("priority 1.5", row(priority=1.5), QuarantineCode.WRONG_TYPE, "priority"),
    ("status as list", row(status=["open"]), QuarantineCode.WRONG_TYPE, "status"),
    ("labels as text", row(labels="a"), QuarantineCode.WRONG_TYPE, "labels"),
    ("edges as ids", row(dependencies=["t-2"]), QuarantineCode.WRONG_TYPE, "dependencies[0]"),
    ("edge to nothing", row(dependencies=[{}]), QuarantineCode.BAD_EDGE, "dependencies[0]"),
    ("edge to no id", row(dependencies=[edge("a b")]), QuarantineCode.BAD_EDGE, "dependencies[0]"),
    (
        "edge of another row",
        row(dependencies=[edge("t-2"), edge("t-3", issue_id="t-9")]),
        QuarantineCode.BAD_EDGE,
        "dependencies[1]",
    ),
    ("parent that is no id", row(parent="a b"), QuarantineCode.BAD_EDGE, "parent"),
    ("NUL", row(description="a\0b"), QuarantineCode.BAD_TEXT, "NUL"),
    ("NUL in a key", row(**{"k\0": 1}), QuarantineCode.BAD_TEXT, "NUL"),
    ("NUL deep inside", row(other=[{"x": "a\0"}]), QuarantineCode.BAD_TEXT, "NUL"),
    ("lone surrogate", row(notes="\ud800"), QuarantineCode.BAD_TEXT, "surrogate"),
    ("lone low surrogate elsewhere", row(x="\udc00 y"), QuarantineCode.BAD_TEXT, "surrogate"),
    ("Latin-1", b'{"id":"t-1","title":"caf\xe9"}', QuarantineCode.NOT_UTF8, "byte 24"),
    (
        "Latin-1 in a skipped field",
        b'{"id":"t-1","title":"x","y":"\xe9"}',
        QuarantineCode.NOT_UTF8,
        "byte 29",
    ),
    (
        "surrogate as bytes",
        b'{"id":"t-1","title":"\xed\xa0\x80"}',
        QuarantineCode.NOT_UTF8,
        "byte",
    ),
]


@pytest.mark.parametrize(
    ("line", "code", "reason"), [case[1:] for case in QUARANTINED], ids=[c[0] for c in QUARANTINED]
)
def test_a_row_that_cannot_be_imported_says_why(
    tmp_path: Path, line: str | bytes, code: QuarantineCode, reason: str
) -> None:
    before, broken, after = outcomes(tmp_path, row(id="before"), line, row(id="after"))
    assert isinstance(before, BacklogRow)
    assert isinstance(after, BacklogRow)
    assert isinstance(broken, Quarantined)
    assert (broken.code, broken.row, broken.line) == (code, 2, 2)
    assert reason in broken.reason
    assert "\n" not in broken.reason
    assert broken.id is None or broken.id.isprintable()


CLOSED = {"status": "closed", "closed_at": AT}
NOTICED: list[tuple[str, dict[str, object], list[NoticeCode]]] = [
    ("nothing odd", {}, []),
    ("unknown status", {"status": "pending_review"}, [NoticeCode.UNKNOWN_STATUS]),
    ("no status", {"status": None}, [NoticeCode.UNKNOWN_STATUS]),
    ("no priority", {"priority": None}, [NoticeCode.PRIORITY_ASSUMED]),
    ("priority 9", {"priority": 9}, [NoticeCode.PRIORITY_CLAMPED]),
    ("priority -1", {"priority": -1}, [NoticeCode.PRIORITY_CLAMPED]),
    ("year 1", {"created_at": "0001-01-01T00:00:00Z"}, [NoticeCode.ABSURD_DATE]),
    ("year 9999", {"created_at": "9999-12-31T23:59:59Z"}, [NoticeCode.ABSURD_DATE]),
    ("before 1970 by its offset", {"created_at": "1970-01-01T01:00:00+02:00"},
     [NoticeCode.ABSURD_DATE]),
    ("a word as date", {"created_at": "yesterday"}, [NoticeCode.BAD_DATE]),
    ("no offset", {"created_at": "2026-03-01T10:00:00"}, [NoticeCode.BAD_DATE]),
    ("a day only", {"created_at": "2026-03-01"}, [NoticeCode.BAD_DATE]),
    ("30 February", {"created_at": "2026-02-30T10:00:00Z"}, [NoticeCode.BAD_DATE]),
    ("hour 24", {"created_at": "2026-02-01T24:00:00Z"}, [NoticeCode.BAD_DATE]),
    ("other digits", {"created_at": "\u0662026-02-01T10:00:00Z"}, [NoticeCode.BAD_DATE]),
    ("leap second", {"created_at": "2016-12-31T23:59:60Z"}, [NoticeCode.LEAP_SECOND]),
    ("leap second at noon", {"created_at": "2016-12-31T12:00:60Z"}, [NoticeCode.BAD_DATE]),
    ("closed before created", {**CLOSED, "created_at": "2026-03-01T11:00:00Z"},
     [NoticeCode.CLOSED_BEFORE_CREATED]),
    ("closed before created, not really", {**CLOSED, "created_at": "2026-03-01T11:00:00+02:00"},
     []),
    ("closed without date", {"status": "closed"}, [NoticeCode.CLOSED_WITHOUT_DATE]),
    ("open with closing date", {"closed_at": AT}, [NoticeCode.CLOSED_DATE_ON_OPEN]),
    ("updated before created",
     {"created_at": AT, "updated_at": "2026-02-01T10:00:00Z"}, [NoticeCode.UPDATED_BEFORE_CREATED]),
    ("long title", {"title": "x" * 501}, [NoticeCode.TITLE_CUT]),
    ("title of two lines", {"title": "a\nb\x1b[31m"}, [NoticeCode.TITLE_CLEANED]),
    ("title that turns round", {"title": "a\u202eb"}, [NoticeCode.TITLE_CLEANED]),
    ("long body", {"description": "x" * (BODY_LIMIT + 1)}, [NoticeCode.TEXT_CUT]),
    ("unclear close", {**CLOSED, "close_reason": "Fixed the timeout"},
     [NoticeCode.AMBIGUOUS_CLOSE_REASON]),
    ("dangling edge", {"dependencies": [edge("gone-1")]}, [NoticeCode.DANGLING_EDGE]),
    ("edge to a broken row", {"dependencies": [edge("broken")]}, [NoticeCode.DANGLING_EDGE]),
    ("dangling link", {"dependencies": [edge("gone-1", "related")]}, [NoticeCode.DANGLING_EDGE]),
    ("edge to a deleted row", {"dependencies": [edge("dead")]}, [NoticeCode.TOMBSTONE_EDGE]),
    ("edge twice", {"dependencies": [edge("free"), edge("free")]}, [NoticeCode.DUPLICATE_EDGE]),
    ("two kinds to one target", {"dependencies": [edge("free"), edge("free", "related")]}, []),
    ("blocks itself", {"dependencies": [edge("t-1")]}, [NoticeCode.SELF_EDGE, NoticeCode.CYCLE]),
    ("related to itself", {"dependencies": [edge("t-1", "related")]}, [NoticeCode.SELF_EDGE]),
    ("its own parent", {"parent": "t-1"}, [NoticeCode.SELF_EDGE, NoticeCode.CYCLE]),
    ("edge of no type", {"dependencies": [edge("free", None)]}, [NoticeCode.EDGE_TYPE_ASSUMED]),
    ("edge of a new type", {"dependencies": [edge("free", "Blocks")]},
     [NoticeCode.UNKNOWN_EDGE_TYPE]),
    ("closed though blocked", {**CLOSED, "dependencies": [edge("free")]},
     [NoticeCode.CLOSED_WITH_OPEN_BLOCKER]),
    ("closed though children wait", {**CLOSED, "dependencies": [edge("epic", "waits-for")]},
     [NoticeCode.CLOSED_WITH_OPEN_BLOCKER]),
    ("waits for no children", {"dependencies": [edge("free", "waits-for")]},
     [NoticeCode.CHILDLESS_WAIT]),
    (
        "waits for a deleted child",
        {"dependencies": [edge("alone", "waits-for")]},
        [NoticeCode.CHILDLESS_WAIT],
    ),
    ("waits for any child",
     {"dependencies": [edge("epic", "waits-for", metadata='{"gate":"any-children"}')]},
     [NoticeCode.WAIT_GATE_CHANGED]),
    ("waits for all children",
     {"dependencies": [edge("epic", "waits-for", metadata={"gate": "all-children"})]}, []),
    ("two parents",
     {"dependencies": [edge("free", "parent-child"), edge("epic", "parent-child")]},
     [NoticeCode.MANY_PARENTS]),
    ("blocked by its parent",
     {"dependencies": [edge("epic", "parent-child"), edge("epic")]},
     [NoticeCode.BLOCKED_BY_PARENT]),
]  # fmt: skip
OTHERS = [
    row(id="free"),
    row(id="dead", status="tombstone"),
    row(id="alone"),
    row(id="ghost", status="tombstone", dependencies=[edge("alone", "parent-child")]),
    row(id="epic", dependencies=[]),
    row(id="leg", dependencies=[edge("epic", "parent-child")]),
    '{"id": "broken"}',
]


@pytest.mark.parametrize(
    ("fields", "codes"), [case[1:] for case in NOTICED], ids=[case[0] for case in NOTICED]
)
def test_an_odd_row_is_imported_with_a_notice(
    tmp_path: Path, fields: dict[str, object], codes: list[NoticeCode]
) -> None:
    found = outcomes(tmp_path, row(**fields), *OTHERS)[0]
    assert isinstance(found, BacklogRow)
    assert [notice.code for notice in found.notices] == codes
    assert len(found.title) <= TITLE_LIMIT
    assert len(found.body) <= BODY_LIMIT
    assert "\n" not in found.title


def test_every_code_is_shown_by_some_hazard() -> None:
    assert {case[2] for case in QUARANTINED} | {
        QuarantineCode.DUPLICATE_ID,  # below
        QuarantineCode.ROW_TOO_LARGE,  # test_stream.py
    } == set(QuarantineCode)
    assert {code for case in NOTICED for code in case[2]} == set(NoticeCode)


def test_an_id_belongs_to_the_first_row_that_can_be_imported(tmp_path: Path) -> None:
    found = outcomes(
        tmp_path,
        row(title=""),
        row(title="holder"),
        row(title="other"),
        '{"title": "holder", "status": "open",  "priority": 1, "id": "t-1"}',
    )
    assert isinstance(found[1], BacklogRow)
    assert found[1].title == "holder"
    refused = [one for one in found if isinstance(one, Quarantined)]
    assert [one.code for one in refused] == [
        QuarantineCode.MISSING_TITLE,
        QuarantineCode.DUPLICATE_ID,
        QuarantineCode.DUPLICATE_ID,
    ]
    assert refused[1].reason == "row 2 holds this id, with other content"
    assert refused[2].reason == "row 2 holds this id, with the same content"


def test_a_repeated_id_may_name_a_target_of_its_own(tmp_path: Path) -> None:
    first, again = outcomes(tmp_path, row(), row(dependencies=[edge("only-here")]))
    assert isinstance(first, BacklogRow)
    assert isinstance(again, Quarantined)
    assert again.code is QuarantineCode.DUPLICATE_ID


@pytest.mark.parametrize(
    ("status", "standing"),
    [
        ("open", Standing.OPEN),
        ("blocked", Standing.OPEN),
        ("in_progress", Standing.GATED),
        ("hooked", Standing.GATED),
        ("deferred", Standing.GATED),
        ("pinned", Standing.GATED),
        ("Open", Standing.GATED),
        ("", Standing.GATED),
        ("closed", Standing.CLOSED),
        ("tombstone", Standing.TOMBSTONE),
    ],
)
def test_statuses(tmp_path: Path, status: str, standing: Standing) -> None:
    found = outcomes(tmp_path, row(status=status))[0]
    assert isinstance(found, BacklogRow)
    assert (found.standing, found.foreign_status) == (standing, status)


def test_edges_keep_their_meaning_and_their_foreign_name(tmp_path: Path) -> None:
    kinds = ["blocks", "parent-child", "conditional-blocks", "waits-for", "tracks", "made-up"]
    found = outcomes(tmp_path, row(dependencies=[edge(f"x-{k}", k) for k in kinds], parent="p"))[0]
    assert isinstance(found, BacklogRow)
    assert [(one.kind, one.foreign_kind) for one in found.edges] == [
        (EdgeKind.BLOCKS, "blocks"),
        (EdgeKind.PARENT, "parent-child"),
        (EdgeKind.CONDITIONAL, "conditional-blocks"),
        (EdgeKind.WAITS_FOR, "waits-for"),
        (EdgeKind.LINK, "tracks"),
        (EdgeKind.LINK, "made-up"),
        (EdgeKind.PARENT, "parent"),
    ]


@pytest.mark.parametrize(
    ("status", "reason", "failed"),
    [
        ("closed", "Rejected by the owner", True),
        ("closed", "Deployment failed", True),
        ("closed", "Won\u2019t fix", True),
        ("closed", "closed as wontfix", True),
        ("closed", "error: disk full", True),
        ("closed", "Blocked by the vendor", True),
        ("closed", "Fixed the failed build", False),
        ("closed", "Error handling is in", False),
        ("closed", "Closed, no errors", False),
        ("closed", "unblocked the team", False),
        ("closed", "Moot after the power failure", False),  # no failure in Beads either
        ("closed", "done", False),
        ("closed", "", False),
        ("open", "Rejected by the owner", False),
        ("tombstone", "cancelled", False),
    ],
)
def test_which_close_counts_as_failed(
    tmp_path: Path, status: str, reason: str, failed: bool
) -> None:
    found = outcomes(tmp_path, row(status=status, close_reason=reason, closed_at=AT))[0]
    assert isinstance(found, BacklogRow)
    assert found.failed is failed
    assert found.close_reason == (reason or None)


def test_dates_become_microseconds_of_one_clock(tmp_path: Path) -> None:
    texts = [
        "2026-03-01T10:00:00.123456789Z",
        "2026-03-01T02:00:00.123456-08:00",
        "2026-03-01T15:30:00.1234569+05:30",
        "2026-03-01t10:00:00.123456z",
    ]
    found = outcomes(tmp_path, *(row(id=f"d-{n}", created_at=t) for n, t in enumerate(texts)))
    assert {one.created_at_us for one in found if isinstance(one, BacklogRow)} == {
        1_772_359_200_123_456
    }
    leap = outcomes(tmp_path, row(created_at="2017-01-01T00:59:60+01:00"))[0]
    assert isinstance(leap, BacklogRow)
    assert leap.created_at_us == 1_483_228_799_999_999


def test_a_dropped_date_is_absent_and_flagged(tmp_path: Path) -> None:
    found = outcomes(
        tmp_path, row(status="closed", created_at=AT, closed_at="2026-02-01T10:00:00Z")
    )
    assert isinstance(found[0], BacklogRow)
    assert found[0].closed_at_us is None
    assert found[0].created_at_us is not None
    assert found[0].inconsistent


def test_bodies_are_joined_and_keep_head_and_tail(tmp_path: Path) -> None:
    found = outcomes(
        tmp_path,
        row(description="one", design="two", acceptance_criteria="three", notes="four"),
        row(id="long", description="A" + "x" * BODY_LIMIT + "Z"),
    )
    assert isinstance(found[0], BacklogRow)
    assert isinstance(found[1], BacklogRow)
    assert found[0].body == (
        "one\n\n## Design\n\ntwo\n\n## Acceptance criteria\n\nthree\n\n## Notes\n\nfour"
    )
    assert found[0].acceptance == "three"
    assert found[1].body[0] == "A"
    assert found[1].body[-1] == "Z"
    assert " cut ..." in found[1].body
