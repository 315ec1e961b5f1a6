"""A digest moves with the meaning of a row, and with nothing else."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remit.exchange.backlog import BacklogRow
from remit.exchange.beads import rows, scan

FULL: dict[str, object] = {
    "id": "t-1",
    "title": "Paint the shed",
    "description": "Two coats.",
    "design": "Oil",
    "acceptance_criteria": "No drips",
    "notes": "Buy brushes",
    "status": "closed",
    "priority": 1,
    "issue_type": "task",
    "labels": ["a", "b"],
    "created_at": "2026-03-01T10:00:00Z",
    "closed_at": "2026-03-02T10:00:00Z",
    "close_reason": "dry",
    "dependencies": [
        {"depends_on_id": "t-2", "type": "blocks"},
        {"depends_on_id": "t-3", "type": "tracks"},
    ],
}


def digest(text: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "issues.jsonl"
        path.write_bytes(text.encode())
        (one,) = rows(path, scan(path))
    assert isinstance(one, BacklogRow)
    assert len(one.digest) == 32
    return one.digest


@settings(max_examples=50, deadline=None)
@given(
    st.permutations(list(FULL)),
    st.sampled_from(["\n", "\r\n", "\r", "", "\n\n"]),
    st.sampled_from([None, (", ", ": "), (" ,\t", " : ")]),
    st.booleans(),
)
def test_spelling_does_not_move_a_digest(
    order: list[str], end: str, separators: tuple[str, str] | None, ascii_only: bool
) -> None:
    shuffled = {key: FULL[key] for key in order}
    text = json.dumps(shuffled, separators=separators, ensure_ascii=ascii_only) + end
    assert digest(text) == digest(json.dumps(FULL))


@pytest.mark.parametrize(
    "same",
    [
        {"labels": ["b", "a", "b"]},
        {"dependencies": list(reversed(FULL["dependencies"]))},  # type: ignore[call-overload]  # a list
        {"created_at": "2026-03-01T02:00:00.000-08:00"},
        {"updated_at": "2026-05-01T10:00:00Z"},
        {"comment_count": 5, "assignee": "someone"},
        {"title": " Paint the shed "},
    ],
    ids=str,
)
def test_what_means_the_same_does_not_move_a_digest(same: dict[str, object]) -> None:
    assert digest(json.dumps({**FULL, **same})) == digest(json.dumps(FULL))


def test_line_ends_inside_a_text_do_not_move_a_digest() -> None:
    unix, dos = ({**FULL, "description": f"a{end}b"} for end in ("\n", "\r\n"))
    assert digest(json.dumps(unix)) == digest(json.dumps(dos))


CHANGES: list[dict[str, object]] = [
    {"id": "t-9"},
    {"title": "Paint the door"},
    {"title": "Paint the shed" + "x" * 600},
    {"title": "Paint the shed" + "x" * 601},
    {"description": "Three coats."},
    {"description": None},
    {"design": "Water"},
    {"acceptance_criteria": "Few drips"},
    {"notes": "Buy paint"},
    {"design": "Buy brushes", "notes": "Oil"},
    {"status": "open"},
    {"status": "pinned"},
    {"priority": 2},
    {"issue_type": "bug"},
    {"labels": ["a"]},
    {"labels": ["a", "c"]},
    {"created_at": "2026-03-01T10:00:01Z"},
    {"closed_at": "2026-03-02T10:00:01Z"},
    {"close_reason": "failed"},
    {"dependencies": [{"depends_on_id": "t-2", "type": "blocks"}]},
    {"dependencies": [{"depends_on_id": "t-2", "type": "tracks"}]},
    {"dependencies": [{"depends_on_id": "t-4", "type": "blocks"}]},
]


def test_each_change_of_meaning_gives_a_digest_of_its_own() -> None:
    digests = [digest(json.dumps({**FULL, **change})) for change in ({}, *CHANGES)]
    assert len(set(digests)) == len(CHANGES) + 1
